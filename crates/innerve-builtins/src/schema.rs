//! Schemas as models like them: a choice is a list of words.

use schemars::Schema;
use serde_json::{Value, json};

/// Leaves out what describes an object and its fields, where their names say enough.
#[cfg_attr(
    not(any(
        feature = "multi-edit",
        feature = "question",
        feature = "todo",
        feature = "websocket"
    )),
    expect(dead_code, reason = "for nested objects")
)]
pub(crate) fn undescribed(schema: &mut Schema) {
    schema.remove("description");
    for field in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        if let Some(field) = field.1.as_object_mut() {
            field.shift_remove("description");
        }
    }
}

/// Leaves out what describes an object.
#[cfg_attr(not(feature = "question"), expect(dead_code, reason = "for nested objects"))]
pub(crate) fn untitled(schema: &mut Schema) {
    schema.remove("description");
}

/// Turns a choice among described constants into a plain `enum`: shorter, and understood by every provider.
#[cfg_attr(
    not(any(
        feature = "agent",
        feature = "grep",
        feature = "notebook",
        feature = "task-list",
        feature = "todo",
        feature = "worktree"
    )),
    expect(dead_code, reason = "for choices")
)]
pub(crate) fn plain_enum(schema: &mut Schema) {
    let Some(choices) = schema.get("oneOf").and_then(Value::as_array) else { return };
    let words: Option<Vec<Value>> =
        choices.iter().map(|choice| choice.get("const").cloned()).collect();
    if let Some(words) = words {
        *schema = Schema::try_from(json!({ "type": "string", "enum": words })).unwrap_or_default();
    }
}
