//! Hooks of the program: what well-behaved ones decide and are told, and what becomes of those that misbehave.

use std::time::Duration;

use innerve_tests::{Ended, Gate, Wire, World, reply};
use serde_json::{Value, json};

/// A command as a hook, with a time limit in seconds.
fn command(line: &str, timeout: f64) -> Value {
    json!({ "type": "command", "command": line, "timeout": timeout })
}

/// Settings with these hooks of one event.
fn settings(event: &str, hooks: &[Value]) -> String {
    json!({ "hooks": { event: [{ "hooks": hooks }] } }).to_string()
}

/// Uses Bash, which rules allow, past one hook.
fn past(world: &World, hook: Value) -> Ended {
    let settings = settings("PreToolUse", &[hook]);
    let call = ["call", "Bash", r#"{"command":"touch made"}"#, "--allow", "Bash(touch *)"];
    world.innerve(call).args(["--settings", &settings]).run()
}

/// A hook that does not work has no say: the call runs, and a person is told what was wrong.
#[track_caller]
fn has_no_say<const N: usize>(world: &World, hook: Value, told: [&str; N]) -> Ended {
    let ended = past(world, hook);
    ended.exits(0).complains(told);
    assert!(world.has("made"), "{ended:?}");
    ended
}

/// A hook that refuses is obeyed, however it does so.
#[track_caller]
fn refuses(world: &World, hook: Value, why: &str) -> Ended {
    let ended = past(world, hook);
    ended.exits(4);
    assert!(ended.stdout().contains(why), "{ended:?}");
    assert!(!world.has("made"));
    ended
}

#[test]
fn a_hook_that_hangs_is_killed_with_all_that_it_started() {
    let world = World::new();
    let line = "trap '' TERM INT; (trap '' TERM; sleep 1000) & sleep 1000";
    let ended = has_no_say(&world, command(line, 1.0), ["warning", "did not end within 1s"]);
    assert!(ended.took < Duration::from_secs(20), "{:?}", ended.took);
    world.nobody_is_left();
}

#[test]
fn a_hook_that_forks_a_hundred_times_leaves_nobody_when_its_time_is_over() {
    let world = World::new();
    let line = "i=0; while [ $i -lt 100 ]; do (sleep 1000 & sleep 1000) & i=$((i+1)); done; wait";
    has_no_say(&world, command(line, 2.0), ["did not end within 2s"]);
    world.nobody_is_left();
}

#[test]
fn a_hook_that_leaves_children_with_its_pipes_holds_nothing_up() {
    let world = World::new();
    let ended =
        refuses(&world, command("sleep 1000 & echo 'not now' >&2; exit 2", 60.0), "not now");
    assert!(ended.took < Duration::from_secs(20), "{:?}", ended.took);
}

#[test]
fn a_gigabyte_from_a_hook_is_drained_in_bounded_memory_and_its_code_counts() {
    let world = World::new();
    let line = "head -c 1000000000 /dev/zero | tr '\\0' x; echo 'too much' >&2; exit 2";
    let ended = refuses(&world, command(line, 50.0), "too much");
    assert!(ended.peak_memory > 0, "the memory was looked at");
    assert!(ended.peak_memory < 64 << 20, "{} bytes", ended.peak_memory);
}

#[test]
fn a_gigabyte_of_json_from_a_hook_has_no_say() {
    let world = World::new();
    let line = r#"printf '{"systemMessage":"'; head -c 1000000000 /dev/zero | tr '\0' x"#;
    let ended = has_no_say(&world, command(line, 50.0), ["wrote JSON of more than 1048576 bytes"]);
    assert!(ended.peak_memory < 64 << 20, "{} bytes", ended.peak_memory);
}

#[test]
fn a_hook_that_dies_of_a_signal_has_no_say() {
    has_no_say(&World::new(), command("kill -SEGV $$", 10.0), ["was ended by signal 11"]);
    let half = r#"printf '{"decision":"bl'; kill -KILL $$"#;
    has_no_say(&World::new(), command(half, 10.0), ["was ended by signal 9"]);
}

#[test]
fn half_a_json_has_no_say_unless_the_code_refuses() {
    let half =
        r#"printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"den'"#;
    has_no_say(&World::new(), command(half, 10.0), ["JSON that is not of the documented form"]);
    refuses(&World::new(), command(&format!("{half}; echo no >&2; exit 2"), 10.0), "no");
}

#[test]
fn bytes_of_a_hook_that_are_no_text_are_replaced() {
    refuses(
        &World::new(),
        command(r"printf '\377\376 no' >&2; exit 2", 10.0),
        "\u{fffd}\u{fffd} no",
    );
    let context = r#"printf '{"systemMessage":"\377 hi"}'"#;
    has_no_say(&World::new(), command(context, 10.0), ["\u{fffd} hi"]);
}

#[test]
fn a_hook_that_is_not_executable_has_no_say_and_is_named() {
    let world = World::new().file("guard.sh", "#!/bin/sh\nexit 2\n");
    has_no_say(&world, command("./guard.sh", 10.0), ["`./guard.sh`", "exit code 126"]);
    let world = World::new().file("guard.sh", "#!/bin/sh\nexit 2\n");
    let direct =
        json!({ "type": "command", "command": "./guard.sh", "args": ["x"], "timeout": 10 });
    has_no_say(&world, direct, ["`./guard.sh`", "could not be started"]);
}

#[test]
fn a_hook_that_was_deleted_has_no_say_and_is_named() {
    has_no_say(&World::new(), command("./gone.sh", 10.0), ["`./gone.sh`", "exit code 127"]);
    let direct = json!({ "type": "command", "command": "/gone/guard", "args": [], "timeout": 10 });
    has_no_say(&World::new(), direct, ["`/gone/guard`", "could not be started"]);
}

#[test]
fn a_hook_that_deletes_itself_and_its_directory_counts_once_and_then_has_no_say() {
    let script = "rm -rf \"$(dirname \"$0\")\"; echo bye >&2; exit 2\n";
    let world = World::new().file("sub/guard.sh", script);
    refuses(&world, command("bash sub/guard.sh", 10.0), "bye");
    has_no_say(&world, command("bash sub/guard.sh", 10.0), ["sub/guard.sh", "exit code 127"]);
}

#[test]
fn a_hook_finds_no_terminal_to_ask_at() {
    let line = "if (: </dev/tty) 2>/dev/null; then echo there >&2; else echo none >&2; fi; exit 2";
    let world = World::new();
    let settings = settings("PreToolUse", &[command(line, 10.0)]);
    let call = ["call", "Bash", r#"{"command":"touch made"}"#];
    let mut terminal = world.innerve(call).args(["--settings", &settings]).at_terminal();
    terminal.sees("none");
}

#[test]
fn a_hook_of_a_project_runs_only_where_the_project_is_trusted() {
    let world = World::new();
    let guard = settings("PreToolUse", &[command("echo guarded >&2; exit 2", 10.0)]);
    world.write(".innerve/settings.json", guard);
    let call = ["call", "Bash", r#"{"command":"touch made"}"#, "--allow", "Bash(touch *)"];
    world.innerve(call).run().exits(0);
    world.innerve(["trust"]).run().exits(0);
    let ended = world.innerve(call).run();
    ended.exits(4);
    assert!(ended.stdout().contains("guarded"), "{ended:?}");
}

/// The events that hooks were told in a session, in order.
fn told(world: &World) -> Vec<Value> {
    world.read("told").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Settings whose hooks note every event of a session.
fn noting(world: &World) -> String {
    let file = world.work("told");
    let hook = command(&format!("cat >>'{}'", file.display()), 10.0);
    let events = [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PostToolBatch",
        "Stop",
        "SubagentStart",
        "SubagentStop",
        "SessionEnd",
        "PermissionRequest",
        "Notification",
        "PermissionDenied",
        "CwdChanged",
        "ConfigChange",
        "PreCompact",
        "PostCompact",
    ];
    let groups = events.map(|event| (event.to_owned(), json!([{ "hooks": [hook] }])));
    json!({ "hooks": serde_json::Map::from_iter(groups) }).to_string()
}

#[test]
fn the_time_of_a_call_is_that_of_its_tool_and_not_of_what_came_before() {
    let world = World::new();
    let settings = settings("PreToolUse", &[command("sleep 3", 60.0)]);
    let model = world.model(Wire::Anthropic, [reply().bash("sleep 0.2"), reply().text("Done.")]);
    let run = world.innerve(["run", "go", "--allow", "Bash", "--output", "stream-json"]);
    let ended = run.args(["--settings", &settings]).model(&model).run();
    ended.exits(0);
    let told = ended.stdout();
    let told = told.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let times: Vec<u64> = told.filter_map(|line| line["elapsed_ms"].as_u64()).collect();
    assert!(times.len() == 1 && (200..3_000).contains(&times[0]), "{times:?}");
}

#[test]
fn hooks_of_a_session_are_told_its_events_in_order_with_the_documented_fields() {
    let world = World::new();
    let settings = noting(&world);
    let model = world.model(
        Wire::Anthropic,
        [reply().bash("mkdir sub && cd sub"), reply().bash("exit 3"), reply().text("Done.")],
    );
    let run = world.innerve(["run", "go", "--allow", "Bash"]).args(["--settings", &settings]);
    run.model(&model).run().exits(0);
    let told = told(&world);
    let names: Vec<&str> =
        told.iter().map(|event| event["hook_event_name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "CwdChanged",
            "PostToolBatch",
            "PreToolUse",
            "PostToolUseFailure",
            "PostToolBatch",
            "Stop",
            "SessionEnd",
        ]
    );
    let transcript = told[0]["transcript_path"].as_str().unwrap();
    for event in &told {
        assert_eq!(event["session_id"], told[0]["session_id"]);
        assert_eq!(event["transcript_path"], transcript);
        assert_eq!(event["permission_mode"], "default");
        assert!(event["cwd"].as_str().unwrap().starts_with(world.work("").to_str().unwrap()));
    }
    assert!(std::path::Path::new(transcript).exists());
    assert_eq!((&told[0]["source"], &told[1]["prompt"]), (&json!("startup"), &json!("go")));
    assert!(told[0]["model"].is_string());
    assert_eq!(told[2]["tool_input"]["command"], "mkdir sub && cd sub");
    assert!(told[3]["tool_response"].is_object() && told[3]["duration_ms"].is_u64(), "{}", told[3]);
    assert_eq!(told[3]["tool_use_id"], told[2]["tool_use_id"]);
    assert_eq!(told[4]["new_cwd"], world.work("sub").to_str().unwrap());
    assert_eq!(told[5]["tool_calls"][0]["tool_name"], "Bash");
    assert!(told[7]["error"].is_string() && told[7]["is_interrupt"] == false, "{}", told[7]);
    assert!(told[7]["duration_ms"].is_u64());
    assert_eq!(told[9]["last_assistant_message"], "Done.");
    assert_eq!(
        (&told[9]["stop_hook_active"], &told[9]["background_tasks"]),
        (&json!(false), &json!([]))
    );
    assert_eq!(told[10]["reason"], "other");
}

#[test]
fn hooks_within_an_agent_are_told_which_one_it_is() {
    let world = World::new();
    let settings = noting(&world);
    let start =
        json!({ "description": "look", "prompt": "look around", "subagent_type": "Explore" });
    let model = world.model(
        Wire::Anthropic,
        [
            reply().uses("Agent", start),
            reply().bash("pwd"),
            reply().text("Seen."),
            reply().text("Done."),
        ],
    );
    let run = world.innerve(["run", "go"]).args(["--settings", &settings]);
    run.model(&model).run().exits(0);
    let told = told(&world);
    let of = |name: &str| -> Vec<&Value> {
        told.iter().filter(|event| event["hook_event_name"] == name).collect()
    };
    let started = of("SubagentStart")[0];
    assert_eq!(started["agent_type"], "Explore");
    let inner = of("PreToolUse").into_iter().find(|event| event["tool_name"] == "Bash").unwrap();
    assert_eq!(
        (&inner["agent_type"], &inner["agent_id"]),
        (&json!("Explore"), &started["agent_id"])
    );
    let stopped = of("SubagentStop")[0];
    assert_eq!(
        (&stopped["agent_type"], &stopped["agent_id"]),
        (&json!("Explore"), &started["agent_id"])
    );
    let transcript = stopped["agent_transcript_path"].as_str().unwrap();
    assert!(std::path::Path::new(transcript).exists(), "{transcript}");
    assert_eq!(of("Stop").len(), 1);
}

#[test]
fn h11_h12_a_call_is_put_off_only_alone_and_only_where_nobody_can_be_asked() {
    let defer =
        r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"defer"}}"#;
    let settings = settings("PreToolUse", &[command(&format!("echo '{defer}'"), 10.0)]);
    let flags = ["--allow", "Bash(touch *)", "--settings", &settings];

    let world = World::new();
    let model = world.model(Wire::Anthropic, [reply().bash("touch one")]);
    let ended = world.innerve(["run", "go"]).args(flags).model(&model).run();
    ended.exits(5).complains(["a hook deferred a call"]);
    assert!(!world.has("one"));

    let world = World::new();
    let both = reply().bash("touch one").bash("touch two");
    let model = world.model(Wire::Anthropic, [both, reply().text("Done.")]);
    let ended = world.innerve(["run", "go"]).args(flags).model(&model).run();
    ended.exits(0).complains(["not the only one of its response"]);
    assert!(world.has("one") && world.has("two"));

    let world = World::new();
    let model = world.model(Wire::Anthropic, [reply().bash("touch one"), reply().text("Done.")]);
    let mut terminal = world.innerve(["run", "go"]).args(flags).model(&model).at_terminal();
    terminal.sees("put the call off").sees("Done.");
    assert_eq!(terminal.ends(), 0, "{terminal}");
    assert!(world.has("one"));
}

#[test]
fn hooks_hear_that_a_person_is_asked_and_hold_no_question_up() {
    let world = World::new();
    let told = world.work("told");
    let line = format!("cat >'{}'; sleep 1000", told.display());
    let settings = settings("Notification", &[command(&line, 30.0)]);
    let model = world.model(Wire::Anthropic, [reply().bash("touch one"), reply().text("Done.")]);
    let run = world.innerve(["run", "go", "--settings", &settings]).model(&model);
    let mut terminal = run.at_terminal();
    terminal.sees("[y] yes");
    world.wait_for_file("told");
    terminal.enters("y").sees("Done.");
    assert_eq!(terminal.ends(), 0, "{terminal}");
    let event: Value = serde_json::from_str(&world.read("told")).unwrap();
    assert_eq!(event["notification_type"], "permission_prompt");
    assert!(event["message"].as_str().unwrap().contains("Bash"), "{event}");
    world.nobody_is_left();
}

#[test]
fn a_hook_that_answers_a_question_may_add_rules_for_the_session() {
    let world = World::new();
    let answer = json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest", "decision": {
        "behavior": "allow",
        "updatedPermissions": [
            { "type": "addRules", "rules": [{ "toolName": "Bash", "ruleContent": "touch *" }],
              "behavior": "allow", "destination": "session" },
            { "type": "setMode", "mode": "bypassPermissions", "destination": "session" },
        ],
    } } });
    let note = format!("cat >>'{}'; echo '{answer}'", world.work("told").display());
    let settings = settings("PermissionRequest", &[command(&note, 10.0)]);
    let model = world.model(
        Wire::Anthropic,
        [reply().bash("touch one"), reply().bash("touch two"), reply().text("Done.")],
    );
    let mut terminal =
        world.innerve(["run", "go", "--settings", &settings]).model(&model).at_terminal();
    terminal.sees("bypassPermissions is not available").sees("Done.");
    assert_eq!(terminal.ends(), 0, "{terminal}");
    assert!(world.has("one") && world.has("two"));
    let told = told(&world);
    assert_eq!(told.len(), 1, "the second call is covered by the rule");
    let suggested = &told[0]["permission_suggestions"][0];
    assert_eq!((&suggested["type"], &suggested["behavior"]), (&json!("addRules"), &json!("allow")));
    assert_eq!(suggested["rules"][0]["toolName"], "Bash");
    assert_eq!(told[0].get("tool_use_id"), None);
}

