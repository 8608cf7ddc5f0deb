//! The session log: written before and after, locked, and honest about a disk that is full.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use innerve_agent::{
    Agent, PastSession, Record, SessionLog, SessionSummary, TerminalReason, Transcript,
};
use innerve_permission::facts::{Need, Place};
use innerve_permission::{CallFacts, Preview};
use innerve_protocol::{ContentBlock, Message, ToolResultContent, validate};
use innerve_tool::{CallContext, Tool, ToolError, ToolOutput, erase};
use serde_json::{Map, Value, json};

use crate::kit::{Factory, World, check_transcript, finish, last_results, texts};
use crate::script::{Say, Script, answer, call, response};

/// Looks at the session's log from the inside.
struct Peek(std::path::PathBuf);

impl Tool for Peek {
    type Input = Map<String, Value>;
    type Output = String;
    type Progress = ();

    fn name(&self) -> &'static str {
        "Peek"
    }
    fn description(&self) -> String {
        String::new()
    }
    fn facts(&self, input: &Value, _: &CallContext, _: Place<'_>) -> CallFacts {
        CallFacts::new("Peek", input.clone()).with_need(Need::Never)
    }
    async fn call(
        &self,
        _: Self::Input,
        _: Option<Preview>,
        _: CallContext<()>,
    ) -> Result<ToolOutput<String>, ToolError> {
        let log = std::fs::read_to_string(&self.0).unwrap();
        let kinds: Vec<String> = log
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .map(|record| {
                let id =
                    record["tool_use"]["id"].as_str().or(record["result"]["tool_use_id"].as_str());
                format!("{}{}", record["type"].as_str().unwrap(), id.unwrap_or_default())
            })
            .collect();
        Ok(ToolOutput::new(kinds.join(" ")))
    }
    fn render(&self, output: &String) -> ToolResultContent {
        output.as_str().into()
    }
}

#[tokio::test]
async fn i7_a_call_is_in_the_log_before_it_starts_and_after_it_ends() {
    let script = Script::new(vec![
        response([call("a", "Peek", json!({})), call("b", "Peek", json!({}))]),
        answer("end"),
    ]);
    let world = World::new(&script);
    let mut env = world.env();
    let log = world.log();
    env.tools = Arc::new(Factory(move |_: &_| vec![erase(Peek(log.clone())).unwrap()]));
    let agent = Agent::start(env).unwrap();
    finish(agent.run(vec![ContentBlock::text("Do it.")])).await;
    let sent = last_results(&script.request(1));
    assert!(sent[0].1.contains("tool_starteda"), "{}", sent[0].1);
    assert!(!sent[0].1.contains("tool_endeda") && !sent[0].1.contains("tool_startedb"));
    assert!(sent[1].1.contains("tool_endeda tool_startedb"), "{}", sent[1].1);
    assert!(!sent[1].1.contains("tool_endedb"));
}

#[test]
fn a_log_has_one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep").join("log.jsonl");
    let first = SessionLog::open(&path).unwrap();
    let error = SessionLog::open(&path).unwrap_err();
    assert_eq!(error.code(), "session:in_use");
    assert!(error.to_string().contains("in use"));
    // Reading is free.
    assert!(Transcript::load(&path).is_ok());
    drop(first);
    assert!(SessionLog::open(&path).is_ok());
}

#[tokio::test]
async fn a_second_agent_on_the_same_session_is_refused() {
    let script = Script::new(vec![answer("Hello.")]);
    let world = World::new(&script);
    let agent = world.start();
    finish(agent.run(vec![ContentBlock::text("Hi.")])).await;
    assert_eq!(PastSession::take(&world.folder()).unwrap_err().code(), "session:in_use");
    drop(agent);
    world.resume();
}

#[cfg(unix)]
#[test]
fn a_log_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session").join("log.jsonl");
    let log = SessionLog::open(&path).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(log.path()), mode(path.parent().unwrap())), (0o600, 0o700));
}

