//! Ctrl-C, `kill -9`, and readers that go away.

use innerve_tests::{Gate, Running, Wire, World, reply};
use rustix::process::Signal;
use serde_json::json;

/// A run whose command has begun and does not end by itself.
fn sleeping(world: &World, model: &innerve_tests::ModelServer) -> Running {
    let run = world
        .innerve(["run", "go", "--allow", "Bash(sh wait.sh)", "--output", "stream-json"])
        .model(model)
        .start();
    world.wait_for_file("begun");
    run
}

fn world() -> World {
    World::new().file("wait.sh", "echo begun > begun\nsleep 300 & sleep 300\n")
}

#[test]
fn ctrl_c_ends_the_tool_and_the_session_goes_on_later() {
    for wire in Wire::BOTH {
        let world = world();
        let model = world.model(wire, [reply().text("I wait.").bash("sh wait.sh")]);
        let run = sleeping(&world, &model);
        run.signal(Signal::INT);
        let ended = run.end();
        ended.exits(130);
        let summary = ended.lines().pop().unwrap();
        assert_eq!(summary["terminal"], "aborted_tools");
        world.nobody_is_left();

        let model = world.model(wire, [reply().text("On we go.")]);
        let ended = world.innerve(["run", "--continue", "go on"]).model(&model).run();
        ended.exits(0);
        let request = model.request(0);
        assert!(request.last_words().ends_with("go on"), "{:?}", request.messages);
        let answered = request.messages.iter().flat_map(|message| &message.content);
        assert_eq!(answered.filter(|block| block.as_tool_result().is_some()).count(), 1);
    }
}

#[test]
fn a_supervisor_and_a_closed_terminal_end_the_tool_too() {
    for signal in [Signal::TERM, Signal::HUP] {
        let world = world();
        let model = world.model(Wire::Anthropic, [reply().bash("sh wait.sh")]);
        let run = sleeping(&world, &model);
        run.signal(signal);
        let ended = run.end();
        ended.exits(130);
        assert_eq!(ended.lines().pop().unwrap()["terminal"], "aborted_tools", "{signal:?}");
        world.nobody_is_left();
    }
}

#[test]
fn ctrl_c_while_the_model_writes_keeps_what_was_whole() {
    let gate = Gate::new();
    let world = World::new();
    let said = reply().text("The first half.").text("And then").waits(&gate);
    let model = world.model(Wire::Anthropic, [said]);
    let mut terminal = world.innerve(["run", "go"]).model(&model).at_terminal();
    terminal.sees("And then").interrupts();
    assert_eq!(terminal.ends(), 130, "{terminal}");
    gate.open();

    let model = world.model(Wire::Anthropic, [reply().text("On we go.")]);
    world.innerve(["run", "--continue", "go on"]).model(&model).run().exits(0);
    let request = model.request(0);
    assert!(request.messages[1].plain_text().starts_with("The first half."), "{request:?}");
}

#[test]
fn i7_a_killed_session_goes_on_and_the_model_is_told_that_the_call_may_have_had_effects() {
    for wire in Wire::BOTH {
        let world = world();
        let model = world.model(wire, [reply().text("I wait.").bash("sh wait.sh")]);
        let run = sleeping(&world, &model);
        run.signal(Signal::KILL);
        drop(run);

        let model = world.model(wire, [reply().text("I check first.")]);
        let ended = world.innerve(["run", "--continue", "go on"]).model(&model).run();
        ended.exits(0).complains(["may have had effects"]);
        let request = model.request(0);
        let results: Vec<String> = request
            .messages
            .iter()
            .flat_map(|message| &message.content)
            .filter_map(|block| Some(block.as_tool_result()?.content.plain_text()))
            .collect();
        assert_eq!(results.len(), 1);
        assert!(results[0].contains("may have"), "{results:?}");
    }
}

#[test]
fn i7_a_log_that_was_cut_anywhere_gives_a_valid_conversation() {
    let world = World::new().file("a.txt", "alpha\n");
    let read = || json!({ "file_path": "a.txt" });
    let model = world.model(
        Wire::Anthropic,
        [
            reply().text("I look.").uses("Read", read()).bash("cat a.txt"),
            reply().uses("Read", read()),
            reply().text("It is alpha."),
        ],
    );
    world.innerve(["run", "what is in a.txt?"]).model(&model).run().exits(0);
    let log = world.find("log.jsonl").remove(0);
    let whole = std::fs::read(&log).unwrap();
    let first_line = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let step = (whole.len() - first_line) / 25;
    for length in (first_line..=whole.len()).step_by(step) {
        std::fs::write(&log, &whole[..length]).unwrap();
        // The server refuses what is not valid.
        let model = world.model(Wire::Anthropic, [reply().text("Fine.")]);
        let ended = world.innerve(["run", "--continue", "go on"]).model(&model).run();
        ended.exits(0);
        assert!(model.request(0).last_words().ends_with("go on"), "cut at {length}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let world = World::new();
    let lines = "{\"id\":1,\"command\":\"ls -l && cat a | sort\"}\n".repeat(2_000);
    let ended = world.innerve(["analyze", "--jsonl"]).input(lines.as_str()).read_at_most(100).run();
    ended.exits(0);
    assert_eq!(ended.stderr(), "");

    let lines = "{\"id\":1,\"input\":{\"command\":\"ls\"},\"settings\":[]}\n".repeat(2_000);
    let ended = world.innerve(["check", "--jsonl"]).input(lines.as_str()).read_at_most(100).run();
    ended.exits(0);
    assert_eq!(ended.stderr(), "");

    world.innerve(["tools", "--json"]).read_at_most(10).run().exits(0);
    let ended = world.innerve(["run", "--output", "stream-json"]).read_at_most(10).run();
    assert!(!ended.stderr().contains("panicked"), "{ended}");
    world.nobody_is_left();
}

#[test]
fn two_interrupts_end_it_at_once() {
    let world = world();
    let model = world.model(Wire::Anthropic, [reply().bash("sh wait.sh")]);
    let run = sleeping(&world, &model);
    run.signal(Signal::INT);
    run.signal(Signal::INT);
    run.end().exits(130);
    world.nobody_is_left();
}

#[test]
fn a_command_that_leaves_a_process_holding_its_output_does_not_hang_the_run() {
    let world = World::new();
    let model = world.model(
        Wire::Anthropic,
        [
            reply().uses("Bash", json!({ "command": "sleep 300 & echo started" })),
            reply().text("Done."),
        ],
    );
    let ended =
        world.innerve(["run", "go", "--permission-mode", "bypassPermissions"]).model(&model).run();
    ended.exits(0);
    assert!(model.request(1).result_texts()[0].contains("started"));
    assert!(ended.took < std::time::Duration::from_secs(30), "{:?}", ended.took);
}
