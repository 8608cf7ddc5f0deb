#![doc = include_str!("../README.md")]

mod approver;
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
mod settle;
mod stage;
mod step;
mod validate;

pub use approver::{Answer, ApprovalRequest, Approver, Grant, GrantScope, Unattended};
pub use classifier::{Classifier, ClassifierRequest, ClassifierVerdict};
pub use concurrency::is_concurrency_safe;
pub use denials::Denials;
pub use hook::{Hook, HookDecision, HookEvent, HookEventName, HookOutcome, PermissionAnswer};
pub use loosening::is_no_looser;
pub use observer::{Observer, Quiet, StepReport};
pub use pipeline::{Pipeline, PolicySource, Turn};
pub use stage::{Outcome, Requested, Settled, StopRequest};
pub use step::Step;
