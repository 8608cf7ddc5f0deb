//! One conversation, scripted once, through both providers: the same blocks, and transcripts that both servers take.

use innerve_model::{Anthropic, Dialect, Endpoint, Model, OpenAi};
use innerve_protocol::{ContentBlock, Message, Role, StopReason, StreamEvent, ToolResult, Usage};
use serde_json::{Value, json};

use crate::server::{Reply, Server, blocks, chat_response, collect, messages_response, request};

/// The responses of the conversation: blocks, and the stop reasons in both formats.
fn script() -> Vec<(Vec<Value>, &'static str, &'static str)> {
    vec![
        (
            vec![
                json!({"type": "text", "text": "Ich schaue nach: 🦀"}),
                json!({"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a.rs", "deep": {"x": [1, null]}}}),
                json!({"type": "tool_use", "id": "t2", "name": "Grep", "input": {"pattern": "\"quoted\\n\""}}),
            ],
            "tool_use",
            "tool_calls",
        ),
        (
            vec![json!({"type": "tool_use", "id": "t3", "name": "Read", "input": {}})],
            "tool_use",
            "tool_calls",
        ),
        (vec![json!({"type": "text", "text": "Fertig."})], "end_turn", "stop"),
        (vec![json!({"type": "text", "text": "und wei"})], "max_tokens", "length"),
    ]
}

#[derive(Debug, PartialEq)]
struct Turn {
    blocks: Vec<ContentBlock>,
    stop: Option<StopReason>,
    usage: Usage,
    ids_begun: Vec<String>,
    text_streamed: String,
}

fn turn(events: &[StreamEvent]) -> Turn {
    let mut turn = Turn {
        blocks: blocks(events),
        stop: None,
        usage: Usage::default(),
        ids_begun: Vec::new(),
        text_streamed: String::new(),
    };
    for event in events {
        match event {
            StreamEvent::Start { usage, .. } | StreamEvent::Usage(usage) => {
                turn.usage.update(usage);
            }
            StreamEvent::BlockStart {
                kind: innerve_protocol::BlockKind::ToolUse { id, .. },
                ..
            } => {
                turn.ids_begun.push(id.as_str().to_owned());
            }
            StreamEvent::TextDelta { text, .. } => turn.text_streamed.push_str(text),
            StreamEvent::Stop { reason, .. } => turn.stop = Some(reason.clone()),
            _ => {}
        }
    }
    turn
}

/// Plays the whole conversation as an agent would: every tool use is answered, the second one by an error.
async fn converse(model: &dyn Model) -> Vec<Turn> {
    let mut messages = vec![Message::user("Was steht in a.rs?")];
    let mut turns = Vec::new();
    for _ in script() {
        let (events, error) = collect(model.stream(request(messages.clone()))).await;
        assert_eq!(error, None);
        let turn = turn(&events);
        let results: Vec<ContentBlock> = turn
            .blocks
            .iter()
            .filter_map(ContentBlock::as_tool_use)
            .map(|tool_use| {
                let id = tool_use.id.clone();
                let failed = tool_use.name == "Grep";
                let result = if failed {
                    ToolResult::error(id, "no rg")
                } else {
                    ToolResult::ok(id, "fn main() {}")
                };
                ContentBlock::ToolResult(result)
            })
            .collect();
        messages.push(Message::new(Role::Assistant, turn.blocks.clone()));
        let next = if results.is_empty() { vec![ContentBlock::text("Weiter.")] } else { results };
        messages.push(Message::new(Role::User, next));
        turns.push(turn);
    }
    turns
}

#[tokio::test]
async fn both_providers_tell_the_same_conversation() {
    let replies = script()
        .into_iter()
        .map(|(blocks, stop, _)| Reply::stream(messages_response(&blocks, stop)));
    let server = Server::start(replies).await;
    let anthropic = Anthropic::new(Endpoint::new(&server.url)).unwrap();
    let by_anthropic = converse(&anthropic).await;

    let replies = script()
        .into_iter()
        .map(|(blocks, _, finish)| Reply::stream(chat_response(&blocks, finish)));
    let server = Server::start(replies).await;
    let openai = OpenAi::new(Endpoint::new(&server.url), Dialect::new()).unwrap();
    let by_openai = converse(&openai).await;

    assert_eq!(by_anthropic, by_openai);
    for (turn, (blocks, stop, _)) in by_anthropic.iter().zip(script()) {
        assert_eq!(serde_json::to_value(&turn.blocks).unwrap(), json!(blocks));
        assert_eq!(serde_json::to_value(&turn.stop).unwrap(), stop);
        assert_eq!((turn.usage.input_tokens, turn.usage.output_tokens), (Some(10), Some(20)));
    }
}

#[tokio::test]
async fn what_the_scripts_stream_can_be_recorded_and_replayed() {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Shelf(Arc<Mutex<Vec<u8>>>);
    impl Write for Shelf {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let replies = script()
        .into_iter()
        .map(|(blocks, stop, _)| Reply::stream(messages_response(&blocks, stop)));
    let server = Server::start(replies).await;
    let shelf = Shelf::default();
    let anthropic = Anthropic::new(Endpoint::new(&server.url)).unwrap();
    let model = innerve_model::Recorder::new(anthropic, Box::new(shelf.clone()));
    let live = converse(&model).await;
    let text = String::from_utf8(shelf.0.lock().unwrap().clone()).unwrap();
    let replay = innerve_model::Replay::new(innerve_model::Recording::parse(&text).unwrap());
    assert_eq!(converse(&replay).await, live);
}
