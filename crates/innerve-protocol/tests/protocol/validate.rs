//! The rules of a transcript, each broken alone.

use std::collections::BTreeSet;

use innerve_protocol::{ViolationRule as Rule, validate};
use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    test_runner::TestRunner,
};
use serde_json::{Value, json};

use crate::kit::{assistant, call, image, messages, result, text, thinking, user};
use crate::transcripts::hostile;

/// The transcript breaks exactly these rules, in these messages; the first text names what is given.
#[track_caller]
fn check(transcript: Value, expected: &[(Rule, usize)], named: &str) {
    let found = validate(&messages(transcript));
    let rules: Vec<(Rule, usize)> =
        found.iter().map(|violation| (violation.rule, violation.message.unwrap())).collect();
    assert_eq!(rules, expected, "{found:?}");
    assert!(found.iter().any(|violation| violation.text.contains(named)), "{found:?}");
}

#[track_caller]
fn check_good(transcript: Value) {
    assert_eq!(validate(&messages(transcript)), []);
}

#[test]
fn what_an_api_takes_breaks_no_rule() {
    check_good(json!([]));
    check_good(json!([user(json!("hi"))]));
    check_good(json!([user(json!("hi")), assistant(json!([]))]));
    check_good(json!([
        user(json!("hi")),
        assistant(json!([thinking(), text("I look."), call("a")])),
        user(json!([result("a", "x"), text("?"), image()]))
    ]));
    // The server merges adjacent messages of one role.
    check_good(json!([
        assistant(json!([call("a")])),
        assistant(json!([call("b")])),
        user(json!([result("b", "x")])),
        user(json!([result("a", "x")])),
        user(json!("go on")),
    ]));
    check_good(json!([
        assistant(json!([call("a")])),
        user(json!([{"type": "tool_result", "tool_use_id": "a"}]))
    ]));
    check_good(json!([
        assistant(json!([call("a")])),
        user(json!([{"type": "tool_result", "tool_use_id": "a", "content": [
            image(), {"type": "tool_reference", "tool_name": "Read"}, {"type": "document", "source": {}},
        ]}]))
    ]));
}

#[test]
fn a_tool_use_needs_a_result_in_the_next_message() {
    let named = "without `tool_result` blocks immediately after: a, b.";
    let call = assistant(json!([call("a"), call("b")]));
    check(json!([call]), &[(Rule::UnansweredToolUse, 0)], named);
    check(json!([call, user(json!("hi"))]), &[(Rule::UnansweredToolUse, 0)], named);
    check(
        json!([
            call,
            user(json!("hi")),
            assistant(json!("x")),
            user(json!([result("a", "x"), result("b", "x")]))
        ]),
        &[(Rule::UnansweredToolUse, 0), (Rule::OrphanToolResult, 3), (Rule::OrphanToolResult, 3)],
        named,
    );
}

#[test]
fn an_unanswered_tool_use_is_reported_for_the_message_before_the_answer() {
    let transcript =
        json!([user(json!("hi")), assistant(json!([call("a")])), user(json!([text("x")]))]);
    check(transcript, &[(Rule::UnansweredToolUse, 1)], "messages.1: ");
}

#[test]
fn results_come_before_everything_else() {
    for other in [text("x"), image(), json!({"type": "document", "source": {}})] {
        check(
            json!([assistant(json!([call("a")])), user(json!([other, result("a", "x")]))]),
            &[(Rule::ResultNotFirst, 1)],
            "messages.1: ",
        );
    }
}

#[test]
fn a_result_needs_a_tool_use_in_the_message_before() {
    check(
        json!([user(json!([result("a", "x")]))]),
        &[(Rule::OrphanToolResult, 0)],
        "unexpected `tool_use_id` found in `tool_result` blocks: a.",
    );
}

#[test]
fn ids_are_unique_in_the_whole_transcript() {
    check(
        json!([
            assistant(json!([call("a")])),
            user(json!([result("a", "x")])),
            assistant(json!([call("a")])),
            user(json!([result("a", "x")])),
        ]),
        &[(Rule::DuplicateToolUseId, 2)],
        "messages.2: `tool_use` ids must be unique",
    );
}

