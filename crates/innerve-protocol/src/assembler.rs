//! Folds wire events into finished blocks.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::{
    BlockKind, ContentBlock, Delta, StopReason, StreamEvent, ToolUse, UnknownBlock, Usage,
    WireError, WireEvent, text::is_blank,
};

/// Folds the wire events of one response into [`StreamEvent`]s (Anthropic Messages API, "streaming").
///
/// A block is told of when it begins, while it grows, and as a whole when it is complete; only a complete block may be
/// acted on. Deltas and blocks of unknown kinds are let through or ignored. What is held is bounded by
/// [`Assembler::MAX_BYTES`] and [`Assembler::MAX_BLOCKS`]. After an error every further call returns that error;
/// after the end of the response everything is ignored.
#[derive(Debug, Default)]
pub struct Assembler {
    started: bool,
    ended: bool,
    failed: Option<StreamError>,
    bytes: usize,
    blocks: usize,
    last_index: Option<usize>,
    open: BTreeMap<usize, OpenBlock>,
    used_tool: bool,
    usage: Usage,
    reason: Option<StopReason>,
    details: Map<String, Value>,
}

/// Why a stream cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The provider gave up.
    #[error("the provider reported `{}`: {}", .0.kind, .0.message)]
    Provider(WireError),
    /// The stream ended before the response was complete.
    #[error("the stream ended before the response was complete; what had arrived in full was kept")]
    Truncated,
    /// The events make no sense, or are more than may be held.
    #[error("the provider sent a malformed stream: {0}")]
    Malformed(String),
}

impl StreamError {
    /// A stable word for the kind of error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Provider(_) => "stream_provider",
            Self::Truncated => "stream_truncated",
            Self::Malformed(_) => "stream_malformed",
        }
    }
}

#[derive(Debug)]
struct OpenBlock {
    block: ContentBlock,
    input: String,
}

impl Assembler {
    /// Bytes that one response may bring; as much as a request may carry back (Anthropic Messages API, "errors": 32 MB).
    pub const MAX_BYTES: usize = 32 << 20;
    /// Blocks that one response may have.
    pub const MAX_BLOCKS: usize = 10_000;

