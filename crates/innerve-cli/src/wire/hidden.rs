//! Which files a search must not show: those that a deny rule keeps from being read.

use std::sync::Arc;

use innerve_builtins::Hidden;
use innerve_permission::{Behavior, PathFacts, PathTarget, Place, Policy, Rule};

/// The files that deny rules hide; `None` if there are no rules that could.
pub(super) fn by_rules(policy: &Policy, disk: &Arc<dyn PathFacts>) -> Option<Hidden> {
    let may_hide = |rule: &Rule| rule.behavior() == Behavior::Deny && rule.tool() != "Bash";
    if !policy.rules.rules().iter().any(may_hide) {
        return None;
    }
    let (policy, disk) = (policy.clone(), Arc::clone(disk));
    Some(Arc::new(move |path| {
        let place = Place { cwd: &policy.cwd, home: &policy.home, disk: disk.as_ref() };
        // A name that is no text cannot be compared with a rule: it is hidden rather than shown by mistake.
        path.to_str().is_none_or(|path| policy.hides(&PathTarget::new(path, place)))
    }))
}
