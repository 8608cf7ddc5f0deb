//! Content blocks: text, images, thinking, tool uses and tool results; unknown kinds are kept as they came.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};

use crate::ToolUseId;

/// One block of a message's content (Anthropic Messages API, "content").
#[derive(Clone, Debug, PartialEq)]
pub enum ContentBlock {
    /// Text.
    Text(TextBlock),
    /// An image.
    Image(ImageBlock),
    /// The model's thinking with its signature.
    Thinking(ThinkingBlock),
    /// Thinking that the provider encrypted.
    RedactedThinking(RedactedThinking),
    /// The model wants a tool to run.
    ToolUse(ToolUse),
    /// The answer to a tool use.
    ToolResult(ToolResult),
    /// A deferred tool that a search found; only inside a tool result.
    ToolReference(ToolReference),
    /// A kind that is not modelled here (documents, server tools, citations, …), kept as it came.
    Unknown(UnknownBlock),
}

/// Marks the end of a prefix that the provider should cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheControl {
    /// Always `ephemeral` today.
    #[serde(rename = "type")]
    pub kind: String,
    /// `5m` or `1h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<String>,
}

impl CacheControl {
    /// The plain five-minute marker.
    pub fn ephemeral() -> Self {
        Self { kind: "ephemeral".to_owned(), ttl: None }
    }
}

/// Text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TextBlock {
    /// The text.
    pub text: String,
    /// The cache marker, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<CacheControl>,
    /// Fields that are not modelled here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// An image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImageBlock {
    /// Where its bytes are.
    pub source: ImageSource,
    /// The cache marker, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<CacheControl>,
    /// Fields that are not modelled here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Where an image's bytes are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ImageSource {
    /// In the message itself.
    Base64 {
        /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
        media_type: String,
        /// The bytes in standard base64.
        data: String,
    },
    /// At an address that the provider fetches.
    Url {
        /// The address.
        url: String,
    },
    /// Uploaded before.
    File {
        /// The provider's id.
        file_id: String,
    },
}

/// The model's thinking.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThinkingBlock {
    /// The text; empty when the provider omits it.
    pub thinking: String,
    /// The provider's seal; must be sent back unchanged.
    #[serde(default)]
    pub signature: String,
    /// Fields that are not modelled here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Thinking that the provider encrypted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RedactedThinking {
    /// The sealed bytes; must be sent back unchanged.
    pub data: String,
    /// Fields that are not modelled here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The model wants a tool to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolUse {
    /// Ties the result to this use.
    pub id: ToolUseId,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The input as the model wrote it; an object, empty when the field is missing.
    #[serde(default = "empty_object")]
    pub input: Value,
    /// The cache marker, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<CacheControl>,
    /// Fields that are not modelled here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The answer to a tool use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The use that is answered.
    pub tool_use_id: ToolUseId,
    /// What the model sees.
    #[serde(default, skip_serializing_if = "ToolResultContent::is_absent")]
    pub content: ToolResultContent,
    /// Whether the tool failed, was refused or did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// The cache marker, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<CacheControl>,
    /// Fields that are not modelled here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What a tool result holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ToolResultContent {
    /// No content field.
    #[default]
    Absent,
    /// Plain text.
    Text(String),
    /// Text, images, documents and tool references.
    Blocks(Vec<ContentBlock>),
}

/// A deferred tool that a search found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolReference {
    /// The tool's name.
    pub tool_name: String,
    /// Fields that are not modelled here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A block of a kind that is not modelled here; always an object.
#[derive(Clone, Debug, PartialEq)]
pub struct UnknownBlock(pub(crate) Map<String, Value>);

impl UnknownBlock {
    /// The block's `type`, empty if it has none.
    pub fn kind(&self) -> &str {
        self.0.get("type").and_then(Value::as_str).unwrap_or_default()
    }

    /// All fields, `type` included.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.0
    }
}

impl ContentBlock {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextBlock { text: text.into(), ..TextBlock::default() })
    }

    /// The block's `type` on the wire.
    pub fn kind(&self) -> &str {
        match self {
            Self::Text(_) => "text",
            Self::Image(_) => "image",
            Self::Thinking(_) => "thinking",
            Self::RedactedThinking(_) => "redacted_thinking",
            Self::ToolUse(_) => "tool_use",
            Self::ToolResult(_) => "tool_result",
            Self::ToolReference(_) => "tool_reference",
            Self::Unknown(opaque) => opaque.kind(),
        }
    }

    /// The text, if it is a text block.
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(block) = self { Some(&block.text) } else { None }
    }

    /// The tool use, if it is one.
    pub fn as_tool_use(&self) -> Option<&ToolUse> {
        if let Self::ToolUse(tool_use) = self { Some(tool_use) } else { None }
    }

    /// The tool result, if it is one.
    pub fn as_tool_result(&self) -> Option<&ToolResult> {
        if let Self::ToolResult(result) = self { Some(result) } else { None }
    }
}

impl ToolUse {
    /// Values in values that an input may have: what keeps it puts it into values of its own, and readers of JSON take
    /// 127 in all.
    pub const MAX_INPUT_DEPTH: usize = 100;

