//! The sandbox around shell commands: what runs in it, and what that spares (permissions documentation, "sandboxing").

use super::call::Call;
use super::rules;
use crate::{Behavior, PermissionMode, Sandbox};

/// Whether the command runs in a sandbox that spares the question.
pub(super) fn auto_allows(call: Call<'_>) -> bool {
    call.policy.mode != PermissionMode::Plan
        && around(call).is_some_and(|sandbox| sandbox.auto_allow)
}

/// The sandbox that the command runs in; `None` if it runs outside, or if that is not certain.
fn around(call: Call<'_>) -> Option<&Sandbox> {
    let sandbox = call.policy.sandbox.as_ref()?;
    let leaves = call.facts.parameters.get("dangerouslyDisableSandbox");
    let is_read =
        call.facts.tool() == "Bash" && call.facts.opaque.is_none() && !call.facts.parts.is_empty();
    let stays = !sandbox.may_leave || leaves.is_none_or(|value| value == "false");
    let excluded = |part| {
        let found = rules::of_command_in(&sandbox.excluded, &["Bash"], Behavior::Ask, part);
        found.certain.or(found.possible).is_some()
    };
    (is_read && stays && !call.facts.parts.iter().any(excluded)).then_some(sandbox)
}
