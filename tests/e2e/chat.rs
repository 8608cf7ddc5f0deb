//! `innerve` without a verb: a conversation at a terminal.

use std::fs;

use innerve_tests::{Gate, REDACTIONS, Terminal, Wire, World, reply};
use serde_json::json;

#[test]
fn a_conversation_remembers_and_ends_with_exit() {
    for wire in Wire::BOTH {
        let world = World::new();
        let model =
            world.model(wire, [reply().text("Hello, Ada."), reply().text("Ada, as you said.")]);
        let mut terminal = world.innerve([]).model(&model).at_terminal();
        terminal.sees("> ").enters("I am Ada").sees("Hello, Ada.");
        terminal.rests();
        terminal.enters("").enters("who am I?").sees("Ada, as you said.");
        terminal.rests();
        terminal.enters("/exit").sees("to go on with it: innerve --resume");
        assert_eq!(terminal.ends(), 0, "{terminal}");
        assert_eq!(model.request(1).messages.len(), 3);
    }
}

#[test]
fn a_dumb_terminal_gets_lines() {
    let world = World::new();
    let model = world.model(Wire::Anthropic, [reply().text("Hello, Ada.")]);
    let mut terminal = world.innerve([]).model(&model).env("TERM", "dumb").at_terminal();
    terminal.sees("> ").enters("I am Ada").sees("Hello, Ada.");
    terminal.sees("> ").enters("/exit");
    assert_eq!(terminal.ends(), 0, "{terminal}");
    assert!(!terminal.shown().contains('\u{1b}'), "{terminal}");
}

#[test]
fn ctrl_c_and_esc_stop_an_answer_and_not_the_conversation() {
    for key in ["\u{3}", "\u{1b}"] {
        let gate = Gate::new();
        let world = World::new();
        let model = world.model(
            Wire::Anthropic,
            [reply().text("A long story: ").waits(&gate), reply().text("Something else.")],
        );
        let mut terminal = world.innerve([]).model(&model).at_terminal();
        terminal.sees("> ").enters("tell me").sees("A long story:").presses(key);
        terminal.sees("stopped");
        terminal.rests();
        terminal.enters("something else").sees("Something else.");
        gate.open();
        terminal.rests();
        terminal.leaves();
    }
}

#[test]
fn a_failed_answer_does_not_end_the_conversation_and_ctrl_c_ends_it_when_pressed_twice() {
    let world = World::new();
    let model = world.model(
        Wire::Anthropic,
        [reply().fails(400, "invalid_request_error", "not like this"), reply().text("Better.")],
    );
    let mut terminal = world.innerve([]).model(&model).at_terminal();
    terminal.sees("> ").enters("one").sees("not like this");
    terminal.rests();
    terminal.enters("two").sees("Better.");
    terminal.rests();
    terminal.types("half a text").sees("half a text").presses("\u{3}");
    terminal.rests();
    terminal.presses("\u{3}").sees("Ctrl-C again ends the chat").interrupts();
    assert_eq!(terminal.ends(), 0, "{terminal}");
}

#[test]
fn without_a_terminal_it_says_what_to_use() {
    let world = World::new();
    let ended = world.innerve([]).with_a_key_only().input("hello\n").run();
    ended.exits(2).complains(["innerve run"]);
}

