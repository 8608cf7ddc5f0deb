//! A response without tool uses: the end of a run, or what can still be done about a cut, a failure or a refusal.

use innerve_model::{ErrorClass, ModelError};
use innerve_protocol::{ContentBlock, SharedMessage, StopReason};
use serde_json::{Map, Value};

use crate::compaction::{Uncompacted, strip_media};
use crate::event::CompactionTrigger;
use crate::looping::{Looping, Next, State, end, is_lasting};
use crate::response::Response;
use crate::{AgentEvent, LogError, Terminal, TerminalReason, Transition};

/// Requests that ask the model to go on after a cut response, in a row.
const MAX_RECOVERIES: u32 = 3;
/// Times that a paused turn is sent back, in a row.
const MAX_PAUSES: u32 = 10;
/// Output tokens that a reduced request must still have.
const LEAST_OUTPUT: u64 = 3_000;
/// Tokens that a reduced request leaves free, as no count is exact.
const SPARE: u64 = 1_000;
impl Looping<'_> {
    /// A response without tool uses: the end, a cut, or a failure.
    pub(crate) async fn finish_text(
        &mut self,
        response: Response,
        state: State,
    ) -> Result<Next, LogError> {
        if response.interrupted {
            self.keep(response.blocks, &response.usage).await?;
            self.note("[The user interrupted the response.]").await?;
            return Ok(end(
                TerminalReason::AbortedStreaming,
                "stopped by the user while the model was writing",
            ));
        }
        let Response { blocks, usage, stop, error, .. } = response;
        if let Some(error) = error {
            if let Some(next) = self.recover(&blocks, &error, state).await? {
                return Ok(next);
            }
            let goes_on = blocks.iter().any(is_lasting)
                && error.class().is_transient()
                && state.recoveries < MAX_RECOVERIES;
            self.keep(blocks, &usage).await?;
            if !goes_on {
                return Ok(Next::End(model_failure(&error)));
            }
            self.ask_to_go_on("The connection broke off in the middle of your response.").await?;
            let next = State { recoveries: state.recoveries + 1, ..state };
            return Ok(Next::Continue(next, Transition::TruncatedRecovery));
        }
        let (reason, details) = stop.unwrap_or((StopReason::EndTurn, Map::new()));
        if reason == StopReason::Refusal && self.has_fallback() {
            return self.fall_back(state, "refused to answer").await;
        }
        if reason == StopReason::MaxTokens
            && let Some(next) = self.escalate(state)
        {
            return Ok(next);
        }
        self.keep(blocks, &usage).await?;
        match reason {
            StopReason::MaxTokens if state.recoveries < MAX_RECOVERIES => {
                self.ask_to_go_on("You reached the output limit.").await?;
                let next = State { recoveries: state.recoveries + 1, ..state };
                Ok(Next::Continue(next, Transition::MaxOutputTokensRecovery))
            }
            StopReason::ModelContextWindowExceeded if !state.relieved => {
                self.ask_to_go_on("The context window was full.").await?;
                self.relieve(state).await.map(|next| next.unwrap_or_else(cut_short))
            }
            StopReason::MaxTokens | StopReason::ModelContextWindowExceeded => Ok(cut_short()),
            StopReason::PauseTurn if state.pauses < MAX_PAUSES => {
                let next = State { pauses: state.pauses + 1, ..state };
                Ok(Next::Continue(next, Transition::PauseTurn))
            }
            StopReason::Refusal => Ok(refused(&details)),
            StopReason::EndTurn
            | StopReason::ToolUse
            | StopReason::StopSequence
            | StopReason::PauseTurn
            | StopReason::Other(_) => self.finish(state).await,
        }
    }

    /// The model is done: what a person wrote meanwhile, hooks and a target may keep it at work.
    async fn finish(&mut self, state: State) -> Result<Next, LogError> {
        let submitted = self.submitted().await?;
        if !submitted.is_empty() {
            self.say(submitted).await?;
            return Ok(Next::Continue(State::default(), Transition::Submitted));
        }
        let next = self.hear_stop(state).await?;
        if !matches!(&next, Next::End(terminal) if terminal.reason == TerminalReason::Completed) {
            return Ok(next);
        }
        let Some((used, target)) = self.target.goes_on() else {
            return Ok(next);
        };
        self.note(format!(
            "[You have used {used} of the {target} output tokens that the user gave you for this task. Go on working: do what \
             is left, check what is done, improve it. Do not sum up.]"
        ))
        .await?;
        Ok(Next::Continue(State::default(), Transition::TokenBudgetContinuation))
    }

    /// The first cut at the usual limit: the same again with a larger one.
    fn escalate(&self, state: State) -> Option<Next> {
        let limit = self.env.config.escalated_max_tokens.min(self.capabilities().max_output_tokens);
        let is_first = state.max_tokens.is_none() && limit > self.env.config.max_tokens;
        let next = State { max_tokens: Some(limit), ..state };
        is_first.then_some(Next::Continue(next, Transition::MaxOutputTokensEscalate))
    }

    /// What can be done about a failure so that nobody need hear of it.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the model's kinds of error are open-ended")]
    async fn recover(
        &mut self,
        blocks: &[ContentBlock],
        error: &ModelError,
        state: State,
    ) -> Result<Option<Next>, LogError> {
        match error.class() {
            ErrorClass::Overloaded if self.has_fallback() => {
                self.fall_back(state, "is overloaded").await.map(Some)
            }
            ErrorClass::Overflow if !blocks.iter().any(is_lasting) => {
                if let Some(next) = ask_for_less(error, state) {
                    return Ok(Some(next));
                }
                self.relieve(state).await
            }
            ErrorClass::Media if !state.relieved && self.take_media_out()? => {
                let next = State { relieved: true, ..state };
                Ok(Some(Next::Continue(next, Transition::ReactiveCompactRetry)))
            }
            _ => Ok(None),
        }
    }

    /// The conversation does not fit: old results are cleared, then it is compacted, each once.
    async fn relieve(&mut self, state: State) -> Result<Option<Next>, LogError> {
        let size = self.size();
        if !state.drained && self.clear_results()? > size / 10 {
            let next = State { drained: true, ..state };
            return Ok(Some(Next::Continue(next, Transition::CollapseDrainRetry)));
        }
        if state.relieved || !self.env.config.auto_compact {
            return Ok(None);
        }
        match self.compact(CompactionTrigger::Reactive, "").await? {
            Ok(()) => {
                let next = State { drained: true, relieved: true, ..state };
                Ok(Some(Next::Continue(next, Transition::ReactiveCompactRetry)))
            }
            Err(Uncompacted::Interrupted) => Ok(Some(end(
                TerminalReason::AbortedStreaming,
                "stopped by the user while the conversation was compacted",
            ))),
            Err(Uncompacted::Failed(why)) => {
                self.warn_uncompacted(&why).await;
                Ok(None)
            }
        }
    }

    fn take_media_out(&mut self) -> Result<bool, LogError> {
        let messages = self.conversation.messages().iter().cloned();
        let mut messages: Vec<_> = messages.map(SharedMessage::into_message).collect();
        let mut found = false;
        for message in &mut messages {
            found |= strip_media(message);
        }
        if found {
            self.conversation.replace(messages)?;
        }
        Ok(found)
    }

    /// Whether another model can take over.
    pub(crate) fn has_fallback(&self) -> bool {
        self.fallback < self.env.config.fallback_models.len()
    }

    /// Lets the next model answer in place of this one, which has run nothing.
    async fn fall_back(&mut self, state: State, why: &str) -> Result<Next, LogError> {
        self.tell(AgentEvent::Discarded).await;
        self.switch_model(why).await;
        Ok(Next::Continue(state, Transition::ModelFallback))
    }

    /// Lets the next model answer from now on.
    pub(crate) async fn switch_model(&mut self, why: &str) {
        let before = self.model().to_owned();
        self.fallback += 1;
        self.frame = None;
        let text = format!("{before} {why}; {} answers for the rest of this task", self.model());
        self.tell(AgentEvent::Warning(text)).await;
    }

    async fn ask_to_go_on(&mut self, what_happened: &str) -> Result<(), LogError> {
        let text = format!(
            "{what_happened} Go on exactly where you stopped: no apology, no summary. Break what is left into smaller pieces."
        );
        self.note(text).await
    }
}

