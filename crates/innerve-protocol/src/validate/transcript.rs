//! The rules of a transcript: pairing, placement, empty text, markers.

use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};

use super::rule::{Violation, ViolationRule as Rule};
use crate::{
    ContentBlock, Message, Role, ToolResult, ToolResultContent, ToolUse, marker,
    text::{is_blank, trim_end},
};

/// Lists the rules that the transcript breaks; none means that an API takes it.
///
/// Adjacent messages of one role count as one, as they do for the API (Anthropic Messages API, "create a message").
/// A transcript may be empty and may end with either role; what a given model takes is for
/// [`validate_request`](crate::validate_request) to say.
#[must_use]
pub fn validate<M: Borrow<Message>>(messages: &[M]) -> Vec<Violation> {
    let messages: &[&Message] = &messages.iter().map(Borrow::borrow).collect::<Vec<_>>();
    let mut found = Findings::default();
    for (index, message) in messages.iter().enumerate() {
        check_message(&mut found, index, message, index + 1 == messages.len());
    }
    check_pairing(&mut found, messages);
    let markers: usize = messages.iter().map(|message| marker::count(message)).sum();
    if markers > marker::MAX_MARKERS {
        found.add(
            Rule::TooManyCacheMarkers,
            messages.iter().rposition(|message| marker::count(message) > 0),
            format!(
                "a maximum of {} blocks with cache_control may be provided, found {markers}",
                marker::MAX_MARKERS
            ),
        );
    }
    found.0
}

/// Whether a name is fit for a tool use of a transcript.
pub(crate) fn is_tool_name(name: &str, longest: usize) -> bool {
    (1..=longest).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// Characters that the name of a tool use may have (Anthropic Messages API, error text).
pub(crate) const LONGEST_USED_NAME: usize = 200;

#[derive(Default)]
struct Findings(Vec<Violation>);

impl Findings {
    fn add(&mut self, rule: Rule, message: Option<usize>, text: String) {
        self.0.push(Violation { rule, message, text });
    }

    fn at(&mut self, rule: Rule, place: Place<'_>, what: &str) {
        self.add(rule, Some(place.message), format!("{place}: {what}"));
    }
}

/// Where a block is: `messages.1.content.0`, or deeper in a tool result.
#[derive(Clone, Copy)]
struct Place<'a> {
    message: usize,
    block: usize,
    inside: Option<&'a Self>,
}

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.inside {
            None => write!(formatter, "messages.{}.content.{}", self.message, self.block),
            Some(outer) => write!(formatter, "{outer}.tool_result.content.{}", self.block),
        }
    }
}

fn check_message(found: &mut Findings, index: usize, message: &Message, is_last: bool) {
    if message.role == Role::System {
        found.add(
            Rule::SystemRole,
            Some(index),
            format!("messages.{index}.role: unexpected role `system`; instructions go into the top-level `system`"),
        );
    }
    if message.content.is_empty() && !(is_last && message.role == Role::Assistant) {
        found.add(
            Rule::EmptyMessage,
            Some(index),
            format!(
                "messages.{index}: all messages must have non-empty content except for the optional final assistant message"
            ),
        );
    }
    for (block_index, block) in message.content.iter().enumerate() {
        let place = Place { message: index, block: block_index, inside: None };
        check_block(found, place, block, message.role);
    }
    if is_last
        && message.role == Role::Assistant
        && let Some(text) = message.content.last().and_then(ContentBlock::as_text)
        && trim_end(text).len() != text.len()
        && !is_blank(text)
    {
        found.add(
            Rule::TrailingWhitespace,
            Some(index),
            "messages: final assistant content cannot end with trailing whitespace".to_owned(),
        );
    }
}

