//! Tests of writing requests for Chat Completions.

use innerve_protocol::{ImageBlock, SystemBlock, ToolReference};
use serde_json::json;

use super::*;

fn request(messages: Vec<Message>) -> Request {
    Request::new("m", 100, messages.into_iter().map(Into::into).collect())
}

/// The whole body as a server reads it.
fn encode(request: &Request, dialect: &Dialect) -> Value {
    let body = crate::openai::body::Written::default().write(request, dialect).unwrap();
    serde_json::from_slice(&body).unwrap()
}

fn image() -> ContentBlock {
    let source =
        ImageSource::Base64 { media_type: "image/png".to_owned(), data: "AAAA".to_owned() };
    ContentBlock::Image(ImageBlock { source, cache_control: None, extra: Map::new() })
}

fn calls(ids: &[&str]) -> Message {
    let call = |id: &&str| ContentBlock::ToolUse(ToolUse::new(*id, "Read", json!({"p": id})));
    Message::new(Role::Assistant, ids.iter().map(call).collect())
}

fn results(results: Vec<ToolResult>) -> Message {
    Message::new(Role::User, results.into_iter().map(ContentBlock::ToolResult).collect())
}

#[track_caller]
fn check(messages: Vec<Message>, expected: &Value) {
    let body = encode(&request(messages), &Dialect::new());
    assert_eq!(body["messages"], *expected);
}

#[test]
fn a_request_has_the_fields_that_servers_want() {
    let mut request = request(vec![Message::user("hi")]);
    request.system = vec![SystemBlock::new("a"), SystemBlock::new("b")];
    request.tools = vec![ToolDefinition::new("Read", "reads", json!({"type": "object"}))];
    request.tool_choice = Some(ToolChoice::Auto { disable_parallel_tool_use: true });
    request.stop_sequences = vec!["END".to_owned()];
    request.extra.insert("temperature".to_owned(), json!(0.5));
    request.extra.insert("metadata".to_owned(), json!({"user_id": "u"}));
    assert_eq!(
        encode(&request, &Dialect::new()),
        json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": "a\n\nb"},
                {"role": "user", "content": "hi"},
            ],
            "tools": [{"type": "function", "function": {
                "name": "Read", "description": "reads", "parameters": {"type": "object"}}}],
            "tool_choice": "auto",
            "parallel_tool_calls": false,
            "max_tokens": 100,
            "stop": ["END"],
            "temperature": 0.5,
            "stream": true,
            "stream_options": {"include_usage": true},
        })
    );
}

#[test]
fn a_dialect_changes_the_fields_it_names() {
    let mut request = request(vec![calls(&["toolu_1"])]);
    request.tools = vec![ToolDefinition::new("Read", "", json!({}))];
    let dialect = Dialect::new()
        .max_completion_tokens()
        .without_usage()
        .empty_content()
        .parallel_tool_calls(true)
        .field("reasoning_effort", "low");
    let body = encode(&request, &dialect);
    assert_eq!(body["max_completion_tokens"], 100);
    assert_eq!(body.get("max_tokens"), None);
    assert_eq!(body.get("stream_options"), None);
    assert_eq!(body["parallel_tool_calls"], true);
    assert_eq!(body["reasoning_effort"], "low");
    assert_eq!(body["messages"][0]["content"], "");
}

#[test]
fn choices_of_tools_have_their_words() {
    for (choice, expected) in [
        (ToolChoice::Any { disable_parallel_tool_use: false }, json!("required")),
        (ToolChoice::None, json!("none")),
        (
            ToolChoice::Tool { name: "Read".to_owned(), disable_parallel_tool_use: false },
            json!({"type": "function", "function": {"name": "Read"}}),
        ),
    ] {
        let mut request = request(Vec::new());
        request.tool_choice = Some(choice);
        assert_eq!(
            encode(&request, &Dialect::new()).get("tool_choice"),
            None,
            "there are no tools"
        );
        request.tools = vec![ToolDefinition::new("Read", "", json!({}))];
        assert_eq!(encode(&request, &Dialect::new())["tool_choice"], expected);
    }
}

#[test]
fn results_are_messages_in_the_order_of_the_calls() {
    check(
        vec![
            calls(&["a", "b"]),
            results(vec![
                ToolResult::error("b".into(), "no such file"),
                ToolResult::ok("a".into(), "fine"),
            ]),
        ],
        &json!([
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "Read", "arguments": "{\"p\":\"a\"}"}},
                {"id": "b", "type": "function", "function": {"name": "Read", "arguments": "{\"p\":\"b\"}"}},
            ]},
            {"role": "tool", "tool_call_id": "a", "content": "fine"},
            {"role": "tool", "tool_call_id": "b", "content": "Error: no such file"},
        ]),
    );
}

