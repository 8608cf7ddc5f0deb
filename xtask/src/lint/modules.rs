//! What every Rust file must look like: a first line that says what it is for, a bounded length, a telling name.

use super::{Finding, finding};
use crate::workspace::Source;

/// The longest a file may be.
const LINES: usize = 500;

/// How a crate says what it is for when its README is its documentation.
const README_AS_DOC: &str = "#![doc = include_str!(\"../README.md\")]";

/// Files that may be longer, each with the reason.
const LONG: &[(&str, &str)] = &[];

/// Names that invite anything and say nothing.
const EMPTY_NAMES: &[&str] = &[
    "util", "utils", "helper", "helpers", "common", "misc", "shared", "stuff", "manager", "handler",
];

/// Endings of type names that say nothing.
const EMPTY_ENDINGS: &[&str] =
    &["Manager", "Handler", "Helper", "Helpers", "Util", "Utils", "Info"];

/// Checks every Rust file.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    sources.iter().filter(|source| source.has_extension("rs")).flat_map(check_one).collect()
}

fn check_one(source: &Source) -> Vec<Finding> {
    let Source { path, text } = source;
    let mut findings = Vec::new();
    if !text.starts_with("//! ") && !text.starts_with(README_AS_DOC) {
        findings.push(finding(
            path,
            1,
            "the file does not say what it is for",
            "begin it with one `//!` sentence",
        ));
    }
    let lines = text.lines().count();
    if lines > LINES && !is_test(path) && !LONG.iter().any(|(long, _)| long == path) {
        findings.push(finding(
            path,
            LINES + 1,
            format!("the file has {lines} lines, more than {LINES}"),
            "split it by idea, move its tests to a `tests.rs`, or list it with a reason in xtask/src/lint/modules.rs",
        ));
    }
    let stem = path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
    if stem == "mod" {
        findings.push(finding(path, 1, "a `mod.rs`", "name it `x.rs` beside the folder `x`"));
    }
    for part in path.trim_end_matches(".rs").split('/') {
        if EMPTY_NAMES.contains(&part) {
            findings.push(finding(
                path,
                1,
                format!("`{part}` does not say what is inside"),
                "name it for its one idea",
            ));
        }
    }
    let ignore = concat!("#[", "ignore");
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        if line.starts_with(ignore) {
            findings.push(finding(
                path,
                index + 1,
                "a test that never runs",
                "mend it, or assert today's behaviour and say what is wrong with it",
            ));
        }
        if let Some(ending) = declared(line)
            .and_then(|name| EMPTY_ENDINGS.iter().find(|ending| name.ends_with(**ending)))
        {
            findings.push(finding(
                path,
                index + 1,
                format!("a type name that ends in `{ending}`"),
                "name what it is: a noun without an empty ending",
            ));
        }
    }
    findings
}

/// Whether a file holds only tests or what tests stand on; those may be long.
fn is_test(path: &str) -> bool {
    let mut folders = path.split('/').rev().skip(1);
    path.ends_with("/tests.rs")
        || (!path.starts_with("tests/src/") && folders.any(|folder| folder == "tests"))
}

/// The name of the type or trait that the line declares.
fn declared(line: &str) -> Option<&str> {
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.trim_start(),
        None => line,
    };
    let rest =
        ["struct ", "enum ", "trait ", "type "].iter().find_map(|word| line.strip_prefix(word))?;
    rest.split(|character: char| !character.is_alphanumeric() && character != '_').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expected: &[(usize, &str)]) {
        let found = super::check(&[Source::new(path, text)]);
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (finding, (line, what)) in found.iter().zip(expected) {
            assert_eq!(finding.line, *line, "{finding}");
            assert!(finding.what.contains(what), "{finding}");
        }
    }

    #[test]
    fn the_first_line_says_what_the_file_is_for() {
        check("crates/x/src/a.rs", "//! Reads words.\n\nmod b;\n", &[]);
        check("crates/x/src/a.rs", "mod b;\n//! Reads words.\n", &[(1, "does not say")]);
        check("crates/x/src/a.rs", "", &[(1, "does not say")]);
        check("crates/x/a.txt", "", &[]);
        check("crates/x/src/lib.rs", "#![doc = include_str!(\"../README.md\")]\n", &[]);
        check("crates/x/src/lib.rs", "#![no_std]\n", &[(1, "does not say")]);
    }

    #[test]
    fn only_tests_may_be_long() {
        let long = format!("//! Long.\n{}", "\n".repeat(LINES));
        check("crates/x/src/a.rs", &long, &[(LINES + 1, "more than 500")]);
        check("tests/src/kit.rs", &long, &[(LINES + 1, "more than 500")]);
        for path in [
            "crates/x/src/a/tests.rs",
            "crates/x/tests/t.rs",
            "tests/e2e/run.rs",
            "crates/x/src/a/tests/b.rs",
        ] {
            check(path, &long, &[]);
        }
    }

    #[test]
    fn names_say_what_is_inside() {
        check("crates/x/src/utils.rs", "//! Things.\n", &[(1, "`utils`")]);
        check("crates/x/src/helpers/a.rs", "//! Things.\n", &[(1, "`helpers`")]);
        check("crates/x/src/a/mod.rs", "//! Things.\n", &[(1, "`mod.rs`")]);
    }

    #[test]
    fn types_have_no_empty_endings() {
        let text = "//! Types.\npub(crate) struct ToolManager;\npub trait HookHandler {}\n    enum Handled { A }\n\
                    // struct FileInfo\npub struct Information<T>(T);\n";
        check("crates/x/src/a.rs", text, &[(2, "`Manager`"), (3, "`Handler`")]);
    }

    #[test]
    fn no_test_is_switched_off() {
        let text = concat!("//! Tests.\n#[test]\n    #[", "ignore = \"slow\"]\nfn t() {}\n");
        check("crates/x/src/a.rs", text, &[(3, "never runs")]);
    }
}
