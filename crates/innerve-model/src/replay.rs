//! Plays recorded responses, and records them.

mod event;
mod recorder;

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use innerve_protocol::{Capabilities, ContentBlock, Request, Role, StreamEvent};
use serde::{Deserialize, Serialize};

pub use recorder::Recorder;

use crate::{ErrorClass, EventStream, Model, ModelError, known_capabilities};
use event::{Entry, Player};

const FORMAT: &str = "innerve-recording";
const VERSION: u32 = 1;
const MAIN: &str = "main";

/// Recorded responses.
///
/// A recording is JSONL. The first line is `{"format":"innerve-recording","version":1,"model":"…"}`; every further line
/// is one response:
///
/// ```json
/// {"lane":"main","when":{"user_contains":"…"},"expect":{"tool_results":["toolu_1"]},"events":[
///   {"after_ms":20,"event":{"type":"block_done","block":{"type":"text","text":"Done."}}}]}
/// ```
///
/// - `lane` names the conversation: `main` (the default), or one per sub-agent. The responses of a lane are played in
///   order. A request belongs to the lane whose `when` it matches (`system_contains`, `user_contains`: part of the
///   instructions, part of the first user message); the longest match wins; without a match it belongs to `main`.
///   `when` stands on the lane's first line.
/// - `expect` is optional: `messages`, the number of messages; `tool_results`, the ids that the last message answers.
///   A request that differs is an error, since the recorded words would answer something else.
/// - `events` are [`StreamEvent`]s, each after a pause. By hand, a `block_done` is enough for a block, and `start`
///   and `stop` may be left out. A response that failed ends with `error`.
#[derive(Clone, Debug)]
pub struct Recording {
    model: String,
    responses: Vec<Response>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Header {
    format: String,
    version: u32,
    model: String,
}

/// One line of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Response {
    #[serde(default = "main_lane")]
    lane: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    when: Option<When>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expect: Option<Expect>,
    events: Vec<Entry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<RecordedError>,
}

/// Which requests belong to a lane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct When {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system_contains: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user_contains: Option<String>,
}

/// What the request must look like.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    messages: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_results: Option<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedError {
    class: ErrorClass,
    message: String,
}

fn main_lane() -> String {
    MAIN.to_owned()
}

impl Recording {
    /// Reads a recording.
    ///
    /// # Errors
    /// When a line is not of the form above; the message names the line.
    pub fn parse(text: &str) -> Result<Self, ModelError> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let header: Header = match lines.next() {
            Some((number, line)) => read_line(number, line)?,
            None => return Err(replay_error("the recording is empty")),
        };
        if header.format != FORMAT || header.version != VERSION {
            return Err(replay_error(format!(
                "the recording is of format `{}`, version {}; this program plays `{FORMAT}`, version {VERSION}",
                header.format, header.version
            )));
        }
        let responses =
            lines.map(|(number, line)| read_line(number, line)).collect::<Result<_, _>>()?;
        Ok(Self { model: header.model, responses })
    }

    /// The model that was recorded.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The number of responses.
    pub fn len(&self) -> usize {
        self.responses.len()
    }

    /// Whether a search of the web by the provider was recorded.
    fn searches_the_web(&self) -> bool {
        let mut entries = self.responses.iter().flat_map(|response| &response.events);
        entries.any(|entry| entry.event.holds("web_search_tool_result"))
    }

    /// Whether there is no response.
    pub fn is_empty(&self) -> bool {
        self.responses.is_empty()
    }
}

fn read_line<T: for<'de> Deserialize<'de>>(number: usize, line: &str) -> Result<T, ModelError> {
    serde_json::from_str(line).map_err(|error| {
        replay_error(format!("line {} of the recording cannot be read: {error}", number + 1))
    })
}

fn replay_error(message: impl AsRef<str>) -> ModelError {
    ModelError::new(ErrorClass::Replay, message)
}

/// A model that plays a [`Recording`].
pub struct Replay {
    model: String,
    lanes: Arc<Mutex<Vec<Lane>>>,
    factor: f64,
    searches_the_web: bool,
    capabilities: Option<Capabilities>,
}

#[derive(Debug)]
struct Lane {
    name: String,
    when: Option<When>,
    responses: VecDeque<Response>,
    played: usize,
}

impl Replay {
    /// Plays `recording` without pauses.
    pub fn new(recording: Recording) -> Self {
        let searches_the_web = recording.searches_the_web();
        let mut lanes: Vec<Lane> = Vec::new();
        for response in recording.responses {
            let place = lanes.iter().position(|lane| lane.name == response.lane);
            let lane = match place.and_then(|place| lanes.get_mut(place)) {
                Some(lane) => lane,
                None => lanes.push_mut(Lane {
                    name: response.lane.clone(),
                    when: response.when.clone(),
                    responses: VecDeque::new(),
                    played: 0,
                }),
            };
            lane.responses.push_back(response);
        }
        Self {
            model: recording.model,
            lanes: Arc::new(Mutex::new(lanes)),
            factor: 0.0,
            searches_the_web,
            capabilities: None,
        }
    }

    /// Plays the recorded pauses, multiplied by `factor`: 0 for none, 1 for all.
    #[must_use]
    pub fn with_pauses(mut self, factor: f64) -> Self {
        self.factor = if factor.is_finite() { factor.clamp(0.0, 1.0) } else { 0.0 };
        self
    }

