//! Which files a search must not show: those that a deny rule keeps from being read.

use std::sync::Arc;

use innerve_builtins::Hidden;
use innerve_permission::facts::{Place, from_call};
use innerve_permission::{
    Behavior, Decision, PathFacts, PermissionMode, Policy, Verdict, Voices, resolve,
};
use serde_json::json;

/// The files that deny rules hide; `None` if there are no rules that could.
pub(super) fn by_rules(policy: &Policy, disk: &Arc<dyn PathFacts>) -> Option<Hidden> {
    let may_hide = |rule: &innerve_permission::Rule| {
        rule.behavior() == Behavior::Deny && rule.tool() != "Bash"
    };
    if !policy.rules.rules().iter().any(may_hide) {
        return None;
    }
    // The mode that decides nothing by itself: what is denied then is denied by a rule.
    let policy = Policy { mode: PermissionMode::Default, headless: false, ..policy.clone() };
    let disk = Arc::clone(disk);
    Some(Arc::new(move |path| {
        let Some(path) = path.to_str() else { return false };
        let place = Place { cwd: &policy.cwd, home: &policy.home, disk: disk.as_ref() };
        let facts = from_call("Read", &json!({ "file_path": path }), place);
        facts.is_some_and(|facts| {
            resolve(&policy, &facts, &Voices::default()).verdict == Verdict::Decided(Decision::Deny)
        })
    }))
}
