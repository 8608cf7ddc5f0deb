//! The Monitor tool: watches a command in the background and tells each line that it prints, or a WebSocket and tells each
//! message.

mod lines;
#[cfg(feature = "websocket")]
mod socket;
mod watch;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use innerve_permission::facts::{self, Place};
use innerve_permission::{CallFacts, Preview};
use innerve_protocol::ToolResultContent;
use innerve_tool::port::{OutputSink, TaskKind, TaskRegistry};
use innerve_tool::{CallContext, CancellationToken, Tool, ToolError, ToolOutput, code};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::background::description;
use super::{BashInput, BashProgress, BashTool, Confined, check_command, exit, run};
use lines::Lines;
#[cfg(feature = "websocket")]
pub use socket::{MonitorSocket, Sockets};
use watch::Watch;

/// How long a command is watched that says nothing of it.
const DEFAULT_LIMIT: Duration = Duration::from_mins(5);
/// How long a command that is not persistent may be watched.
const MAX_LIMIT: Duration = Duration::from_hours(1);
/// Watches commands and, with the feature `websocket`, `WebSocket`s.
///
/// Each line of standard output is an event that [`TaskRegistry::report`] gets; standard error only goes to the file
/// with the whole output. Of a WebSocket each message is an event.
pub struct MonitorTool {
    shell: BashTool,
    tasks: Arc<dyn TaskRegistry>,
    #[cfg(feature = "websocket")]
    sockets: Sockets,
}

/// What the model gives to [`MonitorTool`].
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MonitorInput {
    /// Prints a line for each event
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(not(feature = "websocket"), schemars(required))]
    pub command: Option<String>,
    /// A WebSocket in place of a command
    #[cfg(feature = "websocket")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ws: Option<MonitorSocket>,
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
#[non_exhaustive]
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
        Self {
            shell,
            tasks,
            #[cfg(feature = "websocket")]
            sockets: Sockets::default(),
        }
    }

    /// How sockets are connected.
    #[cfg(feature = "websocket")]
    #[must_use]
    pub fn with_sockets(mut self, sockets: Sockets) -> Self {
        self.sockets = sockets;
        self
    }

    async fn start(
        &self,
        input: &MonitorInput,
        context: &CallContext<BashProgress>,
    ) -> Result<MonitorOutput, ToolError> {
        match input.source()? {
            Source::Command(command) => self.start_command(command, input, context).await,
            #[cfg(feature = "websocket")]
            Source::Socket(socket) => self.start_socket(socket, input, context).await,
        }
    }

    async fn start_command(
        &self,
        command: &str,
        input: &MonitorInput,
        context: &CallContext<BashProgress>,
    ) -> Result<MonitorOutput, ToolError> {
        let bash = BashInput { command: command.to_owned(), ..BashInput::default() };
        let start = match run::start(&bash, context)? {
            Ok(start) => start,
            Err(refused) => return Err(ToolError::new(code::NOT_FOUND, refused.data.stderr)),
        };
        let lines = self.lines(context)?;
        // Without the start-up file, which would mix standard error into the lines.
        let call = serde_json::to_value(input).unwrap_or_default();
        let sink: Arc<dyn OutputSink> = Arc::<Lines>::clone(&lines);
        let request =
            self.shell.request_for(self.name(), &call, command, (&start.cwd, None), context);
        let spawned = match request {
            Ok(Confined { request, lease }) => {
                self.shell.spawn(request, sink, context).await.map(|process| (process, lease))
            }
            Err(error) => Err(error),
        };
        let (mut process, lease) = match spawned {
            Ok(started) => started,
            Err(error) => {
                lines.close(false);
                return Err(error);
            }
        };
        match self.begin(input, &lines) {
            Ok((watch, output)) => {
                tokio::spawn(watch.command(process, lease));
                Ok(output)
            }
            Err(error) => {
                // It was not meant to run unwatched; if it does not end now, dropping it forces it.
                drop(process.kill().await);
                Err(error)
            }
        }
    }

    #[cfg(feature = "websocket")]
    async fn start_socket(
        &self,
        socket: &MonitorSocket,
        input: &MonitorInput,
        context: &CallContext<BashProgress>,
    ) -> Result<MonitorOutput, ToolError> {
        let connection = tokio::select! {
            connected = self.sockets.connect(socket) => connected?,
            () = context.cancellation.cancelled() => return Err(ToolError::interrupted()),
        };
        let lines = self.lines(context)?;
        let (watch, output) = self.begin(input, &lines)?;
        tokio::spawn(watch.messages(Box::pin(connection.read(lines))));
        Ok(output)
    }

    fn lines(&self, context: &CallContext<BashProgress>) -> Result<Arc<Lines>, ToolError> {
        let file = self
            .shell
            .spool
            .create(&context.tool_use_id)
            .map_err(|error| ToolError::io("the file for the output cannot be made", &error))?;
        Ok(Arc::new(Lines::new(file)))
    }

    /// Registers a watch.
    fn begin(
        &self,
        input: &MonitorInput,
        lines: &Arc<Lines>,
    ) -> Result<(Watch, MonitorOutput), ToolError> {
        let (stop, words) = (CancellationToken::new(), description(&input.description));
        let output = lines.path().unwrap_or_default();
        let registered =
            self.tasks.register(TaskKind::Monitor, &words, Some(output.clone()), stop.clone());
        let id = registered.map_err(|error| {
            lines.close(false);
            ToolError::new(code::FAILED, error.to_string())
        })?;
        let limit = (input.persistent != Some(true)).then(|| {
            let asked = input
                .timeout_ms
                .filter(|milliseconds| *milliseconds > 0)
                .map(Duration::from_millis);
            asked.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT)
        });
        let timeout_ms = limit.map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        let task_id = id.to_string();
        let watch = Watch {
            id,
            tasks: Arc::clone(&self.tasks),
            clock: Arc::clone(&self.shell.clock),
            stop,
            lines: Arc::clone(lines),
            limit,
        };
        Ok((watch, MonitorOutput { task_id, description: words, timeout_ms, output }))
    }
}

