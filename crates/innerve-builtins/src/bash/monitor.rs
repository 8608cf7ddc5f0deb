//! The Monitor tool: watches a command in the background and tells each line that it prints.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use innerve_permission::facts::{Place, from_call};
use innerve_permission::{CallFacts, Preview};
use innerve_protocol::ToolResultContent;
use innerve_tool::port::{
    Clock, ExitStatus, OutputSink, RunningProcess, SpoolFile, StdStream, TaskId, TaskKind,
    TaskRegistry, TaskState,
};
use innerve_tool::{BoxFuture, CallContext, CancellationToken, Tool, ToolError, ToolOutput, code};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Notify;

use super::background::description;
use super::{BashInput, BashProgress, BashTool, check_command, exit, plain, run};

/// How long a command is watched that says nothing of it.
const DEFAULT_LIMIT: Duration = Duration::from_mins(5);
/// How long a command that is not persistent may be watched.
const MAX_LIMIT: Duration = Duration::from_hours(1);
/// Lines that come within this time are one event.
const BATCH: Duration = Duration::from_millis(200);
/// Lines in one event; more are a flood, which ends the watch.
const MAX_BATCH_LINES: usize = 200;
/// Lines in a minute; more are a flood too.
const MAX_MINUTE_LINES: usize = 600;
/// How much of a line is told, in bytes.
const MAX_LINE: usize = 2_000;

/// Watches commands.
///
/// Each line of standard output is an event that [`TaskRegistry::report`] gets; standard error only goes to the file
/// with the whole output.
pub struct MonitorTool {
    shell: BashTool,
    tasks: Arc<dyn TaskRegistry>,
}

/// What the model gives to [`MonitorTool`].
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MonitorInput {
    /// Prints a line for each event
    pub command: String,
    /// What is watched, in a few words
    pub description: String,
    /// Milliseconds until the watch ends (default 300000, at most 3600000)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Watch until the session ends
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent: Option<bool>,
}

/// A watch that has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MonitorOutput {
    /// The task.
    pub task_id: String,
    /// What is watched.
    pub description: String,
    /// When it ends, in milliseconds; `None` if it does not by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The file that holds the whole output.
    pub output: PathBuf,
}

impl MonitorTool {
    /// Runs commands as `shell` does, as tasks of `tasks`.
    pub fn new(shell: BashTool, tasks: Arc<dyn TaskRegistry>) -> Self {
        Self { shell, tasks }
    }

    async fn start(
        &self,
        input: &MonitorInput,
        context: &CallContext<BashProgress>,
    ) -> Result<MonitorOutput, ToolError> {
        let command = BashInput { command: input.command.clone(), ..BashInput::default() };
        let start = match run::start(&command, context)? {
            Ok(start) => start,
            Err(refused) => return Err(ToolError::new(code::NOT_FOUND, refused.data.stderr)),
        };
        let file = self
            .shell
            .spool
            .create(&context.tool_use_id)
            .map_err(|error| ToolError::io("the file for the output cannot be made", &error))?;
        let output = file.path();
        let lines = Arc::new(Lines::new(file));
        // Without the start-up file, which would mix standard error into the lines.
        let call = serde_json::to_value(input).unwrap_or_default();
        let sink: Arc<dyn OutputSink> = Arc::<Lines>::clone(&lines);
        let request =
            self.shell.request_for(self.name(), &call, &input.command, (&start.cwd, None), context);
        let spawned = match request {
            Ok(request) => self.shell.spawn(request, sink).await,
            Err(error) => Err(error),
        };
        let mut process = match spawned {
            Ok(process) => process,
            Err(error) => {
                lines.close(false);
                return Err(error);
            }
        };
        let stop = CancellationToken::new();
        let words = description(&input.description);
        let registered =
            self.tasks.register(TaskKind::Monitor, &words, Some(output.clone()), stop.clone());
        let id = match registered {
            Ok(id) => id,
            Err(error) => {
                // It was not meant to run unwatched; if it does not end now, dropping it forces it.
                drop(process.kill().await);
                lines.close(false);
                return Err(ToolError::new(code::FAILED, error.to_string()));
            }
        };
        let limit = (input.persistent != Some(true)).then(|| {
            let asked = input
                .timeout_ms
                .filter(|milliseconds| *milliseconds > 0)
                .map(Duration::from_millis);
            asked.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT)
        });
        let watch = Watch {
            id: id.clone(),
            tasks: Arc::clone(&self.tasks),
            clock: Arc::clone(&self.shell.clock),
            stop,
            lines,
            limit,
        };
        tokio::spawn(watch.run(process));
        let timeout_ms = limit.map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        Ok(MonitorOutput { task_id: id.to_string(), description: words, timeout_ms, output })
    }
}

