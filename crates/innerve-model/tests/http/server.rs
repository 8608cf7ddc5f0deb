//! An HTTP/1.1 server that answers by script, cuts bodies where it is told to, and refuses transcripts that an API would.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt as _;
use innerve_model::{EventStream, ModelError};
use innerve_protocol::{
    ContentBlock, Message, Request, Role, StreamEvent, ToolResult, ToolUse, validate,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What the server answers to one request.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    parts: Vec<Part>,
    /// Bytes per HTTP chunk.
    chunk: usize,
    end: End,
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Pause(Duration),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The body ends as HTTP wants it.
    Clean,
    /// The connection ends without the last chunk.
    Cut,
    /// The connection is reset.
    Reset,
    /// Nothing more comes, for long.
    Stall,
}

impl Reply {
    /// A stream with these bytes, 7 per chunk.
    pub(crate) fn stream(body: impl Into<String>) -> Self {
        let headers = vec![
            ("content-type".to_owned(), "text/event-stream; charset=utf-8".to_owned()),
            ("request-id".to_owned(), "req_1".to_owned()),
        ];
        Self {
            status: 200,
            headers,
            parts: vec![Part::Text(body.into())],
            chunk: 7,
            end: End::Clean,
        }
    }

    /// An error with this body.
    pub(crate) fn error(status: u16, body: impl Into<String>) -> Self {
        let headers = vec![("request-id".to_owned(), "req_1".to_owned())];
        Self { status, headers, parts: vec![Part::Text(body.into())], chunk: 1000, end: End::Clean }
    }

    /// An error as the Messages API words it.
    pub(crate) fn api_error(status: u16, kind: &str, message: &str) -> Self {
        let error = json!({"type": kind, "message": message});
        Self::error(status, json!({"type": "error", "error": error}).to_string())
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(present, _)| present != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn chunk(mut self, bytes: usize) -> Self {
        self.chunk = bytes;
        self
    }

    pub(crate) fn then_pause(mut self, millis: u64) -> Self {
        self.parts.push(Part::Pause(Duration::from_millis(millis)));
        self
    }

    pub(crate) fn then(mut self, body: &str) -> Self {
        self.parts.push(Part::Text(body.to_owned()));
        self
    }

    pub(crate) fn then_cut(mut self) -> Self {
        self.end = End::Cut;
        self
    }

    pub(crate) fn then_reset(mut self) -> Self {
        self.end = End::Reset;
        self
    }

    pub(crate) fn then_stall(mut self) -> Self {
        self.end = End::Stall;
        self
    }
}

/// One request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) connection: usize,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(present, _)| present == name);
        found.map(|(_, value)| value.as_str())
    }
}

#[derive(Debug, Default)]
struct State {
    replies: VecDeque<Reply>,
    seen: Vec<Seen>,
    /// Connections that the client closed while a response was under way.
    hung_up: usize,
    connections: usize,
}

/// A running server.
#[derive(Clone)]
pub(crate) struct Server {
    state: Arc<Mutex<State>>,
    pub(crate) url: String,
}

impl Server {
    /// Answers the n-th request by the n-th reply, and every further one by 500.
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = State { replies: replies.into_iter().collect(), ..State::default() };
        let server = Self { state: Arc::new(Mutex::new(state)), url };
        let running = server.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let connection = {
                    let mut state = running.state.lock().unwrap();
                    state.connections += 1;
                    state.connections
                };
                let running = running.clone();
                tokio::spawn(async move { running.serve(stream, connection).await });
            }
        });
        server
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.lock().unwrap().seen.clone()
    }

    pub(crate) fn hung_up(&self) -> usize {
        self.state.lock().unwrap().hung_up
    }

    async fn serve(&self, mut stream: TcpStream, connection: usize) {
        while let Some(seen) = read_request(&mut stream, connection).await {
            let problem = refusal(&seen);
            let reply = {
                let mut state = self.state.lock().unwrap();
                state.seen.push(seen);
                match problem {
                    Some(problem) => Reply::api_error(400, "invalid_request_error", &problem),
                    None => state
                        .replies
                        .pop_front()
                        .unwrap_or_else(|| Reply::error(500, "the script is over")),
                }
            };
            match write_reply(&mut stream, &reply).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(_) => {
                    self.state.lock().unwrap().hung_up += 1;
                    return;
                }
            }
        }
    }
}

