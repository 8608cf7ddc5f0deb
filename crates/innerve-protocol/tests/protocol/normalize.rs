//! Repairs: what is done to a transcript, and that an API takes what comes out.

use innerve_protocol::{LOST_RESULT, Message, RepairKind as Kind, normalize, validate};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::kit::{assistant, call, image, messages, result, text, thinking, user};
use crate::transcripts::{hostile, orderly};

#[track_caller]
fn check(before: Value, after: Value, kinds: &[(Kind, usize)]) {
    let mut transcript = messages(before);
    let repairs = normalize(&mut transcript);
    assert_eq!(serde_json::to_value(&transcript).unwrap(), after);
    let mut found: Vec<(Kind, usize)> =
        repairs.iter().map(|repair| (repair.kind, repair.message.unwrap())).collect();
    let mut kinds = kinds.to_vec();
    found.sort_unstable();
    kinds.sort_unstable();
    assert_eq!(found, kinds);
    assert_eq!(validate(&transcript), []);
}

#[track_caller]
fn check_untouched(transcript: Value) {
    check(transcript.clone(), transcript, &[]);
}

fn lost(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": LOST_RESULT, "is_error": true})
}

#[test]
fn a_good_transcript_is_left_alone() {
    check_untouched(json!([]));
    check_untouched(json!([
        user(json!([text("hi")])),
        assistant(json!([thinking(), text("I look."), call("a"), call("b")])),
        user(json!([result("a", "1"), result("b", ""), text("go on"), image()])),
        assistant(json!([text("done")])),
    ]));
}

#[test]
fn a_lost_result_is_replaced_by_an_error_in_the_order_of_the_tool_uses() {
    check(
        json!([
            assistant(json!([call("a"), call("b"), call("c")])),
            user(json!([result("a", "1"), result("c", "3")]))
        ]),
        json!([
            assistant(json!([call("a"), call("b"), call("c")])),
            user(json!([result("a", "1"), lost("b"), result("c", "3")])),
        ]),
        &[(Kind::AnsweredToolUse, 0)],
    );
}

#[test]
fn a_tool_use_at_the_end_is_answered() {
    check(
        json!([user(json!([text("hi")])), assistant(json!([call("a")]))]),
        json!([user(json!([text("hi")])), assistant(json!([call("a")])), user(json!([lost("a")]))]),
        &[(Kind::AnsweredToolUse, 1)],
    );
}

#[test]
fn a_tool_use_in_mid_history_is_answered_right_behind_it() {
    check(
        json!([
            assistant(json!([call("a")])),
            user(json!([text("hello")])),
            assistant(json!([text("hi")]))
        ]),
        json!([
            assistant(json!([call("a")])),
            user(json!([lost("a"), text("hello")])),
            assistant(json!([text("hi")])),
        ]),
        &[(Kind::AnsweredToolUse, 0)],
    );
}

#[test]
fn a_late_result_is_an_orphan() {
    check(
        json!([
            assistant(json!([call("a")])),
            user(json!([text("hello")])),
            assistant(json!([text("hi")])),
            user(json!([result("a", "1"), text("more")])),
        ]),
        json!([
            assistant(json!([call("a")])),
            user(json!([lost("a"), text("hello")])),
            assistant(json!([text("hi")])),
            user(json!([text("more")])),
        ]),
        &[(Kind::AnsweredToolUse, 0), (Kind::DroppedOrphanResult, 3)],
    );
}

#[test]
fn messages_that_an_orphan_parted_are_merged() {
    check(
        json!([
            assistant(json!([text("x")])),
            user(json!([result("a", "1")])),
            assistant(json!([call("b")])),
            user(json!([result("b", "2")]))
        ]),
        json!([assistant(json!([text("x"), call("b")])), user(json!([result("b", "2")]))]),
        &[(Kind::DroppedOrphanResult, 1), (Kind::DroppedEmptyMessage, 1), (Kind::MergedRoles, 2)],
    );
}

