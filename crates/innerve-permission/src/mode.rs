//! The seven permission modes.

use std::fmt;
use std::str::FromStr;

/// What happens to a call that no rule decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PermissionMode {
    /// Reads run, all else asks (also spelled `manual`).
    #[default]
    Default,
    /// As default, and edits inside the working directories run.
    AcceptEdits,
    /// Exploration only: edits ask or are denied until the plan is approved.
    Plan,
    /// A classifier answers in place of a person.
    Auto,
    /// What would ask is denied.
    DontAsk,
    /// Everything runs but what deny and ask rules, and critical paths, hold back.
    BypassPermissions,
    /// A sub-agent's questions go to its parent; internal, never from settings.
    Bubble,
}

/// A text that names no mode that may be set from outside.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown permission mode `{0}`; use default, acceptEdits, plan, auto, dontAsk or bypassPermissions"
)]
pub struct UnknownMode(pub String);

impl PermissionMode {
    /// The name used in settings, flags and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::Plan => "plan",
            Self::Auto => "auto",
            Self::DontAsk => "dontAsk",
            Self::BypassPermissions => "bypassPermissions",
            Self::Bubble => "bubble",
        }
    }
}

impl fmt::Display for PermissionMode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for PermissionMode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        match text {
            "default" | "manual" => Ok(Self::Default),
            "acceptEdits" => Ok(Self::AcceptEdits),
            "plan" => Ok(Self::Plan),
            "auto" => Ok(Self::Auto),
            "dontAsk" => Ok(Self::DontAsk),
            "bypassPermissions" => Ok(Self::BypassPermissions),
            _ => Err(UnknownMode(text.to_owned())),
        }
    }
}
