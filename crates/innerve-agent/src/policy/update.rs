//! Changes that hooks attach to their yes: what they may do to the policy of a session, and to its files.

use std::path::PathBuf;
use std::sync::Arc;

use innerve_permission::{Behavior, Origin, PermissionMode, Policy, Rule, RuleSource};
use innerve_pipeline::{Destination, PermissionChange, PermissionUpdate, PolicySource as _};

use super::{SharedPolicy, lock};

impl SharedPolicy {
    /// Makes the change for this session, and saves it if it is an allow rule for the local settings. What a file holds
    /// is never taken away. The error says what was not done.
    pub(super) fn make(&self, update: &PermissionUpdate) -> Result<(), String> {
        let keeps = update.destination != Destination::Session;
        match &update.change {
            PermissionChange::AddRules(behavior, texts) => {
                let rules = self.parse(*behavior, texts)?;
                self.change_rules(|_| true, rules);
                self.keep(*behavior, texts, update.destination)
            }
            PermissionChange::ReplaceRules(..) | PermissionChange::RemoveRules(..) if keeps => {
                Err(format!("rules of {} are not taken away", update.destination.name()))
            }
            PermissionChange::ReplaceRules(behavior, texts) => {
                let rules = self.parse(*behavior, texts)?;
                self.change_rules(|rule| rule.behavior() != *behavior, rules);
                Ok(())
            }
            PermissionChange::RemoveRules(behavior, texts) => {
                let goes = self.parse(*behavior, texts)?;
                let stays = |rule: &Rule| {
                    !goes.iter().any(|gone| {
                        gone.behavior() == rule.behavior() && gone.text() == rule.text()
                    })
                };
                self.change_rules(stays, Vec::new());
                Ok(())
            }
            PermissionChange::SetMode(mode) => self.enter(*mode, keeps),
            PermissionChange::AddDirectories(directories) => {
                absolute(directories)?;
                self.add_directories(directories);
                session_only(keeps, "the directories hold")
            }
            PermissionChange::RemoveDirectories(_) if keeps => {
                Err(format!("directories of {} are not taken away", update.destination.name()))
            }
            PermissionChange::RemoveDirectories(directories) => {
                self.remove_directories(directories);
                Ok(())
            }
        }
    }

    fn parse(&self, behavior: Behavior, texts: &[String]) -> Result<Vec<Rule>, String> {
        let root = self.current().original_cwd.clone();
        let rule = |text: &String| {
            let origin = Origin::inline(RuleSource::Session, root.clone());
            Rule::parse(text, behavior, origin).map_err(|error| error.to_string())
        };
        texts.iter().map(rule).collect()
    }

    /// Keeps of the session's own rules those that stay, and all others, and adds these.
    fn change_rules(&self, stays: impl Fn(&Rule) -> bool, added: Vec<Rule>) {
        self.rebase(|policy| {
            let old = policy.rules.rules().iter();
            let kept =
                old.filter(|rule| rule.origin().source != RuleSource::Session || stays(rule));
            policy.rules = kept.cloned().chain(added).collect();
        });
    }

    fn keep(
        &self,
        behavior: Behavior,
        texts: &[String],
        destination: Destination,
    ) -> Result<(), String> {
        match (destination, behavior, &self.saver) {
            (Destination::Session, _, _) => Ok(()),
            (Destination::Local, Behavior::Allow, Some(saver)) => {
                texts.iter().try_for_each(|rule| saver.save(rule))
            }
            (Destination::Local | Destination::Project | Destination::User, _, _) => Err(format!(
                "the rules hold for this session; {} stay as they are",
                destination.name()
            )),
        }
    }

    fn enter(&self, mode: PermissionMode, keeps: bool) -> Result<(), String> {
        self.set_mode(mode);
        if self.current().mode != mode {
            return Err(format!("mode {} is not available here", mode.name()));
        }
        session_only(keeps, "the mode holds")
    }

    /// Takes away directories that were granted in this session.
    fn remove_directories(&self, directories: &[PathBuf]) {
        let granted: Vec<PathBuf> = {
            let mut base = lock(&self.base);
            let (gone, left) =
                base.granted.drain(..).partition(|granted| directories.contains(granted));
            base.granted = left;
            gone
        };
        self.rebase(|policy| {
            policy.additional_directories.retain(|there| !granted.contains(there));
        });
    }

    /// Changes what all agents of the session share.
    fn rebase(&self, change: impl FnOnce(&mut Policy)) {
        let mut base = lock(&self.base);
        let mut policy = (*base.policy).clone();
        change(&mut policy);
        base.policy = Arc::new(policy);
        self.changes.send_replace(());
    }
}

fn absolute(directories: &[PathBuf]) -> Result<(), String> {
    match directories.iter().find(|directory| !directory.is_absolute()) {
        Some(relative) => Err(format!("`{}` is no absolute path", relative.display())),
        None => Ok(()),
    }
}

