//! Errors: why a hook's entry in a settings file cannot be used.

use crate::event::EventName;
use crate::settings::ActionKind;

/// Why an entry is skipped; the rest of the file keeps its force.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HooksError {
    /// No event has this name.
    #[error("`{name}` is no hook event; names are written as in `PreToolUse`")]
    UnknownEvent {
        /// What stands there.
        name: String,
    },
    /// The shape is another one than settings have.
    #[error("{expected} is expected here")]
    Shape {
        /// What should stand there.
        expected: &'static str,
    },
    /// The matcher is no valid pattern.
    #[error("the matcher `{matcher}` is no valid pattern: {cause}")]
    Matcher {
        /// The matcher.
        matcher: String,
        /// What the pattern's parser says.
        cause: String,
    },
    /// There is no action of this type.
    #[error("`{name}` is no type of hook; use `command`, `http`, `mcp_tool`, `prompt` or `agent`")]
    UnknownAction {
        /// What stands there.
        name: String,
    },
    /// The event cannot have such an action.
    #[error("hooks of `{event}` cannot be of type `{kind}`")]
    WrongAction {
        /// The event.
        event: EventName,
        /// The action's type.
        kind: ActionKind,
    },
    /// A field is missing or of the wrong type.
    #[error("{cause}")]
    Field {
        /// What is wrong with which field.
        cause: String,
    },
    /// The timeout is no time.
    #[error("the timeout `{seconds}` is no positive number of seconds")]
    Timeout {
        /// What stands there.
        seconds: f64,
    },
}

impl HooksError {
    /// A stable word for the kind of error, free of anything a person wrote.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownEvent { .. } => "hooks.unknown_event",
            Self::Shape { .. } => "hooks.shape",
            Self::Matcher { .. } => "hooks.matcher",
            Self::UnknownAction { .. } => "hooks.unknown_action",
            Self::WrongAction { .. } => "hooks.wrong_action",
            Self::Field { .. } => "hooks.field",
            Self::Timeout { .. } => "hooks.timeout",
        }
    }
}
