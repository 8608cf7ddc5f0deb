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
mod tests;