#[test]
fn a_session_looks_like_this_on_wide_and_narrow_screens() {
    for (columns, rows) in [(100, 40), (40, 60)] {
        let world = World::new().file("notes.txt", "one\ntwo\nthree\n");
        let model = world.model(
            Wire::Anthropic,
            [
                reply()
                    .text("# Plan\n\nI **read** the `notes` first.\n")
                    .uses("Read", json!({ "file_path": "notes.txt" })),
                reply().uses(
                    "Edit",
                    json!({ "file_path": "notes.txt", "old_string": "two", "new_string": "2" }),
                ),
                reply().text("Done:\n\n```\none\n2\nthree\n```\n- it is **one** line"),
            ],
        );
        let mut terminal = world
            .innerve(["--permission-mode", "acceptEdits"])
            .model(&model)
            .at_terminal_of(columns, rows);
        terminal.shows("a prompt", |view| view.contains("\n>"));
        terminal.enters("make two a number");
        terminal.shows("the end", |view| view.contains("it is one line"));
        let view = terminal.rests();
        // A machine that is slow shows times that a fast one does not.
        let filters = REDACTIONS.iter().copied().chain([(r" \[time\]", "")]);
        insta::with_settings!({ filters => filters, omit_expression => true }, {
            insta::assert_snapshot!(format!("chat_{columns}_columns"), view);
        });
        terminal.leaves();
        assert_eq!(world.read("notes.txt"), "one\n2\nthree\n");
    }
}

#[test]
fn tables_look_like_this_on_wide_and_narrow_screens() {
    const TEXT: &str = "Two tables:

| Crate | Lines | What it does |
|:------|------:|:------------:|
| `bash` | 12000 | reads **commands** |
| `日本語` | 7 | `a \\| b`, and what is longer than others |

| Name | Version | Licence | Remark that is long |
|---|---|---|---|
| serialization | 1.0.228-beta | MIT OR Apache-2.0 | none |
| terminal-size | 12.4.1 | Zlib | ⚠\u{fe0f} old |
That is all.";
    for (columns, rows) in [(100, 40), (40, 60)] {
        let world = World::new();
        let gate = Gate::new();
        let (begun, rest) = TEXT.split_at(TEXT.find("| `日").unwrap());
        let model = world.model(Wire::Anthropic, [reply().text(begun).waits(&gate).text(rest)]);
        let mut terminal = world.innerve([]).model(&model).at_terminal_of(columns, rows);
        terminal.shows("a prompt", |view| view.contains("\n>"));
        terminal.enters("which?");
        terminal.shows("the text before and how far it is", |view| {
            view.contains("Two tables:\n\na table, 1 row so far\n●")
        });
        gate.open();
        terminal.shows("the end", |view| view.contains("That is all."));
        let view = terminal.rests();
        insta::with_settings!({ omit_expression => true }, {
            insta::assert_snapshot!(format!("tables_{columns}_columns"), view);
        });
        terminal.leaves();
    }
}

#[test]
fn a_question_waits_for_its_own_answer_and_gives_the_draft_back() {
    let world = World::new();
    let gate = Gate::new();
    let model = world.model(
        Wire::Anthropic,
        [
            reply().waits(&gate).bash("touch made"),
            reply().text("Made."),
            reply().text("You said: later."),
        ],
    );
    let mut terminal = world.innerve([]).model(&model).at_terminal();
    terminal.sees("> ").enters("make it").sees("Esc stops");
    // Typed before the question is seen: it is no answer to it.
    terminal.types("y later");
    terminal.shows("the draft", |view| view.contains("> y later"));
    gate.open();
    terminal.sees("wants to run:").sees("touch made").sees("[y]");
    terminal.shows("an empty prompt", |view| view.lines().rev().nth(1) == Some(">"));
    assert!(!world.has("made"));
    terminal.enters("k").sees("Please type y").enters("y").sees("Made.");
    terminal.shows("the draft again", |view| view.contains("> y later"));
    assert!(world.has("made"));
    terminal.enters("").sees("You said: later.");
    terminal.rests();
    terminal.leaves();
    assert_eq!(model.request(2).last_words(), "y later");
}

#[test]
fn what_is_sent_while_an_answer_is_written_is_heard_in_the_same_run() {
    let world = World::new().file("a.txt", "a");
    let gate = Gate::new();
    let model = world.model(
        Wire::Anthropic,
        [
            reply().uses("Read", json!({ "file_path": "a.txt" })).waits(&gate),
            reply().text("Both done."),
        ],
    );
    let mut terminal = world.innerve([]).model(&model).at_terminal();
    terminal
        .sees("> ")
        .enters("first")
        .sees("Read a.txt")
        .enters("and second")
        .sees("waits for its turn");
    gate.open();
    terminal.sees("Both done.");
    terminal.rests();
    terminal.leaves();
    assert!(model.request(1).last_words().contains("and second"));
}

