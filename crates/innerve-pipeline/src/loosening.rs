//! Which changes of a session need somebody's approval: those after which something runs unasked that would not before.

use std::path::Path;

use innerve_permission::{PermissionMode as Mode, Policy};
use innerve_tool::SessionChange;

/// Whether a session may go from its mode to another without anybody's approval: nothing may run there unasked that
/// would be asked about or denied here.
///
/// The modes are no ladder: `dontAsk` follows allow rules that `plan` ignores and `auto` suspends, and `plan` holds
/// nothing back in a session that may bypass permissions.
pub fn is_no_looser(policy: &Policy, to: Mode) -> bool {
    let from = policy.mode;
    if from == to {
        return true;
    }
    let unrestricted =
        from == Mode::BypassPermissions || (from == Mode::Plan && policy.bypass_available);
    match to {
        Mode::BypassPermissions => false,
        Mode::Auto | Mode::AcceptEdits => unrestricted,
        Mode::Default | Mode::Bubble | Mode::DontAsk => {
            unrestricted || matches!(from, Mode::AcceptEdits | Mode::Default | Mode::Bubble)
        }
        Mode::Plan => unrestricted || (!policy.bypass_available && from != Mode::DontAsk),
    }
}

/// Whether a change that a tool asks for needs somebody's approval.
pub(crate) fn needs_approval(policy: &Policy, change: &SessionChange) -> bool {
    match change {
        SessionChange::SetMode(mode) => !is_no_looser(policy, *mode),
        SessionChange::LeavePlan | SessionChange::AddDirectories(_) => true,
        // Allow rules hold in the current directory, wherever it is.
        SessionChange::SetCwd(path) | SessionChange::SetRoot(path) => {
            let holds = |directory: &Path| {
                let mut real = policy.links.iter().filter(|(given, _)| given == directory);
                path.starts_with(directory) || real.any(|(_, real)| path.starts_with(real))
            };
            !policy.working_directories().any(holds)
        }
        SessionChange::LoadTools(_) | SessionChange::SetTodos(_) => false,
    }
}

/// What a person is told of a change that was not made.
pub(crate) fn describe(change: &SessionChange) -> String {
    match change {
        SessionChange::SetMode(mode) => format!("set the permission mode to {mode}"),
        SessionChange::LeavePlan => "leave plan mode".to_owned(),
        SessionChange::AddDirectories(directories) => {
            let names: Vec<String> =
                directories.iter().map(|path| path.display().to_string()).collect();
            format!("add the working directories {}", names.join(", "))
        }
        SessionChange::SetCwd(path) | SessionChange::SetRoot(path) => {
            format!("move to {}", path.display())
        }
        SessionChange::LoadTools(_) => "load tools".to_owned(),
        SessionChange::SetTodos(_) => "replace the todo list".to_owned(),
    }
}