#[test]
fn a_half_line_is_kept_apart_from_what_follows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    let message = |text: &str| Record::Message { message: Message::user(text) };
    let log = SessionLog::open(&path).unwrap();
    log.append(&message("one")).unwrap();
    drop(log);
    let mut torn = std::fs::read(&path).unwrap();
    torn.extend_from_slice(b"{\"type\":\"mess");
    std::fs::write(&path, torn).unwrap();
    let log = SessionLog::open(&path).unwrap();
    log.append(&message("two")).unwrap();
    log.append(&message("three")).unwrap();
    let (transcript, quarantined) = Transcript::load(&path).unwrap();
    assert_eq!(texts(&transcript.messages[0]), ["one", "two", "three"]);
    assert_eq!((quarantined.len(), quarantined[0].line), (1, 2));
}

#[test]
fn lines_of_a_later_version_and_lines_that_are_no_text_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    let mut log = Vec::new();
    log.extend_from_slice(b"{\"type\":\"session\",\"version\":9,\"id\":\"s\",\"cwd\":\"/\",\"model\":\"m\",\"started\":1,\"new\":true}\n");
    log.extend_from_slice(b"{\"type\":\"telepathy\",\"strength\":3}\n\n");
    log.extend_from_slice(b"\xff\xfe\x00\n[1,2\nnull\n");
    log.extend_from_slice(
        b"{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"hello\"}}",
    );
    std::fs::write(&path, log).unwrap();
    let (transcript, quarantined) = Transcript::load(&path).unwrap();
    assert_eq!(transcript.session_id, "s");
    assert_eq!(transcript.messages.len(), 1);
    assert_eq!(quarantined.iter().map(|it| it.line).collect::<Vec<_>>(), [4, 5, 6]);
}

#[test]
fn a_log_that_is_not_there_or_is_a_directory_is_an_error_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("none.jsonl");
    let error = Transcript::load(&missing).unwrap_err();
    assert_eq!(error.code(), "session:io");
    assert!(error.to_string().contains("none.jsonl"));
    assert_eq!(SessionLog::open(folder.path()).unwrap_err().code(), "session:io");
}

#[tokio::test]
async fn an_agent_does_not_start_where_no_log_can_be() {
    let script = Script::new(Vec::new());
    let world = World::new(&script);
    // A file stands where the session's folder would be.
    std::fs::write(world.folder(), "in the way").unwrap();
    assert_eq!(Agent::start(world.env()).unwrap_err().code(), "session:io");
}

#[test]
fn a_log_that_was_begun_anew_is_another_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    let session = |id: &str| Record::Session {
        version: 1,
        id: id.to_owned(),
        cwd: "/repo".into(),
        model: "m".to_owned(),
        started: 1,
        forked_from: None,
        coordinator: false,
    };
    let log = SessionLog::open(&path).unwrap();
    log.append(&session("old")).unwrap();
    log.append(&Record::Message { message: Message::user("old") }).unwrap();
    log.append(&session("new")).unwrap();
    log.append(&Record::Message { message: Message::user("new") }).unwrap();
    let (transcript, _) = Transcript::load(&path).unwrap();
    assert_eq!((transcript.session_id.as_str(), transcript.messages.len()), ("new", 1));
}

const FULL: &str = "INNERVE_TEST_FULL_DISK";

/// Runs in a process of its own, whose files may not grow beyond a few kilobytes.
#[tokio::test]
async fn on_a_full_disk() {
    let Some(folder) = std::env::var_os(FULL).map(PathBuf::from) else { return };
    half_a_line_and_then_room(&folder.with_extension("jsonl"));
    let turn = |number: u32| {
        response([
            call(&format!("r{number}"), "Read", json!({ "size": 3_000 })),
            call(&format!("e{number}"), "Edit", json!({ "id": format!("e{number}") })),
        ])
    };
    let script = Script::new((0..20).map(turn).collect::<Vec<Vec<Say>>>());
    let world = World::new(&script);
    let mut env = world.env();
    env.folder = folder;
    let agent = Agent::start(env).unwrap();
    let ran = finish(agent.run(vec![ContentBlock::text("Do it.")])).await;
    assert_eq!(ran.reason(), TerminalReason::SessionError);
    assert!(ran.summary.terminal.message.contains("cannot be written"));
    check_transcript(&agent).await;
    let requests = script.count();
    assert!((1..20).contains(&requests), "{requests}");
    // What could not be logged was not run.
    let log = std::fs::read_to_string(agent.env().log_path()).unwrap();
    for note in world.board.notes().iter().filter_map(|note| note.strip_prefix("start ")) {
        assert!(log.contains(&format!("\"{note}\"")), "{note} ran unlogged");
    }
}

