//! The loop: how it goes on, and how it ends.

use std::sync::Arc;

use innerve_agent::{AgentEvent, TerminalReason, Transition};
use innerve_model::ErrorClass;
use innerve_protocol::{ContentBlock, Role, StopReason};
use serde_json::json;

use crate::kit::{Board, Ran, World, check_transcript, finish, last_results, texts};
use crate::script::{
    Say, Script, answer, call, cut, fail, response, retrying, stop, text, thinking, usage,
};

async fn run(responses: Vec<Vec<Say>>) -> (Ran, Arc<Script>) {
    let script = Script::new(responses);
    let ran = World::new(&script).run("Do it.").await;
    (ran, script)
}

#[tokio::test]
async fn f33_an_answer_without_calls_is_one_request_and_completes() {
    let (ran, script) = run(vec![answer("Done.")]).await;
    assert_eq!(ran.reason(), TerminalReason::Completed);
    assert_eq!(ran.summary.result, "Done.");
    assert_eq!((script.count(), ran.summary.turns), (1, 0));
    let messages: Vec<_> =
        ran.events.iter().filter(|event| matches!(event, AgentEvent::Assistant(_))).collect();
    assert_eq!(messages.len(), 1, "the last message is told like any other");
}

#[tokio::test]
async fn tools_are_run_and_their_results_sent() {
    let (ran, script) =
        run(vec![response([text("Let me look."), call("a", "Read", json!({}))]), answer("Seen.")])
            .await;
    assert_eq!(ran.reason(), TerminalReason::Completed);
    assert_eq!(last_results(&script.request(1)), [("a".to_owned(), "a in /repo".to_owned())]);
    assert_eq!(ran.transitions(), [Transition::NextTurn]);
    assert_eq!((ran.summary.turns, ran.summary.result.as_str()), (1, "Seen."));
}

#[tokio::test]
async fn f34_after_max_turns_rounds_no_request_is_sent() {
    let again = || response([call("a", "Read", json!({}))]);
    let script = Script::new(vec![again(), again()]);
    let mut world = World::new(&script);
    world.config.max_turns = Some(2);
    let ran = world.run("Do it.").await;
    assert_eq!(ran.reason(), TerminalReason::MaxTurns);
    assert_eq!((script.count(), ran.summary.turns), (2, 2));
    assert_eq!(ran.ended().len(), 2);
}

#[tokio::test]
async fn f35_a_first_cut_sends_the_same_request_with_a_larger_limit() {
    let (ran, script) =
        run(vec![cut([text("Half a"), stop(StopReason::MaxTokens)]), answer("Half a sentence.")])
            .await;
    assert_eq!(ran.transitions(), [Transition::MaxOutputTokensEscalate]);
    let (first, second) = (script.request(0), script.request(1));
    assert_eq!((first.max_tokens, second.max_tokens), (8_000, 64_000));
    assert_eq!(first.messages, second.messages);
    assert_eq!(ran.summary.result, "Half a sentence.");
}

#[tokio::test]
async fn f36_three_further_cuts_are_recovered_and_the_fourth_surfaces() {
    let part = |words: &str| cut([text(words), stop(StopReason::MaxTokens)]);
    let (ran, script) =
        run(vec![part("zero"), part("one"), part("two"), part("three"), part("four")]).await;
    let recovery = Transition::MaxOutputTokensRecovery;
    assert_eq!(
        ran.transitions(),
        [Transition::MaxOutputTokensEscalate, recovery, recovery, recovery]
    );
    assert_eq!(ran.reason(), TerminalReason::Completed);
    assert!(ran.summary.terminal.message.contains("cut"));
    assert_eq!(script.count(), 5);
    assert!(script.requests.lock().unwrap()[1..].iter().all(|it| it.max_tokens == 64_000));
}

#[tokio::test]
async fn a_normal_turn_resets_the_recovery() {
    let part = |words: &str| cut([text(words), stop(StopReason::MaxTokens)]);
    let (ran, script) = run(vec![
        part("zero"),
        part("one"),
        response([call("a", "Read", json!({}))]),
        part("again"),
        answer("end"),
    ])
    .await;
    assert_eq!(ran.reason(), TerminalReason::Completed);
    assert_eq!(script.request(3).max_tokens, 8_000);
    assert_eq!(script.request(4).max_tokens, 64_000);
}

#[tokio::test]
async fn finished_calls_of_a_cut_response_are_run() {
    let (ran, script) = run(vec![
        cut([text("a"), call("a", "Edit", json!({})), stop(StopReason::MaxTokens)]),
        answer("end"),
    ])
    .await;
    assert_eq!(ran.transitions(), [Transition::NextTurn]);
    assert_eq!(last_results(&script.request(1)).len(), 1);
}