    /// A fresh assembler for one response.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next wire event and returns what the loop should see.
    pub fn push(&mut self, event: WireEvent) -> Result<Vec<StreamEvent>, StreamError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        if self.ended {
            return Ok(Vec::new());
        }
        self.fold(event).inspect_err(|error| self.failed = Some(error.clone()))
    }

    /// Says that the body ended.
    ///
    /// A response without its last event is complete all the same when a stop reason was given and no block is open;
    /// otherwise the error is [`StreamError::Truncated`].
    pub fn finish(&mut self) -> Result<Vec<StreamEvent>, StreamError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        if self.ended {
            return Ok(Vec::new());
        }
        if self.open.is_empty() && self.reason.is_some() {
            return Ok(self.end());
        }
        self.failed = Some(StreamError::Truncated);
        Err(StreamError::Truncated)
    }

    /// The text of blocks that began and did not end, with their places.
    ///
    /// After a truncation this text may be kept. Unfinished thinking and tool uses are not given: they must not be.
    pub fn unfinished_text(&self) -> Vec<(usize, String)> {
        let text = |(index, open): (&usize, &OpenBlock)| {
            open.block
                .as_text()
                .filter(|text| !is_blank(text))
                .map(|text| (*index, text.to_owned()))
        };
        self.open.iter().filter_map(text).collect()
    }

    fn fold(&mut self, event: WireEvent) -> Result<Vec<StreamEvent>, StreamError> {
        match event {
            WireEvent::MessageStart { message } => self.start(&message),
            WireEvent::ContentBlockStart { index, content_block } => {
                self.open_block(index, content_block)
            }
            WireEvent::ContentBlockDelta { index, delta } => self.grow_block(index, delta),
            WireEvent::ContentBlockStop { index } => self.close_block(index),
            WireEvent::MessageDelta { delta, usage } => self.update(delta, usage),
            WireEvent::MessageStop => match self.open.first_key_value() {
                None => Ok(self.end()),
                Some((index, _)) => {
                    malformed(format!("the message stopped while block {index} was open"))
                }
            },
            WireEvent::Ping => Ok(vec![StreamEvent::Ping]),
            WireEvent::Error { error } => Err(StreamError::Provider(error)),
            WireEvent::Unknown => Ok(Vec::new()),
        }
    }

    fn start(&mut self, message: &Map<String, Value>) -> Result<Vec<StreamEvent>, StreamError> {
        if self.started {
            return malformed("a second `message_start`");
        }
        self.started = true;
        let usage = message.get("usage").filter(|usage| !usage.is_null());
        if let Some(usage) = usage {
            self.charge(json_len(usage))?;
            self.usage = serde_json::from_value(usage.clone())
                .map_err(|error| StreamError::Malformed(format!("unreadable usage: {error}")))?;
        }
        let field =
            |name: &str| message.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(vec![StreamEvent::Start {
            id: field("id"),
            model: field("model"),
            usage: self.usage.clone(),
        }])
    }

    fn open_block(
        &mut self,
        index: usize,
        block: ContentBlock,
    ) -> Result<Vec<StreamEvent>, StreamError> {
        if !self.started {
            return malformed("a block before `message_start`");
        }
        if self.last_index.is_some_and(|last| index <= last) {
            return malformed(format!("block {index} begins a second time or out of order"));
        }
        self.blocks += 1;
        if self.blocks > Self::MAX_BLOCKS {
            return malformed(format!("more than {} blocks", Self::MAX_BLOCKS));
        }
        if let ContentBlock::Unknown(opaque) = &block
            && ToolUse::is_too_deep(opaque.fields())
        {
            // A record that holds it could not be read again.
            let most = ToolUse::MAX_INPUT_DEPTH;
            return malformed(format!("block {index} has more than {most} values in values"));
        }
        self.charge(json_len(&block))?;
        self.last_index = Some(index);
        let mut events = vec![StreamEvent::BlockStart { index, kind: kind_of(&block) }];
        // Some servers put the first piece, or all of it, into the start.
        match &block {
            ContentBlock::Text(text) if !text.text.is_empty() => {
                events.push(StreamEvent::TextDelta { index, text: text.text.clone() });
            }
            ContentBlock::Thinking(thinking) if !thinking.thinking.is_empty() => {
                let thinking = thinking.thinking.clone();
                events.push(StreamEvent::ThinkingDelta { index, thinking });
            }
            ContentBlock::Text(_)
            | ContentBlock::Thinking(_)
            | ContentBlock::Image(_)
            | ContentBlock::RedactedThinking(_)
            | ContentBlock::ToolUse(_)
            | ContentBlock::ToolResult(_)
            | ContentBlock::ToolReference(_)
            | ContentBlock::Unknown(_) => {}
        }
        self.open.insert(index, OpenBlock { block, input: String::new() });
        Ok(events)
    }

    fn grow_block(&mut self, index: usize, delta: Delta) -> Result<Vec<StreamEvent>, StreamError> {
        self.charge(delta_len(&delta))?;
        let Some(open) = self.open.get_mut(&index) else {
            return malformed(format!("a delta for block {index}, which is not open"));
        };
        grow(open, index, delta).map_err(|Misfit| {
            let kind = open.block.kind();
            StreamError::Malformed(format!(
                "a delta that does not fit block {index} of type `{kind}`"
            ))
        })
    }

    fn close_block(&mut self, index: usize) -> Result<Vec<StreamEvent>, StreamError> {
        let Some(open) = self.open.remove(&index) else {
            return malformed(format!("block {index} stops but is not open"));
        };
        let (block, invalid_input) = complete(open);
        self.used_tool |= block.as_tool_use().is_some();
        Ok(vec![StreamEvent::BlockDone { index, block, invalid_input }])
    }

    fn update(
        &mut self,
        delta: Map<String, Value>,
        usage: Option<Usage>,
    ) -> Result<Vec<StreamEvent>, StreamError> {
        if !self.started {
            return malformed("`message_delta` before `message_start`");
        }
        self.charge(json_len(&delta) + json_len(&usage))?;
        for (key, value) in delta {
            if value.is_null() {
                continue;
            }
            if key == "stop_reason" {
                let reason = serde_json::from_value(value).map_err(|error| {
                    StreamError::Malformed(format!("unreadable stop reason: {error}"))
                })?;
                self.reason = Some(reason);
            } else {
                self.details.insert(key, value);
            }
        }
        let Some(usage) = usage else { return Ok(Vec::new()) };
        self.usage.update(&usage);
        Ok(vec![StreamEvent::Usage(self.usage.clone())])
    }

    fn end(&mut self) -> Vec<StreamEvent> {
        self.ended = true;
        // Some servers never say why they stopped.
        let assumed = if self.used_tool { StopReason::ToolUse } else { StopReason::EndTurn };
        vec![StreamEvent::Stop {
            reason: self.reason.take().unwrap_or(assumed),
            details: std::mem::take(&mut self.details),
        }]
    }

    fn charge(&mut self, bytes: usize) -> Result<(), StreamError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > Self::MAX_BYTES {
            return malformed(format!("a response of more than {} bytes", Self::MAX_BYTES));
        }
        Ok(())
    }
}

