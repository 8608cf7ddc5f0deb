//! Tools of one response: when they start, beside what they run, and that each is answered once, in order.

use std::sync::Arc;

use innerve_agent::{AgentEvent, TerminalReason};
use innerve_model::ErrorClass;
use innerve_pipeline::{Answer, HookDecision, HookOutcome, Outcome};
use innerve_protocol::{ContentBlock, StopReason};
use serde_json::{Value, json};

use crate::kit::{World, check_transcript, finish, idle, ids, last_results, results, texts};
use crate::script::{Say, Script, answer, broken_call, call, cut, fail, response, stop, text};

/// Calls of a response: tool and input, with the ids `a`, `b`, …
fn calls(calls: &[(&str, Value)]) -> Vec<Say> {
    let ids = "abcdefghijklmnopqrstuvwxyz".chars().map(String::from);
    ids.zip(calls).flat_map(|(id, (tool, input))| call(&id, tool, input.clone())).collect()
}

/// Runs one response with these calls, then an answer.
async fn round(parts: &[(&str, Value)]) -> (World, crate::kit::Ran) {
    let script = Script::new(vec![response([calls(parts)]), answer("end")]);
    let world = World::new(&script);
    let ran = world.run("Do it.").await;
    (world, ran)
}

#[tokio::test]
async fn tools_start_while_the_model_still_writes() {
    let script = Script::new(Vec::new());
    let world = World::new(&script);
    // The model goes on only when the tool runs: without overlap this would hang.
    let script = Script::new(vec![
        response([
            call("a", "Read", json!({ "opens": "model", "gate": "tool" })),
            vec![Say::WaitFor(world.board.gate("model"))],
            text("While it runs."),
            call("b", "Read", json!({ "opens": "tool" })),
        ]),
        answer("end"),
    ]);
    let world = World { script: Arc::clone(&script), ..world };
    let ran = world.run("Do it.").await;
    assert_eq!(ran.reason(), TerminalReason::Completed);
    assert_eq!(world.board.notes(), ["start a", "start b", "end b", "end a"]);
}

#[tokio::test]
async fn an_unsafe_tool_too_starts_while_the_model_still_writes() {
    let script = Script::new(Vec::new());
    let world = World::new(&script);
    let script = Script::new(vec![
        response([
            call("a", "Edit", json!({ "opens": "model" })),
            vec![Say::WaitFor(world.board.gate("model"))],
            text("And now."),
        ]),
        answer("end"),
    ]);
    let world = World { script: Arc::clone(&script), ..world };
    assert_eq!(world.run("Do it.").await.ended().len(), 1);
}

#[tokio::test]
async fn safe_calls_run_side_by_side() {
    let parts = [
        ("Read", json!({ "gate": "a" })),
        ("Grep", json!({ "gate": "b" })),
        ("Read", json!({ "gate": "c" })),
    ];
    let script = Script::new(vec![response([calls(&parts)]), answer("end")]);
    let world = World::new(&script);
    let (_agent, run) = world.begin("start c").await;
    // None of them can have ended yet: one after the other they would hang here.
    for gate in ["a", "b", "c"] {
        world.board.open(gate);
    }
    assert_eq!(finish(run).await.ended().len(), 3);
    assert_eq!(world.board.most_at_once(), 3);
}

#[tokio::test]
async fn f50_at_most_ten_run_at_once() {
    let parts: Vec<_> =
        (0..15).map(|number| ("Read", json!({ "gate": format!("{number}") }))).collect();
    let script = Script::new(vec![response([calls(&parts)]), answer("end")]);
    let world = World::new(&script);
    let (_agent, run) = world.begin("start j").await;
    for number in 0..15 {
        world.board.open(&format!("{number}"));
    }
    let ran = finish(run).await;
    assert_eq!(ran.ended().len(), 15);
    assert_eq!(world.board.most_at_once(), 10);
}

