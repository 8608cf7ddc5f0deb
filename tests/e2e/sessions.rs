//! `innerve sessions`: past sessions are listed, shown, gone on with, copied, exported and undone.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use innerve_tests::{Ended, Gate, ModelServer, Reply, Wire, World, reply};
use serde_json::{Value, json};

fn model(world: &World, script: impl IntoIterator<Item = Reply>) -> ModelServer {
    world.model(Wire::Anthropic, script)
}

/// One task, in which everything may be done.
fn task(world: &World, prompt: &str, script: Vec<Reply>) -> Ended {
    let model = model(world, script);
    let ended = world
        .innerve(["run", prompt, "--permission-mode", "bypassPermissions", "--output", "json"])
        .model(&model)
        .run();
    ended.exits(0);
    ended
}

fn id(ended: &Ended) -> String {
    ended.json()["session_id"].as_str().unwrap().to_owned()
}

fn sessions<const N: usize>(world: &World, arguments: [&str; N]) -> Ended {
    world.innerve(["sessions"]).args(arguments).run()
}

#[test]
fn sessions_are_listed_with_when_where_what_and_how_often() {
    let world = World::new();
    let ended = sessions(&world, ["list"]);
    ended.exits(0).complains(["there are no sessions"]);
    assert_eq!(sessions(&world, ["list", "--json"]).json(), json!([]));

    let first = id(&task(&world, "Count the\nfiles.", vec![reply().text("None.")]));
    let second = id(&task(&world, "And now?", vec![reply().text("Still none.")]));
    let third = model(&world, [reply().text("None at all.")]);
    world.innerve(["run", "--resume", &first, "Again."]).model(&third).run().exits(0);

    let listed = sessions(&world, ["list", "--json"]).json();
    let row = |number: usize| listed[number].clone();
    assert_eq!(row(0)["id"], first.as_str(), "the last used comes first");
    assert_eq!((row(0)["turns"].clone(), row(1)["turns"].clone()), (json!(2), json!(1)));
    assert_eq!(row(1)["id"], second.as_str());
    assert_eq!(row(0)["first_prompt"], "Count the\nfiles.");
    assert_eq!(row(0)["cwd"], world.work("").display().to_string());
    assert!(row(0)["last_used"].as_u64().unwrap() >= row(0)["started"].as_u64().unwrap());

    let text = sessions(&world, ["list"]).stdout();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with(&first) && lines[0].ends_with("Count the…"), "{text}");
    assert!(lines[0].contains("2 turns") && lines[1].contains("1 turn "), "{text}");
    let ended = sessions(&world, ["list", "--limit", "1"]);
    assert_eq!(ended.stdout().lines().count(), 1);
    ended.complains(["1 more"]);
}

#[test]
fn i8_ten_thousand_sessions_and_huge_logs_are_listed_in_bounded_memory() {
    let world = World::new();
    task(&world, "The only real one.", vec![reply().text("Yes.")]);
    let log = world.find("log.jsonl").remove(0);
    let folder = log.parent().unwrap().parent().unwrap().to_path_buf();
    let whole = fs::read(&log).unwrap();
    for number in 0..10_000 {
        let other = folder.join(format!("20200101-000000-{number:06}"));
        fs::create_dir(&other).unwrap();
        fs::write(other.join("log.jsonl"), &whole).unwrap();
    }
    // One of half a gigabyte, most of which is a hole.
    let huge = folder.join("20200101-000000-000000").join("log.jsonl");
    fs::File::options().write(true).open(huge).unwrap().set_len(512 << 20).unwrap();
    let ended = sessions(&world, ["list", "--json", "--limit", "0"]);
    ended.exits(0);
    assert_eq!(ended.json().as_array().unwrap().len(), 10_001);
    assert!(ended.peak_memory < 64 << 20, "{} bytes", ended.peak_memory);
    println!("{} sessions took {:?} and {} kB", 10_001, ended.took, ended.peak_memory >> 10);
}

#[test]
fn a_session_is_named_by_the_beginning_of_its_id() {
    let world = World::new();
    let ids: Vec<String> =
        ["One.", "Two."].map(|it| id(&task(&world, it, vec![reply().text("Yes.")]))).into();
    let common = ids[0].split('-').next().unwrap();
    sessions(&world, ["show", common]).exits(2).complains([common, &ids[0], "give more"]);
    let unique = &ids[0][..ids[0].len() - 2];
    assert!(sessions(&world, ["show", unique]).exits(0).stdout().contains("> One."));
    let model = model(&world, [reply().text("On we go.")]);
    world.innerve(["run", "--resume", unique, "go on"]).model(&model).run().exits(0);
    assert!(model.request(0).messages[0].plain_text().starts_with("One."));
    sessions(&world, ["show", "nonesuch"]).exits(1).complains(["nonesuch", "sessions list"]);
    sessions(&world, ["show", "../.."]).exits(1);
    // From another directory it is found, too.
    fs::create_dir(world.work("elsewhere")).unwrap();
    let elsewhere = world.innerve(["sessions", "show", unique]).within(world.work("elsewhere"));
    assert!(elsewhere.run().exits(0).stdout().contains("> One."));
}

