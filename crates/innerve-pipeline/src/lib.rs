#![doc = include_str!("../README.md")]

mod approver;
mod ask;
mod authorize;
mod classifier;
mod concurrency;
mod denials;
mod execute;
mod hook;
mod listen;
mod loosening;
mod observer;
mod pipeline;
mod prepare;
mod prompt_tool;
mod questions;
mod refusal;
mod settle;
mod stage;
mod step;
mod telemetry;
mod validate;

pub use approver::{Answer, ApprovalRequest, Approver, Grant, GrantScope, Unattended};
pub use classifier::{Classifier, ClassifierRequest, ClassifierVerdict};
pub use concurrency::is_concurrency_safe;
pub use denials::Denials;
pub use hook::{Hook, HookDecision, HookEvent, HookEventName, HookOutcome, PermissionAnswer};
pub use loosening::is_no_looser;
pub use observer::{Observer, Quiet, StepReport};
pub use pipeline::{Pipeline, PolicySource, Turn};
pub use prompt_tool::PromptTool;
pub use stage::{Outcome, Requested, Settled, StopRequest};
pub use step::Step;
pub use telemetry::{Naming, tool_class};
