//! Stream events: as they come on the wire, and as the loop wants them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{ContentBlock, StopReason, StreamError, ToolUseId, Usage};

/// An event of a Messages API stream, as it comes (Anthropic Messages API, "streaming").
///
/// Event types that are not listed are read as [`WireEvent::Unknown`] and must be ignored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WireEvent {
    /// The response begins.
    MessageStart {
        /// The response without content: id, model, first usage.
        message: Map<String, Value>,
    },
    /// A block begins.
    ContentBlockStart {
        /// Its place in the content.
        index: usize,
        /// The block as far as it is known.
        content_block: ContentBlock,
    },
    /// A block grows.
    ContentBlockDelta {
        /// Its place in the content.
        index: usize,
        /// What is added.
        delta: Delta,
    },
    /// A block is complete.
    ContentBlockStop {
        /// Its place in the content.
        index: usize,
    },
    /// The response as a whole changes: stop reason and cumulative usage.
    MessageDelta {
        /// `stop_reason`, `stop_sequence`, `stop_details`, …
        delta: Map<String, Value>,
        /// Cumulative counts.
        #[serde(default)]
        usage: Option<Usage>,
    },
    /// The response is complete.
    MessageStop,
    /// Nothing but a sign of life.
    Ping,
    /// The provider gave up after it had answered 200.
    Error {
        /// What went wrong.
        error: WireError,
    },
    /// An event type that is not modelled here.
    #[serde(other)]
    Unknown,
}

impl WireEvent {
    /// Reads the `data` of one server-sent event.
    ///
    /// Event types that are not known, empty data and `[DONE]` are [`WireEvent::Unknown`], which an assembler ignores.
    /// Text that is no JSON object with a `type`, and a known type with a body that does not fit, are
    /// [`StreamError::Malformed`].
    pub fn parse(data: &str) -> Result<Self, StreamError> {
        let data = data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(Self::Unknown);
        }
        serde_json::from_str(data)
            .map_err(|error| StreamError::Malformed(format!("unreadable event: {error}")))
    }
}

/// What is added to a block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Delta {
    /// Text.
    TextDelta {
        /// The piece.
        text: String,
    },
    /// A piece of a tool use's input as JSON text.
    InputJsonDelta {
        /// The piece; often empty at first.
        partial_json: String,
    },
    /// Thinking.
    ThinkingDelta {
        /// The piece.
        thinking: String,
    },
    /// The seal of a thinking block.
    SignatureDelta {
        /// The seal or a piece of it.
        signature: String,
    },
    /// A citation of a text block.
    CitationsDelta {
        /// The citation as it came.
        citation: Value,
    },
    /// A kind that is not modelled here.
    #[serde(other)]
    Unknown,
}

/// An error as the provider words it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireError {
    /// Such as `overloaded_error`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The provider's text.
    #[serde(default)]
    pub message: String,
}

/// What a model says, piece by piece, whatever the wire format.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamEvent {
    /// The response begins.
    Start {
        /// The provider's id of the response, empty if it gives none.
        id: String,
        /// The model that answers, empty if it is not told.
        model: String,
        /// First counts.
        usage: Usage,
    },
    /// A block begins.
    BlockStart {
        /// Its place in the content.
        index: usize,
        /// What it will be.
        kind: BlockKind,
    },
    /// Text for a person to see at once.
    TextDelta {
        /// The block.
        index: usize,
        /// The piece.
        text: String,
    },
    /// Thinking for a person to see at once.
    ThinkingDelta {
        /// The block.
        index: usize,
        /// The piece.
        thinking: String,
    },
    /// A tool use's input grows.
    InputDelta {
        /// The block.
        index: usize,
        /// The piece of JSON text.
        partial_json: String,
    },
    /// A block is complete: a tool may start now.
    BlockDone {
        /// Its place in the content.
        index: usize,
        /// The block; a tool use whose input is not JSON has `{}` here.
        block: ContentBlock,
        /// The raw input of a tool use that is not JSON: it must be answered by an error, never run.
        invalid_input: Option<String>,
    },
    /// Cumulative counts.
    Usage(Usage),
    /// The response is complete.
    Stop {
        /// Why.
        reason: StopReason,
        /// `stop_sequence` and `stop_details` as they came.
        details: Map<String, Value>,
    },
    /// Nothing but a sign of life.
    Ping,
    /// The request failed and is sent again after a while; all events before this one are void.
    Retrying(RetryNotice),
}

/// What a block will be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// Text.
    Text,
    /// Thinking.
    Thinking,
    /// A tool use.
    ToolUse {
        /// Its id.
        id: ToolUseId,
        /// The tool's name.
        name: String,
    },
    /// Anything else.
    Other,
}

/// Says that a request is sent again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryNotice {
    /// The attempt that failed, from 1.
    pub attempt: u32,
    /// Attempts at most.
    pub max_attempts: u32,
    /// How long is waited, in milliseconds.
    pub delay_ms: u64,
    /// The class of the failure, such as `overloaded`.
    pub class: String,
    /// What happened, for people: the address, the cause. Holds no key.
    #[serde(default)]
    pub message: String,
}
