//! Permission where nobody can be asked: rules, modes, and what is told about a denial.

use innerve_tests::{Ended, Wire, World, reply};
use serde_json::{Value, json};

/// One command under these flags; gives the run and the result that the model saw.
#[track_caller]
fn run<const N: usize>(world: &World, command: &str, flags: [&str; N]) -> (Ended, String) {
    let model = world.model(Wire::Anthropic, [reply().bash(command), reply().text("That was it.")]);
    let ended = world.innerve(["run", "go", "--output", "json"]).args(flags).model(&model).run();
    ended.exits(0);
    (ended, model.request(1).result_texts().remove(0))
}

#[test]
fn a_call_that_would_be_asked_about_is_denied_with_the_way_out_and_listed() {
    let world = World::new();
    let (ended, told) = run(&world, "touch made.txt", []);
    assert!(!world.has("made.txt"));
    assert!(told.contains("touch"), "{told}");
    let denials = ended.json()["permission_denials"].clone();
    assert_eq!(denials.as_array().unwrap().len(), 1, "{denials}");
    assert_eq!(denials[0]["tool"], "Bash");
    assert_eq!(denials[0]["input"]["command"], "touch made.txt");
    assert!(denials[0]["tool_use_id"].is_string());
    assert!(denials[0]["reason"]["message"].is_string());
}

#[test]
fn an_allow_rule_lets_it_run() {
    let world = World::new();
    let (ended, _) = run(&world, "touch made.txt", ["--allow", "Bash(touch *)"]);
    assert!(world.has("made.txt"));
    assert_eq!(ended.json()["permission_denials"], json!([]));
}

#[test]
fn i4_one_part_without_a_rule_keeps_the_whole_from_running() {
    let world = World::new();
    run(&world, "touch a && touch b; mkdir c", ["--allow", "Bash(touch *)"]);
    assert!(!world.has("a") && !world.has("b") && !world.has("c"));
}

#[test]
fn i4_one_denied_part_denies_the_whole() {
    let world = World::new().file("keep.txt", "kept\n");
    let (ended, told) = run(
        &world,
        "touch a && rm keep.txt",
        ["--allow", "Bash(touch *)", "--allow", "Bash(rm *)", "--deny", "Bash(rm *)"],
    );
    assert!(world.has("keep.txt") && !world.has("a"));
    assert!(told.contains("Bash(rm *)"), "{told}");
    let reason = ended.json()["permission_denials"][0]["reason"].clone();
    assert_eq!(reason["kind"], "rule");
    assert_eq!(reason["rule"], "Bash(rm *)");
    assert_eq!(reason["source"], "cli");
}

#[test]
fn i3_bypassing_permissions_does_not_bypass_a_deny_rule() {
    let world = World::new().file("keep.txt", "kept\n");
    for command in
        ["rm keep.txt", "true; \\rm keep.txt", "bash -c 'rm keep.txt'", "env rm keep.txt"]
    {
        let flags = ["--permission-mode", "bypassPermissions", "--deny", "Bash(rm *)"];
        let (ended, _) = run(&world, command, flags);
        assert!(world.has("keep.txt"), "{command}");
        assert_eq!(ended.json()["permission_denials"].as_array().unwrap().len(), 1, "{command}");
    }
    run(&world, "touch made.txt", ["--permission-mode", "bypassPermissions"]);
    assert!(world.has("made.txt"), "what no rule forbids runs in this mode");
}

#[test]
fn plan_mode_changes_nothing() {
    let world = World::new().file("a.txt", "alpha\n");
    let model = world.model(
        Wire::OpenAi,
        [
            reply()
                .uses("Read", json!({ "file_path": "a.txt" }))
                .uses("Write", json!({ "file_path": "new.txt", "content": "new" }))
                .bash("touch made.txt"),
            // The classifier judges what a command would change.
            reply().text("FLAG"),
            reply().text(r#"{"verdict":"block","reason":"it makes a file, and this is planning"}"#),
            reply().text("A plan."),
        ],
    );
    let ended = world
        .innerve(["run", "plan", "--permission-mode", "plan", "--output", "json"])
        .model(&model)
        .run();
    ended.exits(0);
    assert!(!world.has("new.txt") && !world.has("made.txt"));
    assert!(model.request(1).last_words().contains(r#""planning":true"#));
    let texts = model.request(3).result_texts();
    assert!(texts[0].contains("alpha"), "{texts:?}");
    let denied = ended.json()["permission_denials"].as_array().map(Vec::len);
    assert_eq!(denied, Some(2));
}

#[test]
fn a_secret_is_not_read_without_being_asked_for() {
    let world = World::new().file(".env", "TOKEN=hunter2\n");
    let model = world.model(
        Wire::Anthropic,
        [
            reply().uses("Read", json!({ "file_path": ".env" })).bash("cat .env").uses(
                "Grep",
                json!({ "pattern": "TOKEN", "path": ".env", "output_mode": "content" }),
            ),
            reply().text("No."),
        ],
    );
    let ended = world.innerve(["run", "look", "--output", "stream-json"]).model(&model).run();
    ended.exits(0);
    assert!(!ended.stdout().contains("hunter2"), "{ended}");
    let summary: Value = ended.lines().pop().unwrap();
    assert_eq!(summary["permission_denials"].as_array().unwrap().len(), 3);
    let denials = ended.lines().into_iter().filter(|line| line["type"] == "permission");
    for denial in denials {
        assert_eq!(denial["reason"]["kind"], "secret", "{denial}");
    }
}

#[test]
fn a_broken_deny_rule_stops_the_start_and_is_named() {
    let world = World::new();
    let model = world.model(Wire::Anthropic, []);
    let ended = world.innerve(["run", "go", "--deny", "Bash(rm"]).model(&model).run();
    ended.exits(2).complains(["Bash(rm"]);
}
