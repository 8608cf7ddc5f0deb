//! `--trace`: each step of a call with its time, on standard error.

use innerve_permission::Resolution;
use innerve_pipeline::{Observer, StepReport};
use innerve_protocol::ToolUseId;

use crate::output::{self};

/// Prints steps as they are passed.
#[derive(Debug, Default)]
pub(crate) struct Trace;

impl Observer for Trace {
    fn step(&self, report: &StepReport<'_>) {
        let micros = report.elapsed.as_micros();
        let ended = report.ended.map(|code| format!("  {code}")).unwrap_or_default();
        output::note(&format!("{:<19} {micros:>8} µs{ended}", report.step.to_string()));
    }

    fn judged(&self, _tool_use_id: &ToolUseId, _tool: &str, resolution: &Resolution) {
        for link in &resolution.trace {
            output::note(&format!(
                "       {:<16} {}",
                link.link,
                output::outcome_name(link.outcome)
            ));
        }
        output::note(&format!("       because {}", resolution.reason.message));
    }
}
