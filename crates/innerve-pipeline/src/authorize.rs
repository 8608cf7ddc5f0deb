//! Steps 7 to 9: hooks speak, the engine judges, somebody is asked, a refusal is worded.

use std::sync::Arc;

use futures_util::future::{Either, join_all, select};
use innerve_permission::facts::Place;
use innerve_permission::{
    Approval, Approver as ApprovedBy, Decision, HookVoice, Judgement, Need, Preview, Reason,
    ReasonKind, Resolution, Verdict, Voices, judge,
};
use serde_json::{Map, Value};

use crate::pipeline::Call;
use crate::prepare::Suspicion;
use crate::stage::{Authorized, Given, Outcome, StopRequest, Stopped, Validated};
use crate::validate::{interrupted, invalid};
use crate::{
    Answer, ApprovalRequest, ClassifierVerdict, HookDecision, HookEvent, HookEventName,
    HookOutcome, PermissionAnswer, Step,
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
        if given.hooks.is_some() {
            self.pass(Step::PreHooks);
            return Ok(Heard::Same);
        }
        let mut fields = Map::new();
        fields.insert("tool_input".to_owned(), call.input.clone());
        fields.insert("tool_use_id".to_owned(), Value::String(self.id.to_string()));
        let mut outcome = self.hear(HookEventName::PreToolUse, call, fields).await;
        if let Some(reason) = outcome.stop.take() {
            let text = format!("A hook stopped the run: {reason}");
            return Err(Box::new(Stopped {
                text,
                stop: Some(StopRequest::HookStopped(reason)),
                ..invalid(Step::PreHooks, "hook_stopped", "")
            }));
        }
        let changed = outcome.updated_input.take();
        given.hooks = Some(outcome);
        self.pass(Step::PreHooks);
        // A refusal needs no second look at the input that it refuses.
        let denied = given
            .hooks
            .as_ref()
            .is_some_and(|hooks| matches!(hooks.decision, Some(HookDecision::Deny(_))));
        match changed {
            Some(input) if !denied && input != call.input => {
                given.input = input;
                Ok(Heard::Changed)
            }
            Some(_) | None => Ok(Heard::Same),
        }
    }

    /// Runs all hooks that listen, at the same time, and combines their words in the order of configuration.
    pub(crate) async fn hear(
        &self,
        name: HookEventName,
        call: &Validated,
        fields: Map<String, Value>,
    ) -> HookOutcome {
        let listening =
            self.pipeline.hooks.iter().filter(|hook| hook.listens(name, Some(&self.name)));
        let runs = listening.map(|hook| {
            hook.run(HookEvent {
                name,
                session_id: self.turn.session_id.to_string(),
                agent_id: self.turn.agent_id.as_ref().map(ToString::to_string),
                cwd: call.context.cwd.clone(),
                permission_mode: call.policy.mode.name(),
                tool: Some(self.name.clone()),
                fields: fields.clone(),
            })
        });
        join_all(runs).await.into_iter().fold(HookOutcome::default(), HookOutcome::and)
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
        self.pipeline.observer.judged(&self.id, &self.name, &resolution);
        let judged = match resolution.verdict {
            Verdict::Decided(Decision::Allow) => permitted(call, judgement, given, None),
            Verdict::Decided(Decision::Deny) => refused(resolution, &call, RefusedBy::Engine),
            Verdict::Deferred => {
                self.report(Step::Resolve, Some("deferred"));
                let text = "A hook deferred this call; it was not run.".to_owned();
                return Err(Box::new(Stopped {
                    outcome: Outcome::Deferred,
                    stop: Some(StopRequest::Deferred),
                    text,
                    ..invalid(Step::Resolve, "deferred", "")
                }));
            }
            Verdict::Decided(Decision::Ask) => self.ask(call, judgement, given).await?,
            Verdict::NeedsClassifier { otherwise } => {
                self.classify_call(call, judgement, suspicion, otherwise, given).await?
            }
        };
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
        // Parameter rules look at the model's own words (Claude Code documentation, "permissions").
        facts = facts.with_parameters_of(&self.raw_input);
        let hook = given.hooks.as_ref().and_then(|hooks| hooks.decision.clone()).map(|decision| {
            match decision {
                HookDecision::Allow => HookVoice::Allow,
                HookDecision::Ask(reason) => HookVoice::Ask(reason),
                HookDecision::Defer => HookVoice::Defer,
                HookDecision::Deny(reason) => HookVoice::Deny(reason),
            }
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
        let verdict = if self.turn.denials.exhausted() {
            ClassifierVerdict::Unavailable("it has refused too often".to_owned())
        } else {
            match suspicion.or_else(|| self.ask_classifier(&call)) {
                None => {
                    ClassifierVerdict::Unavailable("no classifier can judge this tool".to_owned())
                }
                Some(suspicion) => {
                    match select(
                        suspicion,
                        Box::pin(call.context.cancellation.clone().cancelled_owned()),
                    )
                    .await
                    {
                        Either::Left((verdict, _)) => verdict,
                        Either::Right(_) => return Err(Box::new(self.withdrawn())),
                    }
                }
            }
        };
        match verdict {
            ClassifierVerdict::Allow => {
                self.turn.denials.allowed();
                Ok(permitted(
                    call,
                    judgement,
                    given,
                    Some(Approval { by: ApprovedBy::Classifier, preview: None }),
                ))
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
        if let Some(by) = given.edited_by {
            return Ok(permitted(call, judgement, given, Some(Approval { by, preview: None })));
        }
        let resolution = judgement.resolution().clone();
        let mut fields = Map::new();
        fields.insert("tool_input".to_owned(), call.input.clone());
        let suggestions: Vec<Value> = resolution
            .suggestions
            .iter()
            .map(|suggestion| Value::String(suggestion.0.clone()))
            .collect();
        fields.insert("permission_suggestions".to_owned(), Value::Array(suggestions));
        let heard = self.hear(HookEventName::PermissionRequest, &call, fields).await;
        match heard.permission {
            Some(PermissionAnswer::Deny { message, interrupt }) => {
                return Ok(refused(resolution, &call, RefusedBy::Hook { message, interrupt }));
            }
            // What a rule wants to be asked is asked.
            Some(PermissionAnswer::Allow) if resolution.reason.kind != ReasonKind::Rule => {
                return Ok(permitted(
                    call,
                    judgement,
                    given,
                    Some(Approval { by: ApprovedBy::Hook, preview: None }),
                ));
            }
            Some(PermissionAnswer::Allow) | None => {}
        }
        let preview = match call.tool.preview(&call.input, &call.context).await {
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
        let answer = self.pipeline.approver.ask(request, call.context.cancellation.clone()).await;
        self.answered(call, judgement, given, preview, answer)
    }

    fn answered(
        &self,
        call: Validated,
        judgement: Judgement,
        given: &mut Given,
        preview: Option<Preview>,
        answer: Answer,
    ) -> Result<Judged, Box<Stopped>> {
        let resolution = judgement.resolution().clone();
        match answer {
            Answer::Allow { remember, edited } => {
                if let Some(grant) = remember
                    && let Err(problem) = self.turn.policy.remember(&grant)
                    && let Some(hooks) = given.hooks.as_mut()
                {
                    hooks.messages.push(format!("the rule could not be remembered: {problem}"));
                }
                match edited {
                    Some(input) if input != call.input => {
                        given.input = input;
                        given.edited_by = Some(ApprovedBy::Person);
                        Ok(Judged::Changed)
                    }
                    Some(_) | None => Ok(permitted(
                        call,
                        judgement,
                        given,
                        Some(Approval { by: ApprovedBy::Person, preview }),
                    )),
                }
            }
            Answer::Deny { comment } => Ok(refused(resolution, &call, RefusedBy::Person(comment))),
            Answer::Unavailable(why) => Ok(refused(resolution, &call, RefusedBy::Nobody(why))),
            Answer::Interrupted => Err(Box::new(self.withdrawn())),
        }
    }

    #[expect(clippy::unused_self, reason = "reads as a step of the call")]
    fn withdrawn(&self) -> Stopped {
        interrupted(
            Step::Resolve,
            "Interrupted by the user before it was permitted; nothing was run.",
        )
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
    async fn refusal_may_be_retried(&self, input: &Value, reason: &Reason) -> bool {
        let policy = self.turn.policy.current();
        let name = HookEventName::PermissionDenied;
        let mut fields = Map::new();
        fields.insert("tool_input".to_owned(), input.clone());
        fields.insert("tool_use_id".to_owned(), Value::String(self.id.to_string()));
        fields.insert("reason".to_owned(), Value::String(reason.message.clone()));
        let event = HookEvent {
            name,
            session_id: self.turn.session_id.to_string(),
            agent_id: self.turn.agent_id.as_ref().map(ToString::to_string),
            cwd: policy.cwd.clone(),
            permission_mode: policy.mode.name(),
            tool: Some(self.name.clone()),
            fields,
        };
        let listening =
            self.pipeline.hooks.iter().filter(|hook| hook.listens(name, Some(&self.name)));
        join_all(listening.map(|hook| hook.run(event.clone())))
            .await
            .iter()
            .any(|outcome| outcome.retry)
    }
}

fn permitted(
    call: Validated,
    judgement: Judgement,
    given: &mut Given,
    approval: Option<Approval>,
) -> Judged {
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
            hooks: given.hooks.take().unwrap_or_default(),
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
    if let Some(suggestion) = resolution.suggestions.first() {
        text.push_str(&format!(" The user can allow it with the rule {}.", suggestion.0));
    }
    text.push_str(" Do not try to get the same effect in another way; go on with what you may do, or say what you need.");
    text
}