async fn read_request(stream: &mut TcpStream, connection: usize) -> Option<Seen> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        // A client that begins with TLS gets no answer.
        if stream.read_buf(&mut bytes).await.ok()? == 0 || bytes.first() == Some(&0x16) {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = bytes.split_off(head_end + 4);
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some(Seen {
        connection,
        path,
        headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    })
}

/// Writes the reply and says whether the connection goes on.
async fn write_reply(stream: &mut TcpStream, reply: &Reply) -> std::io::Result<bool> {
    let mut head = format!("HTTP/1.1 {} Whatever\r\ntransfer-encoding: chunked\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(name);
        head.push_str(": ");
        head.push_str(value);
        head.push_str("\r\n");
    }
    head.push_str("\r\n");
    stream.set_nodelay(true)?;
    stream.write_all(head.as_bytes()).await?;
    for part in &reply.parts {
        match part {
            Part::Text(text) => {
                for chunk in text.as_bytes().chunks(reply.chunk) {
                    stream.write_all(format!("{:x}\r\n", chunk.len()).as_bytes()).await?;
                    stream.write_all(chunk).await?;
                    stream.write_all(b"\r\n").await?;
                    stream.flush().await?;
                }
            }
            Part::Pause(pause) => tokio::time::sleep(*pause).await,
        }
    }
    match reply.end {
        End::Clean => {
            stream.write_all(b"0\r\n\r\n").await?;
            Ok(true)
        }
        End::Cut => Ok(false),
        End::Reset => {
            // What was sent should be read before the reset throws it away.
            tokio::time::sleep(Duration::from_millis(100)).await;
            stream.set_zero_linger()?;
            Ok(false)
        }
        End::Stall => {
            let mut byte = [0];
            let hung_up =
                tokio::time::timeout(Duration::from_secs(20), stream.read(&mut byte)).await;
            match hung_up {
                Ok(Ok(0) | Err(_)) => Err(std::io::ErrorKind::BrokenPipe.into()),
                Ok(Ok(_)) | Err(_) => Ok(false),
            }
        }
    }
}

/// What an API would have against the request's transcript.
fn refusal(seen: &Seen) -> Option<String> {
    if seen.body.is_null() {
        return None;
    }
    let messages: Vec<Message> = if seen.path.ends_with("/chat/completions") {
        from_chat(seen.body["messages"].as_array()?)
    } else {
        match serde_json::from_value(seen.body["messages"].clone()) {
            Ok(messages) => messages,
            Err(error) => return Some(error.to_string()),
        }
    };
    let violations = validate(&messages);
    violations.first().map(|violation| violation.text.clone())
}

/// A Chat Completions transcript as messages, so that both formats are held to the same rules.
fn from_chat(chat: &[Value]) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for message in chat {
        let text = message["content"].as_str().map(ContentBlock::text);
        match message["role"].as_str().unwrap() {
            "tool" => {
                let id = message["tool_call_id"].as_str().expect("a tool message has an id");
                let result = ToolResult::ok(id.into(), message["content"].as_str().unwrap());
                let block = ContentBlock::ToolResult(result);
                match messages.last_mut() {
                    Some(last) if last.role == Role::User => last.content.push(block),
                    _ => messages.push(Message::new(Role::User, vec![block])),
                }
            }
            "assistant" => {
                let calls = message["tool_calls"].as_array().into_iter().flatten().map(|call| {
                    let function = &call["function"];
                    let input =
                        serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap();
                    let name = function["name"].as_str().unwrap();
                    ContentBlock::ToolUse(ToolUse::new(call["id"].as_str().unwrap(), name, input))
                });
                let content = text.into_iter().chain(calls).collect();
                messages.push(Message::new(Role::Assistant, content));
            }
            "user" => {
                let content = vec![text.unwrap_or_else(|| ContentBlock::text("media"))];
                match messages.last_mut() {
                    Some(last) if last.role == Role::User => last.content.extend(content),
                    _ => messages.push(Message::new(Role::User, content)),
                }
            }
            _ => {}
        }
    }
    messages
}

/// One server-sent event of the Messages API.
pub(crate) fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap())
}

/// One server-sent event of Chat Completions.
pub(crate) fn chunk(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// The events of a whole Messages API response.
pub(crate) fn messages_response(blocks: &[Value], stop_reason: &str) -> String {
    let usage = json!({"input_tokens": 10, "output_tokens": 1});
    let message =
        json!({"id": "msg_1", "model": "m", "role": "assistant", "content": [], "usage": usage});
    let mut body = event(&json!({"type": "message_start", "message": message}));
    for (index, block) in blocks.iter().enumerate() {
        body.push_str(&block_events(index, block));
        body.push_str(&event(&json!({"type": "ping"})));
    }
    let delta = json!({"stop_reason": stop_reason, "stop_sequence": null});
    body.push_str(&event(
        &json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 20}}),
    ));
    body.push_str(&event(&json!({"type": "message_stop"})));
    body
}

