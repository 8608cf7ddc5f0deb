//! Tables: what is one, what its cells are, and how it is shown on screens of any width.

use std::time::{Duration, Instant};

use super::super::Markdown;
use super::*;
use crate::chat::screen::width;
use crate::output::BOLD;

fn styled(text: &str, room: usize) -> Vec<String> {
    let mut markdown = Markdown::default();
    let mut lines = markdown.push(text, room);
    lines.extend(markdown.finish(room));
    lines
}

fn shown(text: &str, room: usize) -> Vec<String> {
    styled(text, room).iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect()
}

/// However the words are cut, a screen of so many columns shows this.
#[track_caller]
fn check(room: usize, text: &str, expected: &[&str]) {
    assert_eq!(shown(text, room), expected, "at once");
    let mut markdown = Markdown::default();
    let mut lines: Vec<String> =
        text.chars().flat_map(|letter| markdown.push(&letter.to_string(), room)).collect();
    lines.extend(markdown.finish(room));
    let lines: Vec<String> =
        lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect();
    assert_eq!(lines, expected, "letter by letter");
    assert!(lines.iter().all(|line| width(line) <= room), "within {room} columns");
}

#[test]
fn columns_are_as_wide_as_their_widest_cell() {
    check(
        80,
        "Before\n| Crate | Does |\n|---|---|\n| `bash` | reads **commands** |\n| mcp | talks |\n\nAfter",
        &[
            "Before",
            "Crate │ Does",
            "──────┼───────────────",
            "bash  │ reads commands",
            "mcp   │ talks",
            "",
            "After",
        ],
    );
    check(80, "a|b\n-|-\n1|2", &["a │ b", "──┼──", "1 │ 2"]);
    check(80, "| a |\n| - |\n| 12 |", &["a", "──", "12"]);
    check(80, "  | a | b |\n  |---|---|\n  | 1 |", &["  a │ b", "  ──┼──", "  1 │"]);
}

#[test]
fn cells_keep_to_the_side_that_is_asked_for() {
    check(
        80,
        "| left | middle | right | none |\n|:--|:-:|--:|---|\n| a | b | c | d |\n| aaaaa | bb | 10 | |",
        &[
            "left  │ middle │ right │ none",
            "──────┼────────┼───────┼─────",
            "a     │   b    │     c │ d",
            "aaaaa │   bb   │    10 │",
        ],
    );
}

#[test]
fn wide_and_combining_characters_stand_in_their_columns() {
    check(
        80,
        "| a | b |\n|---|---|\n| 日本語 | 1 |\n| e\u{301} | 2 |\n| ✅ | 3 |",
        &["a      │ b", "───────┼──", "日本語 │ 1", "e\u{301}      │ 2", "✅     │ 3"],
    );
    // Whatever a terminal takes this for, the second column begins where it does in all rows.
    let lines = styled("| a | b |\n|---|---|\n| ⚠\u{fe0f} | 1 |\n| plain | 2 |", 80);
    assert!(lines[2].starts_with("\u{1b}[K") && lines[2].contains("\u{1b}[6G"), "{lines:?}");
    assert!(!lines[3].contains("\u{1b}[6G"), "{lines:?}");
}

#[test]
fn headers_are_bold_and_styles_end_with_their_cell() {
    let (bold, end) = (BOLD.to_string(), format!("{BOLD:#}"));
    let lines = styled("| a `b` c | d |\n|---|---|\n| **one two three** | x |", 12);
    let header = lines.first().unwrap();
    assert!(header.starts_with(&bold) && header.contains(&format!("{end}{bold}")), "{lines:?}");
    for line in &lines {
        let before = line.split(" │ ").next().unwrap().trim_end_matches("\u{1b}[2m");
        assert!(!before.contains('\u{1b}') || before.trim_end().ends_with(&end), "{line:?}");
    }
}

#[test]
fn pipes_that_are_escaped_or_in_code_divide_nothing() {
    #[track_caller]
    fn check(line: &str, most: usize, expected: &[&str]) {
        assert_eq!(cells(line, most), expected);
    }
    check(r"| a \| b | c |", 2, &["a | b", "c"]);
    check(r"| `a \| b` | c |", 2, &["`a | b`", "c"]);
    check("| `a | b` | c |", 2, &["`a | b`", "c"]);
    check("| ``a ` | b`` | c |", 2, &["``a ` | b``", "c"]);
    check("| `a | b |", 2, &["`a", "b"]);
    check("a | b | c | d", 2, &["a", "b | c | d"]);
    check("| a", 3, &["a"]);
    check("|", 3, &[]);
    check("||", 3, &[""]);
    check(r"| a \|", 3, &["a |"]);
    check(r"| C:\| b |", 3, &["C:| b"]);
    check("", 3, &[""]);
}

