//! What writes, runs or tells more than it seems to, one row per command: `tests/corpus/attacks.txt`.
//!
//! Each row was run by a real bash with the real programs, in a directory of its own, and left something behind there; the rows of
//! the last section name programs that could not be tried, or tell secrets.

use std::collections::HashSet;

use innerve_bash::{Class, analyze_in};

const ROWS: &str = include_str!("../corpus/attacks.txt");

fn rows() -> impl Iterator<Item = String> {
    ROWS.lines()
        .filter(|line| !line.is_empty() && !line.starts_with("## "))
        .map(|line| line.replace('⏎', "\n").replace('␍', "\r"))
}

#[test]
fn no_attack_is_free() {
    let free: Vec<String> =
        rows().filter(|row| analyze_in(row, Some("/repo")).class() <= Class::ReadOnly).collect();
    assert!(free.is_empty(), "{free:#?}");
}

#[test]
fn a_row_stands_once() {
    let mut seen = HashSet::new();
    let twice: Vec<String> = rows().filter(|row| !seen.insert(row.clone())).collect();
    assert!(twice.is_empty(), "{twice:#?}");
    assert!(seen.len() >= 500, "{} rows", seen.len());
}
