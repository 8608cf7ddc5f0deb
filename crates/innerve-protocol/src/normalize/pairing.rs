//! Gives every tool use exactly one result, right behind it, and every id exactly one tool use.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use super::{Draft, RepairKind, Repairs, block::plain};
use crate::{ContentBlock, Message, Role, ToolResult, ToolUseId};

/// The text of the error result for a tool use whose result was never recorded.
pub const LOST_RESULT: &str = "no result was recorded for this tool use: the session ended before it was answered, and the tool may have run in part";

/// The id that an empty one is replaced by, before it is made unique.
const UNNAMED: &str = "toolu";

/// The tool uses of one message that wait for results.
#[derive(Default)]
struct Open {
    origin: usize,
    /// In order; the new ids.
    ids: Vec<ToolUseId>,
    /// From an id as it came to the places in `ids` that wait for its result.
    by_old_id: HashMap<ToolUseId, VecDeque<usize>>,
}

/// Pairs tool uses and results; expects messages that alternate.
pub(super) fn pair(drafts: Vec<Draft>, repairs: &mut Repairs) -> Vec<Draft> {
    let mut paired: Vec<Draft> = Vec::with_capacity(drafts.len() + 1);
    let mut names = Names::default();
    let mut open = Open::default();
    for mut draft in drafts {
        match draft.message.role {
            Role::Assistant => {
                answer_all(&mut open, &mut paired, repairs);
                open = name_uses(&mut draft, &mut names, repairs);
            }
            Role::User | Role::System => {
                settle(std::mem::take(&mut open), &mut draft, repairs);
            }
        }
        paired.push(draft);
    }
    answer_all(&mut open, &mut paired, repairs);
    paired
}

/// Answers what is open when no user message follows.
fn answer_all(open: &mut Open, paired: &mut Vec<Draft>, repairs: &mut Repairs) {
    if open.ids.is_empty() {
        return;
    }
    let open = std::mem::take(open);
    let message = Message::new(Role::User, Vec::new());
    let mut draft = Draft { origin: open.origin, message };
    settle(open, &mut draft, repairs);
    paired.push(draft);
}

fn name_uses(draft: &mut Draft, names: &mut Names, repairs: &mut Repairs) -> Open {
    let mut open = Open { origin: draft.origin, ..Open::default() };
    for block in &mut draft.message.content {
        let ContentBlock::ToolUse(tool_use) = block else { continue };
        let id = names.claim(&tool_use.id);
        if id != tool_use.id {
            repairs.add(RepairKind::RenamedToolUse, draft.origin);
        }
        let old = std::mem::replace(&mut tool_use.id, id.clone());
        open.by_old_id.entry(old).or_default().push_back(open.ids.len());
        open.ids.push(id);
    }
    open
}

/// Rebuilds a user message: one result per open tool use, in order, then everything else.
fn settle(mut open: Open, draft: &mut Draft, repairs: &mut Repairs) {
    let has_results = draft.message.content.iter().any(|block| block.as_tool_result().is_some());
    if open.ids.is_empty() && !has_results {
        return;
    }
    let mut results: BTreeMap<usize, ToolResult> = BTreeMap::new();
    let mut others = Vec::new();
    let mut moved = false;
    for block in std::mem::take(&mut draft.message.content) {
        let ContentBlock::ToolResult(mut result) = block else {
            others.push(block);
            continue;
        };
        match open.by_old_id.get_mut(&result.tool_use_id).map(VecDeque::pop_front) {
            None => repairs.add(RepairKind::DroppedOrphanResult, draft.origin),
            Some(None) => repairs.add(RepairKind::DroppedDuplicateResult, draft.origin),
            Some(Some(place)) => {
                let is_behind = results.last_key_value().is_none_or(|(last, _)| *last < place);
                moved |= !others.is_empty() || !is_behind;
                if let Some(id) = open.ids.get(place) {
                    result.tool_use_id = id.clone();
                }
                results.insert(place, result);
            }
        }
    }
    if moved {
        repairs.add(RepairKind::MovedResults, draft.origin);
    }
    for (place, id) in open.ids.into_iter().enumerate() {
        let result = results.remove(&place).unwrap_or_else(|| {
            repairs.add(RepairKind::AnsweredToolUse, open.origin);
            ToolResult::error(id, LOST_RESULT)
        });
        draft.message.content.push(ContentBlock::ToolResult(result));
    }
    draft.message.content.append(&mut others);
}

/// The ids given so far. Later ids do not matter, so that the beginning of a transcript never changes as it grows.
#[derive(Default)]
struct Names {
    taken: HashSet<ToolUseId>,
    /// The last number tried per id, so that a thousand equal ids do not cost a million tries.
    numbers: HashMap<String, usize>,
}

impl Names {
    fn claim(&mut self, wanted: &ToolUseId) -> ToolUseId {
        if wanted.is_plain() && self.taken.insert(wanted.clone()) {
            return wanted.clone();
        }
        let stem = match wanted.as_str() {
            "" => UNNAMED.to_owned(),
            text => plain(text, usize::MAX),
        };
        let number = self.numbers.entry(stem.clone()).or_default();
        loop {
            let text = if *number == 0 { stem.clone() } else { format!("{stem}_{}", *number + 1) };
            *number += 1;
            let id = ToolUseId::new(text);
            if self.taken.insert(id.clone()) {
                return id;
            }
        }
    }
}
