//! Keeps a conversation within the model's window: old results are cleared, then all of it becomes a summary.

mod carry;
mod history;
mod shrink;
mod summary;

use innerve_pipeline::HookEventName;
use innerve_protocol::{ContentBlock, Message, Role, SharedMessage};
use serde_json::json;

use crate::event::{Compaction, CompactionTrigger};
use crate::hooks::object;
use crate::looping::Looping;
use crate::window::{Window, estimate};
use crate::{AgentEvent, LogError, Terminal, TerminalReason, telemetry};

use history::MAX_REFILLS;

pub(crate) use history::Compactions;
pub(crate) use shrink::{clear_old_results, strip_media};

/// Results that are not cleared when old ones are.
pub(crate) const KEPT_RESULTS: usize = 5;

/// Why a conversation was not compacted.
#[derive(Debug)]
pub(crate) enum Uncompacted {
    /// A person stopped it.
    Interrupted,
    /// This went wrong.
    Failed(String),
}

impl Looping<'_> {
    /// Makes room for the next request; says why the run cannot go on.
    pub(crate) async fn make_room(&mut self) -> Result<Option<Terminal>, LogError> {
        if self.conversation.compactions.is_cold() {
            self.clear_results()?;
        }
        let window = Window::of(&self.capabilities());
        if self.size() < window.compact_at {
            return Ok(None);
        }
        let is_tried =
            self.env.config.auto_compact && self.conversation.compactions.is_worth_a_try();
        if is_tried {
            if !self.conversation.compactions.refill() {
                let message = format!(
                    "the conversation filled up again right after each of its last {MAX_REFILLS} compactions; begin a new one, \
                     or ask for less at a time"
                );
                return Ok(Some(Terminal { reason: TerminalReason::BlockingLimit, message }));
            }
            match self.compact(CompactionTrigger::Auto, "").await? {
                Ok(()) => return Ok(None),
                Err(Uncompacted::Interrupted) => return Ok(Some(interrupted())),
                Err(Uncompacted::Failed(why)) => self.warn_uncompacted(&why).await,
            }
        }
        let size = self.size();
        if is_tried || size < window.block_at {
            return Ok(None);
        }
        let message = format!(
            "the conversation has about {size} tokens, and the model takes about {}; compact it or begin a new one",
            window.block_at
        );
        Ok(Some(Terminal { reason: TerminalReason::BlockingLimit, message }))
    }

    /// Compacts the conversation because a person wants it, and does nothing else.
    pub(crate) async fn compact_only(&mut self, instructions: &str) -> Terminal {
        let compacted = match self.settle() {
            Ok(()) => self.compact(CompactionTrigger::Manual, instructions).await,
            Err(error) => Err(error),
        };
        let (reason, message) = match compacted {
            Ok(Ok(())) => (TerminalReason::Completed, String::new()),
            Ok(Err(Uncompacted::Interrupted)) => return interrupted(),
            Ok(Err(Uncompacted::Failed(why))) => {
                (TerminalReason::ModelError, format!("the conversation was not compacted: {why}"))
            }
            Err(error) => (TerminalReason::SessionError, error.to_string()),
        };
        Terminal { reason, message }
    }

    pub(crate) async fn warn_uncompacted(&mut self, why: &str) {
        let text = format!("the conversation could not be compacted: {why}");
        self.tell(AgentEvent::Warning(text)).await;
    }

    /// Replaces the conversation by a summary of it. What goes on at the moment stays as it is: a prompt without an
    /// answer, or the last calls with their results.
    pub(crate) async fn compact(
        &mut self,
        trigger: CompactionTrigger,
        instructions: &str,
    ) -> Result<Result<(), Uncompacted>, LogError> {
        let fields =
            object(json!({ "trigger": trigger.name(), "custom_instructions": instructions }));
        let heard = self.hear(HookEventName::PreCompact, fields).await;
        if let Some(why) = heard.blocked.or(heard.stop) {
            return Ok(Err(self.failed(format!("a hook forbade it: {why}"))));
        }
        let before = self.size();
        let summary = match self.summarize(trigger, instructions).await {
            Ok(summary) => summary,
            Err(Uncompacted::Interrupted) => return Ok(Err(Uncompacted::Interrupted)),
            Err(Uncompacted::Failed(why)) => return Ok(Err(self.failed(why))),
        };
        let mut first = vec![ContentBlock::text(summary::introduced(&summary))];
        first.extend(self.carried().await);
        if self.env.agent_id.is_none() {
            let fields = object(json!({ "source": "compact", "model": self.model() }));
            let heard = self.hear(HookEventName::SessionStart, fields).await;
            first.extend(heard.context.into_iter().map(ContentBlock::text));
        }
        let limit = Window::of(&self.capabilities()).compact_at / 2;
        let (prompt, tail) = live(self.conversation.messages());
        first.extend(prompt);
        let mut messages = vec![Message::new(Role::User, first)];
        messages.extend(fit(tail, limit, trigger));
        self.conversation.replace(messages)?;
        self.conversation.compactions.succeeded();
        let fields = object(json!({ "trigger": trigger.name(), "compact_summary": summary }));
        self.hear(HookEventName::PostCompact, fields).await;
        let after = self.size();
        telemetry::compacted(trigger.name(), before, after);
        self.tell(AgentEvent::Compacted(Compaction { trigger, before, after })).await;
        Ok(Ok(()))
    }

    fn failed(&mut self, why: String) -> Uncompacted {
        self.conversation.compactions.failed();
        Uncompacted::Failed(why)
    }

    /// Clears old results; gives the tokens that were gained.
    pub(crate) fn clear_results(&mut self) -> Result<u64, LogError> {
        let mut messages = self.conversation.messages().to_vec();
        let gained = clear_old_results(&mut messages, KEPT_RESULTS);
        if gained > 0 {
            let messages = messages.into_iter().map(SharedMessage::into_message).collect();
            self.conversation.replace(messages)?;
        }
        Ok(gained)
    }

    /// The size of the next request in tokens, about.
    pub(crate) fn size(&mut self) -> u64 {
        let frame = self.frame();
        self.conversation.size.tokens(self.conversation.messages(), frame)
    }
}

/// What goes on at the moment: the blocks of a prompt that nobody has answered, or the last calls with their results.
fn live(messages: &[SharedMessage]) -> (Vec<ContentBlock>, Vec<Message>) {
    let Some((last, before)) = messages.split_last() else { return (Vec::new(), Vec::new()) };
    let has_results = last.content.iter().any(|block| block.as_tool_result().is_some());
    match (last.role, before.last()) {
        (Role::User, Some(calls)) if has_results => {
            (Vec::new(), vec![(**calls).clone(), (**last).clone()])
        }
        (Role::User, _) => (last.content.clone(), Vec::new()),
        (Role::Assistant | Role::System, _) => (Vec::new(), Vec::new()),
    }
}

/// The calls and results that stay, made smaller where they alone would fill the window.
fn fit(mut tail: Vec<Message>, limit: u64, trigger: CompactionTrigger) -> Vec<Message> {
    if trigger == CompactionTrigger::Reactive {
        for message in &mut tail {
            strip_media(message);
        }
    }
    if tail.iter().map(estimate).sum::<u64>() > limit {
        tail.iter_mut().for_each(shrink::cut_results);
    }
    tail
}

fn interrupted() -> Terminal {
    Terminal {
        reason: TerminalReason::AbortedStreaming,
        message: "stopped by the user while the conversation was compacted".to_owned(),
    }
}
