//! Tests of what JSON and answers mean at each event; exit codes are tested with real commands in `tests/it`.

use serde_json::json;

use super::*;

fn reader(event: EventName) -> Reader {
    Reader {
        event,
        tool: Some("Bash".to_owned()),
        source: RuleSource::Project,
        label: "`x`".to_owned(),
        deferral: Deferral::Ignored,
    }
}

fn said(event: EventName, output: &Value) -> HookOutcome {
    reader(event).text(&output.to_string())
}

/// What the event's own part of the output does.
fn specific(event: EventName, mut fields: Value) -> HookOutcome {
    fields["hookEventName"] = json!(event.to_string());
    said(event, &json!({ "hookSpecificOutput": fields }))
}

#[track_caller]
fn check_decision(fields: &Value, expected: Option<HookDecision>) {
    let outcome = specific(EventName::PreToolUse, fields.clone());
    assert_eq!(outcome, HookOutcome { decision: expected, ..HookOutcome::default() }, "{fields}");
}

#[expect(clippy::unnecessary_wraps, reason = "as outcomes hold it")]
fn deny(reason: &str) -> Option<HookDecision> {
    Some(HookDecision::Deny(reason.to_owned()))
}

#[test]
fn a_tool_may_be_allowed_asked_about_denied_or_put_off() {
    let word = |word: &str| json!({"permissionDecision": word, "permissionDecisionReason": "why"});
    check_decision(&word("allow"), Some(HookDecision::Allow));
    check_decision(&word("ask"), Some(HookDecision::Ask("[Project] why".to_owned())));
    check_decision(&word("deny"), deny("why"));
    check_decision(&json!({"permissionDecision": "deny"}), deny("the hook `x` gave no reason"));
    check_decision(&json!({}), None);
}

#[test]
fn h11_a_call_is_put_off_only_where_nobody_can_be_asked() {
    let output = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "defer"}});
    let ignored = said(EventName::PreToolUse, &output);
    assert_eq!(ignored.decision, None);
    assert!(ignored.messages[0].contains("put the call off"), "{ignored:?}");
    let honoured = Reader { deferral: Deferral::Honoured, ..reader(EventName::PreToolUse) }
        .text(&output.to_string());
    assert_eq!(honoured.decision, Some(HookDecision::Defer));
}

#[test]
fn the_old_decisions_still_count_and_the_stricter_wins() {
    let pre = |output: Value| said(EventName::PreToolUse, &output).decision;
    assert_eq!(pre(json!({"decision": "approve"})), Some(HookDecision::Allow));
    assert_eq!(pre(json!({"decision": "block", "reason": "old"})), deny("old"));
    let both = json!({
        "decision": "approve",
        "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "new"},
    });
    assert_eq!(pre(both), deny("new"));
    assert_eq!(
        said(EventName::PostToolUse, &json!({"decision": "approve"})),
        HookOutcome::default()
    );
}

#[test]
fn a_block_counts_where_something_can_be_held_back() {
    for event in EventName::ALL {
        let outcome = said(event, &json!({"decision": "block", "reason": "no"}));
        let expected = match event.block() {
            Block::Decides => (deny("no"), 0),
            Block::Shown => (None, 1),
            Block::Ignored => (None, 0),
        };
        assert_eq!((outcome.decision, outcome.messages.len()), expected, "{event}");
    }
}

#[test]
fn all_events_share_some_fields() {
    let output = json!({"continue": false, "stopReason": "enough", "systemMessage": "look", "suppressOutput": true});
    let outcome = said(EventName::Notification, &output);
    assert_eq!(
        (outcome.stop.as_deref(), outcome.messages),
        (Some("enough"), vec!["look".to_owned()])
    );
    let silent = said(EventName::Stop, &json!({"continue": false}));
    assert_eq!(silent.stop.as_deref(), Some("the hook `x` gave no reason"));
    assert_eq!(said(EventName::Stop, &json!({"continue": true})), HookOutcome::default());
}

