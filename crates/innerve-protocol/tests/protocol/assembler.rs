//! Streams: what a response becomes, piece by piece.

use innerve_protocol::{
    Assembler, BlockKind, ContentBlock, StopReason, StreamError, StreamEvent, WireEvent,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// What is left of a response when it is read to its end.
#[derive(Debug, Default, PartialEq)]
struct Response {
    blocks: Vec<(ContentBlock, Option<String>)>,
    seen: String,
    stop: Option<StopReason>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

fn read(events: &[Value]) -> Result<Response, StreamError> {
    let mut assembler = Assembler::new();
    let mut response = Response::default();
    let mut all = Vec::new();
    for event in events {
        all.extend(assembler.push(WireEvent::parse(&event.to_string())?)?);
    }
    all.extend(assembler.finish()?);
    for event in all {
        match event {
            StreamEvent::Start { usage, .. } | StreamEvent::Usage(usage) => {
                response.input_tokens = usage.input_tokens;
                response.output_tokens = usage.output_tokens;
            }
            StreamEvent::BlockStart { .. } | StreamEvent::Ping | StreamEvent::Retrying(_) => {}
            StreamEvent::TextDelta { text, .. } => response.seen.push_str(&text),
            StreamEvent::ThinkingDelta { thinking, .. } => response.seen.push_str(&thinking),
            StreamEvent::InputDelta { partial_json, .. } => response.seen.push_str(&partial_json),
            StreamEvent::BlockDone { block, invalid_input, .. } => {
                response.blocks.push((block, invalid_input));
            }
            StreamEvent::Stop { reason, .. } => response.stop = Some(reason),
        }
    }
    Ok(response)
}

fn start() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [], "stop_reason": null, "usage": {"input_tokens": 7, "output_tokens": 1}}})
}

fn open(index: usize, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: usize, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn text(index: usize, piece: &str) -> Value {
    delta(index, json!({"type": "text_delta", "text": piece}))
}

fn input(index: usize, piece: &str) -> Value {
    delta(index, json!({"type": "input_json_delta", "partial_json": piece}))
}

fn close(index: usize) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn stop_reason(reason: &str, output_tokens: u64) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
        "usage": {"output_tokens": output_tokens}})
}

fn stop() -> Value {
    json!({"type": "message_stop"})
}

