//! How providers write a streamed response: Anthropic (Messages API, "streaming"), OpenAI (API reference, "Chat streaming"
//! and "Responses streaming") and Google (Gemini API, "generateContent").

use serde_json::{Value, json};

/// What the model says when it is done.
const WORDS: &str = "That is all.";

/// What a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    /// Anthropic's Messages API.
    Messages,
    /// OpenAI's Chat Completions.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Google's Gemini API.
    Gemini,
}

/// A tool use that the model wants.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) input: Value,
}

impl Wire {
    /// The wire of a path; `None` for a request that asks no model to answer.
    pub(super) fn of(path: &str) -> Option<Self> {
        let ending = [
            ("/messages", Self::Messages),
            ("/chat/completions", Self::Chat),
            ("/responses", Self::Responses),
            (":streamGenerateContent", Self::Gemini),
        ];
        ending.into_iter().find_map(|(end, wire)| path.ends_with(end).then_some(wire))
    }

    /// The streamed response of this number: these calls, or the end of the task when there are none.
    pub(super) fn response(self, number: usize, calls: &[Call]) -> String {
        match self {
            Self::Messages => messages(number, calls),
            Self::Chat => chat(number, calls),
            Self::Responses => responses(number, calls),
            Self::Gemini => gemini(number, calls),
        }
    }

    /// The tools that a request offers: names and schemas of their inputs.
    pub(super) fn tools(self, body: &Value) -> Vec<(&str, &Value)> {
        let tools = body.get("tools").and_then(Value::as_array).map(Vec::as_slice);
        let tools = tools.unwrap_or_default().iter();
        match self {
            Self::Messages => tools.filter_map(|tool| offered(tool, &["input_schema"])).collect(),
            Self::Chat => {
                let functions = tools.filter_map(|tool| tool.get("function"));
                functions.filter_map(|tool| offered(tool, &["parameters"])).collect()
            }
            Self::Responses => tools.filter_map(|tool| offered(tool, &["parameters"])).collect(),
            Self::Gemini => {
                let lists = tools.filter_map(|tool| tool.get("functionDeclarations")?.as_array());
                let schema = ["parametersJsonSchema", "parameters"];
                lists.flatten().filter_map(|tool| offered(tool, &schema)).collect()
            }
        }
    }
}

fn offered<'a>(tool: &'a Value, schema: &[&str]) -> Option<(&'a str, &'a Value)> {
    let name = tool.get("name")?.as_str()?;
    let schema = schema.iter().find_map(|key| tool.get(*key)).unwrap_or(&Value::Null);
    Some((name, schema))
}

/// The id of a call: no two of a conversation are alike.
fn id(number: usize, index: usize) -> String {
    format!("call_{number}_{index}")
}

fn messages(number: usize, calls: &[Call]) -> String {
    let mut out = message_start(number);
    for (index, call) in calls.iter().enumerate() {
        out += &tool_use(index, &format!("toolu_{number}_{index}"), &call.name, &call.input);
    }
    if calls.is_empty() {
        return out + &text(0, WORDS) + &message_stop("end_turn");
    }
    out + &message_stop("tool_use")
}

/// How a response on Anthropic's wire begins.
pub(super) fn message_start(number: usize) -> String {
    // Few tokens are reported, so that the conversation is never compacted.
    named(&json!({ "type": "message_start", "message": {
        "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "bench", "content": [],
        "stop_reason": null, "usage": { "input_tokens": 100, "output_tokens": 1 },
    } }))
}

/// A tool use on Anthropic's wire.
pub(super) fn tool_use(index: usize, id: &str, name: &str, input: &Value) -> String {
    let block = json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
    let delta = json!({ "type": "input_json_delta", "partial_json": input.to_string() });
    content(index, &block, &delta)
}

/// Words on Anthropic's wire.
pub(super) fn text(index: usize, words: &str) -> String {
    let block = json!({ "type": "text", "text": "" });
    content(index, &block, &json!({ "type": "text_delta", "text": words }))
}