#[tokio::test]
async fn f49_unsafe_calls_run_alone_and_nothing_overtakes_them() {
    let (world, _) = round(&[
        ("Read", json!({})),
        ("Read", json!({})),
        ("Grep", json!({})),
        ("Edit", json!({})),
        ("Read", json!({})),
        ("Bash", json!({})),
        ("Edit", json!({})),
    ])
    .await;
    let notes = world.board.notes();
    let place = |note: &str| notes.iter().position(|there| there == note).unwrap();
    for before in ["end a", "end b", "end c"] {
        assert!(place(before) < place("start d"), "{notes:?}");
    }
    assert_eq!(
        notes[place("start d")..],
        ["start d", "end d", "start e", "end e", "start f", "end f", "start g", "end g"]
    );
}

#[tokio::test]
async fn f54_a_safe_call_behind_a_waiting_unsafe_one_waits_too() {
    let script = Script::new(vec![
        response([calls(&[
            ("Read", json!({ "gate": "read" })),
            ("Edit", json!({})),
            ("Read", json!({})),
        ])]),
        answer("end"),
    ]);
    let world = World::new(&script);
    let (_agent, run) = world.begin("start a").await;
    idle().await;
    assert_eq!(world.board.notes(), ["start a"]);
    world.board.open("read");
    finish(run).await;
    assert_eq!(world.board.notes()[1..], ["end a", "start b", "end b", "start c", "end c"]);
}

#[tokio::test]
async fn f53_no_result_is_sent_before_those_of_earlier_calls() {
    let script = Script::new(vec![
        response([calls(&[("Edit", json!({ "gate": "a" })), ("Nope", json!({}))])]),
        answer("end"),
    ]);
    let world = World::new(&script);
    let agent = world.start();
    let mut run = agent.run(vec![ContentBlock::text("Do it.")]);
    world.board.wait_for("start a").await;
    // The second call has its answer at once, and it is told; nothing is sent.
    loop {
        match run.next().await.unwrap() {
            AgentEvent::User(message) => panic!("sent before the first call ended: {message:?}"),
            AgentEvent::ToolEnded(report) => {
                assert_eq!(report.tool_use_id.as_str(), "b");
                break;
            }
            _ => {}
        }
    }
    assert_eq!(script.count(), 1);
    world.board.open("a");
    finish(run).await;
    assert_eq!(ids(&last_results(&script.request(1))), ["a", "b"]);
}

#[tokio::test]
async fn i2_f51_a_call_whose_safety_cannot_be_told_runs_alone() {
    let (world, ran) =
        round(&[("Read", json!({})), ("Read", json!({ "odd": true })), ("Read", json!({}))]).await;
    assert_eq!(world.board.most_at_once(), 1);
    assert_eq!(ran.ended().len(), 3);
}

#[tokio::test]
async fn i7_f52_results_are_sent_in_the_order_of_the_calls_whatever_ended_first() {
    let parts =
        [("Read", json!({ "gate": "a" })), ("Read", json!({ "gate": "b" })), ("Read", json!({}))];
    let script = Script::new(vec![response([calls(&parts)]), answer("end")]);
    let world = World::new(&script);
    let agent = world.start();
    let mut run = agent.run(vec![ContentBlock::text("Do it.")]);
    let mut ended = Vec::new();
    while ended.len() < 3 {
        if let Some(AgentEvent::ToolEnded(report)) = run.next().await {
            ended.push(report.tool_use_id.to_string());
            world.board.open(if ended.len() == 1 { "b" } else { "a" });
        }
    }
    assert_eq!(ended, ["c", "b", "a"]);
    finish(run).await;
    assert_eq!(ids(&last_results(&script.request(1))), ["a", "b", "c"]);
}

