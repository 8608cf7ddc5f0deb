//! `innerve hook`: an answer, or nothing at all.

use serde_json::{Value, json};

use crate::kit::{Ended, World};

/// The event that Claude Code sends before a tool use.
fn event(world: &World, tool: &str, input: &Value) -> Value {
    json!({
        "session_id": "abc",
        "transcript_path": "/tmp/t.jsonl",
        "cwd": world.work(),
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": tool,
        "tool_input": input,
        "tool_use_id": "toolu_1",
    })
}

fn bash(world: &World, command: &str) -> Value {
    event(world, "Bash", &json!({ "command": command, "description": "d" }))
}

fn send(world: &World, event: &str) -> Ended {
    let ended = world.run(&["hook"], event, &world.path("work"), &[]);
    assert_eq!(ended.code, Some(0), "{event}: {ended:?}");
    ended
}

/// The decision, or `None` if nothing was said; whatever is said has the host's form.
#[track_caller]
fn decision(ended: &Ended) -> Option<String> {
    if ended.stdout.is_empty() {
        return None;
    }
    let answer = ended.json();
    let output = answer.get("hookSpecificOutput").unwrap().as_object().unwrap();
    assert_eq!(answer.as_object().unwrap().len(), 1);
    assert_eq!(output.get("hookEventName"), Some(&json!("PreToolUse")));
    assert!(!output.get("permissionDecisionReason").and_then(Value::as_str).unwrap().is_empty());
    Some(output.get("permissionDecision").and_then(Value::as_str).unwrap().to_owned())
}

#[track_caller]
fn check(world: &World, event: &Value, expected: Option<&str>) {
    let ended = send(world, &event.to_string());
    assert_eq!(decision(&ended).as_deref(), expected, "{event}: {ended:?}");
}

fn world() -> World {
    let world = World::new();
    world.user(
        "{\"permissions\": {\"allow\": [\"Bash(npm test *)\", \"mcp__docs\"], \"ask\": [\"Bash(git commit *)\"], \"deny\": [\"Bash(git push *)\", \"Read(secret/**)\"]}}",
    );
    world
}

#[test]
fn it_answers_where_innerve_has_an_opinion() {
    let world = world();
    for (command, expected) in [
        ("npm test x", Some("allow")),
        ("git status", Some("allow")),
        ("ls -la && npm test", Some("allow")),
        ("git push origin main", Some("deny")),
        ("npm test && git push", Some("deny")),
        ("git commit -m x", Some("ask")),
        ("rm -rf ~", Some("ask")),
        ("cat ~/.ssh/id_rsa", Some("ask")),
        ("echo x > .git/config", Some("ask")),
        ("npm install x", None),
        ("make", None),
    ] {
        check(&world, &bash(&world, command), expected);
    }
    let path = format!("{}/secret/key", world.work());
    check(&world, &event(&world, "Read", &json!({ "file_path": path })), Some("deny"));
    check(&world, &event(&world, "Read", &json!({ "file_path": "a.rs" })), Some("allow"));
    check(
        &world,
        &event(
            &world,
            "Edit",
            &json!({ "file_path": "a.rs", "old_string": "a", "new_string": "b" }),
        ),
        None,
    );
    check(&world, &event(&world, "mcp__docs__search", &json!({ "q": "x" })), Some("allow"));
    check(&world, &event(&world, "mcp__other__x", &json!({})), None);
    check(&world, &event(&world, "AskUserQuestion", &json!({})), None);
    check(&world, &event(&world, "ToolOfTomorrow", &json!({ "x": [1] })), None);
}

#[test]
fn the_reason_names_the_rule_and_its_place() {
    let world = world();
    let ended = send(&world, &bash(&world, "git push").to_string());
    let file = world.path("config/innerve/settings.json");
    let expected =
        format!("innerve: denied by the user rule `Bash(git push *)` ({}:1)", file.display());
    assert_eq!(
        ended.json().pointer("/hookSpecificOutput/permissionDecisionReason"),
        Some(&json!(expected))
    );
}

