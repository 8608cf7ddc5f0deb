//! The command line: verbs, flags and their help.

mod acp;
mod doctor;
mod mcp;
pub(crate) mod named;
mod rules;
mod sessions;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use innerve_agent::ToolSearchMode;
use innerve_permission::PermissionMode;

use crate::telemetry::LogArguments;

pub(crate) use acp::{AcpArguments, EditorTerminalArguments};
pub(crate) use doctor::{CompletionsArguments, DoctorArguments, Page};
pub(crate) use mcp::{
    McpArguments, McpListArguments, McpServeArguments, McpVerb, McpVerbArguments,
};
pub(crate) use rules::{
    HookArguments, HookHost, RulesArguments, RulesLintArguments, RulesListArguments,
    RulesReplayArguments, RulesTestArguments, RulesVerb,
};
pub(crate) use sessions::{
    ExportFormat, OneSessionArguments, SessionsArguments, SessionsListArguments,
    SessionsUndoArguments, SessionsVerb,
};

/// A coding agent at your terminal, and a permission check for others.
#[derive(Debug, Parser)]
#[command(
    name = "innerve",
    version,
    about,
    max_term_width = 100,
    after_help = "Without a verb, innerve chats.\n\nExit codes: 0 success or allowed, 1 failure, 2 bad usage, 3 would ask, 4 denied, 5 stopped by a limit or refusal, 130 interrupted.\n\nExamples:\n  innerve run \"why does the build fail?\"\n  innerve check \"git push --force\"\n  innerve analyze 'cd src && grep -rn TODO . | head'"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
    #[command(flatten)]
    pub(crate) chat: SessionArguments,
    #[command(flatten)]
    pub(crate) log: LogArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Does one task, then exits; without a key and a prompt it plays a recorded tour.
    Run(Box<RunArguments>),
    /// Says whether a tool use would be allowed, and why.
    Check(CheckArguments),
    /// Lists every command that bash would run, without running it.
    Analyze(AnalyzeArguments),
    /// Runs one tool use through the fourteen steps.
    Call(Box<CallArguments>),
    /// Runs a program in a sandbox that this program makes by restricting itself first; for innerve's own use.
    #[command(hide = true)]
    SandboxExec(SandboxExecArguments),
    /// Runs a command of the agent in a terminal of an editor; for innerve's own use.
    #[command(hide = true)]
    EditorTerminal(EditorTerminalArguments),
    /// Lists the tools.
    Tools(ToolsArguments),
    /// Trusts this workspace: what its own settings files allow counts from then on.
    Trust(TrustArguments),
    /// Lists, lints, tests and replays permission rules.
    Rules(Box<RulesArguments>),
    /// Answers the permission hook of another agent.
    Hook(HookArguments),
    /// Lists MCP servers; offers the tools to other MCP clients.
    Mcp(McpVerbArguments),
    /// Works in an editor, over the Agent Client Protocol on standard input and output.
    // A program built without it still says how to get it.
    #[command(hide = cfg!(not(feature = "acp")))]
    Acp(Box<AcpArguments>),
    /// Lists, shows, forks, exports and undoes past sessions.
    Sessions(SessionsArguments),
    /// Looks at settings, model, programs and terminal, and says how to mend what is wrong.
    Doctor(Box<DoctorArguments>),
    /// Prints a completion script for a shell, or the manual page.
    Completions(CompletionsArguments),
}

/// What to run, and what it may do.
#[derive(Clone, Debug, Args)]
pub(crate) struct SandboxExecArguments {
    /// What the launcher is to do before it becomes the program, as JSON.
    pub(crate) order: String,
    /// The program.
    pub(crate) program: String,
    /// Its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<String>,
}

/// Where the policy comes from.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PolicyArguments {
    /// Permission mode: default, acceptEdits, plan, auto, dontAsk, bypassPermissions.
    #[arg(long, value_name = "MODE", value_parser = named::mode(), hide_possible_values = true)]
    pub(crate) permission_mode: Option<PermissionMode>,
    /// Allows what this rule matches, such as `Bash(cargo test *)` or `Edit(src/**)`; may be repeated.
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// Asks about what this rule matches; may be repeated.
    #[arg(long, value_name = "RULE")]
    pub(crate) ask: Vec<String>,
    /// Denies what this rule matches, whatever else is set; may be repeated.
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
    /// One more settings file, or settings as JSON; above the files of project and user.
    #[arg(long, value_name = "FILE|JSON", value_hint = ValueHint::FilePath)]
    pub(crate) settings: Option<String>,
    /// One more working directory; may be repeated.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) add_dir: Vec<PathBuf>,
}

