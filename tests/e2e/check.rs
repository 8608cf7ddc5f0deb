//! `innerve check` and its JSON contract.

use innerve_tests::{Ended, World};
use serde_json::{Value, json};

fn lines(input: impl Into<Vec<u8>>) -> Ended {
    let world = World::new();
    world.innerve(["check", "--jsonl"]).input(input).run()
}

fn ask(lines_in: &[Value]) -> Vec<Value> {
    let text: String = lines_in.iter().map(|line| format!("{line}\n")).collect();
    let ended = lines(text);
    ended.exits(0);
    ended.lines()
}

#[test]
fn the_exit_code_tells_the_decision() {
    let world = World::new();
    let check = |flags: &[&str], command: &str| {
        let innerve = world.innerve(["check", command]);
        flags.iter().fold(innerve, |innerve, flag| innerve.arg(flag)).run()
    };
    check(&[], "ls -l").exits(0);
    check(&[], "git push").exits(3);
    check(&["--deny", "Bash(git push *)"], "git push origin").exits(4);
    check(&["--allow", "Bash(git push *)"], "git push origin").exits(0);
    check(&["--deny", "Bash(rm *)"], "ls && rm -rf x").exits(4);
    let ended = check(&["--json", "--deny", "Bash(rm *)"], "rm x");
    ended.exits(4);
    assert_eq!(ended.json()["decision"], "deny");
    assert_eq!(ended.json()["reason"]["rule"], "Bash(rm *)");
}

#[test]
fn another_tool_is_checked_with_its_input() {
    let world = World::new();
    let input = r#"{"file_path":"a.txt","old_string":"a","new_string":"b"}"#;
    let check = || world.innerve(["check", "--tool", "Edit", "--input", input]);
    check().run().exits(3);
    check().args(["--mode", "acceptEdits"]).run().exits(0);
    check().args(["--mode", "acceptEdits", "--deny", "Edit(*.txt)"]).run().exits(4);
    world.innerve(["check", "--tool", "Edit", "--input", "{"]).run().exits(2);
}

#[test]
fn explain_shows_parts_the_chain_and_what_would_allow_it() {
    let world = World::new();
    let ended = world.innerve(["check", "ls && git push", "--explain"]).run();
    ended.exits(3);
    for words in ["ls", "git push", "the chain", "would be allowed by"] {
        assert!(ended.stdout().contains(words), "`{words}`\n{ended}");
    }
}

#[test]
fn every_line_is_answered_in_order_with_every_field() {
    let answers = ask(&[
        json!({ "id": 1, "tool": "Bash", "input": { "command": "ls" }, "settings": [] }),
        json!({ "id": "two", "input": { "command": "git push" }, "settings": [], "cwd": "/repo" }),
        json!({ "id": 3, "input": { "command": "rm x" }, "settings": [
            { "source": "project", "root": "/repo", "permissions": { "deny": ["Bash(rm *)"] } } ] }),
        json!({ "id": 4, "input": { "command": "git push" }, "settings": [], "headless": true }),
        json!({ "id": 5, "input": { "command": "git push" }, "settings": [], "mode": "bypassPermissions" }),
    ]);
    let ids: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!("two"), &json!(3), &json!(4), &json!(5)]);
    let decisions: Vec<&str> =
        answers.iter().map(|answer| answer["decision"].as_str().unwrap()).collect();
    assert_eq!(decisions, ["allow", "ask", "deny", "deny", "allow"]);
    for answer in &answers {
        for field in ["reason", "parts", "trace", "suggestions", "warnings"] {
            assert!(answer.get(field).is_some(), "no `{field}`: {answer:#}");
        }
        let reason = answer["reason"].as_object().unwrap();
        for field in ["kind", "rule", "source", "file", "line", "code", "message"] {
            assert!(reason.contains_key(field), "no `{field}` in the reason: {answer:#}");
        }
        for part in answer["parts"].as_array().unwrap() {
            assert!(
                part["text"].is_string()
                    && part["decision"].is_string()
                    && part["reason"].is_object()
            );
        }
        for link in answer["trace"].as_array().unwrap() {
            assert!(link["link"].is_string() && link["outcome"].is_string(), "{answer:#}");
        }
    }
    assert_eq!(answers[2]["reason"]["kind"], "rule");
    assert_eq!(answers[2]["reason"]["source"], "project");
    assert!(
        answers[1]["suggestions"]
            .as_array()
            .unwrap()
            .iter()
            .any(|rule| rule == "Bash(git push *)" || rule == "Bash(git push)"),
        "{:#}",
        answers[1]
    );
}

