//! Chat Completions. The quirks of streams and the encoding of requests are tested where they are written.

use std::time::Duration;

use innerve_model::{Dialect, Endpoint, ErrorClass, Model as _, ModelError, OpenAi};
use innerve_protocol::{
    ContentBlock, Message, Role, StopReason, StreamEvent, ToolDefinition, ToolResult, ToolUse,
};
use serde_json::json;

use crate::server::{Reply, Server, asks, blocks, chat_response, chunk, collect, request};

fn model(server: &Server, dialect: Dialect) -> OpenAi {
    let endpoint = Endpoint::new(&server.url)
        .api_key("sk-test-key", "OPENAI_API_KEY")
        .idle_timeout(Duration::from_secs(2));
    OpenAi::new(endpoint, dialect).unwrap()
}

async fn failure(reply: Reply) -> ModelError {
    let server = Server::start([reply]).await;
    let (_, error) = collect(model(&server, Dialect::new()).stream(asks("hi"))).await;
    error.expect("the request fails")
}

#[tokio::test]
async fn a_response_is_whole_even_one_byte_at_a_time() {
    let script = [
        json!({"type": "text", "text": "grüße 🦀"}),
        json!({"type": "tool_use", "id": "call_1", "name": "Read", "input": {"path": "ä/🦀.rs"}}),
        json!({"type": "tool_use", "id": "call_2", "name": "Read", "input": {}}),
    ];
    let server =
        Server::start([Reply::stream(chat_response(&script, "tool_calls")).chunk(1)]).await;
    let (events, error) = collect(model(&server, Dialect::new()).stream(asks("hi"))).await;
    assert_eq!(error, None);
    assert_eq!(serde_json::to_value(blocks(&events)).unwrap(), json!(script));
    assert!(matches!(events.last(), Some(StreamEvent::Stop { reason: StopReason::ToolUse, .. })));
    let seen = &server.seen()[0];
    assert_eq!(seen.path, "/v1/chat/completions");
    assert_eq!(seen.header("authorization"), Some("Bearer sk-test-key"));
    assert_eq!(seen.body["stream_options"], json!({"include_usage": true}));
}

#[tokio::test]
async fn a_base_url_with_a_path_keeps_it() {
    let server = Server::start([Reply::stream(chat_response(&[], "stop"))]).await;
    let endpoint = Endpoint::new(format!("{}/openai/v4/", server.url));
    collect(OpenAi::new(endpoint, Dialect::new()).unwrap().stream(asks("hi"))).await;
    assert_eq!(server.seen()[0].path, "/openai/v4/chat/completions");
}

#[tokio::test]
async fn f28_a_made_up_id_is_used_by_the_tool_message() {
    let call = json!({"function": {"name": "Read", "arguments": "{}"}});
    let first = chunk(&json!({"choices": [{"delta": {"tool_calls": [call]}}]}))
        + &chunk(&json!({"choices": [{"finish_reason": "tool_calls"}]}));
    let server =
        Server::start([Reply::stream(first), Reply::stream(chat_response(&[], "stop"))]).await;
    let model = model(&server, Dialect::new().ids(|| "made_1".to_owned()));
    let (events, _) = collect(model.stream(asks("hi"))).await;
    let content = blocks(&events);
    let id = content[0].as_tool_use().unwrap().id.clone();
    let result = ContentBlock::ToolResult(ToolResult::ok(id, "fine"));
    let messages = vec![
        Message::user("hi"),
        Message::new(Role::Assistant, content),
        Message::new(Role::User, vec![result]),
    ];
    let (_, error) = collect(model.stream(request(messages))).await;
    assert_eq!(error, None);
    let sent = &server.seen()[1].body["messages"];
    assert_eq!(sent[1]["tool_calls"][0]["id"], "made_1");
    assert_eq!(sent[2]["tool_call_id"], "made_1");
}

#[tokio::test]
async fn refusals_have_their_class() {
    let quota = json!({"error": {"message": "You exceeded your current quota", "type": "insufficient_quota", "code": "insufficient_quota"}});
    let window = json!({"error": {"message": "This model's maximum context length is 8192 tokens", "code": "context_length_exceeded"}});
    let llama = json!({"error": {"code": 400, "message": "the request exceeds the available context size, try increasing it", "type": "exceed_context_size_error"}});
    let key = json!({"error": {"message": "Incorrect API key provided: sk-test-key", "code": "invalid_api_key"}});
    for (status, body, expected) in [
        (429, quota.to_string(), ErrorClass::Billing),
        (400, window.to_string(), ErrorClass::Overflow),
        (400, llama.to_string(), ErrorClass::Overflow),
        (401, key.to_string(), ErrorClass::Auth),
        (404, json!({"detail": "Not Found"}).to_string(), ErrorClass::NotFound),
        (400, json!([{"error": {"message": "bad"}}]).to_string(), ErrorClass::Invalid),
        (500, json!({"error": "boom"}).to_string(), ErrorClass::Server),
        (503, "upstream connect error".to_owned(), ErrorClass::Server),
    ] {
        let error = failure(Reply::error(status, body)).await;
        assert_eq!(error.class(), expected, "{error}");
        assert!(!error.message().contains("sk-test-key"));
        if expected == ErrorClass::Auth {
            assert!(error.message().contains("set OPENAI_API_KEY"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_body_that_ends_before_the_finish_reason_is_truncated() {
    let body = chat_response(&[json!({"type": "text", "text": "hello"})], "stop");
    let text_only = body[..body.find("finish_reason").unwrap()].to_owned();
    assert_eq!(failure(Reply::stream(text_only.clone())).await.class(), ErrorClass::Truncated);
    assert_eq!(failure(Reply::stream(text_only).then_reset()).await.class(), ErrorClass::Transport);
    // A server that never says `[DONE]`, or breaks off or stalls instead, has said enough.
    let no_done = body.replace("data: [DONE]\n\n", "");
    for reply in [
        Reply::stream(no_done.clone()),
        Reply::stream(no_done.clone()).then_cut(),
        Reply::stream(no_done).then_stall(),
    ] {
        let server = Server::start([reply]).await;
        let (events, error) = collect(model(&server, Dialect::new()).stream(asks("hi"))).await;
        assert_eq!((blocks(&events), error), (vec![ContentBlock::text("hello")], None));
    }
}

#[tokio::test]
async fn q12_a_printed_call_is_salvaged_over_the_wire() {
    let text = r#"<tool_call>{"name": "Read", "arguments": {"p": 1}}</tool_call>"#;
    let server = Server::start([Reply::stream(chat_response(
        &[json!({"type": "text", "text": text})],
        "stop",
    ))])
    .await;
    let mut asked = asks("hi");
    asked.tools = vec![ToolDefinition::new("Read", "", json!({"type": "object"}))];
    let dialect = Dialect::new().salvage_text().ids(|| "made_1".to_owned());
    let (events, _) = collect(model(&server, dialect).stream(asked)).await;
    assert_eq!(
        blocks(&events),
        [ContentBlock::ToolUse(ToolUse::new("made_1", "Read", json!({"p": 1})))]
    );
}
