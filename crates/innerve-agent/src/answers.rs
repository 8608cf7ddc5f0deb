//! Small questions beside the conversation, such as what a page says, put to a model of their own.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use innerve_model::Model;
use innerve_protocol::{ContentBlock, Message, Request, Role, StreamEvent, SystemBlock, Usage};
use innerve_tool::port::SmallModel;
use innerve_tool::{BoxFuture, ToolError, code};
use serde_json::Map;

use crate::Spending;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Answers small questions with a model; what it costs is added to the session's spending.
pub struct QuickAnswers {
    model: Arc<dyn Model>,
    name: String,
    spending: Arc<Spending>,
}

impl QuickAnswers {
    /// Asks the model of this name.
    pub fn new(model: Arc<dyn Model>, name: impl Into<String>, spending: Arc<Spending>) -> Self {
        Self { model, name: name.into(), spending }
    }

    async fn answer(
        &self,
        system: &str,
        prompt: &str,
        max_tokens: u32,
    ) -> Result<String, ToolError> {
        let failed = |why: &str| ToolError::new(code::FAILED, format!("the small model {why}"));
        let capabilities = self.model.capabilities(&self.name);
        let mut stream = self.model.stream(Request {
            model: self.name.clone(),
            max_tokens: max_tokens.min(capabilities.max_output_tokens),
            system: vec![SystemBlock::new(system)],
            tools: Vec::new(),
            tool_choice: None,
            thinking: None,
            stop_sequences: Vec::new(),
            messages: vec![Message::new(Role::User, vec![ContentBlock::text(prompt)]).into()],
            extra: Map::new(),
        });
        let mut usage = Usage::default();
        let mut text = String::new();
        let ended = loop {
            match stream.next().await {
                Some(Ok(StreamEvent::Start { usage: more, .. } | StreamEvent::Usage(more))) => {
                    usage.update(&more);
                }
                Some(Ok(StreamEvent::BlockDone { block, .. })) => {
                    text.push_str(block.as_text().unwrap_or_default());
                }
                // What came before is said again.
                Some(Ok(StreamEvent::Retrying(_))) => {
                    text.clear();
                    usage = Usage::default();
                }
                Some(Ok(StreamEvent::Stop { .. })) => break Ok(()),
                Some(Ok(
                    StreamEvent::BlockStart { .. }
                    | StreamEvent::TextDelta { .. }
                    | StreamEvent::ThinkingDelta { .. }
                    | StreamEvent::InputDelta { .. }
                    | StreamEvent::Ping,
                )) => {}
                Some(Err(error)) => {
                    break Err(failed(&format!("gave no answer ({})", error.class().code())));
                }
                None => break Err(failed("broke off its answer")),
            }
        };
        self.spending.add(&self.name, &usage);
        ended?;
        if text.trim().is_empty() { Err(failed("answered nothing")) } else { Ok(text) }
    }
}

impl SmallModel for QuickAnswers {
    fn ask<'a>(
        &'a self,
        system: &'a str,
        prompt: &'a str,
        max_tokens: u32,
    ) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(async move {
            let answer = tokio::time::timeout(TIMEOUT, self.answer(system, prompt, max_tokens));
            answer.await.unwrap_or_else(|_| {
                let seconds = TIMEOUT.as_secs();
                let message = format!("the small model did not answer within {seconds} seconds");
                Err(ToolError::new(code::TIMED_OUT, message))
            })
        })
    }
}

impl fmt::Debug for QuickAnswers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("QuickAnswers").field("name", &self.name).finish_non_exhaustive()
    }
}
