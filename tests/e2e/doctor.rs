//! `innerve doctor` and `innerve completions`: what is found, and what to do about it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use innerve_tests::{Ended, Wire, World};
use serde_json::Value;

/// The state and the mend of the finding whose text holds `words`.
#[track_caller]
fn finding(ended: &Ended, words: &str) -> (String, String) {
    let findings = ended.json();
    let found = findings
        .as_array()
        .unwrap()
        .iter()
        .find(|finding| finding["text"].as_str().unwrap_or_default().contains(words));
    let found = found.unwrap_or_else(|| panic!("nothing holds `{words}`\n{ended}"));
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    (text("state"), text("mend"))
}

fn states(ended: &Ended) -> Vec<Value> {
    ended.json().as_array().unwrap().iter().map(|finding| finding["state"].clone()).collect()
}

#[test]
fn a_connected_model_is_asked_for_its_list_and_nothing_is_wrong() {
    for wire in Wire::BOTH {
        let world = World::new();
        let model = world.model(wire, []);
        let ended = world.innerve(["doctor", "--json"]).model(&model).run();
        ended.exits(0);
        assert_eq!(finding(&ended, "the server answers and offers").0, "fine");
        assert!(!states(&ended).contains(&"problem".into()), "{ended}");
        let shown = world.innerve(["doctor"]).model(&model).run();
        shown.exits(0);
        assert!(shown.stdout().contains("No problem found."), "{shown}");
        assert!(!shown.stdout().contains(model.key()), "{shown}");
        assert!(model.seen().is_empty(), "nothing was asked of the model itself");
    }
}

#[test]
fn what_keeps_a_model_from_answering_is_told_with_its_mend() {
    let world = World::new();
    let none = world.innerve(["doctor", "--json"]).run();
    none.exits(1);
    let (state, mend) = finding(&none, "no model is connected");
    assert_eq!(state, "problem");
    assert!(mend.contains("ANTHROPIC_API_KEY") && mend.contains("OPENAI_BASE_URL"), "{mend}");

    let model = world.model(Wire::Anthropic, []);
    let doctor = || world.innerve(["doctor", "--json"]).model(&model);
    let wrong_key = doctor().env("ANTHROPIC_API_KEY", "sk-wrong").run();
    wrong_key.exits(1);
    assert_eq!(finding(&wrong_key, "ANTHROPIC_API_KEY").0, "problem");
    let wrong_name = doctor().arg("--model").arg("claude-nonesuch").run();
    wrong_name.exits(1);
    let (state, mend) = finding(&wrong_name, "claude-nonesuch is not among its models");
    assert!(state == "problem" && mend.contains("scripted"), "{mend}");
    let nowhere = doctor().env("ANTHROPIC_BASE_URL", "http://127.0.0.1:1").run();
    nowhere.exits(1);
    assert_eq!(finding(&nowhere, "127.0.0.1:1").0, "problem");
}

#[test]
fn settings_are_listed_with_what_is_broken_and_what_waits_for_trust() {
    let world = World::new().file(
        ".innerve/settings.json",
        "{ \"permissions\": {\n \"allow\": [\"Bash(make *)\"],\n \"ask\": [\"Bash(x\"] } }",
    );
    let doctor = || world.innerve(["doctor", "--json", "--offline"]).with_a_key_only().run();
    let ended = doctor();
    ended.exits(1);
    assert_eq!(finding(&ended, "0 deny, 1 ask, 1 allow").0, "fine");
    assert_eq!(finding(&ended, "settings.json:3").0, "problem");
    assert!(finding(&ended, "not trusted").1.contains("innerve trust"));
    world.innerve(["trust"]).run().exits(0);
    world.write(".innerve/settings.json", "{ \"permissions\": { \"allow\": [\"Bash(make *)\"] } }");
    doctor().exits(0);
    world.write(".innerve/settings.json", "{ \"permissions\": { \"deny\": [\"Bash(x\"] } }");
    let broken = doctor();
    broken.exits(1);
    assert!(finding(&broken, "Bash(x").1.contains("does not start"));
}

#[test]
fn keys_that_nobody_knows_are_told_by_doctor_and_by_nobody_else() {
    let settings = r#"{
  "statusLine": { "type": "command", "command": "x" },
  "permisions": { "deny": ["Bash(rm *)"] },
  "frobnicate": true
}"#;
    let world = World::new().file(".innerve/settings.json", settings);
    let ended = world.innerve(["doctor", "--json", "--offline"]).with_a_key_only().run();
    ended.exits(1);
    let (state, mend) = finding(
        &ended,
        "settings.json:3: innerve does not know `permisions`: did you mean `permissions`?",
    );
    assert!(state == "problem" && mend.contains("has no effect"), "{ended}");
    assert_eq!(finding(&ended, "settings.json:4: innerve does not know `frobnicate`").0, "note");
    assert!(!ended.stdout().contains("statusLine"), "{ended}");
    let check = world.innerve(["check", "ls"]).run();
    assert!(!check.stderr().contains("permisions"), "{check}");
}