fn tool_use() -> Value {
    json!({"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}})
}

/// The events around one block, and the block.
fn around(block: Value, deltas: &[Value]) -> Vec<Value> {
    let mut events = vec![start(), open(0, block)];
    events.extend_from_slice(deltas);
    events.extend([close(0), stop_reason("end_turn", 3), stop()]);
    events
}

#[track_caller]
fn check_block(block: Value, deltas: &[Value], expected: Value) {
    let response = read(&around(block, deltas)).unwrap();
    let blocks = serde_json::to_value(&response.blocks).unwrap();
    assert_eq!(blocks, json!([[expected, null]]));
}

#[track_caller]
fn check_malformed(events: &[Value], named: &str) {
    match read(events) {
        Err(StreamError::Malformed(text)) => assert!(text.contains(named), "{text}"),
        other => panic!("expected a malformed stream, got {other:?}"),
    }
}

#[test]
fn pings_change_nothing() {
    let plain = around(json!({"type": "text", "text": ""}), &[text(0, "a"), text(0, "b")]);
    let ping = json!({"type": "ping"});
    let mut pinged = vec![ping.clone()];
    for event in &plain {
        pinged.extend([event.clone(), ping.clone()]);
    }
    assert_eq!(read(&pinged).unwrap(), read(&plain).unwrap());
}

#[test]
fn unknown_events_and_deltas_are_ignored() {
    let plain = around(json!({"type": "text", "text": ""}), &[text(0, "a"), text(0, "b")]);
    let mut odd = plain.clone();
    odd.insert(3, delta(0, json!({"type": "sparkle_delta", "sparkle": {"text": "x"}})));
    odd.insert(1, json!({"type": "weather", "index": "no number", "sky": "grey"}));
    assert_eq!(read(&odd).unwrap(), read(&plain).unwrap());
}

#[test]
fn empty_data_and_the_done_mark_are_ignored() {
    for data in ["", "  \n", "[DONE]"] {
        assert_eq!(WireEvent::parse(data).unwrap(), WireEvent::Unknown, "{data:?}");
    }
}

#[test]
fn a_known_event_with_a_malformed_body_is_an_error() {
    for data in [
        "{",
        "[]",
        "7",
        "{}",
        r#"{"type":7}"#,
        r#"{"type":"content_block_stop"}"#,
        r#"{"type":"content_block_stop","index":-1}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"text":"no type"}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"no id"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":null}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"text":"no type"}}"#,
        r#"{"type":"message_start"}"#,
        r#"{"type":"message_delta","delta":null}"#,
        r#"{"type":"error","error":"flat"}"#,
    ] {
        let read = WireEvent::parse(data);
        assert!(matches!(read, Err(StreamError::Malformed(_))), "{data}: {read:?}");
    }
}

#[test]
fn input_pieces_make_an_object() {
    let expected = json!({"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"a": 1}});
    check_block(tool_use(), &[input(0, ""), input(0, r#"{"a":"#), input(0, "1}")], expected);
}

#[test]
fn no_input_is_an_empty_object() {
    check_block(tool_use(), &[], tool_use());
    check_block(tool_use(), &[input(0, ""), input(0, " ")], tool_use());
    check_block(tool_use(), &[input(0, "null")], tool_use());
    check_block(json!({"type": "tool_use", "id": "toolu_1", "name": "Read"}), &[], tool_use());
}

#[test]
fn input_given_at_the_start_stays_without_pieces() {
    let block = json!({"type": "tool_use", "id": "a", "name": "Read", "input": {"x": [1]}});
    check_block(block.clone(), &[], block);
}

#[test]
fn input_that_is_no_object_is_kept_raw_beside_an_empty_one() {
    let nested = "[".repeat(10_000);
    for raw in [r#"{"a":"#, "[1]", "\"x\"", "{\"action\": list\"}", "{} {}", &nested] {
        let response = read(&around(tool_use(), &[input(0, raw)])).unwrap();
        let (block, invalid_input) = response.blocks.first().unwrap();
        assert_eq!(block.as_tool_use().unwrap().input, json!({}), "{raw}");
        assert_eq!(invalid_input.as_deref(), Some(raw));
    }
}

#[test]
fn input_that_could_not_be_read_again_from_a_record_is_kept_raw() {
    for (levels, is_kept) in [(99, true), (100, false), (126, false)] {
        let raw = format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
        let response = read(&around(tool_use(), &[input(0, &raw)])).unwrap();
        let (block, invalid_input) = response.blocks.first().unwrap();
        assert_eq!(invalid_input.is_none(), is_kept, "{levels}");
        assert_eq!(block.as_tool_use().unwrap().input.get("a").is_some(), is_kept, "{levels}");
    }
}

#[test]
fn i8_a_block_of_another_kind_that_could_not_be_read_again_from_a_record_ends_the_stream() {
    for (levels, is_kept) in [(99, true), (100, false), (120, false)] {
        let deep = (1..levels).fold(json!([]), |inner, _| json!([inner]));
        let read = read(&around(json!({ "type": "new_kind", "a": deep }), &[]));
        assert_eq!(read.is_ok(), is_kept, "{levels}: {read:?}");
    }
}

#[test]
fn thinking_and_its_signature_are_put_together() {
    check_block(
        json!({"type": "thinking", "thinking": "", "signature": ""}),
        &[
            delta(0, json!({"type": "thinking_delta", "thinking": "so"})),
            delta(0, json!({"type": "signature_delta", "signature": "EqQB"})),
            delta(0, json!({"type": "signature_delta", "signature": "CkY="})),
        ],
        json!({"type": "thinking", "thinking": "so", "signature": "EqQBCkY="}),
    );
    check_block(
        json!({"type": "thinking", "thinking": ""}),
        &[delta(0, json!({"type": "signature_delta", "signature": "s"}))],
        json!({"type": "thinking", "thinking": "", "signature": "s"}),
    );
}

#[test]
fn citations_are_collected() {
    let cite = |n: u8| delta(0, json!({"type": "citations_delta", "citation": {"n": n}}));
    check_block(
        json!({"type": "text", "text": "", "citations": null}),
        &[text(0, "x"), cite(1), cite(2)],
        json!({"type": "text", "text": "x", "citations": [{"n": 1}, {"n": 2}]}),
    );
}

#[test]
fn blocks_of_unknown_kinds_grow_and_come_through() {
    check_block(
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}),
        &[input(0, "{\"query\":"), input(0, "\"x\"}")],
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}),
    );
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"url": "u"}]});
    check_block(found.clone(), &[], found);
    check_block(
        json!({"type": "poem", "meter": "iambic"}),
        &[text(0, "ro"), text(0, "ses")],
        json!({"type": "poem", "meter": "iambic", "text": "roses"}),
    );
}

