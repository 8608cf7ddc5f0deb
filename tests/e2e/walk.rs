//! A walk through the chat, thing by thing, written down in `docs/walk.md` and recorded as a cast that can be played.

use std::env;
use std::fs;
use std::path::Path;

use innerve_tests::{Gate, REDACTIONS, Terminal, Wire, World, is_at_rest, reply};
use regex::Regex;
use serde_json::json;

const INTRODUCTION: &str = "\
# A walk through the chat

What `innerve` without a verb shows, step by step: the real program at a terminal of 90 columns, with a scripted model. The
test `the_walk_through_the_chat_is_as_written_down` takes this walk each time and compares every screen with this page. It
also writes a recording with all colours and movements, which players of asciinema's format play:

```text
cargo nextest run -p innerve-tests the_walk    takes the walk
cargo xtask test the_walk --update             writes this page anew
asciinema play target/tmp/chat.cast            shows the recording
```

What differs from run to run stands in brackets. Each step begins on an empty screen (Ctrl-L).
";

/// The keys of a terminal, by the bytes that they send (ECMA-48; xterm, \"control sequences\").
const SHIFT_TAB: &str = "\u{1b}[Z";
const UP: &str = "\u{1b}[A";
const DOWN: &str = "\u{1b}[B";
const END: &str = "\u{1b}[F";
const ESC: &str = "\u{1b}";
const CTRL_L: &str = "\u{c}";
const CTRL_O: &str = "\u{f}";
const CTRL_R: &str = "\u{12}";
const CTRL_U: &str = "\u{15}";
const ALT_ENTER: &str = "\u{1b}\r";

/// What a person sees, step by step.
struct Walk<'a> {
    terminal: &'a mut Terminal,
    page: &'a mut String,
}

impl Walk<'_> {
    /// Begins a step on an empty screen.
    #[track_caller]
    fn step(&mut self, title: &str, words: &str) {
        self.page.push_str(&format!("\n## {title}\n\n{words}\n"));
        self.terminal.types(CTRL_L);
        self.terminal.shows("an empty screen", |view| view.starts_with('>'));
    }

    /// Waits for this screen, drawn down to its foot, and writes it down.
    #[track_caller]
    fn shows(&mut self, wanted: impl Fn(&str) -> bool) {
        let is_whole = |view: &str| view.lines().last().is_some_and(|foot| foot.contains(" · "));
        self.shows_at_last(|view| wanted(view) && is_whole(view));
    }

    /// Waits for this screen, which may have no foot, and writes it down.
    #[track_caller]
    fn shows_at_last(&mut self, wanted: impl Fn(&str) -> bool) {
        let view = self.terminal.shows("this step", wanted);
        let mut view = view.trim_end().to_owned();
        for (pattern, instead) in REDACTIONS.iter().chain(MORE_REDACTIONS) {
            let pattern = Regex::new(pattern).expect("a pattern");
            view = pattern.replace_all(&view, *instead).into_owned();
        }
        self.page.push_str(&format!("\n~~~text\n{view}\n~~~\n"));
    }

    /// The screen with this text once nothing is under way.
    #[track_caller]
    fn rests(&mut self, text: &str) {
        self.shows(|view| view.contains(text) && is_at_rest(view));
    }

    #[track_caller]
    fn enters(&mut self, text: &str) {
        self.terminal.enters(text);
    }

    fn types(&mut self, text: &str) {
        self.terminal.types(text);
    }

    fn presses(&mut self, key: &str) {
        self.terminal.presses(key);
    }
}

