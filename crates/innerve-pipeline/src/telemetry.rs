//! Telemetry: the spans and events of a tool use, made of fixed words and of numbers.
//!
//! INVARIANT: nothing here holds a text that a model, a person, a file or a server wrote, unless the host asked for
//! names. That is why what is told has the type `&'static str` wherever it is no number. The names of spans, events and
//! metrics are those of the field (Claude Code, "Monitoring") under a prefix of our own.

use innerve_permission::{ApprovedBy, ReasonKind};
use innerve_protocol::ToolUse;
use tracing::field::Empty;
use tracing::{Level, Span, debug, event, info, info_span};

use crate::authorize::Judged;
use crate::refusal::RefusedBy;
use crate::stage::{Outcome, Settled};
use crate::{GrantScope, Step, StepReport};

/// What telemetry calls tools, calls and models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Naming {
    /// By class: documented tools and known models by name, all others as `mcp_tool` or `custom`; calls not at all.
    #[default]
    Classes,
    /// As they are called. Servers choose the names of their tools, and models the ids of their calls.
    Given,
}

/// The tools that are documented (Claude Code, "Tools reference"), former names included.
const DOCUMENTED: &[&str] = &[
    "Agent",
    "AskUserQuestion",
    "Bash",
    "BashOutput",
    "Edit",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "ExitWorktree",
    "Glob",
    "Grep",
    "KillShell",
    "LS",
    "LSP",
    "Monitor",
    "MultiEdit",
    "NotebookEdit",
    "PowerShell",
    "Read",
    "SendMessage",
    "Skill",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TodoWrite",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "Write",
];

/// The tools whose decisions are counted, as they change files.
const EDITORS: &[&str] = &["Edit", "MultiEdit", "NotebookEdit", "Write"];

/// The tool's name as it may leave the machine: a documented one, `mcp_tool` or `custom`.
fn tool_class(name: &str) -> &'static str {
    let documented = DOCUMENTED.iter().find(|documented| **documented == name);
    let other = if name.starts_with("mcp__") { "mcp_tool" } else { "custom" };
    documented.copied().unwrap_or(other)
}

impl Naming {
    fn tool(self, name: &str) -> &str {
        match self {
            Self::Classes => tool_class(name),
            Self::Given => name,
        }
    }
}

/// Who decided that a call runs or does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecidedBy {
    /// Rules, the mode, or what the call is.
    Config,
    Hook,
    Classifier,
    /// A person, for all calls like it.
    UserPermanent,
    /// A person, this once or for the session.
    UserTemporary,
    UserReject,
    /// The program around the agent.
    Host,
    /// There was nobody to ask.
    Nobody,
}

impl DecidedBy {
    fn name(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Hook => "hook",
            Self::Classifier => "classifier",
            Self::UserPermanent => "user_permanent",
            Self::UserTemporary => "user_temporary",
            Self::UserReject => "user_reject",
            Self::Host => "host",
            Self::Nobody => "nobody",
        }
    }
}

/// The span of a tool use, from request to result.
pub(crate) fn tool(naming: Naming, tool_use: &ToolUse, depth: u32) -> Span {
    let span = info_span!(
        "innerve.tool",
        tool_name = naming.tool(&tool_use.name),
        tool_use_id = Empty,
        agent_depth = depth,
        tool_input_size_bytes = Empty,
        tool_result_size_bytes = Empty,
        decision = Empty,
        decision_source = Empty,
        decision_reason = Empty,
        outcome = Empty,
        error_type = Empty,
    );
    if !span.is_disabled() {
        span.record("tool_input_size_bytes", tool_use.input.to_string().len());
        if naming == Naming::Given {
            span.record("tool_use_id", tool_use.id.as_str());
        }
    }
    span
}

/// The span of the time in which somebody is asked.
pub(crate) fn blocked_on_user() -> Span {
    info_span!("innerve.tool.blocked_on_user")
}

/// The span of the tool at work.
pub(crate) fn execution() -> Span {
    info_span!("innerve.tool.execution")
}

/// A step was passed, or the call ended in it.
pub(crate) fn step(report: &StepReport<'_>) {
    debug!(
        step = report.step.name(),
        duration_us = whole(report.elapsed.as_micros()),
        error_type = report.ended,
        "tool_step"
    );
}