#[test]
fn text_in_the_start_of_a_block_is_seen() {
    let response = read(&around(json!({"type": "text", "text": "he"}), &[text(0, "y")])).unwrap();
    assert_eq!(response.seen, "hey");
    assert_eq!(response.blocks, [(ContentBlock::text("hey"), None)]);
}

#[test]
fn usage_is_overwritten_and_never_added() {
    let mut events = around(json!({"type": "text", "text": "x"}), &[]);
    events.insert(3, stop_reason("end_turn", 10));
    events.insert(5, stop_reason("end_turn", 25));
    let response = read(&events).unwrap();
    assert_eq!((response.input_tokens, response.output_tokens), (Some(7), Some(25)));
}

#[test]
fn stop_reasons_known_and_unknown_come_through() {
    for (wire, expected) in [
        ("tool_use", StopReason::ToolUse),
        ("pause_turn", StopReason::PauseTurn),
        ("model_context_window_exceeded", StopReason::ModelContextWindowExceeded),
        ("tired", StopReason::Other("tired".to_owned())),
    ] {
        let response = read(&[start(), stop_reason(wire, 1), stop()]).unwrap();
        assert_eq!(response.stop, Some(expected));
    }
}

#[test]
fn stop_details_come_through_without_empty_fields() {
    let mut assembler = Assembler::new();
    for event in [
        start(),
        json!({"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_sequence": null,
            "stop_details": {"category": "cyber"}}}),
    ] {
        assembler.push(WireEvent::parse(&event.to_string()).unwrap()).unwrap();
    }
    let stopped = assembler.push(WireEvent::MessageStop).unwrap();
    let Some(StreamEvent::Stop { reason, details }) = stopped.first() else {
        panic!("{stopped:?}")
    };
    assert_eq!(*reason, StopReason::Refusal);
    assert_eq!(Value::Object(details.clone()), json!({"stop_details": {"category": "cyber"}}));
}

#[test]
fn a_stream_that_never_says_why_it_stopped_is_read_by_its_content() {
    assert_eq!(read(&[start(), stop()]).unwrap().stop, Some(StopReason::EndTurn));
    let response = read(&[start(), open(0, tool_use()), close(0), stop()]).unwrap();
    assert_eq!(response.stop, Some(StopReason::ToolUse));
}

