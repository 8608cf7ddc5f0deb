//! How large a conversation is, and how large it may get.

use innerve_protocol::{
    Capabilities, ContentBlock, Message, Request, SharedMessage, ToolResultContent, Usage,
};

/// Output tokens that are kept free at most.
const RESERVED: u64 = 20_000;
/// Tokens below the window at which a conversation is compacted.
const COMPACT_BELOW: u64 = 13_000;
/// Tokens below the window at which nothing more is sent.
const BLOCK_BELOW: u64 = 3_000;
/// Tokens of an image or a document, about.
const MEDIA: u64 = 2_000;

/// The sizes at which something must be done, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// From here on a conversation is compacted.
    pub(crate) compact_at: u64,
    /// From here on nothing is sent.
    pub(crate) block_at: u64,
}

impl Window {
    /// What a model's window leaves for a conversation. In a small one, parts of it count in place of the usual margins.
    pub(crate) fn of(capabilities: &Capabilities) -> Self {
        let window = capabilities.context_window;
        let reserved = u64::from(capabilities.max_output_tokens).min(RESERVED).min(window / 4);
        let effective = window - reserved;
        let below = |margin: u64, part: u64| {
            effective.saturating_sub(margin).max(effective - effective / part)
        };
        Self { compact_at: below(COMPACT_BELOW, 4), block_at: below(BLOCK_BELOW, 20) }
    }
}

/// What is known of a conversation's size: what the provider counted last, and an estimate of what came since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    /// The first messages, which are counted.
    messages: usize,
    /// What they come to.
    tokens: u64,
    /// Whether the provider counted them, with instructions and tools.
    counted: bool,
}

impl Size {
    /// The provider counted all messages up to its response, which is the last one.
    pub(crate) fn counted(&mut self, messages: &[SharedMessage], usage: &Usage) {
        let input = usage.total_input();
        if input > 0 {
            let tokens = input + usage.output_tokens.unwrap_or(0);
            *self = Self { messages: messages.len(), tokens, counted: true };
        }
    }

    /// The messages up to here do not change any more; they need not be estimated again.
    pub(crate) fn settle(&mut self, messages: &[SharedMessage], settled: usize) {
        if let Some(new) = messages.get(self.messages..settled) {
            self.tokens += new.iter().map(|message| estimate(message)).sum::<u64>();
            self.messages = settled;
        }
    }

    /// The size of the next request; `frame` is that of instructions and tools.
    pub(crate) fn tokens(&self, messages: &[SharedMessage], frame: u64) -> u64 {
        let new = messages.get(self.messages..).unwrap_or_default();
        let new: u64 = new.iter().map(|message| estimate(message)).sum();
        self.tokens + new + if self.counted { 0 } else { frame }
    }
}

/// The tokens of a request without its messages, about.
pub(crate) fn frame(request: &Request) -> u64 {
    let system: u64 = request.system.iter().map(|block| text(&block.text)).sum();
    let tools: u64 = request
        .tools
        .iter()
        .map(|tool| text(&tool.description) + json(&tool.input_schema.to_string()))
        .sum();
    system + tools
}

/// The tokens of a message, rather too many than too few.
pub(crate) fn estimate(message: &Message) -> u64 {
    message.content.iter().map(block).sum()
}

fn block(block: &ContentBlock) -> u64 {
    match block {
        ContentBlock::Text(block) => text(&block.text),
        ContentBlock::Thinking(block) => text(&block.thinking) + text(&block.signature),
        ContentBlock::RedactedThinking(block) => text(&block.data),
        ContentBlock::ToolUse(tool_use) => text(&tool_use.name) + json(&tool_use.input.to_string()),
        ContentBlock::ToolResult(result) => match &result.content {
            ToolResultContent::Absent => 1,
            ToolResultContent::Text(content) => text(content),
            ToolResultContent::Blocks(blocks) => blocks.iter().map(self::block).sum(),
        },
        ContentBlock::Image(_) | ContentBlock::Unknown(_) => MEDIA,
        ContentBlock::ToolReference(_) => 10,
    }
}

fn text(text: &str) -> u64 {
    as_tokens(text.len(), 4)
}

fn json(text: &str) -> u64 {
    as_tokens(text.len(), 2)
}

fn as_tokens(bytes: usize, per_token: usize) -> u64 {
    u64::try_from(bytes.div_ceil(per_token)).unwrap_or(u64::MAX).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn window(context_window: u64, max_output_tokens: u32) -> (u64, u64) {
        let window = Window::of(&Capabilities {
            context_window,
            max_output_tokens,
            ..Capabilities::anthropic()
        });
        (window.compact_at, window.block_at)
    }

    #[test]
    fn a_window_leaves_room_for_an_answer_and_a_margin() {
        assert_eq!(window(200_000, 64_000), (167_000, 177_000));
        assert_eq!(window(1_000_000, 128_000), (967_000, 977_000));
        // A small window has no room for the usual margins.
        assert_eq!(window(8_192, 8_192), (4_608, 5_837));
        assert_eq!(window(0, 0), (0, 0));
    }

    fn messages(texts: &[&str]) -> Vec<SharedMessage> {
        texts.iter().map(|text| Message::user(*text).into()).collect()
    }

    #[test]
    fn what_the_provider_counted_is_not_estimated() {
        let mut all = messages(&["a question", "an answer"]);
        let mut size = Size::default();
        assert_eq!(size.tokens(&all, 100), 4 + 4 + 100);
        let usage: Usage = serde_json::from_value(
            json!({ "input_tokens": 5, "cache_read_input_tokens": 1_000, "output_tokens": 7 }),
        )
        .unwrap();
        size.counted(&all, &usage);
        assert_eq!(size.tokens(&all, 100), 1_012);
        all.extend(messages(&["1234567"]));
        assert_eq!(size.tokens(&all, 100), 1_015);
        size.settle(&all, 3);
        assert_eq!(size.tokens(&all, 100), 1_015);
        // A provider that counts nothing changes nothing.
        size.counted(&all, &Usage::default());
        assert_eq!(size.tokens(&all, 100), 1_015);
    }
}
