//! The crates that decide do no I/O: no files, processes, network, environment, threads or clock of their own.

use super::{Finding, finding};
use crate::workspace::Source;

/// The crates without I/O; what they need of the world comes through their ports.
pub(super) const PURE: &[&str] = &[
    "innerve-protocol",
    "innerve-bash",
    "innerve-permission",
    "innerve-budget",
    "innerve-tool",
    "innerve-pipeline",
];

/// Ways out of the program, and the port to use instead.
const DOORS: &[(&str, &str)] = &[
    ("std::fs", "take files through the `FileSystem`, `PathFacts` or `ResultStore` port"),
    ("std::net", "leave the network to the crates above"),
    ("std::env", "take settings as values"),
    ("std::process", "take processes through the `ProcessRunner` port"),
    ("std::thread", "take futures and leave running them to the caller"),
    ("Instant::now", "take time through the `Clock` port"),
    ("SystemTime::now", "take time through the `Clock` port"),
    (".canonicalize()", "resolve paths through the `PathFacts` port"),
    (".exists()", "ask the port whether a file is there"),
];

/// Checks the sources of the pure crates, their tests apart.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        let is_pure =
            PURE.iter().any(|name| source.path.starts_with(&format!("crates/{name}/src/")));
        if !is_pure || !source.has_extension("rs") || is_test(&source.path) {
            continue;
        }
        for (index, line) in production_lines(&source.text) {
            for (door, mend) in DOORS {
                if line.contains(door) || names_in_group(line, door) {
                    findings.push(finding(
                        &source.path,
                        index,
                        format!("`{door}` in a crate that does no I/O"),
                        *mend,
                    ));
                }
            }
        }
    }
    findings
}

fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

/// The lines before the file's own test module, comments left out.
fn production_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim_start()))
        .take_while(|(_, line)| *line != "#[cfg(test)]")
        .filter(|(_, line)| !line.starts_with("//"))
}

/// Whether a `use std::{…}` names the module.
fn names_in_group(line: &str, door: &str) -> bool {
    let Some(module) = door.strip_prefix("std::") else { return false };
    line.split_once("use std::{").is_some_and(|(_, group)| {
        group
            .split(|character: char| !character.is_alphanumeric() && character != '_')
            .any(|word| word == module)
    })
}

#[cfg(test)]
mod tests {
    use crate::lint::tests::check_lines;

    #[track_caller]
    fn check(path: &str, text: &str, lines: &[usize]) {
        check_lines(super::check, path, text, lines);
    }

    #[test]
    fn a_door_to_the_world_is_found_by_line() {
        let text = "//! Decides.\nuse std::{fmt, fs};\nlet a = std::env::var(\"A\");\nlet b = Instant::now();\n";
        check("crates/innerve-permission/src/a.rs", text, &[2, 3, 4]);
    }

    #[test]
    fn comments_tests_and_other_crates_are_free() {
        let text = "//! Not std::fs.\n/// std::env\nuse std::fmt;\n#[cfg(test)]\nmod tests { use std::fs; }\n";
        check("crates/innerve-bash/src/a.rs", text, &[]);
        for path in [
            "crates/innerve-bash/src/a/tests.rs",
            "crates/innerve-bash/tests/t.rs",
            "crates/innerve-cli/src/a.rs",
        ] {
            check(path, "use std::fs;\n", &[]);
        }
    }
}