#[test]
fn the_hosts_plan_is_written_without_a_question() {
    let world = world();
    let write = |mode: &str, path: &str| {
        let path = world.path(path);
        let input = json!({ "file_path": path.to_str().unwrap(), "content": "# Plan" });
        let mut event = event(&world, "Write", &input);
        event["permission_mode"] = json!(mode);
        event
    };
    check(&world, &write("plan", "home/.claude/plans/a.md"), Some("allow"));
    check(&world, &write("default", "home/.claude/plans/a.md"), Some("ask"));
    check(&world, &write("plan", "home/.claude/plans/sub/a.md"), Some("ask"));
    check(&world, &write("plan", "home/.claude/settings.json"), Some("ask"));
    check(&world, &write("plan", "home/.claude/plans/../settings.md"), Some("ask"));
    world.write("elsewhere/x", "");
    std::fs::create_dir_all(world.path("home/.claude/plans")).unwrap();
    std::os::unix::fs::symlink(world.path("elsewhere/x"), world.path("home/.claude/plans/l.md"))
        .unwrap();
    check(&world, &write("plan", "home/.claude/plans/l.md"), Some("ask"));
}

#[test]
fn the_hosts_mode_counts() {
    let world = world();
    let in_mode = |mode: &str, mut event: Value| {
        event.as_object_mut().unwrap().insert("permission_mode".to_owned(), json!(mode));
        event
    };
    let edit = || event(&world, "Write", &json!({ "file_path": "a.rs", "content": "x" }));
    for (mode, event, expected) in [
        ("acceptEdits", edit(), Some("allow")),
        ("plan", edit(), None),
        ("plan", bash(&world, "git status"), Some("allow")),
        ("plan", bash(&world, "npm test"), None),
        ("auto", bash(&world, "make"), None),
        ("auto", bash(&world, "git push"), Some("deny")),
        ("dontAsk", bash(&world, "make"), None),
        ("dontAsk", bash(&world, "git commit -m x"), Some("deny")),
        ("bypassPermissions", bash(&world, "make"), None),
        ("bypassPermissions", bash(&world, "git push"), Some("deny")),
        ("bypassPermissions", bash(&world, "git commit"), Some("ask")),
        ("bypassPermissions", bash(&world, "rm -rf ~"), Some("ask")),
        // A mode of a later version may be stricter than any that is known.
        ("someday", bash(&world, "git status"), None),
        ("someday", bash(&world, "git push"), Some("deny")),
    ] {
        check(&world, &in_mode(mode, event), expected);
    }
}

#[test]
fn the_settings_are_those_of_the_directory_that_the_session_started_in() {
    let world = World::new();
    world
        .project("{\"permissions\": {\"deny\": [\"Bash(make *)\"], \"allow\": [\"Bash(npm *)\"]}}");
    check(&world, &bash(&world, "make all"), Some("deny"));
    // What the project allows counts once it is trusted.
    check(&world, &bash(&world, "npm ci"), None);
    world.trust();
    check(&world, &bash(&world, "npm ci"), Some("allow"));

    world.write("work/sub/x", "");
    let mut event = bash(&world, "make all");
    let sub = format!("{}/sub", world.work());
    event.as_object_mut().unwrap().insert("cwd".to_owned(), json!(sub));
    let work = world.work();
    let started = [("CLAUDE_PROJECT_DIR", work.as_str())];
    let ended = world.run(&["hook", "claude"], &event.to_string(), &world.path("home"), &started);
    assert_eq!(decision(&ended).as_deref(), Some("deny"), "{ended:?}");
}

#[test]
fn other_events_are_left_alone() {
    let world = world();
    for name in ["PostToolUse", "UserPromptSubmit", "Stop", "Anything"] {
        let mut event = bash(&world, "git push");
        event.as_object_mut().unwrap().insert("hook_event_name".to_owned(), json!(name));
        let ended = send(&world, &event.to_string());
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""), "{name}");
    }
}

