//! Servers that cut, stall, refuse and overload.

use std::net::TcpListener;
use std::time::Duration;

use innerve_tests::{How, Wire, World, reply};
use serde_json::json;

const BOTH: [How; 2] = [How::Cleanly, How::ByReset];

#[test]
fn a_call_that_was_cut_in_its_arguments_never_runs_and_the_request_is_sent_again() {
    for wire in Wire::BOTH {
        for how in BOTH {
            let world = World::new();
            let input = json!({ "command": "touch ran.txt; touch ran2.txt", "description": "x" });
            let model = world
                .model(wire, [reply().begins("Bash", input).cut(how), reply().text("Whole now.")]);
            let ended = world
                .innerve(["run", "go", "--permission-mode", "bypassPermissions"])
                .model(&model)
                .run();
            ended.exits(0).complains(["trying again"]);
            assert_eq!(ended.stdout(), "Whole now.\n", "{wire:?} {how:?}");
            assert!(!world.has("ran.txt") && !world.has("ran2.txt"), "{wire:?} {how:?}");
            let seen = model.seen();
            assert_eq!(
                seen[0].body["messages"], seen[1].body["messages"],
                "the same is asked again"
            );
        }
    }
}

#[test]
fn a_call_that_was_complete_before_the_cut_runs_once() {
    for wire in Wire::BOTH {
        for how in BOTH {
            let world = World::new();
            let append = json!({ "command": "echo ran >> ran.txt" });
            let second = json!({ "command": "echo second >> ran.txt" });
            let model = world.model(
                wire,
                [
                    reply().uses("Bash", append).begins("Bash", second).cut(how),
                    reply().text("I see."),
                ],
            );
            let ended = world
                .innerve(["run", "go", "--permission-mode", "bypassPermissions"])
                .model(&model)
                .run();
            ended.exits(0);
            assert_eq!(world.read("ran.txt"), "ran\n", "{wire:?} {how:?}");
            assert_eq!(model.request(1).results().len(), 1, "{wire:?} {how:?}");
        }
    }
}

#[test]
fn a_text_that_was_cut_is_either_asked_for_again_or_gone_on_with() {
    for wire in Wire::BOTH {
        let world = World::new();
        let model = world.model(
            wire,
            [reply().text("The answer is").cut(How::ByReset), reply().text("The answer is 42.")],
        );
        let ended = world.innerve(["run", "go"]).model(&model).run();
        ended.exits(0);
        assert!(ended.stdout().contains("The answer is 42."), "{ended}");
    }
}

#[test]
fn a_server_that_is_busy_or_broken_is_asked_again() {
    for wire in Wire::BOTH {
        let world = World::new();
        let model = world.model(
            wire,
            [
                reply().fails(429, "rate_limit_error", "Slow down.").header("retry-after", "1"),
                reply().fails(500, "api_error", "Internal server error"),
                reply().text("At last."),
            ],
        );
        let ended = world.innerve(["run", "go"]).model(&model).run();
        ended.exits(0).complains(["trying again"]);
        assert_eq!(ended.stdout(), "At last.\n");
        let seen = model.seen();
        let waited = seen[1].at - seen[0].at;
        assert!(waited >= Duration::from_millis(950), "`retry-after` is obeyed: {waited:?}");
        assert!(waited < Duration::from_secs(5), "{waited:?}");
    }
}

#[test]
fn an_overloaded_server_is_asked_again() {
    let world = World::new();
    let model = world.model(
        Wire::Anthropic,
        [reply().fails(529, "overloaded_error", "Overloaded"), reply().text("At last.")],
    );
    let ended = world.innerve(["run", "go", "--output", "stream-json"]).model(&model).run();
    ended.exits(0);
    let lines = ended.lines();
    let retry = lines.iter().find(|line| line["subtype"] == "retry").expect("the retry is told");
    assert_eq!(retry["type"], "system");
}

#[test]
fn an_overloaded_model_is_replaced_by_the_one_that_was_named_for_it() {
    let world = World::new();
    let overloaded = || reply().fails(529, "overloaded_error", "Overloaded");
    let model = world.model(
        Wire::Anthropic,
        [overloaded(), overloaded(), overloaded(), reply().text("From the other one.")],
    );
    let ended = world
        .innerve([
            "run",
            "go",
            "--model",
            "claude-sonnet-4-5",
            "--fallback-model",
            "claude-haiku-4-5",
        ])
        .model(&model)
        .run();
    ended.exits(0).complains(["claude-sonnet-4-5 is overloaded", "claude-haiku-4-5 answers"]);
    assert_eq!(ended.stdout(), "From the other one.\n");
    let models: Vec<_> = model.seen().iter().map(|seen| seen.body["model"].clone()).collect();
    assert_eq!(
        models[..3],
        [json!("claude-sonnet-4-5"), json!("claude-sonnet-4-5"), json!("claude-sonnet-4-5")]
    );
    assert_eq!(models[3], "claude-haiku-4-5");
}

