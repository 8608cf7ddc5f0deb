#![doc = include_str!("../README.md")]

mod agent;
mod agents;
mod config;
mod conversation;
mod event;
mod executor;
mod hooks;
mod log;
mod looping;
mod policy;
mod prompt;
mod request;
mod response;
mod results;
mod round;
mod schedule;
mod session;
mod spending;
mod subagent;
mod tasks;
mod transcript;

pub use agent::{Agent, Run};
pub use config::AgentConfig;
pub use event::{AgentEvent, RunSummary, Terminal, TerminalReason, ToolReport, Transition};
pub use log::{LogError, Record, SessionLog};
pub use policy::{RuleSaver, SharedPolicy};
pub use prompt::{Surroundings, default_system_prompt};
pub use results::ResultFiles;
pub use schedule::{Schedule, SlotState};
pub use session::{Seat, SessionEnv, ToolFactory, random_id};
pub use spending::Spending;
pub use tasks::Tasks;
pub use transcript::{Quarantined, Transcript};
