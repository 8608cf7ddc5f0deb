//! Reads the chunks of a Chat Completions stream (OpenAI API reference, "Chat completion chunk").

use innerve_protocol::{
    BlockKind, ContentBlock, StopReason, StreamError, StreamEvent, ThinkingBlock, ToolDefinition,
    ToolUse, Usage, WireError,
};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::Dialect;
use super::accumulate::{Accumulator, Function, Piece};
use crate::http::Decode;
use crate::{ErrorClass, ModelError};

/// What opens a tool call that a model printed as text.
const CALL_OPEN: &str = "<tool_call>";
const CALL_CLOSE: &str = "</tool_call>";

#[derive(Deserialize)]
struct Chunk {
    #[serde(default, deserialize_with = "lenient")]
    id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    model: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    choices: Option<Vec<Choice>>,
    #[serde(default, deserialize_with = "lenient")]
    usage: Option<WireUsage>,
    #[serde(default)]
    error: Value,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default, deserialize_with = "lenient")]
    index: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    delta: Option<DeltaFields>,
    #[serde(default, deserialize_with = "lenient")]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct DeltaFields {
    #[serde(default)]
    content: Value,
    #[serde(default, deserialize_with = "lenient")]
    refusal: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    reasoning_content: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    reasoning: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    tool_calls: Option<Vec<Piece>>,
    #[serde(default, deserialize_with = "lenient")]
    function_call: Option<Function>,
}

#[derive(Deserialize)]
struct WireUsage {
    #[serde(default, deserialize_with = "lenient")]
    prompt_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    completion_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    #[serde(default, deserialize_with = "lenient")]
    cached_tokens: Option<u64>,
}

/// Reads a field, or nothing where a server put something else: an odd extra must not cost the response.
pub(super) fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

/// A block of text or thinking that is still growing.
struct Growing {
    index: usize,
    thinking: bool,
    text: String,
}

pub(super) struct Decoder {
    accumulator: Accumulator,
    growing: Option<Growing>,
    /// Text that may turn out to be a printed tool call.
    held: Option<String>,
    next_block: usize,
    started: bool,
    finish_reason: Option<String>,
    usage: Usage,
    ended: bool,
    tools: Vec<ToolDefinition>,
    dialect: Dialect,
}

impl Decoder {
    pub(super) fn new(dialect: &Dialect, tools: Vec<ToolDefinition>) -> Self {
        let ids = dialect.clone();
        Self {
            accumulator: Accumulator::new(Box::new(move || ids.new_id())),
            growing: None,
            held: dialect.salvage_text.then(String::new),
            next_block: 0,
            started: false,
            finish_reason: None,
            usage: Usage::default(),
            ended: false,
            tools,
            dialect: dialect.clone(),
        }
    }

