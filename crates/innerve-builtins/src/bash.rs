//! The Bash tool: runs one command in a shell of its own and gives back what it printed.

mod background;
mod capture;
mod data;
mod directory;
mod environment;
mod exit;
mod image;
#[cfg(feature = "monitor")]
mod monitor;
mod run;
mod sed;
mod startup;
mod text;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use innerve_bash::{Class, Context};
use innerve_permission::facts::{Place, from_call};
use innerve_permission::{CallFacts, Preview};
use innerve_protocol::ToolResultContent;
use innerve_tool::port::{Clock, OutputSpool, ProcessRequest, ProcessRunner, TaskRegistry};
use innerve_tool::{CallContext, ResultLimit, Tool, ToolError, ToolOutput};
use serde_json::Value;

pub use startup::END_VARIABLE;
use startup::Startup;

use crate::access::FileAccess;

pub use data::{BashImage, BashInput, BashOutput, BashProgress};
#[cfg(feature = "monitor")]
pub use monitor::{MonitorInput, MonitorOutput, MonitorTool};
#[cfg(feature = "websocket")]
pub use monitor::{MonitorSocket, Sockets};

/// The longest command, in bytes: what Linux takes as one argument (`MAX_ARG_STRLEN`), its NUL left off.
const MAX_COMMAND: usize = 128 * 1024 - 1;
/// From how many seconds on a lone `sleep` is sent to the Monitor tool.
const LONG_SLEEP: f64 = 2.0;

/// Runs a command with bash.
///
/// Each command is a new shell without start-up files, whose `-c` argument is the command byte for byte: what was
/// analysed is what runs. Standard input is empty, the environment is cleaned, both output streams are read as they
/// come, and the whole process group ends with a timeout or a cancellation.
pub struct BashTool {
    processes: Arc<dyn ProcessRunner>,
    spool: Arc<dyn OutputSpool>,
    clock: Arc<dyn Clock>,
    tasks: Option<Arc<dyn TaskRegistry>>,
    files: Option<FileAccess>,
    confinement: Option<Arc<dyn Confinement>>,
    options: BashOptions,
    startup: Startup,
}

/// Puts commands into a sandbox of the operating system.
pub trait Confinement: Send + Sync {
    /// What to start in place of `request`; the request itself where the call may leave the sandbox. An error means that
    /// the command must not run.
    ///
    /// `tool` and `call` are the tool use that was judged: what decides here must be what permission was decided on.
    fn confine(
        &self,
        request: ProcessRequest,
        tool: &str,
        call: &Value,
        context: &CallContext,
    ) -> Result<Confined, ToolError>;
}

/// A command on its way into a sandbox, or out of it.
#[derive(Debug)]
pub struct Confined {
    /// What to start.
    pub request: ProcessRequest,
    /// What its sandbox needs outside of it, if it does.
    pub lease: Option<Box<dyn Lease>>,
}

/// What a sandbox needs outside of it for one command; it is kept while the command runs, and dropping it ends it.
pub trait Lease: fmt::Debug + Send + Sync {
    /// What the sandbox refused to the command so far, to be told with the command's end: whole sentences without a dot.
    fn notes(&self) -> Vec<String>;
}

impl From<ProcessRequest> for Confined {
    fn from(request: ProcessRequest) -> Self {
        Self { request, lease: None }
    }
}

/// What the sandbox of a command refused to it.
fn notes(lease: Option<&dyn Lease>) -> Vec<String> {
    lease.map(Lease::notes).unwrap_or_default()
}

/// How [`BashTool`] runs commands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BashOptions {
    /// The bash to run, version 5.2 or later. Default: `/bin/bash`, else `bash` of the search path.
    pub shell: PathBuf,
    /// How long a command may take that says nothing of it. Default: 2 minutes.
    pub default_timeout: Duration,
    /// How long a command may ask for at most. Default: 10 minutes.
    pub max_timeout: Duration,
    /// How many characters of output stay in the conversation. Default: 30,000.
    pub max_output_chars: usize,
    /// Where the small folder is made through which bash is told how to start, and tells where it ended. Default: the
    /// system's place for temporary files.
    pub scratch: PathBuf,
}

