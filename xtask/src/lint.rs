//! `cargo xtask lint`: format, clippy, and the workspace's own rules.
//!
//! Each rule is a function from the workspace as data to findings, in the module named for what it looks at.

mod crates;
mod dependencies;
mod hygiene;
mod layers;
mod manifests;
mod modules;
mod purity;

use std::fmt;

use xshell::{Shell, cmd};

use crate::Result;
use crate::args::Mode;
use crate::cargo::plain;
use crate::steps::{Done, Steps};
use crate::workspace::{Source, Workspace};

/// One thing that breaks a rule of the workspace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// The file, from the root.
    pub(crate) path: String,
    /// The line, from 1.
    pub(crate) line: usize,
    /// What is wrong.
    pub(crate) what: String,
    /// How to mend it.
    pub(crate) mend: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}; {}", self.path, self.line, self.what, self.mend)
    }
}

/// A finding about a line of a file.
fn finding(path: &str, line: usize, what: impl Into<String>, mend: impl Into<String>) -> Finding {
    Finding { path: path.to_owned(), line, what: what.into(), mend: mend.into() }
}

/// Runs the three steps.
pub(crate) fn run(shell: &Shell, workspace: &Workspace, mode: Mode, steps: &mut Steps) {
    if mode == Mode::Fix {
        steps.run("lint: fix", || {
            plain(cmd!(shell, "cargo clippy --fix --allow-dirty --allow-staged --workspace --all-targets --all-features")).run()?;
            plain(cmd!(shell, "cargo fmt --all")).run()?;
            Ok(Done::Passed)
        });
    }
    steps.run("lint: format", || {
        plain(cmd!(shell, "cargo fmt --all -- --check")).run()?;
        Ok(Done::Passed)
    });
    steps.run("lint: clippy", || {
        plain(cmd!(
            shell,
            "cargo clippy --keep-going --workspace --all-targets --all-features -- -D warnings"
        ))
        .run()?;
        Ok(Done::Passed)
    });
    steps.run("lint: tidy", || {
        let findings = tidy(shell, workspace)?;
        for finding in &findings {
            println!("{finding}");
        }
        if findings.is_empty() {
            Ok(Done::Passed)
        } else {
            Err(format!("{} findings", findings.len()).into())
        }
    });
}

/// All findings of the workspace's own rules, sorted.
fn tidy(shell: &Shell, workspace: &Workspace) -> Result<Vec<Finding>> {
    let sources = workspace.sources(shell)?;
    let mut findings = check_sources(workspace, &sources);
    findings.extend(dependencies::check(shell)?);
    findings.sort();
    findings.dedup();
    Ok(findings)
}

/// The rules that need nothing but the workspace as data.
fn check_sources(workspace: &Workspace, sources: &[Source]) -> Vec<Finding> {
    [
        layers::check(&workspace.packages, sources),
        manifests::check(&workspace.packages, sources),
        crates::check(&workspace.packages, sources),
        modules::check(sources),
        purity::check(sources),
        hygiene::check(sources),
    ]
    .concat()
}

/// The line of the first one that satisfies `wanted`, from 1; 1 when there is none.
fn line_where(text: &str, wanted: impl Fn(&str) -> bool) -> usize {
    text.lines().position(wanted).map_or(1, |index| index + 1)
}

/// The text of a file, empty when there is no such file.
fn text_at<'a>(sources: &'a [Source], path: &str) -> &'a str {
    sources.iter().find(|source| source.path == path).map_or("", |source| source.text.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rule finds something in these lines of a file, and nowhere else.
    #[track_caller]
    pub(super) fn check_lines(
        rule: fn(&[Source]) -> Vec<Finding>,
        path: &str,
        text: &str,
        lines: &[usize],
    ) {
        let findings = rule(&[Source::new(path, text)]);
        let found: Vec<usize> = findings.iter().map(|finding| finding.line).collect();
        assert_eq!(found, lines, "{findings:#?}");
    }

    #[test]
    fn a_finding_reads_as_path_line_what_and_how_to_mend() {
        let finding = finding("a/b.rs", 3, "too long", "split it");
        assert_eq!(finding.to_string(), "a/b.rs:3: too long; split it");
    }

    /// The rules hold for the workspace itself, so that a plain test run finds what `lint` would.
    #[test]
    fn this_directory_is_tidy() {
        let shell = Shell::new().unwrap();
        shell.change_dir(env!("CARGO_MANIFEST_DIR"));
        let workspace = Workspace::load(&shell).unwrap();
        shell.change_dir(&workspace.root);
        let sources = workspace.sources(&shell).unwrap();
        let findings: Vec<String> = check_sources(&workspace, &sources)
            .into_iter()
            .filter(|finding| finding.path.starts_with("xtask/"))
            .map(|finding| finding.to_string())
            .collect();
        assert!(findings.is_empty(), "{findings:#?}");
    }
}
