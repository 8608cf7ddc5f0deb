//! What can be asked for: one row per subject, and where its figures come from.

use xshell::Shell;

use super::{Figure, Measured, analyze, example, grep, peers, turns};
use crate::Result;
use crate::workspace::Workspace;

/// A part of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The shell analyzer.
    Analyze,
    /// A call of the Bash tool.
    Bash,
    /// The permission engine.
    Check,
    /// The Edit tool.
    Edit,
    /// A command that writes a gigabyte.
    Flood,
    /// The Grep tool.
    Grep,
    /// The agent loop.
    Loop,
    /// What the program holds in memory.
    Memory,
    /// Other agents that are installed.
    Peers,
    /// The fourteen steps.
    Pipeline,
    /// The Read tool.
    Read,
    /// From the start of the program to its first request.
    StartUp,
}

/// A measurement; some give the figures of two subjects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Analyze,
    Bash,
    Check,
    Edit,
    Grep,
    Peers,
    Pipeline,
    Read,
    StartUp,
    Turns,
}

impl Subject {
    /// All, in the order of the table.
    pub(crate) const ALL: [Self; 12] = [
        Self::Analyze,
        Self::Bash,
        Self::Check,
        Self::Edit,
        Self::Flood,
        Self::Grep,
        Self::Loop,
        Self::Memory,
        Self::Peers,
        Self::Pipeline,
        Self::Read,
        Self::StartUp,
    ];

    /// Its word on the command line, and in front of its figures.
    pub(crate) const fn name(self) -> &'static str {
        self.row().0
    }

    pub(super) const fn source(self) -> Source {
        self.row().1
    }

    const fn row(self) -> (&'static str, Source) {
        match self {
            Self::Analyze => ("analyze", Source::Analyze),
            Self::Bash => ("bash", Source::Bash),
            Self::Check => ("check", Source::Check),
            Self::Edit => ("edit", Source::Edit),
            Self::Flood => ("flood", Source::Bash),
            Self::Grep => ("grep", Source::Grep),
            Self::Loop => ("loop", Source::Turns),
            Self::Memory => ("memory", Source::Turns),
            Self::Peers => ("peers", Source::Peers),
            Self::Pipeline => ("pipeline", Source::Pipeline),
            Self::Read => ("read", Source::Read),
            Self::StartUp => ("start-up", Source::StartUp),
        }
    }

    /// The subject of this word.
    pub(crate) fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|subject| subject.name() == word)
    }

    /// Whether a figure is about it.
    pub(super) fn owns(self, figure: &Figure) -> bool {
        figure.subject() == self.name()
    }
}

impl Source {
    /// Whether the release build of the program is what is measured.
    pub(super) const fn needs_program(self) -> bool {
        match self {
            Self::Analyze | Self::Grep | Self::Peers | Self::StartUp | Self::Turns => true,
            Self::Bash | Self::Check | Self::Edit | Self::Pipeline | Self::Read => false,
        }
    }

    /// Measures it.
    pub(super) fn measure(self, shell: &Shell, workspace: &Workspace) -> Result<Measured> {
        let library = |package, program| example(shell, package, program).map(Measured::Figures);
        match self {
            Self::Analyze => analyze::measure(shell, workspace),
            Self::Bash => library("innerve-builtins", "bench_bash"),
            Self::Check => library("innerve-permission", "bench"),
            Self::Edit => library("innerve-builtins", "bench_edit"),
            Self::Grep => grep::measure(shell, workspace),
            Self::Peers => peers::measure(shell, workspace),
            Self::Pipeline => library("innerve-pipeline", "bench_pipeline"),
            Self::Read => library("innerve-builtins", "bench_read"),
            Self::StartUp => turns::start_up(shell, workspace),
            Self::Turns => turns::measure(shell, workspace),
        }
    }
}