/// Events that cannot be judged.
fn broken(world: &World) -> Vec<String> {
    let without = |field: &str| {
        let mut event = bash(world, "ls");
        event.as_object_mut().unwrap().remove(field);
        event.to_string()
    };
    let mut relative = bash(world, "ls");
    relative.as_object_mut().unwrap().insert("cwd".to_owned(), json!("work"));
    vec![
        String::new(),
        "not json".to_owned(),
        "[".repeat(100_000),
        "7".to_owned(),
        "{}".to_owned(),
        without("tool_name"),
        without("tool_input"),
        without("cwd"),
        relative.to_string(),
    ]
}

#[test]
fn its_own_failures_say_nothing_and_break_nothing() {
    let world = world();
    for event in broken(&world) {
        let ended = send(&world, &event);
        assert_eq!(ended.stdout, "");
        assert!(ended.stderr.contains("innerve hook:"), "{ended:?}");
    }
    world.project("{\"permissions\": {\"deny\": [\"Bash(\"]}}");
    assert_eq!(send(&world, &bash(&world, "npm test").to_string()).stdout, "");
    world.project("{ not json");
    assert_eq!(send(&world, &bash(&world, "npm test").to_string()).stdout, "");
}

#[test]
fn its_own_failures_ask_when_the_user_wants_that() {
    let world = world();
    world.user("{\"onError\": \"ask\"}");
    for event in broken(&world) {
        assert_eq!(decision(&send(&world, &event)).as_deref(), Some("ask"), "{event:.100}");
    }
    world.project("{ not json");
    check(&world, &bash(&world, "npm test"), Some("ask"));
    // The user's own file is broken: what stands in it is still heeded.
    world.user("{\n  \"onError\" : \"ask\",\n  \"permissions\": {\"deny\": [\"Bash(\"]}\n}");
    check(&world, &bash(&world, "npm test"), Some("ask"));
    world.user("{\n  // \"onError\": \"ask\",\n  broken");
    check(&world, &bash(&world, "npm test"), None);
}

#[test]
fn a_project_cannot_choose_what_its_failures_do() {
    let world = World::new();
    world.project("{\"onError\": \"ask\", \"permissions\": {\"deny\": [\"Bash(\"]}}").trust();
    check(&world, &bash(&world, "ls"), None);
}

#[test]
fn a_hook_that_is_set_up_wrongly_refuses_nothing() {
    // Claude Code takes exit code 2 for a refusal.
    let world = World::new();
    for arguments in [&["hook", "cursor"][..], &["hook", "--frobnicate"], &["hook", "claude", "x"]]
    {
        let ended = world.run(arguments, "{}", &world.path("work"), &[]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(ended.stderr.contains("error"), "{ended:?}");
    }
    let help = world.run(&["hook", "--help"], "", &world.path("work"), &[]);
    assert_eq!(help.code, Some(0));
    help.says("PreToolUse");
    assert_eq!(world.innerve(&["rules", "--frobnicate"]).code, Some(2));
}

#[test]
fn reasons_hold_nothing_that_commands_a_terminal_and_are_bounded() {
    let world = world();
    let command = format!("git push '\u{1b}[31m\u{202e}' {}", "x".repeat(9_000));
    let ended = send(&world, &bash(&world, &command).to_string());
    assert_eq!(decision(&ended).as_deref(), Some("deny"));
    let command = format!("cat ~/.ssh/{}\u{1b}[31m", "x".repeat(9_000));
    let ended = send(&world, &bash(&world, &command).to_string());
    let answer = ended.json();
    let reason = answer.pointer("/hookSpecificOutput/permissionDecisionReason").unwrap();
    let reason = reason.as_str().unwrap();
    assert!(reason.chars().count() <= 2_000 && !reason.contains('\u{1b}'), "{reason}");
}