#[test]
fn a_hook_may_object_to_changed_settings() {
    let deny = r#"{"permissions": {"deny": ["Bash(touch two)"]}}"#;
    for (line, told, runs) in [
        ("cat >told; echo 'not today' >&2; exit 2", "a hook forbids the change: not today", true),
        ("cat >told", "settings have changed and count", false),
    ] {
        let world = World::new();
        let settings = settings("ConfigChange", &[command(line, 30.0)]);
        let changed = Gate::new();
        let model = world.model(
            Wire::Anthropic,
            [
                reply().bash("touch one"),
                reply().waits(&changed).bash("touch two"),
                reply().text("Done."),
            ],
        );
        let flags = ["--allow", "Bash(touch *)", "--settings", &settings];
        let run = world.innerve(["run", "go"]).args(flags).model(&model).start();
        world.wait_for_file("one");
        world.write(".innerve/settings.json", deny);
        run.wait_for_words(told);
        changed.open();
        run.end().exits(0);
        assert_eq!(world.has("two"), runs, "{told}");
        let event: Value = serde_json::from_str(&world.read("told")).unwrap();
        assert_eq!(event["source"], "project_settings");
        let file = world.work(".innerve/settings.json");
        assert_eq!(event["file_path"], file.to_str().unwrap());
    }
}

#[test]
fn a_hook_that_hangs_over_changed_settings_holds_no_run_up() {
    let world = World::new();
    let settings = settings("ConfigChange", &[command("cat >told; sleep 1000", 600.0)]);
    let changed = Gate::new();
    let answers = [
        reply().bash("touch one"),
        reply().waits(&changed).bash("touch two"),
        reply().text("Done."),
    ];
    let model = world.model(Wire::Anthropic, answers);
    let flags = ["--allow", "Bash(touch *)", "--settings", &settings];
    let run = world.innerve(["run", "go"]).args(flags).model(&model).start();
    world.wait_for_file("one");
    world.write(".innerve/settings.json", "{}");
    world.wait_for_file("told");
    changed.open();
    run.end().exits(0);
    assert!(world.has("two"));
    world.nobody_is_left();
}
