//! The chain that resolves a call: one paragraph of [`resolve`] for each link, in the only order there is.

mod approve;
mod call;
mod forms;
mod never;
mod parts;
mod places;
mod reasons;
mod rules;
mod sandbox;
mod scopes;
mod search;
mod suggest;

use call::Call;
pub(crate) use places::protected_names;
use reasons::reason;
pub use scopes::{PathPatterns, PathScopes};

use crate::{
    Behavior, CallFacts, Decision, HookVoice, Link, LinkOutcome, Objection, PathTarget,
    PermissionMode, Policy, Reason, ReasonKind, Resolution, Target, Verdict, Voices,
};

/// Resolves a call: a pure function.
///
/// Links are tried in a fixed order and the first that decides ends the chain. A deny comes before anything that could
/// allow, so nothing lets through what a deny rule forbids; whatever can only be asked about ends as a question, which
/// becomes a denial where nobody can answer it.
pub fn resolve(policy: &Policy, facts: &CallFacts, voices: &Voices) -> Resolution {
    let call = Call { policy, facts, voices };
    let mut chain = Chain { call, trace: Vec::new() };

    // A deny rule that certainly speaks of any part of the call ends the matter in every mode.
    let denying = rules::find(call, Behavior::Deny);
    if let Some(reason) = denying.certain() {
        return chain.deny("deny_rules", reason);
    }
    chain.note(
        "deny_rules",
        if denying.possible.is_some() { LinkOutcome::Ask } else { LinkOutcome::None },
    );

    // A hook may deny, defer or ask. Its allow only spares the question, so it is heard further down.
    let mut forced = denying.possible();
    match &voices.hook {
        Some(HookVoice::Deny(message)) => {
            return chain.deny("hook", reason(ReasonKind::Hook, "hook_deny", message.clone()));
        }
        Some(HookVoice::Defer) => {
            let why = reason(ReasonKind::Hook, "hook_defer", "a hook puts the call off");
            return chain.end("hook", LinkOutcome::Defer, Verdict::Deferred, why);
        }
        Some(HookVoice::Ask(message)) => {
            chain.note("hook", LinkOutcome::Ask);
            forced = forced.or_else(|| Some(reason(ReasonKind::Hook, "hook_ask", message.clone())));
        }
        Some(HookVoice::Allow | HookVoice::Answer) => chain.note("hook", LinkOutcome::Allow),
        None => chain.note("hook", LinkOutcome::None),
    }

    // Ask rules, and tools in which a person takes part, force a question that nothing spares.
    let asking = rules::find(call, Behavior::Ask);
    forced = asking.certain().or(forced).or_else(|| asking.possible()).or_else(|| {
        call.needs_person().then(|| {
            reason(
                ReasonKind::Default,
                "interaction",
                format!("{} is answered by a person", facts.tool()),
            )
        })
    });
    chain.note("ask_rules", if forced.is_some() { LinkOutcome::Ask } else { LinkOutcome::None });

    // The tool itself may object: it can deny or ask, and has no way to allow.
    match &voices.objection {
        Some(Objection::Deny(message)) => {
            return chain
                .deny("objection", reason(ReasonKind::Safety, "objection", message.clone()));
        }
        Some(Objection::Ask(message)) if !call.is_unrestricted() && forced.is_none() => {
            return chain
                .ask("objection", reason(ReasonKind::Safety, "objection", message.clone()));
        }
        Some(Objection::Ask(_)) | None => chain.note("objection", LinkOutcome::None),
    }
    if let Some(reason) = forced {
        // What only a hook wants to be asked, a classifier may still block; it cannot allow it.
        let by_hook = reason.kind == ReasonKind::Hook && policy.mode == PermissionMode::Auto;
        return if by_hook {
            chain.ask_unless_blocked("forced", reason)
        } else {
            chain.ask("forced", reason)
        };
    }

    // Removing a system directory, the home or what the session works in is asked about even in bypassPermissions.
    if let Some(path) = places::critical(call) {
        let why = format!("removes `{path}`, which nobody wants to lose");
        return chain
            .ask_or_classify("critical_paths", reason(ReasonKind::Safety, "critical_path", why));
    }
    chain.note("critical_paths", LinkOutcome::None);

    // Files that make other tools run code are not covered by allow rules from settings.
    if let Some(path) = places::protected(call)
        && !call.is_unrestricted()
        && !call.hook_allows()
        && !approve::granted_in_session(call, path)
    {
        let why = format!("changes `{}`, which configures what other tools run", path.given);
        return chain
            .ask_or_classify("protected_paths", reason(ReasonKind::Safety, "protected_path", why));
    }
    chain.note("protected_paths", LinkOutcome::None);

    // A path that two programs could read as two files is never taken for the one that a rule means.
    if let Some(path) = places::odd(call)
        && !call.is_unrestricted()
        && !call.hook_allows()
        && !(call.is_shell() && approve::of_whole_command(call).is_some())
    {
        let why = format!("the spelling of `{}` could stand for another file", path.given);
        return chain.ask_or_classify("odd_paths", reason(ReasonKind::Safety, "odd_path", why));
    }
    chain.note("odd_paths", LinkOutcome::None);

    // A command that could not be read may do anything: only its exact text, or every command, can be allowed.
    if let Some((code, message)) = &facts.opaque
        && !call.is_unrestricted()
        && !call.hook_allows()
        && (call.policy.mode == PermissionMode::Plan || approve::of_whole_command(call).is_none())
    {
        let why = reason(
            ReasonKind::Analysis,
            code,
            format!("the command could not be analyzed: {message}"),
        );
        return chain.ask_or_classify("opaque", why);
    }
    chain.note("opaque", LinkOutcome::None);

    // A likely secret is asked about wherever it lies, unless a rule names it.
    if policy.ask_secret_reads
        && !call.is_unrestricted()
        && !call.hook_allows()
        && let Some(why) = parts::unnamed_secret(call)
    {
        return chain.ask_or_classify("secrets", why);
    }
    chain.note("secrets", LinkOutcome::None);

    // The mode: bypassPermissions allows what came this far; plan lets nothing be changed, whatever the rules say.
    if call.is_unrestricted() {
        let why = format!("mode {} runs what no rule holds back", policy.mode);
        return chain.allow("mode", reason(ReasonKind::Mode, "bypass", why));
    }
    let approval = approve::of_call(call);
    if policy.mode == PermissionMode::Plan {
        if approve::touches_only_the_plan(call) {
            let why = "mode plan lets the plan itself be read and written";
            return chain.allow("mode", reason(ReasonKind::Mode, "plan_file", why));
        }
        if call.is_shell() {
            let reads =
                approval.as_ref().is_some_and(|approval| approval.kind == approve::Kind::Free)
                    || parts::only_reads(call);
            if !reads && !call.hook_allows() {
                let why = reason(ReasonKind::Mode, "plan", "mode plan runs only what reads");
                return chain.ask_or_classify("mode", why);
            }
        } else if facts
            .targets
            .iter()
            .any(|target| matches!(target, Target::Write(_) | Target::Delete(_)))
        {
            let mut why = "mode plan changes nothing until the plan is approved".to_owned();
            if let Some(file) = &policy.plan_file {
                why.push_str(&format!("; the plan itself may be written to `{}`", file.display()));
            }
            return chain.ask("mode", reason(ReasonKind::Mode, "plan", why));
        }
    }
    chain.note("mode", LinkOutcome::None);

    // Approvals: a hook, the sandbox, allow rules for every part, what only reads, and edits that the mode accepts.
    if call.hook_allows() {
        return chain
            .allow("hook_allow", reason(ReasonKind::Hook, "hook_allow", "allowed by a hook"));
    }
    chain.note("hook_allow", LinkOutcome::None);
    if sandbox::auto_allows(call) {
        let why = "runs in the sandbox, which needs no question";
        return chain.allow("sandbox", reason(ReasonKind::Mode, "sandbox", why));
    }
    chain.note("sandbox", LinkOutcome::None);
    let links = [
        (approve::Kind::Rule, "allow_rules"),
        (approve::Kind::Free, "read_only"),
        (approve::Kind::Mode, "accept_edits"),
    ];
    for (kind, link) in links {
        match &approval {
            Some(approval) if approval.kind == kind => {
                return chain.allow(link, approval.reason.clone());
            }
            Some(_) | None => chain.note(link, LinkOutcome::None),
        }
    }

    // Nothing decided: mode auto asks a classifier, every other mode a person.
    let why = parts::missing(call);
    if policy.mode == PermissionMode::Auto {
        return chain.ask_or_classify("classifier", why);
    }
    chain.ask("default", why)
}

