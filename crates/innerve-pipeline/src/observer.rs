//! The observer port: every step of every call, for logs, traces and a `--trace` flag.

use std::time::Duration;

use innerve_permission::Resolution;
use innerve_protocol::ToolUseId;

use crate::Step;

/// Watches calls; must be quick and cannot change anything.
pub trait Observer: Send + Sync {
    /// A step was passed, or the call ended in it.
    fn step(&self, report: &StepReport<'_>) {
        let _ = report;
    }

    /// A call was judged.
    fn judged(&self, tool_use_id: &ToolUseId, tool: &str, resolution: &Resolution) {
        let _ = (tool_use_id, tool, resolution);
    }
}

/// What an observer is told of a step. Holds nothing that a model, a user or a file wrote but the tool's name.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StepReport<'a> {
    /// The call.
    pub tool_use_id: &'a ToolUseId,
    /// The tool's canonical name, or the name given if there is no such tool.
    pub tool: &'a str,
    /// The step.
    pub step: Step,
    /// How long it took; zero without a clock.
    pub elapsed: Duration,
    /// The stable code of what ended the call here; `None` if it goes on.
    pub ended: Option<&'a str>,
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Observer for Quiet {}
