//! `cargo xtask bench analyze`: the shell analyzer against the bare parse, over a corpus, and as a process.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use xshell::{Shell, cmd};

use crate::Result;
use crate::cargo::plain;
use crate::steps::{Done, Steps};
use crate::workspace::Workspace;

/// The most that `innerve analyze COMMAND` may take as a process.
const PROCESS_BOUND: Duration = Duration::from_millis(10);
/// How often the process is started; the median counts.
const ROUNDS: usize = 41;

/// Builds the measuring program and innerve, runs both, and holds them to their bounds.
pub(crate) fn analyze(shell: &Shell, workspace: &Workspace, steps: &mut Steps) {
    steps.run("bench analyze: library", || {
        let text = plain(cmd!(
            shell,
            "cargo run --quiet --release --package innerve-bash --example bench_analyze -- --json"
        ))
        .read()?;
        let rows: Value = serde_json::from_str(&text)?;
        let missed = report(rows.as_array().map_or(&[], Vec::as_slice));
        println!("{text}");
        finish(&missed)
    });
    // Together with the build, so that no program of an earlier build is measured.
    steps.run("bench analyze: process", || {
        plain(cmd!(shell, "cargo build --release --package innerve-cli --bin innerve")).run()?;
        let time = process(&workspace.target.join("release").join("innerve"))?;
        println!(
            "innerve analyze 'git status' as a process: {time:.1?}, at most {PROCESS_BOUND:?}"
        );
        let missed = if time > PROCESS_BOUND { vec!["the process".to_owned()] } else { Vec::new() };
        finish(&missed)
    });
}

pub(super) fn finish(missed: &[String]) -> Result<Done> {
    if missed.is_empty() {
        Ok(Done::Passed)
    } else {
        Err(format!("over the bound: {}", missed.join(", ")).into())
    }
}

/// Prints the rows as a table; gives those that are over their bound or hold no number.
pub(super) fn report(rows: &[Value]) -> Vec<String> {
    let mut missed = Vec::new();
    for row in rows {
        let text = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default();
        let number = |key: &str| row.get(key).and_then(Value::as_f64);
        let (name, unit) = (text("name"), text("unit"));
        let (value, bound) = (number("value"), number("bound"));
        let shown = bound.map_or(String::new(), |bound| format!("  at most {bound} {unit}"));
        println!("{name:<36} {:>10.2} {unit}{shown}", value.unwrap_or(f64::NAN));
        let over = match (value, bound) {
            (Some(value), Some(bound)) => value > bound,
            (Some(_), None) => false,
            (None, _) => true,
        };
        if over {
            missed.push(name.to_owned());
        }
    }
    if rows.is_empty() {
        missed.push("everything: nothing was measured".to_owned());
    }
    missed
}

/// The median time from starting the program to its end.
fn process(program: &Path) -> Result<Duration> {
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let status =
            Command::new(program).args(["analyze", "git status"]).stdout(Stdio::null()).status()?;
        times.push(start.elapsed());
        if !status.success() {
            return Err(format!("`innerve analyze` ended with {status}").into());
        }
    }
    times.sort_unstable();
    times.get(ROUNDS / 2).copied().ok_or_else(|| "nothing was measured".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_over_its_bound_or_not_measured_is_named() {
        let row = |name: &str, value: Value, bound: Value| json!({"name": name, "value": value, "unit": "x", "bound": bound});
        let rows = [
            row("fine", json!(2.9), json!(3)),
            row("free", json!(99), Value::Null),
            row("slow", json!(3.1), json!(3)),
            row("lost", Value::Null, json!(3)),
        ];
        assert_eq!(report(&rows), ["slow", "lost"]);
        assert_eq!(report(&[]).len(), 1);
        assert!(finish(&[]).is_ok() && finish(&["slow".to_owned()]).is_err());
    }
}
