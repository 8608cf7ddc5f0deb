//! A model that says what it is told to.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures_util::{StreamExt as _, stream};
use innerve_model::{ErrorClass, EventStream, Model, ModelError};
use innerve_protocol::{Capabilities, ContentBlock, Request, StopReason, StreamEvent, ToolUse};
use serde_json::{Map, Value};

/// One thing that the model does.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "there are few of them, and most are events")]
pub(crate) enum Say {
    Event(StreamEvent),
    Fail(&'static str),
    /// Never goes on.
    Hang,
}

/// A model with its responses.
#[derive(Default)]
pub(crate) struct Script {
    responses: Mutex<VecDeque<Vec<Say>>>,
    pub(crate) requests: Mutex<Vec<Request>>,
}

impl Script {
    pub(crate) fn new(responses: Vec<Vec<Say>>) -> Arc<Self> {
        Arc::new(Self { responses: Mutex::new(responses.into()), requests: Mutex::default() })
    }

    /// What it will say.
    pub(crate) fn responses(&self) -> std::sync::MutexGuard<'_, VecDeque<Vec<Say>>> {
        self.responses.lock().unwrap()
    }

    /// All texts of the last request, tool results included.
    pub(crate) fn heard(&self) -> String {
        let requests = self.requests.lock().unwrap();
        serde_json::to_string(&requests.last().unwrap().messages).unwrap()
    }
}

/// The script as a model.
pub(crate) struct Speaker(pub(crate) Arc<Script>);

impl Model for Speaker {
    fn name(&self) -> &'static str {
        "script"
    }

    fn capabilities(&self, _: &str) -> Capabilities {
        Capabilities::anthropic()
    }

    fn stream(&self, request: Request) -> EventStream {
        self.0.requests.lock().unwrap().push(request);
        let says = self.0.responses.lock().unwrap().pop_front();
        let says = says.unwrap_or_else(|| vec![Say::Fail("the script is over")]);
        Box::pin(stream::iter(says).then(|say| async move {
            match say {
                Say::Event(event) => Ok(event),
                Say::Fail(message) => Err(ModelError::new(ErrorClass::Replay, message)),
                Say::Hang => std::future::pending().await,
            }
        }))
    }
}

fn done(block: ContentBlock) -> Say {
    Say::Event(StreamEvent::BlockDone { index: 0, block, invalid_input: None })
}

pub(crate) fn piece(words: &str) -> Say {
    Say::Event(StreamEvent::TextDelta { index: 0, text: words.to_owned() })
}

pub(crate) fn thinking(words: &str) -> Vec<Say> {
    let block = serde_json::json!({ "type": "thinking", "thinking": words, "signature": "s" });
    let delta = StreamEvent::ThinkingDelta { index: 0, thinking: words.to_owned() };
    vec![Say::Event(delta), done(serde_json::from_value(block).unwrap())]
}

pub(crate) fn text(words: &str) -> Vec<Say> {
    vec![piece(words), done(ContentBlock::text(words))]
}

pub(crate) fn call(id: &str, name: &str, input: Value) -> Vec<Say> {
    vec![done(ContentBlock::ToolUse(ToolUse::new(id, name, input)))]
}

/// A whole response of these parts.
pub(crate) fn response<const N: usize>(parts: [Vec<Say>; N]) -> Vec<Say> {
    let mut says: Vec<Say> = parts.into_iter().flatten().collect();
    let calls = says.iter().any(|say| match say {
        Say::Event(StreamEvent::BlockDone { block, .. }) => block.as_tool_use().is_some(),
        _ => false,
    });
    let reason = if calls { StopReason::ToolUse } else { StopReason::EndTurn };
    says.push(Say::Event(StreamEvent::Stop { reason, details: Map::new() }));
    says
}

pub(crate) fn answer(words: &str) -> Vec<Say> {
    response([text(words)])
}
