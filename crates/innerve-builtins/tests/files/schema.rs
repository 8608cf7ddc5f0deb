//! What a model is told of the tools.

use std::path::PathBuf;
use std::sync::Arc;

use innerve_builtins::bash::BashOptions;
use innerve_builtins::edit::StaleEdits;
use innerve_builtins::host::{DiskSpool, HostClock, HostProcesses};
use innerve_builtins::{Host, builtins};
use innerve_tool::port::{
    SearchHit, TaskError, TaskId, TaskKind, TaskListStore, TaskRegistry, TaskState, TaskStatus,
    WebSearcher,
};
use innerve_tool::{
    BoxFuture, CancellationToken, DynTool, InterruptBehavior, ResultLimit, ToolError, erase,
};
use serde_json::{Value, json};

use crate::kit::Bench;

fn host(bench: &Bench) -> Host {
    Host {
        files: bench.access.clone(),
        processes: Arc::new(HostProcesses::new()),
        spool: Arc::new(DiskSpool::new(bench.path("spool"))),
        clock: Arc::new(HostClock),
        tasks: Some(Arc::new(NoTasks)),
        task_list: None,
        spawner: None,
        bash: BashOptions::default(),
        stale_edits: StaleEdits::Refuse,
        small_model: None,
        searcher: Some(Arc::new(NoSearch)),
        confinement: None,
    }
}

/// All tools that there can be.
fn tools(bench: &Bench) -> Vec<Arc<dyn DynTool>> {
    let (_, agent) = crate::agent::scripted(crate::agent::done);
    let host = host(bench);
    let mut tools = builtins(&host).unwrap();
    // What a session with a list of its own has in place of TodoWrite.
    let with_list = builtins(&Host { task_list: Some(Arc::new(NoList)), ..host }).unwrap();
    let names: Vec<String> = tools.iter().map(|tool| tool.name().to_owned()).collect();
    tools
        .extend(with_list.into_iter().filter(|tool| !names.iter().any(|name| name == tool.name())));
    tools.push(erase(agent).unwrap());
    tools
}

/// The list of a session that has no tasks and keeps none.
struct NoList;

impl TaskListStore for NoList {
    fn change(&self, change: &mut dyn FnMut(&Value) -> Option<Value>) -> std::io::Result<()> {
        drop(change(&Value::Null));
        Ok(())
    }
}