#[test]
fn a_tool_use_has_one_result() {
    check(
        json!([
            assistant(json!([call("a")])),
            user(json!([result("a", "x"), result("a", "x"), result("a", "x")]))
        ]),
        &[(Rule::DuplicateToolResult, 1)],
        "multiple `tool_result` blocks with id: a",
    );
}

#[test]
fn ids_and_names_are_plain_and_inputs_are_objects() {
    let named = |id: &str, name: &str, input: Value| {
        json!([
            assistant(json!([{"type": "tool_use", "id": id, "name": name, "input": input}])),
            user(json!([result(id, "x")])),
        ])
    };
    for id in ["", "a b", "a.b", "ü"] {
        check(
            named(id, "Read", json!({})),
            &[(Rule::IllegalToolUseId, 0)],
            "messages.0.content.0: tool_use.id",
        );
    }
    check_good(named("a", &"x".repeat(200), json!({})));
    for name in ["", "a b", "ü", &"x".repeat(201)] {
        check(named("a", name, json!({})), &[(Rule::IllegalToolName, 0)], "tool_use.name");
    }
    for input in [json!(null), json!("{}"), json!([])] {
        check(named("a", "Read", input), &[(Rule::InputNotObject, 0)], "tool_use.input");
    }
}

#[test]
fn text_is_neither_empty_nor_blank() {
    check(json!([user(json!(""))]), &[(Rule::EmptyText, 0)], "must be non-empty");
    for blank in [" ", "\n", "\u{a0}", "\u{1d}", "\u{3000}"] {
        check(
            json!([user(json!([text("x"), text(blank)]))]),
            &[(Rule::BlankText, 0)],
            "messages.0.content.1: ",
        );
    }
    check(
        json!([
            assistant(json!([call("a")])),
            user(json!([{"type": "tool_result", "tool_use_id": "a", "content": [text("")]}]))
        ]),
        &[(Rule::EmptyText, 1)],
        "messages.1.content.0.tool_result.content.0: ",
    );
    check(
        json!([
            assistant(json!([call("a")])),
            user(json!([{"type": "tool_result", "tool_use_id": "a", "content": " "}]))
        ]),
        &[(Rule::BlankText, 1)],
        "messages.1.content.0: ",
    );
}

#[test]
fn only_the_last_assistant_text_may_not_end_in_whitespace() {
    let transcript = json!([
        assistant(json!([text("a ")])),
        user(json!([text("b ")])),
        assistant(json!([text("c\n")]))
    ]);
    check(transcript, &[(Rule::TrailingWhitespace, 2)], "trailing whitespace");
}

#[test]
fn only_a_last_assistant_message_may_be_empty() {
    for empty in [json!([user(json!([]))]), json!([assistant(json!([])), user(json!("x"))])] {
        check(
            empty,
            &[(Rule::EmptyMessage, 0)],
            "messages.0: all messages must have non-empty content",
        );
    }
}

#[test]
fn instructions_are_no_message() {
    check(json!([{"role": "system", "content": "x"}]), &[(Rule::SystemRole, 0)], "role `system`");
}

#[test]
fn blocks_keep_to_their_roles() {
    for (transcript, named) in [
        (json!([user(json!([call("a")]))]), "`tool_use` blocks are not permitted in user messages"),
        (json!([user(json!([thinking(), text("x")]))]), "`thinking` blocks"),
        (json!([user(json!([{"type": "redacted_thinking", "data": ""}]))]), "`redacted_thinking`"),
        (
            json!([assistant(json!([image()]))]),
            "`image` blocks are not permitted in assistant messages",
        ),
        (json!([assistant(json!([result("a", "x")]))]), "`tool_result` blocks"),
        (
            json!([user(json!([{"type": "tool_reference", "tool_name": "Read"}]))]),
            "`tool_reference`",
        ),
    ] {
        check(transcript, &[(Rule::MisplacedBlock, 0)], named);
    }
    for inner in [call("b"), result("b", "x"), thinking()] {
        let outer = json!({"type": "tool_result", "tool_use_id": "a", "content": [inner]});
        check(
            json!([assistant(json!([call("a")])), user(json!([outer]))]),
            &[(Rule::MisplacedBlock, 1)],
            "not permitted in tool results",
        );
    }
}

