//! The wire words of a coding agent: messages, content blocks, stream events, and the rules that order them.
//!
//! [`Message`] and [`ContentBlock`] are the Messages API's own shapes; kinds and fields that are not known here survive
//! a round trip. [`Assembler`] folds wire events into finished blocks; [`normalize`] repairs a transcript and
//! [`validate`] says whether an API would take it. This crate does no I/O and knows no tool.

mod assembler;
mod content;
mod definition;
mod id;
mod marker;
mod message;
mod normalize;
mod request;
mod shared_message;
mod stop;
mod stream;
mod text;
mod usage;
mod validate;

pub use assembler::{Assembler, StreamError};
pub use content::{
    CacheControl, ContentBlock, ImageBlock, ImageSource, RedactedThinking, TextBlock,
    ThinkingBlock, ToolReference, ToolResult, ToolResultContent, ToolUse, UnknownBlock,
};
pub use definition::ToolDefinition;
pub use id::{AgentId, SessionId, ToolUseId};
pub use message::{Message, Role};
pub use normalize::{LOST_RESULT, Repair, RepairKind, normalize, normalize_request};
pub use request::{Capabilities, Request, SystemBlock, Thinking, ToolChoice};
pub use shared_message::SharedMessage;
pub use stop::StopReason;
pub use stream::{BlockKind, Delta, RetryNotice, StreamEvent, WireError, WireEvent};
pub use usage::Usage;
pub use validate::{Violation, ViolationRule, validate, validate_request};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
