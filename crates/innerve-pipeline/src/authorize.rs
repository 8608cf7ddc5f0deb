//! Steps 7 to 9: hooks speak, the engine judges, somebody is asked, a refusal is worded.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use innerve_permission::facts::Place;
use innerve_permission::{
    Approval, Approver as ApprovedBy, Decision, HookVoice, Judgement, Need, Preview, Reason,
    ReasonKind, Resolution, Verdict, Voices, judge,
};
use serde_json::{Map, Value};

use crate::pipeline::Call;
use crate::prepare::Suspicion;
use crate::stage::{Authorized, Given, Outcome, StopRequest, Stopped, Validated};
use crate::validate::{invalid, unless_aborted, withdrawn};
use crate::{
    Answer, ApprovalRequest, ClassifierVerdict, HookDecision, HookEventName, HookOutcome,
    PermissionAnswer, Step,
};

/// What the hooks did to the input.
pub(crate) enum Heard {
    /// It is the same.
    Same,
    /// It is another one: it must be checked again.
    Changed,
}

/// What became of a judged call.
pub(crate) enum Judged {
    /// It may run.
    Permitted(Box<Authorized>),
    /// It may not.
    Refused(Box<Refusal>),
    /// Somebody edited the input: it must be checked and judged again.
    Changed,
}

/// Why a call may not run.
pub(crate) struct Refusal {
    resolution: Resolution,
    input: Value,
    by: RefusedBy,
}

enum RefusedBy {
    Engine,
    Classifier(String),
    Person(Option<String>),
    Hook { message: String, interrupt: bool },
    Nobody(String),
}