#[test]
fn a_block_start_says_what_the_block_will_be() {
    let mut assembler = Assembler::new();
    let mut kinds = Vec::new();
    let blocks =
        [json!({"type": "redacted_thinking", "data": "x"}), tool_use(), json!({"type": "poem"})];
    let events = std::iter::once(start())
        .chain(blocks.into_iter().enumerate().map(|(index, block)| open(index, block)));
    for event in events {
        for event in assembler.push(WireEvent::parse(&event.to_string()).unwrap()).unwrap() {
            if let StreamEvent::BlockStart { kind, .. } = event {
                kinds.push(kind);
            }
        }
    }
    let used = BlockKind::ToolUse { id: "toolu_1".into(), name: "Read".to_owned() };
    assert_eq!(kinds, [BlockKind::Thinking, used, BlockKind::Other]);
}

#[test]
fn a_stream_cut_before_its_stop_reason_is_truncated() {
    let whole = around(json!({"type": "text", "text": ""}), &[text(0, "abc")]);
    for length in 0..4 {
        let read = read(&whole[..length]);
        assert_eq!(read, Err(StreamError::Truncated), "after {length} events");
    }
}

#[test]
fn a_stream_cut_only_of_its_last_event_is_complete() {
    let whole = around(json!({"type": "text", "text": ""}), &[text(0, "abc")]);
    let cut = &whole[..whole.len() - 1];
    assert_eq!(read(cut).unwrap(), read(&whole).unwrap());
}

#[test]
fn an_open_block_keeps_a_stop_reason_from_completing_the_response() {
    let events = [start(), open(0, tool_use()), stop_reason("tool_use", 1)];
    assert_eq!(read(&events), Err(StreamError::Truncated));
}

#[test]
fn after_a_cut_only_text_is_given_back() {
    let mut assembler = Assembler::new();
    for event in [
        start(),
        open(0, json!({"type": "text", "text": ""})),
        text(0, "done"),
        close(0),
        open(1, json!({"type": "thinking", "thinking": "hm"})),
        open(2, json!({"type": "text", "text": ""})),
        text(2, "half a sen"),
        open(3, json!({"type": "text", "text": " "})),
        open(4, tool_use()),
        input(4, "{}"),
    ] {
        assembler.push(WireEvent::parse(&event.to_string()).unwrap()).unwrap();
    }
    assert_eq!(assembler.finish(), Err(StreamError::Truncated));
    assert_eq!(assembler.unfinished_text(), [(2, "half a sen".to_owned())]);
}

#[test]
fn an_error_within_the_stream_is_the_providers() {
    let error =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let read = read(&[start(), error]);
    let Err(StreamError::Provider(error)) = read else { panic!("{read:?}") };
    assert_eq!((error.kind.as_str(), error.message.as_str()), ("overloaded_error", "Overloaded"));
}

#[test]
fn events_out_of_order_are_malformed() {
    let block = json!({"type": "text", "text": ""});
    check_malformed(&[open(0, block.clone())], "before `message_start`");
    check_malformed(&[start(), start()], "second `message_start`");
    check_malformed(&[start(), text(0, "x")], "block 0");
    check_malformed(&[start(), close(3)], "block 3");
    check_malformed(&[start(), open(1, block.clone()), open(1, block.clone())], "block 1");
    check_malformed(&[start(), open(0, block.clone()), close(0), text(0, "x")], "block 0");
    check_malformed(
        &[start(), open(0, block.clone()), close(0), open(0, block.clone())],
        "block 0",
    );
    check_malformed(&[start(), open(0, block), stop()], "block 0 was open");
    check_malformed(&[stop_reason("end_turn", 1)], "before `message_start`");
}

#[test]
fn a_delta_of_another_kind_is_malformed() {
    let block = json!({"type": "text", "text": ""});
    check_malformed(&[start(), open(0, block), input(0, "{}")], "does not fit");
    check_malformed(&[start(), open(0, tool_use()), text(0, "x")], "does not fit");
}

