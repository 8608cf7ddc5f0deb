//! The engine's word on tool uses that another agent made, or that were made in the past.

use innerve_permission::facts::from_call;
use innerve_permission::{
    CallFacts, Decision, PathFacts, Place, Policy, Resolution, Verdict, Voices, resolve,
};
use serde_json::Value;

/// Judges a tool use by its name and input alone: the input is not held against the schemas of innerve's own tools,
/// since other agents' tools of the same name may take other fields.
pub(crate) fn judge(
    policy: &Policy,
    disk: &dyn PathFacts,
    tool: &str,
    input: &Value,
) -> Resolution {
    let place = Place { cwd: &policy.cwd, home: &policy.home, disk };
    let facts =
        from_call(tool, input, place).unwrap_or_else(|| CallFacts::new(tool, input.clone()));
    resolve(policy, &facts, &Voices::default())
}

/// The name of a verdict in JSON and in files of cases.
pub(crate) fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Decided(Decision::Allow) => "allow",
        Verdict::Decided(Decision::Ask) => "ask",
        Verdict::Decided(Decision::Deny) => "deny",
        Verdict::NeedsClassifier { .. } => "classify",
        Verdict::Deferred => "defer",
    }
}