impl Policy {
    /// Whether a deny rule about reading hides the file, so that searches and lists must leave it out.
    pub fn hides(&self, path: &PathTarget) -> bool {
        let facts = CallFacts::new("Read", serde_json::Value::Null);
        let call = Call { policy: self, facts: &facts, voices: &Voices::default() };
        rules::of_target(call, Behavior::Deny, &Target::Read(path.clone())).certain.is_some()
    }
}

/// The chain as far as it has been walked.
struct Chain<'a> {
    call: Call<'a>,
    trace: Vec<Link>,
}

impl Chain<'_> {
    fn note(&mut self, link: &'static str, outcome: LinkOutcome) {
        self.trace.push(Link { link, outcome });
    }

    fn allow(self, link: &'static str, reason: Reason) -> Resolution {
        self.end(link, LinkOutcome::Allow, Verdict::Decided(Decision::Allow), reason)
    }

    fn deny(self, link: &'static str, reason: Reason) -> Resolution {
        self.end(link, LinkOutcome::Deny, Verdict::Decided(Decision::Deny), reason)
    }

    /// A question that a classifier answers where the mode says so; without its word the call is not run.
    fn ask_or_classify(self, link: &'static str, reason: Reason) -> Resolution {
        if !self.call.is_classified() {
            return self.ask(link, reason);
        }
        let nobody = self.call.policy.mode == PermissionMode::Auto || self.call.policy.headless;
        let otherwise = if nobody { Decision::Deny } else { Decision::Ask };
        self.end(link, LinkOutcome::Classify, Verdict::NeedsClassifier { otherwise }, reason)
    }

    /// A question that a classifier may turn into a denial; without its word it stays a question.
    fn ask_unless_blocked(self, link: &'static str, reason: Reason) -> Resolution {
        if self.call.policy.headless {
            return self.ask(link, reason);
        }
        let verdict = Verdict::NeedsClassifier { otherwise: Decision::Ask };
        self.end(link, LinkOutcome::Classify, verdict, reason)
    }

    /// A question, or a denial where nobody may be asked.
    fn ask(mut self, link: &'static str, mut reason: Reason) -> Resolution {
        let nobody = if self.call.policy.mode == PermissionMode::DontAsk {
            Some(("dont_ask", "mode dontAsk denies what it would ask"))
        } else if self.call.policy.headless {
            Some(("headless", "nobody can be asked"))
        } else {
            None
        };
        let Some((last, why)) = nobody else {
            return self.end(link, LinkOutcome::Ask, Verdict::Decided(Decision::Ask), reason);
        };
        self.note(link, LinkOutcome::Ask);
        reason.message = format!("{}; {why}", reason.message);
        self.end(last, LinkOutcome::Deny, Verdict::Decided(Decision::Deny), reason)
    }

    fn end(
        mut self,
        link: &'static str,
        outcome: LinkOutcome,
        verdict: Verdict,
        reason: Reason,
    ) -> Resolution {
        self.note(link, outcome);
        let suggestions = suggest::rules(self.call, &reason, verdict);
        Resolution {
            verdict,
            parts: parts::resolve(self.call, verdict),
            reason,
            trace: self.trace,
            suggestions,
        }
    }
}