#[test]
fn results_come_first_and_in_order() {
    check(
        json!([
            assistant(json!([call("a"), call("b")])),
            user(json!([text("t"), result("b", "2"), result("a", "1")]))
        ]),
        json!([
            assistant(json!([call("a"), call("b")])),
            user(json!([result("a", "1"), result("b", "2"), text("t")]))
        ]),
        &[(Kind::MovedResults, 1)],
    );
}

#[test]
fn results_in_several_messages_are_brought_together() {
    check(
        json!([
            assistant(json!([call("a")])),
            assistant(json!([call("b")])),
            user(json!([result("a", "1")])),
            user(json!([result("b", "2")]))
        ]),
        json!([
            assistant(json!([call("a"), call("b")])),
            user(json!([result("a", "1"), result("b", "2")]))
        ]),
        &[(Kind::MergedRoles, 1), (Kind::MergedRoles, 3)],
    );
}

#[test]
fn the_first_of_two_results_stays() {
    check(
        json!([assistant(json!([call("a")])), user(json!([result("a", "1"), result("a", "2")]))]),
        json!([assistant(json!([call("a")])), user(json!([result("a", "1")]))]),
        &[(Kind::DroppedDuplicateResult, 1)],
    );
}

#[test]
fn equal_ids_in_one_message_are_told_apart() {
    check(
        json!([
            assistant(json!([call("a"), call("a")])),
            user(json!([result("a", "1"), result("a", "2")]))
        ]),
        json!([
            assistant(json!([call("a"), call("a_2")])),
            user(json!([result("a", "1"), result("a_2", "2")]))
        ]),
        &[(Kind::RenamedToolUse, 0)],
    );
}

#[test]
fn equal_ids_in_two_messages_are_told_apart() {
    check(
        json!([
            assistant(json!([call("a")])),
            user(json!([result("a", "1")])),
            assistant(json!([call("a")])),
            user(json!([result("a", "2")])),
            assistant(json!([call("a_2")])),
            user(json!([result("a_2", "3")])),
        ]),
        json!([
            assistant(json!([call("a")])),
            user(json!([result("a", "1")])),
            assistant(json!([call("a_2")])),
            user(json!([result("a_2", "2")])),
            assistant(json!([call("a_2_2")])),
            user(json!([result("a_2_2", "3")])),
        ]),
        &[(Kind::RenamedToolUse, 2), (Kind::RenamedToolUse, 4)],
    );
}

#[test]
fn illegal_ids_are_cleaned_with_their_results() {
    check(
        json!([
            assistant(json!([call("functions.Read:0"), call(""), call("functions_Read_0")])),
            user(json!([
                result("functions_Read_0", "3"),
                result("", "2"),
                result("functions.Read:0", "1")
            ])),
        ]),
        json!([
            assistant(json!([call("functions_Read_0"), call("toolu"), call("functions_Read_0_2")])),
            user(json!([
                result("functions_Read_0", "1"),
                result("toolu", "2"),
                result("functions_Read_0_2", "3")
            ])),
        ]),
        &[
            (Kind::RenamedToolUse, 0),
            (Kind::RenamedToolUse, 0),
            (Kind::RenamedToolUse, 0),
            (Kind::MovedResults, 1),
        ],
    );
}

#[test]
fn blank_text_goes_and_takes_empty_messages_with_it() {
    check(
        json!([
            user(json!([text("hi"), text(""), text(" \n\u{a0}")])),
            assistant(json!([text(" ")])),
            user(json!([])),
            user(json!("there")),
        ]),
        json!([user(json!([text("hi"), text("there")]))]),
        &[
            (Kind::DroppedEmptyText, 0),
            (Kind::DroppedEmptyText, 0),
            (Kind::DroppedEmptyText, 1),
            (Kind::DroppedEmptyMessage, 1),
            (Kind::DroppedEmptyMessage, 2),
            (Kind::MergedRoles, 3),
        ],
    );
}

