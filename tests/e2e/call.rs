//! `innerve call`: one tool use through the fourteen steps.

use innerve_tests::World;
use serde_json::json;

#[test]
fn a_call_prints_its_result_and_exits_0() {
    let world = World::new().file("a.txt", "alpha\nbeta\n");
    let ended = world.innerve(["call", "Read", r#"{"file_path":"a.txt"}"#]).run();
    ended.exits(0);
    assert!(ended.stdout().contains("alpha") && ended.stdout().contains("beta"), "{ended}");
    assert_eq!(ended.stderr(), "");
}

#[test]
fn an_error_exits_1_and_a_refusal_exits_4() {
    let world = World::new();
    world.innerve(["call", "Read", r#"{"file_path":"missing.txt"}"#]).run().exits(1);
    world.innerve(["call", "Bash", r#"{"command":"false"}"#]).run().exits(1);
    world.innerve(["call", "Read", r#"{"path":1}"#]).run().exits(1);
    world.innerve(["call", "Nothing", "{}"]).run().exits(1);
    world.innerve(["call", "Bash", r#"{"command":"touch x"}"#]).run().exits(4);
    world.innerve(["call", "Bash", r#"{"command":"ls"}"#, "--deny", "Bash"]).run();
    world.innerve(["call", "Read", "{"]).run().exits(2);
    assert!(!world.has("x"));
}

#[test]
fn i1_the_trace_names_the_fourteen_steps_in_their_order() {
    let world = World::new().file("a.txt", "alpha\n");
    let ended = world.innerve(["call", "Read", r#"{"file_path":"a.txt"}"#, "--trace"]).run();
    ended.exits(0);
    let steps: Vec<&str> = ended
        .stderr()
        .lines()
        .filter(|line| line.contains("µs"))
        .filter_map(|line| line.split_whitespace().find(|word| word.parse::<u64>().is_err()))
        .collect();
    assert_eq!(
        steps,
        [
            "look_up",
            "check_abort",
            "parse",
            "validate",
            "start_classifier",
            "prepare",
            "pre_hooks",
            "resolve",
            "handle_refusal",
            "run",
            "fit_result",
            "post_hooks",
            "attach",
            "classify",
        ],
        "{ended}"
    );
}

#[test]
fn i10_the_trace_of_a_refused_call_says_what_was_decided_why_and_which_steps_had_nothing_to_do() {
    let world = World::new();
    let call = ["call", "Bash", r#"{"command":"git status && touch x"}"#, "--trace"];
    let ended = world.innerve(call).run();
    ended.exits(4).complains([
        "default says ask, then headless says deny",
        "touch x",
        "permission:default",
        "steps 10 to 13 had nothing to do",
        "14 classify",
    ]);
    assert!(!world.has("x"));
    let ended = world.innerve(["call", "Nothing", "{}", "--trace"]).run();
    ended.exits(1).complains(["unknown_tool", "steps 2 to 13 had nothing to do"]);
    let deny = ["call", "Bash", r#"{"command":"ls"}"#, "--trace", "--deny", "Bash(ls)"];
    world.innerve(deny).run().exits(4).complains(["deny_rules says deny", "Bash(ls)"]);
}

#[test]
fn a_command_in_the_background_has_nobody_who_could_wait_for_it() {
    let world = World::new();
    let input = json!({ "command": "sleep 300", "run_in_background": true }).to_string();
    let call = ["call", "Bash", &input, "--permission-mode", "acceptEdits"];
    let ended = world.innerve(call).run();
    ended.exits(1);
    assert!(ended.stdout().contains("run_in_background"), "{ended}");
    world.nobody_is_left();
}

#[test]
fn as_json_it_is_a_tool_result_with_the_step_that_was_reached() {
    let world = World::new().file("a.txt", "alpha\n");
    let call = |tool: &str, input: serde_json::Value| {
        world.innerve(["call", tool, &input.to_string(), "--json"]).run()
    };
    let object = call("Read", json!({ "file_path": "a.txt" })).json();
    assert_eq!(object["type"], "tool_result");
    assert_eq!(object["is_error"], false);
    assert_eq!(object["step"], "classify");
    assert!(object["content"].to_string().contains("alpha"), "{object}");
    assert!(object["tool_use_id"].is_string());

    let object = call("Bash", json!({ "command": "touch x" })).json();
    assert_eq!(object["is_error"], true);
    assert!(object["step"].is_string(), "{object}");
    let object = call("Read", json!({ "nothing": 1 })).json();
    assert_eq!(object["step"], "parse", "{object}");
}

#[test]
fn an_edit_is_written_where_a_mode_allows_it() {
    let world = World::new().file("a.txt", "alpha\n");
    let input =
        json!({ "file_path": "a.txt", "old_string": "alpha", "new_string": "omega" }).to_string();
    world.innerve(["call", "Edit", &input]).run().exits(4);
    assert_eq!(world.read("a.txt"), "alpha\n");
    world.innerve(["call", "Edit", &input, "--permission-mode", "acceptEdits"]).run().exits(0);
    assert_eq!(world.read("a.txt"), "omega\n");
}

#[test]
fn ctrl_c_ends_a_call_and_what_it_runs() {
    let world = World::new();
    let input = json!({ "command": "touch begun; sleep 300" }).to_string();
    let run =
        world.innerve(["call", "Bash", &input, "--permission-mode", "bypassPermissions"]).start();
    world.wait_for_file("begun");
    run.signal(rustix::process::Signal::INT);
    run.end().exits(130);
    world.nobody_is_left();
}
