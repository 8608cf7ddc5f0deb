//! Makes messages smaller: old results are cleared, images are taken out, the beginning is left out.

use std::collections::HashMap;

use innerve_budget::{fit_error, saved_in};
use innerve_protocol::{
    ContentBlock, Message, Role, SharedMessage, ToolResult, ToolResultContent, ToolUseId,
};

use crate::window::estimate;

/// What takes the place of a result that was cleared.
const CLEARED: &str =
    "[This old result was cleared to make room. Call the tool again if you need it.]";
/// What takes the place of an image or a document.
const TAKEN_OUT: &str =
    "[An image or document was here; it was taken out, as the model did not take it.]";
/// Tools whose results can be had again.
const REPEATABLE: &[&str] =
    &["Bash", "Edit", "Glob", "Grep", "Read", "WebFetch", "WebSearch", "Write"];

/// Clears the results of tools that can be called again, all but the last `keep`; gives the tokens that were gained.
/// The call and the block stay, as does where a large result was saved.
pub(crate) fn clear_old_results(messages: &mut [SharedMessage], keep: usize) -> u64 {
    let names: HashMap<ToolUseId, bool> = messages
        .iter()
        .flat_map(|message| message.tool_uses())
        .map(|tool_use| (tool_use.id.clone(), REPEATABLE.contains(&tool_use.name.as_str())))
        .collect();
    let is_old = |block: &ContentBlock| {
        let Some(result) = block.as_tool_result() else { return false };
        names.get(&result.tool_use_id).is_some_and(|repeatable| *repeatable)
    };
    let all: usize =
        messages.iter().flat_map(|message| &message.content).filter(|block| is_old(block)).count();
    let mut left = all.saturating_sub(keep);
    let mut gained = 0;
    for message in messages {
        if left == 0 {
            break;
        }
        let here = message.content.iter().filter(|block| is_old(block)).count();
        if here == 0 {
            continue;
        }
        let before = estimate(message);
        let cleared = here.min(left);
        left -= cleared;
        if message.content.iter().filter(|block| is_old(block)).take(cleared).all(is_small) {
            continue;
        }
        let blocks = message.make_mut().content.iter_mut().filter(|block| is_old(block));
        for block in blocks.take(cleared) {
            if let ContentBlock::ToolResult(result) = block {
                clear(result);
            }
        }
        gained += before.saturating_sub(estimate(message));
    }
    gained
}

/// Whether clearing it would gain nothing.
fn is_small(block: &ContentBlock) -> bool {
    block.as_tool_result().is_none_or(|result| {
        !result.content.has_media() && result.content.plain_text().len() <= CLEARED.len()
    })
}

fn clear(result: &mut ToolResult) {
    let text = result.content.plain_text();
    if !result.content.has_media() && text.len() <= CLEARED.len() {
        return;
    }
    result.content = match saved_in(&text) {
        Some(path) => format!("{CLEARED} All of it is in: {path}").into(),
        None => CLEARED.into(),
    };
}

/// Takes images and documents out of a message; says whether there were any.
pub(crate) fn strip_media(message: &mut Message) -> bool {
    // What a model wrote is sent back as it is.
    if message.role == Role::Assistant {
        return false;
    }
    let mut found = false;
    for block in &mut message.content {
        if let ContentBlock::ToolResult(result) = block
            && let ToolResultContent::Blocks(blocks) = &mut result.content
        {
            for block in blocks {
                found |= strip_block(block);
            }
        } else {
            found |= strip_block(block);
        }
    }
    found
}

fn strip_block(block: &mut ContentBlock) -> bool {
    let is_media = match block {
        ContentBlock::Image(_) => true,
        ContentBlock::Unknown(opaque) => opaque.kind() == "document",
        ContentBlock::Text(_)
        | ContentBlock::Thinking(_)
        | ContentBlock::RedactedThinking(_)
        | ContentBlock::ToolUse(_)
        | ContentBlock::ToolResult(_)
        | ContentBlock::ToolReference(_) => false,
    };
    if is_media {
        *block = ContentBlock::text(TAKEN_OUT);
    }
    is_media
}

/// Cuts the results of a message to their beginnings and ends.
pub(crate) fn cut_results(message: &mut Message) {
    for block in &mut message.content {
        if let ContentBlock::ToolResult(result) = block
            && !result.content.has_media()
        {
            result.content = fit_error(&result.content.plain_text()).into();
        }
    }
}