#[test]
fn context_reaches_the_model_only_at_events_that_have_it() {
    for event in EventName::ALL {
        let outcome = specific(event, json!({"additionalContext": "mind"}));
        let expected: &[&str] = if event.told() == Told::Nothing { &[] } else { &["mind"] };
        assert_eq!(outcome.context, expected, "{event}");
        let text = reader(event).text("plain words");
        let expected: &[&str] = if event.told() == Told::Text { &["plain words"] } else { &[] };
        assert_eq!(text.context, expected, "{event}");
    }
}

#[test]
fn a_text_is_cut_unless_the_pipeline_saves_what_it_cuts() {
    let long = "ä".repeat(TEXT + 5);
    let submitted = specific(EventName::UserPromptSubmit, json!({"additionalContext": long}));
    assert!(submitted.context[0].ends_with("\n[5 more characters were left out]"));
    let used = specific(EventName::PostToolUse, json!({"additionalContext": long}));
    assert_eq!(used.context, std::slice::from_ref(&long));
    let denied = specific(
        EventName::PreToolUse,
        json!({"permissionDecision": "deny", "permissionDecisionReason": long}),
    );
    let Some(HookDecision::Deny(reason)) = denied.decision else { panic!("{denied:?}") };
    assert!(reason.chars().count() < TEXT + 50);
}

#[test]
fn inputs_and_outputs_are_replaced_whole() {
    let outcome = specific(EventName::PreToolUse, json!({"updatedInput": {"command": "ls"}}));
    assert_eq!(outcome.updated_input, Some(json!({"command": "ls"})));
    let outcome = specific(EventName::PostToolUse, json!({"updatedToolOutput": [1]}));
    assert_eq!(outcome.updated_output, Some(json!([1])));
    let mcp = json!({"updatedMCPToolOutput": "x"});
    assert_eq!(specific(EventName::PostToolUse, mcp).updated_output, None);
    let of_server = Reader { tool: Some("mcp__s__t".to_owned()), ..reader(EventName::PostToolUse) };
    let output = json!({"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedMCPToolOutput": "x"}});
    assert_eq!(of_server.text(&output.to_string()).updated_output, Some(json!("x")));
    // What another event may say is no word of this one.
    let foreign = json!({"permissionDecision": "allow", "updatedInput": {}, "retry": true});
    assert_eq!(specific(EventName::PostToolUse, foreign), HookOutcome::default());
}

#[test]
fn a_permission_request_is_answered() {
    let answer =
        |decision: Value| specific(EventName::PermissionRequest, json!({"decision": decision}));
    let allowed = answer(json!({"behavior": "allow", "updatedInput": {"a": 1}}));
    assert_eq!(allowed.permission, Some(PermissionAnswer::Allow));
    assert_eq!((allowed.updated_input, allowed.messages.len()), (Some(json!({"a": 1})), 0));
    let denied = answer(json!({"behavior": "deny", "message": "no", "interrupt": true}));
    let expected = PermissionAnswer::Deny { message: "no".to_owned(), interrupt: true };
    assert_eq!(denied.permission, Some(expected));
    assert!(specific(EventName::PermissionDenied, json!({"retry": true})).retry);
}

