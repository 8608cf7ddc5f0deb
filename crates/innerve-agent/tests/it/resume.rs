//! Resuming: whatever a session died of, its log gives a conversation that an API takes and that loses nothing.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use innerve_agent::{Agent, PastSession, Record, Transcript};
use innerve_protocol::{ContentBlock, Message, SharedMessage, validate};
use serde_json::{Value, json};

use crate::kit::{Ran, World, check_transcript, finish, results};
use crate::script::{Say, Script, answer, call, response, text, thinking};

/// A session of several turns, with tools side by side and alone, long and failing.
async fn recorded() -> (World, Ran) {
    let script = Script::new(vec![
        response([
            text("First I look."),
            call("a", "Read", json!({ "id": "a", "n": 1.5, "deep": { "z": [1, null], "a": "ü" } })),
            call("b", "Read", json!({ "id": "b" })),
            call("c", "Edit", json!({ "id": "c", "cwd": "/repo/src" })),
        ]),
        response([
            thinking("hm"),
            call("d", "Nope", json!({})),
            call("e", "Edit", json!({ "id": "e", "fails": "exit code 1" })),
            call("f", "Read", json!({ "id": "f", "size": 700 })),
        ]),
        answer("Done."),
    ]);
    let world = World::new(&script);
    let agent = world.start();
    let ran = finish(agent.run(vec![ContentBlock::text("Do it.")])).await;
    script.check();
    drop(agent);
    (world, ran)
}

/// What the log says of each call by itself: has it started, and what did it end in.
fn truth(log: &[u8]) -> (Vec<String>, BTreeMap<String, String>) {
    let (mut started, mut ended) = (Vec::new(), BTreeMap::new());
    for line in log.split(|byte| *byte == b'\n') {
        match serde_json::from_slice::<Record>(line) {
            Ok(Record::ToolStarted { tool_use }) => started.push(tool_use.id.to_string()),
            Ok(Record::ToolEnded { result }) => {
                ended.insert(result.tool_use_id.to_string(), result.content.plain_text());
            }
            _ => {}
        }
    }
    (started, ended)
}

fn load(path: &Path, log: &[u8]) -> (Transcript, usize) {
    std::fs::write(path, log).unwrap();
    let (transcript, quarantined) = Transcript::load(path).unwrap();
    (transcript, quarantined.len())
}

fn all_results(messages: &[Message]) -> BTreeMap<String, String> {
    messages.iter().flat_map(results).collect()
}

#[tokio::test]
async fn i7_a_log_cut_at_any_byte_gives_a_conversation_that_loses_no_result() {
    let (world, _) = recorded().await;
    let log = std::fs::read(world.log()).unwrap();
    let path = world.folder.path().join("cut.jsonl");
    for end in 0..=log.len() {
        let cut = &log[..end];
        let (transcript, quarantined) = load(&path, cut);
        assert!(quarantined <= 1, "at {end}");
        assert_eq!(validate(&transcript.messages), vec![], "at {end}");
        let (started, ended) = truth(cut);
        let sent = all_results(&transcript.messages);
        for (id, text) in &ended {
            assert_eq!(sent.get(id), Some(text), "{id} was lost at {end}");
        }
        let interrupted: Vec<String> =
            transcript.interrupted.iter().map(|tool_use| tool_use.id.to_string()).collect();
        let unfinished: Vec<String> =
            started.into_iter().filter(|id| !ended.contains_key(id)).collect();
        assert_eq!(interrupted, unfinished, "at {end}");
        for id in &unfinished {
            assert!(sent[id].contains("It may have had effects"), "{id} at {end}: {sent:?}");
        }
    }
}

#[tokio::test]
async fn i7_a_killed_session_goes_on_from_every_record_and_from_within_it() {
    let (world, _) = recorded().await;
    let log = std::fs::read(world.log()).unwrap();
    let ends =
        log.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(place, _)| place + 1);
    let cuts: Vec<usize> = ends.flat_map(|end| [end.saturating_sub(20), end - 1, end]).collect();
    for end in cuts {
        let script = Script::new(vec![
            response([call("a", "Edit", json!({ "id": "again" }))]),
            answer("Resumed."),
        ]);
        let again = World::new(&script);
        std::fs::create_dir_all(again.folder()).unwrap();
        std::fs::write(again.log(), &log[..end]).unwrap();
        let agent = again.resume();
        let ran = finish(agent.run(vec![ContentBlock::text("Go on.")])).await;
        assert_eq!(ran.summary.result, "Resumed.", "at {end}");
        script.check();
        check_transcript(&agent).await;
        let before = agent.messages().await;
        drop(agent);
        // What is resumed once more is what it was, and no call comes back from the dead.
        let (transcript, _) = Transcript::load(&again.log()).unwrap();
        assert_eq!(transcript.messages, before, "at {end}");
        assert_eq!(transcript.interrupted, vec![]);
    }
}