fn check_block(found: &mut Findings, place: Place<'_>, block: &ContentBlock, role: Role) {
    let misplaced = match block {
        ContentBlock::Text(text) => {
            check_text(found, place, &text.text);
            if text.cache_control.is_some() && is_blank(&text.text) {
                let what = "cache_control cannot be set for empty text blocks";
                found.at(Rule::MarkerNotAllowed, place, what);
            }
            false
        }
        ContentBlock::Image(_) => role == Role::Assistant,
        ContentBlock::Thinking(_) | ContentBlock::RedactedThinking(_) => {
            if marker::has(block) {
                let what = "cache_control cannot be set for thinking blocks";
                found.at(Rule::MarkerNotAllowed, place, what);
            }
            role != Role::Assistant
        }
        ContentBlock::ToolUse(tool_use) => {
            check_tool_use(found, place, tool_use);
            role != Role::Assistant
        }
        ContentBlock::ToolResult(result) => {
            check_result(found, place, result);
            role == Role::Assistant
        }
        ContentBlock::ToolReference(_) => true,
        ContentBlock::Unknown(_) => false,
    };
    if misplaced {
        misplaced_block(found, place, block, role);
    }
}

fn check_text(found: &mut Findings, place: Place<'_>, text: &str) {
    if text.is_empty() {
        found.at(Rule::EmptyText, place, "text content blocks must be non-empty");
    } else if is_blank(text) {
        let what = "text content blocks must contain non-whitespace text";
        found.at(Rule::BlankText, place, what);
    }
}

fn check_tool_use(found: &mut Findings, place: Place<'_>, tool_use: &ToolUse) {
    if !tool_use.id.is_plain() {
        let what = format!(
            "tool_use.id: string should match pattern '^[a-zA-Z0-9_-]+$', found `{}`",
            tool_use.id
        );
        found.at(Rule::IllegalToolUseId, place, &what);
    }
    if !is_tool_name(&tool_use.name, LONGEST_USED_NAME) {
        let what = format!(
            "tool_use.name: string should match pattern '^[a-zA-Z0-9_-]{{1,{LONGEST_USED_NAME}}}$'"
        );
        found.at(Rule::IllegalToolName, place, &what);
    }
    if !tool_use.input.is_object() {
        let what = "tool_use.input: input should be a valid dictionary";
        found.at(Rule::InputNotObject, place, what);
    }
}

fn check_result(found: &mut Findings, place: Place<'_>, result: &ToolResult) {
    let blocks = match &result.content {
        ToolResultContent::Absent => &[],
        ToolResultContent::Text(text) => {
            if !text.is_empty() && is_blank(text) {
                let what = "text content must contain non-whitespace text";
                found.at(Rule::BlankText, place, what);
            }
            &[]
        }
        ToolResultContent::Blocks(blocks) => blocks.as_slice(),
    };
    for (index, block) in blocks.iter().enumerate() {
        let place = Place { message: place.message, block: index, inside: Some(&place) };
        match block {
            ContentBlock::Text(text) => check_text(found, place, &text.text),
            ContentBlock::Image(_) | ContentBlock::ToolReference(_) | ContentBlock::Unknown(_) => {}
            ContentBlock::Thinking(_)
            | ContentBlock::RedactedThinking(_)
            | ContentBlock::ToolUse(_)
            | ContentBlock::ToolResult(_) => {
                let what = format!("`{}` blocks are not permitted in tool results", block.kind());
                found.at(Rule::MisplacedBlock, place, &what);
            }
        }
    }
    if result.failed() {
        let has_text = match &result.content {
            ToolResultContent::Absent => false,
            ToolResultContent::Text(text) => !is_blank(text),
            ToolResultContent::Blocks(blocks) => !blocks.is_empty(),
        };
        if !has_text {
            let what = "tool_result: content cannot be empty if `is_error` is true";
            found.at(Rule::EmptyErrorResult, place, what);
        }
        if result.content.has_media() {
            let what = "tool_result: all content must be type \"text\" if `is_error` is true";
            found.at(Rule::MediaInErrorResult, place, what);
        }
    }
}

fn misplaced_block(found: &mut Findings, place: Place<'_>, block: &ContentBlock, role: Role) {
    let who = match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::System => "system",
    };
    let what = format!("`{}` blocks are not permitted in {who} messages", block.kind());
    found.at(Rule::MisplacedBlock, place, &what);
}

