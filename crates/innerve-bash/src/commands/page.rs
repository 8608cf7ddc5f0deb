//! The table as a page for people, `docs/commands.md`.

use std::fmt::Write as _;
use std::path::Path;

use super::builtins::{self, Judged};
use super::packages::VERSIONED;
use super::wrappers::{self, Inside};
use super::{Examples, GROUPS, Operands, Program, SECTIONS};
use crate::judge::{Dynamic, FIND_PLAIN, FIND_VALUED};
use crate::{Class, Effect};

const INTRODUCTION: &str = "\
# The command table

Printed by a test from the table in the source; `UPDATE_EXPECT=1 cargo test -p innerve-bash` prints it anew.

Each entry is one form of a program. A command is judged by the first entry of its name whose options and operands fit;
when none fits, or the program is not listed, it is `unknown`. Options are a positive list:

| written | means |
|---|---|
| `-abc` | flags, alone or in clusters |
| `-n=`, `--name=` | takes a value, attached or the next word; `=<` names a file that is read, `=>` one that is written |
| `-U?`, `--name?` | takes a value only when it is attached |
| `--name==` | takes two values |
| `-#` | a number, such as `-20` |
| `~-br` | one option of several letters |
| `!--name` | known and refused |
| any | every option |

*Shortened*: long options may be shortened as long as they stay unambiguous. *Careful*: words that are not known before
the command runs must not be able to turn into options.
";

fn render() -> String {
    let mut page = INTRODUCTION.to_owned();
    for (title, rows) in SECTIONS {
        let _ = write!(page, "\n## {title}\n");
        for row in *rows {
            program(&mut page, row);
        }
    }
    page.push_str("\n## Programs with subcommands\n\n| program | options before the subcommand |\n|---|---|\n");
    for group in GROUPS.iter().copied().flatten() {
        let _ = writeln!(page, "| `{}` | {} |", group.name, options(group.options));
    }
    let _ = write!(
        page,
        "\nOnly a version is printed by `--version` of the programs that read or only write files, and of {}.\n",
        codes(VERSIONED)
    );
    page.push_str("\n## Wrappers\n\nThe command inside is reported on its own, and the wrapper takes over its class and effects.\n");
    for row in wrappers::ROWS {
        wrapper(&mut page, row);
    }
    let _ = write!(page, "\nTests and options of `find` without a word: {}.\n", codes(FIND_PLAIN));
    let _ = write!(page, "\nWith one word: {}.\n", codes(FIND_VALUED));
    page.push_str("\n## Builtins of bash\n\n| builtin | is | careful with | fine | not |\n|---|---|---|---|---|\n");
    for row in builtins::ROWS {
        let judged = match row.judged {
            Judged::Inert => "inert",
            Judged::Rule => "judged by its words",
            Judged::State => "state",
            Judged::Refused => "opaque",
        };
        let Examples { note, matching, others } = row.examples;
        let _ = writeln!(
            page,
            "| `{}` | {judged} | {} | {} | {} |",
            row.name,
            note.replace('|', "\\|"),
            codes(matching).replace('|', "\\|"),
            codes(others).replace('|', "\\|")
        );
    }
    page
}

fn program(page: &mut String, row: &Program) {
    let _ = write!(page, "\n### {}\n\n", row.names.join(", "));
    let mut facts = vec![class(row.class).to_owned()];
    if !row.effects.is_empty() {
        facts.push(format!("effects {}", effects(row.effects)));
    }
    if !row.complete {
        facts.push("perhaps more".to_owned());
    }
    facts.push(format!("operands: {}", operands(row.operands)));
    if row.abbreviates {
        facts.push("shortened".to_owned());
    }
    if row.dynamic == Dynamic::Doubtful {
        facts.push("careful".to_owned());
    }
    let _ = writeln!(page, "{}.  ", facts.join("; "));
    let _ = writeln!(page, "Options: {}", options(row.options));
    examples(page, row.examples);
}

fn wrapper(page: &mut String, row: &wrappers::Wrapper) {
    let inside = match row.inside {
        Inside::Operand(0) => "behind the options",
        Inside::Operand(_) => "behind the options and one operand",
        Inside::Time | Inside::Command => "the next words",
        Inside::Env => "behind options and variables",
        Inside::Xargs => "behind the options, with words from the input",
        Inside::Find | Inside::Fd => "behind the options that run one",
        Inside::Shell => "the text behind `-c`",
        Inside::Eval | Inside::Later => "its words; the text is opaque",
        Inside::Nowhere => "not looked for; the text is opaque",
    };
    let _ = write!(page, "\n### {}\n\n{inside}", row.names.join(", "));
    if !row.effects.is_empty() {
        let _ = write!(page, "; effects {}", effects(row.effects));
    }
    let _ = writeln!(page, ".  \nOptions: {}", options(row.options));
    examples(page, row.examples);
}

fn examples(page: &mut String, examples: Examples) {
    let Examples { note, matching, others } = examples;
    for (title, text) in
        [("Careful with", note.to_owned()), ("Fits", codes(matching)), ("Does not", codes(others))]
    {
        if !text.is_empty() {
            let _ = write!(page, "\n- {title}: {text}");
        }
    }
    page.push('\n');
}

fn class(class: Class) -> &'static str {
    match class {
        Class::Neutral => "Neutral",
        Class::ReadOnly => "Reads",
        Class::Write => "Writes",
        Class::Unknown => "Unknown",
    }
}

fn effects(effects: &[Effect]) -> String {
    let names: Vec<String> = effects.iter().map(|effect| format!("`{}`", effect.name())).collect();
    names.join(" ")
}

fn operands(operands: Operands) -> &'static str {
    match operands {
        Operands::Text => "no paths",
        Operands::LookAt => "paths that are looked at",
        Operands::Read => "files that are read",
        Operands::PatternThenRead => "a pattern, then files that are read",
        Operands::Write => "files that are written",
        Operands::ScriptThenRead => "a program, then files that are read",
        Operands::VerbAndScriptThenRead => "a verb and a program, then files that are read",
        Operands::ScriptThenWrite => "a program, then files that are written",
        Operands::ModeThenWrite => "a mode, then files that are changed",
        Operands::Delete => "files that are removed",
        Operands::Copy => "files that are read, then the one that is written",
        Operands::Move => "files that are moved, then where to",
        Operands::Link => "targets, then the link that is made",
        Operands::InOut => "`if=` a file that is read, `of=` one that is written",
    }
}

fn options(list: &str) -> String {
    match list {
        "" => "none".to_owned(),
        "*" => "any".to_owned(),
        _ => format!("`{}`", list.split_whitespace().collect::<Vec<_>>().join(" ")),
    }
}

/// Each text as code, whatever backticks and line breaks it holds.
fn codes(texts: &[&str]) -> String {
    let code = |text: &&str| {
        let text = text.replace('\n', "⏎");
        if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
    };
    texts.iter().map(code).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
#[test]
fn the_printed_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/commands.md");
    let page = render();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        std::fs::write(&path, &page).expect("written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "docs/commands.md is not what the table says; run with UPDATE_EXPECT=1");
}