#[tokio::test]
async fn i12_a_resumed_session_sends_what_was_sent_before_byte_for_byte() {
    let (world, _) = recorded().await;
    let before = world.script.request(2);
    let script = Script::new(vec![answer("Resumed.")]);
    let again = World { script: Arc::clone(&script), ..world };
    finish(again.resume().run(vec![ContentBlock::text("Go on.")])).await;
    let after = script.request(0);
    let plain = |messages: &[SharedMessage]| -> Vec<Value> {
        messages
            .iter()
            .map(|message| {
                let text = serde_json::to_string(message).unwrap();
                let text = text.replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "");
                Value::String(text)
            })
            .collect()
    };
    let (before, after) = (plain(&before.messages), plain(&after.messages));
    assert_eq!(before, after[..before.len()]);
}

#[tokio::test]
async fn i7_resuming_again_and_again_adds_nothing() {
    let (world, _) = recorded().await;
    let log = std::fs::read(world.log()).unwrap();
    // Killed while the third call ran.
    let text = String::from_utf8(log).unwrap();
    let end = text.find("\"tool_ended\",\"result\":{\"tool_use_id\":\"c\"");
    let end = end.or_else(|| text.rfind("tool_started")).unwrap();
    let line = text[..end].rfind('\n').unwrap() + 1;
    let script = Script::new(Vec::<Vec<Say>>::new());
    let again = World::new(&script);
    std::fs::create_dir_all(again.folder()).unwrap();
    std::fs::write(again.log(), &text[..line]).unwrap();
    let mut first: Option<Vec<Message>> = None;
    let mut sizes = Vec::new();
    for _ in 0..3 {
        let agent = again.resume();
        let messages = agent.messages().await;
        check_transcript(&agent).await;
        assert_eq!(*first.get_or_insert_with(|| messages.clone()), messages);
        sizes.push(std::fs::metadata(again.log()).unwrap().len());
    }
    // The first one answers what was open, and only that; the others write nothing.
    let added = sizes[0] - line as u64;
    assert!(added < 600, "{added} bytes were added");
    assert_eq!(sizes, [sizes[0]; 3]);
}

#[tokio::test]
async fn a_resumed_conversation_does_not_reuse_an_id() {
    let (world, _) = recorded().await;
    let script =
        Script::new(vec![response([call("a", "Read", json!({ "id": "new" }))]), answer("end")]);
    let again = World { script: Arc::clone(&script), ..world };
    let agent = again.resume();
    finish(agent.run(vec![ContentBlock::text("Go on.")])).await;
    script.check();
    check_transcript(&agent).await;
}

#[tokio::test]
async fn an_agent_without_a_prompt_goes_on_from_what_was_answered() {
    let (world, _) = recorded().await;
    let text = std::fs::read_to_string(world.log()).unwrap();
    let end = text.find("Done.").unwrap();
    let line = text[..end].rfind('\n').unwrap() + 1;
    let script = Script::new(vec![answer("Went on.")]);
    let again = World::new(&script);
    std::fs::create_dir_all(again.folder()).unwrap();
    std::fs::write(again.log(), &text[..line]).unwrap();
    let agent: Agent = again.resume();
    let ran = finish(agent.run(Vec::new())).await;
    assert_eq!(ran.summary.result, "Went on.");
    script.check();
}

#[tokio::test]
async fn a_prompt_behind_results_needs_no_repair() {
    let script = Script::new(vec![response([call("a", "Read", json!({}))]), answer("end")]);
    let mut world = World::new(&script);
    world.config.max_turns = Some(1);
    let agent = world.start();
    finish(agent.run(vec![ContentBlock::text("One.")])).await;
    finish(agent.run(vec![ContentBlock::text("Two.")])).await;
    script.check();
    check_transcript(&agent).await;
    let log = std::fs::read_to_string(world.log()).unwrap();
    assert!(!log.contains("\"history\""), "{log}");
    drop(agent);
    let before = script.request(1).messages.len();
    let agent = world.resume();
    assert_eq!(agent.messages().await.len(), before + 1);
}

