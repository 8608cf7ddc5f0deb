//! A person who writes, stops or changes the mode while a run is under way.

use std::sync::Arc;

use innerve_agent::{TerminalReason, Transition};
use innerve_permission::{PermissionMode, Policy};
use innerve_pipeline::{Answer, ApprovalRequest, Approver, HookEventName, HookOutcome};
use innerve_protocol::{ContentBlock, Message};
use innerve_tool::{BoxFuture, CancellationToken};
use serde_json::json;

use crate::hooks::{deny, hooked};
use crate::kit::{World, check_transcript, finish, last_results, results, texts};
use crate::script::{Say, Script, answer, call, response, text};

fn say(words: &str) -> Vec<ContentBlock> {
    vec![ContentBlock::text(words)]
}

fn interruptions(messages: &[Message]) -> usize {
    let texts = messages.iter().flat_map(texts);
    texts.filter(|text| text.contains("The user interrupted")).count()
}

#[tokio::test]
async fn f43_a_message_ends_tools_that_can_be_called_again_and_nobody_says_interrupted() {
    let script = Script::new(vec![
        response([call("a", "Read", json!({ "gate": "never" })), call("b", "Edit", json!({}))]),
        answer("I will do B."),
    ]);
    let world = World::new(&script);
    let agent = world.start();
    let run = agent.run(say("Do A."));
    world.board.wait_for("start a").await;
    run.submit(say("No, do B."));
    let ran = finish(run).await;
    assert_eq!(
        (ran.reason(), ran.transitions()),
        (TerminalReason::Completed, vec![Transition::NextTurn])
    );
    let results = last_results(&script.request(1));
    assert!(results[0].1.contains("interrupted"), "{results:?}");
    assert!(results[1].1.contains("not executed"), "{results:?}");
    let last = script.request(1).messages.last().cloned().unwrap();
    assert_eq!(texts(&last), ["No, do B."]);
    assert_eq!(interruptions(&agent.messages().await), 0);
    script.check();
    check_transcript(&agent).await;
}

#[tokio::test]
async fn f43_ctrl_c_is_told_to_the_model() {
    let script = Script::new(vec![response([call("a", "Read", json!({ "gate": "never" }))])]);
    let world = World::new(&script);
    let agent = world.start();
    let run = agent.run(say("Do A."));
    world.board.wait_for("start a").await;
    run.submit(say("Too late."));
    run.cancel();
    let unsent = {
        let mut run = run;
        while run.next().await.is_some() {}
        run.take_unsent()
    };
    assert!(unsent.is_empty() || unsent == [say("Too late.")]);
    assert_eq!(interruptions(&agent.messages().await), usize::from(!unsent.is_empty()));
    check_transcript(&agent).await;
}

#[tokio::test]
async fn f59_beside_a_tool_that_may_not_be_ended_nothing_is_ended_and_the_message_waits() {
    let script = Script::new(vec![
        response([
            call("a", "Read", json!({ "gate": "a" })),
            call("b", "Big", json!({ "gate": "b" })),
        ]),
        answer("Both."),
    ]);
    let world = World::new(&script);
    let agent = world.start();
    let run = agent.run(say("Do A."));
    world.board.wait_for("start a").await;
    world.board.wait_for("start b").await;
    run.submit(say("And then B."));
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    world.board.open("a");
    world.board.wait_for("end a").await;
    world.board.open("b");
    finish(run).await;
    assert!(!world.board.notes().iter().any(|note| note.starts_with("stopped")));
    let last = script.request(1).messages.last().cloned().unwrap();
    assert_eq!(results(&last).len(), 2);
    assert_eq!(texts(&last), ["And then B."]);
    script.check();
}

#[tokio::test]
async fn a_message_that_comes_while_the_model_writes_is_taken_when_it_is_done() {
    let script = Script::new(Vec::new());
    let world = World::new(&script);
    let script = Script::new(vec![
        response([text("A is"), vec![Say::WaitFor(world.board.gate("model"))], text(" done.")]),
        answer("B is done."),
    ]);
    let world = World { script: Arc::clone(&script), ..world };
    let agent = world.start();
    let run = agent.run(say("Do A."));
    run.submit(say("Do B."));
    world.board.open("model");
    let ran = finish(run).await;
    assert_eq!(
        (ran.transitions(), ran.summary.result.as_str()),
        (vec![Transition::Submitted], "B is done.")
    );
    script.check();
    check_transcript(&agent).await;
}