#[test]
fn shift_tab_goes_through_the_modes_and_commands_say_what_holds() {
    let world = World::new();
    fs::create_dir_all(world.root().join("config/innerve")).unwrap();
    let rules = r#"{ "permissions": { "deny": ["Bash(shutdown *)"] } }"#;
    fs::write(world.root().join("config/innerve/settings.json"), rules).unwrap();
    let model = world.model(Wire::Anthropic, []);
    let mut terminal = world.innerve([]).model(&model).at_terminal();
    let foot = |terminal: &Terminal, mode: &str| {
        terminal.shows(mode, |view| view.lines().last().is_some_and(|foot| foot.starts_with(mode)));
    };
    foot(&terminal, "default ·");
    terminal.presses("\u{1b}[Z");
    foot(&terminal, "acceptEdits ·");
    terminal.presses("\u{1b}[Z");
    foot(&terminal, "plan ·");
    terminal.enters("/mode default");
    foot(&terminal, "default ·");
    terminal.enters("/mode never").sees("never");
    terminal.enters("/mode bypassPermissions").sees("--permission-mode bypassPermissions");
    foot(&terminal, "default ·");
    terminal.enters("/permissions").sees("deny").sees("Bash(shutdown *)").sees("settings.json:1");
    terminal.enters("/tools").sees("Bash").sees("Read").sees("WebSearch");
    terminal.enters("/agents").sees("general-purpose");
    terminal.enters("/mcp").sees("no MCP servers");
    terminal.enters("/cost").sees("0 tokens read");
    terminal.enters("/help").sees("/compact").sees("Shift+Tab");
    terminal.enters("/nonsense").sees("there is no command /nonsense");
    terminal.enters("/undo").sees("error:");
    terminal.enters("/exit");
    assert_eq!(terminal.ends(), 0, "{terminal}");
}

#[test]
fn tab_completes_and_a_paste_is_one_text() {
    let world = World::new().file("src/main.rs", "").file("src/map.rs", "");
    let model = world.model(Wire::Anthropic, [reply().text("Seen.")]);
    let mut terminal = world.innerve([]).model(&model).at_terminal();
    terminal.sees("> ").types("look at @s\t");
    terminal.shows("the folder", |view| view.contains("> look at @src/"));
    terminal.types("m\t");
    terminal.shows("the choices", |view| view.contains("src/main.rs  src/map.rs"));
    terminal.types("in\t");
    terminal.shows("the file", |view| view.contains("> look at @src/main.rs"));
    terminal.types("\u{1b}[200~\nand\nthis\u{1b}[201~");
    terminal.shows("all lines", |view| view.contains("  and\n  this\n"));
    terminal.enters("").sees("Seen.");
    terminal.rests();
    terminal.leaves();
    assert_eq!(model.request(0).last_words(), "look at @src/main.rs \nand\nthis");
}