#[test]
fn modes_hooks_and_classifiers_are_taken_from_the_line() {
    let line = |extra: Value| {
        let mut line = json!({ "id": 1, "input": { "command": "git push" }, "settings": [] });
        line.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        line
    };
    let decision = |extra: Value| ask(&[line(extra)])[0]["decision"].as_str().unwrap().to_owned();
    assert_eq!(decision(json!({ "mode": "dontAsk" })), "deny");
    assert_eq!(decision(json!({ "mode": "auto", "classifier_available": true })), "classify");
    assert_eq!(
        decision(json!({ "mode": "auto", "classifier_available": true, "classifier": "allow" })),
        "allow"
    );
    assert_eq!(
        decision(json!({ "mode": "auto", "classifier_available": true, "classifier": "block" })),
        "deny"
    );
    assert_eq!(decision(json!({ "hook": { "decision": "allow" } })), "allow");
    assert_eq!(decision(json!({ "hook": { "decision": "deny" } })), "deny");
    assert_eq!(decision(json!({ "hook": { "decision": "defer" } })), "defer");
    let deny = json!([{ "source": "user", "permissions": { "deny": ["Bash(git push *)"] } }]);
    assert_eq!(decision(json!({ "hook": { "decision": "allow" }, "settings": deny })), "deny");
}

#[test]
fn what_is_not_valid_is_answered_with_an_error_and_the_run_goes_on() {
    let mut input: Vec<u8> = Vec::new();
    input.extend(b"not json\n");
    input.extend(b"{\"id\":2,\"input\":{\"command\":\"ls\"},\"mode\":\"never\"}\n");
    input.extend(b"{\"id\":3,\"input\":{\"command\":\"ls\"},\"settings\":[{\"source\":\"user\",\"permissions\":{\"deny\":[\"Bash(\"]}}]}\n");
    input.extend(b"{\"id\":4,\"input\":{\"command\":\"\xff\xfe\"}}\n");
    input.extend(b"\n");
    input.extend(b"{\"id\":5}\n");
    input.extend(b"[]\n");
    input.extend(b"{\"id\":6,\"input\":{\"command\":\"ls\"},\"settings\":[]}");
    let ended = lines(input);
    ended.exits(0);
    let answers = ended.lines();
    assert_eq!(answers.len(), 7, "{ended}");
    for answer in &answers[..6] {
        assert!(answer["error"].is_string() && answer.get("id").is_some(), "{answer}");
    }
    assert_eq!(answers[1]["id"], 2);
    assert_eq!(answers[2]["id"], 3);
    assert_eq!(answers[4]["id"], 5);
    assert_eq!(answers[6]["decision"], "allow", "a last line without a line feed counts");
}

#[test]
fn a_line_of_a_megabyte_is_answered() {
    let command = format!("echo {}", "x".repeat(1_000_000));
    let answers = ask(&[json!({ "id": 1, "input": { "command": command }, "settings": [] })]);
    assert_ne!(answers[0]["decision"], "allow", "what is too long to read is not called safe");
}

#[test]
fn check_and_run_cannot_disagree() {
    use innerve_tests::{Wire, reply};
    for command in
        ["ls", "touch x", "git status; touch x", "cat < a > b", "$(touch x)", "find . -delete"]
    {
        let world = World::new().file("a", "a");
        let allowed = world.innerve(["check", command]).run().stdout().starts_with("allow");
        let model = world.model(Wire::Anthropic, [reply().bash(command), reply().text("Done.")]);
        let ended = world.innerve(["run", "go", "--output", "json"]).model(&model).run();
        let denied = ended.json()["permission_denials"].as_array().unwrap().len();
        assert_eq!(denied == 0, allowed, "{command}\n{ended}");
    }
}