#[test]
fn changes_that_come_with_a_yes_are_handed_on_and_odd_ones_are_told() {
    let updates = json!([
        {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
        {"type": "setMode", "mode": "yolo", "destination": "session"},
    ]);
    let outcome = specific(
        EventName::PermissionRequest,
        json!({"decision": {"behavior": "allow", "updatedPermissions": updates}}),
    );
    assert_eq!(outcome.permission, Some(PermissionAnswer::Allow));
    assert_eq!(outcome.updates.len(), 1, "{outcome:?}");
    assert!(outcome.messages[0].contains("yolo"), "{outcome:?}");
}

#[test]
fn json_of_another_form_has_no_say_and_is_told() {
    for output in [
        r#"{"continue": "no"}"#,
        r#"{"decision": "maybe"}"#,
        r#"{"hookSpecificOutput": {"permissionDecision": "deny"}}"#,
        r#"{"hookSpecificOutput": {"hookEventName": "Stop", "permissionDecision": "deny"}}"#,
        r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "yes"}}"#,
        r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": "ls"}}"#,
        r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "#,
        "{} {}",
        "{",
        &"{\"a\":".repeat(100_000),
    ] {
        let outcome = reader(EventName::PreToolUse).text(output);
        let told = HookOutcome { messages: Vec::new(), ..outcome.clone() };
        assert_eq!(told, HookOutcome::default(), "{output:.80}");
        assert_eq!(outcome.messages.len(), 1, "{output:.80}");
    }
    assert_eq!(reader(EventName::PreToolUse).text(r#"{"unknown": 1}"#), HookOutcome::default());
}

#[test]
fn i8_an_input_that_is_too_deep_to_be_kept_has_no_say_and_is_told() {
    let nested = |levels| (1..levels).fold(json!({}), |inner, _| json!({ "a": inner }));
    let answers = |input: Value| {
        [
            (
                EventName::PreToolUse,
                json!({ "permissionDecision": "allow", "updatedInput": input }),
            ),
            (
                EventName::PermissionRequest,
                json!({ "decision": { "behavior": "allow", "updatedInput": input } }),
            ),
        ]
    };
    for (event, fields) in answers(nested(100)) {
        assert_eq!(specific(event, fields).updated_input, Some(nested(100)), "{event}");
    }
    for (event, fields) in answers(nested(101)) {
        let outcome = specific(event, fields);
        assert!(outcome.messages[0].contains("hook `x` wrote an `updatedInput`"), "{outcome:?}");
        let told = HookOutcome { messages: Vec::new(), ..outcome };
        assert_eq!(told, HookOutcome::default(), "{event}");
    }
}

#[test]
fn a_no_of_a_model_depends_on_the_event() {
    let no = |impossible| Answer { ok: false, reason: Some("tests fail".to_owned()), impossible };
    let ask = |event, impossible, ends| reader(event).answer(no(impossible), ends);
    for event in EventName::ALL {
        let yes = Answer { ok: true, ..no(true) };
        assert_eq!(reader(event).answer(yes, true), HookOutcome::default(), "{event}");
    }
    for event in [EventName::PreToolUse, EventName::PostToolUse] {
        let ending = ask(event, false, true);
        assert_eq!(
            (ending.stop.as_deref(), ending.decision),
            (Some("tests fail"), deny("tests fail"))
        );
        let going_on = ask(event, false, false);
        assert_eq!((going_on.stop, going_on.decision), (None, deny("tests fail")));
    }
    for event in [EventName::Stop, EventName::SubagentStop] {
        assert_eq!(ask(event, false, true).decision, deny("tests fail"));
        let in_vain = ask(event, true, true);
        assert_eq!((in_vain.decision, in_vain.stop, in_vain.messages.len()), (None, None, 1));
    }
    for event in [EventName::PermissionRequest, EventName::PermissionDenied] {
        assert_eq!(ask(event, false, true), HookOutcome::default());
    }
    assert_eq!(ask(EventName::UserPromptSubmit, false, true).decision, deny("tests fail"));
}

proptest::proptest! {
    #[test]
    fn whatever_is_printed_nothing_panics_and_no_piece_of_an_allow_allows(
        noise in "\\PC{0,40}", event in 0_usize..31, at in 0_usize..200,
    ) {
        let reader = reader(EventName::ALL[event]);
        let whole = json!({"decision": "approve", "hookSpecificOutput": {
            "hookEventName": reader.event.to_string(), "permissionDecision": "allow", "decision": {"behavior": "allow"},
        }});
        let whole = whole.to_string();
        let (before, after) = whole.split_at(at % whole.len());
        for text in [noise.clone(), format!("{{{noise}"), before.to_owned(), format!("{before}\"{noise}{after}")] {
            let outcome = reader.text(&text);
            proptest::prop_assert_eq!(outcome.decision, None, "{}", text);
            proptest::prop_assert_eq!(outcome.permission, None, "{}", text);
        }
    }
}