/// The input fits, but not with all the output that was asked for.
fn ask_for_less(error: &ModelError, state: State) -> Option<Next> {
    let overflow = error.overflow().filter(|overflow| overflow.max_tokens.is_some())?;
    let room = overflow.limit.checked_sub(overflow.input)?.checked_sub(SPARE)?;
    let room = u32::try_from(room).ok().filter(|_| room >= LEAST_OUTPUT && !state.reduced)?;
    let next = State { max_tokens: Some(room), reduced: true, ..state };
    Some(Next::Continue(next, Transition::MaxOutputTokensReduced))
}

fn cut_short() -> Next {
    end(TerminalReason::Completed, "the answer was cut at the model's output limit")
}

fn refused(details: &Map<String, Value>) -> Next {
    let why = details
        .get("stop_details")
        .and_then(|details| details.get("explanation"))
        .and_then(Value::as_str)
        .unwrap_or("it gave no reason");
    end(TerminalReason::Refused, format!("the model refused to answer: {why}"))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the model's kinds of error are open-ended")]
fn model_failure(error: &ModelError) -> Terminal {
    let reason = match error.class() {
        ErrorClass::Overflow => TerminalReason::PromptTooLong,
        ErrorClass::Media => TerminalReason::ImageError,
        _ => TerminalReason::ModelError,
    };
    Terminal { reason, message: error.to_string() }
}
