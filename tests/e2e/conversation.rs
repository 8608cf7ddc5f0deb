//! The loop with a model: streams, tools side by side, results in order, limits.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use innerve_tests::{Gate, ModelServer, PATIENCE, Wire, World, reply};
use rustix::fs::OFlags;
use serde_json::{Value, json};

#[test]
fn an_answer_without_tools_is_printed_and_nothing_else_is() {
    for wire in Wire::BOTH {
        let world = World::new();
        let model = world.model(wire, [reply().text("Forty-two. Ünïcödé 🎉").in_chunks(1)]);
        let ended = world.innerve(["run", "what is it?"]).model(&model).run();
        ended.exits(0);
        assert_eq!(ended.stdout(), "Forty-two. Ünïcödé 🎉\n", "{wire:?}");
        assert_eq!(model.request(0).last_words(), "what is it?");
    }
}

#[test]
fn piped_text_is_added_to_the_task() {
    let world = World::new();
    let model = world.model(Wire::Anthropic, [reply().text("Fine.")]);
    let ended = world.innerve(["run", "review this"]).input("+ a line\n").model(&model).run();
    ended.exits(0);
    assert_eq!(model.request(0).last_words(), "review this\n+ a line");
}

#[test]
fn two_reads_and_a_grep_of_one_response_are_done_before_the_response_is() {
    for (wire, early) in [(Wire::Anthropic, 3), (Wire::OpenAi, 2)] {
        // On OpenAI's wire a call is known to be complete only when the next one begins.
        let gate = Gate::new();
        let world = World::new().file("a.txt", "alpha\n").file("b.txt", "beta\n");
        let model = world.model(
            wire,
            [
                reply()
                    .text("Three at once.")
                    .uses("Read", json!({ "file_path": "a.txt" }))
                    .ping()
                    .uses("Read", json!({ "file_path": "b.txt" }))
                    .uses("Grep", json!({ "pattern": "alph", "output_mode": "content" }))
                    .waits(&gate),
                reply().text("Done."),
            ],
        );
        let run = world.innerve(["run", "look", "--output", "stream-json"]).model(&model).start();
        run.wait_for_lines("the tools' ends while the model still writes", |lines| {
            lines.iter().filter(|line| line["kind"] == "tool_ended").count() == early
        });
        assert_eq!(model.seen().len(), 1, "the response is still open");
        assert!(run.lines().iter().all(|line| line["type"] != "user"), "no results were sent yet");
        gate.open();
        let ended = run.end();
        ended.exits(0);
        check_order(&model, &["alpha", "beta", "a.txt"]);
    }
}

/// Results come in the order of the calls, each holding what is named.
#[track_caller]
fn check_order(model: &ModelServer, holds: &[&str]) {
    let request = model.request(1);
    let before = &request.messages[request.messages.len() - 2];
    let asked: Vec<String> = before.tool_uses().map(|tool_use| tool_use.id.to_string()).collect();
    let results = request.results();
    let answered: Vec<String> =
        results.iter().map(|result| result.tool_use_id.to_string()).collect();
    assert_eq!(asked, answered);
    assert_eq!(results.len(), holds.len());
    for (text, held) in request.result_texts().iter().zip(holds) {
        assert!(text.contains(held), "`{held}` is not in: {text}");
    }
}

fn fifo(world: &World, name: &str) {
    let status = Command::new("mkfifo").arg(world.work(name)).status().unwrap();
    assert!(status.success());
    assert!(world.work(name).metadata().unwrap().file_type().is_fifo());
}

/// Opening the writing end of a named pipe that nobody reads fails in place of waiting.
const NONBLOCK: i32 = OFlags::NONBLOCK.bits().cast_signed();