impl Default for BashOptions {
    fn default() -> Self {
        let usual = Path::new("/bin/bash");
        Self {
            shell: if usual.exists() { usual.to_owned() } else { "bash".into() },
            default_timeout: Duration::from_mins(2),
            max_timeout: Duration::from_mins(10),
            max_output_chars: 30_000,
            scratch: std::env::temp_dir(),
        }
    }
}

impl BashTool {
    /// A tool that runs commands with `processes` and puts long output into `spool`; nothing runs in the background.
    pub fn new(
        processes: Arc<dyn ProcessRunner>,
        spool: Arc<dyn OutputSpool>,
        clock: Arc<dyn Clock>,
        options: BashOptions,
    ) -> Self {
        let startup = Startup::new(options.scratch.clone());
        Self {
            processes,
            spool,
            clock,
            tasks: None,
            files: None,
            confinement: None,
            options,
            startup,
        }
    }

    /// Lets commands run in the background, as tasks of `tasks`.
    #[must_use]
    pub fn with_tasks(mut self, tasks: Arc<dyn TaskRegistry>) -> Self {
        self.tasks = Some(tasks);
        self
    }

    /// Shows what `sed -i` would make of a file of `files` before it is approved, and writes what was approved.
    #[must_use]
    pub fn with_files(mut self, files: FileAccess) -> Self {
        self.files = Some(files);
        self
    }

    /// Runs commands in a sandbox.
    #[must_use]
    pub fn with_confinement(mut self, confinement: Arc<dyn Confinement>) -> Self {
        self.confinement = Some(confinement);
        self
    }

    /// How long this command may take.
    fn limit(&self, input: &BashInput) -> Duration {
        let asked = input.timeout.filter(|milliseconds| *milliseconds > 0);
        let limit = asked.map_or(self.options.default_timeout, Duration::from_millis);
        limit.min(self.options.max_timeout.max(self.options.default_timeout))
    }
}

impl Tool for BashTool {
    type Input = BashInput;
    type Output = BashOutput;
    type Progress = BashProgress;

    fn name(&self) -> &'static str {
        "Bash"
    }

    fn description(&self) -> String {
        let background = if self.tasks.is_some() {
            "- For servers and other long work set `run_in_background`: you get a task id and the file of the output.\n"
        } else {
            ""
        };
        format!(
            "Runs a command with bash and returns its output, standard output and standard error as they came.\n\n\
             - Each command is a new shell: variables, functions and options do not last. The working directory lasts \
             while it stays inside the working directories.\n\
             - Standard input is empty and there is no terminal: use options that ask nothing (`--yes`, `-m`).\n\
             - It {ends} after {default} unless `timeout` (milliseconds, at most {max}) says otherwise.\n\
             - Output beyond {chars} characters is put into a file that Read can open.\n\
             {background}\
             - To read, search or change files, prefer Read, Grep, Glob, Edit and Write.",
            ends = if self.tasks.is_some() { "ends or moves to the background" } else { "ends" },
            default = exit::spoken(self.options.default_timeout),
            max = self.options.max_timeout.as_millis(),
            chars = self.options.max_output_chars,
        )
    }

    async fn call(
        &self,
        input: BashInput,
        approved: Option<Preview>,
        context: CallContext<BashProgress>,
    ) -> Result<ToolOutput<BashOutput>, ToolError> {
        if let Some(preview) = approved {
            return self.write_approved(preview, &input, &context).await;
        }
        if input.run_in_background == Some(true) {
            self.start_in_background(&input, &context).await
        } else {
            self.run(&input, &context).await
        }
    }

    fn render(&self, output: &BashOutput) -> ToolResultContent {
        output.render()
    }

    async fn validate(&self, input: &BashInput, context: &CallContext) -> Result<(), ToolError> {
        check_command(&input.command)?;
        let in_background = input.run_in_background == Some(true);
        if in_background && self.tasks.is_none() {
            return Err(ToolError::invalid(
                "`run_in_background` is not available here; run the command without it",
            ));
        }
        let has_monitor = context.session.tools.iter().any(|name| name == "Monitor");
        if has_monitor && !in_background && begins_with_long_sleep(&input.command) {
            return Err(ToolError::invalid(
                "a command that begins with a long `sleep` only waits; to wait for something use the Monitor tool, or \
                 run the command with `run_in_background`",
            ));
        }
        Ok(())
    }

    fn facts(&self, input: &Value, _context: &CallContext, place: Place<'_>) -> CallFacts {
        from_call(self.name(), input, place)
            .unwrap_or_else(|| CallFacts::new(self.name(), input.clone()))
    }

    async fn preview(
        &self,
        input: &BashInput,
        context: &CallContext,
    ) -> Result<Option<Preview>, ToolError> {
        self.sed_preview(input, context).await
    }

    fn is_concurrency_safe(&self, input: &BashInput) -> bool {
        input.run_in_background != Some(true)
            && innerve_bash::analyze(&input.command).is_concurrency_safe()
    }

    fn is_read_only(&self, input: &BashInput) -> bool {
        innerve_bash::analyze(&input.command).class() <= Class::ReadOnly
    }

    fn is_destructive(&self, input: &BashInput) -> bool {
        !self.is_read_only(input)
    }

    fn search_hint(&self) -> &'static str {
        "run shell commands, scripts, programs, git, tests, builds"
    }

    fn result_limit(&self) -> ResultLimit {
        ResultLimit::Chars(self.options.max_output_chars)
    }

    fn classifier_input(&self, input: &BashInput) -> String {
        input.command.clone()
    }

    fn accepts_text_scalars(&self) -> bool {
        true
    }
}

