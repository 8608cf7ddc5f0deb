//! The session's policy as it is now: rules are shared by all agents of a session, directory and mode are each agent's own.

mod update;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use innerve_permission::{Behavior, Origin, PathFacts, PermissionMode, Policy, Rule, RuleSource};
use innerve_pipeline::{Grant, GrantScope, PermissionUpdate, PolicySource, is_no_looser};
use innerve_tool::BoxFuture;
use tokio::sync::watch;

/// Saves a rule that a person granted for good.
pub trait RuleSaver: Send + Sync {
    /// Saves an allow rule; the error is told to the person.
    fn save(&self, rule: &str) -> Result<(), String>;
}

/// The policy of one agent.
pub struct SharedPolicy {
    base: Arc<Mutex<Base>>,
    own: Mutex<Own>,
    /// Told of every change, to all agents of the session.
    changes: Arc<watch::Sender<()>>,
    saver: Option<Arc<dyn RuleSaver>>,
    disk: Option<Arc<dyn PathFacts>>,
}

/// What all agents of a session share.
struct Base {
    policy: Arc<Policy>,
    /// Directories that were granted in this session, besides those that settings name.
    granted: Vec<PathBuf>,
}

struct Own {
    cwd: PathBuf,
    mode: PermissionMode,
    /// Whether it may bypass permissions, if the session may.
    may_bypass: bool,
    before_plan: Option<PermissionMode>,
    /// The base that `made` was made of.
    seen: Arc<Policy>,
    made: Arc<Policy>,
}

impl SharedPolicy {
    /// The policy of a main conversation.
    pub fn new(policy: Policy, saver: Option<Arc<dyn RuleSaver>>) -> Self {
        let policy = Arc::new(policy);
        let own = Own {
            cwd: policy.cwd.clone(),
            mode: policy.mode,
            may_bypass: true,
            before_plan: None,
            seen: Arc::clone(&policy),
            made: Arc::clone(&policy),
        };
        let base = Base { policy, granted: Vec::new() };
        Self {
            base: Arc::new(Mutex::new(base)),
            own: Mutex::new(own),
            changes: Arc::new(watch::Sender::new(())),
            saver,
            disk: None,
        }
    }

    /// Takes what settings say now, for all agents of the session.
    ///
    /// Rules and directories that were granted in the session stay, and so does what is no matter of settings: each agent's
    /// directory and mode (unless `bypassPermissions` is no longer available), who can be asked, the plan, the sandbox.
    pub fn reload(&self, settings: Policy) {
        let mut base = lock(&self.base);
        let old = &base.policy;
        let mut policy = Policy {
            mode: old.mode,
            cwd: old.cwd.clone(),
            original_cwd: old.original_cwd.clone(),
            headless: old.headless,
            classifier_available: old.classifier_available,
            plan_file: old.plan_file.clone(),
            sandbox: old.sandbox.clone(),
            ..settings
        };
        let is_granted = |rule: &&Rule| rule.origin().source == RuleSource::Session;
        for rule in old.rules.rules().iter().filter(is_granted) {
            policy.rules.push(rule.clone());
        }
        for directory in &base.granted {
            if !policy.additional_directories.contains(directory) {
                policy.additional_directories.push(directory.clone());
            }
        }
        base.policy = Arc::new(policy);
        self.changes.send_replace(());
    }

    /// Asks `disk` anew where rules and directories lead through links whenever the directory or the rules change.
    #[must_use]
    pub fn with_path_facts(mut self, disk: Arc<dyn PathFacts>) -> Self {
        self.disk = Some(disk);
        self
    }