#[test]
fn a_transcript_of_nothing_becomes_empty() {
    check(
        json!([user(json!("")), assistant(json!([]))]),
        json!([]),
        &[
            (Kind::DroppedEmptyText, 0),
            (Kind::DroppedEmptyMessage, 0),
            (Kind::DroppedEmptyMessage, 1),
        ],
    );
}

#[test]
fn instructions_in_the_middle_become_reminders() {
    check(
        json!([
            assistant(json!([call("a")])),
            {"role": "system", "content": "Plan mode is on."},
            user(json!([result("a", "1")])),
        ]),
        json!([
            assistant(json!([call("a")])),
            user(json!([
                result("a", "1"),
                text("<system-reminder>\nPlan mode is on.\n</system-reminder>")
            ])),
        ]),
        &[(Kind::ConvertedSystem, 1), (Kind::MergedRoles, 2), (Kind::MovedResults, 1)],
    );
}

#[test]
fn a_result_in_the_models_message_moves_behind_its_tool_use() {
    check(
        json!([assistant(json!([text("I look."), call("a"), result("a", "1"), text("Fine.")]))]),
        json!([
            assistant(json!([text("I look."), call("a")])),
            user(json!([result("a", "1")])),
            assistant(json!([text("Fine.")])),
        ]),
        &[(Kind::MovedBlock, 0)],
    );
}

#[test]
fn a_tool_use_in_the_users_message_moves_into_one_of_the_model() {
    check(
        json!([user(json!([text("hi"), call("a"), thinking(), result("a", "1")]))]),
        json!([
            user(json!([text("hi")])),
            assistant(json!([call("a")])),
            user(json!([result("a", "1")]))
        ]),
        &[(Kind::MovedBlock, 0), (Kind::DroppedBlock, 0)],
    );
}

#[test]
fn an_image_in_the_models_message_moves_behind_it() {
    check(
        json!([
            assistant(json!([call("a"), image(), text("Look.")])),
            user(json!([result("a", "1")]))
        ]),
        json!([
            assistant(json!([call("a"), text("Look.")])),
            user(json!([result("a", "1"), image()])),
        ]),
        &[(Kind::MovedBlock, 0), (Kind::MovedResults, 0), (Kind::MergedRoles, 1)],
    );
}

#[test]
fn results_between_the_models_words_make_messages_of_their_own() {
    check(
        json!([assistant(json!([
            call("a"),
            result("a", "1"),
            text("Now b."),
            call("b"),
            result("b", "2"),
            text("Done."),
        ]))]),
        json!([
            assistant(json!([call("a")])),
            user(json!([result("a", "1")])),
            assistant(json!([text("Now b."), call("b")])),
            user(json!([result("b", "2")])),
            assistant(json!([text("Done.")])),
        ]),
        &[(Kind::MovedBlock, 0), (Kind::MovedBlock, 0)],
    );
}

#[test]
fn nested_results_are_flattened() {
    check(
        json!([
            assistant(json!([call("a")])),
            user(json!([{"type": "tool_result", "tool_use_id": "a", "content": [
                text("1"), result("b", "2"), call("c"), thinking(),
                {"type": "tool_result", "tool_use_id": "d", "content": [result("e", "3"), image()]},
                text(""),
            ]}])),
        ]),
        json!([
            assistant(json!([call("a")])),
            user(
                json!([{"type": "tool_result", "tool_use_id": "a", "content": [text("1"), text("2"), text("3"), image()]}])
            ),
        ]),
        &[(Kind::FlattenedResult, 1), (Kind::DroppedEmptyText, 1)],
    );
}