    /// Claims these capabilities instead of those of the model that is asked for.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = Some(capabilities);
        self
    }
}

impl fmt::Debug for Replay {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Replay").field("model", &self.model).finish_non_exhaustive()
    }
}

impl Model for Replay {
    fn name(&self) -> &'static str {
        "replay"
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        if let Some(claimed) = &self.capabilities {
            return claimed.clone();
        }
        let known = known_capabilities(model).unwrap_or_else(Capabilities::anthropic);
        // What was not recorded cannot be played.
        Capabilities { web_search: self.searches_the_web, ..known }
    }

    fn stream(&self, request: Request) -> EventStream {
        let lanes = Arc::clone(&self.lanes);
        let (model, factor) = (self.model.clone(), self.factor);
        let opened = stream::once(async move {
            // The lock is released before anything is awaited.
            let next =
                next_response(&mut lanes.lock().unwrap_or_else(PoisonError::into_inner), &request);
            match next {
                Ok(response) => play(response, model, factor).left_stream(),
                Err(error) => stream::iter([Err(error)]).right_stream(),
            }
        });
        Box::pin(opened.flatten())
    }
}

/// The next response of the request's lane, if the request is the one that was recorded.
fn next_response(lanes: &mut [Lane], request: &Request) -> Result<Response, ModelError> {
    let system =
        request.system.iter().map(|block| block.text.as_str()).collect::<Vec<_>>().join("\n\n");
    let user = first_user_text(request);
    let score = |lane: &Lane| lane.when.as_ref().and_then(|when| when.matches(&system, &user));
    // Of equal matches, one that has something left; of these the first, hence the reversal.
    let best = (0..lanes.len())
        .rev()
        .filter_map(|place| {
            let lane = lanes.get(place)?;
            Some((score(lane)?, !lane.responses.is_empty(), place))
        })
        .max_by_key(|(length, some_left, place)| (*length, *some_left, std::cmp::Reverse(*place)));
    let place = best.map(|(_, _, place)| place);
    let place = place.or_else(|| lanes.iter().position(|lane| lane.name == MAIN));
    let Some(lane) = place.and_then(|place| lanes.get_mut(place)) else {
        return Err(replay_error("the recording has no response for lane `main`"));
    };
    let Some(response) = lane.responses.front() else {
        return Err(replay_error(format!(
            "the recording has no further response for lane `{}` after {}; the conversation went on longer than the recorded one",
            lane.name, lane.played
        )));
    };
    if let Some(difference) = response.expect.as_ref().and_then(|expect| expect.difference(request))
    {
        return Err(replay_error(format!(
            "response {} of lane `{}` answers another request than this: {difference}",
            lane.played + 1,
            lane.name
        )));
    }
    lane.played += 1;
    lane.responses.pop_front().ok_or_else(|| replay_error("the recording is over"))
}

fn play(
    response: Response,
    model: String,
    factor: f64,
) -> impl futures_util::Stream<Item = Result<StreamEvent, ModelError>> {
    let error = response.error.map(|error| Err(ModelError::new(error.class, error.message)));
    let mut player = Player::new(model);
    let mut steps: VecDeque<(u64, Result<StreamEvent, ModelError>)> = VecDeque::new();
    for entry in response.events {
        let mut pause = entry.after_ms;
        for event in player.take(entry.event) {
            steps.push_back((std::mem::take(&mut pause), Ok(event)));
        }
    }
    match error {
        Some(error) => steps.push_back((0, error)),
        None => steps.extend(player.end().into_iter().map(|event| (0, Ok(event)))),
    }
    stream::unfold(steps, move |mut steps| async move {
        let (pause, event) = steps.pop_front()?;
        let pause = Duration::from_millis(pause).mul_f64(factor);
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        Some((event, steps))
    })
}

impl When {
    /// The length of what matched; `None` if something does not.
    fn matches(&self, system: &str, user: &str) -> Option<usize> {
        let part = |wanted: &Option<String>, text: &str| match wanted {
            Some(wanted) => text.contains(wanted.as_str()).then_some(wanted.len()),
            None => Some(0),
        };
        Some(part(&self.system_contains, system)? + part(&self.user_contains, user)?)
    }
}

impl Expect {
    /// What is different about `request`, in words.
    fn difference(&self, request: &Request) -> Option<String> {
        if let Some(expected) = self.messages
            && expected != request.messages.len()
        {
            return Some(format!(
                "{expected} messages were expected, {} came",
                request.messages.len()
            ));
        }
        let expected = self.tool_results.as_ref()?;
        let came = answered(request);
        (came != *expected).then(|| {
            format!(
                "results for [{}] were expected, results for [{}] came",
                expected.join(", "),
                came.join(", ")
            )
        })
    }
}

/// The ids of the tool uses that the last message answers.
fn answered(request: &Request) -> Vec<String> {
    let content =
        request.messages.last().map(|message| message.content.as_slice()).unwrap_or_default();
    let results = content.iter().filter_map(ContentBlock::as_tool_result);
    results.map(|result| result.tool_use_id.as_str().to_owned()).collect()
}

/// All text of the first user message, which stays the same through a conversation.
fn first_user_text(request: &Request) -> String {
    let first = request.messages.iter().find(|message| message.role == Role::User);
    first.map(|message| message.plain_text()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
