//! Cache markers: where they are in a message.

use serde_json::{Map, Value};

use crate::{ContentBlock, Message, ToolResultContent, UnknownBlock};

/// Markers that one request may have (Anthropic Messages API, "prompt caching").
pub(crate) const MAX_MARKERS: usize = 4;

/// The field that holds a marker.
pub(crate) const FIELD: &str = "cache_control";

/// Whether the block itself, not what it contains, has a marker.
pub(crate) fn has(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Text(block) => block.cache_control.is_some(),
        ContentBlock::Image(block) => block.cache_control.is_some(),
        ContentBlock::ToolUse(block) => block.cache_control.is_some(),
        ContentBlock::ToolResult(block) => block.cache_control.is_some(),
        ContentBlock::Thinking(block) => in_fields(&block.extra),
        ContentBlock::RedactedThinking(block) => in_fields(&block.extra),
        ContentBlock::ToolReference(block) => in_fields(&block.extra),
        ContentBlock::Unknown(UnknownBlock(fields)) => in_fields(fields),
    }
}

/// Takes the block's own marker away.
pub(crate) fn clear(block: &mut ContentBlock) {
    match block {
        ContentBlock::Text(block) => block.cache_control = None,
        ContentBlock::Image(block) => block.cache_control = None,
        ContentBlock::ToolUse(block) => block.cache_control = None,
        ContentBlock::ToolResult(block) => block.cache_control = None,
        ContentBlock::Thinking(block) => drop(block.extra.shift_remove(FIELD)),
        ContentBlock::RedactedThinking(block) => drop(block.extra.shift_remove(FIELD)),
        ContentBlock::ToolReference(block) => drop(block.extra.shift_remove(FIELD)),
        ContentBlock::Unknown(UnknownBlock(fields)) => drop(fields.shift_remove(FIELD)),
    }
}

/// Counts the markers of a message, those inside tool results included.
pub(crate) fn count(message: &Message) -> usize {
    message.content.iter().map(|block| usize::from(has(block)) + count_nested(block)).sum()
}

fn count_nested(block: &ContentBlock) -> usize {
    match block.as_tool_result().map(|result| &result.content) {
        Some(ToolResultContent::Blocks(blocks)) => blocks.iter().filter(|inner| has(inner)).count(),
        Some(ToolResultContent::Absent | ToolResultContent::Text(_)) | None => 0,
    }
}

/// Takes markers away from the front until `keep` are left; says how many went.
pub(crate) fn keep_last(message: &mut Message, keep: usize) -> usize {
    let surplus = count(message).saturating_sub(keep);
    let mut left = surplus;
    let mut strip = |block: &mut ContentBlock| {
        if left > 0 && has(block) {
            clear(block);
            left -= 1;
        }
    };
    for block in &mut message.content {
        if let ContentBlock::ToolResult(result) = block
            && let ToolResultContent::Blocks(inner) = &mut result.content
        {
            inner.iter_mut().for_each(&mut strip);
        }
        strip(block);
    }
    surplus
}

fn in_fields(fields: &Map<String, Value>) -> bool {
    fields.get(FIELD).is_some_and(|value| !value.is_null())
}
