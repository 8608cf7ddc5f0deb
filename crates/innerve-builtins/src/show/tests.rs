//! What a person sees of the tools.

use innerve_tool::show::Shown;
use serde_json::{Value, json};

use super::of;

/// A moment of a call in one text: the headline, then rows by kind, then what was left out.
fn drawn(shown: &Shown) -> String {
    let mut text = shown.headline.clone();
    for row in &shown.rows {
        text.push_str(&format!("\n{:?} {}", row.kind, row.text));
    }
    if shown.left_out > 0 {
        text.push_str(&format!("\n+{}", shown.left_out));
    }
    text
}

#[track_caller]
fn call(tool: &str, input: &Value, expected: &str) {
    assert_eq!(of(tool).call(input), expected);
}

#[track_caller]
fn result(tool: &str, data: &Value, text: &str, expected: &str) {
    assert_eq!(drawn(&of(tool).result(data, text)), expected);
}

#[test]
fn a_call_is_told_by_what_it_is_about() {
    call("Bash", &json!({ "command": "ls -l", "description": "Lists" }), "ls -l");
    call("Monitor", &json!({ "ws": { "url": "wss://a.example/feed" } }), "wss://a.example/feed");
    call("Read", &json!({ "file_path": "a.rs" }), "a.rs");
    call("Read", &json!({ "file_path": "a.rs", "offset": 10, "limit": 5 }), "a.rs, lines 10–14");
    call("Read", &json!({ "file_path": "a.rs", "offset": 10 }), "a.rs, from line 10");
    call("Read", &json!({ "file_path": "a.pdf", "pages": "1-3" }), "a.pdf, pages 1-3");
    call("Read", &json!({ "file_path": 3 }), "");
    call("Grep", &json!({ "pattern": "x", "path": "src" }), "x");
    call(
        "Agent",
        &json!({ "description": "Find it", "prompt": "…", "subagent_type": "Explore" }),
        "Explore: Find it",
    );
    call(
        "AskUserQuestion",
        &json!({ "questions": [{ "question": "Which?" }, {}] }),
        "Which? (and 1 more)",
    );
    call("ExitPlanMode", &json!({ "plan": "\n# Plan\n1. x" }), "# Plan");
    call("TodoWrite", &json!({ "todos": [{}, {}] }), "2 tasks");
    call("TaskCreate", &json!({ "subject": "Set up", "description": "…" }), "Set up");
    call("TaskGet", &json!({ "taskId": "2" }), "#2");
    call("TaskList", &json!({}), "");
    call("TaskUpdate", &json!({ "taskId": "#2", "status": "completed" }), "#2 completed");
    call(
        "TaskUpdate",
        &json!({ "taskId": "2", "owner": "a1", "addBlockedBy": ["1", "#3"], "addBlocks": ["4"] }),
        "#2 owner a1, waits for #1, #3, before #4",
    );
    call("TaskUpdate", &json!({ "taskId": "2", "description": "…" }), "#2");
    call("mcp__a__b", &json!({ "x": 1 }), "{\"x\":1}");
}

#[test]
fn a_command_shows_the_beginning_of_its_output() {
    result("Bash", &json!({}), "one", "one");
    result("Bash", &json!({}), "", "");
    result(
        "Bash",
        &json!({}),
        "1\n2\n3\n4\n5\n6\n7",
        "7 lines\nQuiet 1\nQuiet 2\nQuiet 3\nQuiet 4\nQuiet 5\n+2",
    );
    result("Bash", &json!({ "background_task_id": "b1" }), "…", "goes on as task b1");
    result("Bash", &json!({ "is_image": true }), "", "an image");
    assert_eq!(
        drawn(&of("Bash").error("Exit code 2\nout\nerr")),
        "Exit code 2\nQuiet out\nQuiet err"
    );
    assert_eq!(drawn(&of("Bash").refusal("denied by a rule\nrm")), "denied by a rule\nWarning rm");
    let progress =
        json!({ "tail": "Compiling\nChecking x\n", "bytes": 9, "lines": 2, "elapsed_ms": 2_500 });
    assert_eq!(drawn(&of("Bash").progress(&progress).unwrap()), "2 lines: Checking x");
    assert_eq!(of("Read").progress(&json!({})), None);
}

