//! Hooks of a session: what they are told, and what follows from their words.

use std::sync::{Arc, Mutex};

use innerve_agent::{TerminalReason, Transition};
use innerve_pipeline::{Hook, HookDecision, HookEvent, HookEventName, HookOutcome};
use innerve_tool::BoxFuture;
use serde_json::json;

use crate::kit::{World, finish, results, texts};
use crate::script::{Script, answer, call, response};

type Say = Box<dyn Fn(&HookEvent) -> HookOutcome + Send + Sync>;

/// Hears every event of a session and answers by a function.
struct Session {
    say: Say,
    heard: Arc<Mutex<Vec<HookEvent>>>,
}

impl Hook for Session {
    fn listens(&self, _: HookEventName, tool: Option<&str>) -> bool {
        tool.is_none()
    }
    fn run(&self, event: HookEvent) -> BoxFuture<'_, HookOutcome> {
        let outcome = (self.say)(&event);
        self.heard.lock().unwrap().push(event);
        Box::pin(async { outcome })
    }
}

pub(crate) fn hooked(
    script: &Arc<Script>,
    say: impl Fn(&HookEvent) -> HookOutcome + Send + Sync + 'static,
) -> (World, Arc<Mutex<Vec<HookEvent>>>) {
    let heard = Arc::default();
    let hook = Session { say: Box::new(say), heard: Arc::clone(&heard) };
    let mut world = World::new(script);
    world.pipeline = world.pipeline.with_hook(Arc::new(hook));
    (world, heard)
}

pub(crate) fn deny(why: &str) -> HookOutcome {
    HookOutcome { decision: Some(HookDecision::Deny(why.to_owned())), ..HookOutcome::default() }
}

pub(crate) fn context(text: &str) -> HookOutcome {
    HookOutcome { context: vec![text.to_owned()], ..HookOutcome::default() }
}

pub(crate) fn names(heard: &Mutex<Vec<HookEvent>>) -> Vec<&'static str> {
    heard.lock().unwrap().iter().map(|event| event.name.name()).collect()
}

#[tokio::test]
async fn a_session_tells_its_hooks_what_happens_in_order() {
    let script = Script::new(vec![
        response([call("a", "Edit", json!({ "cwd": "/repo/src" })), call("b", "Read", json!({}))]),
        answer("end"),
    ]);
    let (world, heard) = hooked(&script, |event| context(event.name.name()));
    world.run("Do it.").await;
    let expected = ["SessionStart", "UserPromptSubmit", "CwdChanged", "PostToolBatch", "Stop"];
    assert_eq!(names(&heard), expected);
    let heard = heard.lock().unwrap();
    assert_eq!(heard[0].fields["source"], "startup");
    assert_eq!(heard[1].fields["prompt"], "Do it.");
    assert_eq!(heard[2].fields["new_cwd"], "/repo/src");
    let batch = heard[3].fields["tool_calls"].as_array().unwrap();
    assert_eq!(batch.len(), 2);
    assert_eq!(batch[1]["tool_response"], "b in /repo/src");
    assert_eq!(heard[4].fields["last_assistant_message"], "end");
    assert_eq!(heard[4].fields["stop_hook_active"], false);
    // What hooks say to the model goes with the prompt and behind the results.
    let first = script.request(0);
    assert_eq!(texts(&first.messages[0]), ["Do it.", "SessionStart", "UserPromptSubmit"]);
    let second = script.request(1);
    assert_eq!(texts(second.messages.last().unwrap()), ["PostToolBatch"]);
}

#[tokio::test]
async fn a_refused_prompt_is_never_sent() {
    let script = Script::new(vec![]);
    let (world, _) = hooked(&script, |event| match event.name {
        HookEventName::UserPromptSubmit => deny("no secrets here"),
        _ => HookOutcome::default(),
    });
    let agent = world.start();
    let ran = finish(agent.run(vec![innerve_protocol::ContentBlock::text("token=1")])).await;
    assert_eq!(ran.reason(), TerminalReason::HookStopped);
    assert!(ran.summary.terminal.message.contains("no secrets here"));
    assert_eq!(script.count(), 0);
    assert!(agent.messages().await.is_empty());
}

#[tokio::test]
async fn f41_a_hook_keeps_the_run_from_ending_and_gives_up_after_eight_times() {
    let script = Script::new((0..9).map(|_| answer("done")).collect());
    let (world, heard) = hooked(&script, |event| match event.name {
        HookEventName::Stop => deny("the tests do not pass"),
        _ => HookOutcome::default(),
    });
    let ran = world.run("Do it.").await;
    assert_eq!(ran.reason(), TerminalReason::Completed);
    assert_eq!(ran.transitions(), [Transition::StopHookBlocking; 8]);
    assert_eq!(texts(script.request(1).messages.last().unwrap()), ["the tests do not pass"]);
    let stops: Vec<bool> = heard
        .lock()
        .unwrap()
        .iter()
        .filter(|event| event.name == HookEventName::Stop)
        .map(|event| event.fields["stop_hook_active"] == true)
        .collect();
    assert_eq!(stops.len(), 9);
    assert!(!stops[0] && stops[1..].iter().all(|active| *active));
}

#[tokio::test]
async fn rounds_of_tools_do_not_let_a_hook_block_for_ever() {
    let round = |id: &str| response([call(id, "Read", json!({}))]);
    let mut responses = Vec::new();
    for id in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        responses.extend([round(id), answer("done")]);
    }
    responses.extend([round("i"), answer("done")]);
    let script = Script::new(responses);
    let (world, _) = hooked(&script, |event| match event.name {
        HookEventName::Stop => deny("go on"),
        _ => HookOutcome::default(),
    });
    assert_eq!(world.run("Do it.").await.reason(), TerminalReason::Completed);
}

#[tokio::test]
async fn a_stop_hook_can_end_the_run_for_good_and_a_batch_hook_too() {
    for (name, reason) in [
        (HookEventName::Stop, TerminalReason::StopHookPrevented),
        (HookEventName::PostToolBatch, TerminalReason::HookStopped),
    ] {
        let mut responses = vec![response([call("a", "Read", json!({}))])];
        if name == HookEventName::Stop {
            responses.push(answer("done"));
        }
        let script = Script::new(responses);
        let (world, _) = hooked(&script, move |event| {
            let stop = (event.name == name).then(|| "enough".to_owned());
            HookOutcome { stop, ..HookOutcome::default() }
        });
        let agent = world.start();
        let ran = finish(agent.run(vec![innerve_protocol::ContentBlock::text("Do it.")])).await;
        assert_eq!(ran.reason(), reason);
        assert_eq!(ran.summary.terminal.message, "enough");
        assert_eq!(results(&agent.messages().await[2]).len(), 1);
    }
}
