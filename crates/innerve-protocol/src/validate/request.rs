//! The rules of a whole request for a given model: tools, thinking, markers, images.

use std::collections::HashSet;

use serde_json::Value;

use super::rule::{Violation, ViolationRule as Rule};
use super::transcript::{is_thinking, is_tool_name};
use crate::{
    Capabilities, ContentBlock, Message, Request, Role, Thinking, ToolChoice, ToolResultContent,
    UnknownBlock, marker, text::is_blank,
};

/// Characters that the name of a defined tool may have.
const LONGEST_TOOL_NAME: usize = 64;
/// Tokens that thinking must be given at least.
const LEAST_THINKING_BUDGET: u32 = 1024;

/// Lists what else is wrong with a whole request for a model of these capabilities.
///
/// The rules of the transcript itself are [`validate`](crate::validate)'s. Not decidable here, and hence not checked:
/// whether the input fits the window, and whether thinking is unchanged since it was received.
#[must_use]
pub fn validate_request(request: &Request, capabilities: &Capabilities) -> Vec<Violation> {
    let mut found = Vec::new();
    check_messages(&mut found, request, capabilities);
    check_tools(&mut found, request);
    check_references(&mut found, request);
    check_server_tools(&mut found, request);
    check_thinking(&mut found, request, capabilities);
    check_markers(&mut found, request);
    found
}

fn add(found: &mut Vec<Violation>, rule: Rule, message: Option<usize>, text: impl Into<String>) {
    found.push(Violation { rule, message, text: text.into() });
}

fn check_messages(found: &mut Vec<Violation>, request: &Request, capabilities: &Capabilities) {
    match request.messages.last() {
        None => add(found, Rule::NoMessages, None, "messages: at least one message is required"),
        Some(last)
            if last.role == Role::Assistant
                && !capabilities.assistant_prefill
                && !is_paused(last) =>
        {
            add(
                found,
                Rule::EndsWithAssistant,
                Some(request.messages.len() - 1),
                "this model does not support assistant message prefill; the conversation must end with a user message",
            );
        }
        Some(_) => {}
    }
    if request.max_tokens > capabilities.max_output_tokens {
        let text = format!(
            "max_tokens: {} > {}, which is the maximum allowed number of output tokens for `{}`",
            request.max_tokens, capabilities.max_output_tokens, request.model
        );
        add(found, Rule::MaxTokensTooLarge, None, text);
    }
    let images: usize = request.messages.iter().map(|message| count_images(message)).sum();
    if images > capabilities.max_images {
        let text = format!(
            "messages: too many images: {images} > {}, the maximum for `{}`",
            capabilities.max_images, request.model
        );
        add(found, Rule::TooManyImages, None, text);
    }
}

/// A paused turn is sent back as it is; it ends with work of the provider's own tools.
fn is_paused(message: &Message) -> bool {
    message.content.iter().any(|block| block.kind() == "server_tool_use")
}

fn count_images(message: &Message) -> usize {
    let is_image = |block: &&ContentBlock| matches!(block, ContentBlock::Image(_));
    let nested = |block: &ContentBlock| match block.as_tool_result().map(|result| &result.content) {
        Some(ToolResultContent::Blocks(blocks)) => blocks.iter().filter(is_image).count(),
        Some(ToolResultContent::Absent | ToolResultContent::Text(_)) | None => 0,
    };
    let top = message.content.iter().filter(is_image).count();
    top + message.content.iter().map(nested).sum::<usize>()
}

fn check_tools(found: &mut Vec<Violation>, request: &Request) {
    let mut names = HashSet::new();
    for (index, tool) in request.tools.iter().enumerate() {
        if !is_tool_name(&tool.name, LONGEST_TOOL_NAME) {
            let text = format!(
                "tools.{index}.name: string should match pattern '^[a-zA-Z0-9_-]{{1,{LONGEST_TOOL_NAME}}}$', found `{}`",
                tool.name
            );
            add(found, Rule::IllegalToolName, None, text);
        }
        if !names.insert(tool.name.as_str()) {
            let text = format!("tools: tool names must be unique, found `{}` again", tool.name);
            add(found, Rule::DuplicateToolName, None, text);
        }
        let is_object = tool.input_schema.get("type").and_then(Value::as_str) == Some("object");
        if !is_object && !tool.is_server_tool() {
            let text = format!("tools.{index}.input_schema.type: input should be 'object'");
            add(found, Rule::SchemaNotObject, None, text);
        }
        if tool.defer_loading && tool.cache_control.is_some() {
            let text = format!(
                "tools.{index}: `{}` cannot have both cache_control and defer_loading",
                tool.name
            );
            add(found, Rule::DeferredWithMarker, None, text);
        }
    }
    if !request.tools.is_empty() && request.tools.iter().all(|tool| tool.defer_loading) {
        let text = "at least one tool must have defer_loading=false; all tools cannot be deferred";
        add(found, Rule::AllToolsDeferred, None, text);
    }
    if let Some(ToolChoice::Tool { name, .. }) = &request.tool_choice
        && !names.contains(name.as_str())
    {
        let text = format!("tool_choice: tool `{name}` not found in `tools`");
        add(found, Rule::UnknownToolChoice, None, text);
    }
}

