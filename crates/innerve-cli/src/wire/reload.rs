//! Settings files that change while a session runs.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use innerve_agent::SessionEnv;
use innerve_permission::RuleSource;
use innerve_pipeline::{HookDecision, HookEvent, HookEventName, HookOutcome, PolicySource as _};
use innerve_settings::Watcher;
use serde_json::{Map, Value};

use super::Workplace;
use crate::args::PolicyArguments;
use crate::output::{note, warn};

/// Loads settings again when a file has changed.
pub(crate) struct Reload {
    /// `None` where no file counts.
    watcher: Option<Watcher>,
    session: Arc<Session>,
}

/// What the changed settings are for.
struct Session {
    env: Arc<SessionEnv>,
    cwd: PathBuf,
    arguments: PolicyArguments,
    /// The warnings that a person has seen.
    told: Mutex<Vec<String>>,
}

impl Workplace {
    /// What loads this workplace's settings again for a session.
    pub(crate) fn reload(&self, env: &Arc<SessionEnv>, arguments: &PolicyArguments) -> Reload {
        let session = Session {
            env: Arc::clone(env),
            cwd: self.policy.original_cwd.clone(),
            arguments: arguments.clone(),
            told: Mutex::new(self.warnings.clone()),
        };
        Reload { watcher: self.watcher.clone(), session: Arc::new(session) }
    }
}

impl Reload {
    /// Looks at the files. Settings that are broken now change nothing: the earlier ones stay in force. Hooks may object,
    /// but not to managed settings; they are not waited for, so that one that hangs holds up nothing else.
    pub(crate) async fn look(&mut self) {
        let changes = self.watcher.as_mut().map(Watcher::changes).unwrap_or_default();
        if changes.is_empty() {
            return;
        }
        let session = Arc::clone(&self.session);
        let mut work = Box::pin(async move {
            match session.objection(changes).await {
                Some(why) => stay_in_force(&format!("a hook forbids the change: {why}")),
                None => session.load(),
            }
        });
        // Where no hook runs it is done at once.
        tokio::select! {
            biased;
            () = work.as_mut() => {}
            () = pin!(std::future::ready(())) => drop(tokio::spawn(work)),
        }
    }
}

impl Session {
    /// Why a hook wants the earlier settings to stay.
    async fn objection(&self, changes: Vec<(RuleSource, PathBuf)>) -> Option<String> {
        let mut objection = None;
        let mut managed = false;
        for (source, file) in changes {
            let heard = self.env.pipeline.run_hooks(self.event(source, &file)).await;
            managed |= source == RuleSource::Policy;
            objection = objection.or(word(heard));
        }
        objection.filter(|_| !managed)
    }

    fn event(&self, source: RuleSource, file: &std::path::Path) -> HookEvent {
        let policy = self.env.policy.current();
        let fields = [
            ("source", source_name(source).to_owned()),
            ("file_path", file.to_string_lossy().into_owned()),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), Value::String(value)));
        HookEvent {
            name: HookEventName::ConfigChange,
            session_id: self.env.session_id.to_string(),
            agent_id: None,
            agent_type: None,
            cwd: policy.cwd.clone(),
            permission_mode: policy.mode.name(),
            tool: None,
            fields: Map::from_iter(fields),
        }
    }

    fn load(&self) {
        match Workplace::find_in(&self.cwd, &self.arguments) {
            Ok(workplace) => {
                self.env.policy.reload(workplace.policy);
                note("settings have changed and count from now on");
                let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
                for warning in workplace.warnings.iter().filter(|it| !told.contains(it)) {
                    warn(warning);
                }
                *told = workplace.warnings;
            }
            Err(failure) => stay_in_force(&failure.message),
        }
    }
}

fn word(heard: HookOutcome) -> Option<String> {
    for message in &heard.messages {
        warn(message);
    }
    match heard.decision {
        Some(HookDecision::Deny(why)) => Some(why),
        Some(HookDecision::Allow | HookDecision::Ask(_) | HookDecision::Defer) | None => heard.stop,
    }
}

fn stay_in_force(why: &str) {
    warn(&format!("settings have changed, and the earlier ones stay in force: {why}"));
}

/// The kind of settings as hooks know it; a file that a flag names is the user's.
fn source_name(source: RuleSource) -> &'static str {
    match source {
        RuleSource::Policy => "policy_settings",
        RuleSource::Project => "project_settings",
        RuleSource::Local => "local_settings",
        RuleSource::User | RuleSource::Cli | RuleSource::Session => "user_settings",
        RuleSource::Skill => "skills",
    }
}
