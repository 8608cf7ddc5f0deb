//! The table of exit codes (Claude Code, "Hooks reference"), row by row, with real commands.

use innerve_pipeline::{HookDecision, HookEventName, HookOutcome};
use serde_json::json;

use crate::kit::{at, pre, pre_tool_use, say};

fn deny(reason: &str) -> Option<HookDecision> {
    Some(HookDecision::Deny(reason.to_owned()))
}

/// A hook that ends so has no say, and a person is told this.
#[track_caller]
fn assert_told(outcome: &HookOutcome, words: &[&str]) {
    let silent = HookOutcome { messages: Vec::new(), ..outcome.clone() };
    assert_eq!(silent, HookOutcome::default());
    assert_eq!(outcome.messages.len(), 1, "{outcome:?}");
    for word in words {
        assert!(outcome.messages[0].contains(word), "{word} in {outcome:?}");
    }
}

#[tokio::test]
async fn code_0_without_output_decides_nothing() {
    assert_eq!(pre_tool_use(say(0, "", "")).await, HookOutcome::default());
    assert_eq!(pre_tool_use(say(0, "", "chatter")).await, HookOutcome::default());
}

#[tokio::test]
async fn code_0_with_text_is_context_at_three_events_only() {
    assert_eq!(pre_tool_use(say(0, "text", "")).await, HookOutcome::default());
    for name in [HookEventName::SessionStart, HookEventName::UserPromptSubmit] {
        let outcome = at(name, say(0, "  remember the milk\n", ""), json!({})).await;
        assert_eq!(outcome.context, ["remember the milk"], "{name:?}");
    }
    let stop = at(HookEventName::Stop, say(0, "text", ""), json!({})).await;
    assert_eq!(stop, HookOutcome::default());
}

#[tokio::test]
async fn code_0_with_json_is_read() {
    let output = pre(&json!({"permissionDecision": "deny", "permissionDecisionReason": "no"}));
    assert_eq!(pre_tool_use(say(0, &format!("\n  {output}\n"), "")).await.decision, deny("no"));
}

#[tokio::test]
async fn code_0_with_json_of_another_form_is_an_error_that_blocks_nothing() {
    let outcome = pre_tool_use(say(0, r#"{"decision": 7}"#, "")).await;
    assert_told(&outcome, &["PreToolUse hook", "documented form"]);
}

#[tokio::test]
async fn code_2_blocks_with_the_words_of_standard_error() {
    assert_eq!(pre_tool_use(say(2, "", "not here\n")).await.decision, deny("not here"));
    assert_eq!(pre_tool_use(say(2, "plain text", "not here")).await.decision, deny("not here"));
    let silent = pre_tool_use(say(2, "", "")).await;
    let Some(HookDecision::Deny(reason)) = silent.decision else { panic!("{silent:?}") };
    assert!(reason.contains("gave no reason"), "{reason}");
}

#[tokio::test]
async fn code_2_takes_the_reason_of_json_that_blocks() {
    for output in [
        pre(&json!({"permissionDecision": "deny", "permissionDecisionReason": "by json"})),
        json!({"decision": "block", "reason": "by json"}).to_string(),
    ] {
        assert_eq!(pre_tool_use(say(2, &output, "by stderr")).await.decision, deny("by json"));
    }
}

#[tokio::test]
async fn code_2_reads_the_other_fields_of_json_too() {
    let output = json!({
        "systemMessage": "look", "continue": false, "stopReason": "enough",
        "hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "mind", "updatedInput": {"command": "x"}},
    });
    let outcome = pre_tool_use(say(2, &output.to_string(), "no")).await;
    assert_eq!(outcome.decision, deny("no"));
    assert_eq!(
        (outcome.messages, outcome.context),
        (vec!["look".to_owned()], vec!["mind".to_owned()])
    );
    assert_eq!(outcome.stop.as_deref(), Some("enough"));
}

#[tokio::test]
async fn h05_json_that_allows_does_not_undo_code_2() {
    let output = pre(&json!({"permissionDecision": "allow", "permissionDecisionReason": "fine"}));
    assert_eq!(pre_tool_use(say(2, &output, "no")).await.decision, deny("no"));
}

#[tokio::test]
async fn h06_code_2_blocks_whatever_its_json_is() {
    for output in [r#"{"decision": 7}"#, "{\"half\": ", "{}"] {
        assert_eq!(pre_tool_use(say(2, output, "no")).await.decision, deny("no"), "{output}");
    }
}

#[tokio::test]
async fn h08_another_code_with_json_decides_as_the_json_says() {
    for (decision, expected) in
        [("deny", deny("why")), ("allow", Some(HookDecision::Allow)), ("nothing", None)]
    {
        let output =
            pre(&json!({"permissionDecision": decision, "permissionDecisionReason": "why"}));
        for code in [1, 3, 127] {
            let outcome = pre_tool_use(say(code, &output, "")).await;
            assert_eq!(outcome.decision, expected, "{code} {decision}");
        }
    }
}

#[tokio::test]
async fn h07_another_code_without_json_is_an_error_that_blocks_nothing() {
    assert_told(&pre_tool_use(say(1, "", "")).await, &["exit code 1"]);
    assert_told(&pre_tool_use(say(1, "text", "went wrong")).await, &["exit code 1: went wrong"]);
    assert_told(&pre_tool_use(say(3, "{\"half\": ", "")).await, &["exit code 3"]);
    let missing = json!({"type": "command", "command": "./is-not-there.sh"});
    assert_told(&pre_tool_use(missing).await, &["exit code 127"]);
    let missing = json!({"type": "command", "command": "/is/not/there", "args": []});
    assert_told(&pre_tool_use(missing).await, &["could not be started"]);
}

#[tokio::test]
async fn code_2_does_at_each_event_what_the_event_can_bear() {
    use HookEventName as Name;
    let decides = [
        Name::PreToolUse,
        Name::PostToolUse,
        Name::PostToolUseFailure,
        Name::PostToolBatch,
        Name::UserPromptSubmit,
        Name::Stop,
        Name::SubagentStop,
        Name::TaskCreated,
        Name::TaskCompleted,
        Name::PreCompact,
        Name::ConfigChange,
    ];
    let shown = [
        Name::PermissionRequest,
        Name::SessionStart,
        Name::SessionEnd,
        Name::SubagentStart,
        Name::PostCompact,
        Name::CwdChanged,
    ];
    let ignored = [Name::PermissionDenied, Name::Notification];
    let outcome = async |name| at(name, say(2, "", "why"), json!({})).await;
    for name in decides {
        assert_eq!(outcome(name).await.decision, deny("why"), "{name:?}");
    }
    for name in shown {
        assert_told(&outcome(name).await, &["why"]);
    }
    for name in ignored {
        assert_eq!(outcome(name).await, HookOutcome::default(), "{name:?}");
    }
}