    /// Whether an input has too many values in values to be kept and read again.
    pub fn is_too_deep(input: &Map<String, Value>) -> bool {
        input.values().any(|value| is_deeper(value, Self::MAX_INPUT_DEPTH - 1))
    }

    /// A tool use without further fields.
    pub fn new(id: impl Into<ToolUseId>, name: impl Into<String>, input: Value) -> Self {
        Self { id: id.into(), name: name.into(), input, cache_control: None, extra: Map::new() }
    }
}

fn is_deeper(value: &Value, levels: usize) -> bool {
    let is_deep = |inner: &Value| levels.checked_sub(1).is_none_or(|less| is_deeper(inner, less));
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(is_deep),
        Value::Object(fields) => levels == 0 || fields.values().any(is_deep),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

impl ToolResult {
    /// A result that succeeded.
    pub fn ok(tool_use_id: ToolUseId, content: impl Into<ToolResultContent>) -> Self {
        Self {
            tool_use_id,
            content: content.into(),
            is_error: None,
            cache_control: None,
            extra: Map::new(),
        }
    }

    /// A result that says what went wrong.
    pub fn error(tool_use_id: ToolUseId, content: impl Into<ToolResultContent>) -> Self {
        Self { is_error: Some(true), ..Self::ok(tool_use_id, content) }
    }

    /// Whether it says that something went wrong.
    pub fn failed(&self) -> bool {
        self.is_error == Some(true)
    }
}

impl ToolResultContent {
    fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    /// All text in it, blocks joined by line feeds.
    pub fn plain_text(&self) -> String {
        match self {
            Self::Absent => String::new(),
            Self::Text(text) => text.clone(),
            Self::Blocks(blocks) => {
                let texts: Vec<&str> = blocks.iter().filter_map(ContentBlock::as_text).collect();
                texts.join("\n")
            }
        }
    }

    /// Whether it holds anything but text, such as an image.
    pub fn has_media(&self) -> bool {
        match self {
            Self::Absent | Self::Text(_) => false,
            Self::Blocks(blocks) => blocks.iter().any(|block| block.as_text().is_none()),
        }
    }
}

fn is_image_source(source: &Value) -> bool {
    let kind = source.get("type").and_then(Value::as_str);
    matches!(kind, Some("base64" | "url" | "file"))
}

fn empty_object() -> Value {
    Value::Object(Map::new())
}

impl From<String> for ToolResultContent {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for ToolResultContent {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Vec<ContentBlock>> for ToolResultContent {
    fn from(blocks: Vec<ContentBlock>) -> Self {
        Self::Blocks(blocks)
    }
}

impl Serialize for ContentBlock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Tagged<'a, T> {
            #[serde(rename = "type")]
            kind: &'a str,
            #[serde(flatten)]
            body: &'a T,
        }
        fn tagged<T: Serialize, S: Serializer>(
            kind: &str,
            body: &T,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            Tagged { kind, body }.serialize(serializer)
        }
        match self {
            Self::Text(body) => tagged("text", body, serializer),
            Self::Image(body) => tagged("image", body, serializer),
            Self::Thinking(body) => tagged("thinking", body, serializer),
            Self::RedactedThinking(body) => tagged("redacted_thinking", body, serializer),
            Self::ToolUse(body) => tagged("tool_use", body, serializer),
            Self::ToolResult(body) => tagged("tool_result", body, serializer),
            Self::ToolReference(body) => tagged("tool_reference", body, serializer),
            Self::Unknown(UnknownBlock(fields)) => fields.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ContentBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Map::deserialize(deserializer)?;
        let Some(kind) = fields.get("type").and_then(Value::as_str).map(str::to_owned) else {
            return Err(de::Error::custom("content block has no `type`"));
        };
        // The tag is taken out first so that it does not land in `extra`.
        let body = |fields: &mut Map<String, Value>| {
            fields.shift_remove("type");
            Value::Object(std::mem::take(fields))
        };
        // An image whose bytes are in a place that is not known here is a block that is not known here.
        let is_image = kind == "image" && fields.get("source").is_some_and(is_image_source);
        let fields = &mut fields;
        let block = match kind.as_str() {
            "text" => serde_json::from_value(body(fields)).map(Self::Text),
            "image" if is_image => serde_json::from_value(body(fields)).map(Self::Image),
            "thinking" => serde_json::from_value(body(fields)).map(Self::Thinking),
            "redacted_thinking" => serde_json::from_value(body(fields)).map(Self::RedactedThinking),
            "tool_use" => serde_json::from_value(body(fields)).map(Self::ToolUse),
            "tool_result" => serde_json::from_value(body(fields)).map(Self::ToolResult),
            "tool_reference" => serde_json::from_value(body(fields)).map(Self::ToolReference),
            _ => Ok(Self::Unknown(UnknownBlock(std::mem::take(fields)))),
        };
        block.map_err(|error| de::Error::custom(format!("content block of type `{kind}`: {error}")))
    }
}
