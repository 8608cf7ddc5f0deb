//! Messages: a role and its content blocks.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::{ContentBlock, ToolUse};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person, and the harness with tool results.
    User,
    /// The model.
    Assistant,
    /// Instructions in the middle of a conversation; only some models take them.
    System,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// The blocks; a plain string on the wire is read as one text block.
    #[serde(deserialize_with = "blocks_or_text")]
    pub content: Vec<ContentBlock>,
    /// Fields that are not modelled here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Message {
    /// A message of `role` with these blocks.
    pub fn new(role: Role, content: Vec<ContentBlock>) -> Self {
        Self { role, content, extra: Map::new() }
    }

    /// A user message of one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, vec![ContentBlock::text(text)])
    }

    /// An assistant message of one text.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, vec![ContentBlock::text(text)])
    }

    /// The tool uses of this message, in order.
    pub fn tool_uses(&self) -> impl Iterator<Item = &ToolUse> {
        self.content.iter().filter_map(ContentBlock::as_tool_use)
    }

    /// All text blocks joined by line feeds.
    pub fn plain_text(&self) -> String {
        let texts: Vec<&str> = self.content.iter().filter_map(ContentBlock::as_text).collect();
        texts.join("\n")
    }
}

fn blocks_or_text<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<ContentBlock>, D::Error> {
    let content = Value::deserialize(deserializer)?;
    if let Value::String(text) = content {
        return Ok(vec![ContentBlock::text(text)]);
    }
    serde_json::from_value(content).map_err(serde::de::Error::custom)
}