/// Adjacent messages of one role, seen as one.
struct Turn<'a> {
    is_assistant: bool,
    first: usize,
    blocks: Vec<(usize, &'a ContentBlock)>,
}

fn turns<'a>(messages: &[&'a Message]) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let is_assistant = message.role == Role::Assistant;
        let blocks = message.content.iter().map(|block| (index, block));
        match turns.last_mut() {
            Some(turn) if turn.is_assistant == is_assistant => turn.blocks.extend(blocks),
            Some(_) | None => {
                turns.push(Turn { is_assistant, first: index, blocks: blocks.collect() });
            }
        }
    }
    turns
}

fn check_pairing(found: &mut Findings, messages: &[&Message]) {
    let turns = turns(messages);
    let mut ids = HashSet::new();
    let mut calls: Vec<&ToolUse> = Vec::new();
    for (index, turn) in turns.iter().enumerate() {
        if !turn.is_assistant {
            check_results(found, turn, &calls);
            calls.clear();
            continue;
        }
        calls = turn.blocks.iter().filter_map(|(_, block)| block.as_tool_use()).collect();
        for (message, block) in &turn.blocks {
            if let Some(tool_use) = block.as_tool_use()
                && !ids.insert(&tool_use.id)
            {
                let text = format!(
                    "messages.{message}: `tool_use` ids must be unique, found `{}` again",
                    tool_use.id
                );
                found.add(Rule::DuplicateToolUseId, Some(*message), text);
            }
        }
        let is_last = index + 1 == turns.len();
        if is_last {
            report_unanswered(found, turn.first, calls.iter().map(|tool_use| tool_use.id.as_str()));
        } else if turn.blocks.last().is_some_and(|(_, block)| is_thinking(block)) {
            let text = format!(
                "messages.{}: the final block in an assistant message cannot be `thinking`",
                turn.first
            );
            found.add(Rule::ThinkingLast, Some(turn.first), text);
        }
    }
}

/// Checks a user's turn against the tool uses of the turn before.
fn check_results(found: &mut Findings, turn: &Turn<'_>, calls: &[&ToolUse]) {
    let mut results: HashMap<&str, usize> = HashMap::new();
    let mut others_seen = false;
    let called: HashSet<&str> = calls.iter().map(|tool_use| tool_use.id.as_str()).collect();
    for (message, block) in &turn.blocks {
        let Some(result) = block.as_tool_result() else {
            others_seen = true;
            continue;
        };
        let id = result.tool_use_id.as_str();
        if !called.contains(id) {
            let text = format!(
                "messages.{message}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` \
                 block must have a corresponding `tool_use` block in the previous message"
            );
            found.add(Rule::OrphanToolResult, Some(*message), text);
            continue;
        }
        let count = results.entry(id).or_default();
        *count += 1;
        if *count == 2 {
            let text = format!(
                "messages.{message}: each tool_use must have a single result, found multiple `tool_result` blocks with id: {id}"
            );
            found.add(Rule::DuplicateToolResult, Some(*message), text);
        }
        if others_seen {
            let text = format!(
                "messages.{message}: `tool_result` blocks must come first in their message, found other content before: {id}"
            );
            found.add(Rule::ResultNotFirst, Some(*message), text);
        }
    }
    let unanswered =
        calls.iter().map(|tool_use| tool_use.id.as_str()).filter(|id| !results.contains_key(id));
    // The API names the message with the calls; it is the one before this turn.
    report_unanswered(found, turn.first.saturating_sub(1), unanswered);
}

fn report_unanswered<'a>(found: &mut Findings, message: usize, ids: impl Iterator<Item = &'a str>) {
    let ids: Vec<&str> = ids.collect();
    if ids.is_empty() {
        return;
    }
    let text = format!(
        "messages.{message}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` \
         block must have a corresponding `tool_result` block in the next message",
        ids.join(", ")
    );
    found.add(Rule::UnansweredToolUse, Some(message), text);
}

pub(crate) fn is_thinking(block: &ContentBlock) -> bool {
    matches!(block, ContentBlock::Thinking(_) | ContentBlock::RedactedThinking(_))
}
