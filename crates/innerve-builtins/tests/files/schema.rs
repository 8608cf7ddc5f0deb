//! What a model is told of the tools.

use std::path::PathBuf;
use std::sync::Arc;

use innerve_builtins::bash::BashOptions;
use innerve_builtins::edit::{EditTool, StaleEdits};
use innerve_builtins::glob::GlobTool;
use innerve_builtins::grep::GrepTool;
use innerve_builtins::host::{DiskSpool, HostClock, HostProcesses};
use innerve_builtins::notebook::NotebookEditTool;
use innerve_builtins::plan::{EnterPlanModeTool, ExitPlanModeTool};
use innerve_builtins::question::AskUserQuestionTool;
use innerve_builtins::read::ReadTool;
use innerve_builtins::task::{TaskOutputTool, TaskStopTool};
use innerve_builtins::todo::TodoWriteTool;
use innerve_builtins::write::WriteTool;
use innerve_builtins::{Host, builtins};
use innerve_tool::port::{TaskError, TaskId, TaskKind, TaskRegistry, TaskState, TaskStatus};
use innerve_tool::{CancellationToken, DynTool, InterruptBehavior, ResultLimit, erase};
use serde_json::json;

use crate::kit::Bench;

fn tools(bench: &Bench) -> Vec<Arc<dyn DynTool>> {
    let access = || bench.access.clone();
    let tasks = || -> Arc<dyn TaskRegistry> { Arc::new(NoTasks) };
    vec![
        erase(TaskOutputTool::new(tasks(), Arc::new(HostClock))).unwrap(),
        erase(TaskStopTool::new(tasks())).unwrap(),
        erase(TodoWriteTool::new()).unwrap(),
        erase(EnterPlanModeTool).unwrap(),
        erase(ExitPlanModeTool).unwrap(),
        erase(AskUserQuestionTool).unwrap(),
        erase(NotebookEditTool::new(access())).unwrap(),
        erase(EditTool::new(access())).unwrap(),
        erase(GlobTool::new(None)).unwrap(),
        erase(GrepTool::new(None)).unwrap(),
        erase(ReadTool::new(access())).unwrap(),
        erase(WriteTool::new(access())).unwrap(),
    ]
}

#[test]
fn definitions_are_small() {
    let bench = Bench::new();
    let definitions: Vec<_> = tools(&bench).iter().map(|tool| tool.definition().clone()).collect();
    insta::assert_json_snapshot!(definitions);
}

#[test]
fn all_tools_together_fit_into_ten_kilobytes() {
    let (_, agent) = crate::agent::scripted(crate::agent::done);
    let bench = Bench::new();
    let host = Host {
        files: bench.access.clone(),
        processes: Arc::new(HostProcesses::new()),
        spool: Arc::new(DiskSpool::new(bench.path("spool"))),
        clock: Arc::new(HostClock),
        tasks: Some(Arc::new(NoTasks)),
        spawner: None,
        bash: BashOptions::default(),
        stale_edits: StaleEdits::Refuse,
    };
    let mut tools = builtins(&host).unwrap();
    // It is not on by default.
    tools.retain(|tool| tool.name() != "MultiEdit");
    tools.push(erase(agent).unwrap());
    let definitions: Vec<_> = tools.iter().map(|tool| tool.definition()).collect();
    let bytes = serde_json::to_string(&definitions).unwrap().len();
    assert!(bytes < 10_000, "{bytes} bytes");
    let mut names: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "Agent",
            "AskUserQuestion",
            "Bash",
            "Edit",
            "EnterPlanMode",
            "ExitPlanMode",
            "Glob",
            "Grep",
            "NotebookEdit",
            "Read",
            "TaskOutput",
            "TaskStop",
            "TodoWrite",
            "Write"
        ]
    );
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
            _ => (json!({ "file_path": "a", "old_string": "a", "new_string": "b" }), false),
        };
        assert_eq!(tool.is_read_only(&input), reads, "{}", tool.name());
        assert_eq!(tool.is_concurrency_safe(&input), reads);
        assert!(!tool.is_concurrency_safe(&json!({})), "an input that does not fit is not safe");
        let cancels = tool.interrupt_behavior() == InterruptBehavior::Cancel;
        assert_eq!(cancels, reads);
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