#[test]
fn what_is_no_table_stays_as_it_is() {
    for text in [
        "a | b\nc | d",
        "| a | b |\n| - |",
        "| a | b |\n|---|---|---|",
        "| a | b |\n| --- | -x- |",
        "| a | b |\n| : | - |",
        "| a | b |",
        "| a |\n-",
        "```\n| a | b |\n|---|---|\n```",
        "# a | b\n|---|---|",
        "|\n|",
    ] {
        let expected: Vec<&str> = text.lines().collect();
        check(80, text, &expected);
    }
}

#[test]
fn a_table_ends_where_something_else_begins() {
    check(80, "|a|b|\n|-|-|\n|1|2|\nDone.", &["a │ b", "──┼──", "1 │ 2", "Done."]);
    check(80, "|a|b|\n|-|-|\n|1|2|\n# a|b", &["a │ b", "──┼──", "1 │ 2", "# a|b"]);
    check(
        80,
        "|a|b|\n|-|-|\n|1|2|\n```a|b\n|x|\n```",
        &["a │ b", "──┼──", "1 │ 2", "```a|b", "|x|", "```"],
    );
    check(80, "|a|b|\n|-|-|", &["a │ b", "──┼──"]);
    check(80, "x|y\n|a|b|\n|-|-|\n|1|2|", &["x|y", "a │ b", "──┼──", "1 │ 2"]);
}

#[test]
fn what_is_wider_than_the_screen_is_broken_within_its_column() {
    check(
        40,
        "| Flag | What it does |\n|---|---|\n| `--add-dir` | one more directory in which files may be changed |\n| `-p` | prints |",
        &[
            "Flag      │ What it does",
            "──────────┼─────────────────────────────",
            "--add-dir │ one more directory in which",
            "          │ files may be changed",
            "──────────┼─────────────────────────────",
            "-p        │ prints",
        ],
    );
    check(
        40,
        "| 見出し | 説明 |\n|---|---|\n| 設定 | 設定を読み込みますので少々お待ちくださいませ |",
        &[
            "見出し │ 説明",
            "───────┼────────────────────────────────",
            "設定   │ 設定を読み込みますので少々お待",
            "       │ ちくださいませ",
        ],
    );
}

#[test]
fn what_does_not_fit_in_columns_is_shown_cell_by_cell() {
    check(
        40,
        "| Name | Version | Licence | What it is for | |\n|---|---|---|---|---|\n\
         | serialization | 1.0.228-beta | MIT OR Apache-2.0 | turns values into text and text into values again | x |\n\
         | second-in-line | | none-at-all | short | |",
        &[
            "Name: serialization",
            "Version: 1.0.228-beta",
            "Licence: MIT OR Apache-2.0",
            "What it is for: turns values into text",
            "  and text into values again",
            "x",
            "───",
            "Name: second-in-line",
            "Licence: none-at-all",
            "What it is for: short",
        ],
    );
    let many = "| column ".repeat(30);
    let lines = shown(&format!("{many}|\n{}|", "|-".repeat(30)), 40);
    assert_eq!(lines, vec!["column"; 30], "a header alone");
}

#[test]
fn breaks_of_html_are_breaks_of_a_cell() {
    check(
        80,
        "| a | b |\n|---|---|\n| one<br>two<BR />three | <b>x |",
        &["a     │ b", "──────┼─────", "one   │ <b>x", "two   │", "three │"],
    );
    check(
        12,
        "| long header | b |\n|-|-|\n| 1<br/>2 | 3 |",
        &["long", "  header: 1", "  2", "b: 3"],
    );
}

#[test]
fn every_width_is_kept_to() {
    let text = "| one | 日本語 | three words here |\n|--:|:-:|---|\n| `code` and **bold** | ❤\u{fe0f} x | https://host.example/a/long/path |\n| 1 |";
    for room in 1..60 {
        for line in shown(text, room) {
            assert!(width(&line) <= room.max(2), "{room}: {line}");
        }
    }
}

