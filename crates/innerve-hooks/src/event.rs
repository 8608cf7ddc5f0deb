//! Events: when a hook may run, what its matcher looks at, and which actions it may have.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::HooksError;
use crate::settings::ActionKind;

/// A moment in the life of a session at which hooks run (Claude Code, "Hooks reference").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum HookEvent {
    /// A session starts, resumes, or goes on after a clear or a compaction.
    SessionStart,
    /// The host sets itself up or maintains itself.
    Setup,
    /// A file of instructions was read.
    InstructionsLoaded,
    /// A person sent a prompt.
    UserPromptSubmit,
    /// A command in a prompt is about to be expanded.
    UserPromptExpansion,
    /// A piece of an assistant's message is about to be shown.
    MessageDisplay,
    /// A tool use is about to be judged.
    PreToolUse,
    /// A person is about to be asked.
    PermissionRequest,
    /// A classifier denied a tool use.
    PermissionDenied,
    /// A tool use succeeded.
    PostToolUse,
    /// A tool use ran and failed.
    PostToolUseFailure,
    /// All tool uses of one response are done.
    PostToolBatch,
    /// The host notifies a person.
    Notification,
    /// A sub-agent starts.
    SubagentStart,
    /// A sub-agent is about to stop.
    SubagentStop,
    /// A task was created.
    TaskCreated,
    /// A task is about to be completed.
    TaskCompleted,
    /// The agent is about to stop.
    Stop,
    /// The agent stopped because of an error.
    StopFailure,
    /// A teammate has nothing to do.
    TeammateIdle,
    /// Settings changed on disk.
    ConfigChange,
    /// The working directory changed.
    CwdChanged,
    /// A working directory was added.
    DirectoryAdded,
    /// A watched file changed.
    FileChanged,
    /// A worktree is wanted.
    WorktreeCreate,
    /// A worktree was removed.
    WorktreeRemove,
    /// The conversation is about to be compacted.
    PreCompact,
    /// The conversation was compacted.
    PostCompact,
    /// A session ends.
    SessionEnd,
    /// A server asks a person for input.
    Elicitation,
    /// A person answered a server.
    ElicitationResult,
}

/// What the matcher of an event is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// The tool's name.
    ToolName,
    /// How the session came to be: `startup`, `resume`, `clear`, `compact`, `fork`.
    SessionSource,
    /// What the setup is for: `init`, `maintenance`.
    SetupTrigger,
    /// Why the instructions were read.
    LoadReason,
    /// The command's name.
    CommandName,
    /// The kind of notification.
    NotificationKind,
    /// The sub-agent's type.
    AgentType,
    /// The kind of error.
    ErrorKind,
    /// Which settings changed.
    SettingsSource,
    /// How the directory came in.
    DirectorySource,
    /// The file's name.
    FileName,
    /// Who asked for the compaction: `manual`, `auto`.
    CompactTrigger,
    /// Why the session ends.
    EndReason,
    /// The server's name.
    ServerName,
}

/// The row of an event in the table below.
struct Row {
    subject: Option<Subject>,
    actions: &'static [ActionKind],
}

const ALL: &[ActionKind] = &[
    ActionKind::Command,
    ActionKind::Http,
    ActionKind::McpTool,
    ActionKind::Prompt,
    ActionKind::Agent,
];
const WITHOUT_MODEL: &[ActionKind] = &[ActionKind::Command, ActionKind::Http, ActionKind::McpTool];
const LOCAL: &[ActionKind] = &[ActionKind::Command, ActionKind::McpTool];

/// How long the hooks of [`HookEvent::SessionEnd`] may take together, unless one of them asks for more.
const SESSION_END: Duration = Duration::from_millis(1500);

impl HookEvent {
    /// All events, in the order of a session.
    pub const EVERY: [Self; 31] = [
        Self::SessionStart,
        Self::Setup,
        Self::InstructionsLoaded,
        Self::UserPromptSubmit,
        Self::UserPromptExpansion,
        Self::MessageDisplay,
        Self::PreToolUse,
        Self::PermissionRequest,
        Self::PermissionDenied,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::PostToolBatch,
        Self::Notification,
        Self::SubagentStart,
        Self::SubagentStop,
        Self::TaskCreated,
        Self::TaskCompleted,
        Self::Stop,
        Self::StopFailure,
        Self::TeammateIdle,
        Self::ConfigChange,
        Self::CwdChanged,
        Self::DirectoryAdded,
        Self::FileChanged,
        Self::WorktreeCreate,
        Self::WorktreeRemove,
        Self::PreCompact,
        Self::PostCompact,
        Self::SessionEnd,
        Self::Elicitation,
        Self::ElicitationResult,
    ];