#[test]
fn thinking_is_never_last_but_in_the_last_message() {
    let ends = assistant(json!([text("x"), thinking()]));
    check_good(json!([user(json!("hi")), ends]));
    check(
        json!([ends, user(json!("hi"))]),
        &[(Rule::ThinkingLast, 0)],
        "messages.0: the final block",
    );
    check_good(json!([
        assistant(json!([thinking()])),
        assistant(json!([text("x")])),
        user(json!("hi"))
    ]));
}

#[test]
fn an_error_result_says_something_in_words() {
    let failed = |content: Value| {
        let mut result = json!({"type": "tool_result", "tool_use_id": "a", "is_error": true});
        if !content.is_null() {
            result["content"] = content;
        }
        json!([assistant(json!([call("a")])), user(json!([result]))])
    };
    for content in [json!(null), json!(""), json!([])] {
        check(failed(content), &[(Rule::EmptyErrorResult, 1)], "`is_error` is true");
    }
    check_good(failed(json!([text("no")])));
    check(failed(json!([text("no"), image()])), &[(Rule::MediaInErrorResult, 1)], "must be type");
}

#[test]
fn at_most_four_markers_wherever_they_are() {
    let marked = |kind: Value| {
        let mut block = kind;
        block["cache_control"] = json!({"type": "ephemeral"});
        block
    };
    let transcript = |extra: Value| {
        json!([
            assistant(json!([marked(call("a"))])),
            user(json!([
                {"type": "tool_result", "tool_use_id": "a", "content": [marked(text("x"))], "cache_control": {"type": "ephemeral"}},
                marked(json!({"type": "document", "source": {}})),
                extra,
            ])),
        ])
    };
    check_good(transcript(text("x")));
    check(
        transcript(marked(image())),
        &[(Rule::TooManyCacheMarkers, 1)],
        "a maximum of 4 blocks with cache_control may be provided, found 5",
    );
}

#[test]
fn no_marker_where_the_api_takes_none() {
    let marker = json!({"type": "ephemeral"});
    check(
        json!([user(json!([{"type": "text", "text": "", "cache_control": marker}]))]),
        &[(Rule::EmptyText, 0), (Rule::MarkerNotAllowed, 0)],
        "cache_control cannot be set for empty text blocks",
    );
    check(
        json!([assistant(
            json!([{"type": "redacted_thinking", "data": "x", "cache_control": marker}, text("x")])
        )]),
        &[(Rule::MarkerNotAllowed, 0)],
        "thinking",
    );
}

/// Guards the property tests: what they draw from breaks every rule of a transcript.
#[test]
fn hostile_transcripts_break_every_rule() {
    let mut runner = TestRunner::deterministic();
    let strategy = hostile();
    let mut broken = BTreeSet::new();
    for _ in 0..2_000 {
        let transcript = strategy.new_tree(&mut runner).unwrap().current();
        broken.extend(validate(&transcript).into_iter().map(|violation| violation.rule));
    }
    let all = BTreeSet::from([
        Rule::UnansweredToolUse,
        Rule::ResultNotFirst,
        Rule::OrphanToolResult,
        Rule::DuplicateToolUseId,
        Rule::DuplicateToolResult,
        Rule::IllegalToolUseId,
        Rule::IllegalToolName,
        Rule::InputNotObject,
        Rule::EmptyText,
        Rule::BlankText,
        Rule::TrailingWhitespace,
        Rule::EmptyMessage,
        Rule::SystemRole,
        Rule::MisplacedBlock,
        Rule::ThinkingLast,
        Rule::EmptyErrorResult,
        Rule::MediaInErrorResult,
        Rule::TooManyCacheMarkers,
        Rule::MarkerNotAllowed,
    ]);
    assert_eq!(broken, all);
}
