//! Failures of the provider: another model, less output, more of it, and what is run once whatever happens.

use innerve_agent::{AgentEvent, TerminalReason, Transition};
use innerve_model::ErrorClass;
use innerve_pipeline::HookOutcome;
use innerve_protocol::{ContentBlock, StopReason};
use serde_json::json;

use crate::hooks::{hooked, names};
use crate::kit::{Ran, World, check_transcript, finish, last_results, texts};
use crate::script::{
    Say, Script, answer, broken_call, call, cut, fail, response, stop, text, thinking, usage,
};

fn with_fallback(script: &std::sync::Arc<Script>) -> World {
    let mut world = World::new(script);
    world.config.fallback_models = vec!["claude-haiku-4-5".to_owned()];
    world
}

fn discarded(ran: &Ran) -> usize {
    ran.events.iter().filter(|event| matches!(event, AgentEvent::Discarded)).count()
}

fn models(script: &Script) -> Vec<String> {
    script.requests.lock().unwrap().iter().map(|request| request.model.clone()).collect()
}

const USUAL: &str = "claude-sonnet-4-5";
const OTHER: &str = "claude-haiku-4-5";

#[tokio::test]
async fn f40_after_an_error_no_stop_hook_runs() {
    for class in [ErrorClass::Auth, ErrorClass::Server, ErrorClass::Invalid] {
        let script = Script::new(vec![fail(class)]);
        let (world, heard) = hooked(&script, |_| HookOutcome::default());
        let ran = world.run("Do it.").await;
        assert_eq!(ran.reason(), TerminalReason::ModelError);
        assert_eq!(names(&heard), ["SessionStart", "UserPromptSubmit"]);
    }
}

#[tokio::test]
async fn f44_another_model_takes_over_and_what_the_first_one_wrote_is_void() {
    let script = Script::new(vec![
        response([thinking("first"), call("a", "Edit", json!({}))]),
        cut([thinking("hm"), text("Half a"), fail(ErrorClass::Overloaded)]),
        response([thinking("other"), text("Now."), call("b", "Edit", json!({}))]),
        answer("Whole."),
        answer("Next."),
    ]);
    let world = with_fallback(&script);
    let agent = world.start();
    let ran = finish(agent.run(vec![ContentBlock::text("Do it.")])).await;
    assert_eq!(ran.reason(), TerminalReason::Completed);
    assert_eq!(
        ran.transitions(),
        [Transition::NextTurn, Transition::ModelFallback, Transition::NextTurn]
    );
    assert_eq!((discarded(&ran), ran.warnings().len()), (1, 1));
    assert!(ran.warnings()[0].contains(OTHER), "{:?}", ran.warnings());
    assert_eq!(models(&script), [USUAL, USUAL, OTHER, OTHER]);
    for index in [2, 3] {
        let sent = serde_json::to_string(&script.request(index).messages).unwrap();
        assert!(!sent.contains("\"signature\"") && !sent.contains("Half a"), "{sent}");
    }
    let starts: Vec<_> =
        world.board.notes().into_iter().filter(|note| note.starts_with("start")).collect();
    assert_eq!(starts, ["start a", "start b"], "nothing ran twice");
    // The next task is the usual model's again, which gets no foreign thinking.
    finish(agent.run(vec![ContentBlock::text("And on.")])).await;
    assert_eq!(models(&script).last().unwrap(), USUAL);
    let sent = serde_json::to_string(&script.request(4).messages).unwrap();
    assert!(sent.contains("first") && !sent.contains("other"), "{sent}");
    script.check();
    check_transcript(&agent).await;
}

#[tokio::test]
async fn f44_calls_that_were_finished_are_run_once_and_the_other_model_goes_on_from_their_results()
{
    let script = Script::new(vec![
        cut([text("Look."), call("a", "Edit", json!({})), fail(ErrorClass::Overloaded)]),
        answer("Done."),
    ]);
    let world = with_fallback(&script);
    let ran = world.run("Do it.").await;
    assert_eq!(ran.reason(), TerminalReason::Completed);
    assert_eq!((models(&script), discarded(&ran)), (vec![USUAL.to_owned(), OTHER.to_owned()], 0));
    assert_eq!(world.board.notes(), ["start a", "end a"]);
    assert_eq!(last_results(&script.request(1)).len(), 1);
}

#[tokio::test]
async fn each_model_takes_over_once_and_after_the_last_one_the_error_is_told() {
    let overloaded = || fail(ErrorClass::Overloaded);
    let script = Script::new(vec![overloaded(), overloaded()]);
    let ran = with_fallback(&script).run("Do it.").await;
    assert_eq!((ran.reason(), script.count()), (TerminalReason::ModelError, 2));
    for class in [ErrorClass::Auth, ErrorClass::RateLimit, ErrorClass::Transport] {
        let script = Script::new(vec![fail(class)]);
        let ran = with_fallback(&script).run("Do it.").await;
        assert_eq!((ran.reason(), script.count()), (TerminalReason::ModelError, 1));
    }
}

#[tokio::test]
async fn what_a_model_refuses_another_one_is_asked_once() {
    let refusal = || cut([text("I will not."), stop(StopReason::Refusal)]);
    let script = Script::new(vec![refusal(), answer("But I will.")]);
    let ran = with_fallback(&script).run("Do it.").await;
    assert_eq!(ran.transitions(), [Transition::ModelFallback]);
    assert_eq!(ran.summary.result, "But I will.");
    let script = Script::new(vec![refusal(), refusal()]);
    let ran = with_fallback(&script).run("Do it.").await;
    assert_eq!(ran.reason(), TerminalReason::Refused);
}

