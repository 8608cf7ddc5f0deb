//! The question of step 8: hooks may answer it, then the approver, unless the rules come to decide the call meanwhile.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use innerve_permission::{
    Approval, ApprovedBy, Decision, Judgement, Need, Preview, ReasonKind, Resolution, Verdict,
};
use serde_json::Map;
use tracing::Instrument as _;

use crate::authorize::{Judged, permitted, refused, word_of};
use crate::pipeline::Call;
use crate::refusal::RefusedBy;
use crate::stage::{Given, Stopped, Validated};
use crate::telemetry;
use crate::update::suggested;
use crate::validate::{invalid, unless_aborted, withdrawn};
use crate::{
    Answer, ApprovalRequest, HookEventName, HookOutcome, PermissionAnswer, PermissionUpdate, Step,
    Ticket,
};

/// How a question ended.
enum Ended {
    /// Somebody answered it; the judgement is the one that they were shown, or a later one.
    Answered(Judgement, Option<Preview>, Answer),
    /// Rules or the mode have changed, and nobody needs to be asked any more.
    Decided(Judgement),
}

impl Call<'_> {
    /// Asks: hooks first, then the approver.
    pub(crate) async fn ask(
        &mut self,
        mut call: Validated,
        judgement: Judgement,
        given: &mut Given,
    ) -> Result<Judged, Box<Stopped>> {
        // What a rule wants to be asked is asked, whatever a hook says.
        let is_ruled = judgement.resolution().reason.kind == ReasonKind::Rule;
        match given.edited_by {
            Some(by) if by == ApprovedBy::Person || !is_ruled => {
                return Ok(permitted(call, judgement, Some(word_of(by))));
            }
            Some(_) => {}
            None => {
                let resolution = judgement.resolution().clone();
                let heard = self.request_permission(&call, &resolution).await?;
                match (heard.permission, heard.updated_input) {
                    (Some(PermissionAnswer::Deny { message, interrupt }), _) => {
                        let by = RefusedBy::Hook { message, interrupt };
                        return Ok(refused(resolution, &call, by));
                    }
                    (Some(PermissionAnswer::Allow), Some(input)) if input != call.input => {
                        given.replace(input);
                        given.edited_by = Some(ApprovedBy::Hook);
                        self.update(&heard.updates);
                        return Ok(Judged::Changed);
                    }
                    (Some(PermissionAnswer::Allow), _) if !is_ruled => {
                        self.update(&heard.updates);
                        return Ok(permitted(call, judgement, Some(word_of(ApprovedBy::Hook))));
                    }
                    (Some(PermissionAnswer::Allow) | None, _) => {}
                }
            }
        }
        let ticket = self.ticket.take().unwrap_or_else(|| self.pipeline.take_ticket());
        let ended = self.put(&ticket, &mut call, judgement, given).await?;
        // Kept until the answer has been taken in, so that a rule that it gave is known before the next one asks.
        self.ticket = Some(ticket);
        match ended {
            Ended::Answered(judgement, preview, answer) => {
                self.answered(call, judgement, given, preview, answer)
            }
            Ended::Decided(judgement) => Ok(decided(call, judgement)),
        }
    }

    /// Makes the changes that came with a hook's yes.
    fn update(&mut self, updates: &[PermissionUpdate]) {
        for update in updates {
            if let Err(problem) = self.turn.policy.update(update) {
                let notice = format!("a hook's change of permissions: {problem}");
                self.remarks.notices.push(notice);
            }
        }
    }

    /// Lets hooks answer in place of a person.
    async fn request_permission(
        &mut self,
        call: &Validated,
        resolution: &Resolution,
    ) -> Result<HookOutcome, Box<Stopped>> {
        let mut fields = Map::new();
        fields.insert("tool_input".to_owned(), call.input.clone());
        fields.insert("permission_suggestions".to_owned(), suggested(&resolution.suggestions));
        let turn = self.turn;
        let heard = self.run_hooks(HookEventName::PermissionRequest, &call.policy, fields);
        let heard = unless_aborted(turn, Step::Resolve, heard).await?;
        self.stop_if_told(Step::Resolve)?;
        Ok(heard)
    }

    /// Waits for the turn of this question and asks the approver. A question is taken back when the turn of the
    /// conversation is aborted, and when rules or the mode have changed so that nobody needs to be asked; whoever asks
    /// gets a moment to take it off the screen.
    async fn put(
        &mut self,
        ticket: &Ticket,
        call: &mut Validated,
        mut judgement: Judgement,
        given: &Given,
    ) -> Result<Ended, Box<Stopped>> {
        let (turn, pipeline) = (self.turn, self.pipeline);
        loop {
            let called = unless_changed(turn.policy.changed(&call.policy), ticket.called());
            let called = unless_aborted(turn, Step::Resolve, called).await?.is_some();
            judgement = self.judge_again(call, judgement, given);
            if !is_open(&judgement) {
                return Ok(Ended::Decided(judgement));
            }
            if called {
                break;
            }
        }
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
            resolution: judgement.resolution().clone(),
            preview: preview.clone(),
            agent: turn.agent_id.clone(),
            needs_person: judgement.facts().need == Need::Interaction,
        };
        let cancellation = call.context.cancellation.child_token();
        let asked = pipeline.approver.ask(request, cancellation.clone());
        let mut asked = asked.instrument(telemetry::blocked_on_user());
        loop {
            let changed = turn.policy.changed(&call.policy);
            let ended = match select(asked, select(pin!(cancellation.cancelled()), changed)).await {
                Either::Left((answer, _)) => {
                    return Ok(Ended::Answered(judgement, preview, answer));
                }
                Either::Right((Either::Left(_), still)) => {
                    drop(select(still, self.grace()).await);
                    return Err(withdrawn(Step::Resolve));
                }
                Either::Right((Either::Right(_), still)) => still,
            };
            asked = ended;
            judgement = self.judge_again(call, judgement, given);
            if is_open(&judgement) {
                continue;
            }
            cancellation.cancel();
            // A no that was said at the same moment is not lost.
            return Ok(match select(asked, self.grace()).await {
                Either::Left((answer @ Answer::Deny { .. }, _)) => {
                    Ended::Answered(judgement, preview, answer)
                }
                Either::Left(_) | Either::Right(_) => Ended::Decided(judgement),
            });
        }
    }

    fn answered(
        &mut self,
        mut call: Validated,
        judgement: Judgement,
        given: &mut Given,
        preview: Option<Preview>,
        answer: Answer,
    ) -> Result<Judged, Box<Stopped>> {
        let resolution = judgement.resolution().clone();
        let judged = match answer {
            Answer::Allow { remember, edited } => {
                self.granted = remember.as_ref().map(|grant| grant.scope);
                if let Some(grant) = remember
                    && let Err(problem) = self.turn.policy.remember(&grant)
                {
                    let notice = format!("the rule could not be remembered: {problem}");
                    self.remarks.notices.push(notice);
                }
                match edited {
                    Some(input) if input != call.input => {
                        given.replace(input);
                        given.edited_by = Some(ApprovedBy::Person);
                        Judged::Changed
                    }
                    Some(_) | None => {
                        // A rule that came in with the answer, or just before it, has its say.
                        let judgement = self.judge_again(&mut call, judgement, given);
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

    /// Judges the call by the policy as it is now, if that is another one than the call was judged by.
    pub(crate) fn judge_again(
        &self,
        call: &mut Validated,
        judgement: Judgement,
        given: &Given,
    ) -> Judgement {
        let policy = self.turn.policy.current();
        if Arc::ptr_eq(&policy, &call.policy) {
            return judgement;
        }
        call.policy = policy;
        let later = self.judge(call, given);
        if later.resolution() != judgement.resolution() {
            let resolution = later.resolution();
            self.watch(|observer| observer.judged(&self.id, &self.name, resolution));
        }
        later
    }
}

/// Waits for work, unless the policy changes first.
async fn unless_changed<T>(
    changed: impl Future<Output = ()>,
    work: impl Future<Output = T>,
) -> Option<T> {
    match select(pin!(work), pin!(changed)).await {
        Either::Left((done, _)) => Some(done),
        Either::Right(_) => None,
    }
}

/// Whether somebody still has to be asked.
pub(crate) fn is_open(judgement: &Judgement) -> bool {
    match judgement.resolution().verdict {
        Verdict::Decided(Decision::Ask) | Verdict::NeedsClassifier { .. } => true,
        Verdict::Decided(Decision::Allow | Decision::Deny) | Verdict::Deferred => false,
    }
}

/// What becomes of a call that nobody needs to be asked about.
pub(crate) fn decided(call: Validated, judgement: Judgement) -> Judged {
    permitted(call, judgement, None)
}