/// What is watched.
enum Source<'a> {
    Command(&'a str),
    #[cfg(feature = "websocket")]
    Socket(&'a MonitorSocket),
}

impl MonitorInput {
    #[cfg(feature = "websocket")]
    fn source(&self) -> Result<Source<'_>, ToolError> {
        match (&self.command, &self.ws) {
            (Some(command), None) => Ok(Source::Command(command)),
            (None, Some(socket)) => Ok(Source::Socket(socket)),
            (Some(_), Some(_)) => Err(ToolError::invalid(
                "`command` and `ws` are two things to watch; give one, and watch the other with a call of its own",
            )),
            (None, None) => {
                Err(ToolError::invalid("nothing is to be watched; give `command` or `ws`"))
            }
        }
    }

    #[cfg(not(feature = "websocket"))]
    fn source(&self) -> Result<Source<'_>, ToolError> {
        let missing = || ToolError::invalid("nothing is to be watched; give `command`");
        self.command.as_deref().map(Source::Command).ok_or_else(missing)
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
        let mut words = "Watches a command in the background; you are told each line it prints, as it comes, and of its end. \
                         Print only what matters: `tail -F log | grep --line-buffered ERROR`, or `until check; do sleep 5; done; echo ready`."
            .to_owned();
        if cfg!(feature = "websocket") {
            words.push_str(" Or a public WebSocket: you are told each message.");
        }
        words
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
            "Watching \"{}\" as task {} {end}. Go on with other work: each event is told to you as it comes. All of its \
             output goes to {}; TaskStop ends it.",
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
        match input.source()? {
            Source::Command(command) => check_command(command),
            #[cfg(feature = "websocket")]
            Source::Socket(socket) => socket.check(),
        }
    }

    fn facts(&self, input: &Value, _context: &CallContext, place: Place<'_>) -> CallFacts {
        facts::from_call_or_strict(self.name(), input, place)
    }

    fn should_defer(&self) -> bool {
        true
    }

    fn search_hint(&self) -> &'static str {
        "watch logs, wait for events, poll in the background"
    }

    fn classifier_input(&self, input: &MonitorInput) -> String {
        match input.source() {
            Ok(Source::Command(command)) => command.to_owned(),
            #[cfg(feature = "websocket")]
            Ok(Source::Socket(socket)) => format!("listens to {}", socket.url),
            Err(_) => String::new(),
        }
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