/// The delta is none for a block of this kind.
struct Misfit;

fn grow(open: &mut OpenBlock, index: usize, delta: Delta) -> Result<Vec<StreamEvent>, Misfit> {
    match delta {
        Delta::TextDelta { text } => {
            let ContentBlock::Text(block) = &mut open.block else {
                return append_to_unknown(&mut open.block, "text", &text);
            };
            block.text.push_str(&text);
            Ok(seen(!text.is_empty(), StreamEvent::TextDelta { index, text }))
        }
        Delta::ThinkingDelta { thinking } => {
            let ContentBlock::Thinking(block) = &mut open.block else {
                return append_to_unknown(&mut open.block, "thinking", &thinking);
            };
            block.thinking.push_str(&thinking);
            Ok(seen(!thinking.is_empty(), StreamEvent::ThinkingDelta { index, thinking }))
        }
        Delta::SignatureDelta { signature } => {
            let ContentBlock::Thinking(block) = &mut open.block else {
                return append_to_unknown(&mut open.block, "signature", &signature);
            };
            block.signature.push_str(&signature);
            Ok(Vec::new())
        }
        Delta::InputJsonDelta { partial_json } => {
            let is_tool_use = open.block.as_tool_use().is_some();
            if !is_tool_use && !matches!(open.block, ContentBlock::Unknown(_)) {
                return Err(Misfit);
            }
            open.input.push_str(&partial_json);
            let is_seen = is_tool_use && !partial_json.is_empty();
            Ok(seen(is_seen, StreamEvent::InputDelta { index, partial_json }))
        }
        Delta::CitationsDelta { citation } => add_citation(&mut open.block, citation),
        Delta::Unknown => Ok(Vec::new()),
    }
}

fn seen(is_seen: bool, event: StreamEvent) -> Vec<StreamEvent> {
    if is_seen { vec![event] } else { Vec::new() }
}

fn add_citation(block: &mut ContentBlock, citation: Value) -> Result<Vec<StreamEvent>, Misfit> {
    let fields = match block {
        ContentBlock::Text(block) => &mut block.extra,
        ContentBlock::Unknown(UnknownBlock(fields)) => fields,
        ContentBlock::Image(_)
        | ContentBlock::Thinking(_)
        | ContentBlock::RedactedThinking(_)
        | ContentBlock::ToolUse(_)
        | ContentBlock::ToolResult(_)
        | ContentBlock::ToolReference(_) => return Err(Misfit),
    };
    // The field is `null` at the start.
    match fields.get_mut("citations").and_then(Value::as_array_mut) {
        Some(citations) => citations.push(citation),
        None => drop(fields.insert("citations".to_owned(), Value::Array(vec![citation]))),
    }
    Ok(Vec::new())
}

