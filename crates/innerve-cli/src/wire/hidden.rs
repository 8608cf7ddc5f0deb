//! Which files a search must not show: those that a deny rule keeps from being read.

use std::sync::{Arc, Mutex, PoisonError};

use innerve_builtins::Hidden;
use innerve_permission::{Behavior, PathFacts, PathTarget, Place, Policy, Rule};
use innerve_pipeline::PolicySource;

/// The files that deny rules hide, as the policy is when a file is met.
pub(super) fn by_rules(source: Arc<dyn PolicySource>, disk: &Arc<dyn PathFacts>) -> Hidden {
    let disk = Arc::clone(disk);
    let last = Mutex::new(None);
    Arc::new(move |path| {
        let policy = source.current();
        if !has_rules(&policy, &last) {
            return false;
        }
        let place = Place { cwd: &policy.cwd, home: &policy.home, disk: disk.as_ref() };
        // A name that is no text cannot be compared with a rule: it is hidden rather than shown by mistake.
        path.to_str().is_none_or(|path| policy.hides(&PathTarget::new(path, place)))
    })
}

/// Whether any rule could hide a file; the answer for the last policy is kept, since most files are met under the same.
fn has_rules(policy: &Arc<Policy>, last: &Mutex<Option<(Arc<Policy>, bool)>>) -> bool {
    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, answer)) = &*last
        && Arc::ptr_eq(known, policy)
    {
        return *answer;
    }
    let may_hide = |rule: &Rule| rule.behavior() == Behavior::Deny && rule.tool() != "Bash";
    let answer = policy.rules.rules().iter().any(may_hide);
    *last = Some((Arc::clone(policy), answer));
    answer
}
