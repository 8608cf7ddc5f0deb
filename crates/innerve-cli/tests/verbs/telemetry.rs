//! The local log: what it tells, and that no word of the work stands in it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::kit::{Ended, World};

/// What must not leave, wherever it stands.
pub(crate) const SECRET: &str = "hunter2";

/// A block that a recorded model said.
fn block(block: &Value) -> Value {
    json!({ "event": { "type": "block_done", "index": 0, "block": block } })
}

fn uses(id: &str, tool: &str, input: &Value) -> Value {
    block(&json!({ "type": "tool_use", "id": id, "name": tool, "input": input }))
}

/// A world in which a secret stands wherever one can: paths, commands, files, errors, names of tools, what the model
/// says, what hooks say, and rules.
pub(crate) fn world() -> World {
    let world = World::new();
    let secret = |what: &str| format!("{what} {SECRET}");
    let says = |text: &str| block(&json!({ "type": "text", "text": text }));
    let first = json!({ "events": [
        { "event": { "type": "usage", "usage": { "input_tokens": 1234, "output_tokens": 56 } } },
        says(&secret("I look for")),
        uses("toolu_1", "Read", &json!({ "file_path": format!("{SECRET}.txt") })),
        uses(&format!("toolu_{SECRET}"), "Bash", &json!({ "command": format!("echo {SECRET} >&2; exit 3") })),
        uses("toolu_3", "Edit", &json!({ "file_path": format!("{SECRET}.txt"), "old_string": SECRET, "new_string": "x" })),
        uses("toolu_4", "Read", &json!({ "file_path": format!("/nowhere/{SECRET}") })),
        uses("toolu_5", &format!("mcp__{SECRET}__read"), &json!({ "token": SECRET })),
        uses("toolu_6", SECRET, &json!({})),
        uses("toolu_7", "Bash", &json!({ "command": format!("rm {SECRET}") })),
        uses("toolu_8", "Grep", &json!({ "pattern": SECRET, "path": 7 })),
    ] });
    let last = json!({ "events": [says(&secret("I found"))] });
    let header = json!({ "format": "innerve-recording", "version": 1, "model": secret("our") });
    world.write("work/recording.jsonl", &format!("{header}\n{first}\n{last}\n"));
    world.write(&format!("work/{SECRET}.txt"), &secret("content"));
    let hook = |command: &str| json!({ "type": "command", "command": command, "timeout": 0.3 });
    let settings = json!({
        "permissions": {
            "allow": ["Bash(echo *)", "Edit"],
            "deny": [format!("Bash(rm {SECRET}*)")],
        },
        "hooks": {
            "PreToolUse": [{ "matcher": "Read|Bash", "hooks": [
                hook(&format!("echo {SECRET} >&2; exit 1")),
                hook(&format!(": {SECRET}; sleep 30")),
                hook(&format!("echo '{{\"{SECRET}'")),
                hook(&format!("echo '{{\"systemMessage\":\"{SECRET}\"}}'")),
                { "type": "http", "url": format!("http://127.0.0.1:9/{SECRET}") },
            ] }],
            "UserPromptSubmit": [{ "hooks": [hook(&format!("echo context {SECRET}"))] }],
        },
    });
    world.user(&settings.to_string());
    world
}

/// Runs the recording in that world.
pub(crate) fn run(world: &World, variables: &[(&str, &str)]) -> Ended {
    let arguments = ["run", "print hunter2", "--replay", "recording.jsonl"];
    world.run(&arguments, "", &world.path("work"), variables)
}

fn log_file(world: &World) -> PathBuf {
    world.path("state/innerve/log/innerve.log")
}

#[track_caller]
fn says(log: &str, parts: &[&str]) {
    let found = log.lines().any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(found, "no line has {parts:?}:\n{log}");
}