#[tokio::test]
async fn f55_what_can_only_end_in_an_error_is_answered_at_once() {
    let script = Script::new(vec![
        response([
            call("a", "Edit", json!({ "gate": "edit" })),
            call("b", "Nope", json!({})),
            broken_call("c", "Edit", "{\"x\": "),
            call("d", "Read", json!({})),
        ]),
        answer("end"),
    ]);
    let world = World::new(&script);
    let agent = world.start();
    let mut run = agent.run(vec![ContentBlock::text("Do it.")]);
    let mut ended = Vec::new();
    while let Some(event) = run.next().await {
        if let AgentEvent::ToolEnded(report) = event {
            ended.push(report.tool_use_id.to_string());
            if ended.len() == 2 {
                world.board.open("edit");
            }
        }
        if ended.len() == 4 {
            break;
        }
    }
    ended[..2].sort();
    assert_eq!(ended, ["b", "c", "a", "d"]);
    finish(run).await;
    let sent = last_results(&script.request(1));
    assert_eq!(ids(&sent), ["a", "b", "c", "d"]);
    assert_eq!(sent[2].1, r#"{"INVALID_JSON":"{\"x\": "}"#);
    let second = script.request(1);
    let inputs: Vec<_> = second.messages[1].tool_uses().map(|it| it.input.clone()).collect();
    assert_eq!(inputs[2], json!({}), "the history holds an object");
    script.check();
}

#[tokio::test]
async fn i7_equal_and_illegal_ids_are_replaced_and_each_call_is_answered() {
    let script = Script::new(vec![
        response([
            call("a", "Read", json!({ "id": "1" })),
            call("a", "Read", json!({ "id": "2" })),
            call("", "Read", json!({ "id": "3" })),
            call("föö bar", "Read", json!({ "id": "4" })),
        ]),
        response([call("a", "Read", json!({ "id": "5" }))]),
        answer("end"),
    ]);
    let world = World::new(&script);
    world.run("Do it.").await;
    let texts = |index: usize| -> Vec<String> {
        last_results(&script.request(index)).into_iter().map(|(_, text)| text).collect()
    };
    assert_eq!(texts(1), ["1 in /repo", "2 in /repo", "3 in /repo", "4 in /repo"]);
    assert_eq!(texts(2), ["5 in /repo"]);
}

#[tokio::test]
async fn i7_a_maker_of_ids_that_repeats_itself_or_makes_illegal_ones_hangs_nothing() {
    for id in ["same", "not an id", ""] {
        let same = || call("a", "Read", json!({}));
        let script = Script::new(vec![response([same(), same(), same()]), answer("end")]);
        let world = World::new(&script);
        let mut env = world.env();
        env.new_id = Arc::new(move || id.to_owned());
        let agent = innerve_agent::Agent::start(env).unwrap();
        let ran = finish(agent.run(vec![ContentBlock::text("Do it.")])).await;
        assert_eq!(ran.ended().len(), 3);
        script.check();
    }
}

#[tokio::test]
async fn f56_where_it_is_switched_on_a_command_that_fails_cancels_what_runs_beside_it() {
    let command = "cargo test --workspace --all-features --no-fail-fast";
    let failing = json!({ "safe": true, "command": command, "gate": "b", "fails": "no" });
    let cascade = async |parts: &[(&str, Value)], gates: &[&str]| {
        let script = Script::new(vec![response([calls(parts)]), answer("end")]);
        let mut world = World::new(&script);
        world.config.bash_failure_cancels = true;
        let (agent, run) = world.begin("start a").await;
        world.board.wait_for("start b").await;
        for gate in gates {
            world.board.open(gate);
        }
        finish(run).await;
        script.check();
        check_transcript(&agent).await;
        last_results(&script.request(1))
    };
    let sent = cascade(
        &[("Read", json!({ "gate": "never" })), ("Bash", failing.clone()), ("Edit", json!({}))],
        &["b"],
    )
    .await;
    let label: String = command.chars().take(40).collect();
    assert_eq!(sent[0].1, format!("cancelled: the parallel call Bash({label}) failed"));
    assert!(sent[1].1.contains("no"), "{sent:?}");
    assert!(sent[2].1.contains("not executed"), "{sent:?}");

    // A read that fails ends nothing else.
    let sent = cascade(
        &[
            ("Read", json!({ "gate": "a", "fails": "no" })),
            ("Bash", json!({ "safe": true, "gate": "b" })),
        ],
        &["a", "b"],
    )
    .await;
    assert_eq!(sent[1].1, "b in /repo");

    // Nor does a command, unless it is switched on.
    let script = Script::new(vec![
        response([calls(&[("Read", json!({ "gate": "a" })), ("Bash", failing)])]),
        answer("end"),
    ]);
    let world = World::new(&script);
    let (_agent, run) = world.begin("start b").await;
    world.board.open("b");
    world.board.wait_for("end b").await;
    world.board.open("a");
    finish(run).await;
    assert_eq!(last_results(&script.request(1))[0].1, "a in /repo");
}

#[tokio::test]
async fn f57_a_move_holds_once_nothing_runs_beside_it() {
    let (world, ran) = round(&[
        ("Read", json!({ "cwd": "/repo/x" })),
        ("Read", json!({ "cwd": "/repo/y" })),
        ("Edit", json!({ "cwd": "/repo/src" })),
        ("Read", json!({})),
    ])
    .await;
    let sent = last_results(&world.script.request(1));
    // The two reads run side by side and see nothing of each other; of their moves the later call's holds.
    assert_eq!(sent[1].1, "b in /repo");
    assert_eq!(sent[2].1, "c in /repo/y");
    assert_eq!(sent[3].1, "d in /repo/src");
    assert!(ran.warnings().is_empty(), "{:?}", ran.warnings());
}

#[tokio::test]
async fn a_move_out_of_the_working_directories_needs_an_approval() {
    let (world, ran) = round(&[("Edit", json!({ "cwd": "/etc" })), ("Read", json!({}))]).await;
    assert_eq!(last_results(&world.script.request(1))[1].1, "b in /repo");
    assert!(ran.warnings()[0].contains("nobody approved"), "{:?}", ran.warnings());
}

#[tokio::test]
async fn a_tool_s_error_and_panic_are_results_and_the_run_goes_on() {
    let (world, ran) = round(&[
        ("Edit", json!({ "fails": "exit code 1" })),
        ("Edit", json!({ "panics": true })),
        ("Edit", json!({})),
    ])
    .await;
    let sent = last_results(&world.script.request(1));
    assert_eq!(sent[0].1, "exit code 1");
    assert!(sent[1].1.contains("internal error") && !sent[1].1.contains("hunter2"));
    assert_eq!(sent[2].1, "c in /repo");
    assert!(!format!("{:?}{:?}", ran.events, ran.summary).contains("hunter2"));
}

#[tokio::test]
async fn f60_a_rejection_without_a_comment_ends_the_turn_and_queued_calls_are_not_executed() {
    let script = Script::new(vec![response([calls(&[
        ("Ask", json!({})),
        ("Edit", json!({})),
        ("Read", json!({})),
    ])])]);
    let world = World::new(&script).person(|_| Answer::Deny { comment: None });
    let agent = world.start();
    let ran = finish(agent.run(vec![ContentBlock::text("Do it.")])).await;
    assert_eq!((ran.reason(), script.count()), (TerminalReason::DeniedByUser, 1));
    let messages = agent.messages().await;
    let sent = results(messages.last().unwrap());
    assert!(sent[0].1.contains("rejected"), "{sent:?}");
    assert!(sent[1].1.contains("not executed") && sent[2].1.contains("not executed"), "{sent:?}");
    assert!(world.board.notes().is_empty());
    assert_eq!(ran.summary.permission_denials.len(), 1);
    check_transcript(&agent).await;
}

#[tokio::test]
async fn a_rejection_with_a_comment_goes_on() {
    let script = Script::new(vec![
        response([calls(&[("Ask", json!({})), ("Edit", json!({}))])]),
        answer("end"),
    ]);
    let world =
        World::new(&script).person(|_| Answer::Deny { comment: Some("use less".to_owned()) });
    let ran = world.run("Do it.").await;
    assert_eq!(ran.reason(), TerminalReason::Completed);
    let sent = last_results(&script.request(1));
    assert!(sent[0].1.contains("use less"));
    assert_eq!(world.board.notes(), ["start b", "end b"]);
}

#[tokio::test]
async fn i7_f42_an_abort_keeps_what_has_ended_and_says_of_the_rest_that_it_was_interrupted() {
    let script = Script::new(vec![
        response([calls(&[
            ("Read", json!({ "gate": "a" })),
            ("Read", json!({ "gate": "never" })),
            ("Edit", json!({})),
        ])]),
        answer("Back."),
    ]);
    let world = World::new(&script);
    let agent = world.start();
    let mut run = agent.run(vec![ContentBlock::text("Do it.")]);
    world.board.wait_for("start b").await;
    world.board.open("a");
    while let Some(event) = run.next().await {
        if matches!(event, AgentEvent::ToolEnded(_)) {
            break;
        }
    }
    run.cancel();
    let ran = finish(run).await;
    assert_eq!(ran.reason(), TerminalReason::AbortedTools);
    let messages = agent.messages().await;
    let last = messages.last().unwrap();
    let sent = results(last);
    assert_eq!(sent[0], ("a".to_owned(), "a in /repo".to_owned()));
    assert!(sent[1].1.contains("interrupted by the user before it finished"), "{sent:?}");
    assert!(sent[2].1.contains("before it started"), "{sent:?}");
    assert_eq!(texts(last), ["[The user interrupted while tools were running.]"]);
    check_transcript(&agent).await;
    assert_eq!(finish(agent.run(vec![ContentBlock::text("On.")])).await.summary.result, "Back.");
    script.check();
}

#[tokio::test]
async fn an_abort_while_the_model_writes_and_a_tool_runs_answers_the_call() {
    let script = Script::new(vec![cut([
        text("Look:"),
        call("a", "Read", json!({ "gate": "never" })),
        vec![Say::Hang],
    ])]);
    let world = World::new(&script);
    let (agent, run) = world.begin("start a").await;
    run.cancel();
    let ran = finish(run).await;
    assert_eq!(ran.reason(), TerminalReason::AbortedTools);
    check_transcript(&agent).await;
    let messages = agent.messages().await;
    assert_eq!(texts(&messages[1]), ["Look:"]);
    assert_eq!(results(&messages[2]).len(), 1);
}

#[tokio::test]
async fn an_abort_ends_a_tool_that_does_not_listen() {
    let script =
        Script::new(vec![response([call("a", "Edit", json!({ "gate": "never", "deaf": true }))])]);
    let world = World::new(&script);
    let (agent, run) = world.begin("start a").await;
    run.cancel();
    assert_eq!(finish(run).await.reason(), TerminalReason::AbortedTools);
    check_transcript(&agent).await;
}

#[tokio::test]
async fn a_broken_stream_lets_its_running_tools_finish() {
    let script = Script::new(vec![
        cut([
            call("a", "Edit", json!({ "gate": "late" })),
            call("b", "Read", json!({})),
            fail(ErrorClass::Transport),
        ]),
        answer("end"),
    ]);
    let world = World::new(&script);
    let (_agent, run) = world.begin("start a").await;
    idle().await;
    world.board.open("late");
    finish(run).await;
    let sent = last_results(&script.request(1));
    assert_eq!(
        sent,
        [("a".to_owned(), "a in /repo".to_owned()), ("b".to_owned(), "b in /repo".to_owned())]
    );
    script.check();
}

#[tokio::test]
async fn progress_is_told_and_never_sent() {
    let (world, ran) = round(&[("Read", json!({ "id": "far" }))]).await;
    let told = ran.progress();
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].tool_use_id.as_str(), told[0].parent_tool_use_id.as_ref()), ("a", None));
    assert!(
        !serde_json::to_string(&world.script.request(1).messages).unwrap().contains("progress")
    );
}