/// Who answers.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ModelArguments {
    /// The model's name.
    #[arg(long, env = "INNERVE_MODEL", value_name = "NAME", value_parser = named::model(), hide_possible_values = true)]
    pub(crate) model: Option<String>,
    /// Answers for the rest of a task when the model is overloaded or refuses; several are tried in turn.
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = named::model(), hide_possible_values = true)]
    pub(crate) fallback_model: Vec<String>,
    /// Which wire format the server speaks.
    #[arg(long, value_enum)]
    pub(crate) provider: Option<ProviderName>,
    /// The server's address; default: `ANTHROPIC_BASE_URL`, `OPENAI_BASE_URL` or the provider's own.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Tokens that the model takes, input and output together; default: as publicly known, 200,000 for an unknown model
    /// behind the Anthropic format, 128,000 behind the OpenAI format.
    #[arg(long, env = "INNERVE_CONTEXT_WINDOW", value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(8_192..))]
    pub(crate) context_window: Option<u64>,
    /// Records what the model says, for `--replay`.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Whether tools of MCP servers stay out of the prompt until they are searched for: off, on, auto, or auto:N for more
    /// than N percent of the context window; default: auto. With `on`, a proxy must pass deferred tools on.
    #[arg(long, env = "INNERVE_TOOL_SEARCH", value_name = "MODE", value_parser = named::tool_search(), hide_possible_values = true)]
    pub(crate) tool_search: Option<ToolSearchMode>,
    /// Plays a recording in place of a model; the tools are real.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record", "base_url"])]
    pub(crate) replay: Option<PathBuf>,
}

/// A provider by its flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProviderName {
    /// Anthropic Messages (`ANTHROPIC_API_KEY`).
    Anthropic,
    /// OpenAI-compatible Chat Completions (`OPENAI_API_KEY`).
    Openai,
    /// A recording (`--replay FILE`).
    Replay,
}

/// What an agent needs, wherever it is talked to.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct AgentArguments {
    #[command(flatten)]
    pub(crate) policy: PolicyArguments,
    #[command(flatten)]
    pub(crate) mcp: McpArguments,
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    /// Rounds of tool uses at most, in each prompt.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// US dollars at most in a session, sub-agents included.
    #[arg(long, value_name = "USD", value_parser = parse_dollars)]
    pub(crate) max_cost_usd: Option<f64>,
}

/// What a session at the terminal needs.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SessionArguments {
    #[command(flatten)]
    pub(crate) agent: AgentArguments,
    /// Goes on with the latest session of this directory.
    #[arg(long = "continue", conflicts_with = "resume")]
    pub(crate) continue_latest: bool,
    /// Goes on with this session; the beginning of its id is enough if no other begins so.
    #[arg(long, value_name = "ID")]
    pub(crate) resume: Option<String>,
    /// Only coordinates: sub-agents do all the work, side by side in the background.
    #[arg(long)]
    pub(crate) coordinator: bool,
    /// With --continue or --resume: goes on in a copy and leaves the session as it is.
    #[arg(long)]
    pub(crate) fork: bool,
    #[command(flatten)]
    pub(crate) list: ListArguments,
}

/// How agents keep account of what is to be done.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct ListArguments {
    /// The list of what is to be done: one that all agents share and that lasts as long as the session (`TaskCreate` and its
    /// kin), or each agent's own (`TodoWrite`); default: shared in a chat and where the session has such a list, else own.
    #[arg(long, env = "INNERVE_TASK_LIST", value_enum, value_name = "KIND")]
    pub(crate) task_list: Option<ListKind>,
}

/// Whose list of what is to be done it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListKind {
    /// All agents share it.
    Shared,
    /// Each agent has its own.
    Own,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  innerve run                                  plays the tour when no key is set\n  innerve run \"add a test for parse_date\" --permission-mode acceptEdits\n  git diff | innerve run \"review this\" --output json"
)]
pub(crate) struct RunArguments {
    /// The task; text on standard input is added to it.
    pub(crate) prompt: Option<String>,
    #[command(flatten)]
    pub(crate) session: SessionArguments,
    /// A tool that answers in place of a person what would be asked, such as `mcp__desk__approve`.
    #[arg(long, value_name = "TOOL")]
    pub(crate) permission_prompt_tool: Option<String>,
    /// What goes to standard output: the answer, one JSON object, or one JSON object per event.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: OutputFormat,
}

