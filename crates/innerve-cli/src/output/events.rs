//! The events of a run: as text for people, and as JSON lines for machines.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use innerve_agent::{AgentEvent, Compaction, RunSummary, Terminal, TerminalReason};
use innerve_pipeline::Outcome;
use innerve_protocol::{ToolUse, ToolUseId};
use serde_json::{Value, json};

use super::{DIM, RED, YELLOW, calls, note, plain, print_json, warn};

/// Shows a run to a person: the model's words on standard output, what it does on standard error.
pub(crate) struct TextEvents {
    /// Words are shown as they come only where a person reads them; a pipe gets the answer alone.
    streams: bool,
    in_line: bool,
    /// The calls that run.
    open: Vec<ToolUseId>,
    /// Whether calls ran side by side, so that each result must say whose it is.
    side_by_side: bool,
}

impl TextEvents {
    pub(crate) fn new() -> Self {
        Self {
            streams: io::stdout().is_terminal(),
            in_line: false,
            open: Vec::new(),
            side_by_side: false,
        }
    }

    /// Shows one event.
    pub(crate) fn show(&mut self, event: &AgentEvent) -> io::Result<()> {
        match event {
            AgentEvent::Text(text) => self.words(text)?,
            AgentEvent::ToolStarted(tool_use) => {
                self.end_line()?;
                self.open.push(tool_use.id.clone());
                self.side_by_side |= self.open.len() > 1;
                note(&calls::started("●", tool_use));
            }
            AgentEvent::ToolEnded(report) => {
                self.end_line()?;
                for line in calls::ended(report, self.side_by_side) {
                    note(&line);
                }
                self.open.retain(|id| *id != report.tool_use_id);
                self.side_by_side &= !self.open.is_empty();
            }
            AgentEvent::Progress(progress) => Self::child(progress),
            AgentEvent::Retrying(notice) => {
                self.end_line()?;
                warn(&format!(
                    "{}; trying again in {:.1} s ({} of {})",
                    if notice.message.is_empty() { &notice.class } else { &notice.message },
                    Duration::from_millis(notice.delay_ms).as_secs_f64(),
                    notice.attempt,
                    notice.max_attempts,
                ));
            }
            AgentEvent::Warning(text) => {
                self.end_line()?;
                warn(text);
            }
            // A warning says why; the words are on the screen already.
            AgentEvent::Discarded => self.end_line()?,
            AgentEvent::Compacted(compaction) => {
                self.end_line()?;
                let Compaction { before, after, .. } = compaction;
                note(&format!(
                    "{DIM}the conversation was compacted: about {before} tokens became {after}{DIM:#}"
                ));
            }
            AgentEvent::Ended(summary) => {
                self.end_line()?;
                self.end(summary)?;
            }
            AgentEvent::Started { .. }
            | AgentEvent::Thinking(_)
            | AgentEvent::Assistant(_)
            | AgentEvent::User(_)
            | AgentEvent::Continuing(_) => {}
        }
        Ok(())
    }

    fn words(&mut self, text: &str) -> io::Result<()> {
        if !self.streams {
            return Ok(());
        }
        let mut output = io::stdout().lock();
        output.write_all(plain(text).as_bytes())?;
        output.flush()?;
        self.in_line = !text.ends_with('\n');
        Ok(())
    }

    fn end_line(&mut self) -> io::Result<()> {
        if self.in_line {
            self.in_line = false;
            io::stdout().lock().write_all(b"\n")?;
        }
        Ok(())
    }

    /// What a sub-agent does, indented under its call.
    fn child(progress: &innerve_tool::ProgressEvent) {
        if progress.parent_tool_use_id.is_none() {
            return;
        }
        let field =
            |name: &str| progress.data.get(name).and_then(Value::as_str).unwrap_or_default();
        match field("kind") {
            "tool_started" => {
                let input = progress.data.get("input").cloned().unwrap_or_default();
                let tool_use = ToolUse::new(progress.tool_use_id.clone(), field("tool"), input);
                note(&format!("    {}", calls::started("·", &tool_use)));
            }
            "tool_ended" => {
                if let Some(code) = progress.data.get("code").and_then(Value::as_str) {
                    note(&format!("      {RED}{code}{RED:#}"));
                }
            }
            "warning" => note(&format!("    {YELLOW}{}{YELLOW:#}", plain(field("text")))),
            _ => {}
        }
    }

