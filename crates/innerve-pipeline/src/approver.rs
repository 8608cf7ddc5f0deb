//! The approver port: a person, a parent agent, or nobody.

use innerve_permission::{Preview, Resolution};
use innerve_protocol::{AgentId, ToolUseId};
use innerve_tool::{BoxFuture, CancellationToken};
use serde_json::Value;

/// Answers what the engine asks.
pub trait Approver: Send + Sync {
    /// Asks. The pipeline puts one question of a session at a time, in the order in which they came up.
    ///
    /// Ends soon after `cancellation`: the turn was aborted, or rules have changed so that nobody needs to be asked.
    fn ask(
        &self,
        request: ApprovalRequest,
        cancellation: CancellationToken,
    ) -> BoxFuture<'_, Answer>;
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct ApprovalRequest {
    /// The call.
    pub tool_use_id: ToolUseId,
    /// The tool.
    pub tool: String,
    /// The input that was judged and will run.
    pub input: Value,
    /// Why it is asked, part by part, and which rules would spare the question.
    pub resolution: Resolution,
    /// What would be written.
    pub preview: Option<Preview>,
    /// The sub-agent that asks; `None` for the main conversation.
    pub agent: Option<AgentId>,
    /// Whether a person must take part, so that no program may say yes in their place.
    pub needs_person: bool,
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Yes.
    Allow {
        /// Rules to remember, as they were shown.
        remember: Option<Grant>,
        /// The input as it was changed; it is checked and judged again.
        edited: Option<Value>,
    },
    /// No; without a comment the turn ends.
    Deny {
        /// What the person said.
        comment: Option<String>,
    },
    /// Nobody can be asked, and why.
    Unavailable(String),
    /// The question was withdrawn.
    Interrupted,
}

impl Answer {
    /// Yes, this once.
    pub fn once() -> Self {
        Self::Allow { remember: None, edited: None }
    }
}

/// Rules that a person granted with an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// For how long.
    pub scope: GrantScope,
    /// The rules' texts.
    pub rules: Vec<String>,
}

/// For how long a grant holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantScope {
    /// Until the session ends.
    Session,
    /// Saved in the project's local settings.
    Always,
}

/// Nobody: every question is answered by a refusal that says so.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unattended;

impl Approver for Unattended {
    fn ask(
        &self,
        _request: ApprovalRequest,
        _cancellation: CancellationToken,
    ) -> BoxFuture<'_, Answer> {
        Box::pin(async { Answer::Unavailable("nobody can be asked in this run".to_owned()) })
    }
}