const MORE_REDACTIONS: &[(&str, &str)] = &[
    (r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", "[date]"),
    (r" \d+ s\b", " [time]"),
    // A machine that is slow or fast makes times come and go.
    (r" \[time\]", ""),
    (r"about \d+ tokens became \d+", "about [some] tokens became [some]"),
    (r"\b\d{8}-\d{6}-\w+", "[session]"),
];

/// A small project with a rule of its owner.
fn world() -> World {
    let world = World::new()
        .file("src/main.rs", "fn main() {\n    println!(\"one\");\n    println!(\"two\");\n}\n")
        .file("src/map.rs", "")
        .file("notes.md", "");
    fs::create_dir_all(world.root().join("config/innerve")).expect("a folder");
    let rules = r#"{ "permissions": { "deny": ["Bash(shutdown *)"] } }"#;
    fs::write(world.root().join("config/innerve/settings.json"), rules).expect("a file");
    world
}

#[test]
fn the_walk_through_the_chat_is_as_written_down() {
    let mut page = INTRODUCTION.to_owned();
    let world = world();
    let [written, tabled, told, heard] = std::array::from_fn(|_| Gate::new());
    // Prints, waits until it is let go, and prints more.
    let tests = "echo checking; mkdir out; while [ ! -e out/go ]; do sleep 0.05; done; seq 1 30";
    let edit = json!({ "file_path": "src/main.rs", "old_string": "two", "new_string": "zwei" });
    let model = world.model(
        Wire::Anthropic,
        [
            reply()
                .text("# Plan\n\nI look at **both** lines of `main` first:\n\n```rust\nprintln!(")
                .waits(&written)
                .text("\"one\");\n```\n\n- then the *second* one"),
            reply()
                .text("These two:\n\n| Line | Prints | Remark |\n|---:|:--|---|\n| 2 | `one` | stays |\n")
                .waits(&tabled)
                .text("| 3 | `two` | **to be** translated |\n\nNo more."),
            reply().bash(tests),
            reply().text("All 30 pass."),
            reply().uses("Read", json!({ "file_path": "src/main.rs" })),
            reply().uses("Edit", edit),
            reply().text("The second line says zwei now."),
            reply().bash("shutdown now"),
            reply().text("That is not allowed here."),
            reply().text("Once upon a time ").waits(&told),
            reply().uses("Read", json!({ "file_path": "notes.md" })).waits(&heard),
            reply().text("Both are done."),
            reply().text("I see three lines."),
            reply().text("<summary>main.rs was translated.</summary>"),
        ],
    );
    let innerve = || world.innerve([]).model(&model);
    let mut terminal = innerve().at_terminal_of(90, 30);
    let mut walk = Walk { terminal: &mut terminal, page: &mut page };

    walk.page.push_str("\n## It begins\n\nThe prompt, and below it mode and model.\n");
    walk.rests("/help lists");

    walk.step("Markdown as it streams", "A line is styled when it is complete, and moves no more.");
    walk.enters("what will you do?");
    walk.shows(|view| view.contains("println!(") && view.contains("Esc stops"));
    written.open();
    walk.rests("second one");

    walk.step(
        "A table",
        "It is shown once it is complete, as its last row may be the widest; until then it is said how far it is.",
    );
    walk.enters("which lines are there?");
    walk.shows(|view| view.contains("a table, 1 row so far") && view.contains("Esc stops"));
    tabled.open();
    walk.rests("No more.");
    walk.page.push_str(
        "\nOn a narrow screen cells are broken within their columns; where even that could not be read, each row is a list\n\
         of its cells. What is on the screen already moves no more.\n",
    );

    walk.step(
        "A question before a command runs",
        "It shows the command, why it is asked, and the rule that `s` and `a` would save. Ctrl-O shows all that it is about.",
    );
    walk.types("a draft");
    walk.presses(CTRL_U);
    walk.enters("run the tests");
    walk.shows(|view| view.contains("[y]") && view.contains("[a] always"));
    walk.page.push_str("\nAnswered with `y`. While the command runs, it is seen how far it is.\n");
    walk.enters("y");
    walk.shows(|view| view.contains("1 line: checking"));
    fs::write(world.work("out/go"), "").expect("a file");
    walk.page.push_str("\nAfterwards the result is there in short.\n");
    walk.rests("All 30 pass.");
    walk.page.push_str(
        "\nCtrl-O opens the whole of it, and `q` closes it again; here it is at its end.\n",
    );
    walk.presses(CTRL_O);
    walk.presses(END);
    walk.shows(|view| view.contains("\n30\n") && view.contains("q closes"));
    walk.types("q");
    walk.terminal.shows("the conversation", |view| view.contains("All 30 pass."));

    walk.step(
        "A change as a diff",
        "Shift+Tab has set the mode `acceptEdits`: changes of files in the project are not asked about. Removed lines are red, \
         added ones green.",
    );
    walk.presses(SHIFT_TAB);
    walk.enters("translate the second line");
    walk.rests("says zwei now");
    assert_eq!(walk.terminal.colour_of("-    println!(\"two\")"), Some(1), "red");
    assert_eq!(walk.terminal.colour_of("+    println!(\"zwei\")"), Some(2), "green");

    walk.step("A rule denies", "Nobody is asked, and the refusal names the rule.");
    walk.enters("turn it off");
    walk.rests("not allowed here");

    walk.step("Esc stops the answer", "What has been written stays.");
    walk.enters("tell me a story");
    walk.terminal.shows("a story", |view| view.contains("Once upon"));
    walk.presses(ESC);
    walk.rests("stopped");
    told.open();

    walk.step(
        "A text that is sent meanwhile waits for its turn",
        "The model reads it with the next results, in the same run.",
    );
    walk.enters("read my notes");
    walk.terminal.shows("the call", |view| view.contains("Read notes.md"));
    walk.enters("and be short");
    walk.shows(|view| view.contains("waits for its turn") && view.contains("✓ 0 lines"));
    heard.open();
    walk.rests("Both are done.");

    walk.step("Earlier texts come back", "Up, and up again; Down leads to what was being written.");
    walk.types("my draft");
    walk.presses(UP);
    walk.presses(UP);
    walk.shows(|view| view.contains("> read my notes"));
    walk.presses(DOWN);
    walk.presses(DOWN);
    walk.shows(|view| view.contains("> my draft"));
    walk.page.push_str(
        "\nCtrl-R looks for one by words in it, as in a shell. Enter sends what is found, Esc or an arrow leaves it for\n\
         editing, and Ctrl-G gives back what was being written.\n",
    );
    walk.presses(CTRL_R);
    walk.types("tests");
    walk.shows(|view| view.contains("(search) 'tests': run the tests"));
    walk.presses(ESC);
    walk.shows(|view| view.contains("\n> run the tests") || view.starts_with("> run the tests"));
    walk.presses(END);
    walk.presses(CTRL_U);

    walk.step(
        "Several lines, pastes and @paths",
        "Alt+Enter begins a new line (so do Ctrl-J, and `\\` before Enter). A paste is one text, whatever lines it has. Tab \
         completes what begins with `@`.",
    );
    walk.types("look at @s\tm\t");
    walk.shows(|view| view.contains("src/main.rs  src/map.rs"));
    walk.types("in\t");
    walk.presses(ALT_ENTER);
    walk.types("\u{1b}[200~and at\nthis 日本語\u{1b}[201~");
    walk.shows(|view| view.contains("  and at\n  this 日本語"));
    walk.enters("");
    walk.rests("three lines.");

    walk.step(
        "/help",
        "All commands and keys. While a command is typed, the line above says what it does.",
    );
    walk.types("/mo");
    walk.shows(|view| view.starts_with("/mode  /model"));
    walk.presses(CTRL_U);
    walk.enters("/help");
    walk.rests("Shift+Tab");

    for (command, words, shown) in [
        ("/mode", "Which mode it is; `/mode plan` sets one.", "the mode is"),
        ("/permissions", "The rules in force, and where each comes from.", "Bash(shutdown *)"),
        ("/tools", "The tools that the model has.", "Read"),
        ("/mcp", "The MCP servers and how they are.", "no MCP servers"),
        ("/agents", "The types of sub-agents.", "general-purpose"),
        ("/model", "Which model it is; `/model NAME` goes on with another.", "the model is"),
        ("/cost", "Tokens and dollars so far.", "tokens read"),
        ("/undo", "What would be given back; `/undo yes` does it.", "/undo yes does it"),
    ] {
        walk.step(command, words);
        walk.enters(command);
        walk.rests(shown);
    }

    walk.step("/compact", "A summary in place of the conversation.");
    walk.enters("/compact");
    walk.rests("was compacted");

    walk.step("/clear", "A new conversation in the same mode; the old one stays on disk.");
    walk.enters("/clear");
    walk.rests("a new conversation");

    walk.step("/resume", "Earlier sessions, and with an id back into one.");
    walk.enters("/resume");
    walk.rests("what will you do?");

    walk.step("40 columns", "The window is pulled smaller; what is written from then on fits.");
    walk.terminal.resizes(40, 30);
    walk.enters("/cost");
    walk.rests("tokens read");
    walk.terminal.resizes(90, 30);

    walk.step("/exit", "The terminal is as it was, and the last line says how to go on.");
    walk.enters("/exit");
    assert_eq!(walk.terminal.ends(), 0, "{}", walk.terminal);
    walk.shows_at_last(|view| view.contains("innerve --resume"));

    page.push_str("\n## NO_COLOR\n\nWith this variable nothing is coloured or bold.\n");
    let mut plain = innerve().env("NO_COLOR", "1").at_terminal_of(90, 30);
    let mut walk = Walk { terminal: &mut plain, page: &mut page };
    walk.rests("/help lists");
    walk.enters("/exit");
    assert_eq!(plain.ends(), 0, "{plain}");
    assert!(!String::from_utf8_lossy(&plain.raw()).contains("\u{1b}[1m"), "{plain}");

    let recording = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chat.cast");
    fs::write(&recording, terminal.cast()).expect("the target directory can be written");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/walk.md");
    if env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(&file, &page).expect("the page can be written");
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    let differs = written.lines().zip(page.lines()).find(|(written, seen)| written != seen);
    assert!(
        written == page,
        "docs/walk.md is not what is seen, first here: {differs:?}; `cargo xtask test the_walk --update` writes it anew"
    );
}
