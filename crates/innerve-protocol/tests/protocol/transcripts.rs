//! Generated transcripts, friendly and hostile.

use innerve_protocol::{
    CacheControl, ContentBlock, Message, Role, TextBlock, ToolResult, ToolResultContent, ToolUse,
};
use proptest::prelude::*;
use serde_json::json;

/// Any transcript that the types can hold, with few ids so that they meet.
pub(crate) fn hostile() -> impl Strategy<Value = Vec<Message>> {
    let role = prop_oneof![
        4 => Just(Role::User),
        4 => Just(Role::Assistant),
        1 => Just(Role::System),
    ];
    let message = (role, prop::collection::vec(block(), 0..6))
        .prop_map(|(role, content)| Message::new(role, content));
    prop::collection::vec(message, 0..10)
}

/// What a loop writes when all goes well: prompts, then rounds of tool uses and results in order.
pub(crate) fn orderly() -> impl Strategy<Value = Vec<Message>> {
    let rounds = prop::collection::vec((0_usize..4, any::<bool>(), any::<bool>()), 0..6);
    rounds.prop_map(|rounds| {
        let mut messages = vec![Message::user("do it")];
        for (round, (uses, says, adds)) in rounds.into_iter().enumerate() {
            let ids: Vec<String> = (0..uses).map(|use_| format!("toolu_{round}_{use_}")).collect();
            let mut content = vec![thinking("hm")];
            if says || uses == 0 {
                content.push(ContentBlock::text("I look."));
            }
            content.extend(ids.iter().map(|id| {
                ContentBlock::ToolUse(ToolUse::new(id.as_str(), "Read", json!({"file_path": "a"})))
            }));
            messages.push(Message::new(Role::Assistant, content));
            let mut content: Vec<ContentBlock> = ids
                .iter()
                .map(|id| ContentBlock::ToolResult(ToolResult::ok(id.as_str().into(), "1\ta")))
                .collect();
            if adds || uses == 0 {
                content.push(ContentBlock::text("and now?"));
            }
            messages.push(Message::new(Role::User, content));
        }
        messages
    })
}

pub(crate) fn thinking(text: &str) -> ContentBlock {
    from_json(json!({"type": "thinking", "thinking": text, "signature": "sig"}))
}

pub(crate) fn from_json(value: serde_json::Value) -> ContentBlock {
    serde_json::from_value(value).unwrap()
}

/// A block of any kind, some nested in results.
pub(crate) fn block() -> impl Strategy<Value = ContentBlock> {
    leaf().prop_recursive(3, 12, 4, |inner| {
        (id(), prop::collection::vec(inner, 0..4), any::<Option<bool>>(), marker()).prop_map(
            |(id, blocks, is_error, cache_control)| {
                let mut result =
                    ToolResult::ok(id.as_str().into(), ToolResultContent::Blocks(blocks));
                result.is_error = is_error;
                result.cache_control = cache_control;
                ContentBlock::ToolResult(result)
            },
        )
    })
}

fn leaf() -> impl Strategy<Value = ContentBlock> {
    prop_oneof![
        4 => (text(), marker()).prop_map(|(text, cache_control)| {
            ContentBlock::Text(TextBlock { text, cache_control, ..TextBlock::default() })
        }),
        4 => (id(), name(), input(), marker()).prop_map(|(id, name, input, cache_control)| {
            let mut tool_use = ToolUse::new(id.as_str(), name, input);
            tool_use.cache_control = cache_control;
            ContentBlock::ToolUse(tool_use)
        }),
        4 => (id(), result_text(), any::<Option<bool>>()).prop_map(|(id, content, is_error)| {
            let mut result = ToolResult::ok(id.as_str().into(), content);
            result.is_error = is_error;
            ContentBlock::ToolResult(result)
        }),
        1 => Just(thinking("hm")),
        1 => Just(from_json(json!({"type": "thinking", "thinking": "", "signature": "s", "cache_control": {"type": "ephemeral"}}))),
        1 => Just(from_json(json!({"type": "redacted_thinking", "data": "x"}))),
        1 => Just(from_json(json!({"type": "image", "source": {"type": "url", "url": "http://x/y.png"}}))),
        1 => Just(from_json(json!({"type": "tool_reference", "tool_name": "Read"}))),
        1 => Just(from_json(json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}))),
        1 => Just(from_json(json!({"type": "document", "source": {}, "cache_control": {"type": "ephemeral"}}))),
    ]
}

fn text() -> impl Strategy<Value = String> {
    let texts = ["", " ", "\n\t", "\u{a0}\u{2003}", "\u{1c}", "a", "a ", " a\n", "b\u{1f}", "ünï"];
    prop::sample::select(texts.to_vec()).prop_map(str::to_owned)
}

fn result_text() -> impl Strategy<Value = ToolResultContent> {
    prop_oneof![
        Just(ToolResultContent::Absent),
        text().prop_map(ToolResultContent::Text),
        prop::collection::vec(text().prop_map(ContentBlock::text), 0..3)
            .prop_map(ToolResultContent::Blocks),
    ]
}

fn id() -> impl Strategy<Value = String> {
    let ids = ["a", "b", "c", "a_2", "a b", "a_b", "", "toolu", "ü", "call/1", "_"];
    prop::sample::select(ids.to_vec()).prop_map(str::to_owned)
}

fn name() -> impl Strategy<Value = String> {
    let names =
        ["Read".to_owned(), String::new(), "a b".to_owned(), "ü".to_owned(), "x".repeat(201)];
    prop::sample::select(names.to_vec())
}

fn input() -> impl Strategy<Value = serde_json::Value> {
    let inputs = vec![json!({}), json!({"a": 1}), json!(null), json!("{}"), json!([1]), json!(7)];
    prop::sample::select(inputs)
}

fn marker() -> impl Strategy<Value = Option<CacheControl>> {
    prop_oneof![3 => Just(None), 1 => Just(Some(CacheControl::ephemeral()))]
}
