//! Which hooks an event meets: matchers, conditions, files and switches (Claude Code, "Hooks reference" and "Settings").

use std::fs;

use innerve_hooks::Hooks;
use innerve_permission::{Layer, RuleSource};
use innerve_pipeline::{Hook as _, HookEvent, HookEventName, HookOutcome};
use serde_json::{Value, json};

use crate::kit::{Ground, layer, say, script};

/// Hooks with this matcher, whose script refuses whatever it meets.
fn matching(ground: &Ground, event: HookEventName, matcher: &str) -> Hooks {
    let groups = json!([{"matcher": matcher, "hooks": [say(2, "", "met")]}]);
    let settings = json!({"hooks": {event.name(): groups}});
    ground.layers(&[Layer::new(RuleSource::User, "/", settings)])
}

/// Whether a hook with this matcher runs for that tool.
async fn check(matcher: &str, tool: &str, meets: bool) {
    let ground = Ground::new();
    let hooks = matching(&ground, HookEventName::PreToolUse, matcher);
    assert_eq!(hooks.listens(HookEventName::PreToolUse, Some(tool)), meets, "{matcher} {tool}");
    let event = ground.event(HookEventName::PreToolUse, json!({"tool_input": {}}));
    let outcome = hooks.run(HookEvent { tool: Some(tool.to_owned()), ..event }).await;
    assert_eq!(outcome.decision.is_some(), meets, "{matcher} {tool}");
}

#[tokio::test]
async fn h19_a_pattern_matches_anywhere_in_a_name() {
    check("Edit.*", "NotebookEdit", true).await;
    check("Edit.*", "Read", false).await;
}

#[tokio::test]
async fn h20_a_plain_name_is_that_of_one_agent_type() {
    let ground = Ground::new();
    let hooks = matching(&ground, HookEventName::SubagentStop, "code-reviewer");
    for (agent, meets) in [("code-reviewer", true), ("senior-code-reviewer", false)] {
        let event = ground.event(HookEventName::SubagentStop, json!({}));
        let event = HookEvent { agent_type: Some(agent.to_owned()), ..event };
        assert_eq!(hooks.run(event).await.decision.is_some(), meets, "{agent}");
    }
}

#[tokio::test]
async fn h21_a_list_names_each_of_its_tools() {
    check("Bash, PowerShell", "Bash", true).await;
    check("Bash, PowerShell", "PowerShell", true).await;
    check("Bash, PowerShell", "BashOutput", false).await;
}

#[tokio::test]
async fn h22_a_server_alone_names_none_of_its_tools() {
    check("mcp__memory", "mcp__memory__read", false).await;
    check("mcp__memory__.*", "mcp__memory__read", true).await;
}

#[tokio::test]
async fn hooks_for_a_tools_former_name_go_on() {
    check("Task", "Agent", true).await;
    check("Task", "TaskOutput", false).await;
}

#[tokio::test]
async fn an_event_that_does_not_tell_its_subject_meets_every_hook() {
    let ground = Ground::new();
    let hooks = matching(&ground, HookEventName::PreCompact, "auto");
    for (fields, meets) in [
        (json!({"trigger": "auto"}), true),
        (json!({"trigger": "manual"}), false),
        (json!({}), true),
    ] {
        let outcome = hooks.run(ground.event(HookEventName::PreCompact, fields)).await;
        assert_eq!(outcome.decision.is_some(), meets);
    }
}

fn conditional(condition: &str) -> Value {
    let mut entry = say(2, "", "met");
    entry["if"] = json!(condition);
    entry
}

/// Whether a hook with this `if` runs for that command.
async fn on_command(condition: &str, command: &str, meets: bool) {
    let ground = Ground::new();
    let hooks = ground.hooks(HookEventName::PreToolUse, &[conditional(condition)]);
    let outcome = ground.before(&hooks, command).await;
    assert_eq!(outcome.decision.is_some(), meets, "{condition} {command}");
}

#[tokio::test]
async fn h23_every_command_of_a_line_is_looked_at() {
    for (command, meets) in [
        ("FOO=1 git push", true),
        ("npm t && git push", true),
        ("echo $(git log)", true),
        ("echo $(date)", false),
    ] {
        on_command("Bash(git *)", command, meets).await;
    }
}

