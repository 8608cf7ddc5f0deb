//! A model that says what it is told to, and that takes no request which an API would refuse.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use futures_util::{StreamExt as _, stream};
use innerve_model::{ErrorClass, EventStream, Model, ModelError};
use innerve_protocol::{
    Capabilities, ContentBlock, Message, Request, RetryNotice, StopReason, StreamEvent, ToolChoice,
    ToolUse, Usage, WireError, validate, validate_request,
};
use serde_json::{Map, Value};
use tokio::sync::Notify;

/// One thing that the model does.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "there are few of them, and most are events")]
pub(crate) enum Say {
    Event(StreamEvent),
    Fail(ErrorClass, &'static str),
    /// Fails with the provider's own kind and words.
    Refuse(&'static str, &'static str),
    /// Goes on when somebody says so.
    WaitFor(Arc<Notify>),
    /// Never goes on.
    Hang,
    Panic,
}

/// A model with the responses of each conversation; one that begins with a lane's word belongs to that lane.
pub(crate) struct Script {
    lanes: Mutex<BTreeMap<&'static str, VecDeque<Vec<Say>>>>,
    /// Every request, in the order in which they were sent.
    pub(crate) requests: Mutex<Vec<Request>>,
    problems: Mutex<Vec<String>>,
}

impl Script {
    /// Responses of the main conversation.
    pub(crate) fn new(responses: Vec<Vec<Say>>) -> Arc<Self> {
        Self::with_lanes([("", responses)])
    }