fn session_only(keeps: bool, what: &str) -> Result<(), String> {
    if keeps { Err(format!("{what} for this session and are not saved")) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use PermissionChange::{AddRules, RemoveRules, ReplaceRules};

    use super::*;
    use crate::RuleSaver;

    #[derive(Default)]
    struct Saved(Mutex<Vec<String>>);

    impl RuleSaver for Saved {
        fn save(&self, rule: &str) -> Result<(), String> {
            self.0.lock().unwrap().push(rule.to_owned());
            Ok(())
        }
    }

    fn texts(policy: &SharedPolicy) -> Vec<String> {
        policy.current().rules.rules().iter().map(|rule| rule.text().to_owned()).collect()
    }

    fn made(
        policy: &SharedPolicy,
        change: PermissionChange,
        to: Destination,
    ) -> Result<(), String> {
        policy.make(&PermissionUpdate { change, destination: to })
    }

    fn rules(text: &str) -> Vec<String> {
        vec![text.to_owned()]
    }

    #[test]
    fn rules_of_the_session_come_and_go_and_those_of_files_stay() {
        let mut policy = Policy::new("/repo", "/home/u");
        let origin = Origin::inline(RuleSource::User, "/repo");
        policy.rules.push(Rule::parse("Bash(make *)", Behavior::Deny, origin).unwrap());
        let policy = SharedPolicy::new(policy, None);
        let session = Destination::Session;
        made(&policy, AddRules(Behavior::Allow, rules("Bash(a)")), session).unwrap();
        made(&policy, AddRules(Behavior::Deny, rules("Bash(b)")), session).unwrap();
        assert_eq!(texts(&policy), ["Bash(make *)", "Bash(a)", "Bash(b)"]);
        made(&policy, RemoveRules(Behavior::Deny, rules("Bash(make *)")), session).unwrap();
        assert_eq!(texts(&policy).len(), 3, "i3_deny_is_final: a rule of a file is not taken away");
        assert!(
            made(&policy, RemoveRules(Behavior::Deny, rules("Bash(make *)")), Destination::User)
                .is_err()
        );
        made(&policy, ReplaceRules(Behavior::Allow, rules("Bash(c)")), session).unwrap();
        made(&policy, RemoveRules(Behavior::Deny, rules("Bash(b)")), session).unwrap();
        assert_eq!(texts(&policy), ["Bash(make *)", "Bash(c)"]);
        assert!(made(&policy, AddRules(Behavior::Allow, rules("Bash(")), session).is_err());
    }

    #[test]
    fn an_allow_rule_for_the_local_settings_is_saved() {
        let saved = Arc::new(Saved::default());
        let saver = Arc::clone(&saved) as Arc<dyn RuleSaver>;
        let policy = SharedPolicy::new(Policy::new("/repo", "/home/u"), Some(saver));
        let add = |behavior| PermissionChange::AddRules(behavior, rules("Bash(a)"));
        made(&policy, add(Behavior::Allow), Destination::Local).unwrap();
        assert_eq!(*saved.0.lock().unwrap(), ["Bash(a)"]);
        assert!(made(&policy, add(Behavior::Deny), Destination::Local).is_err());
        assert!(made(&policy, add(Behavior::Allow), Destination::Project).is_err());
        assert_eq!(saved.0.lock().unwrap().len(), 1);
        assert_eq!(texts(&policy).len(), 3, "in the session they hold all the same");
    }

    #[test]
    fn h18_a_mode_that_is_not_available_is_not_entered() {
        let policy = SharedPolicy::new(Policy::new("/repo", "/home/u"), None);
        let set = |mode| PermissionChange::SetMode(mode);
        let bypass = set(PermissionMode::BypassPermissions);
        let problem = made(&policy, bypass, Destination::Session).unwrap_err();
        assert!(problem.contains("not available"), "{problem}");
        assert_eq!(policy.current().mode, PermissionMode::Default);
        made(&policy, set(PermissionMode::AcceptEdits), Destination::Session).unwrap();
        assert_eq!(policy.current().mode, PermissionMode::AcceptEdits);
    }

    #[test]
    fn only_directories_that_were_granted_are_taken_away() {
        let mut settings = Policy::new("/repo", "/home/u");
        settings.additional_directories.push("/data".into());
        let policy = SharedPolicy::new(settings, None);
        let session = Destination::Session;
        let add = |path: &str| PermissionChange::AddDirectories(vec![path.into()]);
        made(&policy, add("/more"), session).unwrap();
        assert!(made(&policy, add("relative"), session).is_err());
        let gone = vec!["/more".into(), "/data".into()];
        made(&policy, PermissionChange::RemoveDirectories(gone), session).unwrap();
        assert_eq!(policy.current().additional_directories, [std::path::Path::new("/data")]);
    }
}
