//! Sub-agents: what they share with their parent, what they may not, and how they end.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use innerve_agent::{Agent, AgentEvent, TerminalReason, Transcript};
use innerve_model::ErrorClass;
use innerve_permission::{PermissionMode, Policy};
use innerve_pipeline::{Answer, Grant, GrantScope, PolicySource as _};
use innerve_protocol::{ContentBlock, Request};
use innerve_tool::port::{TaskRegistry as _, TaskState};
use serde_json::{Value, json};

use crate::interrupts::unanswered;
use crate::kit::{LONG, World, check_transcript, finish, last_results, results, texts};
use crate::script::{
    Say, Script, answer, blocks, call, cut, fail, response, text, thinking, usage,
};

fn agent_call(id: &str, input: Value) -> Vec<Say> {
    call(id, "Agent", input)
}

/// A main conversation that starts one child with this input, and the child's responses.
fn family(input: Value, child: Vec<Vec<Say>>) -> Arc<Script> {
    Script::with_lanes([
        ("main", vec![response([agent_call("p", input)]), answer("end")]),
        ("child", child),
    ])
}

/// Waits until the first task is no longer running.
async fn task_ended(world: &World) {
    let ended = async {
        while world.tasks.list()[0].state == TaskState::Running {
            tokio::task::yield_now().await;
        }
    };
    assert!(tokio::time::timeout(LONG, ended).await.is_ok(), "it runs on");
}

/// What the parent was told of its child.
async fn told(script: &Arc<Script>) -> (World, String) {
    let world = World::new(script);
    world.run("main task").await;
    let sent = last_results(
        &script
            .requests
            .lock()
            .unwrap()
            .iter()
            .rev()
            .find(|it| it.messages[0].plain_text().starts_with("main"))
            .unwrap()
            .clone(),
    );
    (world, sent[0].1.clone())
}

#[tokio::test]
async fn a_child_s_last_words_are_the_result() {
    let script = family(
        json!({ "prompt": "child task" }),
        vec![response([call("a", "Read", json!({}))]), answer("Found it.")],
    );
    let (world, result) = told(&script).await;
    assert_eq!(result, "Found it. (1 tools)");
    let first = script.request(1);
    assert_eq!(first.messages[0].plain_text(), "child task", "its conversation is its own");
    assert!(first.system[0].text.contains("for another agent"));
    // Its log is a file of its own.
    let logs: Vec<_> = std::fs::read_dir(world.folder().join("agents")).unwrap().collect();
    assert_eq!(logs.len(), 1);
    let (transcript, _) = Transcript::load(&logs[0].as_ref().unwrap().path()).unwrap();
    assert_eq!(transcript.messages.len(), 4);
}

#[tokio::test]
async fn a_child_s_events_say_whose_they_are() {
    let script = family(
        json!({ "prompt": "child task" }),
        vec![response([call("a", "Read", json!({}))]), answer("Found it.")],
    );
    let ran = World::new(&script).run("main task").await;
    let told = ran.progress();
    let kinds: Vec<&str> =
        told.iter().map(|it| it.data["kind"].as_str().unwrap_or("own")).collect();
    assert_eq!(kinds, ["tool_started", "own", "tool_ended"]);
    for progress in told {
        assert_eq!(progress.parent_tool_use_id.unwrap().as_str(), "p", "{:?}", progress.data);
    }
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    for (input, words) in [
        (
            json!({ "prompt": "child", "type": "Wizard" }),
            "available: Explore, fork, general-purpose",
        ),
        (json!({ "prompt": "child", "isolation": "worktree" }), "worktree"),
        (json!({ "prompt": "child", "isolation": "src" }), "not an absolute path"),
    ] {
        let script = family(input, Vec::new());
        let (world, result) = told(&script).await;
        assert!(result.contains(words), "{result}");
        assert_eq!(world.tasks.list().len(), 0);
    }
}