#[tokio::test]
async fn events_of_a_call_come_in_their_order_and_each_call_ends_once() {
    let (_, ran) = round(&[
        ("Read", json!({})),
        ("Edit", json!({})),
        ("Nope", json!({})),
        ("Read", json!({})),
    ])
    .await;
    for id in ["a", "b", "c", "d"] {
        let told: Vec<&str> = ran
            .events
            .iter()
            .filter_map(|event| match event {
                AgentEvent::ToolStarted(tool_use) if tool_use.id.as_str() == id => Some("start"),
                AgentEvent::ToolEnded(report) if report.tool_use_id.as_str() == id => Some("end"),
                _ => None,
            })
            .collect();
        assert_eq!(told, ["start", "end"], "{id}");
    }
}

#[tokio::test]
async fn what_is_refused_is_in_the_summary_with_its_reason() {
    let (_, ran) = round(&[("Ask", json!({ "id": "x" }))]).await;
    assert_eq!(ran.reason(), TerminalReason::Completed);
    let (tool_use, reason) = &ran.summary.permission_denials[0];
    assert_eq!((tool_use.name.as_str(), &tool_use.input), ("Ask", &json!({ "id": "x" })));
    assert!(!reason.message.is_empty());
    let refused = ran.events.iter().any(|event| match event {
        AgentEvent::ToolEnded(report) => matches!(report.outcome, Outcome::Refused(_)),
        _ => false,
    });
    assert!(refused);
}

