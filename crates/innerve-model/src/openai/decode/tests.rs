//! Tests of reading Chat Completions streams; quirks are named as servers were seen to do them.

use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn dialect() -> Dialect {
    let next = AtomicUsize::new(1);
    Dialect::new().ids(move || format!("made_{}", next.fetch_add(1, Ordering::Relaxed)))
}

fn tools() -> Vec<ToolDefinition> {
    let schema = json!({"type": "object", "properties": {
        "list": {"type": "array"}, "count": {"type": "integer"}, "text": {"type": "string"},
    }});
    vec![ToolDefinition::new("Read", "", schema)]
}

fn events_of(dialect: &Dialect, chunks: &[Value]) -> Result<Vec<StreamEvent>, ModelError> {
    let mut decoder = Decoder::new(dialect, tools());
    let mut events = Vec::new();
    for chunk in chunks {
        events.extend(decoder.push(&chunk.to_string())?);
    }
    events.extend(decoder.finish()?);
    Ok(events)
}

/// Finished blocks as `kind:content`, then the stop reason.
fn summary(events: &[StreamEvent]) -> Vec<String> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for event in events {
        match event {
            StreamEvent::BlockDone { index, block: ContentBlock::Text(block), .. } => {
                lines.push((*index, format!("text:{}", block.text)));
            }
            StreamEvent::BlockDone { index, block: ContentBlock::Thinking(block), .. } => {
                lines.push((*index, format!("thinking:{}", block.thinking)));
            }
            StreamEvent::BlockDone {
                index,
                block: ContentBlock::ToolUse(tool_use),
                invalid_input,
            } => {
                let ToolUse { id, name, input, .. } = tool_use;
                let invalid =
                    invalid_input.as_ref().map(|raw| format!(" invalid {raw}")).unwrap_or_default();
                lines.push((*index, format!("{id} {name} {input}{invalid}")));
            }
            StreamEvent::Stop { reason, .. } => {
                let reason = serde_json::to_value(reason).unwrap();
                lines.push((usize::MAX, reason.as_str().unwrap().to_owned()));
            }
            other => {
                assert!(!matches!(other, StreamEvent::BlockDone { .. } | StreamEvent::Retrying(_)));
            }
        }
    }
    lines.sort();
    lines.into_iter().map(|(_, line)| line).collect()
}

#[track_caller]
fn check_with(dialect: &Dialect, chunks: &[Value], expected: &[&str]) {
    assert_eq!(summary(&events_of(dialect, chunks).unwrap()), expected);
}

#[track_caller]
fn check(chunks: &[Value], expected: &[&str]) {
    check_with(&dialect(), chunks, expected);
}