/// What goes to standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The answer.
    #[default]
    Text,
    /// One JSON object at the end.
    Json,
    /// One JSON object per event.
    StreamJson,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Exits 0 for allow, 3 for ask, 4 for deny.\n\nExamples:\n  innerve check \"git push\"\n  innerve check --tool Edit --input '{\"file_path\":\"src/lib.rs\"}' --mode acceptEdits\n\nWith --jsonl, one object per line in and out: {\"id\":1,\"tool\":\"Bash\",\"input\":{\"command\":\"ls\"}}.\nAbsent fields: mode default, cwd and original_cwd the current directory, home $HOME, settings those on disk,\nheadless false, bypass_available false, trusted true, hook null, classifier_available false, classifier null."
)]
pub(crate) struct CheckArguments {
    /// The shell command.
    #[arg(required_unless_present_any = ["tool", "jsonl"], conflicts_with_all = ["tool", "jsonl"])]
    pub(crate) command: Option<String>,
    /// A tool in place of Bash.
    #[arg(long, value_name = "NAME", requires = "input")]
    pub(crate) tool: Option<String>,
    /// The tool's input.
    #[arg(long, value_name = "JSON", requires = "tool")]
    pub(crate) input: Option<String>,
    /// The permission mode.
    #[arg(long, value_name = "MODE", value_parser = named::mode())]
    pub(crate) mode: Option<PermissionMode>,
    /// Shows each part, the chain of decisions and what would have allowed it.
    #[arg(long)]
    pub(crate) explain: bool,
    /// Prints one JSON object.
    #[arg(long, conflicts_with = "explain")]
    pub(crate) json: bool,
    /// Reads requests from standard input, one JSON object per line.
    #[arg(long, conflicts_with_all = ["explain", "json", "mode"])]
    pub(crate) jsonl: bool,
    #[command(flatten)]
    pub(crate) policy: PolicyArguments,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  innerve analyze 'git status && rm -rf build'\n  innerve analyze --json 'cat a | sort > b'\n\nWith --jsonl, one object per line in and out: {\"id\":1,\"command\":\"ls\",\"cwd\":\"/repo\"}; cwd is optional."
)]
pub(crate) struct AnalyzeArguments {
    /// The shell command.
    #[arg(required_unless_present = "jsonl", conflicts_with = "jsonl")]
    pub(crate) command: Option<String>,
    /// Prints one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// Reads commands from standard input, one JSON object per line.
    #[arg(long, conflicts_with = "json")]
    pub(crate) jsonl: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Exits 0, 1 when the result is an error, 4 when it was refused.\n\nExamples:\n  innerve call Read '{\"file_path\":\"README.md\",\"limit\":5}'\n  innerve call Bash '{\"command\":\"cargo test\"}' --allow 'Bash(cargo test)' --trace"
)]
pub(crate) struct CallArguments {
    /// The tool.
    pub(crate) tool: String,
    /// Its input.
    pub(crate) input: String,
    /// Prints each step with its time.
    #[arg(long)]
    pub(crate) trace: bool,
    /// Prints the tool result as JSON, with the step that was reached.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) policy: PolicyArguments,
    #[command(flatten)]
    pub(crate) mcp: McpArguments,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  innerve tools --json | jq -r '.[].name'")]
pub(crate) struct ToolsArguments {
    /// Prints the definitions as they are sent to a model.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) list: ListArguments,
    #[command(flatten)]
    pub(crate) policy: PolicyArguments,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Deny and ask rules of a project always count; allow rules, modes that loosen and additional\ndirectories only in a trusted workspace. Trust is about the whole repository.\n\nExample:\n  innerve trust"
)]
pub(crate) struct TrustArguments {
    /// Trusts it no longer.
    #[arg(long)]
    pub(crate) revoke: bool,
    /// Lists the trusted workspaces.
    #[arg(long, conflicts_with = "revoke")]
    pub(crate) list: bool,
}

fn parse_dollars(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(dollars) if dollars.is_finite() && dollars > 0.0 => Ok(dollars),
        Ok(_) | Err(_) => Err("give a positive number of US dollars, such as 0.50".to_owned()),
    }
}
