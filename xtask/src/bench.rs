//! `cargo xtask bench`: what innerve costs, as figures with their bounds, in one table.

mod against;
mod analyze;
mod figure;
mod grep;
mod peers;
mod server;
mod subject;
mod turns;
mod wire;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use xshell::{Shell, cmd};

use crate::Result;
use crate::cargo::plain;
use crate::steps::{Done, Steps};
use crate::workspace::Workspace;

use figure::Figure;
use subject::Source;
pub(crate) use subject::Subject;

/// The arguments of `bench`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// What is measured; empty for everything.
    pub(crate) subjects: Vec<Subject>,
    /// A file that gets the figures as JSON.
    pub(crate) json: Option<PathBuf>,
    /// A revision that is measured too and compared with.
    pub(crate) against: Option<String>,
}

/// What a subject gives: its figures, or why it cannot be measured here.
enum Measured {
    Figures(Vec<Figure>),
    Skipped(String),
}

/// Measures the subjects one after the other and prints one table of all figures; a figure over its bound fails its step.
pub(crate) fn run(shell: &Shell, workspace: &Workspace, options: &Options, steps: &mut Steps) {
    let subjects: &[Subject] =
        if options.subjects.is_empty() { &Subject::ALL } else { &options.subjects };
    let mut against = None;
    if let Some(revision) = &options.against {
        steps.run(format!("bench: {revision}"), || {
            against = Some(against::commit(shell, revision)?);
            Ok(Done::Passed)
        });
        if against.is_none() {
            return;
        }
    }
    let mut all = Vec::new();
    let mut built = true;
    if subjects.iter().any(|subject| subject.source().needs_program()) {
        // First, and once: no program of an earlier build is measured.
        steps.run("bench: build", || {
            built = false;
            plain(cmd!(shell, "cargo build --release --package innerve-cli --bin innerve"))
                .run()?;
            built = true;
            Ok(Done::Passed)
        });
    }
    for (source, subjects) in by_source(subjects) {
        if source.needs_program() && !built {
            continue;
        }
        let names: Vec<&str> = subjects.iter().map(|subject| subject.name()).collect();
        steps.run(format!("bench: {}", names.join(", ")), || {
            match source.measure(shell, workspace)? {
                Measured::Skipped(reason) => Ok(Done::Skipped(reason)),
                Measured::Figures(mut figures) => {
                    figures.retain(|figure| subjects.iter().any(|subject| subject.owns(figure)));
                    let outcome = figure::judge(&figures);
                    all.extend(figures);
                    outcome
                }
            }
        });
    }
    println!("\n{}", figure::table(&all));
    if let Some(path) = &options.json {
        steps.run("bench: json", || {
            fs::write(path, format!("{}\n", figure::to_json(&all)))?;
            Ok(Done::Passed)
        });
    }
    if let Some(commit) = &against {
        steps.run(format!("bench: against {commit:.12}"), || {
            against::compare(shell, workspace, commit, subjects, &all)
        });
    }
}

/// Each measurement once, with the subjects that are asked for and get their figures from it.
fn by_source(subjects: &[Subject]) -> Vec<(Source, Vec<Subject>)> {
    let mut groups: Vec<(Source, Vec<Subject>)> = Vec::new();
    for &subject in subjects {
        match groups.iter_mut().find(|(source, _)| *source == subject.source()) {
            Some((_, group)) => group.push(subject),
            None => groups.push((subject.source(), vec![subject])),
        }
    }
    groups
}

/// Runs an example that prints its figures as JSON.
fn example(shell: &Shell, package: &str, example: &str) -> Result<Vec<Figure>> {
    let text =
        plain(cmd!(shell, "cargo run --quiet --release --package {package} --example {example}"))
            .read()?;
    figure::from_json(&serde_json::from_str::<Value>(&text)?)
}

/// How variables begin by which people tell agents their keys, servers and wishes.
const OF_AGENTS: [&str; 7] =
    ["ANTHROPIC_", "CODEX_", "GEMINI_", "GOOGLE_", "INNERVE_", "OPENAI_", "OPENCODE_"];

/// Keeps what whoever measures has set for their own agents from one that is measured.
fn without_wishes(command: &mut Command) {
    for name in wishes(env::vars_os().map(|(name, _)| name)) {
        command.env_remove(name);
    }
}

fn wishes(names: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    names.filter(|name| {
        let name = name.to_string_lossy();
        OF_AGENTS.iter().any(|beginning| name.starts_with(beginning))
    })
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_wishes_of_whoever_measures_are_left_out() {
        let names = ["PATH", "ANTHROPIC_AUTH_TOKEN", "OPENAI_BASE_URL", "INNERVE_MODEL", "HOME"];
        let left_out: Vec<OsString> = wishes(names.into_iter().map(OsString::from)).collect();
        assert_eq!(left_out, ["ANTHROPIC_AUTH_TOKEN", "OPENAI_BASE_URL", "INNERVE_MODEL"]);
    }

    #[test]
    fn what_two_subjects_need_is_measured_once() {
        let asked = [Subject::Memory, Subject::Read, Subject::Loop];
        let groups = by_source(&asked);
        assert_eq!(
            groups,
            [
                (Source::Turns, vec![Subject::Memory, Subject::Loop]),
                (Source::Read, vec![Subject::Read])
            ]
        );
    }
}