/// Makes a conversation fit for being summarized: without images, with results cleared, and if that is not enough,
/// without its beginning.
pub(crate) fn shrink(messages: &mut Vec<SharedMessage>, limit: u64) {
    for message in messages.iter_mut() {
        let mut stripped = (**message).clone();
        if strip_media(&mut stripped) {
            *message = stripped.into();
        }
    }
    clear_old_results(messages, 0);
    let mut size: u64 = messages.iter().map(|message| estimate(message)).sum();
    let mut gone = 0;
    for message in messages.iter() {
        if size <= limit {
            break;
        }
        size = size.saturating_sub(estimate(message));
        gone += 1;
    }
    // What is left begins with the user's side, and without results whose calls are gone.
    let begins = |message: &SharedMessage| {
        message.role == Role::User
            && message.content.iter().all(|block| block.as_tool_result().is_none())
    };
    let rest = messages.get(gone..).unwrap_or_default();
    match rest.iter().position(begins) {
        Some(more) => drop(messages.drain(..gone + more)),
        None if gone > 0 => messages.clear(),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use innerve_budget::{FitOutcome, Fitting, Limit, MemoryStore};
    use innerve_protocol::{ToolUse, validate};
    use serde_json::json;

    use super::*;

    /// A prompt and so many rounds of one call with a result of `size` bytes.
    fn conversation(tool: &str, rounds: usize, size: usize) -> Vec<SharedMessage> {
        let mut messages = vec![Message::user("Do it.").into()];
        for round in 0..rounds {
            let id = format!("t{round}");
            let call = ToolUse::new(id.as_str(), tool, json!({}));
            messages.push(Message::new(Role::Assistant, vec![ContentBlock::ToolUse(call)]).into());
            let result = ToolResult::ok(id.as_str().into(), "x".repeat(size));
            messages.push(Message::new(Role::User, vec![ContentBlock::ToolResult(result)]).into());
        }
        messages
    }

    fn cleared(messages: &[SharedMessage]) -> usize {
        let texts = messages.iter().flat_map(|message| &message.content);
        let texts = texts.filter_map(ContentBlock::as_tool_result);
        texts.filter(|result| result.content.plain_text().starts_with(CLEARED)).count()
    }

    #[test]
    fn all_but_the_last_results_are_cleared() {
        let mut messages = conversation("Read", 8, 4_000);
        assert_eq!(clear_old_results(&mut messages, 5), 3 * (1_001 - 21));
        assert_eq!(cleared(&messages), 3);
        assert_eq!(clear_old_results(&mut messages, 5), 0, "there is nothing more to gain");
        assert_eq!(
            clear_old_results(&mut conversation("Agent", 8, 4_000), 5),
            0,
            "no work is lost"
        );
        assert_eq!(clear_old_results(&mut conversation("Read", 8, 40), 5), 0);
    }

    #[test]
    fn a_cleared_result_still_says_where_it_was_saved() {
        // A wrapper as the pipeline makes it, so that what is written and what is read cannot drift apart.
        let (id, store) = (ToolUseId::from("a"), MemoryStore::new(1 << 20));
        let fitting = Fitting {
            tool: "Bash",
            tool_use_id: &id,
            limit: Limit::of_tool(5_000),
            spooled: None,
            store: Some(&store),
        };
        let fitted = fitting.fit("line\n".repeat(2_000).into());
        let FitOutcome::Persisted { path, .. } = fitted.outcome else { panic!("{fitted:?}") };
        let mut result = ToolResult::ok(id.clone(), fitted.content);
        clear(&mut result);
        let text = result.content.plain_text();
        assert!(text.starts_with(CLEARED), "{text}");
        assert!(text.ends_with(&path.display().to_string()), "{text}");
    }

    #[test]
    fn media_is_taken_out_of_what_the_user_and_tools_gave() {
        let image = json!({ "type": "image", "source": { "type": "url", "url": "https://x" } });
        let document =
            json!({ "type": "document", "source": { "type": "url", "url": "https://x" } });
        let result =
            json!({ "type": "tool_result", "tool_use_id": "a", "content": [image, document] });
        let mut message: Message =
            serde_json::from_value(json!({ "role": "user", "content": [result, image] })).unwrap();
        assert!(strip_media(&mut message));
        assert!(!serde_json::to_string(&message).unwrap().contains("https"));
        assert!(!strip_media(&mut message));
    }

    #[test]
    fn what_is_too_long_to_be_summarized_loses_its_beginning() {
        let mut messages = conversation("Agent", 3, 4_000);
        messages.push(Message::assistant("Done.").into());
        messages.push(Message::user("And now?").into());
        let mut all = messages.clone();
        shrink(&mut all, 1_000_000);
        assert_eq!(all, messages);
        shrink(&mut messages, 2_000);
        assert_eq!(messages.len(), 1);
        assert_eq!(validate(&messages), []);
        let mut long = conversation("Agent", 3, 4_000);
        shrink(&mut long, 10);
        assert!(long.is_empty());
    }
}