    /// Responses by lane: a conversation belongs to the longest lane that its first message begins with.
    pub(crate) fn with_lanes<const N: usize>(
        lanes: [(&'static str, Vec<Vec<Say>>); N],
    ) -> Arc<Self> {
        let lanes = lanes.into_iter().map(|(name, responses)| (name, responses.into())).collect();
        Arc::new(Self {
            lanes: Mutex::new(lanes),
            requests: Mutex::default(),
            problems: Mutex::default(),
        })
    }

    pub(crate) fn request(&self, index: usize) -> Request {
        self.requests.lock().unwrap()[index].clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    /// Fails if an API would have refused a request, or if a conversation's beginning changed between two requests.
    #[track_caller]
    pub(crate) fn check(&self) {
        assert_eq!(self.problems(), Vec::<String>::new());
        let left: Vec<_> = self.lanes.lock().unwrap().values().map(VecDeque::len).collect();
        assert!(left.iter().all(|left| *left == 0), "responses that nobody asked for: {left:?}");
    }

    /// How many requests asked for a summary.
    pub(crate) fn summaries(&self) -> usize {
        let requests = self.requests.lock().unwrap();
        requests.iter().filter(|request| request.tool_choice == Some(ToolChoice::None)).count()
    }

    /// What an API would have refused.
    pub(crate) fn problems(&self) -> Vec<String> {
        self.problems.lock().unwrap().clone()
    }

    fn inspect(&self, request: &Request) {
        let mut found: Vec<String> =
            validate(&request.messages).iter().map(|violation| violation.text.clone()).collect();
        let more = validate_request(request, &capabilities());
        found.extend(more.iter().map(|violation| violation.text.clone()));
        let mut requests = self.requests.lock().unwrap();
        // A request for a summary is the end of its line, and another model gets no foreign thinking.
        let earlier = requests.iter().rev().find(|earlier| {
            begins(earlier) == begins(request)
                && earlier.tool_choice.is_none()
                && is_fork(earlier) == is_fork(request)
                && earlier.model == request.model
        });
        if let Some(earlier) = earlier
            && let Some(difference) = difference(earlier, request)
        {
            found.push(format!("i12_stable_prefix: {difference}"));
        }
        requests.push(request.clone());
        self.problems.lock().unwrap().extend(found);
    }

    fn next(&self, request: &Request) -> Vec<Say> {
        let mut lanes = self.lanes.lock().unwrap();
        let lane = lanes.iter_mut().rev().find(|(name, _)| begins(request).starts_with(**name));
        lane.and_then(|(_, responses)| responses.pop_front())
            .unwrap_or_else(|| vec![Say::Fail(ErrorClass::Replay, "the script is over")])
    }
}

/// What a conversation begins with.
fn begins(request: &Request) -> String {
    request.messages.first().map(|message| message.plain_text()).unwrap_or_default()
}

/// Whether it is a copy of a conversation that goes its own way.
fn is_fork(request: &Request) -> bool {
    let mut texts = request.messages.iter().flat_map(|message| &message.content);
    texts.any(|block| {
        block.as_text().is_some_and(|text| text.contains("a copy of this conversation"))
    })
}

/// A message as bytes, without the cache markers, which move.
pub(crate) fn blocks(message: &Message) -> Vec<String> {
    let mut message = serde_json::to_value(message).unwrap();
    let blocks = message["content"].as_array_mut().unwrap();
    let plain = |block: &mut Value| {
        block.as_object_mut().unwrap().shift_remove("cache_control");
        block.to_string()
    };
    blocks.iter_mut().map(plain).collect()
}

/// How a request differs from an earlier one of the same conversation, other than by what was added.
fn difference(earlier: &Request, later: &Request) -> Option<String> {
    if serde_json::to_string(&earlier.tools).unwrap()
        != serde_json::to_string(&later.tools).unwrap()
    {
        return Some("the tools changed".to_owned());
    }
    if earlier.system != later.system {
        return Some("the instructions changed".to_owned());
    }
    let (before, after): (Vec<_>, Vec<_>) = (
        earlier.messages.iter().flat_map(|message| blocks(message)).collect(),
        later.messages.iter().flat_map(|message| blocks(message)).collect(),
    );
    let pair = before.iter().zip(&after).find(|(before, after)| before != after);
    match pair {
        Some((before, after)) => Some(format!("{before}\nbecame {after}")),
        None => (before.len() > after.len()).then(|| "messages were lost".to_owned()),
    }
}

/// The script as a model.
pub(crate) struct Speaker(pub(crate) Arc<Script>);

impl Model for Speaker {
    fn name(&self) -> &'static str {
        "script"
    }

    fn capabilities(&self, _: &str) -> Capabilities {
        capabilities()
    }

    fn stream(&self, request: Request) -> EventStream {
        let script = Arc::clone(&self.0);
        // Nothing is sent before the stream is polled.
        let opened = stream::once(async move {
            let says = script.next(&request);
            script.inspect(&request);
            stream::iter(says)
        });
        Box::pin(opened.flatten().then(|say| async move {
            match say {
                Say::Event(event) => Ok(event),
                Say::Fail(class, message) => Err(ModelError::new(class, message)),
                Say::Refuse(kind, message) => {
                    let (kind, message) = (kind.to_owned(), message.to_owned());
                    Err(ModelError::from(WireError { kind, message }))
                }
                Say::WaitFor(signal) => {
                    signal.notified().await;
                    Ok(StreamEvent::Ping)
                }
                Say::Hang => std::future::pending().await,
                Say::Panic => panic!("the provider is broken"),
            }
        }))
    }
}

fn capabilities() -> Capabilities {
    Capabilities { assistant_prefill: true, ..Capabilities::anthropic() }
}

fn done(block: ContentBlock) -> Say {
    Say::Event(StreamEvent::BlockDone { index: 0, block, invalid_input: None })
}

/// Text, as a piece and as a finished block.
pub(crate) fn text(words: &str) -> Vec<Say> {
    let piece = StreamEvent::TextDelta { index: 0, text: words.to_owned() };
    vec![Say::Event(piece), done(ContentBlock::text(words))]
}

/// Finished thinking.
pub(crate) fn thinking(words: &str) -> Vec<Say> {
    let block = serde_json::json!({ "type": "thinking", "thinking": words, "signature": "s" });
    vec![done(serde_json::from_value(block).unwrap())]
}

/// A finished tool use.
pub(crate) fn call(id: &str, name: &str, input: Value) -> Vec<Say> {
    vec![done(ContentBlock::ToolUse(ToolUse::new(id, name, input)))]
}

/// A tool use whose input is no JSON.
pub(crate) fn broken_call(id: &str, name: &str, raw: &str) -> Vec<Say> {
    let block = ContentBlock::ToolUse(ToolUse::new(id, name, Value::Object(Map::new())));
    let invalid_input = Some(raw.to_owned());
    vec![Say::Event(StreamEvent::BlockDone { index: 0, block, invalid_input })]
}

pub(crate) fn stop(reason: StopReason) -> Vec<Say> {
    vec![Say::Event(StreamEvent::Stop { reason, details: Map::new() })]
}

pub(crate) fn usage(input: u64, output: u64) -> Vec<Say> {
    let usage =
        Usage { input_tokens: Some(input), output_tokens: Some(output), ..Usage::default() };
    vec![Say::Event(StreamEvent::Usage(usage))]
}

pub(crate) fn retrying() -> Vec<Say> {
    let notice = RetryNotice {
        attempt: 1,
        max_attempts: 3,
        delay_ms: 5,
        class: "overloaded".to_owned(),
        message: String::new(),
    };
    vec![Say::Event(StreamEvent::Retrying(notice))]
}

pub(crate) fn fail(class: ErrorClass) -> Vec<Say> {
    vec![Say::Fail(class, "the provider says no")]
}

/// A whole response: these parts, and the end that fits them.
pub(crate) fn response<const N: usize>(parts: [Vec<Say>; N]) -> Vec<Say> {
    let mut says: Vec<Say> = parts.into_iter().flatten().collect();
    let calls = says.iter().any(|say| match say {
        Say::Event(StreamEvent::BlockDone { block, .. }) => block.as_tool_use().is_some(),
        _ => false,
    });
    says.extend(stop(if calls { StopReason::ToolUse } else { StopReason::EndTurn }));
    says
}

/// A response that ends as its last part says.
pub(crate) fn cut<const N: usize>(parts: [Vec<Say>; N]) -> Vec<Say> {
    parts.into_iter().flatten().collect()
}

/// A response of one text.
pub(crate) fn answer(words: &str) -> Vec<Say> {
    response([text(words)])
}
