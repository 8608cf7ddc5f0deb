//! The sandbox around shell commands: what runs in it, and what that spares (permissions documentation, "sandboxing").

use super::call::Call;
use super::rules;
use crate::{Behavior, CallFacts, PermissionMode, Sandbox};

/// Whether the command runs in a sandbox that spares the question.
pub(super) fn auto_allows(call: Call<'_>) -> bool {
    call.policy.mode != PermissionMode::Plan
        && around(call).is_some_and(|sandbox| sandbox.auto_allow)
}

/// The sandbox that the command runs in; `None` if it runs outside, or if that is not certain.
fn around(call: Call<'_>) -> Option<&Sandbox> {
    let sandbox = call.policy.sandbox.as_ref()?;
    let is_read =
        call.facts.tool() == "Bash" && call.facts.opaque.is_none() && !call.facts.parts.is_empty();
    (is_read && !sandbox.lets_out(call.facts)).then_some(sandbox)
}

impl Sandbox {
    /// Whether a command runs outside of this sandbox: it asks to and may, or a part of it is excluded.
    ///
    /// Hosts run commands by the same answer that permission is decided on. Of a command that cannot be read, nothing is
    /// known to be excluded, so that it runs inside.
    pub fn lets_out(&self, facts: &CallFacts) -> bool {
        let leaves = facts.parameters.get("dangerouslyDisableSandbox");
        let stays = !self.may_leave || leaves.is_none_or(|value| value == "false");
        let excluded = |part| {
            let found = rules::of_command_in(&self.excluded, &["Bash"], Behavior::Ask, part);
            found.certain.or(found.possible).is_some()
        };
        !stays || facts.parts.iter().any(excluded)
    }
}
