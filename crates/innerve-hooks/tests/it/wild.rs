//! Commands that behave badly: they hang, fork, flood, die, print half of something, or saw off their own branch.

use std::fs;
use std::time::{Duration, Instant};

use innerve_pipeline::{HookDecision, HookEventName, HookOutcome};
use serde_json::{Value, json};

use crate::kit::{Ground, ids, is_alive, pre_tool_use, say, script, until};

fn with_timeout(mut entry: Value, seconds: f64) -> Value {
    entry["timeout"] = json!(seconds);
    entry
}

#[track_caller]
fn denied(outcome: &HookOutcome) -> &str {
    let Some(HookDecision::Deny(reason)) = &outcome.decision else { panic!("{outcome:?}") };
    reason
}

#[tokio::test]
async fn h09_a_hook_that_hangs_is_killed_with_its_children_and_has_no_say() {
    let ground = Ground::new();
    let entry = with_timeout(script("hang.sh", &[&ground.text("ids")]), 2.0);
    let hooks = ground.hooks(HookEventName::PreToolUse, &[entry]);
    let since = Instant::now();
    let outcome = ground.before(&hooks, "ls").await;
    assert!(since.elapsed() < Duration::from_secs(10));
    assert_eq!(outcome.decision, None, "what it said before counts for nothing");
    assert!(outcome.messages[0].contains("did not end within 2s"), "{outcome:?}");
    let ids = ids(&ground.path("ids"));
    assert_eq!(ids.len(), 2);
    until("the group is gone", || ids.iter().all(|id| !is_alive(id))).await;
}

#[tokio::test]
async fn a_hook_that_is_given_up_is_killed_with_its_children() {
    let ground = Ground::new();
    let hooks =
        ground.hooks(HookEventName::PreToolUse, &[script("hang.sh", &[&ground.text("ids")])]);
    let file = ground.path("ids");
    tokio::select! {
        outcome = ground.before(&hooks, "ls") => panic!("{outcome:?}"),
        () = until("the hook has started", || file.exists()) => {}
    }
    let ids = ids(&file);
    until("the group is gone", || ids.iter().all(|id| !is_alive(id))).await;
}

#[tokio::test]
async fn a_process_left_behind_with_the_pipes_holds_nothing_up() {
    let ground = Ground::new();
    let entry = script("daemon.sh", &[&ground.text("id")]);
    let hooks = ground.hooks(HookEventName::PreToolUse, &[entry]);
    let since = Instant::now();
    let outcome = ground.before(&hooks, "ls").await;
    assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
    assert_eq!(denied(&outcome), "from above");
    let ids = ids(&ground.path("id"));
    assert!(is_alive(&ids[0]), "what a hook leaves in the background goes on");
    std::process::Command::new("kill").args(&ids).status().unwrap();
}

#[tokio::test]
async fn a_flood_is_drained_and_cut() {
    let outcome = pre_tool_use(with_timeout(script("flood.sh", &[]), 60.0)).await;
    let reason = denied(&outcome);
    assert!(reason.starts_with("xxx") && reason.len() < 11_000, "{}", reason.len());
    let notes: Vec<&str> = reason.lines().skip(1).collect();
    assert!(notes[0].ends_with("more characters were left out]"), "{notes:?}");
    assert!(notes[1].ends_with("more bytes were left out]"), "{notes:?}");
}

#[tokio::test]
async fn an_input_of_megabytes_reaches_a_hook_and_one_that_reads_none_of_it_is_fine() {
    let ground = Ground::new();
    let big = "y".repeat(3_000_000);
    let count = json!({"type": "command", "command": "wc -c >&2; exit 2"});
    let deaf = say(2, "", "deaf");
    for (entry, check) in [(count, "3000"), (deaf, "deaf")] {
        let hooks = ground.hooks(HookEventName::PreToolUse, &[entry]);
        let outcome = ground.before(&hooks, &big).await;
        assert!(denied(&outcome).starts_with(check), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_hook_that_dies_of_a_signal_has_no_say_unless_it_had_said_all() {
    let outcome = pre_tool_use(script("die.sh", &["KILL", ""])).await;
    assert_eq!(outcome.decision, None);
    assert!(outcome.messages[0].contains("signal 9"), "{outcome:?}");
    let outcome = pre_tool_use(script("die.sh", &["TERM", "{\"hookSpec"])).await;
    assert!(outcome.messages[0].contains("signal 15"), "{outcome:?}");
    let whole = json!({"decision": "block", "reason": "last words"}).to_string();
    assert_eq!(denied(&pre_tool_use(script("die.sh", &["KILL", &whole])).await), "last words");
}

#[tokio::test]
async fn half_a_json_has_no_say() {
    let half = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"al"#;
    let outcome = pre_tool_use(say(0, half, "")).await;
    assert_eq!(outcome.decision, None);
    assert!(outcome.messages[0].contains("documented form"), "{outcome:?}");
}

#[tokio::test]
async fn json_that_is_too_long_has_no_say() {
    let command =
        r#"printf '{"systemMessage":"'; head -c 2000000 /dev/zero | tr '\0' x; printf '"}'"#;
    let outcome = pre_tool_use(json!({"type": "command", "command": command})).await;
    assert_eq!(outcome.messages.len(), 1);
    assert!(outcome.messages[0].contains("more than 1048576 bytes"), "{outcome:?}");
}

#[tokio::test]
async fn bytes_that_are_no_text_are_replaced() {
    assert_eq!(denied(&pre_tool_use(script("bad_utf8.sh", &[])).await), "\u{fffd}\u{fffd} no");
}

#[tokio::test]
async fn a_hook_that_removes_its_directory_does_not_strand_the_next_one() {
    let ground = Ground::new();
    let hooks = ground.hooks(HookEventName::PreToolUse, &[script("lose_cwd.sh", &[])]);
    assert_eq!(ground.before(&hooks, "ls").await, HookOutcome::default());
    assert!(!ground.path("cwd").exists());

    let where_am_i = json!({"type": "command", "command": "pwd >&2; exit 2"});
    let hooks = ground.hooks(HookEventName::PreToolUse, &[where_am_i]);
    assert_eq!(denied(&ground.before(&hooks, "ls").await), ground.text("project"));
    fs::remove_dir(ground.path("project")).unwrap();
    assert_eq!(denied(&ground.before(&hooks, "ls").await), ground.text("home"));
    fs::remove_dir(ground.path("home")).unwrap();
    assert_eq!(denied(&ground.before(&hooks, "ls").await), "/");
}
