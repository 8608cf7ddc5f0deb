//! The chat and its terminal: sizes, signals, suspending, what is redrawn, what never reaches the screen.

use std::thread;
use std::time::{Duration, Instant};

use innerve_tests::{Gate, Signal, Wire, World, reply};
use rustix::process::{Pid, kill_process};
use serde_json::json;

const CTRL_Z: &str = "\u{1a}";
const CTRL_L: &str = "\u{c}";
const CTRL_O: &str = "\u{f}";
const CTRL_U: &str = "\u{15}";
const ESC: &str = "\u{1b}";

#[test]
fn ctrl_z_gives_the_terminal_back_and_fg_takes_it_again_more_than_once() {
    let world = World::new();
    let model = world.model(Wire::Anthropic, [reply().text("Here.")]);
    let script = "set -m; innerve; \
                  stty -a | grep -o '.icanon'; read x; fg; echo again; read x; fg; echo over";
    let mut terminal = world.innerve([]).model(&model).at_terminal_by(script);
    terminal.shows("a prompt", |view| view.contains("\n>"));
    terminal.types("draft").shows("a draft", |view| view.contains("> draft"));
    terminal.types(CTRL_Z).sees(" icanon").enters("");
    terminal.shows("the draft", |view| view.lines().rev().nth(1) == Some("> draft"));
    terminal.types("s").shows("keys", |view| view.contains("> drafts"));
    terminal.types(CTRL_Z).sees("again").enters("");
    terminal.types("!").shows("keys", |view| view.contains("> drafts!"));
    terminal.enters("").sees("Here.");
    terminal.rests();
    terminal.types("\u{4}").sees("over");
}

#[test]
fn where_no_shell_waits_ctrl_z_does_nothing_and_whoever_stops_it_finds_it_as_it_was() {
    let world = World::new();
    let model = world.model(Wire::Anthropic, []);
    let mut terminal = world.innerve([]).model(&model).at_terminal_of(80, 24);
    terminal.sees("> ").types("one").presses(CTRL_Z);
    terminal.types(" two").shows("all keys", |view| view.contains("> one two"));
    terminal.signals(Signal::SIGSTOP);
    terminal.signals(Signal::SIGCONT).types(" three");
    terminal.shows("all keys", |view| view.contains("> one two three"));
    terminal.presses("\u{3}");
    terminal.leaves();
}

#[test]
fn a_kill_gives_the_terminal_back() {
    let world = World::new();
    let model = world.model(Wire::Anthropic, []);
    let script = "innerve; echo \"code $?\"; stty -a | grep -o '.icanon'";
    let mut terminal = world.innerve([]).model(&model).at_terminal_by(script);
    terminal.shows("a prompt", |view| view.contains("\n>"));
    let program = innerve_tests::program().display().to_string();
    let found = world.processes().into_iter().find(|(_, line)| line.starts_with(&program));
    let id = found.and_then(|(id, _)| Pid::from_raw(id)).expect("the program runs");
    kill_process(id, rustix::process::Signal::TERM).expect("it is ours");
    terminal.sees("code 130").sees(" icanon");
    assert_eq!(terminal.ends(), 0, "{terminal}");
    let raw = String::from_utf8_lossy(&terminal.raw()).into_owned();
    assert!(raw.rfind("\u{1b}[?2004l") > raw.rfind("\u{1b}[?2004h"), "pastes as before");
}

#[test]
fn what_is_piped_into_it_is_not_ignored() {
    let world = World::new();
    let innerve = world.innerve([]).with_a_key_only();
    let mut terminal = innerve.at_terminal_by("echo a task | innerve; echo \"code $?\"");
    terminal.sees("innerve run").sees("code 2");
    assert_eq!(terminal.ends(), 0, "{terminal}");
}

