//! Anthropic's Messages API.

use std::time::Duration;

use innerve_model::{Anthropic, Endpoint, ErrorClass, Model as _, ModelError};
use innerve_protocol::{ContentBlock, Message, Role, StopReason, StreamEvent, Thinking, ToolUse};
use serde_json::{Value, json};

use crate::server::{
    Reply, Server, asks, block_events, blocks, collect, event, messages_response, request,
};

fn model(server: &Server) -> Anthropic {
    let endpoint = Endpoint::new(&server.url).api_key("sk-test-key", "ANTHROPIC_API_KEY");
    Anthropic::new(endpoint).unwrap()
}

async fn failure(reply: Reply) -> ModelError {
    let server = Server::start([reply]).await;
    let (_, error) = collect(model(&server).stream(asks("hi"))).await;
    error.expect("the request fails")
}

#[tokio::test]
async fn a_response_is_whole_even_one_byte_at_a_time() {
    let script = [
        json!({"type": "thinking", "thinking": "hm 漢字", "signature": "c2ln"}),
        json!({"type": "text", "text": "grüße 🦀 zurück"}),
        json!({"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "ä/🦀.rs", "n": [1, 2]}}),
    ];
    let body = format!("\u{feff}: hello\n\n{}", messages_response(&script, "tool_use"));
    for (size, body) in
        [(1, body.clone()), (1, body.replace('\n', "\r\n")), (5, body.replace('\n', "\r"))]
    {
        let server = Server::start([Reply::stream(body).chunk(size)]).await;
        let (events, error) = collect(model(&server).stream(asks("hi"))).await;
        assert_eq!(error, None);
        assert_eq!(serde_json::to_value(blocks(&events)).unwrap(), json!(script));
        assert!(
            matches!(&events[0], StreamEvent::Start { id, model, .. } if id == "msg_1" && model == "m")
        );
        assert_eq!(events.iter().filter(|event| **event == StreamEvent::Ping).count(), 3);
        let usage = events.iter().rev().find_map(|event| match event {
            StreamEvent::Usage(usage) => Some((usage.input_tokens, usage.output_tokens)),
            _ => None,
        });
        assert_eq!(usage, Some((Some(10), Some(20))));
        assert!(matches!(
            events.last(),
            Some(StreamEvent::Stop { reason: StopReason::ToolUse, .. })
        ));
    }
}

#[tokio::test]
async fn the_request_is_what_the_api_wants() {
    let server =
        Server::start((0..3).map(|_| Reply::stream(messages_response(&[], "end_turn")))).await;
    let mut asked = asks("hi");
    asked.thinking = Some(Thinking::Adaptive { display: None });
    asked.extra.insert("metadata".to_owned(), json!({"user_id": "u"}));
    let endpoint = Endpoint::new(format!("{}/v1/", server.url))
        .api_key(" sk-test-key\n", "ANTHROPIC_API_KEY")
        .header("anthropic-beta", "a,b");
    collect(Anthropic::new(endpoint).unwrap().stream(asked)).await;
    let bearer = Endpoint::new(&server.url).bearer("token", "ANTHROPIC_AUTH_TOKEN");
    collect(Anthropic::new(bearer).unwrap().stream(asks("hi"))).await;
    collect(Anthropic::new(Endpoint::new(&server.url)).unwrap().stream(asks("hi"))).await;

    let seen = server.seen();
    assert_eq!(seen[0].path, "/v1/messages");
    assert_eq!(
        seen[0].body,
        json!({"model": "m", "max_tokens": 8000, "thinking": {"type": "adaptive"},
            "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
            "metadata": {"user_id": "u"}, "stream": true})
    );
    for (name, value) in [
        ("x-api-key", "sk-test-key"),
        ("anthropic-version", "2023-06-01"),
        ("anthropic-beta", "a,b"),
        ("content-type", "application/json"),
    ] {
        assert_eq!(seen[0].header(name), Some(value));
    }
    assert_eq!(seen[0].header("authorization"), None);
    assert!(seen[0].header("x-client-request-id") != seen[1].header("x-client-request-id"));
    assert_eq!(seen[1].header("authorization"), Some("Bearer token"));
    assert_eq!(seen[1].header("x-api-key"), None);
    assert_eq!((seen[2].header("authorization"), seen[2].header("x-api-key")), (None, None));
}

#[tokio::test]
async fn f23_refusals_have_their_class_and_are_asked_once() {
    for (status, kind, message, expected) in [
        (400, "invalid_request_error", "max_tokens: too small", ErrorClass::Invalid),
        (
            400,
            "invalid_request_error",
            "prompt is too long: 250000 tokens > 200000 maximum",
            ErrorClass::Overflow,
        ),
        (401, "authentication_error", "invalid x-api-key", ErrorClass::Auth),
        (404, "not_found_error", "model: m", ErrorClass::NotFound),
        (429, "rate_limit_error", "slow down", ErrorClass::RateLimit),
        (500, "api_error", "oops", ErrorClass::Server),
        (529, "overloaded_error", "Overloaded", ErrorClass::Overloaded),
    ] {
        let server =
            Server::start([Reply::api_error(status, kind, message).header("retry-after", "7")])
                .await;
        let (events, error) = collect(model(&server).stream(asks("hi"))).await;
        let error = error.unwrap();
        assert_eq!((error.class(), error.http_status()), (expected, Some(status)));
        assert_eq!((error.kind(), error.request_id()), (Some(kind), Some("req_1")));
        assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
        assert!(error.message().contains(message), "{error}");
        assert_eq!((events.len(), server.seen().len()), (0, 1));
    }
}

#[tokio::test]
async fn an_overflow_tells_its_numbers() {
    let message = "input length and `max_tokens` exceed context limit: 188000 + 20000 > 200000, decrease input length";
    let error = failure(Reply::api_error(400, "invalid_request_error", message)).await;
    let overflow = error.overflow().unwrap();
    assert_eq!(
        (overflow.input, overflow.max_tokens, overflow.limit),
        (188_000, Some(20_000), 200_000)
    );
}

#[tokio::test]
async fn bodies_that_are_no_json_are_told_in_part() {
    let page = format!("<html>\n{}</html>", "bad gateway ".repeat(10_000));
    let error = failure(Reply::error(502, page)).await;
    assert_eq!(error.class(), ErrorClass::Server);
    assert!(error.message().contains("<html> bad gateway") && error.message().len() <= 1024);
    let error = failure(Reply::error(503, "").then_cut()).await;
    assert_eq!(error.class(), ErrorClass::Server);
}

#[tokio::test]
async fn the_key_is_in_no_message_even_if_the_server_repeats_it() {
    let error =
        failure(Reply::api_error(401, "authentication_error", "bad key sk-test-key!")).await;
    assert!(!format!("{error} {error:?}").contains("sk-test-key"), "{error}");
    assert!(error.message().contains("set ANTHROPIC_API_KEY"), "{error}");
    let error = failure(Reply::error(500, "sk-test-key")).await;
    assert!(!format!("{error:?}").contains("sk-test-key"));
}

#[tokio::test]
async fn an_answer_that_is_no_stream_is_refused_in_words() {
    let reply = Reply::error(200, json!({"type": "message", "message": "hello"}).to_string());
    let error = failure(reply.header("content-type", "application/json")).await;
    assert_eq!(error.class(), ErrorClass::Invalid);
    assert!(error.message().contains("HTTP 200"), "{error}");
}

#[tokio::test]
async fn transcripts_that_break_the_rules_are_refused() {
    let tool_use = ContentBlock::ToolUse(ToolUse::new("a", "Read", json!({})));
    let broken = vec![
        Message::user("hi"),
        Message::new(Role::Assistant, vec![tool_use]),
        Message::user("no result"),
    ];
    let server = Server::start([Reply::stream(messages_response(&[], "end_turn"))]).await;
    let (_, error) = collect(model(&server).stream(request(broken))).await;
    assert_eq!(error.unwrap().class(), ErrorClass::Invalid);
}

#[tokio::test]
async fn an_error_inside_the_stream_has_its_class() {
    let start =
        messages_response(&[], "end_turn").split_inclusive("\n\n").next().unwrap().to_owned();
    let error =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let error = failure(Reply::stream(start + &event(&error))).await;
    assert_eq!((error.class(), error.request_id()), (ErrorClass::Overloaded, Some("req_1")));
}

/// A response's events up to where `cut` begins.
fn cut_before(cut: &str) -> String {
    let body = messages_response(&[json!({"type": "text", "text": "hello"})], "end_turn");
    let end = body.find(cut).unwrap();
    body[..end].to_owned()
}

#[tokio::test]
async fn a_body_that_ends_early_is_truncated() {
    for cut in ["event: content_block_start", "event: content_block_stop", "event: message_delta"] {
        let error = failure(Reply::stream(cut_before(cut))).await;
        assert_eq!((error.class(), error.code()), (ErrorClass::Truncated, "stream_truncated"));
    }
    for reply in [
        Reply::stream(cut_before("event: message_delta")).then_cut(),
        Reply::stream(cut_before("event: message_delta")).then_reset(),
    ] {
        let error = failure(reply).await;
        assert_eq!(error.class(), ErrorClass::Transport);
        assert!(error.is_retryable());
    }
}

#[tokio::test]
async fn only_the_last_event_may_be_missing() {
    let body = cut_before("event: message_stop");
    for reply in [
        Reply::stream(body.clone()),
        Reply::stream(body.clone()).then_cut(),
        Reply::stream(body).then_reset(),
    ] {
        let server = Server::start([reply]).await;
        let (events, error) = collect(model(&server).stream(asks("hi"))).await;
        assert_eq!(error, None);
        assert_eq!(blocks(&events), [ContentBlock::text("hello")]);
    }
}

#[tokio::test]
async fn nonsense_is_malformed() {
    for data in ["data: {\"type\":\"content_block_start\"}\n\n", "data: {oops\n\n"] {
        assert_eq!(failure(Reply::stream(data)).await.class(), ErrorClass::Malformed);
    }
}

#[tokio::test]
async fn a_block_is_told_when_it_is_complete_and_not_later() {
    use futures_util::StreamExt as _;
    let start =
        messages_response(&[], "end_turn").split_inclusive("\n\n").next().unwrap().to_owned();
    let block = json!({"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"a": 1}});
    let server =
        Server::start([Reply::stream(start + &block_events(0, &block)).then_stall()]).await;
    let mut events = model(&server).stream(asks("hi"));
    let mut done = false;
    while let Some(Ok(event)) = events.next().await {
        done |= matches!(event, StreamEvent::BlockDone { .. });
        if done {
            break;
        }
    }
    assert!(done);
}

/// Replies to one request after another of `thinking`, and gives back the kinds of thinking that were sent.
async fn thinking_sent(
    thinking: Thinking,
    refusals: &[&str],
) -> (Vec<Value>, Option<ErrorClass>, (bool, bool)) {
    let refusals = refusals.iter().map(|text| Reply::api_error(400, "invalid_request_error", text));
    let answer = || Reply::stream(messages_response(&[], "end_turn"));
    let server = Server::start(refusals.chain([answer(), answer()])).await;
    let model = model(&server);
    let mut asked = asks("hi");
    asked.thinking = Some(thinking);
    let (_, error) = collect(model.stream(asked.clone())).await;
    collect(model.stream(asked)).await;
    let sent = server.seen().iter().map(|seen| seen.body["thinking"].clone()).collect();
    let capabilities = model.capabilities("m");
    (
        sent,
        error.map(|error| error.class()),
        (capabilities.thinking_enabled, capabilities.thinking_adaptive),
    )
}

#[tokio::test]
async fn f23_a_refused_kind_of_thinking_is_replaced_once_and_remembered() {
    let enabled = || Thinking::Enabled { budget_tokens: 2000, display: None };
    let no_enabled = "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\".";
    let (sent, error, kinds) = thinking_sent(enabled(), &[no_enabled]).await;
    assert_eq!(
        sent,
        [
            json!({"type": "enabled", "budget_tokens": 2000}),
            json!({"type": "adaptive"}),
            json!({"type": "adaptive"}),
        ]
    );
    assert_eq!((error, kinds), (None, (false, true)));

    let no_adaptive = "adaptive thinking is not supported on this model";
    let (sent, error, kinds) =
        thinking_sent(Thinking::Adaptive { display: None }, &[no_adaptive]).await;
    assert_eq!(
        sent[1..],
        [
            json!({"type": "enabled", "budget_tokens": 4000}),
            json!({"type": "enabled", "budget_tokens": 4000})
        ]
    );
    assert_eq!((error, kinds), (None, (true, false)));

    let (sent, error, _) = thinking_sent(
        Thinking::Disabled,
        &["thinking: `disabled` is not supported for this model"],
    )
    .await;
    assert_eq!(sent, [json!({"type": "disabled"}), Value::Null, Value::Null]);
    assert_eq!(error, None);

    // The second refusal of one request is told; the next request has learned from both.
    let (sent, error, kinds) = thinking_sent(enabled(), &[no_enabled, no_adaptive]).await;
    assert_eq!((sent.len(), sent[2].clone()), (3, json!({"type": "adaptive"})));
    assert_eq!((error, kinds), (Some(ErrorClass::Invalid), (false, true)));

    let (sent, error, kinds) =
        thinking_sent(enabled(), &["thinking.budget_tokens: too small"]).await;
    assert_eq!((sent.len(), error, kinds), (2, Some(ErrorClass::Invalid), (true, true)));
}
