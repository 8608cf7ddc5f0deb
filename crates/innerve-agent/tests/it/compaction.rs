//! A conversation that gets too long: what is cleared, summed up, carried over, and when nothing more is tried.

use std::time::Duration;

use innerve_agent::{Agent, AgentEvent, Compaction, CompactionTrigger, TerminalReason, Transition};
use innerve_model::ErrorClass;
use innerve_pipeline::{HookEventName, HookOutcome};
use innerve_protocol::{ContentBlock, Message, Role, StopReason};
use serde_json::{Value, json};

use crate::hooks::{context, deny, hooked};
use crate::kit::{Ran, World, check_transcript, finish, last_results, results, texts};
use crate::script::{Say, Script, answer, call, cut, fail, response, stop, text, usage};

/// A round with one call, after which the conversation has about so many tokens.
fn round(id: &str, tokens: u64) -> Vec<Say> {
    response([usage(tokens, 10), call(id, "Read", json!({ "id": id }))])
}

fn compactions(ran: &Ran) -> Vec<Compaction> {
    let compaction = |event: &AgentEvent| match event {
        AgentEvent::Compacted(compaction) => Some(*compaction),
        _ => None,
    };
    ran.events.iter().filter_map(compaction).collect()
}

/// All texts of the first message of a request.
fn opening(script: &Script, request: usize) -> String {
    texts(&script.request(request).messages[0]).join("\n")
}

#[tokio::test]
async fn f37_a_conversation_that_does_not_fit_is_compacted_and_nobody_hears_of_an_error() {
    let script = Script::new(vec![fail(ErrorClass::Overflow), answer("SUMMARY"), answer("Done.")]);
    let ran = World::new(&script).run("Do it.").await;
    assert_eq!(ran.reason(), TerminalReason::Completed);
    assert_eq!(ran.transitions(), [Transition::ReactiveCompactRetry]);
    assert_eq!((ran.warnings().len(), ran.summary.result.as_str()), (0, "Done."));
    assert_eq!(compactions(&ran)[0].trigger, CompactionTrigger::Reactive);
    let opening = opening(&script, 2);
    assert!(opening.contains("SUMMARY") && opening.ends_with("Do it."), "{opening}");
}

#[tokio::test]
async fn f38_a_conversation_that_still_does_not_fit_is_not_compacted_twice() {
    let overflow = || fail(ErrorClass::Overflow);
    let script = Script::new(vec![overflow(), answer("SUMMARY"), overflow()]);
    let ran = World::new(&script).run("Do it.").await;
    assert_eq!(ran.reason(), TerminalReason::PromptTooLong);
    assert_eq!((script.count(), script.summaries()), (3, 1));
}

#[tokio::test]
async fn a_round_of_tools_allows_it_once_more() {
    let overflow = || fail(ErrorClass::Overflow);
    let script = Script::new(vec![
        overflow(),
        answer("ONE"),
        response([call("a", "Read", json!({}))]),
        overflow(),
        answer("TWO"),
        answer("Done."),
    ]);
    let ran = World::new(&script).run("Do it.").await;
    assert_eq!((ran.reason(), script.summaries()), (TerminalReason::Completed, 2));
}

#[tokio::test]
async fn f39_after_three_failed_compactions_none_is_tried() {
    let mut responses = Vec::new();
    for id in ["a", "b", "c"] {
        responses.extend([round(id, 170_000), fail(ErrorClass::Server)]);
    }
    responses.extend([round("d", 170_000), answer("Done.")]);
    let script = Script::new(responses);
    let ran = World::new(&script).run("Do it.").await;
    assert_eq!((ran.reason(), script.summaries()), (TerminalReason::Completed, 3));
    assert_eq!(ran.warnings().len(), 3);
    assert!(ran.warnings()[0].contains("could not be compacted"), "{:?}", ran.warnings());
}

