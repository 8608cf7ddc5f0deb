//! `innerve rules test`.

use serde_json::{Value, json};

use crate::kit::World;

const RULES: &str =
    "{\"permissions\": {\"allow\": [\"Bash(npm test *)\"], \"deny\": [\"Bash(git push *)\"]}}";

#[test]
fn cases_that_come_out_as_expected_pass_by_the_settings_on_disk() {
    let world = World::new();
    world.project(RULES).write(
        "work/cases.jsonc",
        r#"[
            // what the team agreed on
            {"command": "npm test -- -w", "expect": "allow"},
            {"name": "no pushes", "command": "git push -f", "expect": "deny"},
            {"command": "npm install x", "expect": "ask"},
            {"command": "npm install x", "mode": "dontAsk", "expect": "deny"},
            {"command": "npm install x", "mode": "auto", "expect": "classify"},
            {"tool": "Edit", "input": {"file_path": "src/a.rs"}, "mode": "acceptEdits", "expect": "allow"},
            {"tool": "Edit", "input": {"file_path": "a.rs"}, "cwd": "sub", "expect": "ask",},
            {"tool": "mcp__github__get_issue", "input": {}, "expect": "ask"},
        ]"#,
    );
    let ended = world.innerve(&["rules", "test", "cases.jsonc"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.says("8 passed, 0 failed");
}

#[test]
fn a_failure_is_explained_with_its_line() {
    let world = World::new();
    world.project(RULES).write(
        "work/cases.jsonc",
        "[\n{\"command\": \"npm test\", \"expect\": \"allow\"},\n{\"name\": \"pushes are fine\", \"command\": \"npm test && git push\", \"expect\": \"allow\"}]",
    );
    let ended = world.innerve(&["rules", "test", "cases.jsonc"]);
    assert_eq!(ended.code, Some(1));
    ended.says("failed pushes are fine (cases.jsonc:3)");
    ended.says("expected allow, got deny: denied by the project rule `Bash(git push *)`");
    ended.says(".innerve/settings.json:1").says("1 passed, 1 failed");

    let json = world.innerve(&["rules", "test", "cases.jsonc", "--json"]);
    assert_eq!(json.code, Some(1));
    let outcome = json.json();
    assert_eq!(outcome.get("failed"), Some(&json!(1)));
    assert_eq!(outcome.pointer("/cases/1/line"), Some(&json!(3)));
    assert_eq!(outcome.pointer("/cases/1/reason/rule"), Some(&json!("Bash(git push *)")));
    assert_eq!(outcome.pointer("/cases/1/decision"), Some(&json!("deny")));
}

#[test]
fn a_case_may_bring_its_settings() {
    let world = World::new();
    world
        .user("{\"permissions\": {\"deny\": [\"Bash(npm *)\"]}}")
        .write("work/policy/next.json", RULES)
        .write(
            "work/policy/cases.json",
            r#"{"settings": "next.json", "cases": [
                {"command": "npm test x", "expect": "allow"},
                {"command": "npm test x", "settings": {}, "expect": "ask"},
                {"command": "npm test x", "settings": {"permissions": {"deny": ["Bash"]}}, "expect": "deny"},
                {"command": "make", "settings": [{"source": "user", "permissions": {"allow": ["Bash(make)"]}}], "expect": "allow"}
            ]}"#,
        );
    let ended = world.innerve(&["rules", "test", "policy/cases.json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn what_cannot_be_read_as_cases_is_bad_usage() {
    let world = World::new();
    for (content, problem) in [
        ("", "empty"),
        ("{", "not valid"),
        ("[]", "no cases"),
        ("{\"cases\": 1}", "`cases` is no list"),
        ("{\"case\": []}", "unknown field `case`"),
        ("7", "neither"),
        ("[{\"command\": \"ls\"}]", "expect"),
        ("[{\"command\": \"ls\", \"expect\": \"maybe\"}]", "maybe"),
        ("[{\"command\": \"ls\", \"expects\": \"allow\", \"expect\": \"allow\"}]", "expects"),
        ("[{\"expect\": \"allow\"}]", "neither `command` nor `tool`"),
        ("[{\"tool\": \"Read\", \"expect\": \"allow\"}]", "no `input`"),
        ("[{\"command\": \"ls\", \"input\": {}, \"expect\": \"allow\"}]", "both"),
        ("[{\"command\": \"ls\", \"mode\": \"yolo\", \"expect\": \"allow\"}]", "yolo"),
        ("[{\"command\": \"ls\", \"settings\": 3, \"expect\": \"allow\"}]", "`settings`"),
        (
            "[{\"command\": \"ls\", \"settings\": \"gone.json\", \"expect\": \"allow\"}]",
            "gone.json",
        ),
        (
            "[{\"command\": \"ls\", \"settings\": {\"permissions\": {\"deny\": [\"Bash(\"]}}, \"expect\": \"allow\"}]",
            "deny rule",
        ),
    ] {
        world.write("work/cases.json", content);
        let ended = world.innerve(&["rules", "test", "cases.json"]);
        assert_eq!(ended.code, Some(2), "{content}: {ended:?}");
        assert!(ended.stderr.contains(problem), "{content}: {}", ended.stderr);
        assert_eq!(ended.stdout, "");
    }
    assert_eq!(world.innerve(&["rules", "test", "none.json"]).code, Some(2));
    assert_eq!(world.innerve(&["rules", "test"]).code, Some(2));
}

#[test]
fn expectations_are_held_against_the_engine_as_check_shows_it() {
    let world = World::new();
    world.trust().project(RULES);
    for command in ["npm test x", "git push", "ls", "curl x | sh", "rm -rf ~", "cat .env"] {
        let check = world.innerve(&["check", command, "--json"]).json();
        let decision = check.get("decision").and_then(Value::as_str).unwrap();
        let case = json!([{ "command": command, "expect": decision }]);
        world.write("work/cases.json", &case.to_string());
        assert_eq!(world.innerve(&["rules", "test", "cases.json"]).code, Some(0), "{command}");
    }
}
