//! A session with test servers: tools are called through the pipeline, as a model's calls are.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use innerve_budget::MemoryStore;
use innerve_mcp::{Options, ServerConfig, ServerState, ServerStatus, Servers};
use innerve_permission::{Behavior, NoDisk, Origin, Policy, Rule, RuleSource};
use innerve_pipeline::{Pipeline, Requested, Settled, Turn};
use innerve_protocol::ToolUse;
use innerve_tool::{CancellationToken, ProgressEvent, ProgressSink, ToolPool, ToolSources};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long anything here may take that should happen at once.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The path of the test server; `None` where there is no Python, which is said.
pub(crate) fn script() -> Option<PathBuf> {
    let has_python =
        Command::new("python3").arg("--version").output().is_ok_and(|out| out.status.success());
    if !has_python {
        println!("SKIPPED: there is no python3, which the test servers are written for");
        return None;
    }
    Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers/server.py"))
}

pub(crate) struct Session {
    pub(crate) servers: Servers,
    pub(crate) folder: TempDir,
    pub(crate) policy: Policy,
    pub(crate) pipeline: Pipeline,
    pub(crate) progress: Arc<Recorded>,
    pub(crate) cancellation: CancellationToken,
}

#[derive(Default)]
pub(crate) struct Recorded(pub(crate) Mutex<Vec<Value>>);

impl ProgressSink for Recorded {
    fn emit(&self, event: ProgressEvent) {
        self.0.lock().unwrap().push(event.data);
    }
}

/// The entry of a test server in this mode.
pub(crate) fn entry(script: &Path, arguments: &[&str]) -> Value {
    let mut args = vec![script.display().to_string()];
    args.extend(arguments.iter().map(|argument| (*argument).to_owned()));
    json!({ "command": "python3", "args": args })
}

pub(crate) fn config(name: &str, entry: &Value) -> ServerConfig {
    ServerConfig::parse(name, entry, &|_| None).unwrap()
}

/// A session with these servers, before they have answered.
pub(crate) fn begin(entries: &[(&str, Value)], change: impl FnOnce(&mut Options)) -> Session {
    let folder = tempfile::tempdir().unwrap();
    let mut options = Options::new(folder.path(), folder.path().join("files"));
    options.environment = std::env::vars_os().collect();
    change(&mut options);
    let configs = entries.iter().map(|(name, entry)| config(name, entry)).collect();
    let servers = Servers::start(configs, &options);
    let mut policy = Policy::new(folder.path(), folder.path());
    policy.headless = true;
    let origin = Origin::inline(RuleSource::Cli, PathBuf::from("/"));
    for (name, _) in entries {
        let rule = Rule::parse(&format!("mcp__{name}"), Behavior::Allow, origin.clone()).unwrap();
        policy.rules.push(rule);
    }
    Session {
        servers,
        folder,
        policy,
        pipeline: Pipeline::new(Arc::new(NoDisk))
            .with_results(Arc::new(MemoryStore::new(10_000_000))),
        progress: Arc::default(),
        cancellation: CancellationToken::new(),
    }
}

/// A session with one test server that has answered; `None` without Python.
pub(crate) async fn with(arguments: &[&str]) -> Option<Session> {
    let session = begin(&[("s", entry(&script()?, arguments))], |_| {});
    session.servers.settled(PATIENCE).await;
    Some(session)
}

impl Session {
    pub(crate) fn status(&self) -> ServerStatus {
        self.servers.statuses().remove(0)
    }

    pub(crate) fn problem(&self) -> String {
        let problem = self.status().problem.unwrap();
        format!("{}; {}", problem.text, problem.mend)
    }

    pub(crate) async fn wait_for(&self, state: ServerState) {
        let deadline = Instant::now() + PATIENCE;
        while self.status().state != state {
            assert!(Instant::now() < deadline, "{:?}", self.status());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(crate) async fn call(&self, tool: &str, input: Value) -> Settled {
        let pool = ToolSources { builtins: Vec::new(), mcp: self.servers.tools() };
        let pool = ToolPool::assemble(pool, |_| false);
        let mut turn = Turn::new(pool, Arc::new(self.policy.clone()));
        turn.progress = Arc::clone(&self.progress) as _;
        turn.cancellation = self.cancellation.clone();
        let tool_use = ToolUse::new("toolu_1", format!("mcp__s__{tool}"), input);
        let run = self.pipeline.run(Requested::new(tool_use), &turn);
        tokio::time::timeout(PATIENCE, run).await.unwrap()
    }

    /// The text of a call that succeeds.
    #[track_caller]
    pub(crate) fn text(settled: &Settled) -> String {
        assert!(!settled.result.failed(), "{settled:?}");
        settled.result.content.plain_text()
    }

    pub(crate) async fn said(&self, tool: &str, input: Value) -> String {
        Self::text(&self.call(tool, input).await)
    }
}

/// Whether a process is there and is no zombie.
pub(crate) fn is_alive(id: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z')
}

/// Resident memory of this process in MiB.
pub(crate) fn memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    let number: String = line.chars().filter(char::is_ascii_digit).collect();
    number.parse::<usize>().unwrap_or_default() / 1024
}