#[test]
fn an_assembler_stays_failed() {
    let mut assembler = Assembler::new();
    let error = assembler.push(WireEvent::ContentBlockStop { index: 0 }).unwrap_err();
    assert_eq!(assembler.push(WireEvent::Ping), Err(error.clone()));
    assert_eq!(assembler.finish(), Err(error));
}

#[test]
fn nothing_after_the_end_changes_a_response() {
    let whole = around(json!({"type": "text", "text": ""}), &[text(0, "abc")]);
    let mut more = whole.clone();
    more.extend([start(), open(0, tool_use()), stop_reason("tool_use", 99)]);
    assert_eq!(read(&more).unwrap(), read(&whole).unwrap());
}

#[test]
fn i8_a_response_is_bounded_in_bytes() {
    let mut assembler = Assembler::new();
    for event in [start(), open(0, tool_use())] {
        assembler.push(WireEvent::parse(&event.to_string()).unwrap()).unwrap();
    }
    let piece = "x".repeat(1 << 20);
    let pushed = (0..40)
        .map(|_| assembler.push(WireEvent::parse(&input(0, &piece).to_string()).unwrap()))
        .take_while(Result::is_ok)
        .count();
    assert!((30..=Assembler::MAX_BYTES >> 20).contains(&pushed), "{pushed} MiB were taken");
}

#[test]
fn i8_a_response_is_bounded_in_blocks() {
    let mut events = vec![start()];
    for index in 0..=Assembler::MAX_BLOCKS {
        events.extend([open(index, json!({"type": "x"})), close(index)]);
    }
    check_malformed(&events, "blocks");
}

#[test]
fn every_error_has_a_code() {
    let malformed = StreamError::Malformed(String::new());
    assert_eq!(
        [malformed.code(), StreamError::Truncated.code()],
        ["stream_malformed", "stream_truncated"]
    );
}

proptest! {
    #[test]
    fn text_is_the_same_however_it_is_cut(pieces in prop::collection::vec("\\PC{0,6}", 0..8)) {
        let deltas: Vec<Value> = pieces.iter().map(|piece| text(0, piece)).collect();
        let response = read(&around(json!({"type": "text", "text": ""}), &deltas)).unwrap();
        let whole = pieces.concat();
        prop_assert_eq!(&response.seen, &whole);
        prop_assert_eq!(response.blocks, vec![(ContentBlock::text(whole), None)]);
    }

    #[test]
    fn input_is_the_same_however_it_is_cut(
        value in prop::collection::hash_map("\\PC{0,4}", "\\PC{0,8}", 0..4),
        cuts in prop::collection::vec(1_usize..5, 0..20),
    ) {
        let whole = serde_json::to_string(&value).unwrap();
        let mut rest: Vec<char> = whole.chars().collect();
        let mut deltas = Vec::new();
        for cut in cuts {
            let piece: String = rest.drain(..cut.min(rest.len())).collect();
            deltas.push(input(0, &piece));
        }
        deltas.push(input(0, &rest.into_iter().collect::<String>()));
        let response = read(&around(tool_use(), &deltas)).unwrap();
        let (block, invalid_input) = response.blocks.first().unwrap();
        prop_assert_eq!(&block.as_tool_use().unwrap().input, &serde_json::to_value(value).unwrap());
        prop_assert_eq!(invalid_input, &None);
    }

    #[test]
    fn no_order_of_events_panics(order in prop::collection::vec(0_usize..12, 0..30)) {
        let text_block = json!({"type": "text", "text": "a"});
        let events = [
            start(), open(0, text_block), open(1, tool_use()), open(2, json!({"type": "x"})),
            text(0, "b"), input(1, "{"), input(2, "1"), close(0), close(1), close(2),
            stop_reason("end_turn", 1), stop(),
        ];
        let picked: Vec<Value> = order.iter().filter_map(|at| events.get(*at).cloned()).collect();
        if let Ok(response) = read(&picked) {
            prop_assert!(response.stop.is_some(), "a response that was accepted says why it stopped");
        }
    }
}