    fn chunk(&mut self, chunk: Chunk, events: &mut Vec<StreamEvent>) -> Result<(), ModelError> {
        if !chunk.error.is_null() {
            return Err(in_stream_error(&chunk.error));
        }
        if !std::mem::replace(&mut self.started, true) {
            events.push(StreamEvent::Start {
                id: chunk.id.unwrap_or_default(),
                model: chunk.model.unwrap_or_default(),
                usage: Usage::default(),
            });
        }
        let choice = chunk
            .choices
            .into_iter()
            .flatten()
            .find(|choice| choice.index.unwrap_or_default() == 0);
        if let Some(choice) = choice {
            if let Some(delta) = choice.delta {
                self.delta(delta, events)?;
            }
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
                self.finish_reason = Some(reason);
            }
        }
        if let Some(usage) = chunk.usage {
            let usage = usage.into_usage();
            if usage != self.usage {
                self.usage = usage.clone();
                events.push(StreamEvent::Usage(usage));
            }
        }
        Ok(())
    }

    fn delta(
        &mut self,
        delta: DeltaFields,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), ModelError> {
        let thinking = delta.reasoning_content.filter(|text| !text.is_empty()).or(delta.reasoning);
        self.grow(true, &thinking.unwrap_or_default(), events);
        let text = text_of(&delta.content);
        self.text(&text, events);
        self.text(&delta.refusal.unwrap_or_default(), events);
        let older = delta.function_call.map(Piece::from);
        for piece in delta.tool_calls.into_iter().flatten().chain(older) {
            self.release(events);
            self.end_growing(events);
            self.accumulator.push(piece, &mut self.next_block, events)?;
        }
        Ok(())
    }

    /// Takes text, held back while it may be a printed tool call.
    fn text(&mut self, text: &str, events: &mut Vec<StreamEvent>) {
        let Some(held) = &mut self.held else {
            return self.grow(false, text, events);
        };
        held.push_str(text);
        let start = held.trim_start();
        if !(CALL_OPEN.starts_with(start) || start.starts_with(CALL_OPEN)) {
            self.release(events);
        }
    }

    /// Gives held text back as text; from now on nothing is held.
    fn release(&mut self, events: &mut Vec<StreamEvent>) {
        if let Some(held) = self.held.take() {
            self.grow(false, &held, events);
        }
    }

    fn grow(&mut self, thinking: bool, text: &str, events: &mut Vec<StreamEvent>) {
        if text.is_empty() {
            return;
        }
        if self.growing.as_ref().is_some_and(|growing| growing.thinking != thinking) {
            self.end_growing(events);
        }
        let next_block = &mut self.next_block;
        let growing = self.growing.get_or_insert_with(|| {
            let index = *next_block;
            *next_block += 1;
            let kind = if thinking { BlockKind::Thinking } else { BlockKind::Text };
            events.push(StreamEvent::BlockStart { index, kind });
            Growing { index, thinking, text: String::new() }
        });
        growing.text.push_str(text);
        let (index, text) = (growing.index, text.to_owned());
        events.push(if thinking {
            StreamEvent::ThinkingDelta { index, thinking: text }
        } else {
            StreamEvent::TextDelta { index, text }
        });
    }

    fn end_growing(&mut self, events: &mut Vec<StreamEvent>) {
        let Some(Growing { index, thinking, text }) = self.growing.take() else { return };
        let block = if thinking {
            ContentBlock::Thinking(ThinkingBlock { thinking: text, ..ThinkingBlock::default() })
        } else {
            ContentBlock::text(text)
        };
        events.push(StreamEvent::BlockDone { index, block, invalid_input: None });
    }

    fn end(&mut self) -> Result<Vec<StreamEvent>, ModelError> {
        let mut events = Vec::new();
        if std::mem::replace(&mut self.ended, true) {
            return Ok(events);
        }
        let Some(finish_reason) = self.finish_reason.take() else {
            return Err(StreamError::Truncated.into());
        };
        let salvaged = self.salvage();
        if salvaged.is_empty() {
            self.release(&mut events);
        }
        self.end_growing(&mut events);
        let cut = finish_reason == "length";
        let mut outcome = self.accumulator.finish(cut, &mut self.next_block, &mut events);
        for (name, input) in salvaged {
            outcome.calls = true;
            let (index, id) = (self.next_block, self.dialect.new_id());
            self.next_block += 1;
            let block = ToolUse::new(id.as_str(), name.clone(), Value::Object(input));
            let kind = BlockKind::ToolUse { id: block.id.clone(), name };
            events.push(StreamEvent::BlockStart { index, kind });
            events.push(StreamEvent::BlockDone {
                index,
                block: ContentBlock::ToolUse(block),
                invalid_input: None,
            });
        }
        if self.dialect.lenient_arguments {
            self.coerce(&mut events);
        }
        let reason = if outcome.truncated {
            StopReason::MaxTokens
        } else if outcome.calls {
            StopReason::ToolUse
        } else {
            stop_reason(finish_reason)
        };
        events.push(StreamEvent::Stop { reason, details: Map::new() });
        Ok(events)
    }

    /// The tool calls that were printed as text, if the text is nothing else and names only tools of the request.
    fn salvage(&self) -> Vec<(String, Map<String, Value>)> {
        let mut rest = self.held.as_deref().unwrap_or_default().trim();
        let mut calls = Vec::new();
        while !rest.is_empty() && self.accumulator.is_empty() {
            let Some((json, after)) =
                rest.strip_prefix(CALL_OPEN).and_then(|rest| rest.split_once(CALL_CLOSE))
            else {
                return Vec::new();
            };
            let Some(call) = self.printed_call(json) else { return Vec::new() };
            calls.push(call);
            rest = after.trim_start();
        }
        calls
    }

    fn printed_call(&self, json: &str) -> Option<(String, Map<String, Value>)> {
        #[derive(Deserialize)]
        struct Printed {
            name: String,
            #[serde(alias = "parameters")]
            arguments: Map<String, Value>,
        }
        let call: Printed = serde_json::from_str(json).ok()?;
        let known = self.tools.iter().any(|tool| tool.name == call.name);
        known.then_some((call.name, call.arguments))
    }

    /// Reads strings as JSON where the tool's schema wants no string.
    fn coerce(&self, events: &mut [StreamEvent]) {
        for event in events {
            let StreamEvent::BlockDone { block: ContentBlock::ToolUse(tool_use), .. } = event
            else {
                continue;
            };
            let Some(tool) = self.tools.iter().find(|tool| tool.name == tool_use.name) else {
                continue;
            };
            let Some(input) = tool_use.input.as_object_mut() else { continue };
            for (name, value) in input {
                let wanted =
                    tool.input_schema.get("properties").and_then(|all| all.get(name)?.get("type"));
                let coerced = value.as_str().and_then(|text| {
                    let parsed: Value = serde_json::from_str(text).ok()?;
                    is_type(&parsed, wanted?.as_str()?).then_some(parsed)
                });
                if let Some(coerced) = coerced {
                    *value = coerced;
                }
            }
        }
    }
}