#[test]
fn each_definition_is_as_it_was() {
    for tool in tools(&Bench::new()) {
        let name = match tool.name() {
            "Read" if cfg!(feature = "pdf") => "Read-pdf",
            "Monitor" if cfg!(feature = "websocket") => "Monitor-websocket",
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
fn the_tools_that_are_always_sent_fit_into_ten_kilobytes_and_the_others_into_six() {
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
    assert!(sent < 10_000 && deferred < 6_000, "{sent} bytes, {deferred} bytes");
}

#[test]
fn a_model_has_one_list_of_what_is_to_be_done() {
    let bench = Bench::new();
    let names = |list: Option<Arc<dyn TaskListStore>>| -> Vec<String> {
        let tools = builtins(&Host { task_list: list, ..host(&bench) }).unwrap();
        let names = tools.iter().map(|tool| tool.name().to_owned());
        names.filter(|name| name == "TodoWrite" || name == "TaskList").collect()
    };
    assert_eq!(names(None), ["TodoWrite"]);
    assert_eq!(names(Some(Arc::new(NoList))), ["TaskList"]);
}

#[test]
fn all_tools_are_there() {
    let tools = tools(&Bench::new());
    let mut names: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
    names.retain(|name| !matches!(*name, "MultiEdit" | "WebFetch" | "WebSearch"));
    names.sort_unstable();
    let expected = "Agent AskUserQuestion Bash Edit EnterPlanMode EnterWorktree ExitPlanMode ExitWorktree \
     Glob Grep Monitor NotebookEdit Read TaskCreate TaskGet TaskList TaskOutput TaskStop \
     TaskUpdate TodoWrite Write";
    assert_eq!(names.join(" "), expected);
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
        Err(TaskError::Unknown(id.clone()))
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
            "TaskCreate" => (json!({ "subject": "a", "description": "a" }), false),
            "TaskGet" => (json!({ "taskId": "1" }), true),
            "TaskList" => (json!({}), true),
            "TaskUpdate" => (json!({ "taskId": "1", "status": "completed" }), false),
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
        assert!(
            !tool.is_concurrency_safe(&json!({ "x": 1 })),
            "an input that does not fit is not safe"
        );
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

/// The page about the tools, made from what they say of themselves.
#[cfg(all(feature = "multi-edit", feature = "pdf", feature = "web", feature = "websocket"))]
mod page {
    use std::path::Path;

    use super::*;

    /// The features that a tool is there by; all but the last three are on by default.
    fn feature(tool: &str) -> &'static str {
        match tool {
            "Agent" => "agent",
            "AskUserQuestion" => "question",
            "Bash" => "bash",
            "Edit" => "edit",
            "EnterPlanMode" | "ExitPlanMode" => "plan",
            "EnterWorktree" | "ExitWorktree" => "worktree",
            "Glob" => "glob",
            "Grep" => "grep",
            "Monitor" => "monitor; for WebSockets websocket, off by default",
            "NotebookEdit" => "notebook",
            "Read" => "read",
            "TaskOutput" | "TaskStop" => "task",
            "TaskCreate" | "TaskGet" | "TaskList" | "TaskUpdate" => "task-list",
            "TodoWrite" => "todo",
            "Write" => "write",
            "MultiEdit" => "multi-edit, off by default",
            "WebFetch" | "WebSearch" => "web, off by default",
            other => panic!("{other} has no feature here"),
        }
    }

    fn kind(schema: &Value) -> String {
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            let words: Vec<String> = words
                .iter()
                .filter(|word| !word.is_null())
                .map(|word| format!("`{}`", word.as_str().unwrap()))
                .collect();
            return words.join(", ");
        }
        let name = |kind: &Value| kind.as_str().unwrap().to_owned();
        match &schema["type"] {
            Value::Array(kinds) => kinds
                .iter()
                .map(name)
                .filter(|kind| kind != "null")
                .collect::<Vec<_>>()
                .join(" or "),
            Value::String(kind) => kind.clone(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => "any".to_owned(),
        }
    }

    fn section(tool: &dyn DynTool) -> String {
        let definition = tool.definition();
        let mut page = format!("## {}\n\n{}\n\n", definition.name, definition.description.trim());
        let fields = definition.input_schema["properties"].as_object();
        let needed: Vec<&str> = definition.input_schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        if fields.is_none_or(serde_json::Map::is_empty) {
            page.push_str("It takes no parameters.\n\n");
        } else {
            page.push_str("| parameter | type | needed | meaning |\n|---|---|---|---|\n");
            for (name, field) in fields.into_iter().flatten() {
                let needed = if needed.contains(&name.as_str()) { "yes" } else { "" };
                let meaning = field["description"]
                    .as_str()
                    .unwrap_or_default()
                    .replace('|', "\\|")
                    .replace('\n', " ");
                page.push_str(&format!("| `{name}` | {} | {needed} | {meaning} |\n", kind(field)));
            }
            page.push('\n');
        }
        let limit = match tool.result_limit() {
            ResultLimit::Chars(most) | ResultLimit::Declared(most) => {
                format!("{most} characters, lowered by the cap of all tools")
            }
            ResultLimit::SelfBounded => "bounds itself".to_owned(),
        };
        let typed = match tool.interrupt_behavior() {
            InterruptBehavior::Cancel => "ends it",
            InterruptBehavior::Block => "waits for it",
        };
        let sent = if tool.should_defer() {
            "once it was searched for, where there is a search for tools"
        } else {
            "always"
        };
        page.push_str(&format!(
            "Result: {limit}. A message typed meanwhile {typed}. Its definition is sent {sent}. Feature: {}.\n",
            feature(tool.name())
        ));
        if !tool.aliases().is_empty() {
            page.push_str(&format!("Former names: {}.\n", tool.aliases().join(", ")));
        }
        page.push('\n');
        page
    }

    #[test]
    fn the_page_about_the_tools_says_what_they_say() {
        let mut tools = tools(&Bench::new());
        tools.sort_by(|one, other| one.name().cmp(other.name()));
        let mut page = "# The built-in tools\n\n<!-- Made by a test of innerve-builtins from the tools themselves; UPDATE_EXPECT=1 makes it anew. -->\n\n\
             What a model is told of each tool, what it gives back at most, and when it is there. What a call may do is decided\n\
             elsewhere: no tool can say yes to itself.\n\n"
            .to_owned();
        page.extend(tools.iter().map(|tool| section(tool.as_ref())));
        let page = format!("{}\n", page.trim_end());
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        if !docs.is_dir() {
            // The crate stands alone.
            return;
        }
        let path = docs.join("tools.md");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&path, &page).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == page,
            "docs/tools.md is not what the tools say; run with UPDATE_EXPECT=1 and --all-features"
        );
    }
}
