//! Bounds what the results of one message come to together, by decisions that are never changed.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use innerve_protocol::{ContentBlock, Message, Role, ToolResult, ToolUseId};
use serde::{Deserialize, Serialize};

use crate::fit::persist;
use crate::preview::is_wrapped;
use crate::{Limit, ResultStore};

/// Which results of a conversation were replaced, and which were sent in full; decisions are final.
///
/// A result that was sent once keeps its bytes for good: changing it later would cost the cached prefix of the whole
/// conversation. A clone decides alike for what both know, and on its own from then on (for forks and sub-agents).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplacementState {
    seen: BTreeSet<ToolUseId>,
    replacements: BTreeMap<ToolUseId, String>,
}

/// One decision, as it is written into a session's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename = "content_replacement")]
pub struct ReplacementRecord {
    /// The tool use whose result was replaced.
    pub tool_use_id: ToolUseId,
    /// What took its place, byte for byte.
    pub replacement: String,
}

/// A result that may still be replaced.
struct Fresh {
    message: usize,
    block: usize,
    chars: usize,
}

impl ReplacementState {
    /// Characters that the replaceable results of one message may come to together.
    pub const CHARS_PER_MESSAGE: usize = 200_000;

    /// Nothing decided yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the decisions of a session up again: `records` in the order they were written, `messages` as they were sent.
    pub fn resume(
        messages: &[Message],
        records: impl IntoIterator<Item = ReplacementRecord>,
    ) -> Self {
        let mut state = Self::new();
        for record in records {
            state.seen.insert(record.tool_use_id.clone());
            // The first decision is the one that was sent.
            state.replacements.entry(record.tool_use_id).or_insert(record.replacement);
        }
        state.seen.extend(results(messages).map(|result| result.tool_use_id.clone()));
        state
    }

    /// Brings the messages within the budget, in place, before they are sent; returns the new decisions.
    ///
    /// The results of adjacent user messages count together, as they are sent together. While they come to more than
    /// [`Self::CHARS_PER_MESSAGE`], the largest that was never sent (the earliest of equals) is saved and replaced. Left
    /// alone and not counted are errors, results with media, wrappers, and results of tools that `bounds_itself` names.
    /// A result that cannot be saved stays as it is: its own limit bounds it. Ids must be unique, as
    /// [`normalize`](innerve_protocol::normalize) makes them; of equal ones, only the first is looked at.
    ///
    /// What was decided before is done again without the store, byte for byte.
    pub fn apply(
        &mut self,
        messages: &mut [Message],
        bounds_itself: impl Fn(&str) -> bool,
        store: Option<&dyn ResultStore>,
    ) -> Vec<ReplacementRecord> {
        let mut records = Vec::new();
        let mut met = HashSet::new();
        let exempt = exempt_ids(messages, bounds_itself);
        for group in groups(messages) {
            let (mut total, fresh) = self.survey(messages, group.clone(), &exempt, &mut met);
            for Fresh { message, block, chars } in fresh {
                if total <= Self::CHARS_PER_MESSAGE {
                    break;
                }
                let Some(result) = result_at(messages, message, block) else { continue };
                let text = result.content.plain_text();
                // The limit of one result is no matter here; the wrapper's own is.
                let wrapper = persist(store, &result.tool_use_id, &text, Limit::CAP);
                let replacement = match wrapper {
                    Ok(Some((replacement, _))) => replacement,
                    // A wrapper would be no shorter.
                    Ok(None) => continue,
                    // What cannot be saved now cannot be saved in a moment either.
                    Err(_) => break,
                };
                total = total.saturating_sub(chars) + replacement.chars().count();
                let tool_use_id = result.tool_use_id.clone();
                result.content = replacement.as_str().into();
                self.replacements.insert(tool_use_id.clone(), replacement.clone());
                records.push(ReplacementRecord { tool_use_id, replacement });
            }
            for message in messages.get(group).unwrap_or_default() {
                let ids = message.content.iter().filter_map(ContentBlock::as_tool_result);
                let new =
                    ids.map(|result| &result.tool_use_id).filter(|id| !self.seen.contains(*id));
                let new: Vec<ToolUseId> = new.cloned().collect();
                self.seen.extend(new);
            }
        }
        records
    }

    /// Forgets the results that left the conversation, after a compaction.
    pub fn retain(&mut self, messages: &[Message]) {
        let left: HashSet<&ToolUseId> =
            results(messages).map(|result| &result.tool_use_id).collect();
        self.seen.retain(|id| left.contains(id));
        self.replacements.retain(|id, _| left.contains(id));
    }

