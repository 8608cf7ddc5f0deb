//! The classifier port: a second model that answers in place of a person in mode `auto`.

use std::path::PathBuf;

use innerve_permission::PermissionMode;
use innerve_protocol::ToolUseId;
use innerve_tool::BoxFuture;

/// Judges calls in place of a person.
pub trait Classifier: Send + Sync {
    /// Starts to judge. The work begins with this call, not with the first poll, and ends when the future is dropped.
    fn start(&self, request: ClassifierRequest) -> BoxFuture<'static, ClassifierVerdict>;
}

/// What a classifier is told of a call; it never sees tool results or the model's prose.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassifierRequest {
    /// The call.
    pub tool_use_id: ToolUseId,
    /// The tool.
    pub tool: String,
    /// What the tool says of its input.
    pub input: String,
    /// The directory it would run in, absolute.
    pub cwd: PathBuf,
    /// The mode that asks: `auto`, or `plan`, in which nothing should be changed yet.
    pub mode: PermissionMode,
}

/// A classifier's word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClassifierVerdict {
    /// It may run.
    Allow,
    /// It must not run, and why.
    Block(String),
    /// No verdict: the model did not answer or answered nonsense.
    Unavailable(String),
}
