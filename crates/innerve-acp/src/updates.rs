//! What an agent tells, as session updates.

use std::path::Path;

use agent_client_protocol::v1::schema::{
    ContentChunk, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate, StopReason,
    ToolCall, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use innerve_agent::{AgentEvent, TerminalReason, ToolReport};
use innerve_pipeline::Outcome;
use innerve_protocol::{ContentBlock, Message, Role, ToolUse};
use innerve_tool::ProgressEvent;
use serde_json::Value;

use crate::show;

/// The tool that an editor sees as its plan.
const TODO: &str = "TodoWrite";
/// What is said where text that the editor shows does not count any more.
const DISCARDED: &str = "\n\n*(The answer broke off and is asked for again.)*\n\n";

/// Turns events into updates.
#[derive(Debug)]
pub(crate) struct Teller<'a> {
    /// Where the session began.
    cwd: &'a Path,
    /// Whether the model's current message was told piece by piece.
    said: bool,
}

impl<'a> Teller<'a> {
    pub(crate) fn new(cwd: &'a Path) -> Self {
        Self { cwd, said: false }
    }

    /// What an editor is told of an event.
    pub(crate) fn tell(&mut self, event: &AgentEvent) -> Option<SessionUpdate> {
        match event {
            AgentEvent::Text(text) => {
                self.said = true;
                Some(message(text))
            }
            AgentEvent::Thinking(text) => Some(thought(text)),
            AgentEvent::Assistant(whole) => {
                let text = whole.plain_text();
                let said = std::mem::take(&mut self.said);
                (!said && !text.is_empty()).then(|| message(&text))
            }
            AgentEvent::ToolStarted(tool_use) => started(tool_use, self.cwd),
            AgentEvent::ToolEnded(report) => ended(report),
            AgentEvent::Progress(progress) => child(progress, self.cwd),
            AgentEvent::Discarded => std::mem::take(&mut self.said).then(|| message(DISCARDED)),
            AgentEvent::Started { .. }
            | AgentEvent::User(_)
            | AgentEvent::Retrying(_)
            | AgentEvent::Warning(_)
            | AgentEvent::Compacted(_)
            | AgentEvent::Continuing(_)
            | AgentEvent::Ended(_) => None,
        }
    }
}

/// A piece of the agent's message.
pub(crate) fn message(text: &str) -> SessionUpdate {
    SessionUpdate::AgentMessageChunk(ContentChunk::new(text.into()))
}

fn thought(text: &str) -> SessionUpdate {
    SessionUpdate::AgentThoughtChunk(ContentChunk::new(text.into()))
}

fn started(tool_use: &ToolUse, cwd: &Path) -> Option<SessionUpdate> {
    if tool_use.name == TODO {
        return None;
    }
    Some(SessionUpdate::ToolCall(call(tool_use, cwd).status(ToolCallStatus::InProgress)))
}

fn call(tool_use: &ToolUse, cwd: &Path) -> ToolCall {
    let ToolUse { id, name, input, .. } = tool_use;
    let fields = show::fields(name, input, cwd);
    ToolCall::new(id.to_string(), show::title(name, input, cwd))
        .kind(show::kind(name))
        .locations(fields.locations.unwrap_or_default())
        .content(show::intent(name, input, cwd))
        .raw_input(input.clone())
}

fn ended(report: &ToolReport) -> Option<SessionUpdate> {
    let succeeded = matches!(report.outcome, Outcome::Succeeded);
    if report.tool == TODO {
        return if succeeded { plan(&report.data, "newTodos") } else { None };
    }
    Some(answered(report.tool_use_id.as_str(), &report.tool, &report.text, succeeded))
}

fn answered(id: &str, tool: &str, text: &str, succeeded: bool) -> SessionUpdate {
    let status = if succeeded { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
    let mut fields = ToolCallUpdateFields::new().status(status);
    // What was changed says more than that it was.
    if !(succeeded && show::is_change(tool)) {
        fields = fields.content(show::result(tool, text));
    }
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_owned(), fields))
}