/// A call may run or may not; `granted` is what a person said of calls like it.
pub(crate) fn judged(tool: &str, judged: &Judged, granted: Option<GrantScope>) {
    let (decision, by, reason) = match judged {
        Judged::Permitted(call) => {
            let kind = call.resolution.reason.kind;
            let by = match call.approval.as_ref().map(|approval| approval.by) {
                None if kind == ReasonKind::Hook => DecidedBy::Hook,
                None => DecidedBy::Config,
                Some(ApprovedBy::Hook) => DecidedBy::Hook,
                Some(ApprovedBy::Classifier) => DecidedBy::Classifier,
                Some(ApprovedBy::Person) if granted == Some(GrantScope::Always) => {
                    DecidedBy::UserPermanent
                }
                Some(ApprovedBy::Person) => DecidedBy::UserTemporary,
                Some(ApprovedBy::Host) => DecidedBy::Host,
            };
            ("accept", by, kind)
        }
        Judged::Refused(refusal) => {
            let kind = refusal.resolution.reason.kind;
            let by = match refusal.by {
                RefusedBy::Engine if kind == ReasonKind::Hook => DecidedBy::Hook,
                RefusedBy::Engine => DecidedBy::Config,
                RefusedBy::Classifier(_) | RefusedBy::NoVerdict(_) => DecidedBy::Classifier,
                RefusedBy::Person(_) => DecidedBy::UserReject,
                RefusedBy::Hook { .. } => DecidedBy::Hook,
                RefusedBy::Nobody(_) => DecidedBy::Nobody,
            };
            ("reject", by, kind)
        }
        Judged::Changed => return,
    };
    let (by, reason) = (by.name(), reason_name(reason));
    let span = Span::current();
    span.record("decision", decision);
    span.record("decision_source", by);
    span.record("decision_reason", reason);
    info!(decision, source = by, reason, "tool_decision");
    let tool = tool_class(tool);
    if EDITORS.contains(&tool) {
        event!(target: "innerve::metrics", Level::TRACE, monotonic_counter.innerve.code_edit_tool.decision = 1_u64,
            tool_name = tool,
            decision,
            source = by);
    }
}

/// A hook put the call off.
pub(crate) fn deferred() {
    Span::current().record("decision", "defer");
    info!(decision = "defer", source = DecidedBy::Hook.name(), "tool_decision");
}

/// A call was answered.
pub(crate) fn settled(span: &Span, settled: &Settled) {
    if span.is_disabled() {
        return;
    }
    let error_type = settled.code.as_deref().map(crate::settle::safe_class);
    let size = settled.result.content.plain_text().len();
    span.record("tool_result_size_bytes", size);
    span.record("outcome", outcome_name(&settled.outcome));
    if let Some(error_type) = error_type {
        span.record("error_type", error_type);
    }
    span.in_scope(|| {
        info!(
            success = settled.outcome == Outcome::Succeeded,
            error_type,
            last_step = settled.step.name(),
            duration_ms = whole(settled.elapsed.unwrap_or_default().as_millis()),
            tool_result_size_bytes = size,
            "tool_result"
        );
    });
}

/// Something of the host itself panicked; what it said is not told.
pub(crate) fn internal_error(at: Step) {
    info!(step = at.name(), error_type = "panic", "internal_error");
}

fn outcome_name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Succeeded => "succeeded",
        Outcome::Failed => "failed",
        Outcome::Refused(_) => "refused",
        Outcome::Deferred => "deferred",
        Outcome::Interrupted => "interrupted",
    }
}

fn reason_name(kind: ReasonKind) -> &'static str {
    match kind {
        ReasonKind::Rule => "rule",
        ReasonKind::Mode => "mode",
        ReasonKind::Hook => "hook",
        ReasonKind::Safety => "safety",
        ReasonKind::Analysis => "analysis",
        ReasonKind::Secret => "secret",
        ReasonKind::ReadOnly => "read_only",
        ReasonKind::Classifier => "classifier",
        ReasonKind::Validation => "validation",
        ReasonKind::Default => "default",
    }
}

fn whole(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i11_only_documented_tools_have_a_name() {
        for (name, class) in [
            ("Bash", "Bash"),
            ("Task", "Task"),
            ("mcp__corp-secrets__read", "mcp_tool"),
            ("DeployToProd", "custom"),
            ("bash", "custom"),
            ("", "custom"),
        ] {
            assert_eq!(tool_class(name), class, "{name}");
            assert_eq!(Naming::default().tool(name), class);
            assert_eq!(Naming::Given.tool(name), name);
        }
    }
}
