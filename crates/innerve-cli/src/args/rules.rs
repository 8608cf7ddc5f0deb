//! The command line of `innerve rules` and `innerve hook`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::PolicyArguments;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  innerve rules list\n  innerve rules lint\n  innerve rules test policy-cases.jsonc\n  innerve rules replay --against new-settings.json"
)]
pub(crate) struct RulesArguments {
    #[command(subcommand)]
    pub(crate) verb: RulesVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RulesVerb {
    /// Lists every rule with its place, and whether it counts.
    List(RulesListArguments),
    /// Finds rules that never match, never win, protect nothing, or allow anything.
    Lint(RulesLintArguments),
    /// Judges a file of cases and tells those that do not come out as expected.
    Test(RulesTestArguments),
    /// Judges past tool uses by the rules as they are now.
    Replay(RulesReplayArguments),
}

/// What a report on rules is about, and its form.
#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Prints one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) policy: PolicyArguments,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  innerve rules list --json | jq -r '.[] | select(.counts | not) | .rule'"
)]
pub(crate) struct RulesListArguments {
    #[command(flatten)]
    pub(crate) report: ReportArguments,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Exits 1 when something is an error: a rule that allows anything, or a deny or ask rule that protects nothing. With warnings only it exits 0.\n\nExamples:\n  innerve rules lint\n  innerve rules lint .claude/settings.json\n  innerve rules lint --json | jq -r '.[] | \"\\(.code) \\(.rule)\"'"
)]
pub(crate) struct RulesLintArguments {
    /// A settings file in place of those that count here.
    #[arg(conflicts_with_all = ["allow", "ask", "deny", "settings", "add_dir"])]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) report: ReportArguments,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The file holds a list of cases, or {\"settings\": …, \"cases\": […]}; comments and trailing commas are fine:\n\n  [\n    {\"command\": \"npm test\", \"expect\": \"allow\"},\n    {\"name\": \"no pushes\", \"command\": \"git push -f\", \"expect\": \"deny\"},\n    {\"tool\": \"Edit\", \"input\": {\"file_path\": \"src/a.rs\"}, \"mode\": \"acceptEdits\", \"expect\": \"allow\"}\n  ]\n\nA case has `expect` (allow, ask, deny, classify) and `command`, or `tool` with `input`; and if need be `name`, `mode` (default: default), `cwd` (default: this directory) and `settings`: a settings object, the path of a settings file, or a list as `innerve check --jsonl` takes it. Without `settings` those on disk count, with the workspace taken as trusted; with `settings` no file is read but the one that they name.\n\nExits 0 when all cases come out as expected, 1 when one does not, 2 when the file cannot be read.\n\nExample:\n  innerve rules test policy-cases.jsonc"
)]
pub(crate) struct RulesTestArguments {
    /// The file.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) report: ReportArguments,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Reads innerve's session logs and the transcripts of Claude Code (JSON lines); a directory stands for the transcripts in it. Each tool use is judged by the settings of the directory its session started in.\n\nExamples:\n  innerve rules replay\n  innerve rules replay ~/.claude/projects/-home-me-project --json\n  innerve rules replay --against proposed.json"
)]
pub(crate) struct RulesReplayArguments {
    /// Transcripts, directories of them, or ids of innerve's sessions; default: all sessions of this directory.
    #[arg(value_name = "FILE|SESSION")]
    pub(crate) sources: Vec<String>,
    /// Tells what comes out differently under this settings file, taken alone as the project's.
    #[arg(long, value_name = "SETTINGS")]
    pub(crate) against: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) report: ReportArguments,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Reads the JSON of a PreToolUse hook on standard input and answers on standard output. In Claude Code's settings:\n\n  {\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"innerve hook\"}]}]}}\n\nIt says allow for what innerve allows, deny for what a rule denies, and ask where a rule, a secret, a protected or critical path or the analysis of the command asks for it. It says nothing where nothing speaks for or against a call, so that the host decides; the host's own deny and ask rules hold in any case. When it fails it says nothing and exits 0, or ask when the user's or the managed settings hold \"onError\": \"ask\".\n\nExamples:\n  innerve hook < event.json\n  echo '{\"cwd\":\"/tmp\",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"}}' | innerve hook"
)]
pub(crate) struct HookArguments {
    /// The host.
    #[arg(value_enum, default_value_t)]
    pub(crate) host: HookHost,
}

/// A host by its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookHost {
    /// Claude Code.
    #[default]
    Claude,
}
