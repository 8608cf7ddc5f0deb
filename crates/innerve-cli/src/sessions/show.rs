//! `innerve sessions show`: a session for people, in short.

use std::collections::HashMap;
use std::io::{self, Write as _};

use innerve_agent::{SessionSummary, Transcript};
use innerve_protocol::{ContentBlock, Message, Role, ToolUse, ToolUseId};
use serde_json::{Value, json};

use super::{is_own, named, read};
use crate::args::OneSessionArguments;
use crate::calendar::date_and_time;
use crate::exit::{Exit, Failure};
use crate::output::{BOLD, DIM, RED, broken_pipe_is_success, calls as drawn, plain, print_json};

/// Shows a session.
pub(super) fn show(arguments: &OneSessionArguments) -> Result<Exit, Failure> {
    let folder = named(arguments.id.as_deref())?;
    let summary = SessionSummary::read(&folder)
        .map_err(|error| Failure::new(format!("the session cannot be read: {error}")))?;
    let transcript = read(&folder)?;
    broken_pipe_is_success(if arguments.json {
        print_json(&as_json(&summary, &transcript))
    } else {
        print(&summary, &transcript)
    })
}

/// All that is known of a session.
pub(super) fn as_json(summary: &SessionSummary, transcript: &Transcript) -> Value {
    let mut value = json!(summary);
    if let Value::Object(fields) = &mut value {
        fields.insert("messages".to_owned(), json!(transcript.messages));
        let interrupted = transcript.interrupted.iter().map(|tool_use| &tool_use.id);
        fields.insert("interrupted".to_owned(), json!(interrupted.collect::<Vec<_>>()));
    }
    value
}

fn print(summary: &SessionSummary, transcript: &Transcript) -> io::Result<()> {
    let mut output = io::BufWriter::new(anstream::stdout());
    writeln!(output, "{BOLD}{}{BOLD:#}  {}", summary.id, plain(&summary.model))?;
    writeln!(output, "{DIM}{}{DIM:#}", plain(&summary.cwd.display().to_string()))?;
    writeln!(
        output,
        "{DIM}{} to {}, turns: {}{DIM:#}",
        date_and_time(summary.started),
        date_and_time(summary.last_used),
        summary.turns
    )?;
    if let Some(origin) = &summary.forked_from {
        writeln!(output, "{DIM}begun as a copy of {origin}{DIM:#}")?;
    }
    let calls = transcript.messages.iter().flat_map(Message::tool_uses);
    let calls: HashMap<&ToolUseId, &ToolUse> =
        calls.map(|tool_use| (&tool_use.id, tool_use)).collect();
    for message in &transcript.messages {
        print_message(&mut output, message, transcript, &calls)?;
    }
    for tool_use in &transcript.interrupted {
        writeln!(output, "\n{RED}{} was running when the session ended{RED:#}", tool_use.name)?;
    }
    output.flush()
}

/// Prints a message of a session; `calls` are all that it has.
fn print_message(
    output: &mut impl io::Write,
    message: &Message,
    transcript: &Transcript,
    calls: &HashMap<&ToolUseId, &ToolUse>,
) -> io::Result<()> {
    let results = message.content.iter().filter(|block| block.as_tool_result().is_some()).count();
    let mut after_call = false;
    for block in &message.content {
        match block {
            ContentBlock::Text(text) if message.role == Role::User => {
                let text = text.text.trim();
                if is_own(transcript, text) {
                    writeln!(output, "\n{BOLD}> {}{BOLD:#}", plain(text))?;
                } else {
                    // What others added, such as that something was undone.
                    writeln!(output, "\n{DIM}{}{DIM:#}", plain(text))?;
                }
            }
            ContentBlock::Text(text) => writeln!(output, "\n{}", plain(text.text.trim()))?,
            ContentBlock::ToolUse(tool_use) => {
                if !after_call {
                    writeln!(output)?;
                }
                writeln!(output, "{}", drawn::started("●", tool_use))?;
            }
            ContentBlock::ToolResult(result) => {
                let Some(tool_use) = calls.get(&result.tool_use_id) else { continue };
                let text = result.content.plain_text();
                for line in drawn::past(tool_use, &text, result.failed(), results > 1) {
                    writeln!(output, "{line}")?;
                }
            }
            ContentBlock::Image(_) => writeln!(output, "  {DIM}(an image){DIM:#}")?,
            ContentBlock::Thinking(_)
            | ContentBlock::RedactedThinking(_)
            | ContentBlock::ToolReference(_)
            | ContentBlock::Unknown(_) => {}
        }
        after_call = block.as_tool_use().is_some();
    }
    Ok(())
}