#[test]
fn a_conversation_is_left_resumed_and_undone() {
    let world = World::new().file("a.txt", "old\n");
    let model = world.model(
        Wire::Anthropic,
        [
            reply().uses("Read", json!({ "file_path": "a.txt" })),
            reply().uses(
                "Edit",
                json!({ "file_path": "a.txt", "old_string": "old", "new_string": "new" }),
            ),
            reply().text("Changed."),
            reply().text("Nothing before."),
            reply().text("Yes, a.txt."),
        ],
    );
    let innerve = world.innerve(["--permission-mode", "acceptEdits"]).model(&model);
    let mut terminal = innerve.at_terminal();
    terminal.sees("> ").enters("change it").sees("Changed.");
    terminal.rests();
    assert_eq!(world.read("a.txt"), "new\n");
    terminal.enters("/undo").sees("restores").sees("+old").sees("/undo yes does it");
    terminal.enters("/undo yes").sees("1 of 1 files changed");
    assert_eq!(world.read("a.txt"), "old\n");
    terminal.enters("/clear").sees("a new conversation");
    terminal.enters("what was before?").sees("Nothing before.");
    terminal.rests();
    assert_eq!(model.request(3).messages.len(), 1);
    assert_eq!(model.request(3).last_words(), "what was before?", "it knows of no changes");
    terminal.enters("/resume").sees("change it").sees("/resume ID");
    let logs = world.find("log.jsonl");
    let first = logs
        .iter()
        .find(|log| fs::read_to_string(log).unwrap().contains("change it"))
        .and_then(|log| log.parent()?.file_name()?.to_str().map(str::to_owned))
        .unwrap();
    terminal.enters(&format!("/resume {first}")).sees("back in session");
    terminal.enters("what did you change?").sees("Yes, a.txt.");
    terminal.rests();
    assert!(model.request(4).messages.len() > 5);
    assert!(model.request(4).last_words().contains("undid them"), "it was told once it is back");
    terminal.enters("/exit");
    assert_eq!(terminal.ends(), 0, "{terminal}");
}

#[test]
fn what_others_added_to_a_text_is_not_shown_as_a_persons_own() {
    let world = World::new();
    let write = json!({ "file_path": "a.txt", "content": "new\n" });
    let model = world.model(
        Wire::Anthropic,
        [reply().uses("Write", write), reply().text("Made."), reply().text("I see.")],
    );
    let mut terminal =
        world.innerve(["--permission-mode", "acceptEdits"]).model(&model).at_terminal();
    terminal.sees("> ").enters("make it").sees("Made.");
    terminal.rests();
    terminal.enters("/undo yes").sees("1 of 1 files changed");
    terminal.enters("and now?").sees("I see.");
    terminal.rests();
    assert!(model.request(2).last_words().contains("undid"));
    terminal.enters("/exit");
    assert_eq!(terminal.ends(), 0, "{terminal}");

    let shown = world.innerve(["sessions", "show"]).run();
    assert!(shown.stdout().contains("> and now?\n\n[The user looked"), "{shown}");
    let exported = world.innerve(["sessions", "export"]).run();
    assert!(exported.stdout().contains("and now?\n\n> [The user looked"), "{exported}");
    let mut terminal = world.innerve(["--continue"]).model(&model).at_terminal();
    let view = terminal.shows("where it was", |view| view.contains("I see."));
    assert!(view.contains("> and now?") && !view.contains("undid"), "{view}");
    terminal.enters("/exit");
    assert_eq!(terminal.ends(), 0, "{terminal}");
}

#[test]
fn earlier_texts_come_back_with_the_up_key_also_the_next_time() {
    let world = World::new();
    let model = world.model(Wire::Anthropic, [reply().text("One."), reply().text("Two.")]);
    for answer in ["One.", "Two."] {
        let mut terminal = world.innerve([]).model(&model).at_terminal();
        terminal.sees("> ");
        if answer == "Two." {
            terminal.presses("\u{1b}[A");
            terminal.shows("the earlier text", |view| view.contains("> count for me"));
            terminal.enters("");
        } else {
            terminal.enters("count for me");
        }
        terminal.sees(answer);
        terminal.rests();
        terminal.leaves();
    }
    assert_eq!(model.request(1).last_words(), "count for me");
}

#[test]
fn an_untrusted_workspace_is_asked_about_once_and_colours_can_be_off() {
    let rules = r#"{ "permissions": { "allow": ["Bash(touch *)"] } }"#;
    let world = World::new().file(".innerve/settings.json", rules);
    let model = world.model(Wire::Anthropic, [reply().bash("touch made"), reply().text("Made.")]);
    let start = || world.innerve([]).model(&model).env("NO_COLOR", "1").at_terminal();
    let mut terminal = start();
    terminal.sees("Trust it?").enters("n");
    terminal.sees("> ").leaves();
    let mut terminal = start();
    terminal.sees("Trust it?").enters("y");
    terminal.sees("> ").enters("make it").sees("Made.");
    terminal.rests();
    terminal.leaves();
    let raw = String::from_utf8_lossy(&terminal.raw()).into_owned();
    assert!(!raw.contains("\u{1b}[1m") && !raw.contains("\u{1b}[2m"), "{raw}");
    let mut terminal = start();
    terminal.sees("> ").leaves();
    assert!(!terminal.shown().contains("Trust it?"), "{terminal}");
}