#[tokio::test]
async fn a_full_conversation_becomes_a_summary_and_what_goes_on_stays_as_it_is() {
    let todos = json!([
        { "content": "look", "status": "completed" }, { "content": "mend", "status": "in_progress" },
    ]);
    let script = Script::new(vec![
        response([
            call("t", "TodoWrite", json!({ "todos": todos })),
            call("p", "ExitPlanMode", json!({ "plan": "1. mend it" })),
            call("f", "Read", json!({ "file_path": "/repo/a.rs", "id": "first" })),
            call("g", "Read", json!({ "file_path": "/repo/a.rs", "id": "again" })),
            call("h", "Read", json!({ "file_path": "/repo/gone.rs", "fails": "gone" })),
        ]),
        round("b", 167_000),
        answer("SUMMARY"),
        answer("Done."),
    ]);
    let world = World::new(&script);
    let agent = world.start();
    let ran = finish(agent.run(vec![ContentBlock::text("Do it.")])).await;
    script.check();
    check_transcript(&agent).await;
    assert_eq!(ran.reason(), TerminalReason::Completed);
    let done = compactions(&ran);
    assert_eq!(done.len(), 1);
    assert_eq!(done[0].trigger, CompactionTrigger::Auto);
    assert!(done[0].before > 167_000 && done[0].after < 2_000, "{done:?}");

    let summary = script.request(2);
    assert_eq!((summary.tools.len(), summary.messages.len()), (7, 5), "the cached prefix is used");
    assert!(texts(summary.messages.last().unwrap())[0].contains("summary"));

    let after = script.request(3);
    let opening = texts(&after.messages[0]);
    assert!(opening[0].contains("SUMMARY"), "{opening:?}");
    // Neither tool exists here; what was asked for and refused is not carried over.
    assert!(!opening.iter().any(|text| text.contains("mend it")), "{opening:?}");
    let read: Vec<_> = opening.iter().filter(|text| text.contains("as it is now")).collect();
    assert_eq!(read.len(), 1, "each file once, and none that could not be read: {opening:?}");
    assert!(read[0].contains("/repo/a.rs") && read[0].contains("again in /repo"), "{read:?}");
    assert_eq!(after.messages.len(), 3);
    assert_eq!(results(&after.messages[2]), [("b".to_owned(), "b in /repo".to_owned())]);

    // The log tells the same.
    let messages = agent.messages().await;
    drop(agent);
    assert_eq!(world.resume().messages().await, messages);
}

#[tokio::test]
async fn hooks_are_told_of_a_compaction_and_may_forbid_it() {
    let script = Script::new(vec![round("a", 170_000), answer("SUMMARY"), answer("Done.")]);
    let (world, heard) = hooked(&script, |event| match event.name {
        HookEventName::SessionStart => context("from a hook"),
        _ => HookOutcome::default(),
    });
    world.run("Do it.").await;
    assert!(opening(&script, 2).contains("from a hook"));
    let heard = heard.lock().unwrap().clone();
    let field = |name: HookEventName, field: &str| -> Vec<Value> {
        let events = heard.iter().filter(|event| event.name == name);
        events.map(|event| event.fields[field].clone()).collect()
    };
    assert_eq!(field(HookEventName::PreCompact, "trigger"), ["auto"]);
    assert_eq!(field(HookEventName::PostCompact, "compact_summary"), ["SUMMARY"]);
    assert_eq!(field(HookEventName::SessionStart, "source"), ["startup", "compact"]);

    let script = Script::new(vec![round("a", 170_000), answer("Done.")]);
    let (world, _) = hooked(&script, |event| match event.name {
        HookEventName::PreCompact => deny("not now"),
        _ => HookOutcome::default(),
    });
    let ran = world.run("Do it.").await;
    assert_eq!((ran.reason(), script.summaries()), (TerminalReason::Completed, 0));
    assert!(ran.warnings()[0].contains("not now"));
}

#[tokio::test]
async fn a_conversation_that_is_full_again_after_each_compaction_is_given_up() {
    let mut responses = Vec::new();
    for id in ["a", "b", "c"] {
        responses.extend([round(id, 170_000), answer(&format!("SUMMARY {id}"))]);
    }
    responses.push(round("d", 170_000));
    let script = Script::new(responses);
    let ran = World::new(&script).run("Do it.").await;
    assert_eq!((ran.reason(), script.summaries()), (TerminalReason::BlockingLimit, 3));
    assert!(ran.summary.terminal.message.contains("filled up again"));
}

