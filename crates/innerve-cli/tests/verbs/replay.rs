//! `innerve rules replay`.

use serde_json::{Value, json};

use crate::kit::{Ended, World};

const RULES: &str =
    "{\"permissions\": {\"allow\": [\"Bash(npm test *)\"], \"deny\": [\"Bash(git push *)\"]}}";

/// A transcript of Claude Code with these commands.
fn transcript(world: &World, commands: &[&str]) -> String {
    let mut lines = vec![json!({"type": "summary", "summary": "x", "leafUuid": "1"}).to_string()];
    for (index, command) in commands.iter().enumerate() {
        let content = json!([
            {"type": "text", "text": "now"},
            {"type": "tool_use", "id": format!("toolu_{index}"), "name": "Bash", "input": {"command": command, "description": "d"}},
        ]);
        let line = json!({
            "type": "assistant", "cwd": world.work(), "sessionId": "s", "isSidechain": false,
            "message": {"role": "assistant", "content": content},
        });
        lines.push(line.to_string());
    }
    lines.join("\n")
}

fn decisions(ended: &Ended) -> [u64; 4] {
    let report = ended.json();
    ["allow", "ask", "deny", "classify"]
        .map(|name| report.pointer(&format!("/decisions/{name}")).and_then(Value::as_u64).unwrap())
}

#[test]
fn a_transcript_is_judged_by_the_rules_of_its_directory() {
    let world = World::new();
    let commands =
        ["npm test x", "npm test y", "git push", "git push -f", "git fetch a", "git fetch b", "ls"];
    world.project(RULES).trust().write("old.jsonl", &transcript(&world, &commands));
    let file = world.path("old.jsonl");
    // From anywhere: the settings are those of the directory that the session started in.
    let elsewhere = world.path("home");
    let arguments = ["rules", "replay", file.to_str().unwrap(), "--json"];
    let ended = world.run(&arguments, "", &elsewhere, &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(decisions(&ended), [3, 2, 2, 0]);
    let report = ended.json();
    let groups = report.get("groups").and_then(Value::as_array).unwrap();
    let installs =
        groups.iter().find(|group| group.get("decision") == Some(&json!("ask"))).unwrap();
    assert_eq!(installs.get("count"), Some(&json!(2)));
    assert_eq!(installs.get("suggestions"), Some(&json!(["Bash(git fetch *)"])));
    assert_eq!(installs.get("examples"), Some(&json!(["git fetch a", "git fetch b"])));
    let text = world.innerve(&["rules", "replay", file.to_str().unwrap()]);
    text.says("7 tool uses in 1 file: 3 allow, 2 ask, 2 deny");
    text.says("2  Bash  would be allowed by Bash(git fetch *)");
    text.says("2  Bash  denied by the project rule `Bash(git push *)`");
}

#[test]
fn what_flips_under_other_settings_is_told() {
    let world = World::new();
    world.project(RULES).trust();
    world.write(
        "work/old.jsonl",
        &transcript(&world, &["npm test x", "git push", "npm install a", "ls"]),
    );
    world.write(
        "work/next.json",
        "{\"permissions\": {\"allow\": [\"Bash(npm *)\"], \"ask\": [\"Bash(git push *)\"]}}",
    );
    let ended =
        world.innerve(&["rules", "replay", "old.jsonl", "--against", "next.json", "--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    let flips: Vec<(&str, &str, &str)> = report
        .get("flips")
        .and_then(Value::as_array)
        .unwrap()
        .iter()
        .map(|flip| {
            let text = |pointer: &str| flip.pointer(pointer).and_then(Value::as_str).unwrap();
            (text("/from"), text("/decision"), text("/examples/0"))
        })
        .collect();
    assert_eq!(flips, [("ask", "allow", "npm install a"), ("deny", "ask", "git push")]);
    world
        .innerve(&["rules", "replay", "old.jsonl", "--against", "next.json"])
        .says("2 come out differently")
        .says("deny → ask  Bash");
}

#[test]
fn past_sessions_of_this_directory_are_the_default() {
    let world = World::new();
    let none = world.innerve(&["rules", "replay"]);
    assert_eq!(none.code, Some(1));
    assert!(none.stderr.contains("no session of this directory"), "{none:?}");

    let slug: String =
        world.work().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let session = format!("state/innerve/projects/{slug}/20260101-000000-abcdef");
    let tool_use = |id: &str, command: &str| json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}});
    let log = [
        json!({"type": "session", "version": 1, "id": "s", "cwd": world.work(), "model": "m", "started": 1}),
        json!({"type": "message", "message": {"role": "assistant", "content": [tool_use("a", "git push"), tool_use("b", "ls")]}}),
        json!({"type": "tool_started", "tool_use": {"id": "b", "name": "Bash", "input": {"command": "ls"}}}),
    ];
    let log: Vec<String> = log.iter().map(Value::to_string).collect();
    world.write(&format!("{session}/log.jsonl"), &format!("{}\n{{half a li", log.join("\n")));
    world.write(&format!("{session}/agents/one.jsonl"), &transcript(&world, &["npm install a"]));
    world.project(RULES);
    let ended = world.innerve(&["rules", "replay", "--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(decisions(&ended), [1, 1, 1, 0]);
    assert_eq!(ended.json().get("skipped_lines"), Some(&json!(1)));
    let by_id = world.innerve(&["rules", "replay", "20260101-000000-abcdef", "--json"]);
    assert_eq!(decisions(&by_id), [1, 1, 1, 0]);
}

#[test]
fn a_directory_stands_for_its_transcripts() {
    let world = World::new();
    world.write("home/t/one.jsonl", &transcript(&world, &["ls"]));
    world.write("home/t/notes.txt", "no transcript");
    let folder = world.path("home/t");
    let ended = world.innerve(&["rules", "replay", folder.to_str().unwrap(), "--json"]);
    assert_eq!(decisions(&ended), [1, 0, 0, 0]);
}

#[test]
fn what_cannot_be_read_is_bad_usage() {
    let world = World::new();
    world.write("work/old.jsonl", &transcript(&world, &["ls"]));
    world.write("work/bad.json", "{\"permissions\": {\"deny\": [\"Bash(\"]}}");
    for arguments in [
        &["rules", "replay", "./none.jsonl"][..],
        &["rules", "replay", "no-such-session"],
        &["rules", "replay", "old.jsonl", "--against", "none.json"],
        &["rules", "replay", "old.jsonl", "--against", "bad.json"],
        &["rules", "replay", "."],
    ] {
        let ended = world.innerve(arguments);
        let expected = if arguments.last() == Some(&".") { Some(0) } else { Some(2) };
        assert_eq!(ended.code, expected, "{arguments:?}: {ended:?}");
    }
}