#[tokio::test]
async fn f47_a_paused_turn_is_sent_back_as_it_is() {
    let pause = || cut([text("Searching"), stop(StopReason::PauseTurn)]);
    let (ran, script) = run(vec![pause(), answer("found")]).await;
    assert_eq!(ran.transitions(), [Transition::PauseTurn]);
    let second = script.request(1);
    let last = second.messages.last().unwrap();
    assert_eq!(last.role, Role::Assistant);
    assert_eq!(texts(last), ["Searching"]);
    assert_eq!(ran.reason(), TerminalReason::Completed);

    let (ran, script) = run((0..11).map(|_| pause()).collect()).await;
    assert_eq!((ran.reason(), script.count()), (TerminalReason::Completed, 11));
}

#[tokio::test]
async fn a_refusal_is_no_completion() {
    let (ran, _) = run(vec![cut([text("I will not."), stop(StopReason::Refusal)])]).await;
    assert_eq!(ran.reason(), TerminalReason::Refused);
    assert_eq!(ran.summary.result, "I will not.");
}

#[tokio::test]
async fn calls_are_run_whatever_the_stop_reason_says() {
    for reason in [StopReason::EndTurn, StopReason::Other("odd".to_owned())] {
        let (ran, _) =
            run(vec![cut([call("a", "Read", json!({})), stop(reason)]), answer("end")]).await;
        assert_eq!(ran.ended().len(), 1);
    }
    let (ran, _) = run(vec![cut([text("x"), stop(StopReason::Other("odd".to_owned()))])]).await;
    assert_eq!(ran.reason(), TerminalReason::Completed);
}

#[tokio::test]
async fn an_error_before_any_block_ends_the_run_and_the_conversation_can_go_on() {
    for (class, reason) in [
        (ErrorClass::Auth, TerminalReason::ModelError),
        (ErrorClass::Overloaded, TerminalReason::ModelError),
        (ErrorClass::Media, TerminalReason::ImageError),
    ] {
        let script = Script::new(vec![fail(class), answer("Now.")]);
        let world = World::new(&script);
        let agent = world.start();
        let ran = finish(agent.run(vec![ContentBlock::text("One.")])).await;
        assert_eq!((ran.reason(), script.count()), (reason, 1));
        assert_eq!(ran.summary.terminal.message, "the provider says no");
        assert_eq!(ran.summary.result, "");
        let ran = finish(agent.run(vec![ContentBlock::text("Two.")])).await;
        assert_eq!(
            (ran.reason(), ran.summary.result.as_str()),
            (TerminalReason::Completed, "Now.")
        );
        script.check();
        check_transcript(&agent).await;
    }
}

#[tokio::test]
async fn a_response_that_breaks_off_after_a_text_is_gone_on_with() {
    for end in [fail(ErrorClass::Transport), Vec::new()] {
        let (ran, script) =
            run(vec![cut([text("First half."), end]), answer("Second half.")]).await;
        assert_eq!(ran.transitions(), [Transition::TruncatedRecovery]);
        assert_eq!(ran.reason(), TerminalReason::Completed);
        let second = script.request(1);
        assert_eq!(texts(&second.messages[1]), ["First half."], "what was finished is kept");
    }
}

#[tokio::test]
async fn a_response_that_always_breaks_off_ends_in_the_error() {
    let part = || cut([text("part"), fail(ErrorClass::Transport)]);
    let (ran, script) = run(vec![part(), part(), part(), part()]).await;
    assert_eq!((ran.reason(), script.count()), (TerminalReason::ModelError, 4));
}

#[tokio::test]
async fn what_cannot_pass_is_not_tried_again() {
    let (ran, script) = run(vec![cut([text("part"), fail(ErrorClass::Billing)])]).await;
    assert_eq!((ran.reason(), script.count()), (TerminalReason::ModelError, 1));
    assert_eq!(ran.summary.result, "part");
}

#[tokio::test]
async fn i7_a_stream_cut_after_finished_calls_runs_them_and_says_so() {
    let (ran, script) =
        run(vec![cut([call("a", "Edit", json!({})), fail(ErrorClass::Truncated)]), answer("end")])
            .await;
    assert_eq!(ran.reason(), TerminalReason::Completed);
    let second = script.request(1);
    let last = second.messages.last().unwrap();
    assert!(texts(last)[0].contains("broke off"), "{last:?}");
    assert_eq!(last_results(&second), [("a".to_owned(), "a in /repo".to_owned())]);
}