#[test]
fn a_dumb_terminal_has_the_commands_too() {
    let world = World::new();
    let model = world.model(Wire::Anthropic, []);
    let mut terminal = world.innerve([]).model(&model).env("TERM", "dumb").at_terminal();
    terminal.sees("> ").enters("/help").sees("/compact").sees("> ");
    terminal.enters("/mode plan").sees("the mode is plan now").sees("> ");
    terminal.enters("/nonsense").sees("there is no command").sees("> ");
    assert!(!terminal.shown().contains("Shift+Tab  "), "keys that it does not have: {terminal}");
    terminal.leaves();
}

#[test]
fn a_key_redraws_its_own_row_and_a_tick_without_news_nothing() {
    let world = World::new();
    let gate = Gate::new();
    let model = world.model(Wire::Anthropic, [reply().text("Begun. ").waits(&gate).text("Done.")]);
    let mut terminal = world.innerve([]).model(&model).at_terminal_of(80, 24);
    terminal.sees("> ").types("draf").shows("a draft", |view| view.contains("> draf"));
    let before = terminal.draws_no_more().len();
    terminal.types("t").shows("a draft", |view| view.contains("> draft"));
    let raw = terminal.draws_no_more();
    let drawn = String::from_utf8_lossy(&raw[before..]).into_owned();
    assert!(drawn.len() < 80, "{drawn:?}");
    assert!(!drawn.contains("\u{1b}[J") && !drawn.contains("default"), "{drawn:?}");
    std::thread::sleep(std::time::Duration::from_millis(700));
    assert_eq!(terminal.raw().len(), raw.len(), "an idle chat draws nothing");
    terminal.enters("").sees("Begun.");
    gate.open();
    terminal.sees("Done.");
    terminal.rests();
    terminal.leaves();
}

#[test]
fn a_window_pulled_smaller_and_larger_loses_no_line() {
    let world = World::new();
    let gates = [Gate::new(), Gate::new()];
    let model = world.model(
        Wire::Anthropic,
        [reply()
            .text("First line.\n\nA line that is so long that it has to be broken on ")
            .waits(&gates[0])
            .text("a narrow screen.\n\nThird line, ")
            .waits(&gates[1])
            .text("at its end.")],
    );
    // This terminal cuts rows instead of breaking them, as xterm does.
    let innerve = world.innerve([]).model(&model).env("XTERM_VERSION", "XTerm(1)");
    let mut terminal = innerve.at_terminal_of(80, 24);
    terminal.shows("a prompt", |view| view.contains("\n>"));
    terminal.enters("tell me").sees("broken on");
    terminal.resizes(30, 24);
    terminal.shows("a narrow screen", |view| view.contains("it has to be broken on\n"));
    gates[0].open();
    terminal.shows("more", |view| view.contains("Third line"));
    terminal.resizes(20, 12).resizes(60, 24);
    gates[1].open();
    terminal.shows("the end", |view| view.contains("Third line, at its end."));
    let view = terminal.rests();
    for line in ["> tell me", "First line.", "A line that is so lo", "narrow screen."] {
        assert_eq!(view.matches(line).count(), 1, "{line}\n{view}");
    }
    terminal.leaves();
}

#[test]
fn in_tmux_nothing_is_drawn_until_it_has_told_of_the_last_size() {
    let world = World::new();
    let model = world.model(Wire::Anthropic, []);
    let innerve = world.innerve([]).model(&model).env("TMUX", "/tmp/tmux-0/default,1,0");
    let mut terminal = innerve.at_terminal_of(80, 24);
    terminal.shows("a prompt", |view| view.contains("\n>"));
    let resized = Instant::now();
    terminal.resizes(60, 24);
    // The program hears of the size before the key.
    thread::sleep(Duration::from_millis(100));
    terminal.types("text").shows("what was typed", |view| view.contains("> text"));
    assert!(resized.elapsed() >= Duration::from_millis(290), "{:?}", resized.elapsed());
    terminal.presses("\u{3}");
    terminal.leaves();
}