#[tokio::test]
async fn h24_a_narrow_condition_also_holds_where_the_shell_fills_something_in() {
    on_command("Bash(git push *)", "echo $(date)", true).await;
    on_command("Bash(git push *)", "git status", false).await;
}

#[tokio::test]
async fn h25_a_command_that_nobody_can_read_meets_every_condition() {
    on_command("Bash(rm *)", "if then fi (", true).await;
}

#[tokio::test]
async fn h26_the_path_of_a_condition_starts_where_its_settings_stand() {
    let ground = Ground::new();
    for (path, meets) in [("src/a", true), ("vendor/src/a", false)] {
        let settings = json!({"hooks": {"PreToolUse": [{"hooks": [conditional("Edit(src/**)")]}]}});
        let hooks = ground.layers(&[Layer::new(RuleSource::Project, ground.path("cwd"), settings)]);
        let input = json!({"tool_input": {"file_path": ground.path("cwd").join(path)}});
        let event = ground.event(HookEventName::PreToolUse, input);
        let outcome = hooks.run(HookEvent { tool: Some("Edit".to_owned()), ..event }).await;
        assert_eq!(outcome.decision.is_some(), meets, "{path}");
    }
}

#[tokio::test]
async fn h27_a_condition_at_an_event_without_a_tool_never_holds() {
    let ground = Ground::new();
    let layers = [layer(RuleSource::User, HookEventName::Stop, &[conditional("Bash")])];
    let (hooks, warnings) = Hooks::new(&layers, ground.session());
    assert!(warnings[0].reason.contains("never runs"), "{warnings:?}");
    let outcome = hooks.run(ground.event(HookEventName::Stop, json!({}))).await;
    assert_eq!(outcome, HookOutcome::default());
}

#[tokio::test]
async fn h28_an_identical_hook_of_two_files_runs_once() {
    let ground = Ground::new();
    let entry = script("record.sh", &[&ground.text("told")]);
    let other = json!({"type": "command", "command": format!("echo >> {}", ground.text("told"))});
    let layers = [
        layer(RuleSource::Project, HookEventName::PreToolUse, &[entry.clone(), other]),
        layer(RuleSource::User, HookEventName::PreToolUse, &[entry.clone(), entry]),
    ];
    ground.before(&ground.layers(&layers), "ls").await;
    let lines = fs::read_to_string(ground.path("told")).unwrap();
    assert_eq!(lines.lines().filter(|line| line.starts_with('{')).count(), 1);
    assert_eq!(lines.lines().filter(|line| line.is_empty()).count(), 1);
}

/// A layer with a hook that refuses by its source's name, and one more setting.
fn refusing(source: RuleSource, setting: (&str, Value)) -> Layer {
    let groups = json!([{"hooks": [say(2, "", source.name())]}]);
    let mut settings = json!({"hooks": {"PreToolUse": groups}});
    settings[setting.0] = setting.1;
    Layer { trusted: true, ..Layer::new(source, "/repo", settings) }
}

/// What the hooks of these layers say.
async fn words(layers: &[Layer]) -> Option<String> {
    let ground = Ground::new();
    let outcome = ground.before(&ground.layers(layers), "ls").await;
    match outcome.decision {
        Some(innerve_pipeline::HookDecision::Deny(word)) => Some(word),
        _ => None,
    }
}

#[tokio::test]
async fn h29_a_project_switches_on_what_its_user_switched_off() {
    let user = refusing(RuleSource::User, ("disableAllHooks", json!(true)));
    let project = refusing(RuleSource::Project, ("disableAllHooks", json!(false)));
    assert_eq!(words(std::slice::from_ref(&user)).await, None);
    assert!(words(&[user, project]).await.is_some());
}

#[tokio::test]
async fn h30_managed_hooks_run_though_a_user_switched_all_off() {
    let user = refusing(RuleSource::User, ("disableAllHooks", json!(true)));
    let managed = refusing(RuleSource::Policy, ("x", json!(null)));
    assert_eq!(words(&[user, managed]).await.as_deref(), Some("policy"));
    let off = refusing(RuleSource::Policy, ("disableAllHooks", json!(true)));
    assert_eq!(words(&[off]).await, None);
}
