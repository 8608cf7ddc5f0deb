//! Lifecycle hooks: what settings say, run behind the hook port of the pipeline.
#![doc = include_str!("../README.md")]

mod act;
mod answer;
mod background;
mod condition;
mod configure;
mod error;
mod event;
mod hooks;
#[cfg(feature = "http")]
mod http;
mod input;
mod matcher;
mod port;
mod process;
mod session;
mod settings;
mod telemetry;
mod text;

pub use error::HooksError;
pub use event::EventName;
pub use hooks::Hooks;
pub use port::{
    AgentRunner, Answer, Judge, PortError, Question, ToolCaller, ToolRequest, prompt_for,
};
pub use session::{Deferral, HookObserver, HookRun, HookSession};
pub use settings::ActionKind;
