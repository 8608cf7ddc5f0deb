//! Builds the request of a turn: the same bytes as before, and what is new after them.

use innerve_protocol::{
    CacheControl, Capabilities, ContentBlock, Message, Request, Role, SystemBlock, ToolDefinition,
};
use innerve_tool::ToolPool;
use serde_json::Map;

use crate::AgentConfig;

/// The request for the next response.
pub(crate) fn build(
    config: &AgentConfig,
    capabilities: &Capabilities,
    pool: &ToolPool,
    messages: Vec<Message>,
    max_tokens: u32,
) -> Request {
    let mut request = Request {
        model: config.model.clone(),
        max_tokens: max_tokens.min(capabilities.max_output_tokens),
        system: config.system.iter().map(SystemBlock::new).collect(),
        tools: pool.definitions(),
        tool_choice: None,
        thinking: None,
        stop_sequences: Vec::new(),
        messages,
        extra: Map::new(),
    };
    if capabilities.cache_control {
        mark(&mut request, pool.builtin_count());
    }
    request
}

/// Marks what the provider should cache: the built-in tools, the instructions, and the conversation so far. MCP tools
/// come after the first marker, so that one of them coming or going leaves the built-in part cached.
fn mark(request: &mut Request, builtin_count: usize) {
    let last_builtin: Option<&mut ToolDefinition> =
        request.tools.iter_mut().take(builtin_count).filter(|tool| !tool.defer_loading).last();
    if let Some(tool) = last_builtin {
        tool.cache_control = Some(CacheControl::ephemeral());
    }
    if let Some(block) = request.system.last_mut() {
        block.cache_control = Some(CacheControl::ephemeral());
    }
    let last_user = request.messages.iter_mut().rev().find(|message| message.role == Role::User);
    match last_user.and_then(|message| message.content.last_mut()) {
        Some(ContentBlock::Text(block)) => block.cache_control = Some(CacheControl::ephemeral()),
        Some(ContentBlock::Image(block)) => block.cache_control = Some(CacheControl::ephemeral()),
        Some(ContentBlock::ToolResult(result)) => {
            result.cache_control = Some(CacheControl::ephemeral());
        }
        Some(
            ContentBlock::Thinking(_)
            | ContentBlock::RedactedThinking(_)
            | ContentBlock::ToolUse(_)
            | ContentBlock::ToolReference(_)
            | ContentBlock::Opaque(_),
        )
        | None => {}
    }
}
