//! The Bash tool with real processes, real files and the real clock.
#![cfg(all(unix, feature = "bash", feature = "host"))]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "bash/cases.rs"]
mod cases;
#[path = "bash/directory.rs"]
mod directory;
#[path = "bash/end.rs"]
mod end;
#[path = "bash/facts.rs"]
mod facts;
#[cfg(feature = "monitor")]
#[path = "bash/monitor.rs"]
mod monitor;
#[path = "bash/output.rs"]
mod output;
#[path = "bash/processes.rs"]
mod processes;
#[path = "bash/sed.rs"]
mod sed;
#[cfg(feature = "websocket")]
#[path = "bash/sockets.rs"]
mod sockets;
#[path = "bash/spool.rs"]
mod spool;
#[path = "bash/tasks.rs"]
mod tasks;
#[path = "bash/validation.rs"]
mod validation;
#[path = "bash/victim.rs"]
mod victim;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use innerve_builtins::bash::{BashInput, BashOptions, BashOutput, BashProgress, BashTool};
use innerve_builtins::host::{DiskSpool, HostClock, HostProcesses};
use innerve_permission::PermissionMode;
use innerve_tool::{
    CallContext, CancellationToken, ProgressEvent, ProgressSink, Reporter, SessionChange,
    SessionView, Tool as _, ToolError, ToolOutput,
};

/// A project in a folder of its own, and a session in it.
struct Bench {
    _folder: tempfile::TempDir,
    project: PathBuf,
    spool: PathBuf,
    cwd: PathBuf,
    additional: Vec<PathBuf>,
    agent: Option<&'static str>,
    tools: Vec<String>,
    cancellation: CancellationToken,
    progress: Arc<Collected>,
    tool: BashTool,
}

/// Keeps all progress.
#[derive(Default)]
struct Collected(Mutex<Vec<ProgressEvent>>);

impl ProgressSink for Collected {
    fn emit(&self, event: ProgressEvent) {
        self.0.lock().unwrap().push(event);
    }
}

impl Bench {
    fn new() -> Self {
        Self::with(HostProcesses::new(), |_| {})
    }

    fn with(processes: HostProcesses, configure: impl FnOnce(&mut BashOptions)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (project, spool, scratch) =
            (root.join("project"), root.join("spool"), root.join("scratch"));
        fs::create_dir(&project).unwrap();
        fs::create_dir(&scratch).unwrap();
        let mut options = BashOptions::default();
        options.scratch = scratch;
        configure(&mut options);
        let tool = BashTool::new(
            Arc::new(processes),
            Arc::new(DiskSpool::new(&spool)),
            Arc::new(HostClock),
            options,
        );
        Self {
            _folder: folder,
            cwd: project.clone(),
            project,
            spool,
            additional: Vec::new(),
            agent: None,
            tools: Vec::new(),
            cancellation: CancellationToken::new(),
            progress: Arc::new(Collected::default()),
            tool,
        }
    }

    fn with_environment(variables: &[(&str, &str)]) -> Self {
        let pairs: Vec<(OsString, OsString)> =
            variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self::with(HostProcesses::with_environment(pairs), |_| {})
    }

    fn context(&self) -> CallContext<BashProgress> {
        let sink: Arc<dyn ProgressSink> = Arc::<Collected>::clone(&self.progress);
        CallContext {
            tool_use_id: "toolu_01".into(),
            cwd: self.cwd.clone(),
            cancellation: self.cancellation.clone(),
            progress: Reporter::new("toolu_01".into(), sink),
            session: Arc::new(SessionView {
                session_id: "session".into(),
                agent_id: self.agent.map(Into::into),
                depth: 0,
                mode: PermissionMode::Default,
                original_cwd: self.project.clone(),
                additional_directories: self.additional.clone(),
                home: "/root".into(),
                tools: self.tools.clone(),
            }),
        }
    }

    async fn call(&self, input: BashInput) -> Result<ToolOutput<BashOutput>, ToolError> {
        self.tool.call(input, None, self.context()).await
    }

    async fn run(&self, command: &str) -> Result<ToolOutput<BashOutput>, ToolError> {
        self.call(command_of(command)).await
    }

    /// What the model sees of a command that succeeds.
    async fn text(&self, command: &str) -> String {
        let output = self.run(command).await.unwrap_or_else(|error| panic!("{}", error.message()));
        self.tool.render(&output.data).plain_text()
    }

    /// What the model sees of a command that fails, and the code.
    async fn failure(&self, command: &str) -> (&'static str, String) {
        let error = self.run(command).await.expect_err("the command should fail");
        (error.code(), error.message().to_owned())
    }

    fn spooled_files(&self) -> usize {
        fs::read_dir(&self.spool).map_or(0, Iterator::count)
    }
}

fn command_of(command: &str) -> BashInput {
    BashInput { command: command.to_owned(), ..BashInput::default() }
}

fn with_timeout(command: &str, milliseconds: u64) -> BashInput {
    BashInput { timeout: Some(milliseconds), ..command_of(command) }
}

fn moved_to(output: &ToolOutput<BashOutput>) -> Option<&Path> {
    match output.changes.as_slice() {
        [] => None,
        [SessionChange::SetCwd(directory)] => Some(directory),
        other => panic!("{other:?}"),
    }
}

/// Whether a process runs (zombies left out) one of whose arguments is `argument`.
fn is_alive(argument: &str) -> bool {
    fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        // A zombie has no command line.
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes())
    })
}

/// Waits until nothing runs with that argument; the kernel takes a moment.
async fn assert_gone(argument: &str) {
    for _ in 0..100 {
        if !is_alive(argument) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("still running: {argument}");
}
