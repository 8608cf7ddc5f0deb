//! Named steps: each is run whatever became of the one before, timed, and listed at the end.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::Result;

/// How a step that did not fail came out.
#[derive(Debug)]
pub(crate) enum Done {
    /// It ran and found nothing wrong.
    Passed,
    /// It could not run here; the reason is shown.
    Skipped(String),
}

#[derive(Debug, PartialEq, Eq)]
enum Status {
    Passed,
    Skipped(String),
    Failed(String),
}

#[derive(Debug)]
struct Row {
    name: String,
    status: Status,
    time: Duration,
}

/// The steps that have run.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    rows: Vec<Row>,
}

impl Steps {
    /// Runs one step and prints one line when it begins and one when it ends.
    pub(crate) fn run(&mut self, name: impl Into<String>, work: impl FnOnce() -> Result<Done>) {
        let name = name.into();
        println!("==> {name}");
        let start = Instant::now();
        let status = match work() {
            Ok(Done::Passed) => Status::Passed,
            Ok(Done::Skipped(reason)) => Status::Skipped(reason),
            Err(error) => Status::Failed(error.to_string()),
        };
        let row = Row { name, status, time: start.elapsed() };
        println!("<== {}", line(&row, row.name.len()));
        self.rows.push(row);
    }

    /// Whether a step failed so far.
    pub(crate) fn has_failed(&self) -> bool {
        self.rows.iter().any(|row| matches!(row.status, Status::Failed(_)))
    }

    /// Prints the table of all steps; `false` when one failed.
    pub(crate) fn report(&self) -> bool {
        println!("\n{}", self.table());
        !self.has_failed()
    }

    fn table(&self) -> String {
        let width = self.rows.iter().map(|row| row.name.len()).max().unwrap_or_default();
        let mut text = String::new();
        for row in &self.rows {
            text.push_str(&line(row, width));
            text.push('\n');
        }
        let total: Duration = self.rows.iter().map(|row| row.time).sum();
        let failed = self.rows.iter().filter(|row| matches!(row.status, Status::Failed(_))).count();
        let verdict =
            if failed == 0 { "all passed".to_owned() } else { format!("{failed} failed") };
        let _ = write!(text, "{} steps, {verdict}, {:.1} s", self.rows.len(), total.as_secs_f64());
        text
    }
}

fn line(row: &Row, width: usize) -> String {
    let (word, detail) = match &row.status {
        Status::Passed => ("passed", String::new()),
        Status::Skipped(reason) => ("skipped", format!("  {reason}")),
        Status::Failed(reason) => {
            ("FAILED", format!("  {}", reason.lines().next().unwrap_or_default()))
        }
    };
    format!("{:width$}  {word:<7} {:>7.1} s{detail}", row.name, row.time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_does_not_stop_the_next_one_and_is_counted() {
        let mut steps = Steps::default();
        steps.run("first", || Err("broken\nin detail".into()));
        steps.run("second", || Ok(Done::Passed));
        steps.run("third", || Ok(Done::Skipped("no tool".to_owned())));
        let table = steps.table();
        let lines: Vec<&str> = table.lines().collect();
        assert!(lines[0].starts_with("first   FAILED") && lines[0].ends_with("broken"), "{table}");
        assert!(lines[1].starts_with("second  passed"), "{table}");
        assert!(lines[2].ends_with("no tool"), "{table}");
        assert!(lines[3].starts_with("3 steps, 1 failed"), "{table}");
        assert!(!steps.report());
    }

    #[test]
    fn a_skipped_step_is_no_failure() {
        let mut steps = Steps::default();
        steps.run("only", || Ok(Done::Skipped("not here".to_owned())));
        assert!(steps.report());
    }
}
