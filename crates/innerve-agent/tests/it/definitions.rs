//! Types of sub-agent that people define, and a main conversation that only coordinates.

use std::sync::Arc;

use innerve_agent::{AgentDefinition, AgentTypes, TerminalReason};
use innerve_permission::{PermissionMode, Policy};
use innerve_pipeline::Answer;
use innerve_protocol::{ContentBlock, Request};
use innerve_tool::port::{TaskRegistry as _, TaskState};
use serde_json::{Value, json};

use crate::kit::{LONG, World, check_transcript, finish, last_results};
use crate::script::{Say, Script, answer, call, response};

fn family(input: Value, child: Vec<Vec<Say>>) -> Arc<Script> {
    Script::with_lanes([
        ("main", vec![response([call("p", "Agent", input)]), answer("end")]),
        ("child", child),
    ])
}

fn world(script: &Arc<Script>, head: &str) -> World {
    let text = format!("---\nname: helper\ndescription: Helps.\n{head}---\nYou help.\n");
    let (definition, odd) = AgentDefinition::parse(&text).unwrap();
    assert!(odd.is_empty(), "{odd:?}");
    let mut world = World::new(script);
    world.config.agents = AgentTypes::new(vec![definition]);
    world
}

fn tools(request: &Request) -> Vec<&str> {
    request.tools.iter().map(|tool| tool.name.as_str()).collect()
}

/// The request of a child of this type.
async fn child_request(head: &str, input: Value) -> Request {
    let script = family(input, vec![answer("done")]);
    world(&script, head).run("main task").await;
    script.request(1)
}

#[tokio::test]
async fn a_definition_gives_instructions_model_and_narrowed_tools() {
    let input = json!({ "prompt": "child task", "type": "helper" });
    let head = "tools: Read, Grep, Bash, Nope\ndisallowedTools: Bash\nmodel: claude-haiku-4-5\n";
    let request = child_request(head, input.clone()).await;
    assert_eq!(request.system[0].text, "You help.");
    assert_eq!(request.model, "claude-haiku-4-5");
    assert_eq!(tools(&request), ["Grep", "Read"]);
    let request = child_request("tools: Task, Read\n", input).await;
    assert_eq!(tools(&request), ["Read"], "the test's Agent tool has no former name");
}

#[tokio::test]
async fn a_definition_s_limit_of_rounds_counts() {
    let round = || response([call("a", "Read", json!({}))]);
    let script = family(json!({ "prompt": "child", "type": "helper" }), vec![round(), round()]);
    world(&script, "maxTurns: 2\n").run("main task").await;
    let told = last_results(&script.request(3));
    assert!(told[0].1.contains("limit of 2 rounds"), "{told:?}");
}

#[tokio::test]
async fn i3_a_definition_s_mode_tightens_and_a_call_does_not_loosen_it() {
    let asks =
        |input: Value| family(input, vec![response([call("a", "Ask", json!({}))]), answer("done")]);
    for (head, input, runs) in [
        ("", json!({ "prompt": "child", "type": "helper" }), true),
        ("permissionMode: dontAsk\n", json!({ "prompt": "child", "type": "helper" }), false),
        (
            "permissionMode: dontAsk\n",
            json!({ "prompt": "child", "type": "helper", "mode": "default" }),
            false,
        ),
        (
            "permissionMode: bypassPermissions\n",
            json!({ "prompt": "child", "type": "helper" }),
            true,
        ),
    ] {
        let script = asks(input);
        let world = world(&script, head).person(|_| Answer::once());
        world.run("main task").await;
        assert_eq!(!world.board.notes().is_empty(), runs, "{head}");
    }
    // Nobody is there to be asked, and a definition that says that it may do anything changes nothing.
    let script = asks(json!({ "prompt": "child", "type": "helper" }));
    let mut strict = World::with_policy(
        &script,
        Policy { mode: PermissionMode::Default, ..Policy::new("/repo", "/home/user") },
    );
    strict.config = world(&script, "permissionMode: bypassPermissions\n").config;
    strict.run("main task").await;
    assert!(strict.board.notes().is_empty());
}

#[tokio::test]
async fn a_definition_without_tools_is_an_error_and_not_all_tools() {
    let script = family(json!({ "prompt": "child", "type": "helper" }), Vec::new());
    world(&script, "tools: Bash(git *)\n".replace("Bash(git *)", "[]").as_str())
        .run("main task")
        .await;
    let told = last_results(&script.request(1));
    assert!(told[0].1.contains("no tools"), "{told:?}");
}

