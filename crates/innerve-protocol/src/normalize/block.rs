//! Repairs that need to see one block only.

use serde_json::{Map, Value};

use super::{Draft, RepairKind, Repairs};
use crate::{
    ContentBlock, ToolResult, ToolResultContent, ToolUse, marker,
    text::is_blank,
    validate::{LONGEST_USED_NAME, is_tool_name},
};

/// What an error result says when the tool said nothing.
const UNEXPLAINED_FAILURE: &str = "the tool failed and gave no reason";
/// The name of a tool use whose name is lost.
const UNNAMED_TOOL: &str = "unknown_tool";
/// Characters that are kept of a name that is too long or has illegal characters.
const KEPT_NAME: usize = 64;

/// Repairs the blocks of one message, each for itself.
pub(super) fn clean(draft: &mut Draft, repairs: &mut Repairs) {
    let origin = draft.origin;
    let mut spilled = Vec::new();
    draft.message.content.retain_mut(|block| match block {
        ContentBlock::Text(text) if is_blank(&text.text) => {
            repairs.add(RepairKind::DroppedEmptyText, origin);
            false
        }
        ContentBlock::Thinking(_) | ContentBlock::RedactedThinking(_) => {
            if marker::has(block) {
                marker::clear(block);
                repairs.add(RepairKind::DroppedCacheMarker, origin);
            }
            true
        }
        ContentBlock::ToolUse(tool_use) => {
            clean_tool_use(tool_use, origin, repairs);
            true
        }
        ContentBlock::ToolResult(result) => {
            clean_result(result, origin, repairs, &mut spilled);
            true
        }
        ContentBlock::Text(_)
        | ContentBlock::Image(_)
        | ContentBlock::ToolReference(_)
        | ContentBlock::Unknown(_) => true,
    });
    draft.message.content.append(&mut spilled);
}

fn clean_tool_use(tool_use: &mut ToolUse, origin: usize, repairs: &mut Repairs) {
    if !tool_use.input.is_object() {
        tool_use.input = Value::Object(Map::new());
        repairs.add(RepairKind::ReplacedInput, origin);
    }
    if !is_tool_name(&tool_use.name, LONGEST_USED_NAME) {
        tool_use.name = legal_name(&tool_use.name);
        repairs.add(RepairKind::RenamedTool, origin);
    }
}

fn legal_name(name: &str) -> String {
    if name.is_empty() { UNNAMED_TOOL.to_owned() } else { plain(name, KEPT_NAME) }
}

/// At most `length` characters of `text`, those replaced that are not of `A-Z a-z 0-9 _ -`.
pub(super) fn plain(text: &str, length: usize) -> String {
    let legal = |character: char| {
        let is_legal = character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
        if is_legal { character } else { '_' }
    };
    text.chars().take(length).map(legal).collect()
}

fn clean_result(
    result: &mut ToolResult,
    origin: usize,
    repairs: &mut Repairs,
    spilled: &mut Vec<ContentBlock>,
) {
    let failed = result.failed();
    match &mut result.content {
        ToolResultContent::Absent => {}
        ToolResultContent::Text(text) => {
            if !text.is_empty() && is_blank(text) {
                result.content = ToolResultContent::Absent;
                repairs.add(RepairKind::DroppedEmptyText, origin);
            }
        }
        ToolResultContent::Blocks(blocks) => {
            if blocks.iter().any(|block| !may_be_inside(block)) {
                let mut flat = Vec::with_capacity(blocks.len());
                flatten(std::mem::take(blocks), &mut flat);
                *blocks = flat;
                repairs.add(RepairKind::FlattenedResult, origin);
            }
            blocks.retain(|block| {
                let is_blank = block.as_text().is_some_and(is_blank);
                if is_blank {
                    repairs.add(RepairKind::DroppedEmptyText, origin);
                }
                !is_blank
            });
            if failed && blocks.iter().any(|block| block.as_text().is_none()) {
                move_media(blocks, spilled);
                repairs.add(RepairKind::MovedMedia, origin);
            }
        }
    }
    if failed && is_empty(&result.content) {
        result.content = UNEXPLAINED_FAILURE.into();
        repairs.add(RepairKind::FilledErrorResult, origin);
    }
}

fn is_empty(content: &ToolResultContent) -> bool {
    match content {
        ToolResultContent::Absent => true,
        ToolResultContent::Text(text) => text.is_empty(),
        ToolResultContent::Blocks(blocks) => blocks.is_empty(),
    }
}

/// An API takes only text in an error result, but takes the rest right behind it.
fn move_media(blocks: &mut Vec<ContentBlock>, spilled: &mut Vec<ContentBlock>) {
    let (text, media): (Vec<_>, Vec<_>) =
        std::mem::take(blocks).into_iter().partition(|block| block.as_text().is_some());
    *blocks = text;
    let outside = |block: &ContentBlock| !matches!(block, ContentBlock::ToolReference(_));
    spilled.extend(media.into_iter().filter(outside));
}

fn may_be_inside(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Text(_)
        | ContentBlock::Image(_)
        | ContentBlock::ToolReference(_)
        | ContentBlock::Unknown(_) => true,
        ContentBlock::Thinking(_)
        | ContentBlock::RedactedThinking(_)
        | ContentBlock::ToolUse(_)
        | ContentBlock::ToolResult(_) => false,
    }
}

/// Puts what nested results hold in their place and drops what no result may hold.
fn flatten(blocks: Vec<ContentBlock>, flat: &mut Vec<ContentBlock>) {
    // A stack of its own: a transcript may be nested deeper than the thread's stack is high.
    let mut stack = vec![blocks.into_iter()];
    while let Some(blocks) = stack.last_mut() {
        match blocks.next() {
            None => drop(stack.pop()),
            Some(ContentBlock::ToolResult(inner)) => match inner.content {
                ToolResultContent::Absent => {}
                ToolResultContent::Text(text) => flat.push(ContentBlock::text(text)),
                ToolResultContent::Blocks(blocks) => stack.push(blocks.into_iter()),
            },
            Some(block) if may_be_inside(&block) => flat.push(block),
            Some(_) => {}
        }
    }
}