fn delta(delta: &Value) -> Value {
    json!({"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

/// A chunk with one piece of a tool call.
fn piece(piece: &Value) -> Value {
    delta(&json!({"tool_calls": [piece]}))
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

#[test]
fn text_and_reasoning_become_blocks() {
    check(
        &[
            delta(&json!({"role": "assistant", "content": ""})),
            delta(&json!({"reasoning_content": "hm"})),
            delta(&json!({"reasoning_content": "m"})),
            delta(&json!({"content": "a", "reasoning_content": null})),
            delta(&json!({"content": "b"})),
            finish("stop"),
        ],
        &["thinking:hmm", "text:ab", "end_turn"],
    );
    check(
        &[
            delta(&json!({"reasoning": "hm", "reasoning_content": ""})),
            delta(&json!({"content": [{"type": "text", "text": "a"}]})),
            finish("stop"),
        ],
        &["thinking:hm", "text:a", "end_turn"],
    );
}

#[test]
fn deltas_come_at_once() {
    let mut decoder = Decoder::new(&dialect(), tools());
    let events = decoder.push(&delta(&json!({"content": "a"})).to_string()).unwrap();
    assert_eq!(
        events[0],
        StreamEvent::Start { id: "c".to_owned(), model: "m".to_owned(), usage: Usage::default() }
    );
    assert_eq!(events[1], StreamEvent::BlockStart { index: 0, kind: BlockKind::Text });
    assert_eq!(events[2], StreamEvent::TextDelta { index: 0, text: "a".to_owned() });
    let events = decoder
        .push(
            &piece(&json!({"index": 0, "id": "x", "function": {"name": "Read", "arguments": ""}}))
                .to_string(),
        )
        .unwrap();
    assert!(matches!(&events[..], [StreamEvent::BlockDone { index: 0, .. }]));
    let events = decoder
        .push(&piece(&json!({"index": 0, "function": {"arguments": "{\"a\""}})).to_string())
        .unwrap();
    let kind = BlockKind::ToolUse { id: "x".into(), name: "Read".to_owned() };
    assert_eq!(events[0], StreamEvent::BlockStart { index: 1, kind });
    assert_eq!(events[1], StreamEvent::InputDelta { index: 1, partial_json: "{\"a\"".to_owned() });
}

#[test]
fn a_call_is_done_when_the_next_one_opens() {
    let mut decoder = Decoder::new(&dialect(), tools());
    let first = json!({"index": 0, "id": "x", "function": {"name": "Read", "arguments": "{}"}});
    let second = json!({"index": 1, "id": "y", "function": {"name": "Read", "arguments": ""}});
    assert!(
        !decoder
            .push(&piece(&first).to_string())
            .unwrap()
            .iter()
            .any(|event| matches!(event, StreamEvent::BlockDone { .. }))
    );
    let events = decoder.push(&piece(&second).to_string()).unwrap();
    assert!(matches!(&events[..], [StreamEvent::BlockDone { index: 0, .. }]), "{events:?}");
}

#[test]
fn calls_whose_pieces_are_mixed_are_kept_apart() {
    check(
        &[
            piece(
                &json!({"index": 0, "id": "x", "function": {"name": "Read", "arguments": "{\"a\""}}),
            ),
            piece(
                &json!({"index": 1, "id": "y", "function": {"name": "Grep", "arguments": "{\"b\""}}),
            ),
            piece(&json!({"index": 0, "function": {"arguments": ":1}"}})),
            piece(&json!({"index": 1, "function": {"arguments": ":2}"}})),
            finish("tool_calls"),
        ],
        &[r#"x Read {"a":1}"#, r#"y Grep {"b":2}"#, "tool_use"],
    );
}

#[test]
fn f24_one_index_with_two_ids_is_two_calls() {
    check(
        &[
            piece(
                &json!({"index": 0, "id": "x", "function": {"name": "Read", "arguments": "{\"a\":1}"}}),
            ),
            piece(
                &json!({"index": 0, "id": "y", "function": {"name": "Read", "arguments": "{\"a\":2}"}}),
            ),
            finish("tool_calls"),
        ],
        &[r#"x Read {"a":1}"#, r#"y Read {"a":2}"#, "tool_use"],
    );
}

#[test]
fn q2_one_index_without_ids_is_two_calls() {
    check(
        &[
            piece(&json!({"index": 0, "function": {"name": "Read", "arguments": "{\"a\":1}"}})),
            piece(&json!({"index": 0, "function": {"name": "Read", "arguments": "{\"a\":2}"}})),
            piece(&json!({"index": 0, "function": {"name": "Grep", "arguments": ""}})),
            piece(&json!({"index": 0, "function": {"arguments": "{\"b\":"}})),
            piece(&json!({"index": 0, "function": {"arguments": "3}"}})),
            finish("tool_calls"),
        ],
        &[r#"made_1 Read {"a":1}"#, r#"made_2 Read {"a":2}"#, r#"made_3 Grep {"b":3}"#, "tool_use"],
    );
    // The second call's name comes without arguments.
    check(
        &[
            piece(&json!({"index": 0, "function": {"name": "Read", "arguments": "{\"a\":1}"}})),
            piece(&json!({"index": 0, "function": {"name": "Read", "arguments": ""}})),
            piece(&json!({"index": 0, "function": {"arguments": "{\"a\":2}"}})),
            finish("tool_calls"),
        ],
        &[r#"made_1 Read {"a":1}"#, r#"made_2 Read {"a":2}"#, "tool_use"],
    );
}

#[test]
fn f25_pieces_without_index_but_with_one_id_are_one_call() {
    check(
        &[
            piece(&json!({"id": "x", "function": {"name": "Read", "arguments": "{\"a\""}})),
            piece(&json!({"id": "x", "function": {"arguments": ":"}})),
            piece(&json!({"function": {"arguments": "1}"}})),
            finish("tool_calls"),
        ],
        &[r#"x Read {"a":1}"#, "tool_use"],
    );
}

#[test]
fn q1_calls_without_index_are_told_apart_by_id_or_name() {
    check(
        &[
            piece(&json!({"id": "x", "function": {"name": "Read", "arguments": "{}"}})),
            piece(&json!({"id": "y", "function": {"name": "Read", "arguments": "{}"}})),
            piece(&json!({"function": {"name": "Grep", "arguments": "{}"}})),
            finish("tool_calls"),
        ],
        &["x Read {}", "y Read {}", "made_1 Grep {}", "tool_use"],
    );
    check(&[piece(&json!({"function": {"arguments": "{}"}})), finish("stop")], &["end_turn"]);
}

#[test]
fn f26_a_call_counts_whatever_the_finish_reason_says() {
    let call =
        piece(&json!({"index": 0, "id": "x", "function": {"name": "Read", "arguments": "{}"}}));
    for reason in ["stop", "tool_calls", "function_call", "tool", "length"] {
        check(&[call.clone(), finish(reason)], &["x Read {}", "tool_use"]);
    }
}

#[test]
fn f27_arguments_may_be_an_object() {
    check(
        &[
            piece(
                &json!({"index": 0, "id": "x", "function": {"name": "Read", "arguments": {"a": [1]}}}),
            ),
            finish("tool_calls"),
        ],
        &[r#"x Read {"a":[1]}"#, "tool_use"],
    );
}

#[test]
fn f28_a_call_without_id_gets_its_own() {
    for id in [json!(null), json!(""), json!(7)] {
        check(
            &[
                piece(
                    &json!({"index": 0, "id": id, "function": {"name": "Read", "arguments": "{}"}}),
                ),
                piece(
                    &json!({"index": 1, "id": id, "function": {"name": "Read", "arguments": "{}"}}),
                ),
                finish("tool_calls"),
            ],
            &["made_1 Read {}", "made_2 Read {}", "tool_use"],
        );
    }
    let random = Dialect::new();
    assert!(random.new_id().starts_with("call_") && random.new_id().len() == 29);
    let short = Dialect::new().short_ids().new_id();
    assert!(short.len() == 9 && short.bytes().all(|byte| byte.is_ascii_alphanumeric()));
}

#[test]
fn an_id_used_twice_is_replaced() {
    check(
        &[
            piece(&json!({"index": 0, "id": "x", "function": {"name": "Read", "arguments": "{}"}})),
            piece(&json!({"index": 1, "id": "x", "function": {"name": "Read", "arguments": "{}"}})),
            finish("tool_calls"),
        ],
        &["x Read {}", "made_1 Read {}", "tool_use"],
    );
}

#[test]
fn f29_a_call_without_name_is_dropped() {
    check(
        &[
            delta(&json!({"content": "hi"})),
            piece(&json!({"index": 0, "id": "", "function": {"name": "", "arguments": "{}"}})),
            finish("tool_calls"),
        ],
        &["text:hi", "end_turn"],
    );
}

#[test]
fn f30_a_call_cut_by_the_limit_is_not_run() {
    let whole =
        piece(&json!({"index": 0, "id": "x", "function": {"name": "Read", "arguments": "{}"}}));
    let cut = piece(
        &json!({"index": 1, "id": "y", "function": {"name": "Read", "arguments": "{\"a\":\"b"}}),
    );
    let broken = piece(
        &json!({"index": 1, "id": "y", "function": {"name": "Read", "arguments": "{\"a\"}"}}),
    );
    check(&[whole.clone(), cut.clone(), finish("length")], &["x Read {}", "max_tokens"]);
    check(&[whole.clone(), broken, finish("length")], &["x Read {}", "max_tokens"]);
    // Also where the server claims that the call is whole.
    check(&[whole, cut, finish("tool_calls")], &["x Read {}", "max_tokens"]);
}

#[test]
fn f31_usage_comes_in_a_chunk_without_choices() {
    for choices in [json!(null), json!([])] {
        let usage = json!({"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}});
        let events = events_of(
            &dialect(),
            &[
                delta(&json!({"content": "hi"})),
                finish("stop"),
                json!({"choices": choices, "usage": usage}),
            ],
        )
        .unwrap();
        let expected = Usage {
            input_tokens: Some(40),
            output_tokens: Some(7),
            cache_read_input_tokens: Some(60),
            ..Usage::default()
        };
        assert!(events.contains(&StreamEvent::Usage(expected)), "{events:?}");
    }
    let events =
        events_of(&dialect(), &[json!({"usage": {"prompt_tokens": 1}}), finish("stop")]).unwrap();
    assert!(
        events.iter().any(
            |event| matches!(event, StreamEvent::Usage(usage) if usage.input_tokens == Some(1))
        )
    );
}

#[test]
fn q7_names_may_be_repeated_or_in_fragments() {
    check(
        &[
            piece(&json!({"index": 0, "id": "x", "function": {"name": "Re"}})),
            piece(&json!({"index": 0, "function": {"name": "ad", "arguments": null}})),
            piece(&json!({"index": 0, "function": {"name": "", "arguments": "{\"a\":"}})),
            piece(&json!({"index": 0, "function": {"name": "Read", "arguments": "1}"}})),
            piece(&json!({"index": 0, "function": {"name": "Read", "arguments": ""}})),
            finish("tool_calls"),
        ],
        &[r#"x Read {"a":1}"#, "tool_use"],
    );
    check(
        &[
            piece(&json!({"index": 0, "id": "x", "function": {"name": "Read", "arguments": ""}})),
            piece(&json!({"index": 0, "id": "x", "function": {"name": "Read", "arguments": "{}"}})),
            piece(&json!({"index": 0, "id": "x", "function": {"name": "Read", "arguments": ""}})),
            finish("tool_calls"),
        ],
        &["x Read {}", "tool_use"],
    );
}

#[test]
fn q8_null_and_no_arguments_are_none() {
    check(
        &[
            piece(&json!({"index": 0, "id": "x", "function": {"name": "Read", "arguments": null}})),
            piece(&json!({"index": 1, "id": "y", "function": {"name": "Read"}})),
            piece(&json!({"index": 2, "id": "z", "function": {"name": "Read", "arguments": " "}})),
            finish("tool_calls"),
        ],
        &["x Read {}", "y Read {}", "z Read {}", "tool_use"],
    );
}

#[test]
fn arguments_that_are_no_object_must_be_answered_by_an_error() {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(110), "]".repeat(110));
    for raw in ["{\"a\" 1}", "[1]", "\"text\"", "{}{}", &deep] {
        check(
            &[
                piece(
                    &json!({"index": 0, "id": "x", "function": {"name": "Read", "arguments": raw}}),
                ),
                finish("tool_calls"),
            ],
            &[&format!("x Read {{}} invalid {raw}"), "tool_use"],
        );
    }
}

#[test]
fn arguments_encoded_twice_are_read() {
    check(
        &[
            piece(
                &json!({"index": 0, "id": "x", "function": {"name": "Read", "arguments": "\"{\\\"a\\\":1}\""}}),
            ),
            finish("tool_calls"),
        ],
        &[r#"x Read {"a":1}"#, "tool_use"],
    );
}

#[test]
fn the_older_function_call_is_read() {
    check(
        &[
            delta(&json!({"function_call": {"name": "Read", "arguments": ""}})),
            delta(&json!({"function_call": {"arguments": "{\"a\":1}"}})),
            finish("function_call"),
        ],
        &[r#"made_1 Read {"a":1}"#, "tool_use"],
    );
}

#[test]
fn q13_odd_chunks_are_harmless() {
    check(
        &[
            json!({}),
            json!({"id": "other", "choices": [{}]}),
            json!({"choices": [{"delta": {"role": "assistant", "content": "a", "tool_calls": []}}]}),
            json!({"choices": [{"delta": {"role": "assistant", "content": "b", "tool_calls": null}}], "usage": null}),
            json!({"choices": [{"index": 1, "delta": {"content": "another choice"}}]}),
            json!({"choices": "odd", "id": 5}),
            finish("stop"),
        ],
        &["text:ab", "end_turn"],
    );
}

#[test]
fn finish_reasons_map_to_stop_reasons() {
    let text = delta(&json!({"content": "a"}));
    for (reason, expected) in [
        ("stop", "end_turn"),
        ("tool_calls", "end_turn"),
        ("length", "max_tokens"),
        ("content_filter", "refusal"),
        ("eos", "eos"),
    ] {
        check(&[text.clone(), finish(reason)], &["text:a", expected]);
    }
}

#[test]
fn a_stream_without_finish_reason_is_truncated() {
    let error = events_of(&dialect(), &[delta(&json!({"content": "a"}))]).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Truncated);
    let mut decoder = Decoder::new(&dialect(), tools());
    decoder.push(&delta(&json!({"content": "a"})).to_string()).unwrap();
    assert_eq!(decoder.push("[DONE]").unwrap_err().class(), ErrorClass::Truncated);
}

#[test]
fn the_end_is_told_once() {
    let mut decoder = Decoder::new(&dialect(), tools());
    decoder.push(&finish("stop").to_string()).unwrap();
    assert_eq!(decoder.push("[DONE]").unwrap().len(), 1);
    assert_eq!(decoder.push("[DONE]").unwrap().len(), 0);
    assert_eq!(decoder.finish().unwrap().len(), 0);
}

#[test]
fn an_error_inside_the_stream_has_its_class() {
    for (error, expected) in [
        (json!({"message": "overloaded", "type": "overloaded_error"}), ErrorClass::Overloaded),
        (json!({"message": "oops", "code": 500}), ErrorClass::Server),
        (json!({"message": "x", "code": "rate_limit_exceeded"}), ErrorClass::RateLimit),
        (json!({"message": "exceeds the available context size"}), ErrorClass::Overflow),
        (json!("boom"), ErrorClass::Server),
    ] {
        let outcome = events_of(&dialect(), &[json!({"error": error})]);
        assert_eq!(outcome.unwrap_err().class(), expected, "{error}");
    }
}

#[test]
fn a_flood_of_calls_is_refused() {
    let chunks: Vec<Value> = (0..300)
        .map(|index| {
            piece(&json!({"index": index, "function": {"name": "Read", "arguments": "{"}}))
        })
        .collect();
    assert_eq!(events_of(&dialect(), &chunks).unwrap_err().class(), ErrorClass::Malformed);
}

#[test]
fn q12_a_printed_call_is_salvaged_only_when_asked_for_and_only_whole() {
    let says = |text: &str| {
        let (left, right) = text.split_at(text.len() / 2);
        [delta(&json!({"content": left})), delta(&json!({"content": right})), finish("stop")]
    };
    let printed = r#"<tool_call>{"name": "Read", "arguments": {"a": 1}}</tool_call>"#;
    let salvage = || dialect().salvage_text();
    let plain = format!("text:{printed}");
    check(&says(printed), &[&plain, "end_turn"]);
    check_with(&salvage(), &says(printed), &[r#"made_1 Read {"a":1}"#, "tool_use"]);
    let two = format!(" {printed}\n{printed}\n");
    check_with(
        &salvage(),
        &says(&two),
        &[r#"made_1 Read {"a":1}"#, r#"made_2 Read {"a":1}"#, "tool_use"],
    );
    for text in [
        format!("Look: {printed}"),
        format!("{printed} done"),
        printed.replace("Read", "Unknown"),
        printed.replace("</tool_call>", ""),
        "<tool_cool>".to_owned(),
        "<tool".to_owned(),
    ] {
        check_with(&salvage(), &says(&text), &[&format!("text:{text}"), "end_turn"]);
    }
}

#[test]
fn text_is_held_back_no_longer_than_needed() {
    let mut decoder = Decoder::new(&dialect().salvage_text(), tools());
    decoder.push(&delta(&json!({"content": "<tool"})).to_string()).unwrap();
    let events = decoder.push(&delta(&json!({"content": "box>"})).to_string()).unwrap();
    assert!(events.contains(&StreamEvent::TextDelta { index: 0, text: "<toolbox>".to_owned() }));
    let events = decoder.push(&delta(&json!({"content": "<tool"})).to_string()).unwrap();
    assert!(events.contains(&StreamEvent::TextDelta { index: 0, text: "<tool".to_owned() }));
}

#[test]
fn q16_strings_are_read_as_json_only_when_asked_for_and_only_where_they_fit() {
    let arguments = json!({"list": "[1]", "count": "2", "text": "3", "other": "4"}).to_string();
    let odd = json!({"list": "{}", "count": "2.5"}).to_string();
    let call = |arguments: &str| {
        [
            piece(
                &json!({"index": 0, "id": "x", "function": {"name": "Read", "arguments": arguments}}),
            ),
            finish("stop"),
        ]
    };
    check(&call(&arguments), &[&format!("x Read {arguments}"), "tool_use"]);
    let lenient = dialect().lenient_arguments();
    check_with(
        &lenient,
        &call(&arguments),
        &[r#"x Read {"list":[1],"count":2,"text":"3","other":"4"}"#, "tool_use"],
    );
    check_with(&lenient, &call(&odd), &[&format!("x Read {odd}"), "tool_use"]);
}

fn any_piece() -> impl Strategy<Value = Value> {
    let index = prop_oneof![Just(json!(null)), (0..3).prop_map(|index| json!(index))];
    let id = prop_oneof![Just(json!(null)), Just(json!("")), "[xyz]".prop_map(|id| json!(id))];
    let name = prop_oneof![
        Just(json!(null)),
        Just(json!("")),
        "(Read|Grep|R)".prop_map(|name| json!(name))
    ];
    let arguments = prop_oneof![
        Just(json!(null)),
        Just(json!({"a": 1})),
        "(\\{|\\}|\"a\"|:|1|\\{\\}| ){0,4}".prop_map(|text| json!(text)),
    ];
    (index, id, name, arguments).prop_map(|(index, id, name, arguments)| {
        json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}})
    })
}

proptest! {
    #[test]
    fn whatever_pieces_come_blocks_are_whole_and_ids_are_unique(
        pieces in proptest::collection::vec(any_piece(), 0..12),
        reason in "(stop|length|tool_calls)",
    ) {
        let mut chunks: Vec<Value> = pieces.iter().map(piece).collect();
        chunks.push(finish(&reason));
        let events = events_of(&dialect(), &chunks).unwrap();
        let mut begun = Vec::new();
        let mut ids = std::collections::HashSet::new();
        let mut done = std::collections::HashSet::new();
        for event in &events {
            match event {
                StreamEvent::BlockStart { index, .. } => {
                    prop_assert_eq!(*index, begun.len());
                    begun.push(*index);
                }
                StreamEvent::InputDelta { index, .. } => {
                    prop_assert!(begun.contains(index) && !done.contains(index));
                }
                StreamEvent::BlockDone { index, block, .. } => {
                    prop_assert!(begun.contains(index) && done.insert(*index));
                    let tool_use = block.as_tool_use().unwrap();
                    prop_assert!(tool_use.input.is_object() && !tool_use.name.is_empty());
                    prop_assert!(ids.insert(tool_use.id.clone()) && !tool_use.id.as_str().is_empty());
                }
                _ => {}
            }
        }
        let stopped = matches!(events.last(), Some(StreamEvent::Stop { .. }));
        prop_assert!(stopped);
    }

    #[test]
    fn however_the_arguments_are_cut_the_calls_are_the_same(
        inputs in proptest::collection::vec("[a-z\"{}\\\\ä🦀]{0,12}", 1..4),
        cut in 1..5_usize,
        form in 0..4_u8,
    ) {
        let mut chunks = Vec::new();
        let mut expected = Vec::new();
        for (place, text) in inputs.iter().enumerate() {
            let input = json!({"text": text});
            let id = format!("id{place}");
            expected.push(format!("{id} Read {input}"));
            let letters: Vec<char> = input.to_string().chars().collect();
            for (number, letters) in letters.chunks(cut).enumerate() {
                let part: String = letters.iter().collect();
                let first = number == 0;
                chunks.push(piece(&match form {
                    0 => json!({"index": place, "id": first.then_some(&id), "function": {"name": first.then_some("Read"), "arguments": part}}),
                    1 => json!({"id": first.then_some(&id), "function": {"name": first.then_some("Read"), "arguments": part}}),
                    2 => json!({"index": 0, "id": id, "function": {"name": "Read", "arguments": part}}),
                    _ => json!({"id": id, "function": {"name": "Read", "arguments": part}}),
                }));
            }
        }
        expected.push("tool_use".to_owned());
        chunks.push(finish("tool_calls"));
        prop_assert_eq!(summary(&events_of(&dialect(), &chunks).unwrap()), expected);
    }
}