fn content(index: usize, block: &Value, delta: &Value) -> String {
    [
        json!({ "type": "content_block_start", "index": index, "content_block": block }),
        json!({ "type": "content_block_delta", "index": index, "delta": delta }),
        json!({ "type": "content_block_stop", "index": index }),
    ]
    .iter()
    .map(named)
    .collect()
}

/// How a response on Anthropic's wire ends.
pub(super) fn message_stop(reason: &str) -> String {
    let usage = json!({ "output_tokens": 20 });
    let delta = json!({ "stop_reason": reason });
    named(&json!({ "type": "message_delta", "delta": delta, "usage": usage }))
        + &named(&json!({ "type": "message_stop" }))
}

/// An event whose type is its name.
fn named(data: &Value) -> String {
    let name = data.get("type").and_then(Value::as_str).unwrap_or_default();
    format!("event: {name}\n{}", unnamed(data))
}

fn unnamed(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fn chat(number: usize, calls: &[Call]) -> String {
    let chunk = |delta: Value, reason: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        let usage = json!({ "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120 });
        unnamed(
            &json!({ "id": "c", "object": "chat.completion.chunk", "choices": [choice], "usage": usage }),
        )
    };
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(index, call)| {
            let function = json!({ "name": call.name, "arguments": call.input.to_string() });
            json!({ "index": index, "id": id(number, index), "type": "function", "function": function })
        })
        .collect();
    let (delta, reason) = if calls.is_empty() {
        (json!({ "role": "assistant", "content": WORDS }), "stop")
    } else {
        (json!({ "role": "assistant", "tool_calls": calls }), "tool_calls")
    };
    format!("{}{}data: [DONE]\n\n", chunk(delta, None), chunk(json!({}), Some(reason)))
}

fn responses(number: usize, calls: &[Call]) -> String {
    let items: Vec<Value> = if calls.is_empty() {
        let content = json!([{ "type": "output_text", "text": WORDS, "annotations": [] }]);
        vec![
            json!({ "id": format!("msg_{number}"), "type": "message", "role": "assistant", "status": "completed",
            "content": content }),
        ]
    } else {
        let item = |(index, call): (usize, &Call)| {
            json!({ "id": format!("fc_{number}_{index}"), "type": "function_call", "status": "completed",
                "call_id": id(number, index), "name": call.name, "arguments": call.input.to_string() })
        };
        calls.iter().enumerate().map(item).collect()
    };
    let response = |status: &str, output: &[Value]| {
        json!({ "id": format!("resp_{number}"), "object": "response", "created_at": 0, "model": "bench",
            "status": status, "output": output, "usage": { "input_tokens": 100, "output_tokens": 20, "total_tokens": 120 } })
    };
    let mut events =
        vec![json!({ "type": "response.created", "response": response("in_progress", &[]) })];
    for (index, item) in items.iter().enumerate() {
        for kind in ["response.output_item.added", "response.output_item.done"] {
            events.push(json!({ "type": kind, "output_index": index, "item": item }));
        }
    }
    events.push(json!({ "type": "response.completed", "response": response("completed", &items) }));
    events.iter().map(named).collect()
}

fn gemini(number: usize, calls: &[Call]) -> String {
    let parts: Vec<Value> = if calls.is_empty() {
        vec![json!({ "text": WORDS })]
    } else {
        let part = |(index, call): (usize, &Call)| json!({ "functionCall": { "id": id(number, index), "name": call.name, "args": call.input } });
        calls.iter().enumerate().map(part).collect()
    };
    let content = json!({ "role": "model", "parts": parts });
    unnamed(&json!({
        "candidates": [{ "index": 0, "content": content, "finishReason": "STOP" }],
        "usageMetadata": { "promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120 },
        "modelVersion": "bench",
    }))
}
