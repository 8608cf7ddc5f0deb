//! A model on the loopback interface that answers by a script and refuses what the real interface would refuse.

mod anthropic;
mod frames;
mod openai;
mod script;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::serve::ListenerExt as _;
use innerve_protocol::{Message, ToolResult};
use serde_json::{Value, json};
use tokio::net::TcpListener;

pub use script::{Gate, How, Reply, reply};

/// The key that clients are given.
const KEY: &str = "sk-test-0123456789";

/// Which interface the server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions.
    OpenAi,
}

impl Wire {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Anthropic, Self::OpenAi];
}

/// One request as it came.
#[derive(Clone, Debug)]
pub struct Seen {
    /// When.
    pub at: Instant,
    /// The path it was sent to.
    pub path: String,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Value,
    /// Its body, byte for byte.
    pub raw: String,
    /// Its conversation, whatever the interface.
    pub messages: Vec<Message>,
}

impl Seen {
    /// The results in the last message, in their order.
    pub fn results(&self) -> Vec<ToolResult> {
        let last = self.messages.last().into_iter().flat_map(|message| &message.content);
        last.filter_map(|block| block.as_tool_result().cloned()).collect()
    }

    /// The texts of the results in the last message, in their order.
    pub fn result_texts(&self) -> Vec<String> {
        self.results().iter().map(|result| result.content.plain_text()).collect()
    }

    /// The text blocks of the last message.
    pub fn last_words(&self) -> String {
        self.messages.last().map(Message::plain_text).unwrap_or_default()
    }
}

/// What the server says.
enum Script {
    /// These, in order.
    Replies(VecDeque<Reply>),
    /// Whatever the conversation calls for.
    By(Box<dyn FnMut(&Seen) -> Reply + Send>),
}

impl Script {
    fn reply(&mut self, seen: &Seen) -> Option<Reply> {
        match self {
            Self::Replies(replies) => replies.pop_front(),
            Self::By(answer) => Some(answer(seen)),
        }
    }

    fn left(&self) -> usize {
        match self {
            Self::Replies(replies) => replies.len(),
            Self::By(_) => 0,
        }
    }
}

impl std::fmt::Debug for Script {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} replies left", self.left())
    }
}

#[derive(Debug)]
struct Shared {
    wire: Wire,
    script: Script,
    seen: Vec<Seen>,
    violations: Vec<String>,
}

/// A running server. When it is dropped, the test fails if a request broke a rule or the script was not played to its end.
#[derive(Debug)]
pub struct ModelServer {
    wire: Wire,
    address: String,
    shared: Arc<Mutex<Shared>>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
}

impl ModelServer {
    pub(crate) fn start(wire: Wire, script: impl IntoIterator<Item = Reply>) -> Self {
        Self::serve(wire, Script::Replies(script.into_iter().collect()))
    }

    pub(crate) fn start_by(
        wire: Wire,
        answer: impl FnMut(&Seen) -> Reply + Send + 'static,
    ) -> Self {
        Self::serve(wire, Script::By(Box::new(answer)))
    }

