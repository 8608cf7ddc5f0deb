//! Requests: what is sent to a model, and what a model can take.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{CacheControl, SharedMessage, ToolDefinition};

/// One request to a model (Anthropic Messages API, "create a message"); other wire formats are made from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The model's name.
    pub model: String,
    /// Output tokens at most.
    pub max_tokens: u32,
    /// Instructions, stable ones first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<SystemBlock>,
    /// Tools in their stable order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolDefinition>,
    /// Which tools may or must be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// How the model may think.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
    /// Texts at which the model stops.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<String>,
    /// The conversation.
    pub messages: Vec<SharedMessage>,
    /// Fields that are not modelled here (`metadata`, `output_config`, `context_management`, …).
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Request {
    /// A request without instructions and tools.
    pub fn new(model: impl Into<String>, max_tokens: u32, messages: Vec<SharedMessage>) -> Self {
        Self {
            model: model.into(),
            max_tokens,
            system: Vec::new(),
            tools: Vec::new(),
            tool_choice: None,
            thinking: None,
            stop_sequences: Vec::new(),
            messages,
            extra: Map::new(),
        }
    }
}

/// One block of instructions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SystemBlock {
    /// Always `text`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The instructions.
    pub text: String,
    /// The cache marker, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<CacheControl>,
}

impl SystemBlock {
    /// A block of text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { kind: "text".to_owned(), text: text.into(), cache_control: None }
    }
}

/// Which tools may or must be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    Auto {
        /// Whether at most one tool may be used per response.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        disable_parallel_tool_use: bool,
    },
    /// Some tool must be used.
    Any {
        /// Whether at most one tool may be used per response.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        disable_parallel_tool_use: bool,
    },
    /// This tool must be used.
    Tool {
        /// The tool.
        name: String,
        /// Whether at most one tool may be used per response.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        disable_parallel_tool_use: bool,
    },
    /// No tool may be used.
    None,
}

/// How the model may think.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Thinking {
    /// Up to a number of tokens; at least 1024 and below `max_tokens`.
    Enabled {
        /// Tokens at most.
        budget_tokens: u32,
        /// `summarized` or `omitted`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display: Option<String>,
    },
    /// As the model sees fit.
    Adaptive {
        /// `summarized` or `omitted`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display: Option<String>,
    },
    /// Not at all.
    Disabled,
}

/// What a model, behind its provider, can take.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a table row of independent yes/no facts about a provider"
)]
pub struct Capabilities {
    /// Tokens of input and output together.
    pub context_window: u64,
    /// Output tokens at most.
    pub max_output_tokens: u32,
    /// Takes `thinking: enabled`.
    pub thinking_enabled: bool,
    /// Takes `thinking: adaptive`.
    pub thinking_adaptive: bool,
    /// Takes an assistant message at the end.
    pub assistant_prefill: bool,
    /// Takes cache markers.
    pub cache_control: bool,
    /// Takes deferred tools and references to them.
    pub tool_reference: bool,
    /// Searches the web itself when it is asked to; also true where only the answer to a request will show.
    pub web_search: bool,
    /// Takes images inside tool results.
    pub images_in_tool_result: bool,
    /// Takes more than one tool use per response.
    pub parallel_tools: bool,
    /// Images per request at most.
    pub max_images: usize,
}

impl Capabilities {
    /// What current Anthropic models take; a provider may narrow it.
    pub fn anthropic() -> Self {
        Self {
            context_window: 200_000,
            max_output_tokens: 64_000,
            thinking_enabled: false,
            thinking_adaptive: true,
            assistant_prefill: false,
            cache_control: true,
            tool_reference: true,
            web_search: true,
            images_in_tool_result: true,
            parallel_tools: true,
            max_images: 100,
        }
    }

    /// What an unknown OpenAI-compatible server can be trusted to take.
    pub fn openai_compatible() -> Self {
        Self {
            context_window: 128_000,
            max_output_tokens: 16_000,
            thinking_enabled: false,
            thinking_adaptive: false,
            assistant_prefill: true,
            cache_control: false,
            tool_reference: false,
            web_search: false,
            images_in_tool_result: false,
            parallel_tools: true,
            max_images: 50,
        }
    }
}