#[test]
fn a_session_is_shown_and_exported_with_calls_results_and_sub_agents() {
    let world = World::new().file("a.txt", "alpha\n```\n");
    let side = json!({ "description": "a side task", "prompt": "Look closely." });
    let ended = task(
        &world,
        "What is in a.txt?",
        vec![
            reply().text("I look.").uses("Read", json!({ "file_path": "a.txt" })),
            reply().uses("Agent", side),
            reply().text("Closely, it is alpha."),
            reply().text("It is alpha."),
        ],
    );
    let shown = sessions(&world, ["show"]).exits(0).stdout();
    for words in ["> What is in a.txt?", "I look.", "Read", "alpha", "It is alpha."] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let value = sessions(&world, ["show", "--json"]).json();
    assert_eq!((&value["id"], &value["turns"]), (&json!(id(&ended)), &json!(1)));
    assert_eq!(value["messages"].as_array().unwrap().len(), 6);

    let markdown = sessions(&world, ["export"]).exits(0).stdout();
    for words in ["# Session", "## User", "## Assistant", "### Read", "````text", "# Sub-agent"] {
        assert!(markdown.contains(words), "{words}: {markdown}");
    }
    assert!(markdown.contains("Closely, it is alpha."), "{markdown}");
    let value = sessions(&world, ["export", "--json"]).json();
    assert_eq!(value["agents"][0]["messages"].as_array().unwrap().len(), 2);
    assert_eq!(value, sessions(&world, ["export", "--format", "json"]).json());
}

#[test]
fn a_fork_goes_its_own_way() {
    let world = World::new();
    let first = id(&task(&world, "One.", vec![reply().text("Yes.")]));
    let before = fs::read(world.find("log.jsonl").remove(0)).unwrap();
    let fork = sessions(&world, ["fork"]).exits(0).stdout().trim().to_owned();
    assert_ne!(fork, first);
    let answers = model(&world, [reply().text("Forked."), reply().text("Forked again.")]);
    let run = |flags: [&str; 4]| world.innerve(["run"]).args(flags).model(&answers).run();
    run(["--resume", &fork, "Two.", "--output=json"]).exits(0);
    let again = run(["--resume", &first, "--fork", "--output=json"]);
    again.exits(0);
    assert_eq!(answers.request(0).messages.len(), 3);
    assert_eq!(answers.request(1).messages.len(), 3);
    assert!(![&first, &fork].contains(&&id(&again)));
    let log =
        world.find("log.jsonl").into_iter().find(|log| log.to_string_lossy().contains(&first));
    assert_eq!(fs::read(log.unwrap()).unwrap(), before, "the origin stays as it was");
    world.innerve(["run", "x", "--fork"]).model(&answers).run().exits(2).complains(["--continue"]);
}

#[test]
fn a_state_folder_that_cannot_be_written_is_named_with_the_way_out() {
    let world = World::new();
    let answers = model(&world, []);
    let state = world.work("file");
    fs::write(&state, "no folder").unwrap();
    let run = world.innerve(["run", "go"]).model(&answers).env("XDG_STATE_HOME", &state).run();
    let folder = state.join("innerve").display().to_string();
    run.exits(1).complains(["log.jsonl cannot be created", &folder, "set XDG_STATE_HOME"]);
    assert!(answers.seen().is_empty(), "nothing was asked of the model");
}

#[test]
fn a_session_that_runs_is_shown_and_not_taken() {
    let gate = Gate::new();
    let world = World::new();
    let answers = model(&world, [reply().text("Slowly.").waits(&gate)]);
    let run = world.innerve(["run", "go", "--output", "stream-json"]).model(&answers).start();
    run.wait_for_line("text", |line| line["type"] == "system");
    for verb in ["undo", "fork"] {
        sessions(&world, [verb]).exits(1).complains(["in use by another innerve"]);
    }
    world.innerve(["run", "--continue", "x"]).model(&answers).run().exits(1).complains(["in use"]);
    sessions(&world, ["show"]).exits(0);
    sessions(&world, ["list"]).exits(0);
    gate.open();
    run.end().exits(0);
}