#[tokio::test]
async fn i12_a_replaced_result_stays_as_it_was_replaced() {
    let big = |id: &str| ("Read", json!({ "id": id, "size": 45_000 }));
    let script = Script::new(vec![
        response([calls(&[big("1"), big("2"), big("3"), big("4"), big("5")])]),
        response([call("z", "Read", json!({}))]),
        answer("end"),
    ]);
    let world = World::new(&script);
    // The script compares the second and the third request byte for byte.
    world.run("Do it.").await;
    let sent = last_results(&script.request(1));
    let replaced: Vec<bool> =
        sent.iter().map(|(_, text)| text.starts_with("<persisted-output>")).collect();
    assert_eq!(replaced, [true, false, false, false, false], "the earliest of equals");
    let file = world.folder().join("tool-results").join("a.txt");
    assert_eq!(std::fs::read_to_string(file).unwrap().len(), 45_000);

    // A resumed session sends the same bytes again.
    let script = Script::new(vec![answer("resumed")]);
    let again = World { script: Arc::clone(&script), ..world };
    let agent = again.resume();
    finish(agent.run(vec![ContentBlock::text("On.")])).await;
    assert_eq!(results(&script.request(0).messages[2]), sent);
    script.check();
}

#[tokio::test]
async fn a_tool_that_bounds_itself_is_never_replaced() {
    let big = |id: &str| ("Big", json!({ "id": id, "size": 120_000 }));
    let (world, _) = round(&[big("1"), big("2"), big("3")]).await;
    let sent = last_results(&world.script.request(1));
    assert!(sent.iter().all(|(_, text)| text.len() == 120_000));
}

