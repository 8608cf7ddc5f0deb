//! `innerve sessions export`: a session with all that was said and done, sub-agents included.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use innerve_agent::{SessionSummary, Transcript};
use innerve_protocol::{ContentBlock, Role};
use serde_json::{Value, json};

use super::{is_own, named, read, show};
use crate::calendar::date_and_time;
use crate::exit::{Exit, Failure};
use crate::output::{broken_pipe_is_success, print_json, warn};

/// Prints a session.
pub(super) fn export(id: Option<&str>, as_json: bool) -> Result<Exit, Failure> {
    let folder = named(id)?;
    let summary = SessionSummary::read(&folder)
        .map_err(|error| Failure::new(format!("the session cannot be read: {error}")))?;
    let transcript = read(&folder)?;
    broken_pipe_is_success(if as_json {
        print_json(&whole(&summary, &transcript, &folder))
    } else {
        markdown(&summary, &transcript, &folder)
    })
}

fn whole(summary: &SessionSummary, transcript: &Transcript, folder: &Path) -> Value {
    let mut value = show::as_json(summary, transcript);
    let agents: Vec<Value> = agents(folder)
        .map(|(id, transcript)| json!({ "agent_id": id, "messages": transcript.messages }))
        .collect();
    if let Value::Object(fields) = &mut value {
        fields.insert("agents".to_owned(), Value::Array(agents));
    }
    value
}

/// The sub-agents of a session, one read at a time.
fn agents(folder: &Path) -> impl Iterator<Item = (String, Transcript)> {
    let entries = fs::read_dir(folder.join("agents")).into_iter().flatten().flatten();
    let mut logs: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    logs.sort();
    logs.into_iter().filter_map(|log| {
        let id = log.file_stem()?.to_string_lossy().into_owned();
        match Transcript::load(&log) {
            Ok((transcript, _)) => Some((id, transcript)),
            Err(error) => {
                warn(&error.to_string());
                None
            }
        }
    })
}

fn markdown(summary: &SessionSummary, transcript: &Transcript, folder: &Path) -> io::Result<()> {
    let mut output = io::BufWriter::new(io::stdout().lock());
    writeln!(output, "# Session {}\n", summary.id)?;
    writeln!(output, "- directory: `{}`", summary.cwd.display())?;
    writeln!(output, "- model: {}", summary.model)?;
    writeln!(
        output,
        "- time: {} to {}",
        date_and_time(summary.started),
        date_and_time(summary.last_used)
    )?;
    writeln!(output, "- turns: {}", summary.turns)?;
    write_messages(&mut output, transcript)?;
    for (id, transcript) in agents(folder) {
        writeln!(output, "\n# Sub-agent {id}")?;
        write_messages(&mut output, &transcript)?;
    }
    output.flush()
}

fn write_messages(output: &mut impl io::Write, transcript: &Transcript) -> io::Result<()> {
    for message in &transcript.messages {
        let mut author = match message.role {
            Role::User => Some("User"),
            Role::Assistant => Some("Assistant"),
            Role::System => Some("System"),
        };
        for block in &message.content {
            match block {
                ContentBlock::Text(text)
                    if message.role == Role::User && !is_own(transcript, &text.text) =>
                {
                    writeln!(output)?;
                    for line in text.text.trim_end().lines() {
                        writeln!(output, "> {line}")?;
                    }
                }
                ContentBlock::Text(text) => {
                    if let Some(author) = author.take() {
                        writeln!(output, "\n## {author}")?;
                    }
                    writeln!(output, "\n{}", text.text.trim_end())?;
                }
                ContentBlock::ToolUse(tool_use) => {
                    writeln!(output, "\n### {}\n", tool_use.name)?;
                    let input = serde_json::to_string_pretty(&tool_use.input)?;
                    write_fenced(output, "json", &input)?;
                }
                ContentBlock::ToolResult(result) => {
                    let word = if result.failed() { "Error" } else { "Result" };
                    writeln!(output, "\n{word}:\n")?;
                    write_fenced(output, "text", &result.content.plain_text())?;
                }
                ContentBlock::Image(_) => writeln!(output, "\n(an image)")?,
                ContentBlock::Thinking(_)
                | ContentBlock::RedactedThinking(_)
                | ContentBlock::ToolReference(_)
                | ContentBlock::Unknown(_) => {}
            }
        }
    }
    Ok(())
}

/// A fence that the text cannot close.
fn write_fenced(output: &mut impl io::Write, language: &str, text: &str) -> io::Result<()> {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    writeln!(output, "{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}
