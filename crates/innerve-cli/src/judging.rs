//! The engine's word on tool uses that another agent made, or that were made in the past.

use innerve_permission::facts::from_call_or_strict;
use innerve_permission::{
    Decision, PathFacts, Place, Policy, Resolution, Verdict, Voices, resolve,
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
    resolve(policy, &from_call_or_strict(tool, input, place), &Voices::default())
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
