//! What the model says: blocks, pauses, cuts and errors, in order.

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use tokio::sync::watch;

/// An answer to one request.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) parts: Vec<Part>,
    pub(super) chunk: usize,
    pub(super) stop: Option<&'static str>,
    pub(super) error: Option<Failure>,
}

#[derive(Clone, Debug)]
pub(super) enum Part {
    Text(String),
    ToolUse { name: String, input: Value, is_whole: bool },
    Block(Value),
    Ping,
    Wait(Wait),
    Cut(How),
}

#[derive(Clone, Debug)]
pub(super) enum Wait {
    For(Duration),
    Until(Gate),
}

/// How a response breaks off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The body ends as if it were complete.
    Cleanly,
    /// The connection is reset.
    ByReset,
}

/// An HTTP error.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

/// An answer without anything in it yet.
pub fn reply() -> Reply {
    Reply { parts: Vec::new(), chunk: usize::MAX, stop: None, error: None }
}

impl Reply {
    /// Says this.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.part(Part::Text(text.to_owned()))
    }

    /// Uses a tool.
    #[must_use]
    pub fn uses(self, tool: &str, input: Value) -> Self {
        self.part(Part::ToolUse { name: tool.to_owned(), input, is_whole: true })
    }

    /// Runs a command.
    #[must_use]
    pub fn bash(self, command: &str) -> Self {
        self.uses("Bash", json!({ "command": command }))
    }

    /// Begins to use a tool: half of the input comes, and no end of it. A cut should follow.
    #[must_use]
    pub fn begins(self, tool: &str, input: Value) -> Self {
        self.part(Part::ToolUse { name: tool.to_owned(), input, is_whole: false })
    }

    /// Says this block, which only Anthropic's interface has: what a tool of the provider's own did.
    #[must_use]
    pub fn block(self, block: Value) -> Self {
        self.part(Part::Block(block))
    }

    /// Sends a sign of life.
    #[must_use]
    pub fn ping(self) -> Self {
        self.part(Part::Ping)
    }

    /// Is silent for so many milliseconds.
    #[must_use]
    pub fn pauses(self, millis: u64) -> Self {
        self.part(Part::Wait(Wait::For(Duration::from_millis(millis))))
    }

    /// Is silent until the gate is opened.
    #[must_use]
    pub fn waits(self, gate: &Gate) -> Self {
        self.part(Part::Wait(Wait::Until(gate.clone())))
    }

    /// Breaks off.
    #[must_use]
    pub fn cut(self, how: How) -> Self {
        self.part(Part::Cut(how))
    }

    /// Sends so many bytes at a time.
    #[must_use]
    pub fn in_chunks(mut self, bytes: usize) -> Self {
        self.chunk = bytes;
        self
    }

    /// Says that it stopped for this reason, in Anthropic's words.
    #[must_use]
    pub fn stops(mut self, reason: &'static str) -> Self {
        self.stop = Some(reason);
        self
    }

    /// Fails with this status and the error body of both interfaces.
    #[must_use]
    pub fn fails(self, status: u16, kind: &str, message: &str) -> Self {
        let error = json!({ "type": kind, "message": message, "code": null, "param": null });
        let body = json!({ "type": "error", "error": error, "request_id": "req_test" });
        self.fails_with(status, &body.to_string()).header("content-type", "application/json")
    }

    /// Fails with this status and body.
    #[must_use]
    pub fn fails_with(mut self, status: u16, body: &str) -> Self {
        self.error = Some(Failure { status, headers: Vec::new(), body: body.to_owned() });
        self
    }

    /// A header of the failure.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let error = self.error.as_mut().expect("only failures have headers of their own");
        error.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    fn part(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    pub(super) fn uses_tools(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::ToolUse { .. }))
    }
}

impl Failure {
    pub(super) fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).expect("a status");
        let mut response = (status, self.body).into_response();
        for (name, value) in self.headers {
            let name: axum::http::HeaderName = name.parse().expect("a header's name");
            response.headers_mut().insert(name, value.parse().expect("a header's value"));
        }
        response
    }
}

/// Something that a response waits for until the test lets it go on.
#[derive(Clone, Debug)]
pub struct Gate {
    opened: watch::Sender<bool>,
}

impl Gate {
    /// A closed gate.
    #[expect(clippy::new_without_default, reason = "a gate is made on purpose")]
    pub fn new() -> Self {
        Self { opened: watch::Sender::new(false) }
    }

    /// Opens it for good.
    pub fn open(&self) {
        self.opened.send_replace(true);
    }

    pub(super) async fn wait(&self) {
        let mut opened = self.opened.subscribe();
        // The sender lives as long as the gate itself.
        let _opened = opened.wait_for(|opened| *opened).await;
    }
}

/// Cuts text into pieces of a few letters, as models send it.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(5).map(|piece| piece.iter().collect()).collect()
}

/// The first half of an input, cut in the middle of it.
pub(super) fn half(input: &Value) -> String {
    let text = input.to_string();
    text.chars().take(text.chars().count() / 2).collect()
}
