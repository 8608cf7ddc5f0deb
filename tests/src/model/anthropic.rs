//! Anthropic's Messages: reads requests, writes events.

use axum::http::HeaderMap;
use innerve_protocol::{Capabilities, Message, Request};
use serde_json::{Value, json};

use super::frames::Frame;
use super::script::{Part, Reply, half, pieces};

/// The conversation of a request, or what is wrong with its outside.
pub(super) fn read(
    path: &str,
    headers: &HeaderMap,
    body: &Value,
    key: &str,
) -> Result<Vec<Message>, String> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if path != "/v1/messages" {
        return Err(format!("there is nothing at {path}"));
    }
    if header("x-api-key") != Some(key) {
        return Err("x-api-key header is required".to_owned());
    }
    if header("anthropic-version") != Some("2023-06-01") {
        return Err("anthropic-version: header is required".to_owned());
    }
    if body["stream"] != json!(true) {
        return Err("this server only streams".to_owned());
    }
    serde_json::from_value(body["messages"].clone()).map_err(|error| format!("messages: {error}"))
}

/// The rules about a request as a whole.
pub(super) fn violations(body: &Value) -> Vec<String> {
    match serde_json::from_value::<Request>(body.clone()) {
        Ok(request) => innerve_protocol::validate_request(&request, &Capabilities::anthropic())
            .into_iter()
            .map(|violation| violation.text)
            .collect(),
        Err(error) => vec![error.to_string()],
    }
}

/// The events of a reply.
pub(super) fn write(reply: &Reply, index: usize) -> Vec<Frame> {
    let usage = json!({ "input_tokens": 100, "output_tokens": 1 });
    let message = json!({
        "id": format!("msg_{index}"), "type": "message", "role": "assistant", "model": "scripted",
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    let mut frames = vec![event(&json!({ "type": "message_start", "message": message }))];
    let (mut blocks, mut searches) = (0, 0);
    for part in &reply.parts {
        match part {
            Part::Ping => frames.push(event(&json!({ "type": "ping" }))),
            Part::Wait(wait) => frames.push(Frame::Wait(wait.clone())),
            Part::Cut(how) => {
                frames.push(Frame::Cut(*how));
                return frames;
            }
            Part::Text(text) => {
                let start = json!({ "type": "text", "text": "" });
                let deltas = pieces(text)
                    .into_iter()
                    .map(|piece| json!({ "type": "text_delta", "text": piece }));
                block(&mut frames, blocks, &start, deltas);
                frames.push(event(&json!({ "type": "content_block_stop", "index": blocks })));
                blocks += 1;
            }
            Part::Block(whole) => {
                block(&mut frames, blocks, whole, [].into_iter());
                frames.push(event(&json!({ "type": "content_block_stop", "index": blocks })));
                searches += usize::from(whole["type"] == "web_search_tool_result");
                blocks += 1;
            }
            Part::ToolUse { name, input, is_whole } => {
                let id = format!("toolu_{index}_{blocks}");
                let start = json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
                let text = if *is_whole { input.to_string() } else { half(input) };
                let all = [String::new()].into_iter().chain(pieces(&text));
                let deltas =
                    all.map(|piece| json!({ "type": "input_json_delta", "partial_json": piece }));
                block(&mut frames, blocks, &start, deltas);
                if *is_whole {
                    frames.push(event(&json!({ "type": "content_block_stop", "index": blocks })));
                }
                blocks += 1;
            }
        }
    }
    let reason = reply.stop.unwrap_or(if reply.uses_tools() { "tool_use" } else { "end_turn" });
    let delta = json!({ "stop_reason": reason, "stop_sequence": null });
    let mut usage = json!({ "output_tokens": 20 });
    if searches > 0 {
        usage["server_tool_use"] = json!({ "web_search_requests": searches });
    }
    frames.push(event(&json!({ "type": "message_delta", "delta": delta, "usage": usage })));
    frames.push(event(&json!({ "type": "message_stop" })));
    frames
}

fn block(
    frames: &mut Vec<Frame>,
    index: usize,
    start: &Value,
    deltas: impl Iterator<Item = Value>,
) {
    frames.push(event(
        &json!({ "type": "content_block_start", "index": index, "content_block": start }),
    ));
    frames.extend(deltas.map(|delta| {
        event(&json!({ "type": "content_block_delta", "index": index, "delta": delta }))
    }));
}

fn event(data: &Value) -> Frame {
    Frame::Bytes(format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default()))
}