    fn row(self) -> Row {
        let (subject, actions) = match self {
            Self::SessionStart => (Some(Subject::SessionSource), LOCAL),
            Self::Setup => (Some(Subject::SetupTrigger), LOCAL),
            Self::InstructionsLoaded => (Some(Subject::LoadReason), WITHOUT_MODEL),
            Self::UserPromptExpansion => (Some(Subject::CommandName), ALL),
            Self::PreToolUse
            | Self::PermissionRequest
            | Self::PermissionDenied
            | Self::PostToolUse
            | Self::PostToolUseFailure => (Some(Subject::ToolName), ALL),
            Self::Notification => (Some(Subject::NotificationKind), WITHOUT_MODEL),
            Self::SubagentStart => (Some(Subject::AgentType), WITHOUT_MODEL),
            Self::SubagentStop => (Some(Subject::AgentType), ALL),
            Self::StopFailure => (Some(Subject::ErrorKind), WITHOUT_MODEL),
            Self::ConfigChange => (Some(Subject::SettingsSource), WITHOUT_MODEL),
            Self::DirectoryAdded => (Some(Subject::DirectorySource), WITHOUT_MODEL),
            Self::FileChanged => (Some(Subject::FileName), WITHOUT_MODEL),
            Self::PreCompact | Self::PostCompact => (Some(Subject::CompactTrigger), WITHOUT_MODEL),
            Self::SessionEnd => (Some(Subject::EndReason), WITHOUT_MODEL),
            Self::Elicitation | Self::ElicitationResult => {
                (Some(Subject::ServerName), WITHOUT_MODEL)
            }
            Self::UserPromptSubmit
            | Self::PostToolBatch
            | Self::TaskCreated
            | Self::TaskCompleted
            | Self::Stop
            | Self::TeammateIdle => (None, ALL),
            Self::MessageDisplay
            | Self::CwdChanged
            | Self::WorktreeCreate
            | Self::WorktreeRemove => (None, WITHOUT_MODEL),
        };
        Row { subject, actions }
    }

    /// What a matcher is compared with; `None` where matchers are ignored.
    pub fn subject(self) -> Option<Subject> {
        self.row().subject
    }

    /// Whether the event is about one tool use, so that a hook's `if` can be tested.
    pub fn is_about_a_tool(self) -> bool {
        self.subject() == Some(Subject::ToolName)
    }

    /// Whether hooks of this event may act in that way.
    pub fn accepts(self, kind: ActionKind) -> bool {
        self.row().actions.contains(&kind)
    }

    /// How long an action may take when its entry names no `timeout`.
    ///
    /// At [`Self::SessionEnd`] it is what all hooks share.
    pub fn default_timeout(self, kind: ActionKind) -> Duration {
        let seconds = match (self, kind) {
            (Self::SessionEnd, _) => return SESSION_END,
            (_, ActionKind::Agent) => 60,
            (_, ActionKind::Prompt) | (Self::UserPromptSubmit, _) => 30,
            (Self::MessageDisplay, _) => 10,
            (_, ActionKind::Command | ActionKind::Http | ActionKind::McpTool) => 600,
        };
        Duration::from_secs(seconds)
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The variants are named as settings name the events.
        fmt::Debug::fmt(self, formatter)
    }
}

impl FromStr for HookEvent {
    type Err = HooksError;

    fn from_str(name: &str) -> Result<Self, HooksError> {
        Self::EVERY
            .into_iter()
            .find(|event| event.to_string() == name)
            .ok_or_else(|| HooksError::UnknownEvent { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_listed_once_and_reads_back_from_its_name() {
        let mut events = HookEvent::EVERY.to_vec();
        events.sort_unstable();
        events.dedup();
        assert_eq!(events.len(), HookEvent::EVERY.len());
        for event in HookEvent::EVERY {
            assert_eq!(event.to_string().parse::<HookEvent>().unwrap(), event);
            assert_eq!(serde_json::to_value(event).unwrap(), serde_json::json!(event.to_string()));
        }
        assert_eq!("preToolUse".parse::<HookEvent>().unwrap_err().code(), "hooks.unknown_event");
    }

    #[test]
    fn only_five_events_are_about_a_tool() {
        let about: Vec<String> = HookEvent::EVERY
            .into_iter()
            .filter(|event| event.is_about_a_tool())
            .map(|event| event.to_string())
            .collect();
        assert_eq!(
            about,
            [
                "PreToolUse",
                "PermissionRequest",
                "PermissionDenied",
                "PostToolUse",
                "PostToolUseFailure"
            ]
        );
    }

    #[test]
    fn a_session_does_not_start_with_a_request_or_a_model() {
        for kind in [ActionKind::Http, ActionKind::Prompt, ActionKind::Agent] {
            assert!(!HookEvent::SessionStart.accepts(kind), "{kind}");
        }
        assert!(HookEvent::SessionStart.accepts(ActionKind::Command));
        assert!(HookEvent::Notification.accepts(ActionKind::Http));
        assert!(!HookEvent::Notification.accepts(ActionKind::Prompt));
        assert!(HookEvent::PreToolUse.accepts(ActionKind::Agent));
    }

    #[test]
    fn every_event_accepts_commands_and_tools() {
        for event in HookEvent::EVERY {
            assert!(
                event.accepts(ActionKind::Command) && event.accepts(ActionKind::McpTool),
                "{event}"
            );
        }
    }

    #[test]
    fn defaults_of_timeouts_follow_event_and_action() {
        for (event, kind, millis) in [
            (HookEvent::PreToolUse, ActionKind::Command, 600_000),
            (HookEvent::PreToolUse, ActionKind::Prompt, 30_000),
            (HookEvent::PreToolUse, ActionKind::Agent, 60_000),
            (HookEvent::UserPromptSubmit, ActionKind::Http, 30_000),
            (HookEvent::UserPromptSubmit, ActionKind::Agent, 60_000),
            (HookEvent::MessageDisplay, ActionKind::McpTool, 10_000),
            (HookEvent::SessionEnd, ActionKind::Command, 1_500),
        ] {
            assert_eq!(
                event.default_timeout(kind),
                Duration::from_millis(millis),
                "{event} {kind}"
            );
        }
    }
}
