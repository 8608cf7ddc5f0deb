//! Exit codes and the errors that lead to them.

use std::process::ExitCode;

/// How the program ends; the numbers are part of its contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: it worked, or the call is allowed.
    Success,
    /// 1: it failed.
    Failure,
    /// 2: the flags or the input cannot be understood.
    Usage,
    /// 3: the call would be asked about.
    Ask,
    /// 4: the call is denied.
    Denied,
    /// 5: a limit, a guard or a refusal stopped the run.
    Stopped,
    /// 130: interrupted.
    Interrupted,
    /// As the command ended that this program ran in an editor's terminal.
    #[cfg(all(feature = "acp", unix))]
    Command(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Success => 0,
            Exit::Failure => 1,
            Exit::Usage => 2,
            Exit::Ask => 3,
            Exit::Denied => 4,
            Exit::Stopped => 5,
            Exit::Interrupted => 130,
            #[cfg(all(feature = "acp", unix))]
            Exit::Command(code) => code,
        })
    }
}

/// A failure with the sentence that tells it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    /// What the machine lacks that settings demand.
    pub(crate) lack: Option<Lack>,
}

/// What a machine may lack that settings demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// A sandbox around commands.
    Sandbox,
}

impl Failure {
    /// Something failed.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { exit: Exit::Failure, message: message.into(), lack: None }
    }

    /// The flags or the input cannot be understood.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, message: message.into(), lack: None }
    }

    /// The machine lacks what settings demand.
    pub(crate) fn lacking(lack: Lack, message: impl Into<String>) -> Self {
        Self { lack: Some(lack), ..Self::new(message) }
    }
}
