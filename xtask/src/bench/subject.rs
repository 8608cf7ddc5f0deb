//! What can be measured: one row per subject.

use xshell::Shell;

use super::{Measured, analyze, check, example, grep, turns};
use crate::Result;
use crate::workspace::Workspace;

/// Something that can be measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The shell analyzer.
    Analyze,
    /// The Bash tool.
    Bash,
    /// The permission engine.
    Check,
    /// The Grep tool.
    Grep,
    /// The agent loop.
    Loop,
    /// The fourteen steps.
    Pipeline,
    /// The Read tool.
    Read,
}

impl Subject {
    /// All, in the order of the table.
    pub(crate) const ALL: [Self; 7] = [
        Self::Analyze,
        Self::Bash,
        Self::Check,
        Self::Grep,
        Self::Loop,
        Self::Pipeline,
        Self::Read,
    ];

    /// Its word on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Analyze => "analyze",
            Self::Bash => "bash",
            Self::Check => "check",
            Self::Grep => "grep",
            Self::Loop => "loop",
            Self::Pipeline => "pipeline",
            Self::Read => "read",
        }
    }

    /// The subject of this word.
    pub(crate) fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|subject| subject.name() == word)
    }

    /// Whether the release build of the program is what is measured.
    pub(super) const fn needs_program(self) -> bool {
        match self {
            Self::Analyze | Self::Grep | Self::Loop => true,
            Self::Bash | Self::Check | Self::Pipeline | Self::Read => false,
        }
    }

    /// Measures it.
    pub(super) fn measure(self, shell: &Shell, workspace: &Workspace) -> Result<Measured> {
        match self {
            Self::Analyze => analyze::measure(shell, workspace),
            Self::Bash => Ok(Measured::Figures(example(shell, "innerve-builtins", "bench_bash")?)),
            Self::Check => check::measure(shell),
            Self::Grep => grep::measure(shell, workspace),
            Self::Loop => turns::measure(shell, workspace),
            Self::Read => Ok(Measured::Figures(example(shell, "innerve-builtins", "bench_read")?)),
            Self::Pipeline => {
                let figures = example(shell, "innerve-pipeline", "bench_pipeline")?;
                Ok(Measured::Figures(figures))
            }
        }
    }
}