    /// The policy of a sub-agent that starts in `cwd`: the same rules, and a mode that can only be tighter.
    #[must_use]
    pub fn child(&self, cwd: PathBuf, wanted: Option<PermissionMode>) -> Self {
        let current = self.current();
        // The base is taken afterwards, so that no rule that is added meanwhile is missed.
        let base = Arc::clone(&lock(&self.base).policy);
        let mode = wanted.filter(|mode| is_no_looser(&current, *mode)).unwrap_or(current.mode);
        // Plan mode holds nothing back where permissions may be bypassed, so that a child that asks for it may not.
        let may_bypass = current.bypass_available && mode == current.mode;
        let mut own = Own {
            cwd,
            mode,
            may_bypass,
            before_plan: None,
            seen: Arc::clone(&base),
            made: Arc::clone(&base),
        };
        let disk = self.disk.clone();
        own.remake(base, disk.as_deref());
        Self {
            base: Arc::clone(&self.base),
            own: Mutex::new(own),
            changes: Arc::clone(&self.changes),
            saver: self.saver.clone(),
            disk,
        }
    }

    /// Moves the agent to another directory.
    pub fn set_cwd(&self, cwd: &Path) {
        self.change(|own| cwd.clone_into(&mut own.cwd));
    }

    /// Sets the agent's mode; `bypassPermissions` only where it is available.
    pub fn set_mode(&self, mode: PermissionMode) {
        self.change(|own| {
            if mode == PermissionMode::BypassPermissions && !own.made.bypass_available {
                return;
            }
            if mode == PermissionMode::Plan && own.mode != PermissionMode::Plan {
                own.before_plan = Some(own.mode);
            }
            own.mode = mode;
        });
    }

    /// Leaves plan mode for the mode before it.
    pub fn leave_plan(&self) {
        self.change(|own| {
            if own.mode == PermissionMode::Plan {
                own.mode = own.before_plan.take().unwrap_or_default();
            }
        });
    }

    /// Adds working directories for the whole session.
    pub fn add_directories(&self, directories: &[PathBuf]) {
        let mut base = lock(&self.base);
        let mut policy = (*base.policy).clone();
        for directory in directories {
            if !base.granted.contains(directory) {
                base.granted.push(directory.clone());
            }
            if !policy.additional_directories.contains(directory) {
                policy.additional_directories.push(directory.clone());
            }
        }
        base.policy = Arc::new(policy);
        self.changes.send_replace(());
    }

    fn change(&self, change: impl FnOnce(&mut Own)) {
        let base = Arc::clone(&lock(&self.base).policy);
        let mut own = lock(&self.own);
        change(&mut own);
        own.remake(base, self.disk.as_deref());
        self.changes.send_replace(());
    }
}

impl Own {
    fn remake(&mut self, base: Arc<Policy>, disk: Option<&dyn PathFacts>) {
        let bypass_available = self.may_bypass && base.bypass_available;
        if self.mode == PermissionMode::BypassPermissions && !bypass_available {
            self.mode = PermissionMode::Default;
        }
        let mut made =
            Policy { cwd: self.cwd.clone(), mode: self.mode, bypass_available, ..(*base).clone() };
        if let Some(disk) = disk {
            made.follow_links(disk);
        }
        self.made = Arc::new(made);
        self.seen = base;
    }
}

impl PolicySource for SharedPolicy {
    fn current(&self) -> Arc<Policy> {
        let base = Arc::clone(&lock(&self.base).policy);
        let mut own = lock(&self.own);
        if !Arc::ptr_eq(&base, &own.seen) {
            own.remake(base, self.disk.as_deref());
        }
        Arc::clone(&own.made)
    }