/// Two turns: one edits, makes and moves to sed; the other edits again.
fn changed() -> World {
    let world = World::new().file("a.txt", "alpha\nend\n").file("run.sh", "echo old\n");
    world.write("b.ipynb", json!({
        "cells": [{ "cell_type": "code", "id": "c1", "metadata": {}, "outputs": [], "execution_count": null, "source": ["old()"] }],
        "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
    }).to_string());
    fs::set_permissions(world.work("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let read = |file: &str| json!({ "file_path": file });
    task(
        &world,
        "Change everything.",
        vec![
            reply()
                .uses("Read", read("a.txt"))
                .uses("Read", read("run.sh"))
                .uses("Read", read("b.ipynb")),
            reply()
                .uses(
                    "Edit",
                    json!({ "file_path": "a.txt", "old_string": "alpha", "new_string": "beta" }),
                )
                .uses(
                    "Edit",
                    json!({ "file_path": "a.txt", "old_string": "beta", "new_string": "gamma" }),
                )
                .uses("Write", json!({ "file_path": "run.sh", "content": "echo new\n" }))
                .uses("Write", json!({ "file_path": "new/deep/c.txt", "content": "made\n" }))
                .uses(
                    "NotebookEdit",
                    json!({ "notebook_path": "b.ipynb", "cell_id": "c1", "new_source": "new()" }),
                ),
            reply().text("Done."),
        ],
    );
    let answers = model(
        &world,
        [
            reply().uses("Read", read("a.txt")),
            reply().uses(
                "Edit",
                json!({ "file_path": "a.txt", "old_string": "gamma", "new_string": "delta" }),
            ),
            reply().text("Done again."),
        ],
    );
    let run = world.innerve([
        "run",
        "--continue",
        "Once more.",
        "--permission-mode",
        "bypassPermissions",
    ]);
    run.model(&answers).run().exits(0);
    assert_eq!(world.read("a.txt"), "delta\nend\n");
    world
}

#[test]
fn undo_restores_the_files_of_a_turn_without_git() {
    let world = changed();
    let ended = sessions(&world, ["undo", "--dry-run"]);
    ended.exits(0).complains(["undo of turn 2", "-delta", "+gamma"]);
    assert_eq!(world.read("a.txt"), "delta\nend\n", "a dry run changes nothing");
    sessions(&world, ["undo"]).exits(0).complains(["a.txt"]);
    assert_eq!(world.read("a.txt"), "gamma\nend\n");

    let value = sessions(&world, ["undo", "--json"]).json();
    let actions: Vec<(&str, &str)> = value["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| {
            let path = file["path"].as_str().unwrap().rsplit('/').next().unwrap();
            (path, file["action"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        actions,
        [("a.txt", "restore"), ("b.ipynb", "restore"), ("c.txt", "remove"), ("run.sh", "restore")]
    );
    assert_eq!(value["turn"], 1);
    assert_eq!(
        (world.read("a.txt").as_str(), world.read("run.sh").as_str()),
        ("alpha\nend\n", "echo old\n")
    );
    assert!(world.read("b.ipynb").contains("old()") && !world.has("new"));
    let mode = fs::metadata(world.work("run.sh")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o755);
    sessions(&world, ["undo"]).exits(1).complains(["nothing to undo"]);

    // The undo is taken back, file by file as it was.
    sessions(&world, ["undo", "--redo"]).exits(0);
    assert_eq!(
        (world.read("a.txt").as_str(), world.read("new/deep/c.txt").as_str()),
        ("gamma\nend\n", "made\n")
    );
    sessions(&world, ["undo", "--redo"]).exits(0);
    assert_eq!(world.read("a.txt"), "delta\nend\n");

    // The model is told, and the conversation is valid.
    let answers = model(&world, [reply().text("I read it again.")]);
    world.innerve(["run", "--continue", "Go on."]).model(&answers).run().exits(0);
    let words = answers.request(0).last_words();
    assert!(words.contains("changes of turn 2") && words.contains("a.txt"), "{words}");
}

#[test]
fn undo_leaves_what_others_changed_since_and_says_which_and_why() {
    let world = changed();
    world.write("a.txt", "a person's\n");
    let ended = sessions(&world, ["undo"]);
    ended.exits(1).complains(["a.txt", "someone else has changed it since"]);
    assert_eq!(world.read("a.txt"), "a person's\n");
    let ended = sessions(&world, ["undo", "--turn", "1"]);
    ended.exits(1).complains(["leaves alone", "run.sh"]);
    assert_eq!(
        (world.read("a.txt").as_str(), world.read("run.sh").as_str()),
        ("a person's\n", "echo old\n")
    );
    sessions(&world, ["undo", "--turn", "9"]).exits(1).complains(["turn 9", "1, 2"]);
}

#[test]
fn undo_asks_at_a_terminal() {
    let world = changed();
    let mut terminal = world.innerve(["sessions", "undo"]).at_terminal();
    terminal.sees("+gamma").sees("[y/N]").types("n\n");
    assert_eq!(terminal.ends(), 1);
    assert_eq!(world.read("a.txt"), "delta\nend\n");
    let mut terminal = world.innerve(["sessions", "undo"]).at_terminal();
    terminal.sees("[y/N]").types("y\n");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(world.read("a.txt"), "gamma\nend\n");
}

#[test]
fn undo_knows_an_approved_sed() {
    let world = World::new().file("a.txt", "alpha\n");
    let answers =
        model(&world, [reply().bash("sed -i s/alpha/beta/ a.txt"), reply().text("Done.")]);
    let mut terminal = world.innerve(["run", "go"]).model(&answers).at_terminal();
    terminal.sees("+beta").sees("what to do instead").enters("y");
    assert_eq!(terminal.ends(), 0, "{terminal}");
    assert_eq!(world.read("a.txt"), "beta\n");
    sessions(&world, ["undo"]).exits(0);
    assert_eq!(world.read("a.txt"), "alpha\n");
}

#[test]
fn a_line_that_cannot_be_read_is_told_and_not_fatal() {
    let world = World::new();
    task(&world, "One.", vec![reply().text("Yes.")]);
    let log = world.find("log.jsonl").remove(0);
    let text = fs::read_to_string(&log).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.insert(2, "{\"type\":\"message\",\"message\":{\"role\":\"us");
    lines.insert(3, "\u{0}\u{0}\u{0}");
    fs::write(&log, lines.join("\n")).unwrap();
    let answers = model(&world, [reply().text("On we go.")]);
    let ended = world.innerve(["run", "--continue", "go on"]).model(&answers).run();
    ended.exits(0).complains(["line 3", "line 4", "left out"]);
    assert!(answers.request(0).messages[0].plain_text().starts_with("One."));
}

/// A disk of a few kilobytes, in a namespace of its own; `None` where the system has none.
fn on_a_small_disk(
    innerve: &str,
    folder: &std::path::Path,
    environment: &[(&str, String)],
) -> Option<std::process::Output> {
    let probe = Command::new("unshare").args(["-rm", "true"]).status();
    if !probe.is_ok_and(|status| status.success()) {
        return None;
    }
    let script = "mount -t tmpfs -o size=24k none \"$0\" && shift 0 && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", script]).arg(folder).arg(innerve);
    command.args(["run", "go", "--permission-mode", "bypassPermissions", "--output", "json"]);
    command.current_dir(folder.with_file_name("work"));
    command.envs(environment.iter().map(|(key, value)| (*key, value.as_str())));
    Some(command.output().unwrap())
}

#[test]
fn i9_on_a_full_disk_the_run_ends_with_words_and_runs_nothing_unlogged() {
    let world = World::new();
    let scripted = |seen: &innerve_tests::Seen| {
        let step = seen.messages.len();
        reply().text(&"many words ".repeat(80)).bash(&format!("echo {step} >> ran; seq 200"))
    };
    let answers = world.model_by(Wire::Anthropic, scripted);
    let state = world.root().join("state");
    let variable = |name: &str| world.root().join(name).display().to_string();
    let environment = [
        ("HOME", variable("home")),
        ("XDG_CONFIG_HOME", variable("config")),
        ("XDG_STATE_HOME", variable("state")),
        ("IS_SANDBOX", "1".to_owned()),
        ("ANTHROPIC_API_KEY", answers.key().to_owned()),
        ("ANTHROPIC_BASE_URL", format!("http://{}", answers.address())),
    ];
    let program = innerve_tests::program().display().to_string();
    let Some(output) = on_a_small_disk(&program, &state, &environment) else {
        println!("skipped: no namespaces here");
        return;
    };
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let summary: Value =
        serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stdout}\n{stderr}"));
    assert_eq!(summary["terminal"], "session_error", "{stdout}");
    assert!(stderr.contains("cannot be written") && stderr.contains("No space left"), "{stderr}");
    assert_eq!(output.status.code(), Some(1));
    // The mock refuses requests that are not valid; each one was taken.
    assert!(answers.seen().len() > 1, "{}", answers.seen().len());
}