#[tokio::test]
async fn agents_nest_three_deep_and_no_deeper() {
    let deeper = |task: &str| response([agent_call("p", json!({ "prompt": task }))]);
    let script = Script::with_lanes([
        ("main", vec![deeper("one"), answer("main done")]),
        ("one", vec![deeper("two"), answer("one done")]),
        ("two", vec![deeper("three"), answer("two done")]),
        ("three", vec![deeper("four"), answer("three done")]),
    ]);
    let world = World::new(&script);
    world.run("main task").await;
    let requests = script.requests.lock().unwrap();
    let of = |task: &str| {
        requests.iter().rev().find(|it| it.messages[0].plain_text().starts_with(task)).unwrap()
    };
    let has_agent = |task: &str| of(task).tools.iter().any(|tool| tool.name == "Agent");
    assert!(has_agent("two") && !has_agent("three"), "it is withheld at the limit");
    assert!(last_results(of("three"))[0].1.contains("No such tool"), "{:?}", of("three"));
    assert_eq!(last_results(of("main"))[0].1, "one done (1 tools)");
    drop(requests);
    script.check();
}

#[tokio::test]
async fn f99_the_spawner_itself_refuses_at_the_limits() {
    let script = family(json!({ "prompt": "child" }), Vec::new());
    let world = World::new(&script);
    let mut env = world.env();
    env.depth = 3;
    let agent = Agent::start(env).unwrap();
    finish(agent.run(vec![ContentBlock::text("main task")])).await;
    assert!(last_results(&script.request(1))[0].1.contains("at most 3 deep"));

    let script = family(json!({ "prompt": "child" }), Vec::new());
    let world = World::new(&script);
    let env = world.env();
    env.running_agents.store(20, Ordering::SeqCst);
    let running = Arc::clone(&env.running_agents);
    let agent = Agent::start(env).unwrap();
    finish(agent.run(vec![ContentBlock::text("main task")])).await;
    assert!(last_results(&script.request(1))[0].1.contains("do not try again"));
    assert_eq!(running.load(Ordering::SeqCst), 20, "a refused one leaves no trace");
}

