//! Steps 7 and 8: hooks speak, the engine judges, a classifier answers where the mode says so.

use std::sync::Arc;

use innerve_permission::facts::Place;
use innerve_permission::{
    Approval, ApprovedBy, Decision, HookVoice, Judgement, Need, Resolution, Verdict, Voices, judge,
};
use serde_json::Map;

use crate::ask::{decided, is_open};
use crate::pipeline::Call;
use crate::prepare::Suspicion;
use crate::refusal::{Refusal, RefusedBy};
use crate::stage::{Authorized, Given, Outcome, StopRequest, Stopped, Validated};
use crate::telemetry;
use crate::validate::{invalid, unless_aborted};
use crate::{ClassifierVerdict, HookDecision, HookEventName, Step};

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
        let heard = self.run_hooks(HookEventName::PreToolUse, &call.policy, fields);
        let outcome = unless_aborted(turn, Step::PreHooks, heard).await?;
        self.stop_if_told(Step::PreHooks)?;
        self.pass(Step::PreHooks);
        let defers = outcome.decision == Some(HookDecision::Defer);
        given.decision = if !defers
            || unless_aborted(turn, Step::PreHooks, turn.batch.is_single()).await?
        {
            outcome.decision
        } else {
            let notice = "a hook put a call off that is not the only one of its response; that does not count";
            self.remarks.notices.push(notice.to_owned());
            outcome.without_defer()
        };
        given.answered = outcome.updated_input.is_some();
        // A refusal needs no second look at the input that it refuses.
        let denied = matches!(given.decision, Some(HookDecision::Deny(_)));
        match outcome.updated_input {
            Some(input) if !denied && input != call.input => {
                given.replace(input);
                Ok(Heard::Changed)
            }
            Some(_) | None => Ok(Heard::Same),
        }
    }

    /// Refuses the call if a hook stopped the run.
    pub(crate) fn stop_if_told(&self, step: Step) -> Result<(), Box<Stopped>> {
        let Some(reason) = &self.remarks.stop else { return Ok(()) };
        let text = format!("A hook stopped the run: {reason}");
        Err(Box::new(Stopped { text, ..invalid(step, "hook_stopped", "") }))
    }

    /// Step 8.
    pub(crate) async fn resolve(
        &mut self,
        mut call: Validated,
        suspicion: Option<Suspicion>,
        given: &mut Given,
    ) -> Result<Judged, Box<Stopped>> {
        // Hooks may have taken their time.
        call.policy = self.turn.policy.current();
        let judgement = self.judge(&call, given);
        let resolution = judgement.resolution().clone();
        self.watch(|observer| observer.judged(&self.id, &self.name, &resolution));
        let judged = match resolution.verdict {
            Verdict::Decided(Decision::Allow) => permitted(call, judgement, None),
            Verdict::Decided(Decision::Deny) => refused(resolution, &call, RefusedBy::Engine),
            Verdict::Deferred => {
                telemetry::deferred();
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
            Verdict::NeedsClassifier { .. } => {
                self.classify_call(call, judgement, suspicion, given).await?
            }
        };
        match judged {
            Judged::Permitted(_) => {
                self.ticket = None;
                self.turn.denials.allowed();
            }
            Judged::Refused(_) => self.ticket = None,
            // It may have to be asked about again, before those behind it.
            Judged::Changed => {}
        }
        telemetry::judged(&self.name, &judged, self.granted);
        self.pass(Step::Resolve);
        Ok(judged)
    }

    /// The engine's word on the call.
    pub(crate) fn judge(&self, call: &Validated, given: &Given) -> Judgement {
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
        mut call: Validated,
        judgement: Judgement,
        suspicion: Option<Suspicion>,
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
        // A verdict counts only while the mode wants one (Claude Code documentation, "permission modes").
        let judgement = self.judge_again(&mut call, judgement, given);
        if !is_open(&judgement) {
            return Ok(decided(call, judgement));
        }
        let Verdict::NeedsClassifier { otherwise } = judgement.resolution().verdict else {
            return self.ask(call, judgement, given).await;
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
                    Ok(refused(judgement.resolution().clone(), &call, RefusedBy::NoVerdict(why)))
                }
            },
        }
    }
}

/// A yes to what was not seen beforehand.
pub(crate) fn word_of(by: ApprovedBy) -> Approval {
    Approval { by, preview: None }
}

pub(crate) fn permitted(
    call: Validated,
    judgement: Judgement,
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
            resolution,
        })),
        // The engine has the last word: no answer turns a deny into a permit.
        Err(_) => refused(resolution, &call, RefusedBy::Engine),
    }
}

pub(crate) fn refused(resolution: Resolution, call: &Validated, by: RefusedBy) -> Judged {
    Judged::Refused(Box::new(Refusal { resolution, input: call.input.clone(), by }))
}