    fn end(&self, summary: &RunSummary) -> io::Result<()> {
        if !self.streams && !summary.result.is_empty() {
            let mut output = io::stdout().lock();
            output.write_all(summary.result.as_bytes())?;
            output.write_all(b"\n")?;
            output.flush()?;
        }
        tell_end(&summary.terminal);
        let cost = summary
            .cost_usd
            .filter(|dollars| *dollars > 0.0)
            .map(|dollars| format!(", ${dollars:.4}"));
        let rounds = if summary.turns == 1 {
            "1 round".to_owned()
        } else {
            format!("{} rounds", summary.turns)
        };
        let (input, output) =
            (summary.usage.total_input(), summary.usage.output_tokens.unwrap_or_default());
        let tokens = if input + output > 0 {
            format!(", {input} tokens in, {output} out")
        } else {
            String::new()
        };
        let cost = cost.unwrap_or_default();
        note(&format!("{DIM}{rounds}{tokens}{cost}, session {}{DIM:#}", summary.session_id));
        Ok(())
    }
}

/// Says how a run ended where there is something to say.
pub(crate) fn tell_end(terminal: &Terminal) {
    if terminal.message.is_empty() {
        return;
    }
    if terminal.reason == TerminalReason::Completed {
        warn(&terminal.message);
    } else {
        super::complain(&terminal.message);
    }
}

/// Prints a run as one JSON object per event; the last one is the summary.
pub(crate) struct JsonEvents {
    pub(crate) every_event: bool,
}

impl JsonEvents {
    /// Prints one event.
    pub(crate) fn show(&self, event: &AgentEvent) -> io::Result<()> {
        if let AgentEvent::Ended(summary) = event {
            return print_json(&summary_json(summary));
        }
        match self.every_event.then(|| line(event)).flatten() {
            Some(line) => print_json(&line),
            None => Ok(()),
        }
    }
}

/// The summary of a run; its field names are part of the program's contract.
pub(crate) fn summary_json(summary: &RunSummary) -> Value {
    let denials: Vec<Value> = summary
        .permission_denials
        .iter()
        .map(|(tool_use, reason)| {
            json!({
                "tool_use_id": tool_use.id,
                "tool": tool_use.name,
                "input": tool_use.input,
                "reason": reason,
            })
        })
        .collect();
    json!({
        "result": summary.result,
        "terminal": summary.terminal.reason.name(),
        "message": summary.terminal.message,
        "turns": summary.turns,
        "usage": summary.usage,
        "cost_usd": summary.cost_usd,
        "session_id": summary.session_id,
        "permission_denials": denials,
    })
}

fn line(event: &AgentEvent) -> Option<Value> {
    match event {
        AgentEvent::Started { session_id, model, tools, mode, cwd } => Some(json!({
            "type": "system", "subtype": "init", "session_id": session_id, "model": model, "tools": tools,
            "permission_mode": mode.name(), "cwd": cwd,
        })),
        AgentEvent::Assistant(message) => Some(json!({ "type": "assistant", "message": message })),
        AgentEvent::User(message) => Some(json!({ "type": "user", "message": message })),
        AgentEvent::ToolStarted(tool_use) => Some(json!({
            "type": "progress", "kind": "tool_started", "tool_use_id": tool_use.id, "tool": tool_use.name,
        })),
        AgentEvent::ToolEnded(report) => Some(match &report.outcome {
            Outcome::Refused(reason) => json!({
                "type": "permission", "decision": "deny", "tool_use_id": report.tool_use_id, "tool": report.tool,
                "input": report.input, "reason": reason,
            }),
            Outcome::Succeeded | Outcome::Failed | Outcome::Deferred | Outcome::Interrupted => {
                json!({
                    "type": "progress", "kind": "tool_ended", "tool_use_id": report.tool_use_id, "tool": report.tool,
                    "code": report.code, "elapsed_ms": u64::try_from(report.elapsed.as_millis()).unwrap_or(u64::MAX),
                })
            }
        }),
        AgentEvent::Progress(progress) => Some(json!({
            "type": "progress", "kind": "tool", "tool_use_id": progress.tool_use_id,
            "parent_tool_use_id": progress.parent_tool_use_id, "data": progress.data,
        })),
        AgentEvent::Retrying(notice) => {
            Some(json!({ "type": "system", "subtype": "retry", "notice": notice }))
        }
        AgentEvent::Warning(text) => {
            Some(json!({ "type": "system", "subtype": "warning", "message": text }))
        }
        AgentEvent::Discarded => Some(json!({ "type": "system", "subtype": "discarded" })),
        AgentEvent::Compacted(compaction) => Some(json!({
            "type": "system", "subtype": "compact_boundary", "trigger": compaction.trigger.name(),
            "pre_tokens": compaction.before, "post_tokens": compaction.after,
        })),
        AgentEvent::Text(_)
        | AgentEvent::Thinking(_)
        | AgentEvent::Continuing(_)
        | AgentEvent::Ended(_) => None,
    }
}