/// The lines of standard output that nobody has been told of yet.
struct Lines {
    state: Mutex<State>,
    news: Notify,
}

struct State {
    file: Option<Box<dyn SpoolFile>>,
    /// The line that has not ended.
    open: Vec<u8>,
    ended: Vec<String>,
    /// Lines that were dropped since more came at once than is told.
    dropped: usize,
}

impl Lines {
    fn new(file: Box<dyn SpoolFile>) -> Self {
        let state = State { file: Some(file), open: Vec::new(), ended: Vec::new(), dropped: 0 };
        Self { state: Mutex::new(state), news: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has ended since the last time; whether it was a flood.
    fn take(&self, with_open: bool) -> (Vec<String>, bool) {
        let mut state = self.state();
        if with_open && !state.open.is_empty() {
            state.end_line();
        }
        let dropped = std::mem::take(&mut state.dropped);
        (std::mem::take(&mut state.ended), dropped > 0)
    }

    /// Takes no more; the file stays or goes.
    fn close(&self, is_kept: bool) {
        if let Some(file) = self.state().file.take() {
            if is_kept {
                // The task names the file; a reader of it finds out.
                drop(file.keep());
            } else {
                file.discard();
            }
        }
    }
}

impl State {
    fn end_line(&mut self) {
        let line = plain(&std::mem::take(&mut self.open));
        let line = line.trim_end();
        if line.is_empty() {
            return;
        }
        if self.ended.len() < MAX_BATCH_LINES {
            self.ended.push(line.to_owned());
        } else {
            self.dropped += 1;
        }
    }
}

impl OutputSink for Lines {
    fn write(&self, stream: StdStream, bytes: &[u8]) {
        let mut state = self.state();
        if let Some(file) = &mut state.file {
            file.write(bytes);
        }
        if stream == StdStream::Err {
            return;
        }
        for (index, piece) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if index > 0 {
                state.end_line();
            }
            let room = MAX_LINE.saturating_sub(state.open.len());
            state.open.extend_from_slice(piece.get(..room).unwrap_or(piece));
        }
        if !state.ended.is_empty() || state.dropped > 0 {
            self.news.notify_one();
        }
    }
}

struct Watch {
    id: TaskId,
    tasks: Arc<dyn TaskRegistry>,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
    lines: Arc<Lines>,
    limit: Option<Duration>,
}

/// Why a watch is over.
enum End {
    Exit(std::io::Result<ExitStatus>),
    Stopped,
    TimedOut(Duration),
    Flood,
}

impl Watch {
    async fn run(self, mut process: Box<dyn RunningProcess>) {
        let mut told = Told { minute: self.clock.instant(), in_minute: 0, lines: 0 };
        let end = self.watch(process.as_mut(), &mut told).await;
        if !matches!(end, End::Exit(_)) {
            // What does not end now is forced to when it is dropped.
            drop(process.kill().await);
        }
        drop(process);
        if !matches!(end, End::Flood) {
            let (lines, _) = self.lines.take(true);
            told.lines += lines.len();
            self.tell(&lines);
        }
        self.lines.close(true);
        let lines = told.lines;
        let state = match end {
            End::Exit(Ok(ExitStatus::Code(0))) => TaskState::Completed(format!("exit code 0 after {lines} lines")),
            End::Exit(Ok(ExitStatus::Code(code))) => {
                TaskState::Failed(format!("exit code {code} after {lines} lines"))
            }
            End::Exit(Ok(ExitStatus::Signal(signal))) => TaskState::Failed(exit::killed_by(signal)),
            End::Exit(Err(error)) => TaskState::Failed(error.to_string()),
            End::Stopped => TaskState::Killed,
            End::TimedOut(limit) => {
                TaskState::Completed(format!("its time of {} was over after {lines} lines", exit::spoken(limit)))
            }
            End::Flood => TaskState::Failed(
                "it was stopped, since it printed too many lines; watch again with a command that prints only what \
                 matters (grep --line-buffered)"
                    .to_owned(),
            ),
        };
        self.tasks.update(&self.id, state);
    }

