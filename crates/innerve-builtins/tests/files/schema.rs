//! What a model is told of the tools.

use std::path::PathBuf;
use std::sync::Arc;

use innerve_builtins::bash::BashOptions;
use innerve_builtins::edit::StaleEdits;
use innerve_builtins::host::{DiskSpool, HostClock, HostProcesses};
use innerve_builtins::{Host, builtins};
use innerve_tool::port::{
    SearchHit, TaskError, TaskId, TaskKind, TaskRegistry, TaskState, TaskStatus, WebSearcher,
};
use innerve_tool::{
    BoxFuture, CancellationToken, DynTool, InterruptBehavior, ResultLimit, ToolError, erase,
};
use serde_json::json;

use crate::kit::Bench;

/// All tools that there can be.
fn tools(bench: &Bench) -> Vec<Arc<dyn DynTool>> {
    let (_, agent) = crate::agent::scripted(crate::agent::done);
    let host = Host {
        files: bench.access.clone(),
        processes: Arc::new(HostProcesses::new()),
        spool: Arc::new(DiskSpool::new(bench.path("spool"))),
        clock: Arc::new(HostClock),
        tasks: Some(Arc::new(NoTasks)),
        spawner: None,
        bash: BashOptions::default(),
        stale_edits: StaleEdits::Refuse,
        small_model: None,
        searcher: Some(Arc::new(NoSearch)),
        confinement: None,
    };
    let mut tools = builtins(&host).unwrap();
    tools.push(erase(agent).unwrap());
    tools
}

#[test]
fn each_definition_is_as_it_was() {
    for tool in tools(&Bench::new()) {
        let name = match tool.name() {
            "Read" if cfg!(feature = "pdf") => "Read-pdf",
            name => name,
        };
        insta::assert_json_snapshot!(name, tool.definition());
    }
}

#[test]
fn each_definition_is_small() {
    for tool in tools(&Bench::new()) {
        let definition = tool.definition();
        let (words, bytes) =
            (definition.description.len(), serde_json::to_string(definition).unwrap().len());
        assert!((40..=1_200).contains(&words), "{}: a description of {words} bytes", tool.name());
        assert!(bytes <= 2_000, "{}: {bytes} bytes", tool.name());
        assert!(tool.search_hint().len() <= 80, "{}: {}", tool.name(), tool.search_hint());
        assert!(!tool.should_defer() || !tool.search_hint().is_empty(), "{}", tool.name());
    }
}

#[test]
fn the_tools_that_are_always_sent_fit_into_ten_kilobytes_and_the_others_into_four() {
    let mut tools = tools(&Bench::new());
    // It is not on by default.
    tools.retain(|tool| tool.name() != "MultiEdit");
    let bytes = |is_deferred: bool| {
        let definitions: Vec<_> = tools
            .iter()
            .filter(|tool| tool.should_defer() == is_deferred)
            .map(|tool| tool.definition())
            .collect();
        serde_json::to_string(&definitions).unwrap().len()
    };
    let (sent, deferred) = (bytes(false), bytes(true));
    assert!(sent < 10_000 && deferred < 4_000, "{sent} bytes, {deferred} bytes");
}

#[test]
fn all_tools_are_there() {
    let tools = tools(&Bench::new());
    let mut names: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
    names.retain(|name| !matches!(*name, "MultiEdit" | "WebFetch" | "WebSearch"));
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "Agent",
            "AskUserQuestion",
            "Bash",
            "Edit",
            "EnterPlanMode",
            "EnterWorktree",
            "ExitPlanMode",
            "ExitWorktree",
            "Glob",
            "Grep",
            "Monitor",
            "NotebookEdit",
            "Read",
            "TaskOutput",
            "TaskStop",
            "TodoWrite",
            "Write"
        ]
    );
}

/// A search is to be had, though it finds nothing.
struct NoSearch;

impl WebSearcher for NoSearch {
    fn search<'a>(
        &'a self,
        _query: &'a str,
        _allowed: &'a [String],
        _blocked: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<SearchHit>, ToolError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

/// Background work is to be had, though there is none.
struct NoTasks;

impl TaskRegistry for NoTasks {
    fn register(
        &self,
        _kind: TaskKind,
        _description: &str,
        _output: Option<PathBuf>,
        _stop: CancellationToken,
    ) -> Result<TaskId, TaskError> {
        Err(TaskError::Unavailable)
    }

    fn update(&self, _id: &TaskId, _state: TaskState) {}

    fn list(&self) -> Vec<TaskStatus> {
        Vec::new()
    }

    fn get(&self, _id: &TaskId) -> Option<TaskStatus> {
        None
    }

    fn stop(&self, id: &TaskId) -> Result<(), TaskError> {
        Err(TaskError::Unknown(id.0.clone()))
    }
}

#[test]
fn readers_run_beside_others_and_writers_alone() {
    let bench = Bench::new();
    for tool in tools(&bench) {
        let (input, reads) = match tool.name() {
            "Read" => (json!({ "file_path": "a" }), true),
            "Grep" | "Glob" => (json!({ "pattern": "a" }), true),
            "TaskOutput" => (json!({ "task_id": "a" }), true),
            "WebFetch" => (json!({ "url": "https://example.com" }), true),
            "WebSearch" => (json!({ "query": "ab" }), true),
            "TaskStop" => (json!({ "task_id": "a" }), false),
            "TodoWrite" => (json!({ "todos": [{ "content": "a", "status": "pending" }] }), false),
            "EnterPlanMode" => (json!({}), false),
            "ExitPlanMode" => (json!({ "plan": "a" }), false),
            "AskUserQuestion" => {
                let question = json!({ "question": "a", "header": "a", "options": [] });
                (json!({ "questions": [question] }), false)
            }
            "NotebookEdit" => (json!({ "notebook_path": "a" }), false),
            "Write" => (json!({ "file_path": "a", "content": "" }), false),
            "Edit" => (json!({ "file_path": "a", "old_string": "a", "new_string": "b" }), false),
            "EnterWorktree" => (json!({ "name": "a" }), false),
            "ExitWorktree" => (json!({ "action": "remove" }), false),
            "Monitor" => (json!({ "command": "make", "description": "a" }), false),
            "Bash" => (json!({ "command": "make" }), false),
            // They have tests of their own.
            "Agent" | "MultiEdit" => continue,
            other => panic!("{other} has no input here"),
        };
        assert_eq!(tool.is_read_only(&input), reads, "{}", tool.name());
        assert_eq!(tool.is_concurrency_safe(&input), reads);
        assert!(!tool.is_concurrency_safe(&json!({})), "an input that does not fit is not safe");
        let cancels = tool.interrupt_behavior() == InterruptBehavior::Cancel;
        assert_eq!(cancels, reads, "{}", tool.name());
        let bounds_itself = matches!(tool.name(), "Read" | "TaskOutput");
        assert_eq!(tool.result_limit() == ResultLimit::SelfBounded, bounds_itself);
        assert!(!tool.classifier_input(&input).is_empty());
    }
}

#[test]
fn codes_are_unique_and_plain() {
    let mut codes = innerve_builtins::code::ALL.to_vec();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), innerve_builtins::code::ALL.len());
    assert!(
        codes.iter().all(|code| code.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'_' | b':')))
    );
}