#[test]
fn clearing_the_screen_keeps_what_was_there_for_scrolling_back() {
    let world = World::new();
    let model = world.model(Wire::Anthropic, [reply().text("Remember the milk.")]);
    let mut terminal = world.innerve([]).model(&model).at_terminal_of(60, 12);
    terminal.shows("a prompt", |view| view.contains("\n>"));
    terminal.enters("what?").sees("Remember the milk.");
    terminal.rests();
    terminal.types(CTRL_L);
    terminal.shows("an empty screen", |view| view.starts_with('>'));
    let away = terminal.scrolled_away();
    assert!(away.contains("> what?\nRemember the milk."), "{away}");
    terminal.leaves();
}

#[test]
fn nothing_that_a_model_writes_commands_the_terminal() {
    let world = World::new();
    let evil = "a\u{1b}[2Jb\u{1b}]0;title\u{7}c\u{9b}1md \u{202e}e";
    let model = world.model(
        Wire::Anthropic,
        [
            reply().text(evil).uses("Bash", json!({ "command": format!("echo {evil}") })),
            reply().fails(400, "invalid_request_error", evil),
        ],
    );
    let mut terminal = world.innerve([]).model(&model).at_terminal();
    terminal.shows("a prompt", |view| view.contains("\n>"));
    terminal.enters("go").sees("a\\u{1b}[2Jb").sees("[y] yes").enters("y").sees("error:");
    terminal.rests();
    let raw = String::from_utf8_lossy(&terminal.raw()).into_owned();
    for bad in ["\u{1b}[2J", "\u{1b}]", "\u{7}", "\u{9b}", "\u{202e}"] {
        assert!(!raw.contains(bad), "{bad:?} in {raw:?}");
    }
    terminal.leaves();
}

#[test]
fn a_paste_of_a_megabyte_arrives_whole_and_is_shown_in_short() {
    let world = World::new();
    let lines: Vec<String> =
        (0..25_000).map(|line| format!("line {line} of a long log that was pasted")).collect();
    let text = lines.join("\n");
    assert!(text.len() > 1_000_000);
    let model = world.model(Wire::Anthropic, [reply().text("Read.")]);
    let mut terminal =
        world.innerve(["--context-window", "2000000"]).model(&model).at_terminal_of(80, 24);
    terminal.shows("a prompt", |view| view.contains("\n>"));
    terminal.types(&format!("\u{1b}[200~{text}\u{1b}[201~"));
    terminal.shows("its end", |view| view.contains("line 24999") && view.contains("lines above"));
    terminal.types("!").shows("keys", |view| view.contains("pasted!"));
    terminal.enters("").sees("Read.");
    terminal.rests();
    assert_eq!(model.request(0).last_words(), format!("{text}!"));
    assert!(terminal.raw().len() < 60_000, "{}", terminal.raw().len());
    terminal.leaves();
}

#[test]
fn the_cursor_stands_behind_wide_characters() {
    let world = World::new();
    let model = world.model(Wire::Anthropic, []);
    let mut terminal = world.innerve([]).model(&model).at_terminal_of(80, 24);
    terminal.sees("> ").types("日本語 e\u{301}");
    terminal.shows("the text", |view| view.contains("> 日本語"));
    terminal.presses("");
    assert_eq!(terminal.cursor().1, 2 + 6 + 2, "{terminal}");
    terminal.presses("\u{1b}[D");
    assert_eq!(terminal.cursor().1, 2 + 6 + 1);
    terminal.presses("\u{1b}[D").presses("\u{1b}[D");
    assert_eq!(terminal.cursor().1, 2 + 4);
    terminal.presses("\u{3}");
    terminal.leaves();
}