    async fn watch(&self, process: &mut dyn RunningProcess, told: &mut Told) -> End {
        let mut exit = process.wait();
        let mut timer: BoxFuture<'static, ()> = match self.limit {
            Some(limit) => self.clock.sleep(limit),
            None => Box::pin(std::future::pending()),
        };
        let mut batch: Option<BoxFuture<'static, ()>> = None;
        loop {
            let is_quiet = batch.is_none();
            let due = async {
                match &mut batch {
                    Some(wait) => wait.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                status = &mut exit => return End::Exit(status),
                () = self.stop.cancelled() => return End::Stopped,
                () = &mut timer => return End::TimedOut(self.limit.unwrap_or_default()),
                () = due => {
                    batch = None;
                    let (lines, is_flood) = self.lines.take(false);
                    self.tell(&lines);
                    if is_flood || told.is_flood(lines.len(), &*self.clock) {
                        return End::Flood;
                    }
                }
                () = self.lines.news.notified(), if is_quiet => batch = Some(self.clock.sleep(BATCH)),
            }
        }
    }

    fn tell(&self, lines: &[String]) {
        if !lines.is_empty() {
            self.tasks.report(&self.id, lines.join("\n"));
        }
    }
}

/// How many lines were told.
struct Told {
    minute: std::time::Instant,
    in_minute: usize,
    lines: usize,
}

impl Told {
    fn is_flood(&mut self, lines: usize, clock: &dyn Clock) -> bool {
        let now = clock.instant();
        if now.saturating_duration_since(self.minute) >= Duration::from_mins(1) {
            self.minute = now;
            self.in_minute = 0;
        }
        self.lines += lines;
        self.in_minute += lines;
        self.in_minute > MAX_MINUTE_LINES
    }
}

impl Tool for MonitorTool {
    type Input = MonitorInput;
    type Output = MonitorOutput;
    type Progress = ();

    fn name(&self) -> &'static str {
        "Monitor"
    }

    fn description(&self) -> String {
        "Watches a command in the background; you are told each line it prints, as it comes, and of its end. Print only what \
         matters: `tail -F log | grep --line-buffered ERROR`, or `until check; do sleep 5; done; echo ready`."
            .to_owned()
    }

    async fn call(
        &self,
        input: MonitorInput,
        _approved: Option<Preview>,
        context: CallContext<()>,
    ) -> Result<ToolOutput<MonitorOutput>, ToolError> {
        self.start(&input, &context.typed()).await.map(ToolOutput::new)
    }

    fn render(&self, output: &MonitorOutput) -> ToolResultContent {
        let end = output.timeout_ms.map_or_else(
            || "until the session ends".to_owned(),
            |limit| format!("for {} at most", exit::spoken(Duration::from_millis(limit))),
        );
        format!(
            "Watching \"{}\" as task {} {end}. Go on with other work: each line it prints is told to you as it comes. All of \
             its output goes to {}; TaskStop ends it.",
            output.description,
            output.task_id,
            output.output.display()
        )
        .into()
    }

    async fn validate(
        &self,
        input: &MonitorInput,
        _context: &CallContext,
    ) -> Result<(), ToolError> {
        check_command(&input.command)
    }

    fn facts(&self, input: &Value, _context: &CallContext, place: Place<'_>) -> CallFacts {
        from_call(self.name(), input, place)
            .unwrap_or_else(|| CallFacts::new(self.name(), input.clone()))
    }

    fn should_defer(&self) -> bool {
        true
    }

    fn search_hint(&self) -> &'static str {
        "watch logs, wait for events, poll in the background"
    }

    fn classifier_input(&self, input: &MonitorInput) -> String {
        input.command.clone()
    }

    fn accepts_text_scalars(&self) -> bool {
        true
    }
}

impl fmt::Debug for MonitorTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MonitorTool").field("shell", &self.shell).finish_non_exhaustive()
    }
}
