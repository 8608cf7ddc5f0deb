//! `innerve analyze` and its JSON contract.

use innerve_tests::{Ended, World};
use serde_json::{Value, json};

fn lines(input: impl Into<Vec<u8>>) -> Ended {
    let world = World::new();
    world.innerve(["analyze", "--jsonl"]).input(input).run()
}

fn analyze(command: &str) -> Value {
    let ended = lines(format!("{}\n", json!({ "id": 1, "command": command, "cwd": "/repo" })));
    ended.exits(0);
    ended.json()
}

#[test]
fn a_line_with_a_wrapper_a_variable_and_a_redirection_is_answered_field_by_field() {
    let answer = analyze("git status && FOO=1 timeout 5 rm -rf \"$d\" > out.txt");
    assert_eq!(
        answer,
        json!({
            "id": 1, "status": "commands", "class": "write", "effects": ["read", "write", "delete"], "complete": true,
            "concurrency_safe": false, "opaque": null,
            "commands": [
                { "argv": ["git", "status"], "class": "read_only", "effects": ["read"], "span": [0, 10] },
                { "argv": ["timeout", "5", "rm", "-rf", null], "class": "write", "effects": ["write", "delete"],
                  "assignments": ["FOO"], "span": [14, 51] },
                { "argv": ["rm", "-rf", null], "class": "write", "effects": ["delete"], "unwrapped_from": ["timeout"], "span": [30, 41] },
            ],
            "writes": ["out.txt"], "reads": [], "deletes": [null],
        }),
        "{answer:#}"
    );
}

#[test]
fn what_cannot_be_read_is_opaque_with_a_code_and_a_place() {
    for command in ["ls \"", "eval \"$x\"", "$cmd a", "if true; then"] {
        let answer = analyze(command);
        assert_eq!(answer["status"], "opaque", "{answer:#}");
        assert_eq!(answer["class"], "unknown");
        let opaque = &answer["opaque"];
        assert!(opaque["code"].is_string() && opaque["message"].is_string(), "{answer:#}");
        assert_eq!(opaque["span"].as_array().map(Vec::len), Some(2));
        assert_eq!(answer["concurrency_safe"], false);
    }
}

#[test]
fn i5_the_commands_inside_commands_are_reported_with_their_place() {
    let answer = analyze("echo $(cat a) | (sort; rm b) & for x in 1 2; do touch c; done");
    let found: Vec<(String, Value)> = answer["commands"]
        .as_array()
        .unwrap()
        .iter()
        .map(|command| (command["argv"][0].as_str().unwrap().to_owned(), command["in"].clone()))
        .collect();
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    for name in ["echo", "cat", "sort", "rm", "touch"] {
        assert!(names.contains(&name), "{answer:#}");
    }
    let place = |name: &str| &found.iter().find(|(found, _)| found == name).unwrap().1;
    assert_eq!(place("cat"), "substitution");
    assert_eq!(place("touch"), "loop");
}

#[test]
fn every_line_is_answered_in_order_valid_or_not() {
    let mut input: Vec<u8> = Vec::new();
    for id in 0..500 {
        input.extend(format!("{{\"id\":{id},\"command\":\"cat file{id}\"}}\n").bytes());
    }
    input.extend(b"{\"id\":500,\"command\":7}\n{broken\n{\"id\":502,\"command\":\"\xff\"}\n\r\n{\"command\":\"ls\"}\n");
    let ended = lines(input);
    ended.exits(0);
    let answers = ended.lines();
    assert_eq!(answers.len(), 504, "{ended}");
    for (id, answer) in answers[..500].iter().enumerate() {
        assert_eq!(answer["id"], id);
        assert_eq!(answer["reads"], json!([format!("file{id}")]));
    }
    assert!(answers[500]["error"].is_string());
    assert_eq!(answers[500]["id"], 500);
    assert!(answers[501]["error"].is_string() && answers[502]["error"].is_string());
    assert_eq!(answers[503]["status"], "commands", "the id is optional");
}

#[test]
fn a_line_of_ten_megabytes_is_answered_as_opaque() {
    let command = format!("echo {}", "x ".repeat(5_000_000));
    let answer = analyze(&command);
    assert_eq!(answer["status"], "opaque");
}

#[test]
fn i8_a_line_without_an_end_takes_bounded_memory_and_the_next_one_is_answered() {
    let world = World::new();
    let mut input = vec![b'x'; 200_000_000];
    input.extend(b"\n{\"id\":2,\"command\":\"ls\"}\n");
    let mut run = world.innerve(["analyze", "--jsonl"]).input(input).with_open_input().start();
    run.wait_for_line("the second answer", |line| line["id"] == 2);
    let peak = run.peak_memory();
    assert!(peak < 150_000_000, "{peak} bytes");
    drop(run.say("\n"));
    let ended = run.end();
    ended.exits(0);
    assert!(ended.lines()[0]["error"].is_string(), "{ended}");
}

#[test]
fn a_person_gets_words_and_no_control_characters() {
    let world = World::new();
    let ended = world.innerve(["analyze", "git status && rm -rf build > log"]).run();
    ended.exits(0);
    for words in ["git status", "rm -rf build", "deletes build", "writes log"] {
        assert!(ended.stdout().contains(words), "`{words}`\n{ended}");
    }
    let ended = world.innerve(["analyze", "rm 'a\u{1b}[31mb'"]).run();
    ended.exits(0);
    assert!(ended.stdout().contains("opaque"), "{ended}");
    assert!(!ended.stdout().contains('\u{1b}'), "{ended}");
    let ended = world.innerve(["analyze", "--json", "ls"]).run();
    ended.exits(0);
    assert_eq!(ended.json()["class"], "read_only");
    assert!(ended.json().get("id").is_none());
}
