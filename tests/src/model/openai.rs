//! OpenAI's Chat Completions: reads requests, writes chunks.

use axum::http::HeaderMap;
use innerve_protocol::{ContentBlock, Message, Role, ToolResult, ToolUse};
use serde_json::{Value, json};

use super::frames::Frame;
use super::script::{Part, Reply, half, pieces};

/// The conversation of a request in Anthropic's words, so that one set of rules holds for both, or what is wrong with it.
pub(super) fn read(
    path: &str,
    headers: &HeaderMap,
    body: &Value,
    key: &str,
) -> Result<Vec<Message>, String> {
    if path != "/v1/chat/completions" {
        return Err(format!("there is nothing at {path}"));
    }
    let authorization = headers.get("authorization").and_then(|value| value.to_str().ok());
    if authorization != Some(format!("Bearer {key}").as_str()) {
        return Err("Incorrect API key provided".to_owned());
    }
    if body["stream"] != json!(true) {
        return Err("this server only streams".to_owned());
    }
    let chat = body["messages"].as_array().ok_or("messages: a list is required")?;
    let mut messages: Vec<Message> = Vec::new();
    for (index, message) in chat.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        let (role, content) = match role {
            "system" if index == 0 => continue,
            "user" => (Role::User, texts(&message["content"])?),
            "assistant" => {
                let mut content = texts(&message["content"])?;
                for call in message["tool_calls"].as_array().into_iter().flatten() {
                    content.push(ContentBlock::ToolUse(tool_use(call)?));
                }
                (Role::Assistant, content)
            }
            "tool" => {
                let id = message["tool_call_id"]
                    .as_str()
                    .ok_or("a tool message without tool_call_id")?;
                let text = message["content"].as_str().ok_or("a tool message without content")?;
                (Role::User, vec![ContentBlock::ToolResult(ToolResult::ok(id.into(), text))])
            }
            other => return Err(format!("messages.{index}: the role `{other}` is not taken here")),
        };
        // Several tool messages and a user message after them are one message on the other wire.
        match messages.last_mut() {
            Some(last) if last.role == Role::User && role == Role::User => {
                last.content.extend(content)
            }
            _ => messages.push(Message::new(role, content)),
        }
    }
    Ok(messages)
}

fn texts(content: &Value) -> Result<Vec<ContentBlock>, String> {
    match content {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => Ok(vec![ContentBlock::text(text.as_str())]),
        Value::Array(parts) => {
            let text = |part: &Value| part["text"].as_str().unwrap_or("[media]").to_owned();
            Ok(parts.iter().map(|part| ContentBlock::text(text(part))).collect())
        }
        other => Err(format!("content must be text or a list, not {other}")),
    }
}

fn tool_use(call: &Value) -> Result<ToolUse, String> {
    let id = call["id"].as_str().ok_or("a tool call without an id")?;
    let function = &call["function"];
    let name = function["name"].as_str().ok_or("a tool call without a name")?;
    let arguments = function["arguments"].as_str().ok_or("arguments must be a string")?;
    let input = serde_json::from_str(arguments).map_err(|error| format!("arguments: {error}"))?;
    Ok(ToolUse::new(id, name, input))
}

/// The chunks of a reply.
pub(super) fn write(reply: &Reply, index: usize) -> Vec<Frame> {
    let delta = |delta: Value| {
        chunk(&json!({
            "id": format!("chatcmpl-{index}"), "object": "chat.completion.chunk", "model": "scripted",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": null }],
        }))
    };
    let mut frames = vec![delta(json!({ "role": "assistant", "content": "" }))];
    let mut calls = 0;
    for (place, part) in reply.parts.iter().enumerate() {
        match part {
            // A comment, as some servers send to keep the line alive.
            Part::Ping => frames.push(Frame::Bytes(": ping\n\n".to_owned())),
            Part::Block(block) => panic!("this interface has no such block: {block}"),
            Part::Wait(wait) => frames.push(Frame::Wait(wait.clone())),
            Part::Cut(how) => {
                frames.push(Frame::Cut(*how));
                return frames;
            }
            Part::Text(text) => {
                frames.extend(
                    pieces(text).into_iter().map(|piece| delta(json!({ "content": piece }))),
                );
            }
            Part::ToolUse { name, input, is_whole } => {
                let text = if *is_whole { input.to_string() } else { half(input) };
                let call = json!({
                    "index": calls, "id": format!("call_{index}_{place}"), "type": "function",
                    "function": { "name": name, "arguments": "" },
                });
                frames.push(delta(json!({ "tool_calls": [call] })));
                frames.extend(pieces(&text).into_iter().map(|piece| {
                    let call = json!({ "index": calls, "function": { "arguments": piece } });
                    delta(json!({ "tool_calls": [call] }))
                }));
                calls += 1;
            }
        }
    }
    let reason = match reply.stop {
        Some("max_tokens") => "length",
        Some("refusal") => "content_filter",
        Some(_) => "stop",
        None if reply.uses_tools() => "tool_calls",
        None => "stop",
    };
    frames.push(chunk(&json!({
        "id": format!("chatcmpl-{index}"), "object": "chat.completion.chunk", "model": "scripted",
        "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }],
    })));
    frames.push(chunk(
        &json!({ "choices": [], "usage": { "prompt_tokens": 100, "completion_tokens": 20 } }),
    ));
    frames.push(Frame::Bytes("data: [DONE]\n\n".to_owned()));
    frames
}

fn chunk(data: &Value) -> Frame {
    Frame::Bytes(format!("data: {data}\n\n"))
}
