//! The list of what is to be done that agents share: kept with the session, whatever ends it.

use innerve_tests::{Reply, Seen, Wire, World, reply};
use rustix::process::Signal;
use serde_json::{Value, json};

fn creates(reply: Reply, subject: &str) -> Reply {
    reply.uses("TaskCreate", json!({ "subject": subject, "description": "" }))
}

fn lists() -> Reply {
    reply().uses("TaskList", json!({}))
}

fn names(tools: &Value) -> Vec<&str> {
    tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

/// What all tool uses of a conversation were answered with, as a request has it.
fn told(seen: &Seen) -> Vec<String> {
    let blocks = seen.messages.iter().flat_map(|message| &message.content);
    blocks.filter_map(|block| Some(block.as_tool_result()?.content.plain_text())).collect()
}

#[test]
fn i9_a_list_is_made_and_worked_on_and_is_there_after_a_kill_and_a_copy() {
    for wire in Wire::BOTH {
        let world = World::new().file("wait.sh", "echo begun > begun\nsleep 300\n");
        let update = |input: Value| reply().uses("TaskUpdate", input);
        let made = creates(creates(creates(reply(), "Set up"), "Build"), "Test");
        let model = world.model(
            wire,
            [
                made,
                update(json!({ "taskId": "2", "addBlockedBy": ["1"], "addBlocks": ["3"] })),
                update(json!({ "taskId": "1", "addBlockedBy": ["3"] })),
                update(json!({ "taskId": "2", "status": "in_progress" })),
                update(json!({ "taskId": "1", "status": "completed" })),
                update(json!({ "taskId": "2", "status": "in_progress", "owner": "me" })),
                lists(),
                reply().bash("sh wait.sh"),
            ],
        );
        let run = world
            .innerve(["run", "go", "--task-list", "shared", "--allow", "Bash(sh wait.sh)"])
            .model(&model)
            .start();
        world.wait_for_file("begun");
        run.signal(Signal::KILL);
        drop(run);
        let results = told(&model.request(7));
        assert_eq!(results.len(), 9);
        for (number, subject) in [(1, "Set up"), (2, "Build"), (3, "Test")] {
            assert_eq!(results[number - 1], format!("Task #{number} is on the list: {subject}"));
        }
        assert!(results[4].ends_with("#1 → #3 → #2 → #1"), "{}", results[4]);
        assert!(results[5].contains("cannot be in progress while it waits for #1"));
        assert_eq!(results[6], "Task #1 (Set up): pending → completed. Free to be begun now: #2.");
        let rows =
            "#1 [completed] Set up\n#2 [in_progress] Build (me)\n#3 [pending] Test [blocked by #2]";
        assert_eq!(results[8], rows);

        let sessions = world.innerve(["sessions", "list", "--json"]).run().json();
        let id = sessions[0]["id"].as_str().unwrap().to_owned();

        // A copy, which leaves the list of the session as it is; nobody says again which list it has.
        let model = world.model(
            wire,
            [
                update(json!({ "taskId": "3", "status": "deleted" })),
                lists(),
                creates(reply(), "Another"),
                reply().text("Done."),
            ],
        );
        world.innerve(["run", "--continue", "--fork", "go on"]).model(&model).run().exits(0);
        let results = told(&model.request(3));
        assert_eq!(
            results[results.len() - 2],
            "#1 [completed] Set up\n#2 [in_progress] Build (me)"
        );
        assert_eq!(results[results.len() - 1], "Task #4 is on the list: Another");

        let model = world.model(wire, [lists(), reply().text("Done.")]);
        world.innerve(["run", "--resume", &id, "go on"]).model(&model).run().exits(0);
        assert_eq!(told(&model.request(1)).last().unwrap(), rows);
        let offered = model.request(0).body["tools"].to_string();
        assert!(offered.contains("TaskUpdate") && !offered.contains("TodoWrite"));
        world.nobody_is_left();
    }
}

#[test]
fn a_copy_of_a_session_whose_list_cannot_be_read_begins_with_an_empty_one_and_says_so() {
    let world = World::new();
    let model = world.model(
        Wire::Anthropic,
        [
            creates(reply(), "Build"),
            reply().text("Done."),
            creates(reply(), "Again"),
            reply().text("Done."),
        ],
    );
    world.innerve(["run", "go", "--task-list", "shared"]).model(&model).run().exits(0);
    let list = world.find("tasks.json").remove(0);
    std::fs::write(&list, "{\"tasks\": [").unwrap();
    let (shown, empty) = (list.display().to_string(), "begins with an empty one");
    world.innerve(["sessions", "fork"]).run().exits(0).complains([empty, &shown, "mend that file"]);
    world
        .innerve(["run", "--resume", &session_of(&list), "--fork", "go on"])
        .model(&model)
        .run()
        .exits(0)
        .complains([empty, &shown]);
    assert_eq!(told(&model.request(3)).last().unwrap(), "Task #1 is on the list: Again");
    assert_eq!(std::fs::read_to_string(&list).unwrap(), "{\"tasks\": [");
}

#[test]
fn hooks_hear_of_tasks_that_are_new_or_done_and_may_refuse_both() {
    let world = World::new();
    let hook = |line: &str| json!([{ "hooks": [{ "type": "command", "command": line }] }]);
    let created = "cat >> heard; echo >> heard; grep -q Nonsense heard && { echo 'no nonsense' >&2; exit 2; }; exit 0";
    let completed = r#"cat >> heard; echo >> heard; test -e tested || { echo 'test it first' >&2; exit 2; }
        echo '{"continue": false, "stopReason": "all is done", "systemMessage": "well done"}'"#;
    let settings =
        json!({ "hooks": { "TaskCreated": hook(created), "TaskCompleted": hook(completed) } });
    let done = || reply().uses("TaskUpdate", json!({ "taskId": "1", "status": "completed" }));
    let model = world.model(
        Wire::Anthropic,
        [
            reply().uses("TaskCreate", json!({ "subject": "Build", "description": "All of it" })),
            done(),
            creates(reply(), "Nonsense"),
            lists(),
            reply().bash("touch tested"),
            done(),
        ],
    );
    world
        .innerve(["run", "go", "--task-list", "shared", "--allow", "Bash(touch *)"])
        .args(["--settings", &settings.to_string()])
        .model(&model)
        .run()
        .complains(["well done", "all is done"]);
    let answers = told(&model.request(5));
    assert_eq!(answers[0], "Task #1 is on the list: Build");
    assert!(
        answers[1].contains("does not count as completed") && answers[1].contains("test it first")
    );
    assert!(answers[2].contains("not put on the list") && answers[2].contains("no nonsense"));
    assert_eq!(answers[3], "#1 [pending] Build");
    let heard = std::fs::read_to_string(world.work("heard")).unwrap();
    let heard: Vec<Value> =
        heard.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let names: Vec<&str> =
        heard.iter().map(|event| event["hook_event_name"].as_str().unwrap()).collect();
    assert_eq!(names, ["TaskCreated", "TaskCompleted", "TaskCreated", "TaskCompleted"]);
    for event in [&heard[0], &heard[1], &heard[3]] {
        assert_eq!(event["task_id"], "1");
        assert_eq!(event["task_subject"], "Build");
        assert_eq!(event["task_description"], "All of it");
        assert!(event["session_id"].is_string() && event["cwd"].is_string());
    }
    assert_eq!((&heard[2]["task_id"], &heard[2]["task_description"]), (&json!("2"), &Value::Null));
}

/// The session that a file belongs to.
fn session_of(file: &std::path::Path) -> String {
    file.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn sub_agents_work_on_the_list_of_their_parent() {
    let world = World::new();
    let model = world.model_by(Wire::Anthropic, |seen| {
        let is_child = seen.messages[0].plain_text().starts_with("child");
        let background =
            json!({ "description": "a part", "prompt": "child", "run_in_background": false });
        match (is_child, told(seen).len()) {
            (true, 0) => {
                reply().uses("TaskUpdate", json!({ "taskId": "1", "status": "in_progress" }))
            }
            (true, 1) => creates(reply(), "Found on the way"),
            (true, _) => reply().text("Begun."),
            (false, 0) => creates(reply(), "Search"),
            (false, 1) => reply().uses("Agent", background),
            (false, 2) => lists(),
            (false, _) => reply().text("Done."),
        }
    });
    world.innerve(["run", "go", "--task-list", "shared"]).model(&model).run().exits(0);
    let seen = model.seen();
    let last = told(seen.last().unwrap());
    let rows = last.last().unwrap();
    assert!(rows.starts_with("#1 [in_progress] Search (a"), "{rows}");
    assert!(rows.ends_with(")\n#2 [pending] Found on the way"), "{rows}");
    // Nobody was asked, though nobody could have answered.
    assert!(seen.iter().flat_map(Seen::results).all(|result| !result.failed()));
}

#[test]
fn i12_a_model_gets_one_of_the_two_lists_and_a_call_of_either_can_be_checked() {
    let world = World::new();
    let list = |kind: &str| world.innerve(["tools", "--json", "--task-list", kind]).run().json();
    let (own, shared) = (list("own"), list("shared"));
    let of = |tools: &Value| -> Vec<String> {
        let mut names: Vec<String> = names(tools).iter().map(|&name| name.to_owned()).collect();
        names.retain(|name| name.starts_with("Task") || name.starts_with("Todo"));
        names
    };
    assert_eq!(of(&own), ["TaskOutput", "TaskStop", "TodoWrite"]);
    let both = ["TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate"];
    assert_eq!(of(&shared), both);
    assert!(names(&shared).is_sorted());
    for (tool, input) in [
        ("TaskCreate", r#"{"subject":"a","description":""}"#),
        ("TaskList", "{}"),
        ("TodoWrite", r#"{"todos":[]}"#),
    ] {
        world.innerve(["check", "--mode", "plan", "--tool", tool, "--input", input]).run().exits(0);
    }
    let denied =
        world.innerve(["tools", "--json", "--task-list", "shared", "--deny", "TaskCreate"]);
    assert!(!names(&denied.run().json()).contains(&"TaskCreate"));
}