#[test]
fn deeply_nested_results_do_not_overflow_the_stack() {
    use innerve_protocol::{ContentBlock, Role, ToolResult, ToolUse};
    let mut block = ContentBlock::text("deep");
    for _ in 0..2_000 {
        block = ContentBlock::ToolResult(ToolResult::ok("a".into(), vec![block]));
    }
    let call = ContentBlock::ToolUse(ToolUse::new("a", "Read", json!({})));
    let mut transcript =
        vec![Message::new(Role::Assistant, vec![call]), Message::new(Role::User, vec![block])];
    normalize(&mut transcript);
    let last = transcript.last().unwrap().content.first().unwrap();
    assert_eq!(last.as_tool_result().unwrap().content.plain_text(), "deep");
}

#[test]
fn an_error_without_a_reason_gets_one() {
    for content in [json!(null), json!(""), json!("  "), json!([]), json!([text(" ")])] {
        let mut failed = json!({"type": "tool_result", "tool_use_id": "a", "content": content, "is_error": true});
        if content.is_null() {
            failed.as_object_mut().unwrap().remove("content");
        }
        let mut transcript =
            messages(json!([assistant(json!([call("a")])), user(json!([failed]))]));
        let repairs = normalize(&mut transcript);
        assert!(repairs.iter().any(|repair| repair.kind == Kind::FilledErrorResult), "{content}");
        assert_eq!(validate(&transcript), []);
    }
}

#[test]
fn an_image_moves_out_of_an_error_result() {
    check(
        json!([
            assistant(json!([call("a")])),
            user(
                json!([{"type": "tool_result", "tool_use_id": "a", "content": [image(), text("no")], "is_error": true}])
            ),
        ]),
        json!([
            assistant(json!([call("a")])),
            user(
                json!([{"type": "tool_result", "tool_use_id": "a", "content": [text("no")], "is_error": true}, image()])
            ),
        ]),
        &[(Kind::MovedMedia, 1)],
    );
}

#[test]
fn what_a_model_named_badly_can_be_sent_back() {
    let long = "x".repeat(300);
    let named = |name: &str, input: Value| json!({"type": "tool_use", "id": "a", "name": name, "input": input});
    for (name, expected) in
        [("", "unknown_tool"), ("Read file", "Read_file"), (&long, &"x".repeat(64))]
    {
        check(
            json!([
                assistant(json!([named(name, json!("{\"a\":"))])),
                user(json!([result("a", "no")]))
            ]),
            json!([
                assistant(json!([named(expected, json!({}))])),
                user(json!([result("a", "no")]))
            ]),
            &[(Kind::RenamedTool, 0), (Kind::ReplacedInput, 0)],
        );
    }
}

#[test]
fn thinking_alone_goes_once_the_conversation_went_on() {
    check(
        json!([user(json!("hi")), assistant(json!([thinking()])), user(json!("and?"))]),
        json!([user(json!([text("hi"), text("and?")]))]),
        &[(Kind::DroppedThinking, 1), (Kind::DroppedEmptyMessage, 1), (Kind::MergedRoles, 2)],
    );
    check(
        json!([assistant(json!([text("x"), thinking(), text(" ")])), user(json!("and?"))]),
        json!([assistant(json!([text("x")])), user(json!([text("and?")]))]),
        &[(Kind::DroppedEmptyText, 0), (Kind::DroppedThinking, 0)],
    );
}

#[test]
fn thinking_alone_stays_in_a_turn_that_may_go_on() {
    check_untouched(json!([user(json!([text("hi")])), assistant(json!([thinking()]))]));
}

#[test]
fn thinking_stays_byte_for_byte() {
    let empty = json!({"type": "thinking", "thinking": "", "signature": "EqQBCkYIBxgC "});
    let redacted = json!({"type": "redacted_thinking", "data": "Eu4=\n"});
    check_untouched(json!([
        user(json!([text("hi")])),
        assistant(json!([empty, redacted, text("x")]))
    ]));
}

