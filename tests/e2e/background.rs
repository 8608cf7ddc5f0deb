//! Work in the background and worktrees: through the whole program.

use innerve_tests::{Wire, World, reply};
use serde_json::json;

// anthropics/claude-code 2.1.163
#[test]
fn claude_code_2_1_163_a_run_ends_although_a_command_goes_on_in_the_background() {
    let world = World::new();
    let input = json!({ "command": "sleep 100000.83", "run_in_background": true });
    let model =
        world.model(Wire::Anthropic, [reply().uses("Bash", input), reply().text("Started.")]);
    world.innerve(["run", "start", "--allow", "Bash(sleep *)"]).model(&model).run().exits(0);
    world.nobody_is_left();
}

// anthropics/claude-code 2.1.161, 2.1.128
#[test]
fn claude_code_2_1_161_each_of_several_calls_has_its_own_result() {
    let world = World::new().file("a.txt", "text\n");
    let calls = reply().bash("false").bash("echo ok").uses("Read", json!({ "file_path": "a.txt" }));
    let model = world.model(Wire::Anthropic, [calls, reply().text("Done.")]);
    world.innerve(["run", "go", "--allow", "Bash(false)"]).model(&model).run().exits(0);
    let results = model.request(1).result_texts();
    assert!(results[0].starts_with("Exit code 1"), "{results:?}");
    assert_eq!(results[1].trim(), "ok");
    assert_eq!(results[2], "1\ttext\n");
}

#[test]
fn a_session_works_in_a_worktree_and_comes_back() {
    let world = World::new().file("a.txt", "one\n");
    let git = |arguments: &[&str]| {
        let status = std::process::Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
            .args(arguments)
            .current_dir(world.work(""))
            .output()
            .unwrap();
        assert!(status.status.success(), "{arguments:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "first"]);
    let model = world.model(
        Wire::Anthropic,
        [
            reply().uses("EnterWorktree", json!({ "name": "side" })),
            reply().bash("pwd"),
            reply().uses("ExitWorktree", json!({ "action": "remove" })),
            reply().bash("pwd"),
            reply().text("Back."),
        ],
    );
    world
        .innerve(["run", "aside", "--allow", "EnterWorktree", "--allow", "ExitWorktree"])
        .model(&model)
        .run()
        .exits(0);
    let inside = model.request(2).result_texts().pop().unwrap();
    assert!(inside.trim().ends_with(".innerve/worktrees/side"), "{inside}");
    let back = model.request(4).result_texts().pop().unwrap();
    assert_eq!(back.trim(), world.work("").display().to_string());
    assert!(!world.has(".innerve/worktrees/side"));
}

#[test]
fn what_a_watched_command_prints_reaches_the_model_and_so_does_its_end() {
    let world = World::new();
    let watch = json!({ "command": "echo first-event; exit 3", "description": "two events" });
    let model = world.model(
        Wire::Anthropic,
        [
            reply().uses("Monitor", watch),
            reply().bash("sleep 1.5"),
            reply().bash("true"),
            reply().text("Seen."),
        ],
    );
    world
        .innerve([
            "run",
            "watch",
            "--allow",
            "Monitor",
            "--allow",
            "Bash(sleep *)",
            "--allow",
            "Bash(true)",
        ])
        .model(&model)
        .run()
        .exits(0);
    let all = format!("{:?}", model.request(3));
    assert!(all.contains("printed this") && all.contains("first-event"), "{all}");
    assert!(all.contains("exit code 3 after 1 lines"), "{all}");
}

#[test]
fn a_lone_sleep_is_sent_to_the_monitor() {
    let world = World::new();
    let model = world.model(Wire::Anthropic, [reply().bash("sleep 30"), reply().text("Well.")]);
    world.innerve(["run", "wait", "--allow", "Bash(sleep *)"]).model(&model).run().exits(0);
    assert!(model.request(1).result_texts()[0].contains("Monitor"));
}

#[test]
fn a_stream_is_judged_alike_by_check_and_run_and_never_reaches_what_is_private() {
    let world = World::new();
    let watch = |url: &str| json!({ "ws": { "url": url }, "description": "a feed" });
    let feed = watch("wss://feed.example/x").to_string();
    let check = |rules: [&str; 2], code: i32| {
        let arguments = ["check", "--tool", "Monitor", "--input", &feed];
        world.innerve(arguments).args(rules).run().exits(code);
    };
    check(["--allow", "WebFetch(domain:feed.example)"], 0);
    check(["--allow", "Bash(*)"], 3);
    check(["--deny", "WebFetch(domain:feed.example)"], 4);

    let model = world.model(
        Wire::Anthropic,
        [
            reply()
                .uses("Monitor", watch("wss://feed.example/x"))
                .uses("Monitor", watch("ws://169.254.169.254/latest")),
            reply().text("Done."),
        ],
    );
    let rule = "WebFetch(domain:169.254.169.254)";
    world.innerve(["run", "watch it", "--allow", rule]).model(&model).run().exits(0);
    let results = model.request(1).result_texts();
    assert!(results[0].contains("permission") || results[0].contains("denied"), "{}", results[0]);
    assert!(
        results[1].contains("169.254.169.254") && results[1].contains("private"),
        "{}",
        results[1]
    );
}
