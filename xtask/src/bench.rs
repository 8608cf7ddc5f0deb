//! `cargo xtask bench`: what innerve costs, as figures with their bounds, in one table.

mod against;
mod analyze;
mod check;
mod figure;
mod grep;
mod subject;
mod turns;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use xshell::{Shell, cmd};

use crate::Result;
use crate::cargo::plain;
use crate::steps::{Done, Steps};
use crate::workspace::Workspace;

use figure::Figure;
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
    let mut all = Vec::new();
    let mut built = true;
    if subjects.iter().any(|subject| subject.needs_program()) {
        // First, and once: no program of an earlier build is measured.
        steps.run("bench: build", || {
            built = false;
            plain(cmd!(shell, "cargo build --release --package innerve-cli --bin innerve"))
                .run()?;
            built = true;
            Ok(Done::Passed)
        });
    }
    for subject in subjects.iter().filter(|subject| built || !subject.needs_program()) {
        steps.run(format!("bench: {}", subject.name()), || {
            match subject.measure(shell, workspace)? {
                Measured::Skipped(reason) => Ok(Done::Skipped(reason)),
                Measured::Figures(figures) => {
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
    if let Some(revision) = &options.against {
        steps.run(format!("bench: against {revision}"), || {
            against::compare(shell, workspace, revision, subjects, &all)
        });
    }
}

/// Runs an example that prints its figures as JSON.
fn example(shell: &Shell, package: &str, example: &str) -> Result<Vec<Figure>> {
    let text = plain(cmd!(
        shell,
        "cargo run --quiet --release --package {package} --example {example} -- --json"
    ))
    .read()?;
    figure::from_json(&serde_json::from_str::<Value>(&text)?)
}

/// The time in the middle.
fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_the_times_counts() {
        let times = [5, 1, 9, 2, 3].map(Duration::from_millis).to_vec();
        assert_eq!(median(times), Duration::from_millis(3));
    }
}