#[tokio::test]
async fn a_message_that_a_hook_refuses_is_not_sent() {
    let script =
        Script::new(vec![response([call("a", "Edit", json!({ "gate": "a" }))]), answer("Done.")]);
    let (world, _) = hooked(&script, |event| {
        let is_secret = event.fields.get("prompt").is_some_and(|prompt| prompt == "token=1");
        match event.name {
            HookEventName::UserPromptSubmit if is_secret => deny("no secrets here"),
            _ => HookOutcome::default(),
        }
    });
    let agent = world.start();
    let run = agent.run(say("Do A."));
    world.board.wait_for("start a").await;
    run.submit(say("token=1"));
    world.board.open("a");
    let ran = finish(run).await;
    assert!(ran.warnings()[0].contains("no secrets here"), "{:?}", ran.warnings());
    assert!(texts(script.request(1).messages.last().unwrap()).is_empty());
}

/// Nobody answers; it is noted when a question comes up and when it is taken back.
struct Silent(Arc<crate::kit::Board>);

impl Approver for Silent {
    fn ask(
        &self,
        request: ApprovalRequest,
        cancellation: CancellationToken,
    ) -> BoxFuture<'_, Answer> {
        self.0.note(format!("asked {}", request.tool_use_id));
        Box::pin(async move {
            cancellation.cancelled().await;
            self.0.note(format!("taken back {}", request.tool_use_id));
            Answer::Interrupted
        })
    }
}

pub(crate) fn unanswered(script: &Arc<Script>) -> World {
    let policy =
        Policy { headless: false, bypass_available: true, ..Policy::new("/repo", "/home/user") };
    let mut world = World::with_policy(script, policy);
    world.pipeline = world.pipeline.with_approver(Arc::new(Silent(Arc::clone(&world.board))));
    world
}

#[tokio::test]
async fn a_switch_of_the_mode_judges_calls_again_that_wait_for_an_answer() {
    let calls = || {
        response([
            call("a", "Ask", json!({})),
            call("b", "Ask", json!({})),
            call("c", "Ask", json!({})),
        ])
    };
    // Nobody need be asked any more: all of them run.
    let script = Script::new(vec![calls(), answer("Done.")]);
    let world = unanswered(&script);
    let agent = world.start();
    let run = agent.run(say("Do it."));
    world.board.wait_for("asked a").await;
    world.policy.set_mode(PermissionMode::BypassPermissions);
    let ran = finish(run).await;
    assert_eq!(ran.reason(), TerminalReason::Completed);
    let results = last_results(&script.request(1));
    assert!(results.iter().all(|(id, text)| *text == format!("{id} in /repo")), "{results:?}");
    assert!(world.board.notes().contains(&"taken back a".to_owned()));

    // Nobody may be asked any more: none of them runs.
    let script = Script::new(vec![calls(), answer("Done.")]);
    let world = unanswered(&script);
    let agent = world.start();
    let run = agent.run(say("Do it."));
    world.board.wait_for("asked a").await;
    world.policy.set_mode(PermissionMode::DontAsk);
    finish(run).await;
    let results = last_results(&script.request(1));
    assert!(results.iter().all(|(_, text)| text.contains("denied")), "{results:?}");
    assert!(!world.board.notes().iter().any(|note| note.starts_with("start")));
    check_transcript(&agent).await;
}

#[tokio::test]
async fn a_switch_of_the_mode_judges_calls_that_have_not_started() {
    let script = Script::new(vec![
        response([call("a", "Edit", json!({ "gate": "a" })), call("b", "Ask", json!({}))]),
        answer("Done."),
    ]);
    let world = unanswered(&script);
    let agent = world.start();
    let run = agent.run(say("Do it."));
    world.board.wait_for("start a").await;
    world.policy.set_mode(PermissionMode::BypassPermissions);
    world.board.open("a");
    finish(run).await;
    assert_eq!(last_results(&script.request(1))[1].1, "b in /repo");
}
