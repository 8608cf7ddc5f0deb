//! Schemas as models like them: a choice is a list of words.

use schemars::Schema;
use serde_json::{Value, json};

/// Turns a choice among described constants into a plain `enum`: shorter, and understood by every provider.
pub(crate) fn plain_enum(schema: &mut Schema) {
    let Some(choices) = schema.get("oneOf").and_then(Value::as_array) else { return };
    let words: Option<Vec<Value>> =
        choices.iter().map(|choice| choice.get("const").cloned()).collect();
    if let Some(words) = words {
        *schema = Schema::try_from(json!({ "type": "string", "enum": words })).unwrap_or_default();
    }
}
