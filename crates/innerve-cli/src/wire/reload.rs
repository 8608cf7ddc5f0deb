//! Settings files that change while a session runs.

use std::path::PathBuf;
use std::sync::Arc;

use innerve_agent::SharedPolicy;
use innerve_settings::Watcher;

use super::Workplace;
use crate::args::PolicyArguments;
use crate::output::{note, warn};

/// Loads settings again when a file has changed.
pub(crate) struct Reload {
    /// `None` where no file counts.
    watcher: Option<Watcher>,
    cwd: PathBuf,
    arguments: PolicyArguments,
    policy: Arc<SharedPolicy>,
    told: Vec<String>,
}

impl Workplace {
    /// What loads this workplace's settings again for a session with this policy.
    pub(crate) fn reload(&self, policy: &Arc<SharedPolicy>, arguments: &PolicyArguments) -> Reload {
        Reload {
            watcher: self.watcher.clone(),
            cwd: self.policy.original_cwd.clone(),
            arguments: arguments.clone(),
            policy: Arc::clone(policy),
            told: self.warnings.clone(),
        }
    }
}

impl Reload {
    /// Looks at the files. Settings that are broken now change nothing: the earlier ones stay in force.
    pub(crate) fn look(&mut self) {
        if !self.watcher.as_mut().is_some_and(Watcher::changed) {
            return;
        }
        match Workplace::find_in(&self.cwd, &self.arguments) {
            Ok(workplace) => {
                self.policy.reload(workplace.policy);
                note("settings have changed and count from now on");
                for warning in workplace.warnings.iter().filter(|it| !self.told.contains(it)) {
                    warn(warning);
                }
                self.told = workplace.warnings;
            }
            Err(failure) => warn(&format!(
                "settings have changed, and the earlier ones stay in force: {}",
                failure.message
            )),
        }
    }
}
