//! Requests beside the conversation: a question, the whole answer to it, and what it cost.

use futures_util::StreamExt as _;
use innerve_model::{ErrorClass, EventStream, Model, ModelError};
use innerve_protocol::{
    ContentBlock, Message, Request, RetryNotice, Role, StopReason, StreamEvent, SystemBlock, Usage,
};

use crate::Spending;

/// A request that knows nothing of the conversation and has no tools.
pub(crate) fn request(
    model: &dyn Model,
    name: &str,
    system: SystemBlock,
    content: Vec<ContentBlock>,
    max_tokens: u32,
) -> Request {
    let max_tokens = max_tokens.min(model.capabilities(name).max_output_tokens);
    let messages = vec![Message::new(Role::User, content).into()];
    Request { system: vec![system], ..Request::new(name, max_tokens, messages) }
}

/// All that a model said to one request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) content: Vec<ContentBlock>,
    pub(crate) reason: StopReason,
}

impl Answer {
    /// Its text, block by block.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.content.iter().filter_map(ContentBlock::as_text)
    }
}

/// What comes next of a request.
#[derive(Debug)]
pub(crate) enum Step {
    /// It failed and is sent again after a while.
    Retrying(RetryNotice),
    /// It is answered; nothing comes after this.
    Answered(Answer),
}

/// A request on its way. Whatever ends it, and be it that nobody waits any more, what it cost until then is counted.
pub(crate) struct Asking<'a> {
    stream: EventStream,
    content: Vec<ContentBlock>,
    model: String,
    usage: Option<Usage>,
    spending: &'a Spending,
}

impl<'a> Asking<'a> {
    pub(crate) fn new(model: &dyn Model, request: Request, spending: &'a Spending) -> Self {
        let name = request.model.clone();
        let stream = model.stream(request);
        Self { stream, content: Vec::new(), model: name, usage: None, spending }
    }

    /// Reads on until something is to be told.
    pub(crate) async fn next(&mut self) -> Result<Step, ModelError> {
        loop {
            match self.stream.next().await {
                Some(Ok(StreamEvent::Start { usage: more, .. } | StreamEvent::Usage(more))) => {
                    self.usage.get_or_insert_default().update(&more);
                }
                Some(Ok(StreamEvent::BlockDone { block, .. })) => self.content.push(block),
                // What came before is said again.
                Some(Ok(StreamEvent::Retrying(notice))) => {
                    self.content.clear();
                    self.usage = None;
                    return Ok(Step::Retrying(notice));
                }
                Some(Ok(StreamEvent::Stop { reason, .. })) => {
                    let content = std::mem::take(&mut self.content);
                    return Ok(Step::Answered(Answer { content, reason }));
                }
                Some(Ok(
                    StreamEvent::BlockStart { .. }
                    | StreamEvent::TextDelta { .. }
                    | StreamEvent::ThinkingDelta { .. }
                    | StreamEvent::InputDelta { .. }
                    | StreamEvent::Ping,
                )) => {}
                Some(Err(error)) => return Err(error),
                None => {
                    let text = "the answer ended before it was complete";
                    return Err(ModelError::new(ErrorClass::Truncated, text));
                }
            }
        }
    }

    /// The whole answer; nobody is told of retries.
    pub(crate) async fn answer(mut self) -> Result<Answer, ModelError> {
        loop {
            match self.next().await? {
                Step::Retrying(_) => {}
                Step::Answered(answer) => return Ok(answer),
            }
        }
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if let Some(usage) = &self.usage {
            self.spending.add(&self.model, usage);
        }
    }
}
