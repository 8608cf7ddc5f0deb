//! The view of single parts: what becomes of each on its own, and which of them holds the whole back.

use super::call::Call;
use super::reasons::reason;
use super::{approve, places, rules};
use crate::{
    Behavior, Decision, Effect, Part, PartResolution, PermissionMode, Reason, ReasonKind, Target,
    Verdict,
};

/// What becomes of each part on its own; a part is never shown as more than the whole lets through.
pub(super) fn resolve(call: Call<'_>, verdict: Verdict) -> Vec<PartResolution> {
    let parts = call.facts.parts.iter().enumerate();
    parts
        .map(|(index, part)| {
            let (decision, reason) = if verdict == Verdict::Decided(Decision::Allow) {
                let why = approve::of_part(call, index).map(|approval| approval.reason);
                (
                    Decision::Allow,
                    why.unwrap_or_else(|| {
                        reason(ReasonKind::Default, "whole", "allowed as a whole")
                    }),
                )
            } else {
                of_part(call, index, part)
            };
            PartResolution { text: part.text.clone(), decision, reason }
        })
        .collect()
}

fn of_part(call: Call<'_>, index: usize, part: &Part) -> (Decision, Reason) {
    let denying = rules::of_part(call, Behavior::Deny, part);
    if let Some(reason) = denying.certain() {
        return (Decision::Deny, reason);
    }
    let asking = rules::of_part(call, Behavior::Ask, part);
    if let Some(reason) =
        asking.certain().or_else(|| denying.possible()).or_else(|| asking.possible())
    {
        return (Decision::Ask, reason);
    }
    let targets = || part.targets.iter().chain(&part.redirected);
    if let Some(path) =
        targets().find_map(|target| places::critical_target(call, target, part.cwd.as_deref()))
    {
        return (
            Decision::Ask,
            reason(ReasonKind::Safety, "critical_path", format!("removes `{path}`")),
        );
    }
    let protected = targets().find_map(|target| places::protected_target(call, target));
    if let Some(path) = protected.or_else(|| places::protected_change(call, part)) {
        return (
            Decision::Ask,
            reason(ReasonKind::Safety, "protected_path", format!("changes `{}`", path.given)),
        );
    }
    let is_secret = part.effects.contains(Effect::Secret)
        || targets()
            .any(|target| matches!(target, Target::Read(path) if places::is_secret_target(path)));
    if is_secret
        && call.policy.ask_secret_reads
        && let Some(reason) = unnamed_secret(call)
    {
        return (Decision::Ask, reason);
    }
    match approve::of_part(call, index) {
        Some(approval) => (Decision::Allow, approval.reason),
        None => (Decision::Ask, unapproved(call, part)),
    }
}

/// Why nothing lets the call run.
pub(super) fn missing(call: Call<'_>) -> Reason {
    let mut parts = call.facts.parts.iter().enumerate();
    let lacking = parts.find(|(index, _)| approve::of_part(call, *index).is_none());
    match lacking {
        Some((_, part)) => unapproved(call, part),
        None => reason(
            ReasonKind::Default,
            "default",
            format!("nothing allows this use of {}", call.facts.tool()),
        ),
    }
}

fn unapproved(call: Call<'_>, part: &Part) -> Reason {
    if let Some((code, message)) = &part.concern {
        return reason(ReasonKind::Analysis, code, message.clone());
    }
    if !call.runs_inside(part) {
        let why = format!("`{}` may run outside the working directories", part.text);
        return reason(ReasonKind::Default, "outside", why);
    }
    let written = part.redirected.iter().find_map(|target| match target {
        Target::Write(path) | Target::Delete(path) => Some(path),
        Target::Read(_) | Target::Host(_) | Target::Agent(_) => None,
    });
    match written {
        Some(path) => reason(
            ReasonKind::Default,
            "redirection",
            format!("nothing allows `{}` with its redirection to `{}`", part.text, path.given),
        ),
        None => reason(ReasonKind::Default, "default", format!("nothing allows `{}`", part.text)),
    }
}

/// Whether every part only reads, apart from what rules say.
pub(super) fn only_reads(call: Call<'_>) -> bool {
    let writes = |target: &Target| matches!(target, Target::Write(_) | Target::Delete(_));
    call.facts.opaque.is_none()
        && !call.facts.parts.is_empty()
        && call.facts.parts.iter().all(|part| part.read_only && !part.redirected.iter().any(writes))
        && call.policy.mode == PermissionMode::Plan
}

/// The question about a secret, unless a rule names it: its path, or the very command that prints it.
pub(super) fn unnamed_secret(call: Call<'_>) -> Option<Reason> {
    let secret = places::secret(call)?;
    let why = match (secret.path, secret.part.and_then(|index| call.facts.parts.get(index))) {
        (Some(path), _) => reason(
            ReasonKind::Secret,
            "secret_path",
            format!("reads `{}`, likely a secret", path.given),
        ),
        (None, Some(part)) => reason(
            ReasonKind::Secret,
            "secret_output",
            format!("`{}` prints what is likely a secret", part.text),
        ),
        (None, None) => {
            reason(ReasonKind::Secret, "secret_output", "reads what is likely a secret")
        }
    };
    (!approve::names_secrets(call)).then_some(why)
}
