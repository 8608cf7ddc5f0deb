//! What is read is written back, known or not.

use innerve_protocol::{
    ContentBlock, Message, Request, StopReason, ToolResultContent, ToolUseId, Usage, WireEvent,
};
use proptest::prelude::*;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::transcripts::{block, hostile};

#[track_caller]
fn check<T: Serialize + DeserializeOwned>(value: Value) {
    let read: T = serde_json::from_str(&value.to_string()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), value);
}

#[test]
fn blocks_of_unknown_kinds_survive() {
    check::<ContentBlock>(json!({"type": "fallback", "to": {"model": "m"}, "n": [1, null, 2.5]}));
    check::<ContentBlock>(json!({"n": 1, "type": "container_upload", "file_id": "f"}));
    check::<ContentBlock>(json!({"type": "", "x": 1}));
    check::<ContentBlock>(json!({"type": "image", "source": {"type": "satellite", "orbit": 7}}));
}

#[test]
fn unknown_fields_of_known_blocks_survive() {
    for block in [
        json!({"type": "text", "text": "x", "citations": [{"url": "u"}], "new": null}),
        json!({"type": "image", "source": {"type": "file", "file_id": "f"}, "new": 1}),
        json!({"type": "thinking", "thinking": "", "signature": "s", "new": {}}),
        json!({"type": "redacted_thinking", "data": "d", "new": []}),
        json!({"type": "tool_use", "id": "a", "name": "n", "input": {"type": "x"}, "caller": {"type": "direct"}, "toolset_name": "t"}),
        json!({"type": "tool_result", "tool_use_id": "a", "content": "x", "is_error": false, "toolset_name": "t"}),
        json!({"type": "tool_result", "tool_use_id": "a", "content": [{"type": "tool_reference", "tool_name": "n", "new": 1}]}),
        json!({"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": "1h"}}),
    ] {
        check::<ContentBlock>(block);
    }
    check::<Message>(
        json!({"role": "user", "content": [{"type": "text", "text": "x"}], "id": "msg_1"}),
    );
    check::<Usage>(
        json!({"input_tokens": 1, "service_tier": "standard", "output_tokens_details": {"thinking_tokens": 3}}),
    );
}

#[test]
fn a_whole_request_survives() {
    check::<Request>(json!({
        "model": "m", "max_tokens": 1,
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "Read", "description": "d", "input_schema": {"type": "object"}, "defer_loading": true, "strict": true}],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": true},
        "thinking": {"type": "adaptive", "display": "omitted"},
        "stop_sequences": ["x"],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}],
        "stream": true, "metadata": {"user_id": "u"}, "output_config": {"effort": "high"},
    }));
}

#[test]
fn a_plain_string_is_one_text_block() {
    let message: Message = serde_json::from_value(json!({"role": "user", "content": "x"})).unwrap();
    assert_eq!(message, Message::user("x"));
}

#[test]
fn result_content_keeps_its_form() {
    for (wire, expected) in [
        (json!({}), ToolResultContent::Absent),
        (json!({"content": ""}), ToolResultContent::Text(String::new())),
        (json!({"content": []}), ToolResultContent::Blocks(vec![])),
        (json!({"content": [{"type": "text", "text": "x"}]}), vec![ContentBlock::text("x")].into()),
    ] {
        let mut block = json!({"type": "tool_result", "tool_use_id": "a"});
        block.as_object_mut().unwrap().extend(wire.as_object().unwrap().clone());
        let read: ContentBlock = serde_json::from_value(block.clone()).unwrap();
        assert_eq!(read.as_tool_result().unwrap().content, expected);
        assert_eq!(serde_json::to_value(read).unwrap(), block);
    }
}

#[test]
fn a_block_that_is_none_is_refused() {
    for wire in [
        json!(7),
        json!([]),
        json!({}),
        json!({"type": 7}),
        json!({"type": "text"}),
        json!({"type": "text", "text": 7}),
        json!({"type": "tool_use", "name": "n", "input": {}}),
        json!({"type": "tool_result", "content": "x"}),
        json!({"type": "tool_result", "tool_use_id": "a", "content": 7}),
    ] {
        assert!(serde_json::from_value::<ContentBlock>(wire.clone()).is_err(), "{wire}");
    }
}

#[test]
fn stop_reasons_survive() {
    for reason in [
        "end_turn",
        "tool_use",
        "max_tokens",
        "stop_sequence",
        "pause_turn",
        "refusal",
        "model_context_window_exceeded",
        "tired",
    ] {
        check::<StopReason>(json!(reason));
    }
}

#[test]
fn totals_of_usage_add_and_updates_overwrite() {
    let usage = |value: Value| serde_json::from_value::<Usage>(value).unwrap();
    let mut total = usage(json!({"input_tokens": 1, "cache_read_input_tokens": 5}));
    total.add(&usage(
        json!({"input_tokens": 2, "output_tokens": 3, "cache_creation_input_tokens": 7}),
    ));
    assert_eq!(
        (total.input_tokens, total.output_tokens, total.total_input()),
        (Some(3), Some(3), 15)
    );
    let mut latest = usage(json!({"input_tokens": 1, "service_tier": "a", "x": 1}));
    latest.update(&usage(
        json!({"input_tokens": null, "output_tokens": 9, "service_tier": "b", "x": null}),
    ));
    assert_eq!(
        latest,
        usage(json!({"input_tokens": 1, "output_tokens": 9, "service_tier": "b", "x": 1}))
    );
}

#[test]
fn only_plain_ids_are_fit_for_file_names() {
    for id in ["toolu_01-A", "a", "_", "-"] {
        assert!(ToolUseId::from(id).is_plain(), "{id}");
    }
    for id in ["", ".", "..", "a/b", "a b", "a\0", "ü", "a\n"] {
        assert!(!ToolUseId::from(id).is_plain(), "{id:?}");
    }
}

proptest! {
    #[test]
    fn every_block_survives(block in block()) {
        let text = serde_json::to_string(&block).unwrap();
        prop_assert_eq!(serde_json::from_str::<ContentBlock>(&text).unwrap(), block);
    }

    #[test]
    fn every_transcript_survives(transcript in hostile()) {
        let text = serde_json::to_string(&transcript).unwrap();
        prop_assert_eq!(serde_json::from_str::<Vec<Message>>(&text).unwrap(), transcript);
    }

    #[test]
    fn no_text_panics_the_event_reader(text in "\\PC{0,40}") {
        drop(WireEvent::parse(&text));
        drop(WireEvent::parse(&format!("{{\"type\":\"ping\",{text}}}")));
    }
}
