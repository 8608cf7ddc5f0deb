//! The tests themselves: none is forgotten, and the model server is as strict as it says.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use innerve_tests::{Wire, World, reply};
use serde_json::{Value, json};

#[test]
fn no_test_file_is_forgotten() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("e2e");
    let main = fs::read_to_string(folder.join("main.rs")).unwrap();
    let declared: BTreeSet<String> = main
        .lines()
        .filter_map(|line| Some(line.strip_prefix("mod ")?.strip_suffix(';')?.to_owned()))
        .collect();
    let files: BTreeSet<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| Some(name.strip_suffix(".rs")?.to_owned()))
        .filter(|name| name != "main")
        .collect();
    assert_eq!(declared, files, "main.rs names each file once");
}

#[test]
fn the_program_under_test_is_the_one_that_says_its_version() {
    let world = World::new();
    let ended = world.innerve(["--version"]).run();
    ended.exits(0);
    assert!(ended.stdout().starts_with("innerve "), "{ended}");
}

/// Asks a model server as a program would, with this conversation; gives the status and whether the test would fail.
fn ask(wire: Wire, messages: &Value) -> (String, bool) {
    let world = World::new();
    let model = world.model(wire, [reply().text("Fine.")]);
    let body = json!({ "model": "m", "max_tokens": 100, "stream": true, "messages": messages })
        .to_string();
    let (path, key) = match wire {
        Wire::Anthropic => {
            ("/v1/messages", format!("x-api-key: {}\r\nanthropic-version: 2023-06-01", model.key()))
        }
        Wire::OpenAi => ("/v1/chat/completions", format!("authorization: Bearer {}", model.key())),
    };
    let mut stream = TcpStream::connect(model.address()).unwrap();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: localhost\r\n{key}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().to_owned();
    let failed = catch_unwind(AssertUnwindSafe(|| drop(model))).is_err();
    (status, failed)
}

#[test]
fn the_model_server_takes_a_valid_conversation_and_refuses_a_broken_one() {
    let fine = ("200".to_owned(), false);
    let refused = ("400".to_owned(), true);
    let use_of = |id: &str| json!({ "type": "tool_use", "id": id, "name": "Read", "input": {} });
    let result_of = |id: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": "x" });
    let ask_for = |blocks: Value, answer: Value| {
        ask(
            Wire::Anthropic,
            &json!([
                { "role": "user", "content": "go" },
                { "role": "assistant", "content": blocks },
                { "role": "user", "content": answer },
            ]),
        )
    };
    assert_eq!(ask_for(json!([use_of("a")]), json!([result_of("a")])), fine);
    let text = json!({ "type": "text", "text": "and" });
    for (blocks, answer) in [
        (json!([use_of("a")]), json!("no result")),
        (json!([use_of("a"), use_of("b")]), json!([result_of("a")])),
        (json!([use_of("a")]), json!([text, result_of("a")])),
        (json!([use_of("a")]), json!([result_of("b")])),
        (json!([use_of("a"), use_of("a")]), json!([result_of("a")])),
        (json!([use_of("a")]), json!([result_of("a"), result_of("a")])),
        (json!([use_of("a b")]), json!([result_of("a b")])),
        (json!([{ "type": "text", "text": "" }]), json!("x")),
        (json!([{ "type": "text", "text": " \n" }]), json!("x")),
        (json!([]), json!("x")),
    ] {
        assert_eq!(ask_for(blocks.clone(), answer.clone()), refused, "{blocks} {answer}");
    }
    let call =
        json!({ "id": "a", "type": "function", "function": { "name": "Read", "arguments": "{}" } });
    let chat = |answer: Value| {
        let asked = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
        ask(Wire::OpenAi, &json!([{ "role": "user", "content": "go" }, asked, answer]))
    };
    assert_eq!(chat(json!({ "role": "tool", "tool_call_id": "a", "content": "x" })), fine);
    assert_eq!(chat(json!({ "role": "tool", "tool_call_id": "b", "content": "x" })), refused);
    assert_eq!(chat(json!({ "role": "user", "content": "x" })), refused);
}

#[test]
fn a_script_that_is_not_played_to_its_end_fails_the_test() {
    let world = World::new();
    let model = world.model(Wire::Anthropic, [reply().text("Nobody asks for this.")]);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(model))).is_err());
}
