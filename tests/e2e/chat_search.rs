//! Ctrl-R in the chat: earlier texts are found by words in them.

use std::fs;

use innerve_tests::{Gate, Wire, World, reply};

const CTRL_C: &str = "\u{3}";
const CTRL_G: &str = "\u{7}";
const CTRL_R: &str = "\u{12}";
const CTRL_S: &str = "\u{13}";
const BACKSPACE: &str = "\u{7f}";
const ESC: &str = "\u{1b}";
const LEFT: &str = "\u{1b}[D";

/// A world in which these texts were sent before.
fn world(texts: &[&str]) -> World {
    let world = World::new();
    let folder = world.root().join("state/innerve");
    fs::create_dir_all(&folder).expect("a folder");
    let lines: Vec<String> =
        texts.iter().map(|text| serde_json::json!(text).to_string() + "\n").collect();
    fs::write(folder.join("history.jsonl"), lines.concat()).expect("a file");
    world
}

#[test]
fn ctrl_r_finds_an_earlier_text_and_enter_sends_it() {
    let world = world(&["run the parser tests", "explain the parser", "write a changelog"]);
    let model = world.model(Wire::Anthropic, [reply().text("All pass.")]);
    let mut terminal = world.innerve([]).model(&model).at_terminal_of(80, 24);
    terminal.shows("a prompt", |view| view.contains("\n>"));
    terminal.types("half a thought").types(CTRL_R);
    terminal.shows("a search", |view| {
        view.contains("(search) '': half a thought\nEnter sends · Esc edits · Ctrl-R older")
    });
    terminal.types("pars");
    terminal.shows("the newest", |view| view.contains("(search) 'pars': explain the parser\n"));
    let column = "(search) 'pars': explain the ".len();
    assert_eq!(usize::from(terminal.cursor().1), column, "where it was found: {terminal}");
    terminal.types(CTRL_R);
    terminal.shows("the one before", |view| view.contains("'pars': run the parser tests\n"));
    terminal.types(CTRL_R);
    terminal.shows("no other", |view| view.contains("(not found) 'pars': run the parser tests\n"));
    terminal.types(CTRL_S);
    terminal.shows("back again", |view| view.contains("(search) 'pars': explain the parser\n"));
    terminal.types(CTRL_R).enters("").sees("All pass.");
    let view = terminal.rests();
    assert!(view.contains("\n> run the parser tests\nAll pass."), "{view}");
    assert_eq!(model.request(0).last_words(), "run the parser tests");
    terminal.leaves();
}

#[test]
fn a_search_is_left_for_editing_or_given_up_and_the_draft_is_there_again() {
    let world = world(&["run the parser tests", "write a changelog"]);
    let model = world.model(Wire::Anthropic, [reply().text("Done.")]);
    let mut terminal = world.innerve([]).model(&model).at_terminal_of(80, 24);
    terminal.shows("a prompt", |view| view.contains("\n>"));
    for key in [CTRL_G, CTRL_C] {
        terminal.types("draft").types(LEFT).types(CTRL_R).types("tests");
        terminal.shows("a text", |view| view.contains("(search) 'tests': run the parser tests\n"));
        terminal.presses(key);
        terminal.shows("the draft", |view| view.contains("\n> draft\n") && !view.contains("again"));
        // The cursor is where it was.
        terminal.types("X").shows("the draft", |view| view.contains("\n> drafXt\n"));
        terminal.types("\u{5}\u{15}").shows("nothing", |view| view.contains("\n>\n"));
    }
    terminal.types(CTRL_R).types("zzz");
    terminal.shows("nothing", |view| view.contains("(not found) 'zzz':\n"));
    terminal.enters("").shows("an empty prompt", |view| view.contains("\n>\n"));
    terminal.types(CTRL_R).types("testsx").types(BACKSPACE);
    terminal.shows("a text", |view| view.contains("(search) 'tests': run the parser tests\n"));
    terminal.presses(ESC);
    terminal.shows("a text", |view| view.contains("\n> run the parser tests\n"));
    terminal.types("fuzz ").enters("").sees("Done.");
    terminal.rests();
    assert_eq!(model.request(0).last_words(), "run the parser fuzz tests");
    terminal.leaves();
}

