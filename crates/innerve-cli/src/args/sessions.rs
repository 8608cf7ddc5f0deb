//! The command line of `innerve sessions`.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
#[command(
    after_help = "A session is named by its id or by the beginning of it; without one, the session of this directory that was used last is meant.\n\nExamples:\n  innerve sessions list\n  innerve sessions show\n  innerve sessions undo --dry-run\n  innerve run --resume 20260301-1"
)]
pub(crate) struct SessionsArguments {
    #[command(subcommand)]
    pub(crate) verb: SessionsVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsVerb {
    /// Lists past sessions of this directory, the last used first.
    List(SessionsListArguments),
    /// Shows what was said and done in a session.
    #[command(
        after_help = "Examples:\n  innerve sessions show\n  innerve sessions show 20260301-1\n  innerve sessions show --json | jq .turns"
    )]
    Show(OneSessionArguments),
    /// Begins another session with the conversation of one.
    #[command(
        after_help = "The new session has the same conversation and goes on by itself; the old one stays as it is. Prints the id of the new one.\n\nExamples:\n  innerve sessions fork\n  innerve run --resume \"$(innerve sessions fork)\" \"try it the other way\""
    )]
    Fork(OneSessionArguments),
    /// Prints a session with all that was said and done, as Markdown or JSON.
    Export(SessionsExportArguments),
    /// Gives files the content that they had before a turn.
    Undo(SessionsUndoArguments),
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  innerve sessions list\n  innerve sessions list --all --limit 100\n  innerve sessions list --json | jq -r '.[0].id'"
)]
pub(crate) struct SessionsListArguments {
    /// Those of all directories.
    #[arg(long)]
    pub(crate) all: bool,
    /// How many at most; 0 for all of them.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// Prints one JSON array.
    #[arg(long)]
    pub(crate) json: bool,
}

// A doc comment here would take the place of the one that each verb has.
#[derive(Debug, Args)]
pub(crate) struct OneSessionArguments {
    /// The session.
    pub(crate) id: Option<String>,
    /// Prints one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  innerve sessions export > session.md\n  innerve sessions export 20260301-1 --json > session.json"
)]
pub(crate) struct SessionsExportArguments {
    /// The session.
    pub(crate) id: Option<String>,
    /// The form.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ExportFormat,
    /// Prints one JSON object; the same as `--format json`.
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
}

/// The form of an exported session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// For people.
    #[default]
    Markdown,
    /// For programs: messages as they are sent to a model.
    Json,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Restores the files that Edit, MultiEdit, Write, NotebookEdit and approved sed commands changed; what other commands changed is not known and stays. A file that someone else has changed since is left alone and named. What an undo changes is kept too: --redo takes it back. The model is told when the session goes on. At a terminal the changes are shown and asked about first.\n\nExits 0 when all files are as they were, 1 when some were left alone.\n\nExamples:\n  innerve sessions undo --dry-run\n  innerve sessions undo --turn 3 --yes\n  innerve sessions undo --redo"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct SessionsUndoArguments {
    /// The session.
    pub(crate) id: Option<String>,
    /// The turn, from 1; without it, the last one that changed files and is not undone.
    #[arg(long, value_name = "N")]
    pub(crate) turn: Option<u64>,
    /// Takes the last undo back.
    #[arg(long, conflicts_with = "turn")]
    pub(crate) redo: bool,
    /// Shows what would change and changes nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Asks nothing.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Prints one JSON object; asks nothing.
    #[arg(long)]
    pub(crate) json: bool,
}