#[test]
fn nothing_is_held_up_but_the_table_itself() {
    let mut markdown = Markdown::default();
    assert_eq!(markdown.push("Here:\n\n| a | b |", 80), ["Here:", ""]);
    assert_eq!(markdown.push("\n|---", 80), Vec::<String>::new());
    assert_eq!(markdown.waiting(80).unwrap(), "| a | b |");
    assert_eq!(markdown.unfinished(80).unwrap(), "|---");
    assert!(markdown.push("|---|\n| 1 | 2 |\n", 80).is_empty());
    assert!(markdown.waiting(80).unwrap().contains("a table, 1 row so far"));
    assert_eq!(markdown.push("\nAfter", 80).len(), 4, "three lines and the blank one");
    assert!(markdown.waiting(80).is_none());
}

#[test]
fn a_long_table_is_shown_in_pieces_and_fast() {
    let since = Instant::now();
    let mut markdown = Markdown::default();
    let mut lines = markdown.push("| n | text |\n|--:|---|\n", 60);
    for row in 0..10_000 {
        lines.extend(markdown.push(&format!("| {row} | some words and `code` |\n"), 60));
        if row == 2_500 {
            assert!(lines.len() > 2_000, "the beginning is there");
        }
    }
    lines.extend(markdown.finish(60));
    assert_eq!(lines.len(), 10_000 + 2 * 2, "the header comes again where a column is wider");
    let last = anstream::adapter::strip_str(lines.last().unwrap()).to_string();
    assert_eq!(last, "9999 │ some words and code");
    assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
}

#[test]
fn a_window_of_another_size_meanwhile_gets_the_header_again() {
    let mut markdown = Markdown::default();
    let rows = "| a | b |\n".repeat(MAX_WAITING.0);
    let lines = markdown.push(&format!("| x | y |\n|---|---|\n{rows}"), 60);
    assert_eq!(lines.len(), MAX_WAITING.0 + 2);
    assert!(markdown.finish(40).is_empty(), "there is nothing more to show");
    let mut markdown = Markdown::default();
    markdown.push(&format!("| x | y |\n|---|---|\n{rows}| 1 | 2 |\n"), 60);
    assert_eq!(markdown.finish(40).len(), 3);
}

#[test]
fn a_cell_or_a_header_without_end_takes_no_time() {
    let since = Instant::now();
    let text = format!("| a | b |\n|---|---|\n| {} | x |\n", "word ".repeat(100_000));
    assert!(shown(&text, 40).len() > 10_000);
    let wide = format!("{}\n{}\n{}", "|h".repeat(20_000), "|-".repeat(20_000), "|\n".repeat(900));
    assert!(shown(&wide, 40).len() < 3_000);
    let marks = format!("| a |\n|---|\n| {} | `x |", "` `` ``` ".repeat(20_000));
    assert!(!shown(&marks, 40).is_empty());
    assert!(since.elapsed() < Duration::from_secs(20), "{:?}", since.elapsed());
}

/// Words that tables are made of, in an order that nobody would think of, again and again the same.
fn jumble(seed: u64) -> String {
    const WORDS: [&str; 22] = [
        "|",
        "|",
        "|",
        "\n",
        "\n",
        "---",
        ":-:",
        "-",
        ":",
        "`",
        "``",
        "\\",
        "**",
        "_",
        "<br>",
        " ",
        "\t",
        "日本",
        "e\u{301}",
        "👩\u{200d}👧",
        "word",
        "```\n",
    ];
    let mut state = seed;
    let mut text = String::from(if seed.is_multiple_of(2) { "|a|b|\n|-|-:|\n" } else { "" });
    for _ in 0..60 {
        // Knuth's multiplier; the high bits are the good ones.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = usize::try_from(state >> 33).unwrap() % WORDS.len();
        text.push_str(WORDS[at]);
    }
    text
}

#[test]
fn whatever_comes_is_shown_within_the_screen_and_the_same_in_pieces() {
    for seed in 0..3_000 {
        let text = jumble(seed);
        let room = 4 + usize::try_from(seed % 40).unwrap();
        let lines = styled(&text, room);
        let mut markdown = Markdown::default();
        let mut pieces: Vec<String> =
            text.chars().flat_map(|letter| markdown.push(&letter.to_string(), room)).collect();
        pieces.extend(markdown.finish(room));
        assert_eq!(lines, pieces, "{text:?}");
        let shown = anstream::adapter::strip_str(&lines.concat()).to_string();
        for letter in ['w', '日', '👧'] {
            // Headers may come more than once.
            let kept = shown.matches(letter).count() >= text.matches(letter).count();
            assert!(kept, "{text:?} {shown}");
        }
        for line in lines.iter().filter(|line| line.contains("│")) {
            assert!(width(line) <= room, "{room} {text:?} {line}");
        }
    }
}