#[tokio::test]
async fn stop_reasons_and_calls_do_not_disturb_each_other() {
    let script = Script::new(vec![
        cut([call("a", "Read", json!({})), stop(StopReason::PauseTurn)]),
        answer("end"),
    ]);
    let world = World::new(&script);
    assert_eq!(world.run("Do it.").await.ended().len(), 1);
}

#[tokio::test]
async fn a_hook_that_stops_ends_the_run_after_every_call_is_answered() {
    let stopping = HookOutcome { stop: Some("enough".to_owned()), ..HookOutcome::default() };
    let script = Script::new(vec![response([calls(&[
        ("Read", json!({})),
        ("Edit", json!({})),
        ("Bash", json!({})),
    ])])]);
    let world = World::new(&script).hook("Edit", stopping);
    let agent = world.start();
    let ran = finish(agent.run(vec![ContentBlock::text("Do it.")])).await;
    assert_eq!(ran.reason(), TerminalReason::HookStopped);
    assert!(ran.summary.terminal.message.contains("enough"), "{}", ran.summary.terminal.message);
    let messages = agent.messages().await;
    let sent = results(messages.last().unwrap());
    assert_eq!(sent[0].1, "a in /repo");
    assert!(sent[2].1.contains("not executed"), "{sent:?}");
    assert_eq!(world.board.notes(), ["start a", "end a"]);
    check_transcript(&agent).await;
    script.check();
}

#[tokio::test]
async fn a_hook_that_defers_the_only_call_ends_the_run() {
    let deferring = HookOutcome { decision: Some(HookDecision::Defer), ..HookOutcome::default() };
    let script = Script::new(vec![response([calls(&[("Edit", json!({}))])])]);
    let ran = World::new(&script).hook("Edit", deferring).run("Do it.").await;
    assert_eq!(ran.reason(), TerminalReason::HookStopped);
    assert!(ran.summary.terminal.message.contains("deferred"), "{}", ran.summary.terminal.message);
}

#[tokio::test]
async fn what_hooks_say_to_the_model_comes_behind_the_results() {
    let outcome =
        HookOutcome { context: vec!["Mind the gap.".to_owned()], ..HookOutcome::default() };
    let script = Script::new(vec![
        response([calls(&[("Edit", json!({})), ("Read", json!({}))])]),
        answer("end"),
    ]);
    World::new(&script).hook("Edit", outcome).run("Do it.").await;
    let second = script.request(1);
    let last = second.messages.last().unwrap();
    assert_eq!(results(last).len(), 2);
    assert_eq!(texts(last), ["Mind the gap."]);
}
