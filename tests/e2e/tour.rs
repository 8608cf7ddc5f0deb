//! `innerve run` without a key: the tour.

use std::fs;

use innerve_tests::{REDACTIONS, World};
use serde_json::Value;

#[test]
fn the_tour_shows_every_kind_of_step_and_says_that_it_is_a_recording() {
    let world = World::new();
    let ended = world.innerve(["run"]).run();
    ended.exits(0);
    let shown = format!("── stderr\n{}── stdout\n{}", in_order(ended.stderr()), ended.stdout());
    insta::with_settings!({ filters => REDACTIONS.iter().copied(), omit_expression => true }, {
        insta::assert_snapshot!("tour", shown);
    });
}

/// The first three calls run side by side, so that their beginnings and ends come in any order: those first, these last.
fn in_order(shown: &str) -> String {
    let start = shown.find("● ").unwrap();
    let end = shown.find("● Bash").unwrap();
    let calls = ["Read README.md", "Read count.sh", "Grep count\\.sh"];
    let (mut begun, mut ended): (Vec<String>, Vec<String>) =
        shown[start..end].lines().map(str::to_owned).partition(|line| line.starts_with("● "));
    for line in &mut ended {
        // A result names its call where others ran when it came.
        for call in calls {
            *line = line.replace(&format!("✓ {call}: "), "✓ ");
        }
    }
    begun.sort();
    ended.sort();
    let lines = [begun, ended].concat().join("\n");
    format!("{}{lines}\n{}", &shown[..start], &shown[end..])
}

#[test]
fn the_tour_leaves_its_scratch_project_behind_nowhere() {
    let world = World::new().file("README.md", "mine\n");
    world.innerve(["run"]).run().exits(0);
    assert_eq!(
        fs::read_dir(world.root().join("tmp")).unwrap().count(),
        0,
        "the scratch copy is removed"
    );
    assert_eq!(fs::read_dir(world.work("")).unwrap().count(), 1, "the workspace is not touched");
    assert_eq!(world.read("README.md"), "mine\n");
    world.nobody_is_left();
}

#[test]
fn the_tour_takes_nothing_from_the_users_settings() {
    let plain = World::new();
    let expected = plain.innerve(["run", "--output", "json"]).run();
    expected.exits(0);

    let world = World::new();
    let settings =
        r#"{ "permissions": { "deny": ["Read", "Grep", "Bash", "Edit"], "defaultMode": "plan" } }"#;
    for folder in
        ["config/innerve", "home/.config/innerve", "home/.claude", "work/.innerve", "work/.claude"]
    {
        let folder = world.root().join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("settings.json"), settings).unwrap();
        fs::write(folder.join("CLAUDE.md"), "Say nothing.").unwrap();
        fs::write(folder.join("AGENTS.md"), "Say nothing.").unwrap();
    }
    let ended = world.innerve(["run", "--output", "json"]).run();
    ended.exits(0);
    assert_eq!(ended.json()["result"], expected.json()["result"]);
    assert_eq!(ended.json()["permission_denials"], expected.json()["permission_denials"]);
}

#[test]
fn the_tour_as_one_object_has_every_field_of_the_contract() {
    let world = World::new();
    let ended = world.innerve(["run", "--output", "json"]).run();
    ended.exits(0);
    let object = ended.json();
    check_summary(&object);
    assert_eq!(object["terminal"], "completed");
    assert_eq!(object["turns"], 7);
    let denials = object["permission_denials"].as_array().unwrap();
    assert_eq!(denials.len(), 1, "{object:#}");
    assert_eq!(denials[0]["tool"], "Bash");
    assert!(denials[0]["input"]["command"].as_str().unwrap().contains("rm -rf"));
    assert_eq!(denials[0]["reason"]["kind"], "rule");
    assert_eq!(denials[0]["reason"]["rule"], "Bash(rm *)");
}

#[test]
fn the_tour_as_a_stream_tells_each_event_on_its_line_and_the_same_summary_last() {
    let world = World::new();
    let ended = world.innerve(["run", "--output", "stream-json"]).run();
    ended.exits(0);
    let lines = ended.lines();
    let (last, events) = lines.split_last().unwrap();
    check_summary(last);
    assert_eq!(events[0]["type"], "system");
    assert_eq!(events[0]["subtype"], "init");
    assert_eq!(events[0]["session_id"], last["session_id"]);
    for event in events {
        let kind = event["type"].as_str().unwrap();
        assert!(
            ["system", "assistant", "user", "progress", "permission"].contains(&kind),
            "{event}"
        );
    }
    let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
    assert_eq!(of("permission"), 1);
    assert_eq!(of("user"), 7, "each round answers its tool uses in one message");
    assert_eq!(
        of("assistant"),
        8,
        "each round begins with the model's message, and the last one is the answer"
    );
    let answer = events.iter().rfind(|event| event["type"] == "assistant").unwrap();
    assert_eq!(answer["message"]["content"][0]["text"], last["result"]);
}

#[track_caller]
fn check_summary(object: &Value) {
    let fields: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
    for field in
        ["result", "terminal", "turns", "usage", "cost_usd", "session_id", "permission_denials"]
    {
        assert!(fields.contains(&field), "no field `{field}`: {object:#}");
    }
    assert!(object.get("type").is_none(), "the summary is no event: {object:#}");
}
