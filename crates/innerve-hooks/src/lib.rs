//! Lifecycle hooks: their settings, matchers and ports.
#![doc = include_str!("../README.md")]

mod error;
mod event;
mod matcher;
mod port;
mod settings;

pub use error::HooksError;
pub use event::{HookEvent, Subject};
pub use matcher::Matcher;
pub use port::{
    AgentRunner, Answer, Judge, PortError, Question, ToolCaller, ToolRequest, prompt_for,
};
pub use settings::{
    Action, ActionKind, AgentAction, CommandAction, HookEntry, HookGroup, HookSettings, HttpAction,
    McpToolAction, PromptAction, Shell, SkippedEntry,
};
