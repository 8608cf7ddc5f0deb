//! Questions to a person at a terminal.

use innerve_tests::{Gate, ModelServer, Wire, World, reply};
use serde_json::json;

fn world() -> World {
    World::new().file("a.txt", "one\ntwo\nthree\n")
}

/// A model that reads a file and then wants to change it.
fn editing(world: &World, last: Option<&str>) -> ModelServer {
    let mut script = vec![
        reply().uses("Read", json!({ "file_path": "a.txt" })),
        reply()
            .uses("Edit", json!({ "file_path": "a.txt", "old_string": "two", "new_string": "2" })),
    ];
    script.extend(last.map(|text| reply().text(text)));
    world.model(Wire::Anthropic, script)
}

#[test]
fn an_edit_is_asked_about_with_its_diff_and_written_after_yes() {
    let world = world();
    let model = editing(&world, Some("Changed."));
    let mut terminal = world.innerve(["run", "change it"]).model(&model).at_terminal();
    terminal.sees("Edit").sees("-two").sees("+2").sees("[y] yes");
    assert_eq!(world.read("a.txt"), "one\ntwo\nthree\n", "nothing is written before the answer");
    terminal.enters("y").sees("Changed.");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(world.read("a.txt"), "one\n2\nthree\n");
}

#[test]
fn no_leaves_the_file_and_ends_the_turn_with_exit_code_5() {
    let world = world();
    let model = editing(&world, None);
    let mut terminal = world.innerve(["run", "change it"]).model(&model).at_terminal();
    terminal.sees("[y] yes").enters("n");
    assert_eq!(terminal.ends(), 5, "{terminal}");
    assert_eq!(world.read("a.txt"), "one\ntwo\nthree\n");
}

#[test]
fn a_comment_is_a_no_that_the_model_reads_and_goes_on_from() {
    let world = world();
    let model = editing(&world, Some("As you like."));
    let mut terminal = world.innerve(["run", "change it"]).model(&model).at_terminal();
    terminal.sees("[y] yes").enters("use the word deux").sees("As you like.");
    assert_eq!(terminal.ends(), 0, "{terminal}");
    assert_eq!(world.read("a.txt"), "one\ntwo\nthree\n");
    let told = model.request(2).result_texts().remove(0);
    assert!(told.contains("use the word deux"), "{told}");
}

#[test]
fn a_yes_for_the_session_is_not_asked_again() {
    let world = World::new();
    let model = world.model(
        Wire::OpenAi,
        [reply().bash("touch one"), reply().bash("touch two"), reply().text("Both made.")],
    );
    let mut terminal = world.innerve(["run", "make"]).model(&model).at_terminal();
    terminal.sees("touch one").sees("[s] yes").enters("s").sees("Both made.");
    assert_eq!(terminal.ends(), 0);
    assert!(world.has("one") && world.has("two"));
    assert_eq!(terminal.shown().matches("[y] yes").count(), 1, "{terminal}");
}

#[test]
fn what_was_typed_before_the_question_does_not_answer_it() {
    let world = world();
    let model = editing(&world, None);
    let mut terminal = world.innerve(["run", "change it"]).model(&model).at_terminal();
    terminal.enters("y").enters("y").enters("y");
    terminal.sees("[y] yes");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(world.read("a.txt"), "one\ntwo\nthree\n", "{terminal}");
    terminal.enters("n");
    assert_eq!(terminal.ends(), 5, "{terminal}");
    assert_eq!(world.read("a.txt"), "one\ntwo\nthree\n");
}

#[test]
fn what_is_typed_while_nothing_is_asked_stays_for_the_shell() {
    let gate = Gate::new();
    let world = World::new();
    let model = world.model(Wire::Anthropic, [reply().text("Wait.").waits(&gate).text("Done.")]);
    let mut terminal = world
        .innerve(["run", "go"])
        .model(&model)
        .at_terminal_by("innerve; read line; echo \"the shell got $line\"");
    terminal.sees("Wait.").enters("make test");
    gate.open();
    terminal.sees("Done.").sees("the shell got make test");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn a_person_is_asked_although_standard_input_is_a_pipe() {
    let world = World::new();
    let model = world.model(Wire::Anthropic, [reply().bash("touch one"), reply().text("Made.")]);
    let mut terminal =
        world.innerve(["run", "make"]).model(&model).at_terminal_by("echo context | innerve");
    terminal.sees("[y] yes").enters("y").sees("Made.");
    assert_eq!(terminal.ends(), 0);
    assert!(world.has("one"));
    assert_eq!(model.request(0).last_words(), "make\ncontext");
}

#[test]
fn a_run_in_the_background_that_asks_nothing_is_not_stopped_by_the_terminal() {
    let world = World::new();
    let model = world.model(Wire::Anthropic, [reply().bash("ls"), reply().text("Done.")]);
    let mut terminal = world
        .innerve(["run", "look"])
        .model(&model)
        .at_terminal_by("set -m; innerve & wait $!; echo \"ended with $?\"");
    terminal.sees("Done.").sees("ended with 0");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn a_blank_line_is_no_answer() {
    let world = world();
    let model = editing(&world, Some("Changed."));
    let mut terminal = world.innerve(["run", "change it"]).model(&model).at_terminal();
    terminal
        .sees("[y] yes")
        .enters("")
        .sees("Please type")
        .sees("[y] yes")
        .enters("yes")
        .sees("Changed.");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn ctrl_c_at_a_question_denies_and_ends_the_run() {
    let world = world();
    let model = editing(&world, None);
    let mut terminal = world.innerve(["run", "change it"]).model(&model).at_terminal();
    terminal.sees("[y] yes").interrupts();
    assert_eq!(terminal.ends(), 130, "{terminal}");
    assert_eq!(world.read("a.txt"), "one\ntwo\nthree\n");
}

#[test]
fn a_deny_rule_is_not_asked_about() {
    let world = World::new();
    let model = world.model(Wire::Anthropic, [reply().bash("touch one"), reply().text("Denied.")]);
    let mut terminal =
        world.innerve(["run", "make", "--deny", "Bash(touch *)"]).model(&model).at_terminal();
    terminal.sees("denied").sees("Denied.");
    assert_eq!(terminal.ends(), 0);
    assert!(!world.has("one") && !terminal.shown().contains("[y] yes"), "{terminal}");
}

#[test]
fn the_command_that_is_asked_about_cannot_repaint_the_terminal() {
    let world = World::new();
    let model = world.model(
        Wire::Anthropic,
        [reply().bash("touch evil\u{1b}[2K\u{1b}[1A\rls"), reply().text("Never mind.")],
    );
    let mut terminal = world.innerve(["run", "make"]).model(&model).at_terminal();
    terminal.sees("[y] yes").enters("no, thank you").sees("Never mind.");
    assert_eq!(terminal.ends(), 0);
    let raw = String::from_utf8_lossy(&terminal.raw()).into_owned();
    assert!(!raw.contains("\u{1b}[2K") && !raw.contains("\u{1b}[1A"), "{terminal}");
}

#[test]
fn i6_a_file_that_changes_while_the_question_is_open_is_not_overwritten() {
    let world = world();
    let model = editing(&world, Some("I look again."));
    let mut terminal = world.innerve(["run", "change it"]).model(&model).at_terminal();
    terminal.sees("[y] yes");
    world.write("a.txt", "one\ntwo\nsomebody else's line\n");
    terminal.enters("y").sees("I look again.");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(world.read("a.txt"), "one\ntwo\nsomebody else's line\n");
    assert!(model.request(2).results()[0].failed());
}
