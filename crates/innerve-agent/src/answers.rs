//! Small questions beside the conversation, such as what a page says, put to a model of their own.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use innerve_model::Model;
use innerve_protocol::{ContentBlock, SystemBlock};
use innerve_tool::port::SmallModel;
use innerve_tool::{BoxFuture, ToolError, code};

use crate::Spending;
use crate::aside::{self, Asking};

/// How long an answer may take; large models read a long page for a while.
const TIMEOUT: Duration = Duration::from_mins(2);

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
        let failed = |why: &str| ToolError::new(code::FAILED, format!("`{}` {why}", self.name));
        let content = vec![ContentBlock::text(prompt)];
        let system = SystemBlock::new(system);
        let request = aside::request(&*self.model, &self.name, system, content, max_tokens);
        let answer = Asking::new(&*self.model, request, &self.spending).answer().await;
        let answer = answer
            .map_err(|error| failed(&format!("gave no answer ({})", error.class().code())))?;
        let text: String = answer.texts().collect();
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
                let message = format!("`{}` did not answer within {seconds} seconds", self.name);
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
