//! Streams an answer with a tool use in it; a recording speaks, so that no key is needed.
//!
//! `cargo run -p innerve-model --example stream`
//!
//! A real model has the same interface: with `OPENAI_BASE_URL=http://… cargo run -p innerve-model --example stream -- NAME`
//! any OpenAI-compatible server answers instead.

use std::error::Error;
use std::io::{self, Write as _};
use std::sync::Arc;

use futures_util::StreamExt as _;
use innerve_model::{Dialect, Endpoint, Model, OpenAi, Recording, Replay, Retrying};
use innerve_protocol::{ContentBlock, Request, StreamEvent};
use serde_json::json;

/// One response a line, each event after a pause; `innerve_model::Recorder` writes such files from a real conversation.
const RECORDING: &str = r#"{"format":"innerve-recording","version":1,"model":"a-model"}
{"events":[{"event":{"type":"block_done","block":{"type":"text","text":"Let me ask the weather service."}}},{"event":{"type":"block_done","block":{"type":"tool_use","id":"toolu_1","name":"Weather","input":{"city":"Graz"}}}}]}
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout();
    let model: Arc<dyn Model> = match std::env::var("OPENAI_BASE_URL") {
        Ok(address) => {
            Arc::new(Retrying::new(OpenAi::new(Endpoint::new(&address), Dialect::new())?))
        }
        Err(_) => Arc::new(Replay::new(Recording::parse(RECORDING)?)),
    };
    let request: Request = serde_json::from_value(json!({
        "model": std::env::args().nth(1).unwrap_or_else(|| "a-model".to_owned()),
        "max_tokens": 1000,
        "messages": [{ "role": "user", "content": "How is the weather in Graz? Use the tool." }],
        "tools": [{ "name": "Weather", "description": "Tells the weather of a city.", "input_schema": {
            "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"],
        } }],
    }))?;

    // Dropping the stream would cancel the request.
    let mut events = model.stream(request);
    while let Some(event) = events.next().await {
        match event {
            Ok(StreamEvent::TextDelta { text, .. }) => write!(out, "{text}")?,
            Ok(StreamEvent::BlockDone { block: ContentBlock::ToolUse(tool_use), .. }) => {
                writeln!(out, "\nwants {} {}", tool_use.name, tool_use.input)?;
            }
            Ok(StreamEvent::Stop { reason, .. }) => writeln!(out, "stopped: {reason:?}")?,
            Ok(_) => {}
            // An error has a class to decide by and words that name the way out.
            Err(error) => return Err(format!("{:?}: {error}", error.class()).into()),
        }
    }
    Ok(())
}