#[test]
fn i11_a_log_tells_what_happens_and_no_word_of_it() {
    let world = world();
    let ended = run(&world, &[("INNERVE_LOG", "trace")]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains(SECRET), "the person sees what the model says: {ended:?}");
    let log = fs::read_to_string(log_file(&world)).unwrap();
    for line in log.lines() {
        assert!(!line.contains(SECRET), "{line}");
    }
    says(&log, &["innerve.interaction{", "user_prompt", "prompt_length=13"]);
    says(&log, &["innerve.llm_request{", "model=\"custom\"", "api_request"]);
    says(&log, &["innerve.tool{tool_name=\"Bash\"", "tool_decision", "decision=\"accept\""]);
    says(&log, &["tool_decision", "decision=\"reject\"", "source=\"config\"", "reason=\"rule\""]);
    says(&log, &["innerve.tool{tool_name=\"mcp_tool\"", "tool_result", "success=false"]);
    says(&log, &["innerve.tool{tool_name=\"custom\"", "tool_result", "success=false"]);
    for trouble in ["exit_code", "timeout", "output", "io"] {
        let trouble = format!("error_type=\"{trouble}\"");
        says(&log, &["innerve.hook{hook_event=PreToolUse", &trouble, "hook_execution_complete"]);
    }
    says(&log, &["interaction_ended", "outcome=\"completed\"", "refused=2"]);
    assert!(!log.contains("monotonic_counter"), "what is counted is no matter of the log");
}

/// Every span and event of a log stands in the page about telemetry.
#[test]
fn what_is_told_is_documented() {
    let world = world();
    run(&world, &[("INNERVE_LOG", "trace")]);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/telemetry.md");
    let page = fs::read_to_string(page).unwrap();
    let log = fs::read_to_string(log_file(&world)).unwrap();
    for line in log.lines() {
        let (spans, event) = line.rsplit_once("::telemetry: ").unwrap();
        let names = spans.split([' ', ':']).filter_map(|word| word.split_once('{'));
        let names = names.map(|(name, _)| name).filter(|name| name.starts_with("innerve."));
        for name in names.chain(event.split(' ').next()) {
            assert!(page.contains(&format!("`{name}`")), "`{name}` is not documented");
        }
        for field in event.split(' ').filter_map(|word| word.split_once('=')) {
            assert!(page.contains(&format!("`{}`", field.0)), "`{}` is not documented", field.0);
        }
    }
}

#[test]
fn nothing_is_logged_unless_somebody_says_so() {
    let world = World::new();
    let call = ["call", "Bash", "{\"command\":\"true\"}", "--allow", "Bash(true)"];
    let ended = world.innerve(&call);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!log_file(&world).exists());
    assert_eq!(ended.stderr, "");
}

#[test]
fn a_log_goes_where_it_is_sent_and_holds_what_is_asked_for() {
    let world = World::new();
    let call = ["call", "Bash", "{\"command\":\"true\"}", "--allow", "Bash(true)"];
    let with = |more: &[&str]| world.innerve(&[&call[..], more].concat());

    let ended = with(&["--log", "info", "--log-file", "-"]);
    says(
        &ended.stderr,
        &["INFO", "innerve.tool{tool_name=\"Bash\"", "tool_result", "success=true"],
    );
    assert!(!ended.stderr.contains("tool_step"), "{ended:?}");
    assert!(!log_file(&world).exists());

    let ended = with(&["--log", "innerve_pipeline=debug", "--log-file", "own.log"]);
    assert_eq!(ended.stderr, "");
    let log = fs::read_to_string(world.path("work/own.log")).unwrap();
    assert_eq!(log.lines().filter(|line| line.contains("tool_step")).count(), 14, "{log}");

    let ended = with(&["--log", "loud"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
}

#[test]
fn a_log_that_cannot_be_written_is_told_and_does_not_stop_the_work() {
    let world = World::new();
    world.write("work/file", "");
    let call = ["call", "Bash", "{\"command\":\"echo hi\"}", "--allow", "Bash(echo *)"];
    let ended =
        world.innerve(&[&call[..], &["--log", "info", "--log-file", "file/x.log"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("no log is kept in file/x.log"), "{ended:?}");
    ended.says("hi");
}

#[test]
fn names_are_told_where_a_person_says_so() {
    let world = World::new();
    let call = ["call", "mcp__files__read", "{}", "--log", "info", "--log-file", "-"];
    let ended = world.run(&call, "", &world.path("work"), &[("INNERVE_TELEMETRY_NAMES", "1")]);
    says(&ended.stderr, &["innerve.tool{tool_name=\"mcp__files__read\""]);
    let ended = world.innerve(&call);
    says(&ended.stderr, &["innerve.tool{tool_name=\"mcp_tool\""]);
}
