//! What a run tells while it goes on, and how it ends.

use std::path::PathBuf;
use std::time::Duration;

use innerve_permission::{PermissionMode, Reason};
use innerve_pipeline::Outcome;
use innerve_protocol::{Message, RetryNotice, SessionId, ToolUse, ToolUseId, Usage};
use innerve_tool::ProgressEvent;
use serde::Serialize;

/// What happens in a run, in order; the last one is [`AgentEvent::Ended`].
#[derive(Clone, Debug)]
pub enum AgentEvent {
    /// The run begins.
    Started {
        /// The session.
        session_id: SessionId,
        /// The model.
        model: String,
        /// The tools that are offered, as sent.
        tools: Vec<String>,
        /// The mode.
        mode: PermissionMode,
        /// The directory.
        cwd: PathBuf,
    },
    /// The model writes text.
    Text(String),
    /// The model thinks.
    Thinking(String),
    /// A message of the model is complete.
    Assistant(Message),
    /// A message for the model was added: tool results and notes.
    User(Message),
    /// A tool use is about to be judged and run.
    ToolStarted(ToolUse),
    /// A tool use was answered.
    ToolEnded(ToolReport),
    /// A running tool tells how far it is.
    Progress(ProgressEvent),
    /// A request is sent again after a while.
    Retrying(RetryNotice),
    /// What a person should know although the run goes on.
    Warning(String),
    /// What the model wrote since its last complete message does not count: it is asked again.
    Discarded,
    /// The conversation was compacted.
    Compacted(Compaction),
    /// The run goes on for this reason.
    Continuing(Transition),
    /// The run is over.
    Ended(Box<RunSummary>),
}

/// A tool use that was answered.
#[derive(Clone, Debug)]
pub struct ToolReport {
    /// The tool use.
    pub tool_use_id: ToolUseId,
    /// The tool's canonical name.
    pub tool: String,
    /// The input as the model wrote it.
    pub input: serde_json::Value,
    /// How it ended.
    pub outcome: Outcome,
    /// The stable code of the failure.
    pub code: Option<String>,
    /// What the model sees.
    pub text: String,
    /// The tool's own data.
    pub data: serde_json::Value,
    /// How long the tool itself ran, without the time in which somebody was asked; zero if it did not run, or if the
    /// pipeline has no clock.
    pub elapsed: Duration,
}

/// A conversation that was replaced by a summary of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compaction {
    /// What for.
    pub trigger: CompactionTrigger,
    /// Its size before, in tokens, about.
    pub before: u64,
    /// Its size after, in tokens, about.
    pub after: u64,
}

/// What a conversation is compacted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionTrigger {
    /// A person asked for it.
    Manual,
    /// It got too long.
    Auto,
    /// The provider did not take it any more.
    Reactive,
}

impl CompactionTrigger {
    /// The name that hooks see (Claude Code documentation, "hooks").
    pub fn name(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Auto | Self::Reactive => "auto",
        }
    }
}

/// Why the loop went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// Tool results were added.
    NextTurn,
    /// The response was cut at the output limit: the same request is sent with a larger one.
    MaxOutputTokensEscalate,
    /// The response was cut at the larger limit: the model is asked to go on.
    MaxOutputTokensRecovery,
    /// The response was cut by the connection: the model is asked to go on.
    TruncatedRecovery,
    /// The provider paused a long turn.
    PauseTurn,
    /// A hook kept the run from ending.
    StopHookBlocking,
    /// The request was too large with the output it asked for: less is asked for.
    MaxOutputTokensReduced,
    /// The conversation did not fit: old tool results were cleared.
    CollapseDrainRetry,
    /// The conversation did not fit, or an image was not taken: it was compacted, or its images were taken out.
    ReactiveCompactRetry,
    /// The model ended long before the tokens were used that it was given.
    TokenBudgetContinuation,
    /// Another model answers.
    ModelFallback,
    /// A person wrote while the model did.
    Submitted,
    /// A sub-agent that the coordinator waited for has ended.
    WorkersReported,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Terminal {
    /// The reason.
    pub reason: TerminalReason,
    /// What happened, in words; empty for a run that was done.
    pub message: String,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalReason {
    /// The model was done.
    Completed,
    /// The limit of tool rounds was reached.
    MaxTurns,
    /// A person stopped it while the model wrote.
    AbortedStreaming,
    /// A person stopped it while tools ran.
    AbortedTools,
    /// The conversation does not fit the model.
    PromptTooLong,
    /// An image or document was not taken.
    ImageError,
    /// The model could not be reached or failed.
    ModelError,
    /// The conversation is too large to be sent.
    BlockingLimit,
    /// A stop hook forbade to go on.
    StopHookPrevented,
    /// A hook stopped the run.
    HookStopped,
    /// The cost limit was reached.
    BudgetExceeded,
    /// A person said no to a call without a comment.
    DeniedByUser,
    /// The model refused.
    Refused,
    /// The session could not be written to disk.
    SessionError,
}

impl TerminalReason {
    /// The stable name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::MaxTurns => "max_turns",
            Self::AbortedStreaming => "aborted_streaming",
            Self::AbortedTools => "aborted_tools",
            Self::PromptTooLong => "prompt_too_long",
            Self::ImageError => "image_error",
            Self::ModelError => "model_error",
            Self::BlockingLimit => "blocking_limit",
            Self::StopHookPrevented => "stop_hook_prevented",
            Self::HookStopped => "hook_stopped",
            Self::BudgetExceeded => "budget_exceeded",
            Self::DeniedByUser => "denied_by_user",
            Self::Refused => "refused",
            Self::SessionError => "session_error",
        }
    }
}

/// A finished run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunSummary {
    /// How it ended.
    pub terminal: Terminal,
    /// The model's last words.
    pub result: String,
    /// Rounds of tool uses.
    pub turns: u32,
    /// Tokens, sub-agents included.
    pub usage: Usage,
    /// US dollars, sub-agents included; `None` if a price is not known.
    pub cost_usd: Option<f64>,
    /// The session.
    pub session_id: SessionId,
    /// What was refused: tool, input and reason.
    pub permission_denials: Vec<(ToolUse, Reason)>,
}
