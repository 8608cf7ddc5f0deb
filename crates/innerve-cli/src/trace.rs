//! `--trace`: each step of a call with its time, on standard error, and under step 8 what was decided and why.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use innerve_permission::{Decision, LinkOutcome, Resolution, Verdict};
use innerve_pipeline::{Observer, Step, StepReport};
use innerve_protocol::ToolUseId;

use crate::check::explain::because;
use crate::output::{self, BOLD, DIM, outcome_name, plain};

/// Prints steps as they are passed.
#[derive(Debug, Default)]
pub(crate) struct Trace(Mutex<SoFar>);

#[derive(Debug, Default)]
struct SoFar {
    /// What was decided; shown under the step that decides.
    judged: Vec<String>,
    last: Option<Step>,
    total: Duration,
}

impl Observer for Trace {
    fn step(&self, report: &StepReport<'_>) {
        let mut so_far = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        so_far.total += report.elapsed;
        let skipped = so_far.last.is_some_and(|last| last.number() + 1 < report.step.number());
        if let Some(last) = so_far.last.filter(|_| skipped) {
            output::note(&left_out(last.number() + 1, report.step.number() - 1));
        }
        let micros = report.elapsed.as_micros();
        let ended = report.ended.map(|code| format!("  {BOLD}{code}{BOLD:#}")).unwrap_or_default();
        let summary = report.step.summary();
        output::note(&format!(
            "{:<19} {micros:>8} µs  {DIM}{summary}{DIM:#}{ended}",
            report.step.to_string()
        ));
        if report.step >= Step::Resolve {
            so_far.judged.drain(..).for_each(|line| output::note(&line));
        }
        so_far.last = Some(report.step);
        if report.step == Step::Classify {
            let millis = so_far.total.as_secs_f64() * 1_000.0;
            output::note(&format!("   {:<16} {millis:>8.1} ms", "all"));
            *so_far = SoFar::default();
        }
    }

    fn judged(&self, _tool_use_id: &ToolUseId, _tool: &str, resolution: &Resolution) {
        let mut so_far = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        so_far.judged.extend(lines(resolution));
    }
}

/// What is told of the steps between two that had something to do.
fn left_out(first: u8, last: u8) -> String {
    let which =
        if first == last { format!("step {first}") } else { format!("steps {first} to {last}") };
    format!("   {DIM}{which} had nothing to do{DIM:#}")
}

/// The decision, the links of the chain that spoke, the parts of a command, and the links that had nothing to say.
fn lines(resolution: &Resolution) -> Vec<String> {
    let word = match resolution.verdict {
        Verdict::Decided(decision) => decision_name(decision),
        Verdict::NeedsClassifier { .. } => "classify",
        Verdict::Deferred => "defer",
    };
    let (silent, spoke): (Vec<_>, Vec<_>) =
        resolution.trace.iter().partition(|link| link.outcome == LinkOutcome::None);
    let spoke: Vec<String> = spoke
        .iter()
        .map(|link| format!("{} says {}", link.link, outcome_name(link.outcome)))
        .collect();
    let mut lines = vec![
        format!("   {BOLD}{word}{BOLD:#}: {}", because(&resolution.reason)),
        format!("   {}", spoke.join(", then ")),
    ];
    if resolution.parts.len() > 1 {
        lines.extend(resolution.parts.iter().map(|part| {
            let (text, why) = (plain(&part.text), because(&part.reason));
            format!("     {:<5} {text}  {DIM}{why}{DIM:#}", decision_name(part.decision))
        }));
    }
    if !silent.is_empty() {
        let names: Vec<&str> = silent.iter().map(|link| link.link).collect();
        lines.push(format!("   {DIM}nothing to say: {}{DIM:#}", names.join(", ")));
    }
    lines
}

fn decision_name(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    }
}
