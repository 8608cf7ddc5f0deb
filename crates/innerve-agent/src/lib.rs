#![doc = include_str!("../README.md")]

mod agent;
mod agents;
mod answers;
mod aside;
mod catalog;
mod classify;
mod compaction;
mod config;
mod conversation;
mod coordinator;
mod deferral;
mod event;
mod executor;
mod fork;
mod hooks;
mod inbox;
mod journal;
mod log;
mod looping;
mod offer;
mod past;
mod policy;
mod prompt;
mod provider_search;
mod recovery;
mod request;
mod response;
mod results;
mod round;
mod schedule;
mod session;
mod spending;
mod subagent;
mod summary;
mod target;
mod task_list;
mod tasks;
mod telemetry;
mod transcript;
mod window;

pub use agent::{Agent, Run};
pub use agents::{AgentDefinition, AgentDefinitionError, AgentTypes};
pub use answers::QuickAnswers;
pub use catalog::RemoteTools;
pub use classify::{AgentClassifier, AutoModeRules, TwoStage};
pub use config::AgentConfig;
pub use deferral::{ToolSearchMode, UnknownToolSearchMode};
pub use event::{
    AgentEvent, Compaction, CompactionTrigger, RunSummary, Terminal, TerminalReason, ToolReport,
    Transition,
};
pub use journal::{FilePlan, Journal, UndoAction, UndoError, UndoPlan, UndoTarget, Undone};
pub use log::{LogError, Record, SessionLog};
pub use past::PastSession;
pub use policy::{RuleSaver, SharedPolicy};
pub use prompt::{Surroundings, default_system_prompt};
pub use provider_search::ProviderSearcher;
pub use results::ResultFiles;
pub use session::{Seat, SessionEnv, ToolFactory, random_id};
pub use spending::Spending;
pub use summary::SessionSummary;
pub use task_list::TaskListFile;
pub use tasks::Tasks;
pub use transcript::{Quarantined, Transcript};
