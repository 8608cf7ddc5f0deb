//! Builds the request of a turn: the same bytes as before, and what is new after them.

use innerve_protocol::{
    CacheControl, Capabilities, ContentBlock, Request, Role, SharedMessage, SystemBlock,
    ToolDefinition,
};

use crate::AgentConfig;
use crate::deferral::strip_references;
use crate::offer::Offer;

/// The request for the next response.
pub(crate) fn build(
    model: String,
    config: &AgentConfig,
    capabilities: &Capabilities,
    offer: &Offer,
    mut messages: Vec<SharedMessage>,
    max_tokens: u32,
) -> Request {
    strip_references(&mut messages, offer.pool());
    let mut request = Request {
        system: config.system.iter().map(SystemBlock::new).collect(),
        tools: offer.definitions(),
        ..Request::new(model, max_tokens.min(capabilities.max_output_tokens), messages)
    };
    if capabilities.cache_control {
        mark(&mut request, offer.pool().builtin_count());
    }
    request
}

/// Marks what the provider should cache: the built-in tools, the instructions, and the conversation as it was sent last
/// and as it is now; four markers are all that an API takes. MCP tools come after the first one, so that one of them
/// coming or going leaves the built-in part cached.
fn mark(request: &mut Request, builtin_count: usize) {
    let last_builtin: Option<&mut ToolDefinition> =
        request.tools.iter_mut().take(builtin_count).filter(|tool| !tool.defer_loading).last();
    if let Some(tool) = last_builtin {
        tool.cache_control = Some(CacheControl::ephemeral());
    }
    if let Some(block) = request.system.last_mut() {
        block.cache_control = Some(CacheControl::ephemeral());
    }
    // Where the last request ended a cache entry was written; however much was added since, it is found there.
    let user = request.messages.iter_mut().rev().filter(|message| message.role == Role::User);
    for message in user.take(2) {
        if let Some(block) = message.make_mut().content.last_mut() {
            mark_block(block);
        }
    }
}

fn mark_block(block: &mut ContentBlock) {
    let marker = Some(CacheControl::ephemeral());
    match block {
        ContentBlock::Text(block) => block.cache_control = marker,
        ContentBlock::Image(block) => block.cache_control = marker,
        ContentBlock::ToolResult(result) => result.cache_control = marker,
        ContentBlock::Thinking(_)
        | ContentBlock::RedactedThinking(_)
        | ContentBlock::ToolUse(_)
        | ContentBlock::ToolReference(_)
        | ContentBlock::Unknown(_) => {}
    }
}
