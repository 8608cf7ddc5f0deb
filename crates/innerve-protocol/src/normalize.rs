//! Repairs a transcript so that an API takes it.

mod block;
mod pairing;
mod placement;
mod repair;
mod request;

pub use pairing::LOST_RESULT;
pub use repair::{Repair, RepairKind};
pub use request::normalize_request;

use repair::Repairs;

use crate::{ContentBlock, Message, Role, marker, text::trim_end, validate::is_thinking};

/// A message on its way through the repairs, with its place in the transcript as it came.
#[derive(Debug)]
struct Draft {
    origin: usize,
    message: Message,
}

/// Repairs `messages` in place and says what was done; the result always passes [`crate::validate`].
///
/// Nothing is random and nothing depends on later messages but the treatment of the last one, so a transcript that only
/// grows keeps its repaired beginning byte for byte. A second pass finds nothing to do. What can be kept is kept: blocks
/// in a message of the wrong role move into one of the right role, lost results are replaced by [`LOST_RESULT`],
/// results go first and in the order of their tool uses, and instructions of the `system` role become reminders of the
/// user's. What no API takes, such as a result without a tool use, is dropped.
pub fn normalize(messages: &mut Vec<Message>) -> Vec<Repair> {
    let mut repairs = Repairs::default();
    let mut drafts = repair_transcript(std::mem::take(messages), &mut repairs);
    keep_last_markers(&mut drafts, marker::MAX_MARKERS, &mut repairs);
    messages.extend(drafts.into_iter().map(|draft| draft.message));
    repairs.into_list()
}

/// All repairs but the limit of markers, for which the rest of the request counts too.
fn repair_transcript(messages: Vec<Message>, repairs: &mut Repairs) -> Vec<Draft> {
    let mut drafts = placement::place(messages, repairs);
    for draft in &mut drafts {
        block::clean(draft, repairs);
    }
    drafts = merge(drop_empty(drafts, repairs), repairs);
    drafts = pairing::pair(drafts, repairs);
    // An orphaned result may have been all that stood between two messages of the model.
    drafts = merge(drop_empty(drafts, repairs), repairs);
    drop_trailing_thinking(&mut drafts, repairs);
    drafts = merge(drop_empty(drafts, repairs), repairs);
    trim_last_text(&mut drafts, repairs);
    drafts
}

fn drop_empty(drafts: Vec<Draft>, repairs: &mut Repairs) -> Vec<Draft> {
    let keep = |draft: &Draft| {
        let is_empty = draft.message.content.is_empty();
        if is_empty {
            repairs.add(RepairKind::DroppedEmptyMessage, draft.origin);
        }
        !is_empty
    };
    drafts.into_iter().filter(keep).collect()
}

fn merge(drafts: Vec<Draft>, repairs: &mut Repairs) -> Vec<Draft> {
    let mut merged: Vec<Draft> = Vec::with_capacity(drafts.len());
    for draft in drafts {
        match merged.last_mut() {
            Some(before) if before.message.role == draft.message.role => {
                repairs.add(RepairKind::MergedRoles, draft.origin);
                before.message.content.extend(draft.message.content);
                for (key, value) in draft.message.extra {
                    before.message.extra.entry(key).or_insert(value);
                }
            }
            Some(_) | None => merged.push(draft),
        }
    }
    merged
}

/// Thinking that nothing follows is kept only in the last message, which may be a turn that goes on.
fn drop_trailing_thinking(drafts: &mut [Draft], repairs: &mut Repairs) {
    let Some((_, settled)) = drafts.split_last_mut() else { return };
    for draft in settled.iter_mut().filter(|draft| draft.message.role == Role::Assistant) {
        while draft.message.content.last().is_some_and(is_thinking) {
            draft.message.content.pop();
            repairs.add(RepairKind::DroppedThinking, draft.origin);
        }
    }
}

fn trim_last_text(drafts: &mut [Draft], repairs: &mut Repairs) {
    if let Some(draft) = drafts.last_mut()
        && draft.message.role == Role::Assistant
        && let Some(ContentBlock::Text(block)) = draft.message.content.last_mut()
    {
        let kept = trim_end(&block.text).len();
        if kept < block.text.len() {
            block.text.truncate(kept);
            repairs.add(RepairKind::TrimmedWhitespace, draft.origin);
        }
    }
}

/// Keeps the last `left` markers: the longest prefixes are worth most.
fn keep_last_markers(drafts: &mut [Draft], mut left: usize, repairs: &mut Repairs) {
    for draft in drafts.iter_mut().rev() {
        let dropped = marker::keep_last(&mut draft.message, left);
        for _ in 0..dropped {
            repairs.add(RepairKind::DroppedCacheMarker, draft.origin);
        }
        left = left.saturating_sub(marker::count(&draft.message));
    }
}