impl Decode for Decoder {
    fn push(&mut self, data: &str) -> Result<Vec<StreamEvent>, ModelError> {
        if data.trim() == "[DONE]" {
            return self.end();
        }
        let chunk: Chunk = serde_json::from_str(data).map_err(|error| {
            ModelError::new(
                ErrorClass::Malformed,
                format!("the provider sent a chunk that cannot be read: {error}"),
            )
        })?;
        let mut events = Vec::new();
        self.chunk(chunk, &mut events)?;
        Ok(events)
    }

    fn finish(&mut self) -> Result<Vec<StreamEvent>, ModelError> {
        self.end()
    }
}

impl WireUsage {
    /// `prompt_tokens` counts cached tokens, too; ours are apart.
    fn into_usage(self) -> Usage {
        let cached = self.prompt_tokens_details.and_then(|details| details.cached_tokens);
        Usage {
            input_tokens: self
                .prompt_tokens
                .map(|all| all.saturating_sub(cached.unwrap_or_default())),
            output_tokens: self.completion_tokens,
            cache_read_input_tokens: cached,
            ..Usage::default()
        }
    }
}

/// Content is text, or a list of parts at a few servers.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

fn stop_reason(finish_reason: String) -> StopReason {
    match finish_reason.as_str() {
        // A call that was announced and dropped leaves a plain end.
        "stop" | "tool_calls" | "function_call" | "tool" => StopReason::EndTurn,
        "length" => StopReason::MaxTokens,
        "content_filter" => StopReason::Refusal,
        _ => StopReason::Other(finish_reason),
    }
}

fn in_stream_error(error: &Value) -> ModelError {
    let text = |name| error.get(name).and_then(Value::as_str).map(str::to_owned);
    let kind = text("code").or_else(|| text("type")).unwrap_or_else(|| "error".to_owned());
    let message = text("message").unwrap_or_else(|| error.to_string());
    WireError { kind, message }.into()
}

fn is_type(value: &Value, wanted: &str) -> bool {
    match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => false,
    }
}

#[cfg(test)]
#[expect(clippy::wildcard_enum_match_arm, reason = "tests pick the events they are about")]
mod tests;