#[tokio::test]
async fn a_child_in_the_background_gets_no_tool_that_needs_somebody_who_watches() {
    let script = family(json!({ "prompt": "child", "background": true }), vec![answer("done")]);
    let world = World::new(&script);
    let agent = world.start();
    finish(agent.run(vec![ContentBlock::text("main task")])).await;
    ended(&world, 1).await;
    let requests = script.requests.lock().unwrap();
    let child = requests.iter().find(|it| it.messages[0].plain_text() == "child").unwrap();
    // `Ask` and `Big` are tools of the tests, of which nothing says that they may.
    assert_eq!(tools(child), ["Agent", "Bash", "Edit", "Grep", "Read"]);
}

async fn ended(world: &World, count: usize) {
    let wait = async {
        loop {
            let tasks = world.tasks.list();
            if tasks.len() == count && tasks.iter().all(|task| task.state != TaskState::Running) {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    assert!(tokio::time::timeout(LONG, wait).await.is_ok(), "{:?}", world.tasks.list());
}

#[tokio::test]
async fn a_coordinator_has_no_tools_but_workers_that_work_side_by_side() {
    let worker = |task: &str| call(task, "Agent", json!({ "prompt": task }));
    let script = Script::with_lanes([
        (
            "main",
            vec![
                response([worker("one"), worker("two")]),
                answer("I wait."),
                answer("Fine."),
                answer("Fine."),
            ],
        ),
        (
            "one",
            vec![
                response([call("x", "Read", json!({ "opens": "two", "gate": "one" }))]),
                answer("first"),
            ],
        ),
        (
            "two",
            vec![
                response([call("y", "Read", json!({ "opens": "one", "gate": "two" }))]),
                answer("second"),
            ],
        ),
    ]);
    let mut world = World::new(&script);
    world.config.coordinator = true;
    let agent = world.start();
    // Each waits for the other: one after the other they would wait forever. The run waits for both.
    let ran = finish(agent.run(vec![ContentBlock::text("main task")])).await;
    ended(&world, 2).await;
    assert_eq!(ran.summary.result, "Fine.");
    let requests = script.requests.lock().unwrap();
    let of = |task: &str| {
        requests.iter().find(|it| it.messages[0].plain_text().starts_with(task)).unwrap()
    };
    assert_eq!(tools(of("main")), ["Agent"]);
    assert!(tools(of("one")).contains(&"Bash"));
    let told =
        requests.iter().rev().find(|it| it.messages[0].plain_text().starts_with("main")).unwrap();
    let told: String = told.messages.iter().map(|message| message.plain_text()).collect();
    assert!(
        told.contains("has completed: first") && told.contains("has completed: second"),
        "{told}"
    );
}

#[tokio::test]
async fn a_session_that_only_coordinates_goes_on_so() {
    let script = Script::new(vec![answer("One."), answer("Two.")]);
    let mut world = World::new(&script);
    world.config.coordinator = true;
    drop(world.start());
    world.config.coordinator = false;
    finish(world.resume().run(vec![ContentBlock::text("Go on.")])).await;
    assert_eq!(tools(&script.request(0)), ["Agent"]);
}

#[tokio::test]
async fn a_coordinator_starts_no_copies_of_itself() {
    let script = family(json!({ "prompt": "child", "type": "fork" }), Vec::new());
    let mut world = World::new(&script);
    world.config.coordinator = true;
    world.run("main task").await;
    assert!(last_results(&script.request(1))[0].1.contains("starts no copies"));
}

#[tokio::test]
async fn i7_a_coordinator_that_waits_can_be_stopped_and_its_workers_with_it() {
    let script = Script::with_lanes([
        (
            "main",
            vec![response([call("p", "Agent", json!({ "prompt": "child" }))]), answer("I wait.")],
        ),
        ("child", vec![response([call("x", "Edit", json!({ "id": "x", "gate": "never" }))])]),
    ]);
    let mut world = World::new(&script);
    world.config.coordinator = true;
    let agent = world.start();
    let run = agent.run(vec![ContentBlock::text("main task")]);
    world.board.wait_for("start x").await;
    run.cancel();
    assert_eq!(finish(run).await.reason(), TerminalReason::AbortedTools);
    world.cancellation.cancel();
    world.board.wait_for("stopped x").await;
    check_transcript(&agent).await;
}