    /// All decisions to replace, by id.
    pub fn records(&self) -> impl Iterator<Item = ReplacementRecord> {
        self.replacements.iter().map(|(id, replacement)| ReplacementRecord {
            tool_use_id: id.clone(),
            replacement: replacement.clone(),
        })
    }

    /// What takes the place of this result, if it was replaced.
    pub fn replacement(&self, id: &ToolUseId) -> Option<&str> {
        self.replacements.get(id).map(String::as_str)
    }

    /// Does again what was decided, and says what the group comes to and what may still be replaced, largest first.
    fn survey(
        &self,
        messages: &mut [Message],
        group: std::ops::Range<usize>,
        exempt: &HashSet<ToolUseId>,
        met: &mut HashSet<ToolUseId>,
    ) -> (usize, Vec<Fresh>) {
        let mut total = 0;
        let mut fresh = Vec::new();
        let has_fresh = messages.get(group.clone()).unwrap_or_default().iter().any(|message| {
            let mut results = message.content.iter().filter_map(ContentBlock::as_tool_result);
            results.any(|result| !self.seen.contains(&result.tool_use_id))
        });
        for (index, message) in messages.iter_mut().enumerate().skip(group.start).take(group.len())
        {
            for (place, block) in message.content.iter_mut().enumerate() {
                let ContentBlock::ToolResult(result) = block else { continue };
                if !met.insert(result.tool_use_id.clone()) {
                    continue;
                }
                if let Some(replacement) = self.replacements.get(&result.tool_use_id) {
                    if !is_text(result, replacement) {
                        result.content = replacement.as_str().into();
                    }
                    total += replacement.chars().count();
                    continue;
                }
                // What was settled long ago need not be measured again with every request.
                if !has_fresh || exempt.contains(&result.tool_use_id) || !is_replaceable(result) {
                    continue;
                }
                let chars = result.content.plain_text().chars().count();
                total += chars;
                if !self.seen.contains(&result.tool_use_id) {
                    fresh.push(Fresh { message: index, block: place, chars });
                }
            }
        }
        // A stable sort: of equals, the earliest stays first.
        fresh.sort_by_key(|fresh| std::cmp::Reverse(fresh.chars));
        (total, fresh)
    }
}

/// Runs of messages that are sent as one: those between two of the model's.
fn groups(messages: &[Message]) -> Vec<std::ops::Range<usize>> {
    let mut groups: Vec<std::ops::Range<usize>> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        if message.role == Role::Assistant {
            continue;
        }
        match groups.last_mut() {
            Some(group) if group.end == index => group.end += 1,
            Some(_) | None => groups.push(index..index + 1),
        }
    }
    groups
}

fn exempt_ids(messages: &[Message], bounds_itself: impl Fn(&str) -> bool) -> HashSet<ToolUseId> {
    let mut known: HashMap<&str, bool> = HashMap::new();
    let uses = messages.iter().flat_map(Message::tool_uses);
    uses.filter(|tool_use| {
        let name = tool_use.name.as_str();
        *known.entry(name).or_insert_with(|| bounds_itself(name))
    })
    .map(|tool_use| tool_use.id.clone())
    .collect()
}

fn results(messages: &[Message]) -> impl Iterator<Item = &ToolResult> {
    messages.iter().flat_map(|message| &message.content).filter_map(ContentBlock::as_tool_result)
}

fn result_at(messages: &mut [Message], message: usize, block: usize) -> Option<&mut ToolResult> {
    match messages.get_mut(message)?.content.get_mut(block)? {
        ContentBlock::ToolResult(result) => Some(result),
        ContentBlock::Text(_)
        | ContentBlock::Image(_)
        | ContentBlock::Thinking(_)
        | ContentBlock::RedactedThinking(_)
        | ContentBlock::ToolUse(_)
        | ContentBlock::ToolReference(_)
        | ContentBlock::Unknown(_) => None,
    }
}

fn is_replaceable(result: &ToolResult) -> bool {
    !result.failed() && !result.content.has_media() && !is_wrapped(&result.content.plain_text())
}

fn is_text(result: &ToolResult, text: &str) -> bool {
    use innerve_protocol::ToolResultContent as Content;
    match &result.content {
        Content::Text(own) => own == text,
        Content::Absent | Content::Blocks(_) => false,
    }
}