#[test]
fn texts_of_several_lines_and_wide_ones_are_found_on_a_narrow_screen() {
    let long = "please read each of the files in this directory and tell me what they are for";
    let lines: Vec<String> = (1..=30).map(|line| format!("line {line} of many")).collect();
    let lines = lines.join("\n");
    let world = world(&[long, "日本語で答えてください", &lines]);
    let model = world.model(Wire::Anthropic, []);
    let mut terminal = world.innerve([]).model(&model).at_terminal_of(40, 24);
    terminal.shows("a prompt", |view| view.contains("\n>"));
    terminal.types(CTRL_R).types("directory");
    terminal.shows("all of it", |view| {
        view.contains("(search) 'directory': please read each\nof the files")
            && view.contains("are for\n")
    });
    terminal.presses(CTRL_G).types(CTRL_R).types("答え");
    terminal.shows("a wide one", |view| view.contains("(search) '答え': 日本語で答えてください\n"));
    assert_eq!(terminal.cursor().1, 17 + 8, "{terminal}");
    terminal.presses(CTRL_G).types(CTRL_R).types("line 25");
    terminal.shows("its line", |view| {
        view.contains("(search) 'line 25': … 22 lines above\n  line 23 of many\n")
            && view.contains("\n  line 25 of many\n")
            && view.contains("\n  … 2 lines below\n")
    });
    terminal.presses(CTRL_G).types(CTRL_R).types(&"wide words ".repeat(20));
    terminal.shows("the end of what is looked for", |view| {
        view.contains("(not found) '…wide words wi': please re")
    });
    terminal.presses(CTRL_G);
    terminal.leaves();
}

#[test]
fn a_question_that_comes_in_a_search_is_not_answered_by_it() {
    let world = world(&["yes please do it"]);
    let gate = Gate::new();
    let model = world
        .model(Wire::Anthropic, [reply().waits(&gate).bash("touch made"), reply().text("Made.")]);
    let mut terminal = world.innerve([]).model(&model).at_terminal_of(100, 30);
    terminal.shows("a prompt", |view| view.contains("\n>"));
    terminal.enters("make it").sees("Esc stops").types("draft").types(CTRL_R);
    gate.open();
    for letter in ["y", "e", "s"] {
        terminal.presses(letter);
        assert!(!terminal.view().contains("[y] yes"), "{terminal}");
    }
    terminal.sees("[y] yes");
    terminal.shows("an empty prompt", |view| view.contains("\n>\n"));
    assert!(!world.has("made"));
    terminal.enters("y").sees("Made.");
    terminal.shows("the draft", |view| view.contains("\n> draft\n"));
    terminal.presses(CTRL_C);
    terminal.leaves();
}

#[test]
fn esc_in_a_search_does_not_stop_the_answer() {
    let world = world(&["an earlier text"]);
    let gate = Gate::new();
    let model = world.model(Wire::Anthropic, [reply().text("Once ").waits(&gate).text("more.")]);
    let mut terminal = world.innerve([]).model(&model).at_terminal_of(80, 24);
    terminal.shows("a prompt", |view| view.contains("\n>"));
    terminal.enters("go").sees("Once").types(CTRL_R).types("earlier").presses(ESC);
    terminal.shows("the text", |view| view.contains("\n> an earlier text\n"));
    terminal.types(CTRL_R).presses(CTRL_C);
    assert!(terminal.view().contains("writing"), "{terminal}");
    gate.open();
    terminal.sees("Once more.");
    terminal.shows("the end", |view| view.contains("\n> an earlier text\n") && !view.contains("●"));
    terminal.presses(CTRL_C);
    terminal.leaves();
}