impl Call<'_> {
    /// Step 7. Hooks run once, on the prepared input.
    pub(crate) async fn pre_hooks(
        &mut self,
        call: &Validated,
        given: &mut Given,
    ) -> Result<Heard, Box<Stopped>> {
        if given.heard {
            self.pass(Step::PreHooks);
            return Ok(Heard::Same);
        }
        given.heard = true;
        let mut fields = Map::new();
        fields.insert("tool_input".to_owned(), call.input.clone());
        let turn = self.turn;
        let heard = self.hear(HookEventName::PreToolUse, &call.policy, fields);
        let outcome = unless_aborted(turn, Step::PreHooks, heard).await?;
        self.stop_if_told(Step::PreHooks)?;
        self.pass(Step::PreHooks);
        given.decision = outcome.decision;
        given.answered = outcome.updated_input.is_some();
        // A refusal needs no second look at the input that it refuses.
        let denied = matches!(given.decision, Some(HookDecision::Deny(_)));
        match outcome.updated_input {
            Some(input) if !denied && input != call.input => {
                given.input = input;
                Ok(Heard::Changed)
            }
            Some(_) | None => Ok(Heard::Same),
        }
    }

    /// Refuses the call if a hook stopped the run.
    fn stop_if_told(&self, step: Step) -> Result<(), Box<Stopped>> {
        let Some(reason) = &self.remarks.stop else { return Ok(()) };
        let text = format!("A hook stopped the run: {reason}");
        Err(Box::new(Stopped { text, ..invalid(step, "hook_stopped", "") }))
    }

    /// Step 8.
    pub(crate) async fn resolve(
        &mut self,
        call: Validated,
        suspicion: Option<Suspicion>,
        given: &mut Given,
    ) -> Result<Judged, Box<Stopped>> {
        let judgement = self.judge(&call, given);
        let resolution = judgement.resolution().clone();
        self.watch(|observer| observer.judged(&self.id, &self.name, &resolution));
        let judged = match resolution.verdict {
            Verdict::Decided(Decision::Allow) => permitted(call, judgement, None),
            Verdict::Decided(Decision::Deny) => refused(resolution, &call, RefusedBy::Engine),
            Verdict::Deferred => {
                let text = "A hook deferred this call; it was not run.".to_owned();
                return Err(Box::new(Stopped {
                    outcome: Outcome::Deferred,
                    stop: Some(StopRequest::Deferred),
                    text,
                    ..invalid(Step::Resolve, "deferred", "")
                }));
            }
            Verdict::Decided(Decision::Ask) => self.ask(call, judgement, given).await?,
            // Who wrote the input has no need of a classifier.
            Verdict::NeedsClassifier { .. } if given.edited_by.is_some() => {
                self.ask(call, judgement, given).await?
            }
            Verdict::NeedsClassifier { otherwise } => {
                self.classify_call(call, judgement, suspicion, otherwise, given).await?
            }
        };
        if let Judged::Permitted(_) = judged {
            self.turn.denials.allowed();
        }
        self.pass(Step::Resolve);
        Ok(judged)
    }

    /// The engine's word on the call.
    fn judge(&self, call: &Validated, given: &Given) -> Judgement {
        let policy = &call.policy;
        let place =
            Place { cwd: &policy.cwd, home: &policy.home, disk: self.pipeline.disk.as_ref() };
        let mut facts = call.tool.facts(&call.input, &call.context, place);
        if call.tool.requires_user_interaction() {
            facts.need = Need::Interaction;
        }
        // Parameter rules look at the words of whoever wrote the input (Claude Code documentation, "permissions").
        facts = facts.with_parameters_of(&given.input);
        let hook = given.decision.clone().map(|decision| match decision {
            HookDecision::Allow if given.answered => HookVoice::Answer,
            HookDecision::Allow => HookVoice::Allow,
            HookDecision::Ask(reason) => HookVoice::Ask(reason),
            HookDecision::Defer => HookVoice::Defer,
            HookDecision::Deny(reason) => HookVoice::Deny(reason),
        });
        let objection = call.tool.objection(&call.input, &call.context);
        judge(policy, facts, &Voices { hook, objection })
    }

    /// Lets the classifier answer; a person answers when it has refused too often.
    async fn classify_call(
        &mut self,
        call: Validated,
        judgement: Judgement,
        suspicion: Option<Suspicion>,
        otherwise: Decision,
        given: &mut Given,
    ) -> Result<Judged, Box<Stopped>> {
        let about = call.tool.classifier_input(&call.input);
        // What it cannot judge, and what it has refused too often, is for a person.
        if self.pipeline.classifier.is_some() && (about.is_empty() || self.turn.denials.exhausted())
        {
            return self.ask(call, judgement, given).await;
        }
        // An answer that was asked for early counts only if preparing the input changed nothing that it was told.
        let suspicion = suspicion
            .filter(|suspicion| suspicion.about == about)
            .or_else(|| self.ask_classifier(&call));
        let verdict = match suspicion {
            None => ClassifierVerdict::Unavailable("there is no classifier".to_owned()),
            Some(suspicion) => unless_aborted(self.turn, Step::Resolve, suspicion.verdict).await?,
        };
        match verdict {
            // What a hook wants to be asked is asked; the classifier could only have blocked it.
            ClassifierVerdict::Allow if !judgement.resolution().classifier_may_allow() => {
                self.ask(call, judgement, given).await
            }
            ClassifierVerdict::Allow => {
                Ok(permitted(call, judgement, Some(word_of(ApprovedBy::Classifier))))
            }
            ClassifierVerdict::Block(reason) => {
                self.turn.denials.refused();
                Ok(refused(judgement.resolution().clone(), &call, RefusedBy::Classifier(reason)))
            }
            ClassifierVerdict::Unavailable(why) => match otherwise {
                Decision::Allow | Decision::Ask => self.ask(call, judgement, given).await,
                Decision::Deny => {
                    Ok(refused(judgement.resolution().clone(), &call, RefusedBy::Classifier(why)))
                }
            },
        }
    }

    /// Asks: hooks first, then the approver.
    async fn ask(
        &mut self,
        call: Validated,
        judgement: Judgement,
        given: &mut Given,
    ) -> Result<Judged, Box<Stopped>> {
        let resolution = judgement.resolution().clone();
        // What a rule wants to be asked is asked, whatever a hook says.
        let is_ruled = resolution.reason.kind == ReasonKind::Rule;
        match given.edited_by {
            Some(by) if by == ApprovedBy::Person || !is_ruled => {
                return Ok(permitted(call, judgement, Some(word_of(by))));
            }
            Some(_) => {}
            None => {
                let heard = self.request_permission(&call, &resolution).await?;
                match (heard.permission, heard.updated_input) {
                    (Some(PermissionAnswer::Deny { message, interrupt }), _) => {
                        let by = RefusedBy::Hook { message, interrupt };
                        return Ok(refused(resolution, &call, by));
                    }
                    (Some(PermissionAnswer::Allow), Some(input)) if input != call.input => {
                        given.input = input;
                        given.edited_by = Some(ApprovedBy::Hook);
                        return Ok(Judged::Changed);
                    }
                    (Some(PermissionAnswer::Allow), _) if !is_ruled => {
                        return Ok(permitted(call, judgement, Some(word_of(ApprovedBy::Hook))));
                    }
                    (Some(PermissionAnswer::Allow) | None, _) => {}
                }
            }
        }
        let turn = self.turn;
        let preview = call.tool.preview(&call.input, &call.context);
        let preview = match unless_aborted(turn, Step::Resolve, preview).await? {
            Ok(preview) => preview,
            Err(error) => {
                return Err(Box::new(invalid(Step::Resolve, error.code(), error.message())));
            }
        };
        let request = ApprovalRequest {
            tool_use_id: self.id.clone(),
            tool: self.name.clone(),
            input: call.input.clone(),
            resolution: resolution.clone(),
            preview: preview.clone(),
            agent: self.turn.agent_id.clone(),
        };
        let answer = self.put(request, &call).await?;
        self.answered(call, judgement, given, preview, answer)
    }

    /// Lets hooks answer in place of a person.
    async fn request_permission(
        &mut self,
        call: &Validated,
        resolution: &Resolution,
    ) -> Result<HookOutcome, Box<Stopped>> {
        let mut fields = Map::new();
        fields.insert("tool_input".to_owned(), call.input.clone());
        let suggestions =
            resolution.suggestions.iter().map(|suggestion| Value::String(suggestion.0.clone()));
        fields.insert("permission_suggestions".to_owned(), suggestions.collect());
        let turn = self.turn;
        let heard = self.hear(HookEventName::PermissionRequest, &call.policy, fields);
        let heard = unless_aborted(turn, Step::Resolve, heard).await?;
        self.stop_if_told(Step::Resolve)?;
        Ok(heard)
    }

    /// Asks the approver, who gets a moment to take the question back when the turn is aborted.
    async fn put(
        &self,
        request: ApprovalRequest,
        call: &Validated,
    ) -> Result<Answer, Box<Stopped>> {
        let cancellation = &call.context.cancellation;
        let asked = self.pipeline.approver.ask(request, cancellation.clone());
        match select(asked, pin!(cancellation.cancelled())).await {
            Either::Left((answer, _)) => Ok(answer),
            Either::Right(((), asked)) => {
                drop(select(asked, self.grace()).await);
                Err(withdrawn(Step::Resolve))
            }
        }
    }

    fn answered(
        &mut self,
        call: Validated,
        judgement: Judgement,
        given: &mut Given,
        preview: Option<Preview>,
        answer: Answer,
    ) -> Result<Judged, Box<Stopped>> {
        let resolution = judgement.resolution().clone();
        let judged = match answer {
            Answer::Allow { remember, edited } => {
                if let Some(grant) = remember
                    && let Err(problem) = self.turn.policy.remember(&grant)
                {
                    let notice = format!("the rule could not be remembered: {problem}");
                    self.remarks.notices.push(notice);
                }
                match edited {
                    Some(input) if input != call.input => {
                        given.input = input;
                        given.edited_by = Some(ApprovedBy::Person);
                        Judged::Changed
                    }
                    Some(_) | None => {
                        let approval = Approval { by: ApprovedBy::Person, preview };
                        permitted(call, judgement, Some(approval))
                    }
                }
            }
            Answer::Deny { comment } => {
                let comment = comment.filter(|comment| !comment.trim().is_empty());
                refused(resolution, &call, RefusedBy::Person(comment))
            }
            Answer::Unavailable(why) => refused(resolution, &call, RefusedBy::Nobody(why)),
            Answer::Interrupted => return Err(withdrawn(Step::Resolve)),
        };
        Ok(judged)
    }

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
                reason = Reason {
                    kind: ReasonKind::Classifier,
                    code: "classifier".to_owned(),
                    message: why,
                    ..reason
                };
                let mut text = denied(&tool, &reason, &resolution);
                if self.refusal_may_be_retried(&input, &reason).await {
                    text.push_str(" A hook allows you to try again.");
                }
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
        let heard = self.hear(HookEventName::PermissionDenied, &policy, fields);
        let heard = unless_aborted(turn, Step::HandleRefusal, heard).await;
        heard.is_ok_and(|outcome| outcome.retry)
    }
}

/// A yes to what was not seen beforehand.
fn word_of(by: ApprovedBy) -> Approval {
    Approval { by, preview: None }
}

fn permitted(call: Validated, judgement: Judgement, approval: Option<Approval>) -> Judged {
    let resolution = judgement.resolution().clone();
    let permit = match approval.clone() {
        None => judgement.permit(),
        Some(approval) => judgement.approve(approval),
    };
    match permit {
        Ok(permit) => Judged::Permitted(Box::new(Authorized {
            tool: Arc::clone(&call.tool),
            permit,
            approval,
            input: call.input,
            context: call.context,
            resolution,
        })),
        // The engine has the last word: no answer turns a deny into a permit.
        Err(_) => refused(resolution, &call, RefusedBy::Engine),
    }
}

fn refused(resolution: Resolution, call: &Validated, by: RefusedBy) -> Judged {
    Judged::Refused(Box::new(Refusal { resolution, input: call.input.clone(), by }))
}

/// What the model is told of a refusal that no person made.
fn denied(tool: &str, reason: &Reason, resolution: &Resolution) -> String {
    let mut text =
        format!("Permission to use {tool} was denied: {}.", reason.message.trim_end_matches('.'));
    if let Some(rule) = &reason.rule {
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
