//! What agents write every day, one row per command: `tests/corpus/everyday.txt`.
//!
//! `UPDATE_EXPECT=1` writes the rows anew; look at the diff before you commit.

use std::fmt::Write as _;
use std::path::PathBuf;

use innerve_bash::{Analysis, Class, Command, Effect, Word, analyze};

/// Between the columns of a row, and between the commands in the third.
const COLUMN: &str = " ┃ ";
const COMMAND: &str = " ¦ ";

/// Stands for a line break inside a command.
const LINE_BREAK: &str = "⏎";

fn path() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/everyday.txt"))
}

/// The row for a command: class and effects, the command, the argv lists, what is written and removed.
fn row(command: &str) -> String {
    let analysis = analyze(&command.replace(LINE_BREAK, "\n"));
    let verdict = match &analysis {
        Analysis::Commands(_) => analysis.class().name().to_owned(),
        Analysis::Opaque(opaque) => format!("opaque:{}", opaque.reason.code.name()),
    };
    let effects: Vec<&str> = analysis.effects().iter().map(Effect::name).collect();
    let verdict = format!("{verdict} {}", effects.join(" "));
    let commands: Vec<String> = analysis.commands().iter().map(argv).collect();
    let mut row = [verdict.trim_end(), command, &commands.join(COMMAND)].join(COLUMN);
    let mut files = String::new();
    for found in analysis.commands() {
        for (kind, paths) in [("writes", &found.writes), ("deletes", &found.deletes)] {
            for path in paths {
                let _ = write!(files, " {kind}:{}", path.as_deref().unwrap_or("*"));
            }
        }
    }
    if !files.is_empty() {
        row.push_str(COLUMN);
        row.push_str(files.trim_start());
    }
    row
}

/// The words of a command; `*` for one that is not static, in quotation marks where it could be mistaken.
fn argv(command: &Command) -> String {
    let plain = |text: &str| {
        !text.is_empty()
            && text != "*"
            && text.chars().all(|character| {
                character.is_alphanumeric() || "_-+=.,:/@%^~!?#&<>()[]{}*$|;".contains(character)
            })
    };
    let words: Vec<String> = command
        .argv
        .iter()
        .map(|word| match word {
            Word::Literal(text) if plain(text) => text.clone(),
            Word::Literal(text) => format!("{text:?}"),
            Word::Dynamic(_) => "*".to_owned(),
        })
        .collect();
    if words.is_empty() { "-".to_owned() } else { words.join(" ") }
}

#[test]
fn every_row_of_the_corpus_is_what_is_found() {
    let expected = std::fs::read_to_string(path()).expect("the corpus is there");
    let found: Vec<String> = expected
        .lines()
        .map(|line| {
            if line.is_empty() || line.starts_with("# ") {
                return line.to_owned();
            }
            row(line.split(COLUMN).nth(1).expect("a command in the second column"))
        })
        .collect();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path(), found.join("\n") + "\n").expect("written");
        return;
    }
    let wrong: Vec<String> = expected
        .lines()
        .zip(&found)
        .filter(|(expected, found)| expected != found)
        .map(|(expected, found)| format!("- {expected}\n+ {found}"))
        .collect();
    assert!(wrong.is_empty(), "{} rows differ\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_corpus_is_large_and_no_row_stands_twice() {
    let text = std::fs::read_to_string(path()).expect("the corpus is there");
    let mut commands: Vec<&str> =
        text.lines().filter_map(|line| line.split(COLUMN).nth(1)).collect();
    assert!(commands.len() >= 400, "{}", commands.len());
    let free =
        |command: &&&str| analyze(&command.replace(LINE_BREAK, "\n")).class() <= Class::ReadOnly;
    let reads = commands.iter().filter(free).count();
    assert!(reads >= 200 && commands.len() - reads >= 200, "{reads} of {}", commands.len());
    commands.sort_unstable();
    let doubled = commands.windows(2).find(|pair| pair[0] == pair[1]);
    assert_eq!(doubled, None);
}
