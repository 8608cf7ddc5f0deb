//! `innerve` without a verb: a conversation at a terminal.

use innerve_tests::{Gate, Wire, World, reply};

#[test]
fn a_conversation_remembers_and_ends_with_exit() {
    for wire in Wire::BOTH {
        let world = World::new();
        let model =
            world.model(wire, [reply().text("Hello, Ada."), reply().text("Ada, as you said.")]);
        let mut terminal = world.innerve([]).model(&model).at_terminal();
        terminal.sees("> ").enters("I am Ada").sees("Hello, Ada.");
        terminal.sees("> ").enters("").sees("> ").enters("who am I?").sees("Ada, as you said.");
        terminal.sees("> ").enters("/exit");
        assert_eq!(terminal.ends(), 0, "{terminal}");
        assert_eq!(model.request(1).messages.len(), 3);
    }
}

#[test]
fn ctrl_c_stops_an_answer_and_not_the_conversation() {
    let gate = Gate::new();
    let world = World::new();
    let model = world.model(
        Wire::Anthropic,
        [reply().text("A long story: ").waits(&gate), reply().text("Something else.")],
    );
    let mut terminal = world.innerve([]).model(&model).at_terminal();
    terminal.sees("> ").enters("tell me").sees("A long story:").interrupts();
    terminal.sees("stopped").sees("> ").enters("something else").sees("Something else.");
    gate.open();
    terminal.sees("> ").types("\u{4}");
    assert_eq!(terminal.ends(), 0, "{terminal}");
}

#[test]
fn a_failed_answer_does_not_end_the_conversation() {
    let world = World::new();
    let model = world.model(
        Wire::Anthropic,
        [reply().fails(400, "invalid_request_error", "not like this"), reply().text("Better.")],
    );
    let mut terminal = world.innerve([]).model(&model).at_terminal();
    terminal.sees("> ").enters("one").sees("not like this");
    terminal.sees("> ").enters("two").sees("Better.");
    terminal.sees("> ").interrupts();
    assert_eq!(terminal.ends(), 0, "{terminal}");
}

#[test]
fn without_a_terminal_it_says_what_to_use() {
    let world = World::new();
    let ended = world.innerve([]).with_a_key_only().input("hello\n").run();
    ended.exits(2).complains(["innerve run"]);
}
