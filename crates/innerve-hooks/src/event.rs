//! Events: when a hook may run, what its matcher looks at, and which actions it may have.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use innerve_pipeline::HookEventName;
use serde::{Deserialize, Serialize};

use crate::HooksError;
use crate::settings::ActionKind;

/// A moment in the life of a session at which hooks run (Claude Code, "Hooks reference").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum EventName {
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
pub(crate) enum Subject {
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

/// What exit code 2 of a command, or `decision: "block"` of its JSON, does at an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// It decides: the call, the prompt, the stop or the change is held back.
    Decides,
    /// A person is shown why, and all goes on.
    Shown,
    /// Nobody is told.
    Ignored,
}

/// Which words of a hook the model is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// None.
    Nothing,
    /// `additionalContext` of its JSON.
    Context,
    /// That, and all of an output that is no JSON.
    Text,
}

/// The row of an event in the table below.
struct Row {
    subject: Option<Subject>,
    actions: &'static [ActionKind],
    block: Block,
    told: Told,
}

const fn row(
    subject: Option<Subject>,
    actions: &'static [ActionKind],
    block: Block,
    told: Told,
) -> Row {
    Row { subject, actions, block, told }
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

/// How long the hooks of [`EventName::SessionEnd`] may take together, unless one of them asks for more.
const SESSION_END: Duration = Duration::from_millis(1500);

impl EventName {
    /// All events, in the order of a session.
    pub const ALL: [Self; 31] = [
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

    #[rustfmt::skip]
    #[expect(clippy::match_same_arms, reason = "a table: one row for each event")]
    fn row(self) -> Row {
        match self {
            Self::SessionStart => row(Some(Subject::SessionSource), LOCAL, Block::Shown, Told::Text),
            Self::Setup => row(Some(Subject::SetupTrigger), LOCAL, Block::Shown, Told::Context),
            Self::InstructionsLoaded => row(Some(Subject::LoadReason), WITHOUT_MODEL, Block::Ignored, Told::Nothing),
            Self::UserPromptSubmit => row(None, ALL, Block::Decides, Told::Text),
            Self::UserPromptExpansion => row(Some(Subject::CommandName), ALL, Block::Decides, Told::Text),
            Self::MessageDisplay => row(None, WITHOUT_MODEL, Block::Ignored, Told::Nothing),
            Self::PreToolUse => row(Some(Subject::ToolName), ALL, Block::Decides, Told::Context),
            Self::PermissionRequest => row(Some(Subject::ToolName), ALL, Block::Shown, Told::Nothing),
            Self::PermissionDenied => row(Some(Subject::ToolName), ALL, Block::Ignored, Told::Nothing),
            Self::PostToolUse => row(Some(Subject::ToolName), ALL, Block::Decides, Told::Context),
            Self::PostToolUseFailure => row(Some(Subject::ToolName), ALL, Block::Decides, Told::Context),
            Self::PostToolBatch => row(None, ALL, Block::Decides, Told::Context),
            Self::Notification => row(Some(Subject::NotificationKind), WITHOUT_MODEL, Block::Ignored, Told::Nothing),
            Self::SubagentStart => row(Some(Subject::AgentType), WITHOUT_MODEL, Block::Shown, Told::Context),
            Self::SubagentStop => row(Some(Subject::AgentType), ALL, Block::Decides, Told::Context),
            Self::TaskCreated => row(None, ALL, Block::Decides, Told::Nothing),
            Self::TaskCompleted => row(None, ALL, Block::Decides, Told::Nothing),
            Self::Stop => row(None, ALL, Block::Decides, Told::Context),
            Self::StopFailure => row(Some(Subject::ErrorKind), WITHOUT_MODEL, Block::Ignored, Told::Nothing),
            Self::TeammateIdle => row(None, ALL, Block::Decides, Told::Nothing),
            Self::ConfigChange => row(Some(Subject::SettingsSource), WITHOUT_MODEL, Block::Decides, Told::Nothing),
            Self::CwdChanged => row(None, WITHOUT_MODEL, Block::Shown, Told::Nothing),
            Self::DirectoryAdded => row(Some(Subject::DirectorySource), WITHOUT_MODEL, Block::Ignored, Told::Nothing),
            Self::FileChanged => row(Some(Subject::FileName), WITHOUT_MODEL, Block::Shown, Told::Nothing),
            Self::WorktreeCreate => row(None, WITHOUT_MODEL, Block::Decides, Told::Nothing),
            Self::WorktreeRemove => row(None, WITHOUT_MODEL, Block::Ignored, Told::Nothing),
            Self::PreCompact => row(Some(Subject::CompactTrigger), WITHOUT_MODEL, Block::Decides, Told::Nothing),
            Self::PostCompact => row(Some(Subject::CompactTrigger), WITHOUT_MODEL, Block::Shown, Told::Nothing),
            Self::SessionEnd => row(Some(Subject::EndReason), WITHOUT_MODEL, Block::Shown, Told::Nothing),
            Self::Elicitation => row(Some(Subject::ServerName), WITHOUT_MODEL, Block::Decides, Told::Nothing),
            Self::ElicitationResult => row(Some(Subject::ServerName), WITHOUT_MODEL, Block::Decides, Told::Nothing),
        }
    }

    /// What a matcher is compared with; `None` where matchers are ignored.
    pub(crate) fn subject(self) -> Option<Subject> {
        self.row().subject
    }

    /// Whether the event is about one tool use, so that a hook's `if` can be tested.
    pub(crate) fn is_about_a_tool(self) -> bool {
        self.subject() == Some(Subject::ToolName)
    }

    /// Whether hooks of this event may act in that way.
    pub(crate) fn accepts(self, kind: ActionKind) -> bool {
        self.row().actions.contains(&kind)
    }

    /// What exit code 2 does.
    pub(crate) fn block(self) -> Block {
        self.row().block
    }

    /// What the model is told.
    pub(crate) fn told(self) -> Told {
        self.row().told
    }

    /// How long an action may take when its entry names no `timeout`.
    ///
    /// At [`Self::SessionEnd`] it is what all hooks share.
    pub(crate) fn default_timeout(self, kind: ActionKind) -> Duration {
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

impl Subject {
    /// The field of the event that holds it.
    pub(crate) fn field(self) -> &'static str {
        match self {
            Self::ToolName => "tool_name",
            Self::SessionSource | Self::SettingsSource | Self::DirectorySource => "source",
            Self::SetupTrigger | Self::CompactTrigger => "trigger",
            Self::LoadReason => "load_reason",
            Self::CommandName => "command_name",
            Self::NotificationKind => "notification_type",
            Self::AgentType => "agent_type",
            Self::ErrorKind => "error",
            Self::FileName => "file_path",
            Self::EndReason => "reason",
            Self::ServerName => "mcp_server_name",
        }
    }
}

/// The events that innerve meets, by the names of all that are documented.
impl From<HookEventName> for EventName {
    fn from(name: HookEventName) -> Self {
        match name {
            HookEventName::PreToolUse => Self::PreToolUse,
            HookEventName::PermissionRequest => Self::PermissionRequest,
            HookEventName::PermissionDenied => Self::PermissionDenied,
            HookEventName::PostToolUse => Self::PostToolUse,
            HookEventName::PostToolUseFailure => Self::PostToolUseFailure,
            HookEventName::PostToolBatch => Self::PostToolBatch,
            HookEventName::UserPromptSubmit => Self::UserPromptSubmit,
            HookEventName::SessionStart => Self::SessionStart,
            HookEventName::SessionEnd => Self::SessionEnd,
            HookEventName::Stop => Self::Stop,
            HookEventName::SubagentStart => Self::SubagentStart,
            HookEventName::SubagentStop => Self::SubagentStop,
            HookEventName::TaskCreated => Self::TaskCreated,
            HookEventName::TaskCompleted => Self::TaskCompleted,
            HookEventName::PreCompact => Self::PreCompact,
            HookEventName::PostCompact => Self::PostCompact,
            HookEventName::Notification => Self::Notification,
            HookEventName::ConfigChange => Self::ConfigChange,
            HookEventName::CwdChanged => Self::CwdChanged,
        }
    }
}

impl fmt::Display for EventName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The variants are named as settings name the events.
        fmt::Debug::fmt(self, formatter)
    }
}

impl FromStr for EventName {
    type Err = HooksError;

    fn from_str(name: &str) -> Result<Self, HooksError> {
        Self::ALL
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
        let mut events = EventName::ALL.to_vec();
        events.sort_unstable();
        events.dedup();
        assert_eq!(events.len(), EventName::ALL.len());
        for event in EventName::ALL {
            assert_eq!(event.to_string().parse::<EventName>().unwrap(), event);
            assert_eq!(serde_json::to_value(event).unwrap(), serde_json::json!(event.to_string()));
        }
        assert_eq!("preToolUse".parse::<EventName>().unwrap_err().code(), "hooks.unknown_event");
    }

    #[test]
    fn an_event_of_the_pipeline_keeps_its_name() {
        let met = [
            HookEventName::PreToolUse,
            HookEventName::PermissionRequest,
            HookEventName::PermissionDenied,
            HookEventName::PostToolUse,
            HookEventName::PostToolUseFailure,
            HookEventName::PostToolBatch,
            HookEventName::UserPromptSubmit,
            HookEventName::SessionStart,
            HookEventName::SessionEnd,
            HookEventName::Stop,
            HookEventName::SubagentStart,
            HookEventName::SubagentStop,
            HookEventName::TaskCreated,
            HookEventName::TaskCompleted,
            HookEventName::PreCompact,
            HookEventName::PostCompact,
            HookEventName::Notification,
            HookEventName::ConfigChange,
            HookEventName::CwdChanged,
        ];
        for name in met {
            assert_eq!(EventName::from(name).to_string(), name.name());
        }
    }

    #[test]
    fn only_five_events_are_about_a_tool() {
        let about: Vec<String> = EventName::ALL
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
            assert!(!EventName::SessionStart.accepts(kind), "{kind}");
        }
        assert!(EventName::SessionStart.accepts(ActionKind::Command));
        assert!(EventName::Notification.accepts(ActionKind::Http));
        assert!(!EventName::Notification.accepts(ActionKind::Prompt));
        assert!(EventName::PreToolUse.accepts(ActionKind::Agent));
    }

    #[test]
    fn every_event_accepts_commands_and_tools() {
        for event in EventName::ALL {
            assert!(
                event.accepts(ActionKind::Command) && event.accepts(ActionKind::McpTool),
                "{event}"
            );
        }
    }

    #[test]
    fn defaults_of_timeouts_follow_event_and_action() {
        for (event, kind, millis) in [
            (EventName::PreToolUse, ActionKind::Command, 600_000),
            (EventName::PreToolUse, ActionKind::Prompt, 30_000),
            (EventName::PreToolUse, ActionKind::Agent, 60_000),
            (EventName::UserPromptSubmit, ActionKind::Http, 30_000),
            (EventName::UserPromptSubmit, ActionKind::Agent, 60_000),
            (EventName::MessageDisplay, ActionKind::McpTool, 10_000),
            (EventName::SessionEnd, ActionKind::Command, 1_500),
        ] {
            assert_eq!(
                event.default_timeout(kind),
                Duration::from_millis(millis),
                "{event} {kind}"
            );
        }
    }
}