/// Opens the writing end, which is there as soon as somebody reads the other one.
#[track_caller]
fn reader_arrives(path: &Path) -> File {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match File::options().write(true).custom_flags(NONBLOCK).open(path) {
            Ok(file) => return file,
            Err(error) => {
                assert!(Instant::now() < deadline, "nobody reads {}: {error}", path.display());
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

fn has_reader(path: &Path) -> bool {
    File::options().write(true).custom_flags(NONBLOCK).open(path).is_ok()
}

#[test]
fn read_only_commands_of_one_response_run_at_the_same_time_and_answer_in_order() {
    let world = World::new();
    for name in ["one", "two", "three"] {
        fifo(&world, name);
    }
    let model = world.model(
        Wire::Anthropic,
        [reply().bash("cat one").bash("cat two").bash("cat three"), reply().text("Done.")],
    );
    let run = world.innerve(["run", "look", "--output", "stream-json"]).model(&model).start();
    // All three have a reader at once, whatever the order: they overlap.
    let mut writers: Vec<(&str, File)> = ["three", "two", "one"]
        .into_iter()
        .map(|name| (name, reader_arrives(&world.work(name))))
        .collect();
    for (name, writer) in &mut writers {
        writeln!(writer, "text of {name}").unwrap();
    }
    drop(writers);
    run.end().exits(0);
    check_order(&model, &["text of one", "text of two", "text of three"]);
}

#[test]
fn at_most_ten_calls_run_at_the_same_time() {
    let world = World::new();
    let names: Vec<String> = (0..12).map(|number| format!("pipe{number}")).collect();
    for name in &names {
        fifo(&world, name);
    }
    let all = names.iter().fold(reply(), |reply, name| reply.bash(&format!("cat {name}")));
    let model = world.model(Wire::OpenAi, [all, reply().text("Done.")]);
    let run = world.innerve(["run", "look"]).model(&model).start();
    let mut first: Vec<File> =
        names[..10].iter().map(|name| reader_arrives(&world.work(name))).collect();
    std::thread::sleep(Duration::from_millis(150));
    for name in &names[10..] {
        assert!(!has_reader(&world.work(name)), "{name} must wait for one of the ten");
    }
    // The eleventh begins when any one of the ten has ended.
    drop(first.remove(4));
    drop(reader_arrives(&world.work(&names[10])));
    drop(reader_arrives(&world.work(&names[11])));
    drop(first);
    run.end().exits(0);
    assert_eq!(model.request(1).results().len(), 12);
}

#[test]
fn a_tool_that_writes_waits_for_those_that_read_and_runs_alone() {
    let world = World::new();
    fifo(&world, "one");
    let model = world.model(
        Wire::Anthropic,
        [
            reply()
                .bash("cat one")
                .uses("Write", json!({ "file_path": "new.txt", "content": "new\n" }))
                .bash("cat new.txt"),
            reply().text("Done."),
        ],
    );
    let run = world
        .innerve(["run", "go", "--permission-mode", "acceptEdits", "--output", "stream-json"])
        .model(&model)
        .start();
    let mut writer = reader_arrives(&world.work("one"));
    std::thread::sleep(Duration::from_millis(150));
    assert!(!world.has("new.txt"), "it must wait for the command before it");
    writer.write_all(b"first\n").unwrap();
    drop(writer);
    run.end().exits(0);
    check_order(&model, &["first", "new.txt", "new"]);
}

#[test]
fn an_edit_that_a_mode_allows_is_written_and_shown_as_a_diff() {
    for wire in Wire::BOTH {
        let world = World::new().file("src/a.txt", "one\ntwo\nthree\n");
        let model = world.model(
            wire,
            [
                reply().uses("Read", json!({ "file_path": "src/a.txt" })),
                reply().uses(
                    "Edit",
                    json!({ "file_path": "src/a.txt", "old_string": "two", "new_string": "2" }),
                ),
                reply().text("Changed."),
            ],
        );
        let ended = world
            .innerve(["run", "change it", "--permission-mode", "acceptEdits"])
            .model(&model)
            .run();
        ended.exits(0).complains(["+1 −1", "-two", "+2"]);
        assert_eq!(world.read("src/a.txt"), "one\n2\nthree\n");
        assert_eq!(ended.stdout(), "Changed.\n");
    }
}

#[test]
fn i9_an_edit_of_a_file_that_changed_after_it_was_read_is_refused() {
    let world = World::new().file("a.txt", "one\ntwo\n");
    let gate = Gate::new();
    let edit = json!({ "file_path": "a.txt", "old_string": "two", "new_string": "2" });
    let model = world.model(
        Wire::Anthropic,
        [
            reply().uses("Read", json!({ "file_path": "a.txt" })),
            reply().waits(&gate).uses("Edit", edit),
            reply().text("I read it again."),
        ],
    );
    let run = world
        .innerve(["run", "go", "--permission-mode", "acceptEdits", "--output", "stream-json"])
        .model(&model)
        .start();
    run.wait_for_line("the end of the read", |line| line["kind"] == "tool_ended");
    world.write("a.txt", "one\ntwo\nthree\n");
    gate.open();
    run.end().exits(0);
    assert_eq!(world.read("a.txt"), "one\ntwo\nthree\n");
    assert!(model.request(2).results()[0].failed());
}

#[test]
fn a_change_of_directory_holds_for_the_next_command() {
    let world = World::new().file("sub/a.txt", "alpha\n");
    let model = world.model(
        Wire::OpenAi,
        [reply().bash("cd sub"), reply().bash("cat a.txt"), reply().text("Done.")],
    );
    world.innerve(["run", "go"]).model(&model).run().exits(0);
    assert_eq!(model.request(2).result_texts()[0].trim(), "alpha");
}

#[test]
fn a_sub_agent_has_a_conversation_of_its_own_and_hands_back_its_answer() {
    let world = World::new().file("a.txt", "alpha\n");
    let model = world.model(
        Wire::Anthropic,
        [
            reply().uses(
                "Agent",
                json!({ "description": "Look", "prompt": "What is in a.txt?", "subagent_type": "general-purpose" }),
            ),
            reply().uses("Read", json!({ "file_path": "a.txt" })),
            reply().text("It holds alpha."),
            reply().text("The sub-agent says: alpha."),
        ],
    );
    let ended = world.innerve(["run", "ask somebody"]).model(&model).run();
    ended.exits(0);
    assert_eq!(ended.stdout(), "The sub-agent says: alpha.\n");
    assert_eq!(model.request(1).messages.len(), 1, "a sub-agent starts afresh");
    assert_eq!(model.request(1).last_words(), "What is in a.txt?");
    assert!(model.request(2).result_texts()[0].contains("alpha"));
    assert!(model.request(3).result_texts()[0].contains("It holds alpha."));
}

#[test]
fn the_limit_of_rounds_ends_the_run_with_exit_code_5() {
    let world = World::new().file("a.txt", "alpha\n");
    let look = || reply().uses("Read", json!({ "file_path": "a.txt" }));
    let model = world.model(Wire::Anthropic, [look(), look()]);
    let ended =
        world.innerve(["run", "look", "--max-turns", "2", "--output", "json"]).model(&model).run();
    ended.exits(5);
    assert_eq!(ended.json()["terminal"], "max_turns");
    assert_eq!(ended.json()["turns"], 2);
}

#[test]
fn the_limit_of_dollars_ends_the_run_with_exit_code_5() {
    let world = World::new().file("a.txt", "alpha\n");
    let look = reply().uses("Read", json!({ "file_path": "a.txt" }));
    let model = world.model(Wire::Anthropic, [look]);
    let ended = world
        .innerve(["run", "look", "--max-cost-usd", "0.000001", "--output", "json"])
        .model(&model)
        .run();
    ended.exits(5);
    assert_eq!(ended.json()["terminal"], "budget_exceeded");
    assert!(ended.json()["cost_usd"].as_f64().unwrap() > 0.000_001);
    assert_eq!(ended.json()["usage"]["input_tokens"], 100);
    assert_eq!(ended.json()["usage"]["output_tokens"], 20);
}

#[test]
fn a_refusal_of_the_model_ends_the_run_with_exit_code_5() {
    for wire in Wire::BOTH {
        let world = World::new();
        let model = world.model(wire, [reply().text("I").stops("refusal")]);
        let ended = world.innerve(["run", "no", "--output", "json"]).model(&model).run();
        ended.exits(5);
        assert_eq!(ended.json()["terminal"], "refused", "{wire:?}");
    }
}

#[test]
fn what_a_tool_is_given_wrong_is_told_to_the_model_and_the_run_goes_on() {
    for wire in Wire::BOTH {
        let world = World::new();
        let model = world.model(
            wire,
            [
                reply()
                    .uses("Read", json!({ "path": "a.txt" }))
                    .uses("Teleport", json!({}))
                    .uses("Read", json!({ "file_path": "missing.txt" })),
                reply().text("I see."),
            ],
        );
        world.innerve(["run", "look"]).model(&model).run().exits(0);
        let texts = model.request(1).result_texts();
        assert!(texts[0].contains("file_path"), "{texts:?}");
        assert!(texts[1].contains("Teleport"), "{texts:?}");
        assert!(texts[2].contains("missing.txt"), "{texts:?}");
    }
}

#[test]
fn a_session_goes_on_where_it_ended() {
    for wire in Wire::BOTH {
        let world = World::new().file("a.txt", "alpha\n");
        let first = world.model(
            wire,
            [reply().uses("Read", json!({ "file_path": "a.txt" })), reply().text("It is alpha.")],
        );
        let ended =
            world.innerve(["run", "what is in a.txt?", "--output", "json"]).model(&first).run();
        ended.exits(0);
        let id = ended.json()["session_id"].as_str().unwrap().to_owned();

        let second = world.model(wire, [reply().text("Alpha, as I said.")]);
        let ended =
            world.innerve(["run", "--continue", "again?", "--output", "json"]).model(&second).run();
        ended.exits(0);
        assert_eq!(ended.json()["session_id"], id.as_str());
        let texts: Vec<String> =
            second.request(0).messages.iter().map(innerve_protocol::Message::plain_text).collect();
        assert_eq!(texts, ["what is in a.txt?", "", "", "It is alpha.", "again?"]);

        let third = world.model(wire, [reply().text("Still alpha.")]);
        world.innerve(["run", "--resume", &id, "and now?"]).model(&third).run().exits(0);
        assert_eq!(third.request(0).messages.len(), 7);
    }
}

#[test]
fn the_prefix_of_the_requests_stays_the_same_so_that_the_cache_holds() {
    let world = World::new().file("a.txt", "alpha\n");
    let look = || reply().uses("Read", json!({ "file_path": "a.txt" }));
    let model = world.model(Wire::Anthropic, [look(), look(), reply().text("Done.")]);
    world.innerve(["run", "look twice"]).model(&model).run().exits(0);
    let without_markers = |value: &Value| {
        let mut value = value.clone();
        remove_markers(&mut value);
        value
    };
    let seen = model.seen();
    for pair in seen.windows(2) {
        assert_eq!(pair[0].body["tools"], pair[1].body["tools"]);
        assert_eq!(pair[0].body["system"], pair[1].body["system"]);
        let before = without_markers(&pair[0].body["messages"]);
        let after = without_markers(&pair[1].body["messages"]);
        let before = before.as_array().unwrap();
        assert_eq!(before[..], after.as_array().unwrap()[..before.len()]);
    }
}

fn remove_markers(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.shift_remove("cache_control");
            fields.values_mut().for_each(remove_markers);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_markers),
        _ => {}
    }
}

#[test]
fn a_recorded_run_plays_again_without_a_model() {
    let world = World::new().file("a.txt", "alpha\n");
    let recording = world.work("talk.jsonl");
    let model = world.model(
        Wire::OpenAi,
        [reply().uses("Read", json!({ "file_path": "a.txt" })), reply().text("It is alpha.")],
    );
    let ended = world.innerve(["run", "look", "--record"]).arg(&recording).model(&model).run();
    ended.exits(0);
    let mut text = String::new();
    File::open(&recording).unwrap().read_to_string(&mut text).unwrap();
    assert!(!text.contains(model.key()), "a recording holds no key");

    let ended = world.innerve(["run", "look", "--replay"]).arg(&recording).run();
    ended.exits(0);
    assert_eq!(ended.stdout(), "It is alpha.\n");

    let unasked = world.model(Wire::OpenAi, []);
    let ended = world.innerve(["run", "look", "--record"]).arg(&recording).model(&unasked).run();
    ended.exits(1).complains(["talk.jsonl", "new file"]);
    assert_eq!(world.read("talk.jsonl"), text, "an old recording is not overwritten");
}

#[test]
fn a_recording_of_version_1_still_plays() {
    let world = World::new().file("a.txt", "one\ntwo\n");
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/recording-v1.jsonl");
    let ended = world
        .innerve(["run", "change a.txt", "--permission-mode", "acceptEdits", "--replay"])
        .arg(recording)
        .run();
    ended.exits(0);
    assert_eq!(ended.stdout(), "Changed.\n");
    assert_eq!(world.read("a.txt"), "one\n2\n");
}

#[test]
fn f65_the_model_s_own_words_stay_in_the_transcript_and_the_derived_path_is_read() {
    let world = World::new();
    let home = world.root().join("home");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("a.txt"), "at home\n").unwrap();
    let read = reply().uses("Read", json!({ "file_path": "~/a.txt" }));
    let model = world.model(Wire::Anthropic, [read, reply().text("Read.")]);
    let allow = format!("Read(/{}/**)", home.display());
    world.innerve(["run", "read it"]).args(["--allow", &allow]).model(&model).run().exits(0);
    let last = model.request(1);
    assert!(last.result_texts()[0].contains("at home"), "{:?}", last.result_texts());
    let sent = last.messages.iter().flat_map(innerve_protocol::Message::tool_uses).next().unwrap();
    assert_eq!(sent.input, json!({ "file_path": "~/a.txt" }));
}