#[tokio::test]
async fn without_compaction_nothing_is_sent_above_the_limit() {
    for (tokens, reason) in
        [(176_000, TerminalReason::Completed), (177_000, TerminalReason::BlockingLimit)]
    {
        let mut responses = vec![round("a", tokens)];
        responses.extend((reason == TerminalReason::Completed).then(|| answer("Done.")));
        let script = Script::new(responses);
        let mut world = World::new(&script);
        world.config.auto_compact = false;
        let ran = world.run("Do it.").await;
        assert_eq!((ran.reason(), script.summaries()), (reason, 0), "{tokens}");
    }
}

#[tokio::test]
async fn a_person_may_compact_and_say_what_to_keep() {
    let script = Script::new(vec![answer("One."), answer("SUMMARY"), answer("Two.")]);
    let world = World::new(&script);
    let agent = world.start();
    let ran = finish(agent.compact("")).await;
    assert_eq!(ran.reason(), TerminalReason::ModelError);
    assert!(ran.summary.terminal.message.contains("nothing to compact"));
    finish(agent.run(vec![ContentBlock::text("Do it.")])).await;
    let ran = finish(agent.compact("Keep the numbers.")).await;
    assert_eq!(ran.reason(), TerminalReason::Completed);
    assert_eq!(compactions(&ran)[0].trigger, CompactionTrigger::Manual);
    assert!(texts(script.request(1).messages.last().unwrap())[0].contains("Keep the numbers."));
    assert_eq!(agent.messages().await.len(), 1);
    let ran = finish(agent.run(vec![ContentBlock::text("And on.")])).await;
    assert_eq!(ran.summary.result, "Two.");
    let last = script.request(2);
    assert_eq!(texts(&last.messages[0]).last().unwrap(), "And on.");
    script.check();
    check_transcript(&agent).await;
}

#[tokio::test]
async fn a_summary_that_is_stopped_ends_the_run_and_the_conversation_stays() {
    let script = Script::new(vec![round("a", 170_000), vec![Say::Hang], answer("Again.")]);
    let world = World::new(&script);
    let agent = world.start();
    let run = agent.run(vec![ContentBlock::text("Do it.")]);
    while script.summaries() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    run.cancel();
    let ran = finish(run).await;
    assert_eq!(ran.reason(), TerminalReason::AbortedStreaming);
    assert_eq!(agent.messages().await.len(), 3);
    check_transcript(&agent).await;
}

/// A conversation with this many large results of `Read`.
async fn with_results(world: &World, count: usize) -> Agent {
    let agent = world.start();
    finish(agent.run(vec![ContentBlock::text(format!("Read {count} files."))])).await;
    agent
}

fn reads(count: usize) -> Vec<Vec<Say>> {
    let read =
        |number: usize| response([call(&format!("r{number}"), "Read", json!({ "size": 8_000 }))]);
    (0..count).map(read).collect()
}

fn cleared(messages: &[Message]) -> usize {
    let all = messages.iter().flat_map(results);
    all.filter(|(_, text)| text.contains("was cleared to make room")).count()
}

#[tokio::test]
async fn old_results_are_cleared_before_anything_is_summed_up() {
    let mut responses = reads(12);
    responses.extend([answer("Read."), fail(ErrorClass::Overflow), answer("Done.")]);
    let script = Script::new(responses);
    let world = World::new(&script);
    let agent = with_results(&world, 12).await;
    let ran = finish(agent.run(vec![ContentBlock::text("And now?")])).await;
    assert_eq!(ran.transitions(), [Transition::CollapseDrainRetry]);
    assert_eq!((ran.reason(), script.summaries()), (TerminalReason::Completed, 0));
    let messages = agent.messages().await;
    assert_eq!(cleared(&messages), 7, "the last five stay");
    check_transcript(&agent).await;
    drop(agent);
    assert_eq!(world.resume().messages().await, messages);
}

