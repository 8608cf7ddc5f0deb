//! Permission modes as the editor's session modes.

use agent_client_protocol::v1::schema::{SessionMode, SessionModeState};
use innerve_agent::SessionEnv;
use innerve_permission::PermissionMode;
use innerve_pipeline::PolicySource as _;

/// The modes that the session can be in, and the one it is in.
pub(crate) fn state(env: &SessionEnv) -> SessionModeState {
    let current = env.policy.current().mode;
    let mut modes = available(env);
    if !modes.contains(&current) {
        // Chosen at the start (`dontAsk`): it is shown for as long as it holds.
        modes.push(current);
    }
    SessionModeState::new(current.name(), modes.into_iter().map(described).collect())
}

/// The modes that may be set.
pub(crate) fn available(env: &SessionEnv) -> Vec<PermissionMode> {
    let mut modes =
        vec![PermissionMode::Default, PermissionMode::AcceptEdits, PermissionMode::Plan];
    if env.classifier.is_some() {
        modes.push(PermissionMode::Auto);
    }
    if env.policy.current().bypass_available {
        modes.push(PermissionMode::BypassPermissions);
    }
    modes
}

fn described(mode: PermissionMode) -> SessionMode {
    let (name, does) = match mode {
        PermissionMode::Default => ("Ask", "What only reads runs, the rest is asked about"),
        PermissionMode::AcceptEdits => {
            ("Accept edits", "Edits in the project run without a question")
        }
        PermissionMode::Plan => ("Plan", "Looks and plans, changes nothing until you approve"),
        PermissionMode::Auto => ("Auto", "A second model answers what would be asked"),
        PermissionMode::DontAsk => ("Don't ask", "What would be asked is denied"),
        PermissionMode::BypassPermissions => {
            ("Bypass permissions", "Everything runs but what deny and ask rules hold back")
        }
        PermissionMode::Bubble => ("Bubble", "Questions go to the parent"),
    };
    SessionMode::new(mode.name(), name).description(does.to_owned())
}