#[test]
fn what_a_sub_agent_does_is_seen_under_its_call_and_stays_there() {
    let world = World::new().file("a.txt", "a");
    let gate = Gate::new();
    let agent =
        json!({ "description": "Look", "prompt": "Look at a.txt", "subagent_type": "Explore" });
    let model = world.model(
        Wire::Anthropic,
        [
            reply().uses("Agent", agent),
            reply().uses("Read", json!({ "file_path": "a.txt" })),
            reply().waits(&gate).text("It holds an a."),
            reply().text("An a, it says."),
        ],
    );
    let mut terminal = world.innerve([]).model(&model).at_terminal_of(100, 30);
    terminal.shows("a prompt", |view| view.contains("\n>"));
    terminal.enters("look");
    terminal.shows("the step below the call", |view| {
        view.contains("● Agent Explore: Look\n    · Read a.txt\n● working")
    });
    gate.open();
    terminal.shows("the end", |view| view.contains("An a, it says."));
    let view = terminal.rests();
    assert!(view.contains("● Agent Explore: Look\n    · Read a.txt\n  ✓ It holds an a."), "{view}");
    terminal.presses("\u{f}");
    terminal.shows("all of it", |view| {
        view.starts_with("Result 1 of 1") && view.contains("prompt: Look at a.txt")
    });
    terminal.types("q\u{4}");
    assert_eq!(terminal.ends(), 0, "{terminal}");
}

#[test]
fn calls_side_by_side_are_each_seen_while_they_run_and_come_with_their_own_results() {
    let world = World::new();
    for name in ["one", "two"] {
        let made = std::process::Command::new("mkfifo").arg(world.work(name)).status();
        assert!(made.expect("mkfifo runs").success());
    }
    let read = |name: &str| json!({ "command": format!("cat {name}") });
    let model = world.model(
        Wire::Anthropic,
        [reply().uses("Bash", read("one")).uses("Bash", read("two")), reply().text("Both done.")],
    );
    let mut terminal = world.innerve([]).model(&model).at_terminal_of(100, 30);
    terminal.shows("a prompt", |view| view.contains("\n>"));
    terminal.enters("wait");
    terminal.shows("two calls", |view| {
        view.contains("● Bash cat one") && view.contains("● Bash cat two")
    });
    fs::write(world.work("two"), "second").unwrap();
    fs::write(world.work("one"), "first").unwrap();
    terminal.shows("the end", |view| view.contains("Both done."));
    let view = terminal.rests();
    assert!(view.contains("● Bash cat one\n  ✓ first\n"), "{view}");
    assert!(view.contains("● Bash cat two\n  ✓ second\n"), "{view}");
    terminal.leaves();
}

#[test]
fn a_no_is_told_as_one() {
    let world = World::new();
    let model = world.model(Wire::Anthropic, [reply().bash("touch made").bash("touch more")]);
    let mut terminal = world.innerve([]).model(&model).at_terminal_of(100, 30);
    terminal.shows("a prompt", |view| view.contains("\n>"));
    terminal
        .enters("make it")
        .sees("[y] yes")
        .enters("not that one")
        .sees("[y] yes")
        .presses("\u{1b}");
    let view = terminal.shows("both answers", |view| view.contains("rejected"));
    assert!(view.contains("● Bash touch made\n  ⊘ not run: you said no"), "{view}");
    assert!(view.contains("● Bash touch more\n  ⊘ not run: you said no"), "{view}");
    terminal.rests();
    terminal.leaves();
}
