//! `cargo xtask bench --against REV`: the same figures of an earlier revision, beside those of today.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;
use xshell::{Shell, cmd};

use super::Subject;
use super::figure::{self, Figure};
use crate::Result;
use crate::cargo::plain;
use crate::steps::Done;
use crate::workspace::Workspace;

/// The commit of a revision; asked before anything is measured.
pub(super) fn commit(shell: &Shell, revision: &str) -> Result<String> {
    let wanted = format!("{revision}^{{commit}}");
    let commit = cmd!(shell, "git rev-parse --verify --quiet {wanted}");
    let commit = commit.quiet().ignore_stderr().read();
    commit.map_err(|_| format!("`{revision}` is no revision of this repository").into())
}

/// Lets this program measure a copy of the commit, and prints both.
///
/// The measuring is today's, so that both are measured alike; only the programs in `examples`, which measure libraries, are
/// those of the commit.
pub(super) fn compare(
    shell: &Shell,
    workspace: &Workspace,
    commit: &str,
    subjects: &[Subject],
    today: &[Figure],
) -> Result<Done> {
    let place = workspace.target.join("bench-against");
    let (tree, json) = (place.join("tree"), place.join("figures.json"));
    copy_of(shell, &place, &tree, commit)?;
    shell.remove_path(&json)?;
    {
        let _directory = shell.push_dir(&tree);
        // A folder of its own that stays: the next comparison does not build other people's crates again.
        let _target = shell.push_env("CARGO_TARGET_DIR", place.join("build"));
        let names = subjects.iter().map(|subject| subject.name());
        let program = std::env::current_exe()?;
        // A figure over its bound fails the run, yet it is written and counts here.
        plain(cmd!(shell, "{program} bench {names...} --json {json}")).ignore_status().run()?;
    }
    let text =
        fs::read_to_string(&json).map_err(|error| format!("{commit} gave no figures: {error}"))?;
    let before = figure::from_json(&serde_json::from_str::<Value>(&text)?)?;
    if before.is_empty() {
        return Err(
            format!("nothing could be measured in {commit}; its own messages are above").into()
        );
    }
    println!("{}", beside(&before, today));
    Ok(Done::Passed)
}

/// The files of the commit, without a repository: a run that is broken off leaves nothing in git that must be removed.
fn copy_of(shell: &Shell, place: &Path, tree: &Path, commit: &str) -> Result {
    let mark = place.join("commit");
    if shell.path_exists(tree) && shell.read_file(&mark).is_ok_and(|there| there == commit) {
        return Ok(());
    }
    shell.remove_path(&mark)?;
    shell.remove_path(tree)?;
    shell.create_dir(tree)?;
    let archive = place.join("tree.tar");
    cmd!(shell, "git archive --format tar --output {archive} {commit}").run()?;
    // Touched: cargo would take a file that is older than the last build for one that it has built.
    cmd!(shell, "tar --extract --touch --file {archive} --directory {tree}").run()?;
    shell.remove_path(&archive)?;
    shell.write_file(&mark, commit)?;
    Ok(())
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
    fn a_copy_is_that_of_the_commit_and_made_once() {
        let shell = Shell::new().unwrap();
        let place = shell.create_temp_dir().unwrap();
        let (repository, copies) = (place.path().join("repository"), place.path().join("copies"));
        shell.create_dir(&repository).unwrap();
        shell.change_dir(&repository);
        cmd!(shell, "git init --quiet").run().unwrap();
        let mut commits = Vec::new();
        for text in ["one", "two"] {
            shell.write_file("a.txt", text).unwrap();
            cmd!(shell, "git add .").run().unwrap();
            let own = ["user.name=n", "user.email=e@example.com", "commit.gpgsign=false"];
            let own = own.into_iter().flat_map(|setting| ["-c", setting]);
            cmd!(shell, "git {own...} commit --quiet --message {text}").run().unwrap();
            commits.push(commit(&shell, "HEAD").unwrap());
        }
        assert!(commit(&shell, "HEAD~9").is_err());
        let tree = copies.join("tree");
        let text = || fs::read_to_string(tree.join("a.txt")).unwrap();
        copy_of(&shell, &copies, &tree, &commits[0]).unwrap();
        assert_eq!(text(), "one");
        shell.write_file(tree.join("built.txt"), "").unwrap();
        copy_of(&shell, &copies, &tree, &commits[0]).unwrap();
        assert!(shell.path_exists(tree.join("built.txt")));
        copy_of(&shell, &copies, &tree, &commits[1]).unwrap();
        assert_eq!(text(), "two");
        assert!(!shell.path_exists(tree.join("built.txt")));
        assert_eq!(cmd!(shell, "git worktree list").quiet().read().unwrap().lines().count(), 1);
    }

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