#[test]
fn who_stops_an_answer_gets_back_what_waited_for_its_turn() {
    let world = World::new();
    let gate = Gate::new();
    let model =
        world.model(Wire::Anthropic, [reply().text("Once ").waits(&gate), reply().text("Both.")]);
    let mut terminal = world.innerve([]).model(&model).at_terminal_of(80, 24);
    terminal.shows("a prompt", |view| view.contains("\n>"));
    terminal.enters("tell me").sees("Once").enters("first").sees("waits for its turn");
    terminal.types("second").shows("a draft", |view| view.contains("> second"));
    terminal.presses(ESC).sees("stopped");
    terminal.shows("both texts", |view| view.contains("> first\n\n  second\n"));
    gate.open();
    terminal.enters("").sees("Both.");
    terminal.rests();
    assert!(model.request(1).last_words().ends_with("first\n\nsecond"));
    terminal.leaves();
}

#[test]
fn a_question_is_read_in_full_on_a_page_whose_keys_do_not_answer_it() {
    let world = World::new();
    let command: String =
        (0..60).map(|number| format!("echo {number}\n")).collect::<String>() + "touch made";
    let model = world.model(Wire::Anthropic, [reply().bash(&command), reply().text("Made.")]);
    let mut terminal = world.innerve([]).model(&model).at_terminal_of(80, 30);
    terminal.shows("a prompt", |view| view.contains("\n>"));
    terminal.enters("go").sees("more lines").sees("[y]");
    terminal.presses(CTRL_O);
    terminal.shows("the page", |view| view.starts_with("What is asked about"));
    // It has no neighbours, whatever results there are.
    terminal.types("y\r").types("\u{1b}[C").types("\u{1b}[D");
    terminal.presses("\u{1b}[F");
    terminal.shows("its end", |view| view.contains("touch made"));
    assert!(!world.has("made"));
    terminal.types("q").shows("the question", |view| view.contains("[y] yes"));
    terminal.enters("y").sees("Made.");
    terminal.rests();
    assert!(world.has("made"));
    terminal.leaves();
}

#[test]
fn a_server_that_is_gone_is_told_and_the_wait_for_it_can_be_stopped() {
    let world = World::new();
    let mut terminal = world.innerve([]).with_a_key_only().at_terminal_of(80, 24);
    terminal.shows("a prompt", |view| view.contains("\n>"));
    terminal.enters("hello").sees("trying again in");
    terminal.presses(ESC).sees("stopped");
    terminal.rests();
    terminal.leaves();
}

#[test]
fn a_new_conversation_keeps_the_mode_and_one_gone_back_to_shows_where_it_was() {
    let world = World::new();
    let model = world.model(Wire::Anthropic, [reply().text("The answer is **42**.")]);
    let mut terminal = world.innerve([]).model(&model).at_terminal_of(100, 30);
    terminal.shows("a prompt", |view| view.contains("\n>"));
    terminal.enters("what is it?").sees("42.");
    terminal.rests();
    let logs = world.find("log.jsonl");
    let id = logs[0].parent().and_then(|folder| folder.file_name()).and_then(|id| id.to_str());
    let id = id.expect("a session").to_owned();
    terminal.enters("/mode plan").enters("/clear").sees("a new conversation");
    terminal.types(CTRL_L);
    terminal.shows("the same mode", |view| view.starts_with('>') && view.contains("plan ·"));
    terminal.enters(&format!("/resume {id}")).sees("back in session");
    terminal.shows("where it was", |view| {
        view.contains("> what is it?\nThe answer is 42.") && view.contains("plan ·")
    });
    terminal.types(CTRL_U);
    terminal.leaves();
}

#[test]
fn a_question_does_not_interrupt_a_sentence_and_gets_none_of_it_as_its_answer() {
    let world = World::new();
    let gate = Gate::new();
    let model = world
        .model(Wire::Anthropic, [reply().waits(&gate).bash("touch made"), reply().text("Made.")]);
    let mut terminal = world.innerve([]).model(&model).at_terminal_of(100, 30);
    terminal.shows("a prompt", |view| view.contains("\n>"));
    terminal.enters("make it").sees("Esc stops").types("and then ");
    gate.open();
    for letter in "tell me why you did this".chars() {
        terminal.types(&letter.to_string());
        std::thread::sleep(std::time::Duration::from_millis(60));
        assert!(!terminal.view().contains("[y] yes"), "{terminal}");
    }
    terminal.shows("that there is one", |view| view.contains("a question comes when you pause"));
    terminal.enters("").sees("> and then tell me why you did this").sees("[y] yes");
    assert!(!world.has("made"));
    terminal.enters("y").sees("Made.");
    terminal.rests();
    assert!(world.has("made"));
    assert!(model.request(1).last_words().contains("tell me why"));
    terminal.leaves();
}