#[test]
fn an_error_that_says_so_is_not_said_twice_and_nothing_is_not_empty() {
    let error = |text: &str| ToolResult::error("a".into(), text);
    for (result, expected) in [
        (error("Error: gone"), "Error: gone"),
        (error("<tool_use_error>gone</tool_use_error>"), "<tool_use_error>gone</tool_use_error>"),
        (error(""), "Error: "),
        (ToolResult::ok("a".into(), ""), "(no output)"),
        (ToolResult::ok("a".into(), ToolResultContent::Absent), "(no output)"),
    ] {
        let body = encode(&request(vec![calls(&["a"]), results(vec![result])]), &Dialect::new());
        assert_eq!(body["messages"][1]["content"], expected);
    }
}

#[test]
fn f32_an_image_in_a_result_comes_in_a_user_message_after_it() {
    let content = vec![ContentBlock::text("a picture"), image()];
    let mut answer = results(vec![
        ToolResult::ok("a".into(), content),
        ToolResult::ok("b".into(), vec![image()]),
    ]);
    answer.content.push(ContentBlock::text("what is it?"));
    let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
    let body = encode(&request(vec![calls(&["a", "b"]), answer]), &Dialect::new());
    assert_eq!(
        body["messages"][1],
        json!({"role": "tool", "tool_call_id": "a", "content": "a picture"})
    );
    assert_eq!(
        body["messages"][2],
        json!({"role": "tool", "tool_call_id": "b", "content": "(see the next message)"})
    );
    assert_eq!(
        body["messages"][3],
        json!({"role": "user", "content": [
            {"type": "text", "text": "From the result of Read (a):"},
            picture,
            {"type": "text", "text": "From the result of Read (b):"},
            picture,
            {"type": "text", "text": "what is it?"},
        ]})
    );
    assert_eq!(body["messages"].as_array().unwrap().len(), 4);
}

#[test]
fn thinking_and_server_blocks_are_left_out() {
    let blocks = json!([
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
        {"type": "text", "text": "a"},
    ]);
    let thinking = json!([{"type": "thinking", "thinking": "hm", "signature": "s"}]);
    let assistant =
        |blocks: Value| Message::new(Role::Assistant, serde_json::from_value(blocks).unwrap());
    check(
        vec![assistant(blocks), assistant(thinking)],
        &json!([{"role": "assistant", "content": "a"}]),
    );
}

#[test]
fn documents_are_text_or_a_note() {
    let blocks = json!([
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}},
    ]);
    check(
        vec![Message::new(Role::User, serde_json::from_value(blocks).unwrap())],
        &json!([{"role": "user", "content": "words\n\n[a block of type document is left out: this provider does not take it]"}]),
    );
}

#[test]
fn deferred_tools_come_after_the_others_once_they_were_found() {
    let deferred = |name: &str| ToolDefinition {
        defer_loading: true,
        ..ToolDefinition::new(name, "does", json!({"type": "object"}))
    };
    let reference = |name: &str| {
        ContentBlock::ToolReference(ToolReference { tool_name: name.to_owned(), extra: Map::new() })
    };
    let mut request = request(vec![
        calls(&["a"]),
        results(vec![ToolResult::ok(
            "a".into(),
            vec![reference("Y"), reference("Gone"), reference("Y")],
        )]),
    ]);
    request.tools = vec![deferred("X"), deferred("Y"), ToolDefinition::new("Read", "", json!({}))];
    let body = encode(&request, &Dialect::new());
    let names: Vec<&Value> =
        body["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(names, ["Read", "Y"]);
    let expected = "Y: does\n{\"type\":\"object\"}\nY: does\n{\"type\":\"object\"}";
    assert_eq!(body["messages"][1]["content"], expected);
}

#[test]
fn a_tool_that_another_provider_runs_is_never_sent() {
    let mut request = request(vec![Message::user("hi")]);
    request.tools = vec![ToolDefinition::server("web_search_20250305", "web_search", Map::new())];
    let body = encode(&request, &Dialect::new().parallel_tool_calls(true));
    assert!(body.get("tools").is_none() && body.get("tool_choice").is_none(), "{body}");
    assert!(!body.to_string().contains("web_search"), "{body}");
    request.tools.push(ToolDefinition::new("Read", "", json!({})));
    let body = encode(&request, &Dialect::new());
    assert_eq!(body["tools"].as_array().unwrap().len(), 1);
    assert_eq!(body["tools"][0]["function"]["name"], "Read");
}

#[test]
fn q14_short_ids_are_nine_letters_and_digits_and_still_pairs() {
    let conversation = vec![
        calls(&["toolu_01", "Abcdef123"]),
        results(vec![ToolResult::ok("toolu_01".into(), "x")]),
    ];
    let body = encode(&request(conversation), &Dialect::new().short_ids());
    let id = body["messages"][0]["tool_calls"][0]["id"].as_str().unwrap();
    assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    assert_eq!(body["messages"][1]["tool_call_id"], id);
    assert_eq!(body["messages"][0]["tool_calls"][1]["id"], "Abcdef123");
}