/// A write that fails in the middle of a line does not spoil the next one.
fn half_a_line_and_then_room(path: &Path) {
    let log = SessionLog::open(path).unwrap();
    let long = Record::Message { message: Message::user("long ".repeat(300)) };
    while log.append(&long).is_ok() {}
    let written = std::fs::read(path).unwrap();
    let lines = written.split(|byte| *byte == b'\n').count() - 1;
    // Room comes back, and half a line stays.
    let end = written.iter().position(|byte| *byte == b'\n').unwrap() + 100;
    std::fs::File::options().write(true).open(path).unwrap().set_len(end as u64).unwrap();
    log.append(&Record::Message { message: Message::user("short") }).unwrap();
    let (transcript, quarantined) = Transcript::load(path).unwrap();
    assert!(lines >= 2 && quarantined.len() == 1);
    assert_eq!(texts(&transcript.messages[0]).last().unwrap(), "short");
}

#[cfg(unix)]
#[test]
fn i9_a_full_disk_ends_the_run_and_the_log_can_still_be_read() {
    // The limit is put on at several places, so that it falls into different records.
    for kilobytes in [4, 5, 6, 7, 8, 9, 10, 12, 14, 16] {
        let folder = tempfile::tempdir().unwrap();
        let this = std::env::current_exe().unwrap();
        let output = Command::new("bash")
            .arg("-c")
            .arg(format!(
                "trap '' XFSZ; ulimit -f {kilobytes}; exec \"$0\" --exact log::on_a_full_disk"
            ))
            .arg(this)
            .env(FULL, folder.path().join("full"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        let past = PastSession::take(&folder.path().join("full")).unwrap();
        assert!(past.quarantined().len() <= 1, "{past:?}");
        assert_eq!(validate(&past.transcript().messages), vec![]);
        // There is room again: the session goes on.
        let script = Script::new(vec![answer("Room again.")]);
        let world = World::new(&script);
        let mut env = world.env();
        env.folder = folder.path().join("full");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let agent = Agent::resume(env, past).unwrap();
            let ran = finish(agent.run(vec![ContentBlock::text("On.")])).await;
            assert_eq!(ran.summary.result, "Room again.");
            script.check();
        });
    }
}

#[tokio::test]
async fn a_list_shows_when_where_what_and_how_often_in_bounded_memory() {
    let script = Script::new(vec![answer("One."), answer("Two.")]);
    let world = World::new(&script);
    let agent = world.start();
    finish(agent.run(vec![ContentBlock::text("First words.")])).await;
    finish(agent.run(vec![ContentBlock::text("Second words.")])).await;
    drop(agent);
    // A huge line, and a broken one.
    let mut log = std::fs::read(world.log()).unwrap();
    log.extend_from_slice(b"{\"type\":\"turn\n");
    log.extend_from_slice(b"{\"type\":\"message\",\"message\":\"");
    log.resize(log.len() + (8 << 20), b'x');
    std::fs::write(world.log(), log).unwrap();
    let summary = SessionSummary::read(&world.folder()).unwrap();
    assert_eq!(summary.id, "session");
    assert_eq!(summary.cwd, Path::new("/repo"));
    assert_eq!((summary.first_prompt.as_str(), summary.turns), ("First words.", 2));
    assert!(summary.started > 1_600_000_000 && summary.last_used >= summary.started);
}