#[tokio::test]
async fn thinking_alone_is_not_in_the_history() {
    let (ran, script) = run(vec![
        cut([thinking("hm"), stop(StopReason::MaxTokens)]),
        cut([thinking("hm"), stop(StopReason::MaxTokens)]),
        response([thinking("so"), text("Done.")]),
    ])
    .await;
    assert_eq!(ran.summary.result, "Done.");
    let third = script.request(2);
    assert_eq!(third.messages.len(), 1, "{:?}", third.messages);
    let (ran, _) = run(vec![response([thinking("hm")])]).await;
    assert_eq!((ran.reason(), ran.summary.result.as_str()), (TerminalReason::Completed, ""));
}

#[tokio::test]
async fn thinking_before_calls_is_sent_back_untouched() {
    let (_, script) =
        run(vec![response([thinking("hm"), call("a", "Read", json!({}))]), answer("end")]).await;
    let second = script.request(1);
    assert!(
        matches!(&second.messages[1].content[0], ContentBlock::Thinking(block) if block.thinking == "hm")
    );
}

#[tokio::test]
async fn a_retry_is_told_and_voids_what_came_before() {
    let (ran, _) = run(vec![cut([
        text("lost"),
        usage(10, 10),
        retrying(),
        text("kept"),
        usage(3, 4),
        stop(StopReason::EndTurn),
    ])])
    .await;
    assert_eq!(ran.summary.result, "kept");
    assert_eq!(ran.summary.usage.input_tokens, Some(3));
    assert!(ran.events.iter().any(|event| matches!(event, AgentEvent::Retrying(_))));
}

#[tokio::test]
async fn i7_a_retry_after_a_finished_call_against_the_contract_runs_nothing_twice() {
    let script = Script::new(vec![
        response([call("a", "Edit", json!({})), retrying(), call("a", "Edit", json!({}))]),
        answer("end"),
    ]);
    let world = World::new(&script);
    let ran = world.run("Do it.").await;
    // The second one has another id: it is another call, and both are answered.
    assert_eq!(last_results(&script.request(1)).len(), 2);
    assert_eq!(ran.reason(), TerminalReason::Completed);
}

#[tokio::test]
async fn f46_at_the_cost_limit_no_request_is_sent() {
    let script =
        Script::new(vec![response([usage(1_000_000, 1_000_000), call("a", "Read", json!({}))])]);
    let mut world = World::new(&script);
    world.config.max_cost_usd = Some(1.0);
    let ran = world.run("Do it.").await;
    assert_eq!((ran.reason(), script.count()), (TerminalReason::BudgetExceeded, 1));
    assert!(ran.summary.cost_usd.unwrap() > 1.0);
    assert_eq!(ran.ended().len(), 1, "what was asked for was run and answered");
}

#[tokio::test]
async fn i7_an_abort_while_the_model_writes_leaves_a_conversation_that_goes_on() {
    let script = Script::new(vec![cut([text("Half"), vec![Say::Hang]]), answer("Again.")]);
    let world = World::new(&script);
    let agent = world.start();
    let mut run = agent.run(vec![ContentBlock::text("One.")]);
    while let Some(event) = run.next().await {
        if matches!(event, AgentEvent::Text(_)) {
            break;
        }
    }
    run.cancel();
    let ran = finish(run).await;
    assert_eq!(ran.reason(), TerminalReason::AbortedStreaming);
    check_transcript(&agent).await;
    let ran = finish(agent.run(vec![ContentBlock::text("Two.")])).await;
    assert_eq!(ran.summary.result, "Again.");
    let second = script.request(1);
    let said: Vec<_> = second.messages.iter().flat_map(|message| texts(message)).collect();
    assert_eq!(said, ["One.", "Half", "[The user interrupted the response.]", "Two."]);
    script.check();
}

#[tokio::test]
async fn an_abort_before_the_first_request_sends_none() {
    let script = Script::new(vec![answer("never")]);
    let world = World::new(&script);
    world.cancellation.cancel();
    let agent = world.start();
    let ran = finish(agent.run(vec![ContentBlock::text("One.")])).await;
    assert_eq!(ran.reason(), TerminalReason::AbortedStreaming);
    check_transcript(&agent).await;
}

#[tokio::test]
async fn dropping_a_run_stops_its_tools_and_the_conversation_can_go_on() {
    let script = Script::new(vec![
        response([call("a", "Edit", json!({ "gate": "never" }))]),
        answer("Still here."),
    ]);
    let world = World::new(&script);
    let agent = world.start();
    let run = agent.run(vec![ContentBlock::text("One.")]);
    world.board.wait_for("start a").await;
    drop(run);
    let ran = finish(agent.run(vec![ContentBlock::text("Two.")])).await;
    assert_eq!(ran.summary.result, "Still here.");
    assert!(!world.board.notes().contains(&"end a".to_owned()));
    script.check();
    check_transcript(&agent).await;
}

