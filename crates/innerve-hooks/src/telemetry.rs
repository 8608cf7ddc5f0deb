//! Telemetry: the span of a hook at work, made of fixed words only.
//!
//! INVARIANT: neither the hook's command, address or question nor anything it said stands here.

use std::time::Duration;

use innerve_permission::RuleSource;
use innerve_pipeline::{HookDecision, HookOutcome, PermissionAnswer};
use tracing::field::Empty;
use tracing::{Span, info, info_span};

use crate::EventName;
use crate::settings::ActionKind;

/// Why a hook has no say, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Its output is not of the documented form.
    Output,
    /// It ended with a code that means an error.
    ExitCode,
    /// A signal ended it.
    Signal,
    /// It could not be started.
    Start,
    /// It could not be waited for, or its connection broke.
    Io,
    /// Its time was over.
    Timeout,
    /// Settings or its own entry forbid it.
    #[cfg(feature = "http")]
    NotAllowed,
    /// The server answered with an error.
    Answer,
    /// This program has not what it needs.
    Absent,
    /// Too many run.
    TooMany,
}

impl Trouble {
    fn name(self) -> &'static str {
        match self {
            Self::Output => "output",
            Self::ExitCode => "exit_code",
            Self::Signal => "signal",
            Self::Start => "start",
            Self::Io => "io",
            Self::Timeout => "timeout",
            #[cfg(feature = "http")]
            Self::NotAllowed => "not_allowed",
            Self::Answer => "answer",
            Self::Absent => "absent",
            Self::TooMany => "too_many",
        }
    }
}

/// The span of one hook at one event.
pub(crate) fn hook(event: EventName, kind: ActionKind, source: RuleSource) -> Span {
    info_span!(
        "innerve.hook",
        hook_event = name_of(event),
        hook_type = kind.name(),
        hook_source = source.name(),
        decision = Empty,
        error_type = Empty,
    )
}

/// The hook of the current span did not work.
pub(crate) fn failed(trouble: Trouble) {
    Span::current().record("error_type", trouble.name());
}

/// A hook has ended, or was sent to the background.
pub(crate) fn ended(outcome: &HookOutcome, elapsed: Duration) {
    let decision = decision(outcome);
    if let Some(decision) = decision {
        Span::current().record("decision", decision);
    }
    info!(
        decision,
        stops = outcome.stop.is_some(),
        texts = outcome.context.len(),
        duration_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        "hook_execution_complete"
    );
}

fn decision(outcome: &HookOutcome) -> Option<&'static str> {
    let decided = outcome.decision.as_ref().map(|decision| match decision {
        HookDecision::Allow => "allow",
        HookDecision::Ask(_) => "ask",
        HookDecision::Defer => "defer",
        HookDecision::Deny(_) => "deny",
    });
    let answered = || {
        outcome.permission.as_ref().map(|answer| match answer {
            PermissionAnswer::Allow => "allow",
            PermissionAnswer::Deny { .. } => "deny",
        })
    };
    decided.or_else(answered)
}

fn name_of(event: EventName) -> tracing::field::DebugValue<EventName> {
    // The variants are the documented names.
    tracing::field::debug(event)
}
