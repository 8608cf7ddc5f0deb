//! The mode that a session starts in, and those that it may not start in.

use innerve_permission::{PermissionMode, Policy};

use super::Workplace;
use crate::exit::Failure;
use crate::output::warn;

impl Workplace {
    /// Starts in this mode. What the person who starts the program chooses is available.
    pub(crate) fn set_mode(&mut self, mode: PermissionMode) {
        if mode == PermissionMode::Auto && self.auto_disabled {
            let text = "mode auto is disabled by settings (disableAutoMode): mode default is taken";
            self.warnings.push(text.to_owned());
            self.policy.mode = PermissionMode::Default;
            return;
        }
        self.policy.mode = mode;
        let bypasses = mode == PermissionMode::BypassPermissions;
        self.policy.bypass_available |= bypasses && !self.bypass_disabled;
    }

    /// Refuses to bypass permissions where settings forbid it, and where every command would have the rights of root.
    pub(super) fn may_start(&self) -> Result<(), Failure> {
        if self.policy.mode != PermissionMode::BypassPermissions {
            return Ok(());
        }
        if self.bypass_disabled {
            return Err(Failure::usage(
                "mode bypassPermissions is disabled by settings (disableBypassPermissionsMode); start in another mode",
            ));
        }
        if is_root() && std::env::var_os("IS_SANDBOX").is_none_or(|value| value != "1") {
            return Err(Failure::usage(
                "mode bypassPermissions does not start as root, since whatever a model says would run with all rights; \
                 start as another user, or set IS_SANDBOX=1 if this is a container or a virtual machine that may be lost",
            ));
        }
        Ok(())
    }

    /// Takes mode `default` in place of `auto` where nobody judges.
    pub(super) fn without_classifier(policy: &mut Policy) {
        if policy.mode == PermissionMode::Auto {
            warn(
                "mode auto needs a model that judges, and this call has none: mode default is taken",
            );
            policy.mode = PermissionMode::Default;
        }
    }
}

/// Whether the program has the rights of root.
fn is_root() -> bool {
    #[cfg(unix)]
    return rustix::process::geteuid().is_root();
    #[cfg(not(unix))]
    false
}