    fn serve(wire: Wire, script: Script) -> Self {
        let shared = Shared { wire, script, seen: Vec::new(), violations: Vec::new() };
        let shared = Arc::new(Mutex::new(shared));
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (started, address) = std::sync::mpsc::channel();
        let state = Arc::clone(&shared);
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
                let address = listener.local_addr().expect("an address");
                started.send(address).expect("the test waits");
                // A connection that is given up is reset, as one that a proxy drops.
                let listener = listener.tap_io(|stream| {
                    stream.set_nodelay(true).expect("a socket");
                    stream.set_zero_linger().expect("a socket");
                });
                let router = Router::new()
                    .route("/v1/models", get(models))
                    .fallback(answer)
                    .with_state(state);
                tokio::select! {
                    ended = axum::serve(listener, router) => ended.expect("the server runs"),
                    _ = stopped => {}
                }
            });
        });
        let address = address.recv().expect("the server starts");
        Self { wire, address: format!("http://{address}"), shared, stop: Some(stop) }
    }

    /// What the server has been asked so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.lock().seen.clone()
    }

    /// Forgets what it has been asked, and gives it.
    pub fn take_seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.lock().seen)
    }

    /// The n-th request, from 0.
    ///
    /// # Panics
    /// When there were not so many.
    #[track_caller]
    pub fn request(&self, index: usize) -> Seen {
        let seen = self.seen();
        let count = seen.len();
        seen.into_iter().nth(index).unwrap_or_else(|| panic!("there were only {count} requests"))
    }

    /// The host and port that it listens at.
    pub fn address(&self) -> &str {
        self.address.trim_start_matches("http://")
    }

    /// The key that the program is given.
    pub fn key(&self) -> &'static str {
        KEY
    }

    /// What tells the program about this server.
    pub(crate) fn environment(&self) -> Vec<(&'static str, OsString)> {
        match self.wire {
            Wire::Anthropic => vec![
                ("ANTHROPIC_API_KEY", KEY.into()),
                ("ANTHROPIC_BASE_URL", self.address.clone().into()),
            ],
            Wire::OpenAi => vec![
                ("OPENAI_API_KEY", KEY.into()),
                ("OPENAI_BASE_URL", format!("{}/v1", self.address).into()),
                ("INNERVE_MODEL", "scripted".into()),
            ],
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // The server may be gone already.
            let _gone = stop.send(());
        }
        if thread::panicking() {
            return;
        }
        let shared = self.lock();
        assert!(shared.violations.is_empty(), "the program broke a rule: {:#?}", shared.violations);
        let left = shared.script.left();
        assert_eq!(left, 0, "the program did not ask for the last {left} replies");
    }
}

async fn answer(
    State(shared): State<Arc<Mutex<Shared>>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let (wire, reply, index) = {
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let raw = String::from_utf8_lossy(&body).into_owned();
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let read = match shared.wire {
            Wire::Anthropic => anthropic::read(uri.path(), &headers, &body, KEY),
            Wire::OpenAi => openai::read(uri.path(), &headers, &body, KEY),
        };
        let (messages, mut problems) = match read {
            Ok(messages) => {
                let violations = innerve_protocol::validate(&messages);
                (messages, violations.into_iter().map(|violation| violation.text).collect())
            }
            Err(problem) => (Vec::new(), vec![problem]),
        };
        if shared.wire == Wire::Anthropic && problems.is_empty() {
            problems.extend(anthropic::violations(&body));
        }
        let seen =
            Seen { at: Instant::now(), path: uri.path().to_owned(), headers, body, raw, messages };
        let reply = if problems.is_empty() { shared.script.reply(&seen) } else { None };
        shared.seen.push(seen);
        let Some(reply) = reply else {
            if problems.is_empty() {
                problems.push("there are more requests than replies in the script".to_owned());
            }
            let text = problems.join("; ");
            shared.violations.push(text.clone());
            return refusal(&text);
        };
        (shared.wire, reply, shared.seen.len())
    };
    match reply.error {
        Some(error) => error.into_response(),
        None => {
            let frames = match wire {
                Wire::Anthropic => anthropic::write(&reply, index),
                Wire::OpenAi => openai::write(&reply, index),
            };
            frames::stream(frames, reply.chunk)
        }
    }
}

/// The list of models, for who has the key.
async fn models(headers: HeaderMap) -> Response {
    let bears = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = format!("Bearer {KEY}");
    if bears("x-api-key") != Some(KEY) && bears("authorization") != Some(bearer.as_str()) {
        let error = json!({ "type": "authentication_error", "message": "invalid key" });
        let body = json!({ "type": "error", "error": error }).to_string();
        return (StatusCode::UNAUTHORIZED, [("content-type", "application/json")], body)
            .into_response();
    }
    let list = json!({ "data": [{ "id": "scripted" }, { "id": "claude-sonnet-5" }] }).to_string();
    ([("content-type", "application/json")], list).into_response()
}

fn refusal(text: &str) -> Response {
    let error = json!({ "type": "invalid_request_error", "message": text });
    let body = json!({ "type": "error", "error": error }).to_string();
    (StatusCode::BAD_REQUEST, [("content-type", "application/json")], body).into_response()
}
