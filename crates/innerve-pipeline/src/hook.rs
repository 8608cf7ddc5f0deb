//! The hook port: what lifecycle hooks are told and what they may say.

use std::path::PathBuf;

use innerve_tool::BoxFuture;
use serde_json::Value;

use crate::PermissionUpdate;

/// Runs hooks for an event; one implementation may stand for many hooks and combines their words by strictness.
pub trait Hook: Send + Sync {
    /// Whether any hook listens to this event, so that the caller can save the work of describing it.
    fn listens(&self, event: HookEventName, tool: Option<&str>) -> bool;

    /// Runs all matching hooks to completion.
    fn run(&self, event: HookEvent) -> BoxFuture<'_, HookOutcome>;
}

/// An event with all that hooks are told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct HookEvent {
    /// The event.
    pub name: HookEventName,
    /// The session.
    pub session_id: String,
    /// The sub-agent, if one is at work.
    pub agent_id: Option<String>,
    /// The type of the agent, if it has one.
    pub agent_type: Option<String>,
    /// The current directory, absolute.
    pub cwd: PathBuf,
    /// The permission mode's name.
    pub permission_mode: &'static str,
    /// The tool, for tool events.
    pub tool: Option<String>,
    /// The event's own fields, named as hooks see them (`tool_input`, `tool_use_id`, `tool_response`, `prompt`, …).
    pub fields: serde_json::Map<String, Value>,
}

/// The events that a tool system meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookEventName {
    /// Before a tool runs.
    PreToolUse,
    /// A question would be asked.
    PermissionRequest,
    /// The classifier refused.
    PermissionDenied,
    /// A tool succeeded.
    PostToolUse,
    /// A tool failed.
    PostToolUseFailure,
    /// All tools of a response have ended.
    PostToolBatch,
    /// A person wrote.
    UserPromptSubmit,
    /// A session begins.
    SessionStart,
    /// A session ends.
    SessionEnd,
    /// The main conversation would stop.
    Stop,
    /// A sub-agent starts.
    SubagentStart,
    /// A sub-agent would stop.
    SubagentStop,
    /// A task was put on the list that agents share.
    TaskCreated,
    /// A task of that list is to be done.
    TaskCompleted,
    /// Before a compaction.
    PreCompact,
    /// After a compaction.
    PostCompact,
    /// A person is notified.
    Notification,
    /// Settings changed on disk.
    ConfigChange,
    /// The session moved to another directory.
    CwdChanged,
}

/// The combined word of all hooks that ran for an event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookOutcome {
    /// The strictest decision.
    pub decision: Option<HookDecision>,
    /// If that is to defer: the strictest one besides, which counts where the call cannot be put off.
    pub undeferred: Option<HookDecision>,
    /// The complete new input of the tool.
    pub updated_input: Option<Value>,
    /// The complete new output of the tool.
    pub updated_output: Option<Value>,
    /// Text for the model.
    pub context: Vec<String>,
    /// Text for the person.
    pub messages: Vec<String>,
    /// The run must stop after this, and why.
    pub stop: Option<String>,
    /// An answer to a permission request.
    pub permission: Option<PermissionAnswer>,
    /// What changes if that answer is a yes that counts.
    pub updates: Vec<PermissionUpdate>,
    /// The refused call may be tried again.
    pub retry: bool,
}

/// A hook's decision, ordered by strictness.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookDecision {
    /// Spares the question where nothing stricter speaks.
    Allow,
    /// At least ask, and why.
    Ask(String),
    /// End the turn without an answer.
    Defer,
    /// Refuse, and why.
    Deny(String),
}

/// A hook's answer to a permission request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionAnswer {
    /// Yes.
    Allow,
    /// No.
    Deny {
        /// What the model is told.
        message: String,
        /// Whether the turn ends.
        interrupt: bool,
    },
}

impl HookOutcome {
    /// Combines the words of two hooks: the stricter decision, the later input, all texts.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        let undeferred = self.without_defer().max(other.without_defer());
        self.decision = self.decision.max(other.decision);
        let defers = self.decision == Some(HookDecision::Defer);
        self.undeferred = undeferred.filter(|_| defers);
        self.updated_input = other.updated_input.or(self.updated_input);
        self.updated_output = other.updated_output.or(self.updated_output);
        self.context.extend(other.context);
        self.messages.extend(other.messages);
        self.stop = self.stop.or(other.stop);
        self.permission = match (self.permission, other.permission) {
            (Some(deny @ PermissionAnswer::Deny { .. }), _)
            | (_, Some(deny @ PermissionAnswer::Deny { .. })) => Some(deny),
            (first, second) => first.or(second),
        };
        self.updates.extend(other.updates);
        if self.permission != Some(PermissionAnswer::Allow) {
            self.updates.clear();
        }
        self.retry |= other.retry;
        self
    }

    /// The decision where the call cannot be put off.
    pub(crate) fn without_defer(&self) -> Option<HookDecision> {
        match &self.decision {
            Some(HookDecision::Defer) => self.undeferred.clone(),
            other => other.clone(),
        }
    }
}

impl HookEventName {
    /// The name used in settings and in the hooks' own JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PermissionRequest => "PermissionRequest",
            Self::PermissionDenied => "PermissionDenied",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::PostToolBatch => "PostToolBatch",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::Stop => "Stop",
            Self::SubagentStart => "SubagentStart",
            Self::SubagentStop => "SubagentStop",
            Self::TaskCreated => "TaskCreated",
            Self::TaskCompleted => "TaskCompleted",
            Self::PreCompact => "PreCompact",
            Self::PostCompact => "PostCompact",
            Self::Notification => "Notification",
            Self::ConfigChange => "ConfigChange",
            Self::CwdChanged => "CwdChanged",
        }
    }
}