/// The list of things to do.
fn plan(data: &Value, field: &str) -> Option<SessionUpdate> {
    let entry = |todo: &Value| {
        let word = |field: &str| todo.get(field).and_then(Value::as_str);
        let status = match word("status")? {
            "in_progress" => PlanEntryStatus::InProgress,
            "completed" => PlanEntryStatus::Completed,
            _ => PlanEntryStatus::Pending,
        };
        Some(PlanEntry::new(word("content")?, PlanEntryPriority::Medium, status))
    };
    let entries = data.get(field)?.as_array()?.iter().filter_map(entry).collect();
    Some(SessionUpdate::Plan(Plan::new(entries)))
}

/// The calls of a sub-agent, as calls of their own.
fn child(progress: &ProgressEvent, cwd: &Path) -> Option<SessionUpdate> {
    progress.parent_tool_use_id.as_ref()?;
    let field = |name: &str| progress.data.get(name).and_then(Value::as_str).unwrap_or_default();
    match field("kind") {
        "tool_started" => {
            let input = progress.data.get("input").cloned().unwrap_or_default();
            started(&ToolUse::new(progress.tool_use_id.clone(), field("tool"), input), cwd)
        }
        "tool_ended" if field("tool") != TODO => {
            let succeeded = progress.data.get("code").and_then(Value::as_str).is_none();
            let status = if succeeded { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
            let fields = ToolCallUpdateFields::new().status(status);
            let id = progress.tool_use_id.to_string();
            Some(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields)))
        }
        _ => None,
    }
}

/// A conversation that is over, as the updates that it was.
pub(crate) fn replay(messages: &[Message], cwd: &Path) -> Vec<SessionUpdate> {
    let mut updates = Vec::new();
    let mut open: Vec<&ToolUse> = Vec::new();
    for whole in messages {
        let is_person = whole.role == Role::User;
        for block in &whole.content {
            match block {
                ContentBlock::Text(text) if is_person => {
                    if !is_reminder(&text.text) {
                        let chunk = ContentChunk::new(text.text.as_str().into());
                        updates.push(SessionUpdate::UserMessageChunk(chunk));
                    }
                }
                ContentBlock::Text(text) => updates.push(message(&text.text)),
                ContentBlock::Thinking(thinking) if !thinking.thinking.is_empty() => {
                    updates.push(thought(&thinking.thinking));
                }
                ContentBlock::ToolUse(tool_use) => {
                    updates.extend(started(tool_use, cwd));
                    open.push(tool_use);
                }
                ContentBlock::ToolResult(result) => {
                    let at = open.iter().position(|open| open.id == result.tool_use_id);
                    let Some(tool_use) = at.map(|at| open.swap_remove(at)) else { continue };
                    let succeeded = !result.failed();
                    if tool_use.name != TODO {
                        let text = result.content.plain_text();
                        let id = tool_use.id.as_str();
                        updates.push(answered(id, &tool_use.name, &text, succeeded));
                    } else if succeeded {
                        updates.extend(plan(&tool_use.input, "todos"));
                    }
                }
                ContentBlock::Thinking(_)
                | ContentBlock::RedactedThinking(_)
                | ContentBlock::Image(_)
                | ContentBlock::ToolReference(_)
                | ContentBlock::Unknown(_) => {}
            }
        }
    }
    updates
}

/// What the harness told the model, and no person wrote.
fn is_reminder(text: &str) -> bool {
    ["<system-reminder>", "[The user interrupted "]
        .iter()
        .any(|start| text.trim_start().starts_with(start))
}

/// How a prompt ended, in the protocol's words; `None` if it failed.
pub(crate) fn stop_reason(reason: TerminalReason) -> Option<StopReason> {
    match reason {
        TerminalReason::Completed
        | TerminalReason::StopHookPrevented
        | TerminalReason::HookStopped
        | TerminalReason::BudgetExceeded
        // A person wants to speak first; `cancelled` is for `session/cancel` alone.
        | TerminalReason::DeniedByUser => Some(StopReason::EndTurn),
        TerminalReason::MaxTurns => Some(StopReason::MaxTurnRequests),
        TerminalReason::AbortedStreaming | TerminalReason::AbortedTools => {
            Some(StopReason::Cancelled)
        }
        TerminalReason::PromptTooLong | TerminalReason::BlockingLimit => {
            Some(StopReason::MaxTokens)
        }
        TerminalReason::Refused => Some(StopReason::Refusal),
        TerminalReason::ImageError
        | TerminalReason::ModelError
        | TerminalReason::SessionError => None,
    }
}
