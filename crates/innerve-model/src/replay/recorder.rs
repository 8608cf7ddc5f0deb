//! Writes what a model says into a recording.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use futures_util::{StreamExt as _, stream};
use innerve_protocol::{Capabilities, ContentBlock, Request, Role, StreamEvent};

use super::event::{Entry, Event};
use super::{
    Expect, FORMAT, Header, MAIN, RecordedError, Response, VERSION, When, answered, first_user_text,
};
use crate::error::clip;
use crate::{EventStream, Model, ModelError};

/// Bytes of a user text that tell one conversation from another.
const WHEN_LIMIT: usize = 200;

/// Wraps a model and records its responses.
///
/// Each response is one line, written and flushed when it ends. Responses that the caller drops before their end are not
/// recorded; the requests themselves never are. When the writer fails, the conversation goes on unrecorded, and
/// [`Recorder::failure`] says why.
pub struct Recorder<M> {
    model: M,
    sink: Arc<Mutex<Sink>>,
}

struct Sink {
    writer: Box<dyn Write + Send>,
    begun: bool,
    failure: Option<io::Error>,
    /// The lane of each conversation, by its first user text.
    lanes: HashMap<String, String>,
}

impl<M: Model> Recorder<M> {
    /// Records what `model` says to `writer`.
    pub fn new(model: M, writer: Box<dyn Write + Send>) -> Self {
        let sink = Sink { writer, begun: false, failure: None, lanes: HashMap::new() };
        Self { model, sink: Arc::new(Mutex::new(sink)) }
    }

    /// Why the recording is incomplete, if it is.
    pub fn failure(&self) -> Option<String> {
        let sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        sink.failure.as_ref().map(|error| format!("the recording cannot be written: {error}"))
    }
}

impl<M> fmt::Debug for Recorder<M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Recorder").finish_non_exhaustive()
    }
}

impl<M: Model> Model for Recorder<M> {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        self.model.capabilities(model)
    }

    fn stream(&self, request: Request) -> EventStream {
        let (lane, when) = self.sink.lock().unwrap_or_else(PoisonError::into_inner).lane(&request);
        let ids = answered(&request);
        let expect =
            (!ids.is_empty()).then(|| Expect { tool_results: Some(ids), ..Expect::default() });
        let take = Take {
            model: request.model.clone(),
            response: Response { lane, when, expect, events: Vec::new(), error: None },
            last: Instant::now(),
            sink: Arc::clone(&self.sink),
        };
        let events = self.model.stream(request);
        Box::pin(stream::unfold((events, take), |(mut events, mut take)| async move {
            let event = events.next().await?;
            take.note(&event);
            Some((event, (events, take)))
        }))
    }
}

/// One response being recorded.
struct Take {
    model: String,
    response: Response,
    last: Instant,
    sink: Arc<Mutex<Sink>>,
}

impl Take {
    fn note(&mut self, event: &Result<StreamEvent, ModelError>) {
        let event = match event {
            Ok(StreamEvent::Retrying(_)) => {
                // What came before a retry is void.
                self.response.events.clear();
                return;
            }
            Ok(event) => event,
            Err(error) => {
                let message = error.message().to_owned();
                self.response.error = Some(RecordedError { class: error.class(), message });
                return self.write();
            }
        };
        let now = Instant::now();
        let pause = now.duration_since(std::mem::replace(&mut self.last, now));
        let after_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        self.response.events.extend(Event::of(event).map(|event| Entry { after_ms, event }));
        if matches!(event, StreamEvent::Stop { .. }) {
            self.write();
        }
    }

    fn write(&self) {
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        if sink.failure.is_none() {
            sink.failure = sink.write(&self.model, &self.response).err();
        }
    }
}

impl Sink {
    fn write(&mut self, model: &str, response: &Response) -> io::Result<()> {
        let mut lines = String::new();
        if !self.begun {
            let header =
                Header { format: FORMAT.to_owned(), version: VERSION, model: model.to_owned() };
            lines.push_str(&serde_json::to_string(&header)?);
            lines.push('\n');
        }
        lines.push_str(&serde_json::to_string(response)?);
        lines.push('\n');
        self.writer.write_all(lines.as_bytes())?;
        self.writer.flush()?;
        self.begun = true;
        Ok(())
    }

    /// The lane of the request's conversation, and how a player will know it.
    fn lane(&mut self, request: &Request) -> (String, Option<When>) {
        let text = first_user_text(request);
        let count = self.lanes.len();
        let name = self.lanes.entry(text).or_insert_with(|| match count {
            0 => MAIN.to_owned(),
            count => format!("agent-{count}"),
        });
        let when =
            (name != MAIN).then(|| When { user_contains: Some(task(request)), ..When::default() });
        (name.clone(), when)
    }
}

/// What the conversation is about: its last text that is not the harness's own.
fn task(request: &Request) -> String {
    let first = request.messages.iter().find(|message| message.role == Role::User);
    let mut texts =
        first.into_iter().flat_map(|message| &message.content).filter_map(ContentBlock::as_text);
    let task = texts.rfind(|text| !text.trim_start().starts_with("<system-reminder>"));
    clip(task.unwrap_or_default(), WHEN_LIMIT).to_owned()
}