#[tokio::test]
async fn a_place_is_given_back_when_a_child_ends_or_does_not_start() {
    let script = Script::with_lanes([
        (
            "main",
            vec![
                response([
                    agent_call("p", json!({ "prompt": "child" })),
                    agent_call("q", json!({ "prompt": "x", "type": "Wizard" })),
                ]),
                answer("end"),
            ],
        ),
        ("child", vec![answer("done")]),
    ]);
    let world = World::new(&script);
    let env = world.env();
    let running = Arc::clone(&env.running_agents);
    let agent = Agent::start(env).unwrap();
    finish(agent.run(vec![ContentBlock::text("main task")])).await;
    assert_eq!(running.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_child_that_fails_with_nothing_said_is_an_error_and_one_with_words_is_not() {
    let script = family(json!({ "prompt": "child" }), vec![fail(ErrorClass::Auth)]);
    let (_, result) = told(&script).await;
    assert!(result.contains("ended early") && result.contains("the provider says no"), "{result}");
    let script = family(
        json!({ "prompt": "child" }),
        vec![cut([text("So far: two files."), fail(ErrorClass::Auth)])],
    );
    let (_, result) = told(&script).await;
    assert!(result.starts_with("So far: two files. [it was cut off:"), "{result}");
}

#[tokio::test]
async fn i7_stopping_the_parent_stops_the_child() {
    let script = Script::with_lanes([
        ("main", vec![response([agent_call("p", json!({ "prompt": "child" }))])]),
        ("child", vec![response([call("a", "Edit", json!({ "id": "inner", "gate": "never" }))])]),
    ]);
    let world = World::new(&script);
    let env = world.env();
    let running = Arc::clone(&env.running_agents);
    let agent = Agent::start(env).unwrap();
    let run = agent.run(vec![ContentBlock::text("main task")]);
    world.board.wait_for("start inner").await;
    run.cancel();
    let ran = finish(run).await;
    assert_eq!(ran.reason(), TerminalReason::AbortedTools);
    check_transcript(&agent).await;
    world.board.wait_for("stopped inner").await;
    let freed = async {
        while running.load(Ordering::SeqCst) != 0 {
            tokio::task::yield_now().await;
        }
    };
    assert!(tokio::time::timeout(LONG, freed).await.is_ok());
    script.check();
}

#[tokio::test]
async fn a_background_child_is_a_task_that_outlives_the_run_and_completes() {
    let script = family(
        json!({ "prompt": "child", "background": true }),
        vec![
            response([call("a", "Read", json!({ "id": "inner", "gate": "later" }))]),
            answer("Found."),
        ],
    );
    let world = World::new(&script);
    let agent = world.start();
    // The run's stream ends although the child still holds the other end of it.
    let ran = finish(agent.run(vec![ContentBlock::text("main task")])).await;
    assert_eq!(ran.summary.result, "end");
    let task = world.tasks.list()[0].clone();
    assert_eq!(task.state, TaskState::Running);
    world.board.wait_for("start inner").await;
    world.board.open("later");
    task_ended(&world).await;
    assert_eq!(world.tasks.get(&task.id).unwrap().state, TaskState::Completed("Found.".to_owned()));
    assert_eq!(world.tasks.take_news().len(), 1);
    script.check();
}

#[tokio::test]
async fn a_background_child_ends_by_its_task_and_with_the_session() {
    for by_task in [true, false] {
        let script = family(
            json!({ "prompt": "child", "background": true }),
            vec![response([call("a", "Read", json!({ "id": "inner", "gate": "never" }))])],
        );
        let world = World::new(&script);
        let agent = world.start();
        finish(agent.run(vec![ContentBlock::text("main task")])).await;
        world.board.wait_for("start inner").await;
        let task = world.tasks.list()[0].clone();
        if by_task {
            world.tasks.stop(&task.id).unwrap();
        } else {
            world.cancellation.cancel();
        }
        world.board.wait_for("stopped inner").await;
        task_ended(&world).await;
        assert_eq!(world.tasks.get(&task.id).unwrap().state, TaskState::Killed);
    }
}

#[tokio::test]
async fn i3_a_child_s_mode_only_tightens() {
    let asks =
        |input: Value| family(input, vec![response([call("a", "Ask", json!({}))]), answer("done")]);
    let in_mode = |mode| Policy { mode, headless: false, ..Policy::new("/repo", "/home/user") };
    // It asks for everything, and gets what its parent has.
    let script = asks(json!({ "prompt": "child", "mode": "bypassPermissions" }));
    let world = World::with_policy(&script, in_mode(PermissionMode::Default));
    world.run("main task").await;
    assert!(world.board.notes().is_empty(), "asked about, and nobody is there");
    // It asks for less, and gets less.
    let script = asks(json!({ "prompt": "child", "mode": "dontAsk" }));
    let world =
        World::with_policy(&script, in_mode(PermissionMode::Default)).person(|_| Answer::once());
    world.run("main task").await;
    assert!(world.board.notes().is_empty());
    let script = asks(json!({ "prompt": "child" }));
    let world =
        World::with_policy(&script, in_mode(PermissionMode::Default)).person(|_| Answer::once());
    world.run("main task").await;
    assert_eq!(world.board.notes(), ["start a", "end a"]);
}

#[tokio::test]
async fn i3_a_child_that_asks_for_plan_mode_gets_no_way_around_questions() {
    // In a session that may bypass permissions, plan mode holds nothing back.
    let script = family(
        json!({ "prompt": "child", "mode": "plan" }),
        vec![response([call("a", "Ask", json!({}))]), answer("done")],
    );
    let policy =
        Policy { bypass_available: true, headless: false, ..Policy::new("/repo", "/home/user") };
    let world = World::with_policy(&script, policy);
    world.run("main task").await;
    assert!(world.board.notes().is_empty(), "{:?}", world.board.notes());
}

#[tokio::test]
async fn a_grant_given_to_a_child_holds_for_its_parent_and_its_moves_do_not() {
    let script = Script::with_lanes([
        (
            "main",
            vec![
                response([
                    agent_call("p", json!({ "prompt": "child" })),
                    call("q", "Ask", json!({ "id": "outer" })),
                ]),
                answer("end"),
            ],
        ),
        (
            "child",
            vec![
                response([
                    call("a", "Ask", json!({ "id": "inner" })),
                    call("b", "Edit", json!({ "id": "move", "cwd": "/repo/src" })),
                ]),
                answer("done"),
            ],
        ),
    ]);
    let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
    let noted = Arc::clone(&asked);
    let world = World::new(&script).person(move |request| {
        noted.lock().unwrap().push(request.agent.is_some());
        let grant = Grant { scope: GrantScope::Session, rules: vec!["Ask".to_owned()] };
        Answer::Allow { remember: Some(grant), edited: None }
    });
    world.run("main task").await;
    assert_eq!(*asked.lock().unwrap(), [true], "once, and the question named the agent");
    assert_eq!(world.policy.current().rules.rules().len(), 1);
    assert_eq!(world.policy.current().cwd, std::path::Path::new("/repo"));
    assert!(world.board.notes().contains(&"end outer".to_owned()));
}

#[tokio::test]
async fn an_explorer_gets_only_what_reads() {
    let script = family(json!({ "prompt": "child", "type": "explore" }), vec![answer("done")]);
    World::new(&script).run("main task").await;
    let names: Vec<String> = script.request(1).tools.iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(names, ["Bash", "Grep", "Read"]);
}

#[tokio::test]
async fn at_the_cost_limit_no_child_is_started() {
    let script = Script::with_lanes([(
        "main",
        vec![response([
            usage(10_000_000, 0),
            call("e", "Edit", json!({ "gate": "edit" })),
            agent_call("p", json!({ "prompt": "child" })),
        ])],
    )]);
    let mut world = World::new(&script);
    world.config.max_cost_usd = Some(1.0);
    let agent = world.start();
    let mut run = agent.run(vec![ContentBlock::text("main task")]);
    while let Some(event) = run.next().await {
        if matches!(event, AgentEvent::Assistant(_)) {
            // The response is complete, and what it cost is known.
            world.board.open("edit");
            break;
        }
    }
    assert_eq!(finish(run).await.reason(), TerminalReason::BudgetExceeded);
    let messages = agent.messages().await;
    let sent = results(messages.last().unwrap());
    assert!(sent[1].1.contains("cost limit"), "{sent:?}");
    script.check();
}

#[tokio::test]
async fn children_in_one_response_run_one_after_the_other_and_are_answered_in_order() {
    let child = |task: &str| agent_call(task, json!({ "prompt": task }));
    let script = Script::with_lanes([
        ("main", vec![response([child("one"), child("two")]), answer("end")]),
        ("one", vec![answer("first")]),
        ("two", vec![answer("second")]),
    ]);
    let world = World::new(&script);
    world.run("main task").await;
    let requests = script.requests.lock().unwrap();
    let sent = last_results(requests.last().unwrap());
    assert_eq!(sent[0], ("one".to_owned(), "first (0 tools)".to_owned()));
    assert_eq!(sent[1], ("two".to_owned(), "second (0 tools)".to_owned()));
}

#[tokio::test]
async fn the_model_is_told_once_that_work_in_the_background_has_ended() {
    let script = Script::with_lanes([
        (
            "main",
            vec![
                response([agent_call("p", json!({ "prompt": "child", "background": true }))]),
                response([call("q", "Edit", json!({ "gate": "later" }))]),
                response([call("r", "Edit", json!({}))]),
                answer("end"),
            ],
        ),
        ("child", vec![answer("Found it.")]),
    ]);
    let world = World::new(&script);
    let agent = world.start();
    let run = agent.run(vec![ContentBlock::text("main task")]);
    world.board.wait_for("start q").await;
    task_ended(&world).await;
    world.board.open("later");
    finish(run).await;
    script.check();
    let messages = agent.messages().await;
    let news: Vec<(usize, String)> = messages
        .iter()
        .enumerate()
        .flat_map(|(place, message)| texts(message).into_iter().map(move |text| (place, text)))
        .filter(|(_, text)| text.starts_with("[Background task"))
        .collect();
    assert_eq!(news.len(), 1, "{news:?}");
    assert!(news[0].0 == 4 && news[0].1.contains("has completed: Found it."), "{news:?}");
}

#[tokio::test]
async fn f98_a_copy_begins_with_the_bytes_of_its_parent() {
    let script = Script::new(vec![
        response([thinking("hm"), call("a", "Read", json!({}))]),
        response([agent_call("b", json!({ "prompt": "count", "type": "fork" }))]),
        // The copy: it cannot start another one.
        response([agent_call("c", json!({ "prompt": "again", "type": "fork" }))]),
        answer("Three."),
        answer("Done."),
    ]);
    let world = World::new(&script);
    let ran = world.run("Do it.").await;
    assert_eq!(ran.reason(), TerminalReason::Completed);
    let (parent, copy) = (script.request(1), script.request(2));
    let bytes =
        |request: &Request| serde_json::to_string(&(&request.system, &request.tools)).unwrap();
    assert_eq!(bytes(&parent), bytes(&copy));
    assert_eq!((&parent.model, parent.max_tokens), (&copy.model, copy.max_tokens));
    let (before, after): (Vec<_>, Vec<_>) = (
        parent.messages.iter().flat_map(|message| blocks(message)).collect(),
        copy.messages.iter().flat_map(|message| blocks(message)).collect(),
    );
    assert_eq!(after[..before.len()], before);
    assert!(after[before.len()..].concat().contains("count"));
    let refused = last_results(&script.request(3));
    assert!(refused[0].1.contains("starts no copies"), "{refused:?}");
    assert_eq!(last_results(&script.request(4)), [("b".to_owned(), "Three. (1 tools)".to_owned())]);
}

#[tokio::test]
async fn f97_a_child_in_the_background_changes_nothing_of_its_parent_but_is_among_its_tasks() {
    let script = family(
        json!({ "prompt": "child task", "background": true }),
        vec![response([call("x", "Edit", json!({ "cwd": "/repo/deep" }))]), answer("Moved.")],
    );
    let world = World::new(&script);
    let agent = world.start();
    finish(agent.run(vec![ContentBlock::text("main task")])).await;
    let ended = async {
        loop {
            let tasks = world.tasks.list();
            if tasks.iter().any(|task| task.state != TaskState::Running) {
                return tasks;
            }
            tokio::task::yield_now().await;
        }
    };
    let tasks = tokio::time::timeout(LONG, ended).await.unwrap();
    assert_eq!(tasks.len(), 1);
    assert_eq!(tasks[0].state, TaskState::Completed("Moved.".to_owned()));
    assert_eq!(world.policy.current().cwd, std::path::Path::new("/repo"));
}

#[tokio::test]
async fn f100_a_child_s_question_is_answered_for_its_parent_and_taken_back_with_it() {
    let child = || vec![response([call("x", "Ask", json!({}))]), answer("Asked.")];
    let script = family(json!({ "prompt": "child task" }), child());
    let world = World::new(&script).person(|request| {
        assert!(request.agent.is_some(), "the question says who asks");
        Answer::once()
    });
    world.run("main task").await;
    assert!(world.board.notes().contains(&"end x".to_owned()));

    let script = family(json!({ "prompt": "child task" }), child());
    let world = unanswered(&script);
    let agent = world.start();
    let run = agent.run(vec![ContentBlock::text("main task")]);
    world.board.wait_for("asked x").await;
    run.cancel();
    let ran = finish(run).await;
    assert_eq!(ran.reason(), TerminalReason::AbortedTools);
    assert_eq!(world.board.notes(), ["asked x", "taken back x"], "it did not run");
    check_transcript(&agent).await;
}