/// The events of one block, its text or input in pieces of three characters.
pub(crate) fn block_events(index: usize, block: &Value) -> String {
    let mut start = block.clone();
    let (text, field, kind) = match block["type"].as_str().unwrap() {
        "text" => {
            start["text"] = json!("");
            (block["text"].as_str().unwrap().to_owned(), "text", "text_delta")
        }
        "thinking" => {
            start["thinking"] = json!("");
            start["signature"] = json!("");
            (block["thinking"].as_str().unwrap().to_owned(), "thinking", "thinking_delta")
        }
        "tool_use" => {
            start["input"] = json!({});
            (block["input"].to_string(), "partial_json", "input_json_delta")
        }
        other => panic!("no such block in a script: {other}"),
    };
    let mut body =
        event(&json!({"type": "content_block_start", "index": index, "content_block": start}));
    let letters: Vec<char> = text.chars().collect();
    for piece in letters.chunks(3) {
        let piece: String = piece.iter().collect();
        let delta = json!({"type": kind, field: piece});
        body.push_str(&event(
            &json!({"type": "content_block_delta", "index": index, "delta": delta}),
        ));
    }
    if let Some(signature) = block.get("signature") {
        let delta = json!({"type": "signature_delta", "signature": signature});
        body.push_str(&event(
            &json!({"type": "content_block_delta", "index": index, "delta": delta}),
        ));
    }
    body.push_str(&event(&json!({"type": "content_block_stop", "index": index})));
    body
}

/// The chunks of a whole Chat Completions response.
pub(crate) fn chat_response(blocks: &[Value], finish_reason: &str) -> String {
    let delta = |delta: &Value| {
        chunk(&json!({"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta}]}))
    };
    let mut body = delta(&json!({"role": "assistant", "content": ""}));
    let mut calls = 0;
    for block in blocks {
        match block["type"].as_str().unwrap() {
            "text" => body.push_str(&delta(&json!({"content": block["text"]}))),
            "thinking" => body.push_str(&delta(&json!({"reasoning_content": block["thinking"]}))),
            "tool_use" => {
                let arguments = block["input"].to_string();
                let function = json!({"name": block["name"], "arguments": ""});
                let call = json!({"index": calls, "id": block["id"], "type": "function", "function": function});
                body.push_str(&delta(&json!({"tool_calls": [call]})));
                let letters: Vec<char> = arguments.chars().collect();
                for piece in letters.chunks(3) {
                    let piece: String = piece.iter().collect();
                    let call = json!({"index": calls, "function": {"arguments": piece}});
                    body.push_str(&delta(&json!({"tool_calls": [call]})));
                }
                calls += 1;
            }
            other => panic!("no such block in a script: {other}"),
        }
    }
    body.push_str(&chunk(
        &json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish_reason}]}),
    ));
    body.push_str(&chunk(
        &json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 20}}),
    ));
    body.push_str("data: [DONE]\n\n");
    body
}

pub(crate) fn request(messages: Vec<Message>) -> Request {
    Request::new("m", 8000, messages.into_iter().map(Into::into).collect())
}

pub(crate) fn asks(text: &str) -> Request {
    request(vec![Message::user(text)])
}

/// All events, and the error that ended them, if any.
pub(crate) async fn collect(mut events: EventStream) -> (Vec<StreamEvent>, Option<ModelError>) {
    let mut collected = Vec::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => collected.push(event),
            Err(error) => {
                assert!(events.next().await.is_none(), "an error is the last event");
                return (collected, Some(error));
            }
        }
    }
    assert!(
        matches!(collected.last(), Some(StreamEvent::Stop { .. })),
        "a response ends with a stop"
    );
    (collected, None)
}

/// The finished blocks in their order.
pub(crate) fn blocks(events: &[StreamEvent]) -> Vec<ContentBlock> {
    let mut blocks: Vec<(usize, ContentBlock)> = Vec::new();
    for event in events {
        if let StreamEvent::BlockDone { index, block, .. } = event {
            blocks.push((*index, block.clone()));
        }
    }
    blocks.sort_by_key(|(index, _)| *index);
    blocks.into_iter().map(|(_, block)| block).collect()
}