#[tokio::test]
async fn i12_a_result_that_was_replaced_stays_replaced_after_resuming() {
    let big = |id: &str| call(id, "Big", json!({ "id": id, "size": 45_000 }));
    let read = |id: &str| call(id, "Read", json!({ "id": id, "size": 45_000 }));
    let calls = ["a", "b", "c", "d", "e", "f"].map(read).concat();
    let script = Script::new(vec![response([calls, big("g")]), answer("Done.")]);
    let world = World::new(&script);
    let agent = world.start();
    finish(agent.run(vec![ContentBlock::text("Do it.")])).await;
    drop(agent);
    let before = results(script.request(1).messages.last().unwrap());
    let replaced = before.iter().filter(|(_, text)| text.starts_with("<persisted-output>")).count();
    assert!((1..6).contains(&replaced), "{replaced}");
    // The files are gone; the decision is in the log.
    std::fs::remove_dir_all(world.folder().join("tool-results")).unwrap();
    let script = Script::new(vec![answer("Resumed.")]);
    let again = World { script: Arc::clone(&script), ..world };
    finish(again.resume().run(vec![ContentBlock::text("Go on.")])).await;
    assert_eq!(results(&script.request(0).messages[2]), before);
}

#[tokio::test]
async fn what_another_process_writes_until_the_log_is_ours_is_not_missed() {
    let (world, _) = recorded().await;
    let log = innerve_agent::SessionLog::open(&world.log()).unwrap();
    let folder = world.folder();
    let taken = std::thread::spawn(move || {
        loop {
            match PastSession::take(&folder) {
                Ok(past) => return past,
                Err(error) => assert_eq!(error.code(), "session:in_use"),
            }
        }
    });
    for number in 0..200 {
        let message = Message::user(format!("late {number}"));
        log.append(&Record::Message { message }).unwrap();
    }
    drop(log);
    let past = taken.join().unwrap();
    let last = past.transcript().messages.last().unwrap().plain_text();
    assert!(last.ends_with("late 199"), "{last}");
}

#[tokio::test]
async fn a_fork_goes_on_by_itself_and_its_origin_stays_as_it_was() {
    let (world, _) = recorded().await;
    let before = std::fs::read(world.log()).unwrap();
    let folder = world.folder.path().join("fork");
    PastSession::take(&world.folder()).unwrap().fork(&folder, "fork").unwrap();
    let script = Script::new(vec![answer("Forked.")]);
    let again = World { script: Arc::clone(&script), ..world };
    let past = PastSession::take(&folder).unwrap();
    assert_eq!(past.transcript().forked_from.as_deref(), Some("session"));
    assert_eq!(past.id(), "fork");
    let mut env = again.env();
    env.folder = folder;
    let agent = Agent::resume(env, past).unwrap();
    finish(agent.run(vec![ContentBlock::text("Go on.")])).await;
    script.check();
    assert_eq!(std::fs::read(again.log()).unwrap(), before);
    assert_eq!(script.request(0).messages.len(), 7);
}

#[test]
fn i8_a_line_beyond_all_bounds_is_one_quarantined_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    let mut log =
        serde_json::to_vec(&Record::Message { message: Message::user("before") }).unwrap();
    log.push(b'\n');
    log.resize(log.len() + (64 << 20) + 5, b'x');
    log.push(b'\n');
    log.extend(serde_json::to_vec(&Record::Message { message: Message::user("after") }).unwrap());
    let (transcript, quarantined) = load(&path, &log);
    assert_eq!(quarantined, 1);
    assert_eq!(transcript.messages[0].content.len(), 2);
}

#[tokio::test]
async fn i7_work_in_the_background_that_ended_with_the_process_is_told_once() {
    let launch = |id: &str| call(id, "Agent", json!({ "prompt": id, "background": true }));
    let script = Script::with_lanes([
        (
            "main",
            vec![
                response([launch("one"), launch("two")]),
                response([call("e", "Edit", json!({ "id": "e", "gate": "edit" }))]),
            ],
        ),
        ("one", vec![answer("One is done.")]),
        ("two", vec![response([call("x", "Read", json!({ "id": "x", "gate": "never" }))])]),
    ]);
    let world = World::new(&script);
    let agent = world.start();
    let run = agent.run(vec![ContentBlock::text("main task")]);
    world.board.wait_for("start x").await;
    world.board.wait_for("start e").await;
    let log = std::fs::read(world.log()).unwrap();
    drop(run);

    // It died here.
    let script = Script::new(vec![answer("I see.")]);
    let again = World::new(&script);
    std::fs::create_dir_all(again.folder()).unwrap();
    std::fs::write(again.log(), log).unwrap();
    for times in 1..=2 {
        let agent = again.resume();
        let messages = agent.messages().await;
        let said: String = messages.iter().map(Message::plain_text).collect();
        assert_eq!(
            said.matches("The session ended while background task").count(),
            1,
            "{times}: {said}"
        );
        assert!(said.contains("One is done."), "{said}");
        check_transcript(&agent).await;
    }
}