#[test]
fn a_change_shows_its_diff() {
    let hunk = json!({ "oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": [" a\n", "-b\n", "+c\n"] });
    let data =
        json!({ "diff": { "hunks": [hunk], "added": 1, "removed": 1, "abbreviated": false } });
    result("Edit", &data, "edited", "+1 −1\nPlace @@ -1,2 +1,2 @@\nPlain  a\nRemoved -b\nAdded +c");
    result(
        "Write",
        &json!({ "diff": { "hunks": [] } }),
        "Created a (3 lines)",
        "Created a (3 lines)",
    );
    let lines: Vec<String> = (0..100).map(|number| format!("+{number}\n")).collect();
    let hunk =
        json!({ "oldStart": 0, "oldLines": 0, "newStart": 1, "newLines": 100, "lines": lines });
    let data = json!({ "diff": { "hunks": [hunk], "added": 100, "removed": 0 } });
    let shown = of("Edit").result(&data, "");
    assert_eq!((shown.rows.len(), shown.left_out), (60, 41));
}

#[test]
fn other_tools_say_how_much_there_was() {
    result("Read", &json!({ "type": "text", "numLines": 1 }), "1\tx", "1 line");
    result(
        "Read",
        &json!({ "type": "image", "mediaType": "image/png", "originalSize": 12_345 }),
        "",
        "image/png, 12 kB",
    );
    result("Read", &json!({ "type": "directory", "entries": ["a", "b"] }), "", "2 names");
    result("Glob", &json!({ "numFiles": 3 }), "a\nb\nc", "3 files");
    result("Glob", &json!({ "numFiles": 0 }), "No files found", "No files found");
    result("Grep", &json!({}), "Found 3 files\na", "Found 3 files");
    result(
        "WebFetch",
        &json!({ "title": "T", "bytes": 2_000_000, "cached": true }),
        "",
        "T, 2 MB, kept from before",
    );
    result(
        "WebFetch",
        &json!({ "movedTo": "https://b.example/" }),
        "",
        "moved to https://b.example/",
    );
    let hits = json!({ "hits": [{ "title": "A", "url": "https://a.example/" }] });
    result("WebSearch", &hits, "", "1 page\nQuiet A – https://a.example/");
    let todos = json!({ "todos": [
        { "content": "a", "status": "completed" }, { "content": "b", "status": "in_progress" },
        { "content": "c", "status": "pending" }] });
    result("TodoWrite", &todos, "", "1 of 3 done\nQuiet ☒ a\nPlain ▸ b\nPlain ☐ c");
    result("TaskCreate", &json!({ "task": { "id": "3", "subject": "a" } }), "", "#3");
    let task = json!({ "id": "3", "subject": "a", "status": "pending", "owner": "a1" });
    result("TaskGet", &json!({ "task": task }), "", "a (a1), pending");
    let tasks = json!({ "tasks": [
        { "id": "1", "subject": "a", "status": "in_progress", "owner": "a1", "blockedBy": [] },
        { "id": "2", "subject": "b", "status": "pending", "blockedBy": ["1"] }] });
    result("TaskList", &tasks, "", "0 of 2 done\nPlain ▸ #1 a (a1)\nPlain ☐ #2 b, waits for #1");
    result("TaskList", &json!({ "tasks": [] }), "", "no tasks");
    let updated =
        json!({ "taskId": "1", "subject": "a", "status": "completed", "unblocked": ["2"] });
    result("TaskUpdate", &updated, "", "a, completed; #2 can begin");
}

#[test]
fn any_data_is_shown_without_a_panic() {
    let odd = [
        Value::Null,
        json!([]),
        json!("x"),
        json!({ "diff": [], "hits": 3, "todos": "x", "type": 9, "tail": 1 }),
    ];
    for tool in [
        "Bash",
        "Edit",
        "Read",
        "Glob",
        "Agent",
        "TodoWrite",
        "TaskCreate",
        "TaskGet",
        "TaskList",
        "TaskUpdate",
        "WebFetch",
        "WebSearch",
        "AskUserQuestion",
        "?",
    ] {
        for data in &odd {
            of(tool).call(data);
            of(tool).result(data, "text");
            of(tool).progress(data);
        }
    }
}