    fn changed<'a>(&'a self, seen: &'a Arc<Policy>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            // Subscribed before it looks, so that no change is missed.
            let mut changes = self.changes.subscribe();
            while Arc::ptr_eq(&self.current(), seen) {
                if changes.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        })
    }

    fn update(&self, update: &PermissionUpdate) -> Result<(), String> {
        self.make(update)
    }

    fn remember(&self, grant: &Grant) -> Result<(), String> {
        let root = self.current().original_cwd.clone();
        let mut rules = Vec::new();
        for text in &grant.rules {
            let origin =
                Origin { source: RuleSource::Session, root: root.clone(), file: None, line: None };
            rules.push(
                Rule::parse(text, Behavior::Allow, origin).map_err(|error| error.to_string())?,
            );
        }
        {
            let mut base = lock(&self.base);
            let mut policy = (*base.policy).clone();
            for rule in rules {
                policy.rules.push(rule);
            }
            base.policy = Arc::new(policy);
            self.changes.send_replace(());
        }
        match (grant.scope, &self.saver) {
            (GrantScope::Session, _) => Ok(()),
            (GrantScope::Always, None) => {
                Err("there is no settings file to save it in; it holds for this session".to_owned())
            }
            (GrantScope::Always, Some(saver)) => {
                grant.rules.iter().try_for_each(|rule| saver.save(rule))
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for SharedPolicy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SharedPolicy")
            .field("mode", &self.current().mode)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_can_only_tighten() {
        let policy =
            Policy { mode: PermissionMode::AcceptEdits, ..Policy::new("/repo", "/home/u") };
        let parent = SharedPolicy::new(policy, None);
        let mode = |wanted| parent.child("/repo/a".into(), wanted).current().mode;
        assert_eq!(mode(None), PermissionMode::AcceptEdits);
        assert_eq!(mode(Some(PermissionMode::Plan)), PermissionMode::Plan);
        assert_eq!(mode(Some(PermissionMode::BypassPermissions)), PermissionMode::AcceptEdits);
    }

    #[test]
    fn a_child_in_plan_mode_is_held_back_whatever_its_session_may() {
        let bypass =
            |mode| Policy { bypass_available: true, mode, ..Policy::new("/repo", "/home/u") };
        let parent = SharedPolicy::new(bypass(PermissionMode::BypassPermissions), None);
        let child = parent.child("/repo".into(), Some(PermissionMode::Plan));
        assert_eq!(child.current().mode, PermissionMode::Plan);
        assert!(!child.current().bypass_available);
        child.set_mode(PermissionMode::BypassPermissions);
        assert_eq!(child.current().mode, PermissionMode::Plan);
        assert!(parent.child("/repo".into(), None).current().bypass_available);
        // A parent that plans has no child that edits.
        let parent = SharedPolicy::new(
            Policy { mode: PermissionMode::Plan, ..Policy::new("/repo", "/home/u") },
            None,
        );
        let child = parent.child("/repo".into(), Some(PermissionMode::DontAsk));
        assert_eq!(child.current().mode, PermissionMode::Plan);
    }

    #[test]
    fn bypassing_permissions_is_not_entered_where_it_is_not_available() {
        let policy = SharedPolicy::new(Policy::new("/repo", "/home/u"), None);
        policy.set_mode(PermissionMode::BypassPermissions);
        assert_eq!(policy.current().mode, PermissionMode::Default);
    }

    #[test]
    fn a_grant_in_a_child_holds_for_its_parent_and_a_directory_does_not_leak() {
        let parent = SharedPolicy::new(Policy::new("/repo", "/home/u"), None);
        let child = parent.child("/repo/a".into(), None);
        child
            .remember(&Grant { scope: GrantScope::Session, rules: vec!["Bash(make *)".to_owned()] })
            .unwrap();
        child.set_cwd(Path::new("/repo/b"));
        assert_eq!(parent.current().rules.rules().len(), 1);
        assert_eq!(child.current().rules.rules().len(), 1);
        assert_eq!(parent.current().cwd, Path::new("/repo"));
        assert_eq!(child.current().cwd, Path::new("/repo/b"));
    }

    #[test]
    fn a_rule_that_cannot_be_saved_still_holds_for_the_session() {
        let policy = SharedPolicy::new(Policy::new("/repo", "/home/u"), None);
        let grant = Grant { scope: GrantScope::Always, rules: vec!["Bash(make)".to_owned()] };
        assert!(policy.remember(&grant).is_err());
        assert_eq!(policy.current().rules.rules().len(), 1);
    }

    fn rule(text: &str, behavior: Behavior, source: RuleSource) -> Rule {
        Rule::parse(text, behavior, Origin::inline(source, "/repo")).unwrap()
    }

    fn texts(policy: &SharedPolicy) -> Vec<String> {
        policy.current().rules.rules().iter().map(|rule| rule.text().to_owned()).collect()
    }

    #[test]
    fn settings_that_are_loaded_again_keep_what_the_session_granted() {
        let mut policy = Policy { headless: false, ..Policy::new("/repo", "/home/u") };
        policy.rules.push(rule("Bash(old)", Behavior::Allow, RuleSource::User));
        policy.additional_directories.push("/data/old".into());
        let parent = SharedPolicy::new(policy, None);
        let child = parent.child("/repo/a".into(), Some(PermissionMode::Plan));
        let grant = Grant { scope: GrantScope::Session, rules: vec!["Bash(make *)".to_owned()] };
        parent.remember(&grant).unwrap();
        parent.add_directories(&["/granted".into()]);
        parent.set_mode(PermissionMode::AcceptEdits);
        parent.set_cwd(Path::new("/repo/b"));

        let mut settings = Policy::new("/repo", "/home/u");
        settings.rules.push(rule("Bash(rm *)", Behavior::Deny, RuleSource::User));
        settings.ask_secret_reads = false;
        parent.reload(settings);
        for policy in [&parent, &child] {
            assert_eq!(texts(policy), ["Bash(rm *)", "Bash(make *)"]);
            assert_eq!(policy.current().additional_directories, [Path::new("/granted")]);
            assert!(!policy.current().headless && !policy.current().ask_secret_reads);
        }
        assert_eq!(parent.current().mode, PermissionMode::AcceptEdits);
        assert_eq!(parent.current().cwd, Path::new("/repo/b"));
        assert_eq!(child.current().mode, PermissionMode::Plan);
    }

    #[test]
    fn settings_that_take_bypassing_away_end_it() {
        let bypass = Policy {
            bypass_available: true,
            mode: PermissionMode::BypassPermissions,
            ..Policy::new("/repo", "/home/u")
        };
        let policy = SharedPolicy::new(bypass.clone(), None);
        policy.reload(bypass);
        assert_eq!(policy.current().mode, PermissionMode::BypassPermissions);
        policy.reload(Policy::new("/repo", "/home/u"));
        assert_eq!(policy.current().mode, PermissionMode::Default);
        // Nor does the end of plan mode bring it back.
        policy.set_mode(PermissionMode::Plan);
        policy.leave_plan();
        assert_eq!(policy.current().mode, PermissionMode::Default);
    }

    #[test]
    fn leaving_plan_mode_restores_the_mode_before() {
        let policy = SharedPolicy::new(Policy::new("/repo", "/home/u"), None);
        policy.set_mode(PermissionMode::AcceptEdits);
        policy.set_mode(PermissionMode::Plan);
        policy.leave_plan();
        assert_eq!(policy.current().mode, PermissionMode::AcceptEdits);
    }

    #[tokio::test]
    async fn every_change_is_told_to_all_agents_of_the_session_and_nothing_else_is() {
        use futures_util::FutureExt as _;

        let parent = SharedPolicy::new(Policy::new("/repo", "/home/u"), None);
        let child = parent.child("/repo".into(), None);
        let grant = Grant { scope: GrantScope::Session, rules: vec!["Edit".to_owned()] };
        let changes: [&dyn Fn(); 3] = [
            &|| parent.remember(&grant).unwrap(),
            &|| parent.add_directories(&["/other".into()]),
            &|| parent.reload(Policy::new("/repo", "/home/u")),
        ];
        for change in changes {
            let seen = child.current();
            let mut changed = child.changed(&seen);
            assert!((&mut changed).now_or_never().is_none());
            change();
            assert!((&mut changed).now_or_never().is_some());
        }
        // Its mode is each agent's own.
        let (of_parent, of_child) = (parent.current(), child.current());
        parent.set_mode(PermissionMode::AcceptEdits);
        assert!(parent.changed(&of_parent).now_or_never().is_some());
        assert!(child.changed(&of_child).now_or_never().is_none());
    }
}