/// A block of an unknown kind grows in the field that the delta is named for.
fn append_to_unknown(
    block: &mut ContentBlock,
    field: &str,
    piece: &str,
) -> Result<Vec<StreamEvent>, Misfit> {
    let ContentBlock::Unknown(UnknownBlock(fields)) = block else { return Err(Misfit) };
    if let Some(Value::String(text)) = fields.get_mut(field) {
        text.push_str(piece);
    } else {
        fields.insert(field.to_owned(), Value::String(piece.to_owned()));
    }
    Ok(Vec::new())
}

/// The finished block, and the raw input of a tool use if it is not a JSON object.
fn complete(open: OpenBlock) -> (ContentBlock, Option<String>) {
    let OpenBlock { mut block, input } = open;
    let invalid_input = match &mut block {
        ContentBlock::ToolUse(tool_use) => {
            let (value, invalid) = read_input(&input, &tool_use.input);
            tool_use.input = value;
            invalid
        }
        ContentBlock::Unknown(UnknownBlock(fields)) if !is_blank(&input) => {
            let value = serde_json::from_str(&input).unwrap_or_else(|_| Value::Object(Map::new()));
            fields.insert("input".to_owned(), value);
            None
        }
        ContentBlock::Text(_)
        | ContentBlock::Image(_)
        | ContentBlock::Thinking(_)
        | ContentBlock::RedactedThinking(_)
        | ContentBlock::ToolResult(_)
        | ContentBlock::ToolReference(_)
        | ContentBlock::Unknown(_) => None,
    };
    (block, invalid_input)
}

/// The input that the pieces make; without pieces, the one given at the start.
fn read_input(pieces: &str, at_start: &Value) -> (Value, Option<String>) {
    let empty = || Value::Object(Map::new());
    let read = if is_blank(pieces) { Ok(at_start.clone()) } else { serde_json::from_str(pieces) };
    match read {
        Ok(Value::Object(fields)) if !ToolUse::is_too_deep(&fields) => {
            (Value::Object(fields), None)
        }
        // "No arguments" is a matter for the tool's schema, not a broken stream.
        Ok(Value::Null) => (empty(), None),
        Ok(other) if is_blank(pieces) => (empty(), Some(other.to_string())),
        Ok(_) | Err(_) => (empty(), Some(pieces.to_owned())),
    }
}

fn kind_of(block: &ContentBlock) -> BlockKind {
    match block {
        ContentBlock::Text(_) => BlockKind::Text,
        ContentBlock::Thinking(_) | ContentBlock::RedactedThinking(_) => BlockKind::Thinking,
        ContentBlock::ToolUse(tool_use) => {
            BlockKind::ToolUse { id: tool_use.id.clone(), name: tool_use.name.clone() }
        }
        ContentBlock::Image(_)
        | ContentBlock::ToolResult(_)
        | ContentBlock::ToolReference(_)
        | ContentBlock::Unknown(_) => BlockKind::Other,
    }
}

fn delta_len(delta: &Delta) -> usize {
    match delta {
        Delta::TextDelta { text } => text.len(),
        Delta::InputJsonDelta { partial_json } => partial_json.len(),
        Delta::ThinkingDelta { thinking } => thinking.len(),
        Delta::SignatureDelta { signature } => signature.len(),
        Delta::CitationsDelta { citation } => json_len(citation),
        Delta::Unknown => 0,
    }
}

fn json_len<T: Serialize>(value: &T) -> usize {
    serde_json::to_string(value).map_or(0, |text| text.len())
}

fn malformed<T>(what: impl Into<String>) -> Result<T, StreamError> {
    Err(StreamError::Malformed(what.into()))
}
