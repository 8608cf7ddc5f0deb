//! Running: what a hook is told, where it runs, side by side, once, and with whom watching.

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use innerve_hooks::{HookObserver, HookRun, HookSession, Hooks};
use innerve_permission::RuleSource;
use innerve_pipeline::{Hook as _, HookDecision, HookEventName};
use serde_json::{Value, json};

use crate::kit::{Ground, World, decide, fixture, layer, pre, pre_tool_use, say, script};

fn deny(reason: &str) -> Option<HookDecision> {
    Some(HookDecision::Deny(reason.to_owned()))
}

fn shell(line: &str) -> Value {
    json!({"type": "command", "command": line, "timeout": 20})
}

#[tokio::test]
async fn a_hook_reads_the_documented_fields_on_its_standard_input() {
    let ground = Ground::new();
    let layers = [layer(
        RuleSource::User,
        HookEventName::PreToolUse,
        &[script("record.sh", &[&ground.text("told")])],
    )];
    let transcript_path = Some(ground.path("log.jsonl"));
    let (hooks, _) = Hooks::new(&layers, HookSession { transcript_path, ..ground.session() });
    ground.before(&hooks, "ls").await;
    let told: Value = serde_json::from_slice(&fs::read(ground.path("told")).unwrap()).unwrap();
    assert_eq!(
        told,
        json!({
            "session_id": "s1", "transcript_path": ground.text("log.jsonl"), "cwd": ground.text("cwd"),
            "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": {"command": "ls"}, "tool_use_id": "t1",
        })
    );
}

#[tokio::test]
async fn a_hook_runs_in_the_current_directory_with_the_given_environment_and_no_terminal() {
    let ground = Ground::new();
    let layers =
        [layer(RuleSource::User, HookEventName::PreToolUse, &[script("surroundings.sh", &[])])];
    let mut session = ground.session();
    session.environment.insert("GIVEN".into(), "given".into());
    let (hooks, _) = Hooks::new(&layers, session);
    let project = ground.text("project");
    let expected = format!("{}|{project}|{project}|given|unset|none", ground.text("cwd"));
    assert_eq!(ground.before(&hooks, "ls").await.decision, deny(&expected));
}

#[tokio::test]
async fn the_projects_directory_is_filled_in_even_where_it_has_blanks() {
    let ground = Ground::new();
    let project = ground.path("my project");
    fs::create_dir(&project).unwrap();
    fs::copy(fixture("say.sh"), project.join("say.sh")).unwrap();
    let direct = json!({
        "type": "command", "command": "sh", "args": ["${CLAUDE_PROJECT_DIR}/say.sh", "2", "", "direct $HOME"],
    });
    let line = shell("sh \"${INNERVE_PROJECT_DIR}/say.sh\" 2 '' line");
    for (entry, reason) in [(direct, "direct $HOME"), (line, "line")] {
        let layers = [layer(RuleSource::User, HookEventName::PreToolUse, &[entry])];
        let session = HookSession { project_dir: project.clone(), ..ground.session() };
        let (hooks, _) = Hooks::new(&layers, session);
        assert_eq!(ground.before(&hooks, "ls").await.decision, deny(reason));
    }
}

#[tokio::test]
async fn the_shell_can_be_chosen() {
    let mut entry = shell("[[ x == x ]] && echo bash >&2; exit 2");
    entry["shell"] = json!("bash");
    assert_eq!(pre_tool_use(entry).await.decision, deny("bash"));
}

#[tokio::test]
async fn hooks_run_side_by_side_and_all_to_their_end() {
    let ground = Ground::new();
    let (first, second) = (ground.text("first"), ground.text("second"));
    // Each waits for a sign of the other, so that one after the other they would never end.
    let meet = |own: &str, other: &str| {
        shell(&format!("touch {own}; until [ -e {other} ]; do sleep 0.01; done"))
    };
    let slow = shell(&format!("sleep 0.3; touch {}", ground.text("slow")));
    let entries = [decide("deny", "at once"), meet(&first, &second), meet(&second, &first), slow];
    let hooks = ground.hooks(HookEventName::PreToolUse, &entries);
    let outcome = ground.before(&hooks, "ls").await;
    assert_eq!((outcome.decision, outcome.messages), (deny("at once"), Vec::new()));
    assert!(ground.path("slow").exists(), "a refusal cancels nobody");
}

