//! Permission cases in Markdown: each row of each table is decided by the engine itself and compared.
//!
//! The notation is described in `README.md` beside this file.

mod decide;
mod disk;
mod notation;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use notation::Case;

/// Runs one file of this folder.
fn run(name: &str) {
    run_file(&format!("tests/specs/{name}.md"));
}

/// Runs a file of the workspace and tells every row that is wrong.
fn run_file(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (rows, wrong) = wrong_rows(name, &text);
    assert!(rows > 0, "{name} has no rows");
    assert!(wrong.is_empty(), "{} of {rows} rows are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// The number of rows in a text, and what is wrong with them.
fn wrong_rows(file: &str, text: &str) -> (usize, Vec<String>) {
    let document = match notation::read(text) {
        Ok(document) => document,
        Err(problem) => return (1, vec![format!("{file}:{problem}")]),
    };
    let mut wrong = Vec::new();
    for row in &document.rows {
        let place = format!("{file}:{}", row.line);
        let problems = match &row.case {
            Case::Calls(cases) => {
                cases.iter().flat_map(|case| decide::check_call(&row.disk, case)).collect()
            }
            Case::Rule(case) => decide::check_rule(case),
        };
        wrong.extend(problems.into_iter().map(|problem| format!("{place}: {problem}")));
    }
    (document.rows.len(), wrong)
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("specs")
}

macro_rules! specs {
    ($($name:ident),+ $(,)?) => {
        $(
            #[test]
            fn $name() {
                run(stringify!($name));
            }
        )+

        #[test]
        fn every_file_is_run() {
            let run: BTreeSet<String> = [$(stringify!($name)),+].map(str::to_owned).into();
            let files: BTreeSet<String> = fs::read_dir(folder())
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .filter_map(|name| Some(name.strip_suffix(".md")?.to_owned()))
                .filter(|name| name != "README")
                .collect();
            assert_eq!(run, files);
        }
    };
}

specs![
    precedence, commands, compounds, wrappers, reads, paths, windows, tools, table, modes, sandbox,
    hooks, parsing,
];

#[test]
fn the_examples_of_the_notation_hold() {
    run("README");
}

#[test]
fn the_table_in_the_readme_of_the_engine_holds() {
    run_file("crates/innerve-permission/README.md");
}

#[test]
fn a_wrong_row_is_told_with_its_place_what_was_expected_and_what_came() {
    let text = "\
# A title

| settings | mode | call | decision | why |
|---|---|---|---|---|
| `deny Bash(rm *)` | | `$ rm x` | deny | `deny_rule` |
| `deny Bash(rm *)` | | `$ ls`, `$ rm x` | allow | `read_only` |
| | dontAsk | `$ make` | deny | `read_only` |
| | | `$ make` | ask | `default` by `nobody` |
";
    let (rows, wrong) = wrong_rows("f.md", text);
    assert_eq!(rows, 4);
    assert_eq!(
        wrong,
        [
            "f.md:6: `$ rm x` in mode default: expected allow, got deny (deny_rule: denied by the project rule `Bash(rm *)`)",
            "f.md:7: `$ make` in mode dontAsk: deny as expected, but the reason's code is not quoted (default: nothing allows `make`; mode dontAsk denies what it would ask)",
            "f.md:8: `$ make` in mode default: ask as expected, but not for the words `nobody` (default: nothing allows `make`)",
        ]
    );
}

#[test]
fn a_wrong_cell_of_a_matrix_is_told_with_its_mode() {
    let text = "| what | settings | call | default | dontAsk | plan + bypass available |\n|---|---|---|---|---|---|\n\
                | x | `ask Read(a)` | `$ make` | ask | ask | ask |\n";
    let (_, wrong) = wrong_rows("f.md", text);
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    assert!(wrong[0].starts_with("f.md:3: `$ make` in mode dontAsk: expected ask, got deny"));
    assert!(wrong[1].starts_with("f.md:3: `$ make` in mode plan: expected ask, got allow"));
}

#[test]
fn what_is_no_row_is_told_with_its_line() {
    let table = |row: &str| {
        format!("\n| settings | mode | call | decision | why |\n|---|---|---|---|---|\n{row}\n")
    };
    for (row, problem) in [
        ("| `deny Bash(rm *)` | | `$ rm x` | perhaps | x |", "`perhaps`"),
        ("| `deny Bash(rm *)` | | `$ rm x` | deny |", "4 cells"),
        ("| deny Bash(rm *) | | `$ rm x` | deny | x |", "`deny Bash(rm *)`"),
        ("| `forbid Bash` | | `$ rm x` | deny | x |", "`forbid Bash`"),
        ("| | yolo | `$ rm x` | deny | x |", "yolo"),
        ("| | | | deny | x |", "no call"),
        ("| | | `rm` | deny | x |", "`rm`"),
    ] {
        let (_, wrong) = wrong_rows("f.md", &table(row));
        assert_eq!(wrong.len(), 1, "{row}: {wrong:?}");
        assert!(wrong[0].starts_with("f.md:4: ") && wrong[0].contains(problem), "{wrong:?}");
    }
}
