//! Results as an MCP client takes them.

use innerve_pipeline::Settled;
use innerve_protocol::{ContentBlock, ImageSource, Message, ToolResultContent};
use rmcp::model::ContentBlock as Block;

/// The result of a call, and what hooks had to say about it.
pub(super) fn blocks(settled: &Settled) -> Vec<Block> {
    let mut blocks = match &settled.result.content {
        ToolResultContent::Absent => Vec::new(),
        ToolResultContent::Text(text) => vec![Block::text(text.clone())],
        ToolResultContent::Blocks(blocks) => blocks.iter().map(block).collect(),
    };
    let said = settled.messages.iter().map(Message::plain_text);
    blocks.extend(said.filter(|text| !text.trim().is_empty()).map(Block::text));
    blocks
}

fn block(block: &ContentBlock) -> Block {
    match block {
        ContentBlock::Text(text) => Block::text(text.text.clone()),
        ContentBlock::Image(image) => match &image.source {
            ImageSource::Base64 { media_type, data } => {
                Block::image(data.clone(), media_type.clone())
            }
            ImageSource::Url { url } => Block::text(format!("[image at {url}]")),
            ImageSource::File { file_id } => Block::text(format!("[image {file_id}]")),
        },
        ContentBlock::Thinking(_)
        | ContentBlock::RedactedThinking(_)
        | ContentBlock::ToolUse(_)
        | ContentBlock::ToolResult(_)
        | ContentBlock::ToolReference(_)
        | ContentBlock::Unknown(_) => Block::text(format!("[a block of type {}]", block.kind())),
    }
}