/// Refuses what no shell can be given.
fn check_command(command: &str) -> Result<(), ToolError> {
    if command.trim().is_empty() {
        return Err(ToolError::invalid("the command is empty"));
    }
    if command.contains('\0') {
        return Err(ToolError::invalid(
            "the command contains a NUL character, which no shell command can; write it as `\\0` for printf",
        ));
    }
    if command.len() > MAX_COMMAND {
        return Err(ToolError::invalid(format!(
            "the command has {} bytes and the system takes {MAX_COMMAND} at most; write it to a file and run that",
            command.len()
        )));
    }
    Ok(())
}

/// The bytes of a command's output as plain text, whole.
#[cfg_attr(not(feature = "task"), expect(dead_code, reason = "TaskOutput alone needs it"))]
pub(crate) fn plain(bytes: &[u8]) -> String {
    let mut page = text::Page::new(bytes.len(), 0);
    let mut decoder = text::Decoder::default();
    decoder.push(bytes, &mut page);
    decoder.finish(&mut page);
    page.finish().whole().unwrap_or_default().to_owned()
}

/// Whether the first statement is `sleep` for [`LONG_SLEEP`] or longer, outside of loops and other compounds.
fn begins_with_long_sleep(command: &str) -> bool {
    let analysis = innerve_bash::analyze(command);
    let Some(first) = analysis.commands().first() else { return false };
    if first.context != Context::Top || first.name() != Some("sleep") {
        return false;
    }
    // Operands that are not known count as nothing: the rule spares waiting, it protects nothing.
    let operands = first.argv.iter().skip(1).filter_map(innerve_bash::Word::literal);
    operands.filter_map(seconds).sum::<f64>() >= LONG_SLEEP
}

/// What an operand of `sleep` means: a number and perhaps a unit.
fn seconds(operand: &str) -> Option<f64> {
    let (number, unit) = match operand.char_indices().last()? {
        (at, 's') => (operand.split_at_checked(at)?.0, 1.0),
        (at, 'm') => (operand.split_at_checked(at)?.0, 60.0),
        (at, 'h') => (operand.split_at_checked(at)?.0, 3_600.0),
        (at, 'd') => (operand.split_at_checked(at)?.0, 86_400.0),
        _ => (operand, 1.0),
    };
    number.parse::<f64>().ok().map(|number| number * unit)
}

impl fmt::Debug for BashTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("BashTool").field("options", &self.options).finish_non_exhaustive()
    }
}