fn check_references(found: &mut Vec<Violation>, request: &Request) {
    let defined: HashSet<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    for (index, message) in request.messages.iter().enumerate() {
        let results = message.content.iter().filter_map(ContentBlock::as_tool_result);
        for result in results {
            let ToolResultContent::Blocks(blocks) = &result.content else { continue };
            for block in blocks {
                if let ContentBlock::ToolReference(reference) = block
                    && !defined.contains(reference.tool_name.as_str())
                {
                    let text = format!(
                        "tool reference `{}` not found in available tools",
                        reference.tool_name
                    );
                    add(found, Rule::UnknownToolReference, Some(index), text);
                }
            }
        }
    }
}

/// A call of a provider's own tool that has no result yet goes on only if nothing but results follows.
fn check_server_tools(found: &mut Vec<Violation>, request: &Request) {
    let blocks = || {
        request.messages.iter().enumerate().flat_map(|(index, message)| {
            message.content.iter().filter_map(move |block| match block {
                ContentBlock::Unknown(opaque) => Some((index, opaque)),
                ContentBlock::Text(_)
                | ContentBlock::Image(_)
                | ContentBlock::Thinking(_)
                | ContentBlock::RedactedThinking(_)
                | ContentBlock::ToolUse(_)
                | ContentBlock::ToolResult(_)
                | ContentBlock::ToolReference(_) => None,
            })
        })
    };
    let answered: HashSet<&str> =
        blocks().map(|(_, block)| text_field(block, "tool_use_id")).collect();
    for (index, call) in blocks() {
        let id = text_field(call, "id");
        if call.kind() != "server_tool_use" || answered.contains(id) {
            continue;
        }
        let later = request.messages.iter().skip(index + 1);
        let goes_on = later
            .filter(|message| message.role != Role::Assistant)
            .flat_map(|message| &message.content)
            .all(|block| block.as_tool_result().is_some());
        let name = text_field(call, "name");
        let is_defined = request.tools.iter().any(|tool| tool.name == name);
        if goes_on && is_defined {
            continue;
        }
        let reason =
            if is_defined { String::new() } else { format!(", but no `{name}` tool was provided") };
        let text = format!(
            "messages.{index}: `{name}` tool use with id `{id}` was found without a corresponding `{name}_tool_result` block{reason}"
        );
        add(found, Rule::OpenServerToolUse, Some(index), text);
    }
}

fn text_field<'a>(block: &'a UnknownBlock, name: &str) -> &'a str {
    block.fields().get(name).and_then(Value::as_str).unwrap_or_default()
}

fn check_thinking(found: &mut Vec<Violation>, request: &Request, capabilities: &Capabilities) {
    match &request.thinking {
        Some(Thinking::Enabled { budget_tokens, .. }) => {
            if !capabilities.thinking_enabled {
                let text = "\"thinking.type.enabled\" is not supported for this model; use \"thinking.type.adaptive\"";
                add(found, Rule::ThinkingNotSupported, None, text);
            }
            if *budget_tokens < LEAST_THINKING_BUDGET || *budget_tokens >= request.max_tokens {
                let text = format!(
                    "thinking.enabled.budget_tokens: {budget_tokens} should be at least {LEAST_THINKING_BUDGET} and less than \
                     `max_tokens`, {}",
                    request.max_tokens
                );
                add(found, Rule::ThinkingBudget, None, text);
            }
            if matches!(request.tool_choice, Some(ToolChoice::Any { .. } | ToolChoice::Tool { .. }))
            {
                let text = "thinking may not be enabled when tool_choice forces tool use";
                add(found, Rule::ThinkingWithForcedTool, None, text);
            }
        }
        Some(Thinking::Adaptive { .. }) if !capabilities.thinking_adaptive => {
            let text = "adaptive thinking is not supported on this model";
            add(found, Rule::ThinkingNotSupported, None, text);
        }
        Some(Thinking::Disabled) => check_disabled_thinking(found, request),
        Some(Thinking::Adaptive { .. }) | None => {}
    }
}

fn check_disabled_thinking(found: &mut Vec<Violation>, request: &Request) {
    let is_result = |block: &ContentBlock| block.as_tool_result().is_some();
    // The final position is that of the last assistant message when only results follow.
    let last = request.messages.iter().enumerate().rev().find(|(_, message)| {
        message.role == Role::Assistant || !message.content.iter().all(is_result)
    });
    if let Some((index, message)) = last
        && message.role == Role::Assistant
        && message.content.iter().any(is_thinking)
    {
        let text = format!(
            "messages.{index}: when thinking is disabled, an `assistant` message in the final position cannot contain `thinking`"
        );
        add(found, Rule::ThinkingWhileDisabled, Some(index), text);
    }
}

fn check_markers(found: &mut Vec<Violation>, request: &Request) {
    for (index, block) in request.system.iter().enumerate() {
        if !is_blank(&block.text) {
            continue;
        }
        let text = format!("system.{index}: text content blocks must contain non-whitespace text");
        add(found, Rule::BlankText, None, text);
        if block.cache_control.is_some() {
            let text = format!("system.{index}: cache_control cannot be set for empty text blocks");
            add(found, Rule::MarkerNotAllowed, None, text);
        }
    }
    let automatic =
        usize::from(request.extra.get(marker::FIELD).is_some_and(|value| !value.is_null()));
    let tools = request.tools.iter().filter(|tool| tool.cache_control.is_some()).count();
    let system = request.system.iter().filter(|block| block.cache_control.is_some()).count();
    let messages: usize = request.messages.iter().map(|message| marker::count(message)).sum();
    let all = automatic + tools + system + messages;
    if all > marker::MAX_MARKERS {
        let text = format!(
            "a maximum of {} blocks with cache_control may be provided, found {all}",
            marker::MAX_MARKERS
        );
        add(found, Rule::TooManyCacheMarkers, None, text);
    }
}
