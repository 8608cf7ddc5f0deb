//! Sub-agents through the program: types from files, limits, and no process that outlives its agent.

use innerve_tests::{Innerve, Seen, Wire, World, reply};
use rustix::process::Signal;
use serde_json::json;

const HELPER: &str = "---\nname: helper\ndescription: Helps with words.\ntools: Read, Grep\nmodel: claude-haiku-4-5\n---\nYou help with words.\n";

fn is_child(seen: &Seen) -> bool {
    seen.messages[0].plain_text().starts_with("child")
}

fn tools(seen: &Seen) -> Vec<String> {
    let tools = seen.body["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// One task that hands everything to an agent of this type.
fn hands_over(world: &World, kind: &str) -> (Vec<Seen>, String) {
    let kind = kind.to_owned();
    let model = world.model_by(Wire::Anthropic, move |seen| {
        let input =
            json!({ "description": "a part", "prompt": "child task", "subagent_type": kind });
        match (is_child(seen), seen.results().is_empty()) {
            (true, _) => reply().text("The child's words."),
            (false, true) => reply().uses("Agent", input),
            (false, false) => reply().text("Done."),
        }
    });
    let ended = world.innerve(["run", "go"]).model(&model).run();
    ended.exits(0);
    (model.seen(), ended.stderr().to_owned())
}

#[test]
fn a_type_from_a_file_is_offered_and_narrows_its_agent() {
    for folder in [".innerve/agents", ".claude/agents", ".claude/agents/../agents"] {
        let world = World::new().file(&format!("{folder}/helper.md"), HELPER);
        let (seen, _) = hands_over(&world, "Helper");
        let offered = seen[0].body["tools"].to_string();
        assert!(offered.contains("helper: Helps with words."), "{offered}");
        assert_eq!(tools(&seen[1]), ["Grep", "Read"]);
        assert_eq!(seen[1].body["model"], "claude-haiku-4-5");
        assert!(seen[1].body["system"].to_string().contains("You help with words."));
        assert!(seen[2].result_texts()[0].starts_with("The child's words."));
    }
}

#[test]
fn the_project_s_types_win_over_the_user_s_once_it_is_trusted_and_over_nothing_before() {
    let world = World::new();
    let user = world.root().join("config/innerve/agents");
    std::fs::create_dir_all(&user).unwrap();
    std::fs::write(user.join("h.md"), HELPER).unwrap();
    let wider = HELPER.replace("tools: Read, Grep\n", "").replace("Helps", "Does all");
    world.write(".innerve/agents/helper.md", &wider);
    world.write(".innerve/agents/explore.md", wider.replace("helper", "Explore"));

    let (seen, told) = hands_over(&world, "helper");
    assert_eq!(tools(&seen[1]), ["Grep", "Read"]);
    assert!(told.contains("helper.md") && told.contains("innerve trust"), "{told}");
    let (seen, _) = hands_over(&world, "Explore");
    assert!(!tools(&seen[1]).contains(&"Write".to_owned()));

    world.innerve(["trust"]).run().exits(0);
    let (seen, told) = hands_over(&world, "helper");
    assert!(tools(&seen[1]).contains(&"Write".to_owned()));
    assert!(!told.contains("agents"), "{told}");
}

#[test]
fn a_file_that_is_no_definition_is_told_and_claude_s_can_be_left_out() {
    let world = World::new()
        .file(".innerve/agents/a.md", "# Notes\n")
        .file(
            ".innerve/agents/b.md",
            "---\nname: b\ndescription: B.\nhooks:\n  x: y\n---\nDo it.\n",
        )
        .file(".claude/agents/c.md", HELPER);
    let settings = world.root().join("config/innerve/settings.json");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    std::fs::write(settings, "{\"disableClaudeSettings\": true}").unwrap();
    let (seen, told) = hands_over(&world, "b");
    assert!(told.contains("a.md") && told.contains("left out"), "{told}");
    assert!(told.contains("b.md") && told.contains("`hooks`"), "{told}");
    assert!(!seen[0].body["tools"].to_string().contains("helper"));
}

/// A run whose sub-agent's sub-agent's command has begun.
fn deep(world: &World, background: bool) -> (innerve_tests::ModelServer, Innerve) {
    let model = world.model_by(Wire::Anthropic, move |seen| {
        let input = |prompt: &str| {
            json!({ "description": "a part", "prompt": prompt, "run_in_background": background })
        };
        let first = seen.messages[0].plain_text();
        match (first.as_str(), seen.results().is_empty()) {
            ("child one", true) => reply().uses("Agent", input("child two")),
            ("child two", true) => reply().bash("sh wait.sh"),
            ("go", true) => reply().uses("Agent", input("child one")),
            ("go", false) => reply().bash("sleep 300"),
            _ => reply().bash("sleep 300"),
        }
    });
    let innerve = world
        .innerve(["run", "go", "--permission-mode", "bypassPermissions", "--output", "stream-json"])
        .model(&model);
    (model, innerve)
}

/// Ends a run whose sub-agent's sub-agent works, and looks for what is left.
#[track_caller]
fn ends_with_all_its_processes(background: bool, signal: Signal) {
    let world = World::new().file("wait.sh", "sleep 300 & echo begun > begun\nsleep 300\n");
    let (_model, innerve) = deep(&world, background);
    let run = innerve.start();
    world.wait_for_file("begun");
    // A command can act some milliseconds before the watchdog that ends it after `kill -9` is told of it.
    std::thread::sleep(std::time::Duration::from_millis(500));
    run.signal(signal);
    if signal == Signal::KILL {
        drop(run);
    } else {
        run.end().exits(130);
    }
    world.nobody_is_left();
}

#[test]
fn i7_whoever_stops_the_parent_stops_its_children_and_their_processes() {
    ends_with_all_its_processes(false, Signal::INT);
    ends_with_all_its_processes(false, Signal::TERM);
}

#[test]
fn i7_whoever_stops_the_parent_stops_its_children_in_the_background() {
    ends_with_all_its_processes(true, Signal::INT);
    ends_with_all_its_processes(true, Signal::TERM);
}

#[test]
fn i7_a_parent_that_is_killed_leaves_no_process_of_its_children() {
    ends_with_all_its_processes(false, Signal::KILL);
    ends_with_all_its_processes(true, Signal::KILL);
}

#[test]
fn a_coordinator_waits_for_workers_that_work_side_by_side() {
    let world = World::new();
    let model = world.model_by(Wire::Anthropic, |seen| {
        let first = seen.messages[0].plain_text();
        let input = |part: &str| json!({ "description": part, "prompt": format!("child {part}") });
        let reports = seen.messages.iter().map(innerve_protocol::Message::plain_text);
        let reports: String = reports.collect();
        // Each waits for the file of the other.
        let wait = |own: &str, other: &str| {
            format!("echo > {own}; until test -e {other}; do sleep 0.02; done; echo met")
        };
        match (first.as_str(), seen.results().is_empty()) {
            ("child one", true) => reply().bash(&wait("one", "two")),
            ("child two", true) => reply().bash(&wait("two", "one")),
            ("child one", false) => reply().text("One has met two."),
            ("child two", false) => reply().text("Two has met one."),
            (_, true) if !reports.contains("launched") && !reports.contains("has completed") => {
                reply().uses("Agent", input("one")).uses("Agent", input("two"))
            }
            _ if reports.contains("met two") && reports.contains("met one") => {
                reply().text("Both have met.")
            }
            _ => reply().text("I wait."),
        }
    });
    let ended = world
        .innerve(["run", "go", "--coordinator", "--permission-mode", "bypassPermissions"])
        .model(&model)
        .run();
    ended.exits(0);
    assert!(ended.stdout().ends_with("Both have met.\n"), "{ended}");
    assert_eq!(tools(&model.request(0)), ["Agent", "TaskStop"]);
}

fn git(world: &World, arguments: &[&str]) -> String {
    let mut git = std::process::Command::new("git");
    git.current_dir(world.work("")).env("HOME", world.root().join("home"));
    git.args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgSign=false"]);
    let output = git.args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn an_agent_in_a_worktree_of_its_own_leaves_the_main_one_alone_and_its_work_behind() {
    for works in [true, false] {
        let world = World::new().file("a.txt", "alpha\n");
        git(&world, &["init", "-q"]);
        git(&world, &["add", "a.txt"]);
        git(&world, &["commit", "-q", "-m", "first"]);
        let model = world.model_by(Wire::Anthropic, move |seen| {
            let input = json!({
                "description": "a part", "prompt": "child task", "isolation": "worktree",
            });
            match (is_child(seen), seen.results().is_empty()) {
                (true, true) if works => reply().bash("echo beta > a.txt; pwd"),
                (true, _) => reply().text("The child is done."),
                (false, true) => reply().uses("Agent", input),
                (false, false) => reply().text("Done."),
            }
        });
        let run = world.innerve(["run", "go", "--permission-mode", "bypassPermissions"]);
        run.model(&model).run().exits(0);
        assert_eq!(world.read("a.txt"), "alpha\n");
        let told = model.seen().last().unwrap().result_texts()[0].clone();
        let trees = git(&world, &["worktree", "list"]).lines().count();
        if works {
            assert!(told.contains("its work is in the worktree"), "{told}");
            assert_eq!(trees, 2);
        } else {
            assert!(told.starts_with("The child is done.") && !told.contains("worktree"), "{told}");
            assert_eq!(trees, 1);
            assert!(!git(&world, &["branch"]).contains("worktree-"));
        }
        assert_eq!(git(&world, &["status", "--porcelain"]), "");
    }
}