#[test]
fn a_long_line_of_code_is_broken_by_the_terminal_alone_and_prose_between_words() {
    let world = World::new();
    let code = format!("\tcurl https://host.example/{}", "path/".repeat(20));
    let text =
        format!("Words that are broken between each other here.\n\n```sh\n{code}\n```\nDone.");
    let model = world.model(Wire::Anthropic, [reply().text(&text)]);
    let mut terminal = world.innerve([]).model(&model).at_terminal_of(40, 24);
    terminal.shows("a prompt", |view| view.contains("\n>"));
    terminal.enters("how?").sees("Done.");
    let view = terminal.rests();
    assert!(view.contains("Words that are broken between each\nother here."), "{view}");
    let raw = String::from_utf8_lossy(&terminal.raw()).into_owned();
    assert!(raw.contains(&code), "in one piece, with its tab, so that it can be copied");
    terminal.leaves();
}

#[test]
fn a_narrow_screen_breaks_between_words_and_under_the_words_before() {
    let world = World::new();
    let text = "- an item of more words than there is room for\n1. and one that has a number before it\n> and \
                what somebody else has said\nDone.";
    let model = world.model(Wire::Anthropic, [reply().text(text)]);
    let mut terminal = world.innerve([]).model(&model).at_terminal_of(40, 60);
    terminal.shows("a prompt", |view| view.contains("\n>"));
    terminal.types("/").shows("all commands, whole", |view| {
        view.contains("/help  /mcp  /mode  /model\n/permissions  /resume")
    });
    terminal.types(CTRL_U).enters("/help");
    terminal.shows("names and what they do under each other", |view| {
        view.contains("  /compact [TEXT]\n    puts a summary in place of the\n    conversation;")
    });
    terminal.enters("/agents");
    terminal.shows("the same of agents", |view| view.contains("\n  Explore\n    Searches"));
    terminal.enters("tell me").sees("Done.");
    let view = terminal.rests();
    for part in [
        "- an item of more words than there is\n  room for\n",
        "1. and one that has a number before it\n",
        "> and what somebody else has said\n",
    ] {
        assert!(view.contains(part), "{part}\n{view}");
    }
    terminal.presses("\u{3}").shows("a hint", |view| view.contains("again ends the chat"));
    terminal.types("\u{1b}[200~pasted\u{1b}[201~");
    terminal.shows("a paste, and no hint", |view| {
        view.contains("> pasted\n") && !view.contains("again ends the chat")
    });
    terminal.presses("\u{3}");
    terminal.leaves();
}

#[test]
fn no_key_waits_for_the_next_one() {
    let world = World::new();
    let model = world.model(Wire::Anthropic, []);
    let mut terminal = world.innerve([]).model(&model).at_terminal_of(100, 30);
    terminal.shows("a prompt", |view| view.contains("\n>"));
    // More at once than a reader takes, as a terminal without bracketed paste sends it.
    terminal.types(&"word ".repeat(700)).types("end");
    terminal.shows("all of them", |view| view.contains("word end\n"));
    terminal.presses("\u{3}");
    for round in 0..20_u16 {
        terminal.resizes(80 + round, 30).types("x");
        let text = format!("> {}\n", "x".repeat(usize::from(round) + 1));
        terminal.shows("each key", |view| view.contains(&text));
    }
    terminal.presses("\u{3}");
    terminal.leaves();
}