#[test]
fn only_the_last_assistant_text_is_trimmed() {
    check(
        json!([
            assistant(json!([text("a ")])),
            user(json!([text("b ")])),
            assistant(json!([text(" c \n\u{1f}")]))
        ]),
        json!([
            assistant(json!([text("a ")])),
            user(json!([text("b ")])),
            assistant(json!([text(" c")]))
        ]),
        &[(Kind::TrimmedWhitespace, 2)],
    );
}

#[test]
fn the_last_four_markers_stay() {
    let marked =
        |text: &str| json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}});
    check(
        json!([
            user(json!([marked("1"), text("x"), marked("2")])),
            assistant(json!([marked("3")])),
            user(json!([marked("4"), marked("5"), marked("6")])),
        ]),
        json!([
            user(json!([text("1"), text("x"), text("2")])),
            assistant(json!([marked("3")])),
            user(json!([marked("4"), marked("5"), marked("6")])),
        ]),
        &[(Kind::DroppedCacheMarker, 0), (Kind::DroppedCacheMarker, 0)],
    );
}

#[test]
fn a_marker_on_thinking_goes() {
    let marked = json!({"type": "thinking", "thinking": "hm", "signature": "sig", "cache_control": {"type": "ephemeral"}});
    check(
        json!([assistant(json!([marked, text("x")]))]),
        json!([assistant(json!([thinking(), text("x")]))]),
        &[(Kind::DroppedCacheMarker, 0)],
    );
}

#[test]
fn fields_of_merged_messages_survive() {
    check(
        json!([{"role": "user", "content": "a", "x": 1}, {"role": "user", "content": "b", "x": 2, "y": 3}]),
        json!([{"role": "user", "content": [text("a"), text("b")], "x": 1, "y": 3}]),
        &[(Kind::MergedRoles, 1)],
    );
}

#[test]
fn a_thousand_equal_ids_are_cheap() {
    let calls: Vec<Value> = (0..20_000).map(|_| call("a")).collect();
    let mut transcript = messages(json!([assistant(json!(calls))]));
    normalize(&mut transcript);
    assert_eq!(validate(&transcript), []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn i7_whatever_comes_in_an_api_takes_what_comes_out(mut transcript in hostile()) {
        normalize(&mut transcript);
        prop_assert_eq!(validate(&transcript), vec![]);
    }

    #[test]
    fn a_second_pass_finds_nothing_to_do(mut transcript in hostile()) {
        normalize(&mut transcript);
        let once = transcript.clone();
        prop_assert_eq!(normalize(&mut transcript), vec![]);
        prop_assert_eq!(transcript, once);
    }

    #[test]
    fn no_repair_means_no_change(mut transcript in hostile()) {
        let before = transcript.clone();
        if normalize(&mut transcript).is_empty() {
            prop_assert_eq!(transcript, before);
        }
    }

    #[test]
    fn an_orderly_transcript_is_left_alone(mut transcript in orderly()) {
        let before = transcript.clone();
        prop_assert_eq!(normalize(&mut transcript), vec![]);
        prop_assert_eq!(transcript, before);
    }

    #[test]
    fn i12_a_transcript_that_grows_keeps_its_beginning(transcript in hostile(), more in orderly()) {
        // Cut where the conversation stands at a user's message: that is when it is sent.
        let mut short = transcript;
        short.push(Message::user("go on"));
        let mut long = short.clone();
        long.push(Message::assistant("I do."));
        long.extend(more);
        for message in short.iter_mut().chain(&mut long) {
            strip_markers(message);
        }
        normalize(&mut short);
        normalize(&mut long);
        prop_assert_eq!(long.get(..short.len()), Some(short.as_slice()));
    }
}

/// Markers wander to the end as a conversation grows; they are no part of what is cached.
fn strip_markers(message: &mut Message) {
    let mut value = serde_json::to_value(&*message).unwrap();
    strip(&mut value);
    *message = serde_json::from_value(value).unwrap();
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.shift_remove("cache_control");
            fields.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