#[tokio::test]
async fn words_are_combined_in_the_order_of_configuration() {
    let ground = Ground::new();
    let change = |command: &str, delay: &str| {
        let output =
            pre(&json!({"updatedInput": {"command": command}, "additionalContext": command}));
        shell(&format!("sleep {delay}; echo '{output}'"))
    };
    let layers = [
        layer(RuleSource::Policy, HookEventName::PreToolUse, &[change("managed", "0")]),
        layer(RuleSource::User, HookEventName::PreToolUse, &[change("user", "0.3")]),
    ];
    let outcome = ground.before(&ground.layers(&layers), "ls").await;
    assert_eq!(outcome.updated_input, Some(json!({"command": "managed"})));
    assert_eq!(outcome.context, ["user", "managed"]);
    assert!(outcome.messages[0].contains("2 PreToolUse hooks changed the input"), "{outcome:?}");
}

#[tokio::test]
async fn a_hook_of_a_skill_may_run_once_and_no_other_does() {
    let ground = Ground::new();
    let mut entry = say(2, "", "met");
    entry["once"] = json!(true);
    for (source, again) in [(RuleSource::Skill, false), (RuleSource::User, true)] {
        let hooks = ground.layers(&[layer(source, HookEventName::PreToolUse, &[entry.clone()])]);
        assert!(ground.before(&hooks, "ls").await.decision.is_some());
        assert_eq!(ground.before(&hooks, "ls").await.decision.is_some(), again, "{source:?}");
    }
}

#[tokio::test]
async fn hooks_of_the_end_of_a_session_share_its_short_time() {
    let ground = Ground::new();
    let mut long = shell("sleep 30");
    long.as_object_mut().unwrap().remove("timeout");
    let hooks = ground.hooks(HookEventName::SessionEnd, &[long]);
    let since = Instant::now();
    let outcome =
        hooks.run(ground.event(HookEventName::SessionEnd, json!({"reason": "other"}))).await;
    assert!(since.elapsed() < Duration::from_secs(10));
    assert!(outcome.messages[0].contains("within 1.5s"), "{outcome:?}");
}

#[derive(Default)]
struct Watcher(Mutex<Vec<String>>);

impl HookObserver for Watcher {
    fn started(&self, run: &HookRun<'_>) {
        let line =
            format!("start {} {:?} {} {:?}", run.event, run.source, run.label, run.status_message);
        self.0.lock().unwrap().push(line);
    }
    fn ended(&self, run: &HookRun<'_>, elapsed: Duration) {
        assert!(elapsed > Duration::ZERO);
        self.0.lock().unwrap().push(format!("end {}", run.label));
    }
}

#[tokio::test]
async fn who_watches_is_told_of_each_run_and_what_to_show() {
    let ground = Ground::new();
    let mut entry = shell("true");
    entry["statusMessage"] = json!("Checking style");
    let watcher = Arc::new(Watcher::default());
    let hooks = ground
        .hooks(HookEventName::PreToolUse, &[entry])
        .with_observer(Arc::clone(&watcher) as Arc<dyn HookObserver>);
    ground.before(&hooks, "ls").await;
    assert_eq!(
        *watcher.0.lock().unwrap(),
        [r#"start PreToolUse User `true` Some("Checking style")"#, "end `true`"]
    );
}

#[tokio::test]
async fn nobody_listens_where_there_are_no_hooks() {
    let ground = Ground::new();
    let hooks = ground.layers(&[]);
    assert!(hooks.is_empty());
    assert!(!hooks.listens(HookEventName::PreToolUse, Some("Bash")));
    let hooks = ground.hooks(HookEventName::Stop, &[say(0, "", "")]);
    assert!(
        hooks.listens(HookEventName::Stop, None) && !hooks.listens(HookEventName::PreToolUse, None)
    );
}

#[tokio::test]
async fn a_guard_in_python_refuses_what_it_is_for() {
    let has_python = std::process::Command::new("python3").arg("--version").output();
    if !has_python.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: there is no python3");
        return;
    }
    let guard = json!({"type": "command", "command": "python3", "args": [fixture("guard.py")]});
    let world = World::before(&[guard]);
    let refused = world.runs("rm -r build").await;
    assert!(refused.settled.result.content.plain_text().contains("no removing: rm -r build"));
    assert_eq!((refused.inputs.len(), refused.asked), (0, 0));
    let ran = world.runs("touch build").await;
    assert_eq!((ran.inputs.len(), ran.asked), (1, 1));
}