#[tokio::test]
async fn f45_a_response_that_stalls_after_a_tool_has_started_is_not_asked_for_again() {
    let script = Script::new(vec![
        cut([call("a", "Edit", json!({})), fail(ErrorClass::Stalled)]),
        answer("Done."),
    ]);
    let world = World::new(&script);
    let ran = world.run("Do it.").await;
    assert_eq!((ran.reason(), script.count()), (TerminalReason::Completed, 2));
    assert_eq!(world.board.notes(), ["start a", "end a"]);
    let last = script.request(1).messages.last().cloned().unwrap();
    assert!(texts(&last)[0].contains("broke off"), "{last:?}");
}

#[tokio::test(start_paused = true)]
async fn a_person_is_told_when_nothing_comes_and_once() {
    let script = Script::new(vec![cut([text("Half"), vec![Say::Hang]])]);
    let world = World::new(&script);
    let agent = world.start();
    let run = agent.run(vec![ContentBlock::text("Do it.")]);
    let token = run.cancellation().clone();
    tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_mins(10)).await;
        token.cancel();
    });
    let mut run = run;
    let mut warnings = Vec::new();
    while let Some(event) = run.next().await {
        if let AgentEvent::Warning(text) = event {
            warnings.push(text);
        }
    }
    assert_eq!(warnings, ["nothing has come from the model for 45 s"]);
}

/// A response with so many output tokens.
fn worth(tokens: u64) -> Vec<Say> {
    response([usage(10, tokens), text("That is it.")])
}

#[tokio::test]
async fn f48_a_model_that_used_nine_tenths_of_its_tokens_may_stop() {
    for (used, continues) in [(4_501, false), (4_499, true)] {
        let mut responses = vec![worth(used)];
        responses.extend(continues.then(|| worth(600)));
        let script = Script::new(responses);
        let mut world = World::new(&script);
        world.config.token_target = Some(5_000);
        let ran = world.run("Do it.").await;
        assert_eq!(ran.reason(), TerminalReason::Completed);
        let expected = vec![Transition::TokenBudgetContinuation; usize::from(continues)];
        assert_eq!(ran.transitions(), expected, "{used}");
    }
}

#[tokio::test]
async fn at_the_limit_of_tokens_no_request_is_sent() {
    let script = Script::new(vec![response([usage(900, 100), call("a", "Read", json!({}))])]);
    let mut world = World::new(&script);
    world.config.max_total_tokens = Some(1_000);
    let ran = world.run("Do it.").await;
    assert_eq!((ran.reason(), script.count()), (TerminalReason::BudgetExceeded, 1));
    assert!(ran.summary.terminal.message.contains("1000 tokens"));
}

#[tokio::test]
async fn i7_whatever_the_provider_does_the_run_ends_with_words_and_a_conversation_that_goes_on() {
    let before: [fn() -> Vec<Say>; 6] = [
        Vec::new,
        || thinking("hm"),
        || text("Some words."),
        || call("a", "Edit", json!({})),
        || broken_call("a", "Edit", "{\"x\": "),
        || call("a", "Nope", json!({})),
    ];
    for &class in ErrorClass::ALL {
        for begin in before {
            // The same failure again and again, then a provider that works.
            let script = Script::new((0..9).map(|_| cut([begin(), fail(class)])).collect());
            let mut world = World::new(&script);
            world.config.max_turns = Some(3);
            let agent = world.start();
            let ran = finish(agent.run(vec![ContentBlock::text("Do it.")])).await;
            assert!(!ran.summary.terminal.message.is_empty(), "{class:?} says what happened");
            check_transcript(&agent).await;
            drop(agent);
            let script = Script::new(vec![answer("Back.")]);
            let again = World { script: std::sync::Arc::clone(&script), ..world };
            let agent = again.resume_soon().await;
            let ran = finish(agent.run(vec![ContentBlock::text("And now?")])).await;
            assert_eq!(ran.summary.result, "Back.", "{class:?}");
            script.check();
        }
    }
}

#[tokio::test]
async fn a_request_that_fits_only_with_less_output_asks_for_less() {
    let overflow = |input: &'static str| vec![Say::Refuse("invalid_request_error", input)];
    let too_much = "input length and `max_tokens` exceed context limit: 190000 + 8000 > 195000, decrease input length or `max_tokens` and try again";
    let script = Script::new(vec![overflow(too_much), answer("Short.")]);
    let ran = World::new(&script).run("Do it.").await;
    assert_eq!(ran.transitions(), [Transition::MaxOutputTokensReduced]);
    assert_eq!(script.request(1).max_tokens, 4_000);
    assert_eq!(script.request(0).messages, script.request(1).messages);
    // Too little would be left: the conversation is compacted.
    let too_long = "input length and `max_tokens` exceed context limit: 193000 + 8000 > 195000, decrease input length or `max_tokens` and try again";
    let script = Script::new(vec![overflow(too_long), answer("SUMMARY"), answer("Done.")]);
    let ran = World::new(&script).run("Do it.").await;
    assert_eq!(ran.transitions(), [Transition::ReactiveCompactRetry]);
}