#[tokio::test(start_paused = true)]
async fn after_an_hour_without_a_word_old_results_are_cleared() {
    for (minutes, expected) in [(59, 0), (61, 3)] {
        let mut responses = reads(8);
        responses.extend([answer("Read."), answer("Done.")]);
        let script = Script::new(responses);
        let world = World::new(&script);
        let agent = with_results(&world, 8).await;
        tokio::time::advance(Duration::from_secs(60 * minutes)).await;
        finish(agent.run(vec![ContentBlock::text("And now?")])).await;
        assert_eq!(cleared(&agent.messages().await), expected, "after {minutes} minutes");
    }
}

#[tokio::test]
async fn results_that_alone_would_fill_the_window_are_cut() {
    let script = Script::new(vec![
        response([
            usage(170_000, 10),
            call("a", "Big", json!({ "size": 400_000 })),
            call("b", "Read", json!({})),
        ]),
        answer("SUMMARY"),
        answer("Done."),
    ]);
    let ran = World::new(&script).run("Do it.").await;
    assert_eq!(ran.reason(), TerminalReason::Completed);
    let sent = last_results(&script.request(2));
    assert!(sent[0].1.len() < 12_000, "{}", sent[0].1.len());
    assert_eq!(sent[1].1, "b in /repo");
}

#[tokio::test]
async fn an_answer_that_fills_the_window_is_kept_and_gone_on_with_after_a_compaction() {
    let script = Script::new(vec![
        cut([text("The first half"), stop(StopReason::ModelContextWindowExceeded)]),
        answer("SUMMARY"),
        answer("and the second."),
    ]);
    let ran = World::new(&script).run("Do it.").await;
    assert_eq!(ran.transitions(), [Transition::ReactiveCompactRetry]);
    let said = texts(&script.request(1).messages[1]);
    assert_eq!(said, ["The first half"], "the summary is of all that was said");
    assert!(opening(&script, 2).contains("Go on exactly where you stopped"));
}

#[tokio::test]
async fn images_that_are_not_taken_are_taken_out() {
    let image =
        json!({ "type": "image", "source": { "type": "url", "url": "https://example.com/a.png" } });
    let image: ContentBlock = serde_json::from_value(image).unwrap();
    let script =
        Script::new(vec![fail(ErrorClass::Media), answer("Done."), fail(ErrorClass::Media)]);
    let world = World::new(&script);
    let agent = world.start();
    let ran = finish(agent.run(vec![ContentBlock::text("Look."), image])).await;
    assert_eq!(ran.transitions(), [Transition::ReactiveCompactRetry]);
    assert_eq!((ran.reason(), script.summaries()), (TerminalReason::Completed, 0));
    assert!(texts(&script.request(1).messages[0])[1].contains("taken out"));
    let ran = finish(agent.run(vec![ContentBlock::text("Again.")])).await;
    assert_eq!(ran.reason(), TerminalReason::ImageError, "there is nothing more to take out");
}

#[tokio::test]
async fn what_does_not_fit_even_to_be_summed_up_is_made_smaller() {
    let mut responses = reads(8);
    responses.extend([answer("Read."), fail(ErrorClass::Overflow), answer("SUMMARY")]);
    let script = Script::new(responses);
    let world = World::new(&script);
    let agent = with_results(&world, 8).await;
    let ran = finish(agent.compact("")).await;
    assert_eq!((ran.reason(), script.summaries()), (TerminalReason::Completed, 2));
    let (first, second) = (script.request(9), script.request(10));
    assert_eq!(first.messages.len(), second.messages.len());
    let sizes =
        |index: usize| serde_json::to_string(&script.request(index).messages).unwrap().len();
    assert!(sizes(10) < sizes(9) / 4, "{} {}", sizes(9), sizes(10));
    assert_eq!(second.messages.last().unwrap().role, Role::User);
    assert!(last_results(&second).is_empty());
}
