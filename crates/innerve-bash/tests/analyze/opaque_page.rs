//! What is opaque and why, as a page for people: `docs/opaque.md`, printed from the answers of the analyzer.
//!
//! `UPDATE_EXPECT=1` prints it anew.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use innerve_bash::{OpaqueCode, analyze};

const INTRODUCTION: &str = "\
# What is opaque

Printed by a test from what the analyzer answers; `UPDATE_EXPECT=1 cargo test -p innerve-bash` prints it anew.

`Opaque` means: anything may run, so ask. The code is stable; the message names the place in the text. `⏎` is a line break.
";

/// Texts that are opaque, at least one for each kind of reason.
const EXAMPLES: &[(OpaqueCode, &[&str])] = &[
    (
        OpaqueCode::TooLarge,
        &[LONG, MANY, DEEP, "sh -c 'sh -c \"sh -c \\\"sh -c \\\\\\\"sh -c ls\\\\\\\"\\\"\"'"],
    ),
    (OpaqueCode::Characters, &["ls\rrm x", "ls\u{a0}x", "echo a\u{200b}b", "echo \u{202e}x"]),
    (OpaqueCode::Syntax, &["echo 'a", "echo (a", "# a comment", "cat 3<>f"]),
    (
        OpaqueCode::Construct,
        &[
            "x=(a b)",
            "select x in a b; do ls; done",
            "coproc ls",
            "((x = 1))",
            "for ((i = 0; i < 3; i++)); do ls; done",
            "for x; do ls; done",
            "echo $\"a\"",
            "echo \\ a",
            "echo 'a'\\\n'b'",
            "echo a``b",
            "echo `ls \"a\"`",
            "echo $(ls # a\n)",
            "ls {fd}>f",
            "f()\n{ ls; }",
            "f-g() { ls; }",
            "cat <<E F\na\nE",
            "cat <<\\E\na\nE",
            "x=$(cat <<E\na\nE\n)",
            "! ! ls",
            "unset x",
            "case a in @(a|b)) ls;; esac",
        ],
    ),
    (
        OpaqueCode::DynamicCommand,
        &[
            "$CMD a",
            "\"$EDITOR\" f",
            "$(which ls)",
            "~/bin/x",
            "./x*",
            "ls | xargs -I{} {}",
            "bash -c '\"$@\"' _ ls",
        ],
    ),
    (
        OpaqueCode::EvaluatesData,
        &[
            "echo $((x + 1))",
            "echo ${a[i]}",
            "x[i]=1",
            "x[0]=1 ls",
            "echo ${!x}",
            "echo \"${x@P}\"",
            "echo ${x:-$(ls)}",
            "echo ${x:1:2}",
            "let x=1",
            "[ -v x ]",
            "[ $x ]",
            "[[ $x -eq 1 ]]",
            "printf -v x a",
            "printf \"$x\" y",
            "read PATH",
            "read -a words",
            "wait -p x",
            "RANDOM=1",
            "ls >&\"$x\"",
        ],
    ),
    (
        OpaqueCode::ChangesState,
        &[
            "eval ls",
            "source venv/bin/activate",
            "alias ls=rm",
            "trap 'rm x' EXIT",
            "exec make",
            "shopt -s extglob",
            "set -k",
            "declare -i x",
            "mapfile -t lines",
            "hash -p ./x ls",
            "PATH=. ls",
            "GIT_PAGER=x git log",
            "export LD_PRELOAD=x",
            "env PATH=. ls",
            "ls | xargs --process-slot-var=PATH ls",
            "for PATH in a; do ls; done",
            "git() { ls; }",
        ],
    ),
    (
        OpaqueCode::Wrapper,
        &[
            "bash a.sh",
            "ls | sh",
            "bash -c \"$x\"",
            "bash -c +x ls",
            "bash -O extglob -c ls",
            "zsh -c ls",
            "sh -c '[[ a ]]'",
            "env -S 'rm x'",
            "env $x",
            "timeout $t ls",
            "time ! ls",
            "sudo -s",
            "sudo A=1 ls",
            "find . $x -exec ls \\;",
            "find . -name \"a\" $x",
            "fd a -x",
            "jobs -x ls",
            "flock lock ls",
        ],
    ),
    (OpaqueCode::Disagreement, &[]),
];

/// Stand for texts that are too long to print.
const LONG: &str = "(10,001 characters)";
const MANY: &str = "(`ls;`, 101 times)";
const DEEP: &str = "(`(`, 200 times, `ls`, and as many `)`)";

fn text(example: &str) -> String {
    match example {
        LONG => "x".repeat(10_001),
        MANY => "ls;".repeat(101),
        DEEP => format!("{}ls{}", "(".repeat(200), ")".repeat(200)),
        _ => example.to_owned(),
    }
}

fn shown(example: &str) -> String {
    let visible: String = example
        .chars()
        .map(|character| match character {
            '\n' => "⏎".to_owned(),
            ' '..='~' | '⏎' => character.to_string(),
            _ => format!("U+{:04X}", u32::from(character)),
        })
        .collect();
    if matches!(example, LONG | MANY | DEEP) {
        return visible;
    }
    let quote = if visible.contains('`') { "``" } else { "`" };
    let pad = if visible.contains('`') { " " } else { "" };
    format!("{quote}{pad}{}{pad}{quote}", visible.replace('|', "\\|"))
}

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    let mut wrong = Vec::new();
    for (code, examples) in EXAMPLES {
        let _ = write!(page, "\n## `{}`\n\n{}\n", code.name(), code.meaning());
        if examples.is_empty() {
            page.push_str(
                "\nNo text is known for it: each one that the tests found became a rule.\n",
            );
            continue;
        }
        page.push_str("\n| text | message |\n|---|---|\n");
        for example in *examples {
            let analysis = analyze(&text(example));
            match analysis.opaque().filter(|reason| reason.code == *code) {
                None => wrong.push(format!("{example:?} gives {:?}", analysis.opaque())),
                Some(reason) => {
                    let message = reason.message.replace('|', "\\|");
                    let _ = writeln!(page, "| {} | {message} |", shown(example));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "not of the code of their section: {wrong:#?}");
    page
}

#[test]
fn the_printed_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/opaque.md");
    let page = page();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &page).expect("the page can be written");
    }
    let printed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        printed == page,
        "docs/opaque.md is not what the analyzer says; run with UPDATE_EXPECT=1"
    );
}

#[test]
fn every_code_is_on_the_page_and_in_the_readme() {
    let all = [
        OpaqueCode::TooLarge,
        OpaqueCode::Characters,
        OpaqueCode::Syntax,
        OpaqueCode::Construct,
        OpaqueCode::DynamicCommand,
        OpaqueCode::EvaluatesData,
        OpaqueCode::ChangesState,
        OpaqueCode::Wrapper,
        OpaqueCode::Disagreement,
    ];
    let readme = include_str!("../../README.md");
    for (code, (on_page, _)) in all.iter().zip(EXAMPLES) {
        assert_eq!(code, on_page);
        let row = format!("| `{}` | {} |", code.name(), code.meaning());
        assert!(readme.contains(&row), "the README lacks {row:?}");
    }
    assert_eq!(all.len(), EXAMPLES.len());
}