#[test]
fn a_state_folder_that_others_read_is_noted() {
    let world = World::new();
    let state = world.root().join("state/innerve");
    fs::create_dir_all(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).unwrap();
    let ended = world.innerve(["doctor", "--json", "--offline"]).with_a_key_only().run();
    ended.exits(0);
    assert!(finding(&ended, "others may look into").1.contains("chmod 700"));
}

#[test]
fn servers_of_tools_are_started_and_the_sandbox_is_named() {
    let servers =
        r#"{"mcpServers": {"gone": {"command": "no-such-program"}, "dies": {"command": "false"}}}"#;
    let world = World::new().file(".mcp.json", servers);
    let model = world.model(Wire::Anthropic, []);
    let doctor = || world.innerve(["doctor", "--json"]).model(&model);
    let untrusted = doctor().run();
    untrusted.exits(0);
    let (state, mend) = finding(&untrusted, "gone (");
    assert!(state == "note" && mend.contains("innerve trust"), "{untrusted}");
    assert_eq!(finding(&untrusted, "commands run without a sandbox").0, "note");
    world.innerve(["trust"]).run().exits(0);
    let offline = doctor().arg("--offline").run();
    offline.exits(0);
    assert_eq!(finding(&offline, "gone: not started").0, "note");
    let started = doctor().run();
    started.exits(1);
    let (state, mend) = finding(&started, "`no-such-program` cannot be started");
    assert!(state == "problem" && mend.contains("install"), "{started}");
    let (state, mend) = finding(&started, "dies: it ended");
    assert!(state == "problem" && mend.ends_with(": false"), "{started}");
}

#[test]
fn what_is_kept_from_commands_in_the_sandbox_is_told() {
    let world = World::new();
    let settings = r#"{
        "sandbox": {"enabled": true, "credentials": {"envVars": [{"name": "A", "mode": "deny"}]}},
        "permissions": {"deny": ["Read(./.env)", "Read(*.pem)", "Edit(./dir/**)"]}
    }"#;
    let ended = world.innerve(["doctor", "--json", "--offline", "--settings", settings]).run();
    let (state, _) = finding(
        &ended,
        "kept from them besides: places hidden: 1 by name, 1 by pattern; places unchangeable: 1 by name; credentials hidden: 1",
    );
    assert_eq!(state, "fine");
}

#[test]
fn completions_name_every_verb_and_shells_can_read_them() {
    let world = World::new();
    let script = world.innerve(["completions", "bash"]).run();
    script.exits(0);
    for verb in ["run", "check", "doctor", "sessions"] {
        assert!(script.stdout().contains(verb), "{verb}");
    }
    assert!(!script.stdout().contains("sandbox-exec"), "a verb for innerve's own use");
    for values in [
        "default acceptEdits plan auto dontAsk bypassPermissions",
        "off on auto",
        "error warn info debug trace",
        "claude-opus-",
        "text json stream-json",
    ] {
        assert!(script.stdout().contains(values), "{values}");
    }
    let path = world.work("innerve.bash");
    fs::write(&path, script.stdout()).unwrap();
    let read = std::process::Command::new("bash").arg("-n").arg(&path).status().unwrap();
    assert!(read.success());
    let page = world.innerve(["completions", "man"]).run();
    page.exits(0);
    assert!(page.stdout().contains(".TH innerve 1"), "{page}");
    assert!(page.stdout().contains("innerve sessions\n"), "{page}");
    let sections = [
        ("INNERVE RUN", "\\-\\-output"),
        ("INNERVE CHECK", "\\-\\-explain"),
        ("INNERVE SESSIONS UNDO", "\\-\\-dry\\-run"),
        ("INNERVE RULES REPLAY", "\\-\\-against"),
    ];
    assert!(page.stdout().contains(".SH NOTES") && !page.stdout().contains(" EXTRA"), "{page}");
    for (section, flag) in sections {
        let shown = page.stdout();
        let (_, rest) = shown.split_once(&format!(".SH \"{section}\"\n")).unwrap();
        assert!(rest.split(".SH ").next().unwrap().contains(flag), "{section} {flag}");
    }
    assert!(!page.stdout().contains("SANDBOX-EXEC"), "{page}");
    assert!(!page.stdout().contains("(1)\n"), "there is no page for a verb alone: {page}");
    world.innerve(["completions", "tcsh"]).run().exits(2).complains(["tcsh", "bash"]);
}
