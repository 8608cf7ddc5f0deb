//! A streamed answer becomes a message, the session dies, and the transcript is repaired so that an API takes it again.
//!
//! `cargo run -p innerve-protocol --example stream_and_repair`

use std::error::Error;
use std::io::{self, Write as _};

use innerve_protocol::{
    Assembler, ContentBlock, Message, Role, StreamEvent, WireEvent, normalize, validate,
};

/// What a server sends: a text in two pieces, then a tool use whose input comes in two pieces as well.
const STREAM: &[&str] = &[
    r#"{"type":"message_start","message":{"id":"msg_1","model":"a-model","usage":{"input_tokens":812}}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"I will look "}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"at it."}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"file_path\": \"src"}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"/main.rs\"}"}}"#,
    r#"{"type":"content_block_stop","index":1}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":41}}"#,
    r#"{"type":"message_stop"}"#,
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    let mut assembler = Assembler::new();
    let mut content: Vec<ContentBlock> = Vec::new();
    for data in STREAM {
        for event in assembler.push(WireEvent::parse(data)?)? {
            if let StreamEvent::TextDelta { text, .. } = &event {
                writeln!(out, "text      {text:?}")?;
            }
            // A block is told of once it is whole: a tool can start while the model still writes.
            if let StreamEvent::BlockDone { block, .. } = event {
                if let ContentBlock::ToolUse(tool_use) = &block {
                    writeln!(out, "tool use  {} {}", tool_use.name, tool_use.input)?;
                }
                content.push(block);
            }
        }
    }
    assembler.finish()?;

    // The program was killed while the tool ran; afterwards the person goes on.
    let mut transcript = vec![
        Message::user("What does main do?"),
        Message::new(Role::Assistant, content),
        Message::user("Are you still there?"),
    ];
    for violation in validate(&transcript) {
        writeln!(out, "broken    {}", violation.text)?;
    }
    for repair in normalize(&mut transcript) {
        writeln!(out, "repaired  {:?}", repair.kind)?;
    }
    writeln!(out, "now       {} violations", validate(&transcript).len())?;
    if let Some(answer) = transcript.get(2).and_then(|message| message.content.first()) {
        writeln!(out, "answer    {}", serde_json::to_string(answer)?)?;
    }
    Ok(())
}
