//! Step 9: what the model is told of a refusal, and what hooks may say to it.

use innerve_permission::{Reason, ReasonKind, Resolution};
use serde_json::{Map, Value};

use crate::pipeline::Call;
use crate::stage::{Outcome, StopRequest, Stopped};
use crate::validate::unless_aborted;
use crate::{HookEventName, Step};

/// Why a call may not run.
pub(crate) struct Refusal {
    pub(crate) resolution: Resolution,
    pub(crate) input: Value,
    pub(crate) by: RefusedBy,
}

/// Who refused a call.
pub(crate) enum RefusedBy {
    /// Rules, mode or the tool itself.
    Engine,
    /// The classifier, and why.
    Classifier(String),
    /// The lack of a classifier's verdict, and why there is none.
    NoVerdict(String),
    /// A person, with what they said.
    Person(Option<String>),
    /// A hook in place of a person.
    Hook { message: String, interrupt: bool },
    /// The lack of anybody to ask, and why.
    Nobody(String),
}

impl Call<'_> {
    /// Step 9.
    pub(crate) async fn handle_refusal(&mut self, refusal: Refusal) -> Box<Stopped> {
        let Refusal { resolution, input, by } = refusal;
        let tool = self.name.clone();
        let mut reason = resolution.reason.clone();
        let (text, stop) = match by {
            RefusedBy::Engine => (denied(&tool, &reason, &resolution), None),
            RefusedBy::Nobody(why) => (
                format!(
                    "{} It needed an approval, and {why}.",
                    denied(&tool, &reason, &resolution)
                ),
                None,
            ),
            RefusedBy::Classifier(why) => {
                reason = of_classifier(reason, "classifier", why);
                let mut text = denied(&tool, &reason, &resolution);
                if self.refusal_may_be_retried(&input, &reason).await {
                    text.push_str(" A hook allows you to try again.");
                }
                (text, None)
            }
            // It says nothing of the call: hooks are not told, and another try may go well.
            RefusedBy::NoVerdict(why) => {
                let text = format!(
                    "This use of {tool} was not permitted, since the classifier of this mode gave no verdict on it: {why}. Nothing was run. You may try again in a moment, or go on with something else; do not try to get the same effect in another way."
                );
                reason = of_classifier(reason, "no_verdict", why);
                (text, None)
            }
            RefusedBy::Person(Some(comment)) => (
                format!(
                    "The user rejected this use of {tool}; nothing was run or written. They said: {comment}"
                ),
                None,
            ),
            RefusedBy::Person(None) => (
                format!(
                    "The user rejected this use of {tool}; nothing was run or written. Stop here and wait for them to say how to go on."
                ),
                Some(StopRequest::DeniedByUser),
            ),
            RefusedBy::Hook { message, interrupt } => {
                let stop = interrupt.then(|| StopRequest::HookStopped(message.clone()));
                (format!("A hook refused this use of {tool}: {message}"), stop)
            }
        };
        Box::new(Stopped {
            step: Step::HandleRefusal,
            code: format!("permission:{}", reason.code),
            text,
            outcome: Outcome::Refused(Box::new(reason)),
            resolution: Some(resolution),
            stop,
        })
    }

    /// Only refusals of the classifier are told to hooks (Claude Code documentation, "hooks").
    async fn refusal_may_be_retried(&mut self, input: &Value, reason: &Reason) -> bool {
        let policy = self.turn.policy.current();
        let mut fields = Map::new();
        fields.insert("tool_input".to_owned(), input.clone());
        fields.insert("reason".to_owned(), Value::String(reason.message.clone()));
        let turn = self.turn;
        let heard = self.run_hooks(HookEventName::PermissionDenied, &policy, fields);
        let heard = unless_aborted(turn, Step::HandleRefusal, heard).await;
        heard.is_ok_and(|outcome| outcome.retry)
    }
}

fn of_classifier(reason: Reason, code: &str, message: String) -> Reason {
    Reason { kind: ReasonKind::Classifier, code: code.to_owned(), message, ..reason }
}

/// What the model is told of a refusal that no person made.
fn denied(tool: &str, reason: &Reason, resolution: &Resolution) -> String {
    let why = reason.message.trim_end_matches('.');
    // A reason that is a sentence about the denial goes on where ours begins.
    let joint = if why.starts_with("denied by ") { "was" } else { "was denied:" };
    let mut text = format!("Permission to use {tool} {joint} {why}.");
    if let Some(rule) = reason.rule.as_ref().filter(|rule| !why.contains(rule.as_str())) {
        text.push_str(&format!(" (rule {rule})"));
    }
    let rules: Vec<&str> =
        resolution.suggestions.iter().map(|suggestion| suggestion.0.as_str()).collect();
    match rules.as_slice() {
        [] => {}
        [rule] => text.push_str(&format!(" The user can allow it with the rule {rule}.")),
        // One rule for each part that lacks one.
        rules => {
            text.push_str(&format!(" The user can allow it with the rules {}.", rules.join(", ")));
        }
    }
    text.push_str(" Do not try to get the same effect in another way; go on with what you may do, or say what you need.");
    text
}
