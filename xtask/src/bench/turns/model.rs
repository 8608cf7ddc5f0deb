//! A model that asks for tools, as its server writes it (Anthropic Messages API, "streaming"; OpenAI API reference,
//! "Streaming").

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

/// The calls of [`Task::Calls`].
pub(super) const CALLS: u32 = 8;
/// How long each of them takes.
pub(super) const CALL: Duration = Duration::from_millis(300);
/// Between one call and the next.
pub(super) const APART: Duration = Duration::from_millis(20);
/// How long the model goes on talking after the last call.
const TALK: Duration = Duration::from_millis(260);

/// What a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's Chat Completions.
    OpenAi,
}

/// What the model has the program do before it says that it is done.
#[derive(Clone, Debug)]
pub(super) enum Task {
    /// To read this file in each of so many responses.
    Reads { turns: usize, file: PathBuf },
    /// To make [`CALLS`] calls in one response that takes its time.
    Calls,
}

/// A part of a response.
pub(super) struct Piece {
    /// How long after the one before.
    pub(super) after: Duration,
    pub(super) text: String,
}

impl Task {
    /// The response to the request of this number, from 1.
    pub(super) fn response(&self, wire: Wire, number: usize) -> Vec<Piece> {
        match self {
            Self::Reads { turns, file } => {
                let input = json!({ "file_path": file, "limit": 1 + number % 12 });
                let call = (number <= *turns).then_some(("Read", input));
                let text = match wire {
                    Wire::Anthropic => messages(number, call),
                    Wire::OpenAi => chat(number, call),
                };
                vec![Piece { after: Duration::ZERO, text }]
            }
            Self::Calls if number == 1 => calls(),
            Self::Calls => vec![Piece { after: Duration::ZERO, text: messages(number, None) }],
        }
    }
}

/// A response of one call, or one that ends the task.
fn messages(number: usize, call: Option<(&str, Value)>) -> String {
    let reason = if call.is_some() { "tool_use" } else { "end_turn" };
    let block = match call {
        Some((name, input)) => tool_use(0, &format!("toolu_bench_{number}"), name, &input),
        None => text(0, "That is all."),
    };
    start(number) + &block + &stop(reason)
}

/// The calls one after the other, then words until the first of them could be done.
fn calls() -> Vec<Piece> {
    let input = json!({ "command": format!("sleep {}", CALL.as_secs_f64()) });
    let block = |index| tool_use(index, &format!("toolu_bench_{index}"), "Bash", &input);
    let mut pieces = vec![Piece { after: Duration::ZERO, text: start(1) + &block(0) }];
    pieces.extend((1..CALLS).map(|index| Piece { after: APART, text: block(index) }));
    let last = text(CALLS, "These take a moment.") + &stop("tool_use");
    pieces.push(Piece { after: TALK, text: last });
    pieces
}

fn start(number: usize) -> String {
    // Few tokens are reported, so that the conversation is never compacted.
    event(&json!({ "type": "message_start", "message": {
        "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "bench", "content": [],
        "stop_reason": null, "usage": { "input_tokens": 100, "output_tokens": 1 },
    } }))
}

fn tool_use(index: u32, id: &str, name: &str, input: &Value) -> String {
    let block = json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
    let delta = json!({ "type": "input_json_delta", "partial_json": input.to_string() });
    content(index, &block, &delta)
}

fn text(index: u32, words: &str) -> String {
    let block = json!({ "type": "text", "text": "" });
    content(index, &block, &json!({ "type": "text_delta", "text": words }))
}

fn content(index: u32, block: &Value, delta: &Value) -> String {
    [
        json!({ "type": "content_block_start", "index": index, "content_block": block }),
        json!({ "type": "content_block_delta", "index": index, "delta": delta }),
        json!({ "type": "content_block_stop", "index": index }),
    ]
    .iter()
    .map(event)
    .collect()
}

fn stop(reason: &str) -> String {
    let usage = json!({ "output_tokens": 20 });
    let delta = json!({ "stop_reason": reason });
    event(&json!({ "type": "message_delta", "delta": delta, "usage": usage }))
        + &event(&json!({ "type": "message_stop" }))
}

fn event(data: &Value) -> String {
    let name = data.get("type").and_then(Value::as_str).unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}

fn chat(number: usize, call: Option<(&str, Value)>) -> String {
    let (delta, reason) = match call {
        None => (json!({ "role": "assistant", "content": "That is all." }), "stop"),
        Some((name, input)) => {
            let function = json!({ "name": name, "arguments": input.to_string() });
            let call = json!({ "index": 0, "id": format!("call_{number}"), "type": "function", "function": function });
            (json!({ "role": "assistant", "tool_calls": [call] }), "tool_calls")
        }
    };
    let chunk = |delta: Value, reason: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        let usage = json!({ "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120 });
        let chunk = json!({ "id": "c", "object": "chat.completion.chunk", "choices": [choice], "usage": usage });
        format!("data: {chunk}\n\n")
    };
    format!("{}{}data: [DONE]\n\n", chunk(delta, None), chunk(json!({}), Some(reason)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_talks_until_the_first_call_could_be_done() {
        let pieces = calls();
        let whole: Duration = pieces.iter().map(|piece| piece.after).sum();
        // Otherwise a program that waits for the end of the response would look as quick as one that does not.
        assert!(whole >= CALL, "{whole:?}");
        let text: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        assert_eq!(text.matches("sleep 0.3").count(), 8, "{text}");
    }
}