#[test]
fn a_conversation_that_does_not_fit_is_compacted_and_the_task_is_done() {
    for wire in Wire::BOTH {
        let world = World::new();
        world.write("a.txt", "the content");
        let (kind, words) = match wire {
            Wire::Anthropic => {
                ("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")
            }
            Wire::OpenAi => (
                "context_length_exceeded",
                "This model's maximum context length is 128000 tokens. However, your messages resulted in 210000 tokens.",
            ),
        };
        let read = json!({ "file_path": "a.txt" });
        let model = world.model(
            wire,
            [
                reply().uses("Read", read),
                reply().fails(400, kind, words),
                reply().text("SUMMARY"),
                reply().text("Done."),
            ],
        );
        let ended = world.innerve(["run", "go"]).model(&model).run();
        ended.exits(0).complains(["the conversation was compacted"]);
        assert_eq!(ended.stdout(), "Done.\n", "{wire:?}");
        let last = model.request(3).body.to_string();
        // The result that was being looked at stays, and the file is read again as it is now.
        assert!(last.contains("SUMMARY") && last.contains("as it is now"), "{last}");
        assert_eq!(model.request(3).results().len(), 1, "{wire:?}");
    }
}

#[test]
fn a_told_context_window_says_when_to_compact_and_how_long_an_answer_may_be() {
    for wire in Wire::BOTH {
        let world = World::new();
        world.write("a.txt", "a line of some ordinary text\n".repeat(1_000));
        let read = json!({ "file_path": "a.txt" });
        let model = world.model(
            wire,
            [reply().uses("Read", read), reply().text("SUMMARY"), reply().text("Done.")],
        );
        let ended = world.innerve(["run", "go", "--context-window", "12000"]).model(&model).run();
        ended.exits(0).complains(["the conversation was compacted"]);
        assert_eq!(ended.stdout(), "Done.\n", "{wire:?}");
        for seen in model.seen() {
            let limit = ["max_tokens", "max_completion_tokens"]
                .iter()
                .find_map(|field| seen.body[*field].as_u64());
            assert!(limit.is_some_and(|limit| limit <= 3_000), "{wire:?}: {limit:?}");
        }
    }
}

#[test]
fn a_wrong_key_is_told_with_the_variable_to_set_and_is_never_printed() {
    for (wire, variable) in
        [(Wire::Anthropic, "ANTHROPIC_API_KEY"), (Wire::OpenAi, "OPENAI_API_KEY")]
    {
        let world = World::new();
        let model = world.model(
            wire,
            [reply().fails(401, "authentication_error", "invalid x-api-key sk-test-0123456789")],
        );
        let ended = world.innerve(["run", "go"]).model(&model).run();
        ended.exits(1).complains([variable]);
        assert!(!format!("{ended}").contains(model.key()), "{ended}");
        for log in world.find("log.jsonl") {
            assert!(!std::fs::read_to_string(log).unwrap().contains(model.key()));
        }
    }
}

#[test]
fn a_request_that_is_refused_is_not_repeated_and_the_reason_is_told() {
    for wire in Wire::BOTH {
        for (status, kind) in
            [(400, "invalid_request_error"), (403, "permission_error"), (404, "not_found_error")]
        {
            let world = World::new();
            let model = world.model(wire, [reply().fails(status, kind, "the reason in words")]);
            let ended = world.innerve(["run", "go", "--output", "json"]).model(&model).run();
            ended.exits(1).complains(["the reason in words"]);
            assert_eq!(ended.json()["terminal"], "model_error");
        }
    }
}

#[test]
fn an_error_page_that_is_no_json_is_told_in_one_line() {
    let world = World::new();
    let page = format!("<html><body>{}Forbidden by proxy</body></html>", "<p>x</p>".repeat(20_000));
    let model = world.model(Wire::Anthropic, [reply().fails_with(403, &page)]);
    let ended = world.innerve(["run", "go"]).model(&model).run();
    ended.exits(1).complains(["403"]);
    assert!(ended.stderr().len() < 4_000, "{} bytes", ended.stderr().len());
}

#[test]
fn a_page_in_place_of_a_stream_is_an_error_not_an_answer() {
    let world = World::new();
    let model = world.model(
        Wire::OpenAi,
        [reply()
            .fails_with(200, "<html>Welcome to the hotel's network</html>")
            .header("content-type", "text/html")],
    );
    let ended = world.innerve(["run", "go"]).model(&model).run();
    ended.exits(1).complains(["hotel"]);
    assert_eq!(ended.stdout(), "");
}

#[test]
fn a_server_that_is_not_there_or_not_known_is_tried_again_until_the_user_stops_it() {
    // A port that was free a moment ago, and a name that no name server may know (RFC 2606).
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for address in [format!("http://127.0.0.1:{port}"), "http://innerve.invalid".to_owned()] {
        let world = World::new();
        let run = world
            .innerve(["run", "go"])
            .env("ANTHROPIC_API_KEY", "sk-test")
            .env("ANTHROPIC_BASE_URL", address)
            .start();
        run.wait_for_words("trying again");
        run.signal(rustix::process::Signal::INT);
        run.end().exits(130);
    }
}