#[tokio::test]
async fn a_receiver_that_reads_late_gets_everything() {
    let pieces: Vec<Say> = (0..2_000).flat_map(|number| text(&format!("{number}"))).collect();
    let script = Script::new(vec![
        response([pieces, call("a", "Read", json!({})), call("b", "Edit", json!({}))]),
        answer("end"),
    ]);
    let world = World::new(&script);
    let agent = world.start();
    let run = agent.run(vec![ContentBlock::text("One.")]);
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let ran = finish(run).await;
    let said = ran.events.iter().filter(|event| matches!(event, AgentEvent::Text(_))).count();
    assert_eq!((ran.reason(), said), (TerminalReason::Completed, 2_001));
}

#[tokio::test]
async fn a_model_that_panics_ends_the_run_with_a_reason() {
    let script = Script::new(vec![vec![Say::Panic], answer("Back.")]);
    let world = World::new(&script);
    let agent = world.start();
    let ran = finish(agent.run(vec![ContentBlock::text("One.")])).await;
    assert_eq!(ran.reason(), TerminalReason::ModelError);
    let ran = finish(agent.run(vec![ContentBlock::text("Two.")])).await;
    assert_eq!(ran.summary.result, "Back.");
    script.check();
}

#[tokio::test]
async fn a_run_s_result_is_of_this_run() {
    let script = Script::new(vec![answer("Old."), fail(ErrorClass::Auth)]);
    let world = World::new(&script);
    let agent = world.start();
    finish(agent.run(vec![ContentBlock::text("One.")])).await;
    let ran = finish(agent.run(vec![ContentBlock::text("Two.")])).await;
    assert_eq!(ran.summary.result, "");
}

#[tokio::test]
async fn the_stream_of_events_ends_after_the_summary() {
    let script = Script::new(vec![answer("Done.")]);
    let world = World::new(&script);
    let agent = world.start();
    let mut run = agent.run(vec![ContentBlock::text("One.")]);
    while let Some(event) = run.next().await {
        if matches!(event, AgentEvent::Ended(_)) {
            break;
        }
    }
    assert!(run.next().await.is_none());
    assert!(run.next().await.is_none(), "and stays ended");
}

#[tokio::test]
async fn i12_at_most_four_cache_markers_are_sent_and_the_last_two_prompts_have_one() {
    let (_, script) = run(vec![
        response([call("a", "Read", json!({}))]),
        response([call("b", "Read", json!({}))]),
        answer("end"),
    ])
    .await;
    let marked = |index: usize| {
        let text = serde_json::to_string(&script.request(index)).unwrap();
        text.matches("cache_control").count()
    };
    assert_eq!((marked(0), marked(1), marked(2)), (3, 4, 4));
    let third = script.request(2);
    let places: Vec<usize> = third
        .messages
        .iter()
        .enumerate()
        .filter(|(_, message)| serde_json::to_string(message).unwrap().contains("cache_control"))
        .map(|(place, _)| place)
        .collect();
    assert_eq!(places, [2, 4], "where the request before ended, and where this one does");
}

#[tokio::test]
async fn i12_a_long_run_never_changes_what_was_sent() {
    let mut responses: Vec<Vec<Say>> = (0..40)
        .map(|turn| {
            let id = format!("t{turn}");
            response([
                thinking("hm"),
                text(" spaces around "),
                call(&id, if turn % 3 == 0 { "Edit" } else { "Read" }, json!({ "id": id })),
                call(&format!("{id}b"), "Nope", json!({})),
            ])
        })
        .collect();
    responses.push(answer("end"));
    // The script itself compares every request with the one before.
    let (ran, script) = run(responses).await;
    assert_eq!((ran.reason(), script.count()), (TerminalReason::Completed, 41));
}

#[tokio::test]
async fn a_plain_run_writes_its_history_once() {
    let script = Script::new(vec![response([call("a", "Read", json!({}))]), answer("end")]);
    let world = World::new(&script);
    world.run("Do it.").await;
    let log = std::fs::read_to_string(world.log()).unwrap();
    assert!(!log.contains("\"history\""), "nothing had to be repaired: {log}");
}

#[tokio::test]
async fn the_notes_that_the_loop_writes_are_told_like_other_messages() {
    let part = || cut([text("part"), fail(ErrorClass::Transport)]);
    let (ran, _) = run(vec![part(), answer("end")]).await;
    let told = ran.events.iter().filter(|event| matches!(event, AgentEvent::User(_))).count();
    assert_eq!(told, 1);
}

#[tokio::test]
async fn a_board_counts_what_runs_at_once() {
    let board = Board::default();
    for note in ["start a", "start b", "end a", "start c", "end b", "end c"] {
        board.note(note);
    }
    assert_eq!(board.most_at_once(), 2);
}
