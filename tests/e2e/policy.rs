//! The policy of a session: where it may not start, and settings that change while it runs.

use std::fs;

use innerve_tests::{Gate, Wire, World, reply};
use serde_json::{Value, json};

/// The number of the user that runs the tests.
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

const BYPASS: [&str; 2] = ["--permission-mode", "bypassPermissions"];

#[test]
fn permissions_are_not_bypassed_where_settings_forbid_it() {
    let world = World::new();
    world.write(
        ".innerve/settings.json",
        r#"{"permissions": {"disableBypassPermissionsMode": "disable"}}"#,
    );
    let model = world.model(Wire::Anthropic, []);
    let ended = world.innerve(["run", "go"]).args(BYPASS).model(&model).run();
    ended.exits(2).complains(["disabled by settings", "another mode"]);
    let ended = world.innerve(["call", "Bash", r#"{"command":"ls"}"#]).args(BYPASS).run();
    ended.exits(2).complains(["disabled by settings"]);
    // To ask what would be is no start.
    world.innerve(["check", "make", "--mode", "bypassPermissions"]).run().exits(0);
}

#[test]
fn permissions_are_not_bypassed_by_root_outside_of_a_sandbox() {
    if !is_root() {
        return;
    }
    let world = World::new();
    let input = r#"{"command":"touch made.txt"}"#;
    let call = || world.innerve(["call", "Bash", input]).args(BYPASS);
    let ended = call().env("IS_SANDBOX", "").run();
    ended.exits(2).complains(["as root", "IS_SANDBOX=1"]);
    assert!(!world.has("made.txt"));
    call().env("IS_SANDBOX", "1").run().exits(0);
    assert!(world.has("made.txt"));
    // Every other mode starts.
    world.innerve(["call", "Bash", r#"{"command":"ls"}"#]).env("IS_SANDBOX", "").run().exits(0);
}

#[test]
fn settings_that_change_count_in_the_running_session() {
    for wire in Wire::BOTH {
        let world = World::new().file("notes/a.txt", "needle\n").file("b.txt", "needle\n");
        let grep = json!({ "pattern": "needle" });
        let (denied, mended) = (Gate::new(), Gate::new());
        let model = world.model(
            wire,
            [
                reply().bash("touch one.txt").uses("Grep", grep.clone()),
                reply().waits(&denied).bash("touch two.txt").uses("Grep", grep),
                reply().waits(&mended).bash("touch three.txt"),
                reply().text("Done."),
            ],
        );
        let run = world
            .innerve(["run", "go", "--allow", "Bash(touch *)"])
            .args(["--output", "stream-json"])
            .model(&model)
            .start();
        world.wait_for_file("one.txt");
        world.write(
            ".innerve/settings.json",
            r#"{"permissions": {"deny": ["Bash(touch two.txt)", "Read(notes/**)"]}}"#,
        );
        run.wait_for_words("settings have changed and count");
        denied.open();
        // A file that is broken later does not take the rules away again.
        run.wait_for_lines("two turns", |lines| {
            lines.iter().filter(|line| line["type"] == "user").count() == 2
        });
        world.write(".innerve/settings.json", "{\"permissions\": {");
        run.wait_for_words("the earlier ones stay in force");
        mended.open();
        let ended = run.end();
        ended.exits(0);
        assert!(world.has("one.txt") && !world.has("two.txt") && world.has("three.txt"), "{ended}");
        let [before, after] = [1, 2].map(|request| model.request(request).result_texts());
        assert!(before[1].contains("notes/a.txt") && before[1].contains("b.txt"), "{before:?}");
        assert!(after[0].contains("Bash(touch two.txt)"), "{after:?}");
        assert!(!after[1].contains("notes/a.txt") && after[1].contains("b.txt"), "{after:?}");
    }
}

#[test]
fn settings_that_change_between_two_questions_count_in_the_next() {
    let world = World::new();
    let model = world.model(
        Wire::Anthropic,
        [reply().text("Hello."), reply().bash("touch x.txt"), reply().text("So be it.")],
    );
    let mut terminal = world.innerve(["--allow", "Bash(touch *)"]).model(&model).at_terminal();
    terminal.sees("> ").enters("hello").sees("Hello.").sees("> ");
    fs::create_dir_all(world.work(".innerve")).unwrap();
    world.write(".innerve/settings.json", r#"{"permissions": {"deny": ["Bash(touch x.txt)"]}}"#);
    terminal.enters("go").sees("settings have changed").sees("So be it.").sees("> ");
    terminal.enters("/exit");
    assert_eq!(terminal.ends(), 0, "{terminal}");
    assert!(!world.has("x.txt"));
}

#[test]
fn the_plan_is_the_one_file_that_plan_mode_lets_be_written() {
    let world = World::new();
    let mut plan = String::new();
    let model = world.model_by(Wire::Anthropic, move |seen| {
        let said = seen.result_texts().concat();
        let write =
            |path: &str| reply().uses("Write", json!({ "file_path": path, "content": "# Plan\n" }));
        if let Some((_, path)) = said.split_once("may be written to `") {
            path.split('`').next().unwrap_or_default().clone_into(&mut plan);
            write(&plan)
        } else if said.is_empty() {
            write("a.md")
        } else if plan.is_empty() || said.contains("# Plan") {
            reply().text("Done.")
        } else {
            reply().uses("Read", json!({ "file_path": plan }))
        }
    });
    let ended = world.innerve(["run", "go", "--permission-mode", "plan"]).model(&model).run();
    ended.exits(0);
    assert!(!world.has("a.md"), "{ended}");
    let [plan] = world.find("plan.md").try_into().unwrap();
    assert_eq!(fs::read_to_string(plan).unwrap(), "# Plan\n");
    assert!(model.request(3).result_texts().concat().contains("# Plan"), "{ended}");
}

/// The decisions on these lines of `check --jsonl`.
fn decisions(lines: &[Value]) -> Vec<String> {
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let ended = World::new().innerve(["check", "--jsonl"]).input(input).run();
    ended.exits(0);
    let decision = |answer: &Value| answer["decision"].as_str().unwrap_or("none").to_owned();
    ended.lines().iter().map(decision).collect()
}

#[test]
fn what_hooks_fill_in_classifiers_say_and_sandboxes_hold_is_taken_from_the_line() {
    let question = json!({ "questions": [{ "question": "Which?", "header": "Which",
        "options": [{ "label": "a", "description": "A" }, { "label": "b", "description": "B" }],
        "multiSelect": false }] });
    let asks = |hook: Value| json!({ "tool": "AskUserQuestion", "input": question, "hook": hook, "headless": true });
    let auto = |classifier: &str| {
        json!({ "input": { "command": "ls" }, "mode": "auto", "classifier_available": true,
            "classifier": classifier, "hook": { "decision": "ask" } })
    };
    let sandboxed = |enabled: bool| {
        json!({ "input": { "command": "make" },
            "settings": [{ "source": "user", "sandbox": { "enabled": enabled } }] })
    };
    assert_eq!(
        decisions(&[
            asks(json!({ "decision": "allow" })),
            asks(json!({ "decision": "allow", "updatedInput": question })),
            auto("allow"),
            auto("block"),
            auto("unavailable"),
            sandboxed(true),
            sandboxed(false),
        ]),
        ["deny", "allow", "ask", "deny", "ask", "allow", "ask"]
    );
}
