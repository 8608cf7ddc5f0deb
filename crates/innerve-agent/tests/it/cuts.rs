//! A recorded response that is cut at every one of its bytes, over a real connection.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use innerve_agent::{Agent, TerminalReason};
use innerve_model::{Anthropic, Endpoint, EventStream, Model, Pace, Retrying};
use innerve_protocol::{Capabilities, ContentBlock, Message, Request, validate};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::kit::{World, check_transcript, finish, results};
use crate::script::Script;

/// Thinking, text and two calls, as a server sends them.
fn recorded() -> String {
    let block = |index: usize, start: Value, delta: Value| {
        [
            json!({ "type": "content_block_start", "index": index, "content_block": start }),
            json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            json!({ "type": "content_block_stop", "index": index }),
        ]
    };
    let call = |id: &str, index: usize| {
        let start = json!({ "type": "tool_use", "id": id, "name": "Edit", "input": {} });
        let input = json!({ "id": id }).to_string();
        block(index, start, json!({ "type": "input_json_delta", "partial_json": input }))
    };
    let usage = json!({ "input_tokens": 9, "output_tokens": 1 });
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage,
    });
    let mut events = vec![json!({ "type": "message_start", "message": message })];
    events.extend(block(
        0,
        json!({ "type": "thinking", "thinking": "", "signature": "" }),
        json!({ "type": "thinking_delta", "thinking": "hm" }),
    ));
    events.extend(block(
        1,
        json!({ "type": "text", "text": "" }),
        json!({ "type": "text_delta", "text": "Größe" }),
    ));
    events.extend(call("a", 2));
    events.extend(call("b", 3));
    events.push(json!({
        "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 20 },
    }));
    events.push(json!({ "type": "message_stop" }));
    written(&events)
}

/// The answer to every request but the first.
fn whole() -> String {
    let message = json!({
        "id": "msg_2", "type": "message", "role": "assistant", "model": "m", "content": [],
        "usage": { "input_tokens": 9, "output_tokens": 1 },
    });
    written(&[
        json!({ "type": "message_start", "message": message }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "Whole." } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 2 } }),
        json!({ "type": "message_stop" }),
    ])
}

fn written(events: &[Value]) -> String {
    let line =
        |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    events.iter().map(line).collect()
}

/// How a response ends too early.
#[derive(Clone, Copy, Debug)]
enum How {
    /// As if it were complete.
    Cleanly,
    /// In the middle of what was announced.
    InTheMiddle,
}

/// Reads one request; the connection serves no second one.
async fn read_request(stream: &mut TcpStream) -> Option<()> {
    let mut bytes = Vec::new();
    let head = loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length?.trim().parse().ok()?;
    while bytes.len() < head + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some(())
}

/// Answers the first request with so many bytes of the recorded response, and all others in full.
async fn serve(listener: TcpListener, cut: usize, how: How) {
    let mut is_first = true;
    while let Ok((mut stream, _)) = listener.accept().await {
        if read_request(&mut stream).await.is_none() {
            continue;
        }
        let (body, announced) = if std::mem::take(&mut is_first) {
            let bytes = recorded().into_bytes();
            let announced = match how {
                How::Cleanly => cut,
                How::InTheMiddle => bytes.len() + 1,
            };
            (bytes[..cut].to_vec(), announced)
        } else {
            let bytes = whole().into_bytes();
            let length = bytes.len();
            (bytes, length)
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {announced}\r\nconnection: close\r\n\r\n"
        );
        let _gone = stream.write_all(head.as_bytes()).await;
        let _gone = stream.write_all(&body).await;
        let _gone = stream.shutdown().await;
    }
}

/// No time passes between attempts.
struct AtOnce;

impl Pace for AtOnce {
    fn sleep(&self, _: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::ready(()))
    }
    fn jitter(&self) -> f64 {
        0.0
    }
}

/// Takes no request that an API would refuse.
struct Strict {
    model: Anthropic,
    problems: Arc<Mutex<Vec<String>>>,
}

impl Model for Strict {
    fn name(&self) -> &'static str {
        "strict"
    }
    fn capabilities(&self, model: &str) -> Capabilities {
        self.model.capabilities(model)
    }
    fn stream(&self, request: Request) -> EventStream {
        let found = validate(&request.messages).into_iter().map(|violation| violation.text);
        self.problems.lock().unwrap().extend(found);
        self.model.stream(request)
    }
}

async fn check(cut: usize, how: How) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(serve(listener, cut, how));
    let world = World::new(&Script::new(Vec::new()));
    let problems = Arc::default();
    let model = Anthropic::new(Endpoint::new(address)).unwrap();
    let mut env = world.env();
    let strict = Strict { model, problems: Arc::clone(&problems) };
    env.model = Arc::new(Retrying::new(strict).with_pace(AtOnce));
    let agent = Agent::start(env).unwrap();
    let ran = finish(agent.run(vec![ContentBlock::text("Do it.")])).await;
    server.abort();

    assert_eq!(ran.reason(), TerminalReason::Completed, "{cut} {how:?}");
    assert_eq!(ran.summary.result, "Whole.", "{cut} {how:?}");
    assert_eq!(*problems.lock().unwrap(), Vec::<String>::new(), "{cut} {how:?}");
    check_transcript(&agent).await;
    // What ran ran once, and its result was sent.
    let notes = world.board.notes();
    let started: Vec<&str> = notes.iter().filter_map(|note| note.strip_prefix("start ")).collect();
    assert!(["a", "b"].starts_with(&started), "{cut} {how:?}: {notes:?}");
    let messages = agent.messages().await;
    let answered: Vec<String> = messages.iter().flat_map(results).map(|(id, _)| id).collect();
    assert_eq!(answered, started, "{cut} {how:?}");
    assert_eq!(messages.iter().flat_map(Message::tool_uses).count(), started.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i7_a_response_cut_at_any_byte_runs_every_finished_call_once_and_the_task_is_done() {
    for cut in 0..=recorded().len() {
        check(cut, How::Cleanly).await;
        // The same bytes come; only the end of the connection differs.
        if cut % 5 == 0 {
            check(cut, How::InTheMiddle).await;
        }
    }
}
