//! Tool definitions: what a model is told of a tool.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::CacheControl;

/// The field that says who defines a tool.
const KIND: &str = "type";
/// What stands there for a tool of our own; it may be left out.
const CUSTOM: &str = "custom";

/// A tool as a model sees it (Anthropic Messages API, "tools").
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// `^[a-zA-Z0-9_-]{1,64}$`
    pub name: String,
    /// What it does, in words for a model.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// JSON Schema with `type: object` at the root; `null` for a tool that the provider runs.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub input_schema: Value,
    /// Whether the schema is sent but kept out of the prompt until a search refers to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub defer_loading: bool,
    /// The cache marker; forbidden together with `defer_loading`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<CacheControl>,
    /// Fields that are not modelled here (`strict`, `input_examples`, …).
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl ToolDefinition {
    /// A definition that is loaded at once.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: Value,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            input_schema,
            defer_loading: false,
            cache_control: None,
            extra: Map::new(),
        }
    }

    /// A tool that the provider runs, such as its web search, with its settings (Anthropic Messages API, "server tools").
    ///
    /// Only providers that have such a tool may be sent one.
    pub fn server(
        kind: impl Into<String>,
        name: impl Into<String>,
        mut settings: Map<String, Value>,
    ) -> Self {
        settings.insert(KIND.to_owned(), Value::String(kind.into()));
        Self { extra: settings, ..Self::new(name, "", Value::Null) }
    }

    /// Whether the provider runs it.
    pub fn is_server_tool(&self) -> bool {
        self.extra.get(KIND).and_then(Value::as_str).is_some_and(|kind| kind != CUSTOM)
    }
}
