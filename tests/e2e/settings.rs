//! Settings files, trust, and rules that a person saves.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use innerve_tests::{Ended, Wire, World, reply};
use serde_json::json;

const TOUCH: &str = r#"{ "permissions": { "allow": ["Bash(touch *)"] } }"#;

fn put(world: &World, path: &str, content: &str) {
    let path = world.root().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// What `innerve check` says of `touch x`.
fn check(world: &World) -> Ended {
    world.innerve(["check", "touch x", "--json"]).run()
}

#[test]
fn the_users_rules_count_wherever_they_are_kept() {
    for path in ["config/innerve/settings.json", "home/.claude/settings.json"] {
        let world = World::new();
        check(&world).exits(3);
        put(&world, path, TOUCH);
        check(&world).exits(0);
    }
}

#[test]
fn a_projects_allow_rules_count_once_it_is_trusted_and_its_deny_rules_always() {
    for path in [".innerve/settings.json", ".claude/settings.json"] {
        let world = World::new().file(path, TOUCH);
        check(&world).exits(3);
        world.innerve(["trust"]).run().exits(0);
        let listed = world.innerve(["trust", "--list"]).run();
        assert_eq!(listed.stdout(), format!("{}\n", world.work("").display()));
        check(&world).exits(0);
        world.innerve(["trust", "--revoke"]).run().exits(0);
        check(&world).exits(3);
        assert_eq!(world.innerve(["trust", "--list"]).run().stdout(), "");

        world.write(path, r#"{ "permissions": { "deny": ["Bash(touch *)"] } }"#);
        check(&world).exits(4);
    }
}

#[test]
fn i10_a_denial_names_the_rule_with_its_file_and_line() {
    let world = World::new().file(
        ".innerve/settings.json",
        "{\n  // nothing is made here,\n  \"permissions\": {\n    \"deny\": [\n      \"Bash(touch *)\",\n    ],\n  },\n}\n",
    );
    let ended = check(&world);
    ended.exits(4);
    let reason = ended.json()["reason"].clone();
    assert_eq!(reason["rule"], "Bash(touch *)");
    assert_eq!(reason["source"], "project");
    assert_eq!(reason["line"], 5);
    let file = world.work(".innerve/settings.json").display().to_string();
    assert_eq!(reason["file"], file.as_str());
}

#[test]
fn a_broken_rule_is_a_warning_and_a_broken_deny_rule_stops_the_start() {
    let world = World::new().file(
        ".innerve/settings.json",
        "{ \"permissions\": {\n \"ask\": [\"Bash(touch\"],\n \"allow\": [] } }",
    );
    check(&world).exits(3).complains(["settings.json:2", "Bash(touch"]);
    world.write(".innerve/settings.json", "{ \"permissions\": {\n \"deny\": [\"Bash(touch\"] } }");
    let model = world.model(Wire::Anthropic, []);
    for ended in [check(&world), world.innerve(["run", "go"]).model(&model).run()] {
        ended.exits(2).complains(["settings.json", "Bash(touch"]);
    }
    world.write(".innerve/settings.json", "{ broken");
    check(&world).exits(2).complains(["settings.json"]);
}

#[test]
fn the_other_programs_settings_can_be_turned_off() {
    let world = World::new();
    put(&world, "home/.claude/settings.json", TOUCH);
    check(&world).exits(0);
    put(&world, "config/innerve/settings.json", r#"{ "disableClaudeSettings": true }"#);
    check(&world).exits(3);
}

#[test]
fn settings_come_from_a_flag_as_a_file_or_as_json() {
    let world = World::new().file("mine.json", TOUCH);
    for settings in ["mine.json", TOUCH] {
        world.innerve(["check", "touch x", "--settings", settings]).run().exits(0);
    }
    world
        .innerve(["check", "touch x", "--settings", "missing.json"])
        .run()
        .exits(2)
        .complains(["missing.json"]);
}

#[test]
fn always_is_saved_in_the_local_settings_and_never_asked_again() {
    let local = ".innerve/settings.local.json";
    let world = World::new()
        .file(local, "{\n  // mine\n  \"permissions\": { \"deny\": [\"Bash(rm *)\"] },\n}\n");
    world.innerve(["trust"]).run().exits(0);
    let model = world.model(
        Wire::Anthropic,
        [reply().bash("touch one"), reply().bash("touch two"), reply().text("Both made.")],
    );
    let mut terminal = world.innerve(["run", "make"]).model(&model).at_terminal();
    terminal.sees("touch one").sees("[a] always").enters("a").sees("Both made.");
    assert_eq!(terminal.ends(), 0, "{terminal}");
    assert_eq!(terminal.shown().matches("[y] yes").count(), 1, "{terminal}");
    assert!(world.has("one") && world.has("two"));
    let saved = world.read(local);
    assert!(saved.contains("Bash(touch *)") && saved.contains("Bash(rm *)"), "{saved}");
    assert!(saved.contains("// mine"), "{saved}");

    let model = world.model(Wire::OpenAi, [reply().bash("touch three"), reply().text("Made.")]);
    let mut terminal = world.innerve(["run", "make"]).model(&model).at_terminal();
    terminal.sees("Made.");
    assert_eq!(terminal.ends(), 0);
    assert!(world.has("three") && !terminal.shown().contains("[y] yes"), "{terminal}");
}

#[test]
fn always_in_a_workspace_that_is_not_trusted_says_what_is_missing() {
    let world = World::new();
    let model = world.model(
        Wire::Anthropic,
        [reply().bash("touch one"), reply().bash("touch two"), reply().text("Both made.")],
    );
    let mut terminal = world.innerve(["run", "make"]).model(&model).at_terminal();
    terminal.sees("[a] always").enters("a").sees("innerve trust").sees("Both made.");
    assert_eq!(terminal.ends(), 0, "{terminal}");
    assert!(world.has("one") && world.has("two"));
    assert!(world.read(".innerve/settings.local.json").contains("Bash(touch *)"));
}

#[test]
fn the_projects_instructions_reach_the_model() {
    for (wire, name) in [(Wire::Anthropic, "AGENTS.md"), (Wire::OpenAi, "CLAUDE.md")] {
        let world = World::new().file(name, "Always answer in rhyme.\n");
        let model = world.model(wire, [reply().text("Fine.")]);
        world.innerve(["run", "go"]).model(&model).run().exits(0);
        assert!(model.request(0).body.to_string().contains("Always answer in rhyme."));
    }
}

#[test]
fn what_is_kept_of_a_session_is_for_its_user_alone() {
    let world = World::new();
    let model = world.model(Wire::Anthropic, [reply().bash("seq 1 100000"), reply().text("Fine.")]);
    world.innerve(["run", "go"]).model(&model).run().exits(0);
    let logs = world.find("log.jsonl");
    assert_eq!(logs.len(), 1);
    assert!(logs[0].starts_with(world.root().join("state/innerve")), "{logs:?}");
    let mut folders = vec![world.root().join("state/innerve")];
    while let Some(folder) = folders.pop() {
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
            }
        }
    }
}

fn mode(path: &std::path::Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn a_file_that_a_deny_rule_hides_is_not_found_by_a_search() {
    let world = World::new().file("private/a.txt", "hunter2\n").file("b.txt", "hunter2 too\n");
    let grep = json!({ "pattern": "hunter2", "output_mode": "content" });
    let model = world.model(
        Wire::Anthropic,
        [
            reply()
                .uses("Grep", grep)
                .uses("Glob", json!({ "pattern": "**/*.txt" }))
                .bash("grep -r hunter2 private"),
            reply().text("Fine."),
        ],
    );
    let ended = world.innerve(["run", "look", "--deny", "Read(private/**)"]).model(&model).run();
    ended.exits(0);
    let texts = model.request(1).result_texts();
    assert!(texts[0].contains("b.txt") && !texts[0].contains("a.txt"), "{texts:?}");
    assert!(!texts[1].contains("a.txt"), "{texts:?}");
    assert!(!texts[2].contains("hunter2\n"), "{texts:?}");
}
