//! The command line of `innerve doctor` and `innerve completions`.

use clap::Args;
use clap_complete::Shell;

use super::{ModelArguments, PolicyArguments};

#[derive(Debug, Args)]
#[command(
    after_help = "Asks the model's server for its list of models, which costs nothing. Exits 0 when there is no problem, 1 when there is one.\n\nExamples:\n  innerve doctor\n  innerve doctor --offline --json | jq '.[] | select(.state == \"problem\")'"
)]
pub(crate) struct DoctorArguments {
    /// Does not ask the model's server, and starts no servers of tools.
    #[arg(long)]
    pub(crate) offline: bool,
    /// Prints one JSON array.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) policy: PolicyArguments,
    #[command(flatten)]
    pub(crate) model: ModelArguments,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Prints a script for the shell to read.\n\nExamples:\n  innerve completions bash > ~/.local/share/bash-completion/completions/innerve\n  innerve completions zsh > \"${fpath[1]}/_innerve\"\n  innerve completions fish > ~/.config/fish/completions/innerve.fish"
)]
pub(crate) struct CompletionsArguments {
    /// The shell; `man` in its place prints the manual page.
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Page,
}

/// What is written from the command line's own description.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Page {
    /// A completion script.
    Completions(Shell),
    /// The manual page, in roff.
    Manual,
}

impl clap::ValueEnum for Page {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self::Completions(Shell::Bash),
            Self::Completions(Shell::Elvish),
            Self::Completions(Shell::Fish),
            Self::Completions(Shell::PowerShell),
            Self::Completions(Shell::Zsh),
            Self::Manual,
        ]
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        match self {
            Self::Completions(shell) => shell.to_possible_value(),
            Self::Manual => Some("man".into()),
        }
    }
}
