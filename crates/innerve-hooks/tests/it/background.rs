//! Hooks that nobody waits for.

use std::time::{Duration, Instant};

use innerve_pipeline::{Hook as _, HookEventName, HookOutcome};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::kit::{Ground, ids, is_alive, pre, script, until};

fn background(line: &str) -> Value {
    json!({"type": "command", "command": line, "async": true, "timeout": 20})
}

async fn until_said(hooks: &innerve_hooks::Hooks) {
    until("the hook says something", || hooks.listens(HookEventName::UserPromptSubmit, None)).await;
}

#[tokio::test]
async fn a_hook_in_the_background_holds_nothing_up_and_speaks_at_the_next_turn() {
    let ground = Ground::new();
    let output = json!({
        "systemMessage": "tests ran", "continue": false, "decision": "block",
        "hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "2 tests fail",
                               "permissionDecision": "deny", "updatedInput": {"command": "x"}},
    });
    let entry = background(&format!("sleep 0.2; echo '{output}'"));
    let hooks = ground.hooks(HookEventName::PreToolUse, &[entry]);
    assert_eq!(ground.before(&hooks, "ls").await, HookOutcome::default());
    assert!(!hooks.listens(HookEventName::UserPromptSubmit, None));

    until_said(&hooks).await;
    let submitted = hooks.run(ground.event(HookEventName::UserPromptSubmit, json!({}))).await;
    let expected = HookOutcome {
        context: vec!["2 tests fail".to_owned()],
        messages: vec!["tests ran".to_owned()],
        ..HookOutcome::default()
    };
    assert_eq!(submitted, expected, "it decides nothing any more");
    assert_eq!(hooks.take_late(), HookOutcome::default());
}

#[tokio::test]
async fn a_hook_in_the_background_may_wake_the_model_with_its_reason() {
    let ground = Ground::new();
    let mut entry = background("sleep 0.1; echo 'the build broke' >&2; exit 2");
    entry["asyncRewake"] = json!(true);
    let hooks = ground.hooks(HookEventName::PreToolUse, &[entry]);
    ground.before(&hooks, "ls").await;
    timeout(Duration::from_secs(10), hooks.woken()).await.unwrap();
    let late = hooks.take_late();
    assert!(late.context[0].ends_with("says: the build broke"), "{late:?}");
}

#[tokio::test]
async fn only_code_2_of_a_hook_that_may_wakes_the_model() {
    let ground = Ground::new();
    let output = pre(&json!({"additionalContext": "done"}));
    let mut fine = background(&format!("echo '{output}'"));
    fine["asyncRewake"] = json!(true);
    let silent = background(&format!("echo '{output}'; exit 2"));
    for entry in [fine, silent] {
        let hooks = ground.hooks(HookEventName::PreToolUse, &[entry]);
        ground.before(&hooks, "ls").await;
        until_said(&hooks).await;
        assert!(timeout(Duration::from_millis(50), hooks.woken()).await.is_err());
        assert_eq!(hooks.take_late().context, ["done"]);
    }
}

#[tokio::test]
async fn a_hook_in_the_background_has_a_timeout_too() {
    let ground = Ground::new();
    let mut entry = background("sleep 30");
    entry["timeout"] = json!(0.2);
    let hooks = ground.hooks(HookEventName::PreToolUse, &[entry]);
    ground.before(&hooks, "ls").await;
    until_said(&hooks).await;
    let late = hooks.take_late();
    assert!(late.messages[0].contains("did not end within 200ms"), "{late:?}");
}

#[tokio::test]
async fn too_many_hooks_in_the_background_are_not_started() {
    let ground = Ground::new();
    let hooks = ground.hooks(HookEventName::PreToolUse, &[background("sleep 30")]);
    let mut told = Vec::new();
    for _ in 0..34 {
        told.extend(ground.before(&hooks, "ls").await.messages);
    }
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("too many hooks"), "{told:?}");
}

#[test]
fn a_hook_in_the_background_dies_with_the_runtime() {
    let ground = Ground::new();
    let mut entry = script("hang.sh", &[&ground.text("ids")]);
    entry["async"] = json!(true);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let hooks = ground.hooks(HookEventName::PreToolUse, &[entry]);
        ground.before(&hooks, "ls").await;
        until("the hook has started", || ground.path("ids").exists()).await;
    });
    let ids = ids(&ground.path("ids"));
    drop(runtime);
    let since = Instant::now();
    while ids.iter().any(|id| is_alive(id)) {
        assert!(since.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(10));
    }
}
