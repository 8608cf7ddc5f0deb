//! The agent for editors as a program: lines of JSON-RPC in and out, and nothing else on standard output.
//!
//! The usual program under test is built without the feature `acp`; the test says so and ends. To run it: build with the
//! feature, and name the program in `INNERVE_BIN`.

use std::io::Write as _;
use std::process::ChildStdin;

use innerve_tests::{Innerve, Running, Wire, World, reply};
use serde_json::{Value, json};

/// Whether the program has the feature.
pub(crate) fn is_there(world: &World) -> bool {
    let ended = world.innerve(["acp"]).run();
    if ended.code() == 0 {
        return true;
    }
    ended.exits(2).complains(["--features acp"]);
    println!("skipped: the program under test was built without the feature `acp`");
    false
}

pub(crate) fn request(id: u64, method: &str, params: &Value) -> String {
    let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    format!("{request}\n")
}

pub(crate) fn answer(id: &Value, result: &Value) -> String {
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

/// Starts the agent, tells it what the editor can do, and asks it for a session.
pub(crate) fn open(
    agent: Innerve,
    able: &Value,
    method: &str,
    params: &Value,
) -> (Running, ChildStdin) {
    let first = json!({ "protocolVersion": 1, "clientCapabilities": able });
    let mut run = agent.input(request(1, "initialize", &first)).with_open_input().start();
    run.wait_for_line("what the agent can do", |line| line["id"] == 1);
    let editor = run.say(&request(2, method, params));
    run.wait_for_line("the session", |line| line["id"] == 2);
    (run, editor)
}

#[test]
fn an_editor_is_asked_reads_and_writes_unsaved_text_and_finds_the_session_again() {
    let world = World::new().file("note.txt", "saved\n");
    if !is_there(&world) {
        return;
    }
    let note = world.work("note.txt").canonicalize().unwrap();
    let model = world.model(
        Wire::Anthropic,
        [
            reply().uses("Read", json!({ "file_path": note })),
            reply().uses(
                "Edit",
                json!({ "file_path": note, "old_string": "typed", "new_string": "written" }),
            ),
            reply().text("All done."),
        ],
    );
    let able = json!({ "fs": { "readTextFile": true, "writeTextFile": true } });
    let cwd = world.work("");
    let new = json!({ "cwd": cwd, "mcpServers": [] });
    let (run, mut editor) = open(world.innerve(["acp"]).model(&model), &able, "session/new", &new);
    let opened = run.lines().into_iter().find(|line| line["id"] == 2).unwrap();
    let session = opened["result"]["sessionId"].clone();
    let prompt =
        json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "Mend it." }] });
    editor.write_all(request(3, "session/prompt", &prompt).as_bytes()).unwrap();

    // The editor answers whatever the agent asks, until the prompt is answered.
    let mut answered = Vec::new();
    let mut buffer = "typed, not saved\n".to_owned();
    let mut asked = Vec::new();
    loop {
        run.wait_for_line("something new", |line| {
            let is_new = line["method"].is_string() && !answered.contains(&line["id"]);
            (is_new && !line["id"].is_null()) || (line["id"] == 3 && line["method"].is_null())
        });
        let lines = run.lines();
        let is_new = |line: &&Value| {
            line["method"].is_string() && !line["id"].is_null() && !answered.contains(&line["id"])
        };
        let Some(question) = lines.iter().find(is_new) else { break };
        let result = match question["method"].as_str().unwrap() {
            "fs/read_text_file" => json!({ "content": buffer }),
            "fs/write_text_file" => {
                buffer = question["params"]["content"].as_str().unwrap().to_owned();
                std::fs::write(&note, &buffer).unwrap();
                json!({})
            }
            "session/request_permission" => {
                asked.push(question["params"].clone());
                json!({ "outcome": { "outcome": "selected", "optionId": "once" } })
            }
            other => panic!("the agent asked for {other}"),
        };
        editor.write_all(answer(&question["id"], &result).as_bytes()).unwrap();
        answered.push(question["id"].clone());
    }
    let lines = run.lines();
    let ended = lines.iter().find(|line| line["id"] == 3 && line["method"].is_null()).unwrap();
    assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
    assert_eq!(world.read("note.txt"), "written, not saved\n");
    assert_eq!(asked.len(), 1, "{asked:?}");
    let diff = &asked[0]["toolCall"]["content"][0];
    assert_eq!(diff["type"], "diff", "{asked:?}");
    assert_eq!(diff["oldText"], "typed, not saved\n");
    assert_eq!(diff["newText"], "written, not saved\n");
    assert!(lines.iter().all(|line| line["jsonrpc"] == "2.0"), "only the protocol is on stdout");
    drop(editor);
    run.end().exits(0);

    // Another process finds the session by its id.
    let load = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
    let (run, editor) =
        open(world.innerve(["acp"]).model(&model), &json!({}), "session/load", &load);
    let told: Vec<Value> =
        run.lines().into_iter().map(|line| line["params"]["update"].clone()).collect();
    let kinds: Vec<&str> =
        told.iter().filter_map(|update| update["sessionUpdate"].as_str()).collect();
    assert_eq!(
        kinds,
        [
            "user_message_chunk",
            "tool_call",
            "tool_call_update",
            "tool_call",
            "tool_call_update",
            "agent_message_chunk"
        ]
    );
    drop(editor);
    run.end().exits(0);
}

#[test]
fn without_a_model_the_editor_is_told_how_to_connect_one() {
    let world = World::new();
    if !is_there(&world) {
        return;
    }
    let new = json!({ "cwd": world.work(""), "mcpServers": [] });
    let (run, editor) = open(world.innerve(["acp"]), &json!({}), "session/new", &new);
    drop(editor);
    let ended = run.end();
    ended.exits(0);
    let lines = ended.lines();
    let answer = lines.iter().find(|line| line["id"] == 2).unwrap();
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("ANTHROPIC_API_KEY"), "{answer}");
}
