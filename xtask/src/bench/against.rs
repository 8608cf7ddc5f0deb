//! `cargo xtask bench --against REV`: the same figures of an earlier revision, beside those of today.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;
use xshell::{Shell, cmd};

use super::Subject;
use super::figure::{self, Figure};
use crate::Result;
use crate::cargo::plain;
use crate::steps::Done;
use crate::workspace::Workspace;

/// Checks the revision out beside this tree, lets its own `xtask` measure it, and prints both.
pub(super) fn compare(
    shell: &Shell,
    workspace: &Workspace,
    revision: &str,
    subjects: &[Subject],
    today: &[Figure],
) -> Result<Done> {
    let place = shell.create_temp_dir()?;
    let (tree, json) = (place.path().join("tree"), place.path().join("figures.json"));
    cmd!(shell, "git worktree add --quiet --detach {tree} {revision}").run()?;
    let measured = (|| -> Result<Value> {
        let _directory = shell.push_dir(&tree);
        // A folder of its own that stays: the next comparison builds only what changed.
        let _target = shell.push_env("CARGO_TARGET_DIR", workspace.target.join("bench-against"));
        let names = subjects.iter().map(|subject| subject.name());
        // A figure over its bound fails the run, yet it is written and counts here.
        plain(cmd!(shell, "cargo xtask bench {names...} --json {json}")).ignore_status().run()?;
        let text = fs::read_to_string(&json)
            .map_err(|error| format!("{revision} gave no figures: {error}"))?;
        Ok(serde_json::from_str(&text)?)
    })();
    cmd!(shell, "git worktree remove --force {tree}").quiet().run()?;
    println!("{}", beside(&figure::from_json(&measured?)?, today));
    Ok(Done::Passed)
}

/// Each figure of today with what it was, and the factor between them.
fn beside(before: &[Figure], today: &[Figure]) -> String {
    let width = today.iter().map(|figure| figure.name.chars().count()).max().unwrap_or_default();
    let mut text = format!("{:<width$} {:>10} {:>10}\n", "", "before", "today");
    for figure in today {
        let _ = match before.iter().find(|old| old.name == figure.name) {
            Some(old) => writeln!(
                text,
                "{:<width$} {:>10.2} {:>10.2} {:<4} {:.2} x",
                figure.name,
                old.value,
                figure.value,
                figure.unit,
                figure.value / old.value
            ),
            None => writeln!(
                text,
                "{:<width$} {:>10} {:>10.2} {}",
                figure.name, "-", figure.value, figure.unit
            ),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_new_stand_side_by_side() {
        let before = [Figure::new("grep", 2.0, "ms")];
        let today = [Figure::new("grep", 3.0, "ms"), Figure::new("read", 1.0, "ms")];
        assert_eq!(
            beside(&before, &today),
            "         before      today\ngrep       2.00       3.00 ms   1.50 x\nread          -       1.00 ms\n"
        );
    }
}
