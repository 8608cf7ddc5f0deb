//! Hooks of a session: what they are told when a run begins, moves and would end, and what follows from their words.

use std::path::Path;
use std::sync::{MutexGuard, PoisonError};

use innerve_pipeline::{HookDecision, HookEvent, HookEventName, PolicySource as _, Settled};
use innerve_protocol::{ContentBlock, ToolUse};
use innerve_tool::port::TaskState;
use serde_json::{Map, Value, json};

use crate::looping::{Looping, Next, State, end};
use crate::task_list::Said;
use crate::{AgentEvent, LogError, SessionEnv, TerminalReason, Transition, telemetry};

/// Times in a row that hooks may keep a run from ending (Claude Code documentation, "hooks").
const MAX_STOP_BLOCKS: u32 = 8;

/// What hooks said of an event of the session.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// For the model.
    pub(crate) context: Vec<String>,
    /// It must not happen, and why.
    pub(crate) blocked: Option<String>,
    /// The run must stop, and why.
    pub(crate) stop: Option<String>,
}

impl SessionEnv {
    /// Tells hooks of an event of this agent; gives what they said, and their texts for the person.
    pub(crate) async fn hear(
        &self,
        name: HookEventName,
        fields: Map<String, Value>,
    ) -> (Heard, Vec<String>) {
        let policy = self.policy.current();
        let said = self
            .pipeline
            .run_hooks(HookEvent {
                name,
                session_id: self.session_id.to_string(),
                agent_id: self.agent_id.as_ref().map(ToString::to_string),
                agent_type: self.config.agent_type.clone(),
                cwd: policy.cwd.clone(),
                permission_mode: policy.mode.name(),
                tool: None,
                fields,
            })
            .await;
        let blocked = match said.decision {
            Some(HookDecision::Deny(why)) => Some(why),
            Some(HookDecision::Allow | HookDecision::Ask(_) | HookDecision::Defer) | None => None,
        };
        (Heard { context: said.context, blocked, stop: said.stop }, said.messages)
    }
}

impl Looping<'_> {
    /// Tells hooks of an event; what they say to the person is shown.
    pub(crate) async fn hear(&mut self, name: HookEventName, fields: Map<String, Value>) -> Heard {
        let (heard, messages) = self.env.hear(name, fields).await;
        for message in messages {
            self.tell(AgentEvent::Warning(message)).await;
        }
        heard
    }

    /// A person wrote: hooks may add to it or refuse it. An error is why it is refused.
    pub(crate) async fn hear_prompt(
        &mut self,
        prompt: &mut Vec<ContentBlock>,
    ) -> Result<(), String> {
        if self.env.agent_id.is_some() {
            return Ok(());
        }
        let mut context = Vec::new();
        if let Some(source) = self.conversation.opened.take() {
            telemetry::session(source);
            let fields = object(json!({ "source": source, "model": self.env.config.model }));
            context.extend(self.hear(HookEventName::SessionStart, fields).await.context);
        }
        let texts: Vec<&str> = prompt.iter().filter_map(ContentBlock::as_text).collect();
        let fields = object(json!({ "prompt": texts.join("\n") }));
        let heard = self.hear(HookEventName::UserPromptSubmit, fields).await;
        if let Some(why) = heard.blocked.or(heard.stop) {
            return Err(why);
        }
        context.extend(heard.context);
        prompt.extend(context.into_iter().map(ContentBlock::text));
        Ok(())
    }

    /// The model is done: hooks may keep it at work.
    pub(crate) async fn hear_stop(&mut self, state: State) -> Result<Next, LogError> {
        if let Some(next) = self.hear_workers().await? {
            return Ok(next);
        }
        let done = || Ok(end(TerminalReason::Completed, ""));
        let name = match self.env.agent_id {
            None => HookEventName::Stop,
            Some(_) => HookEventName::SubagentStop,
        };
        let running =
            self.env.tasks.list().into_iter().filter(|task| task.state == TaskState::Running);
        let tasks: Vec<Value> =
            running.map(|task| json!({ "id": task.id, "description": task.description })).collect();
        let mut fields = object(json!({
            "stop_hook_active": state.stop_blocks > 0,
            "last_assistant_message": self.result,
            "background_tasks": tasks,
            "session_crons": [],
        }));
        if self.env.agent_id.is_some() {
            fields.insert("agent_transcript_path".to_owned(), json!(self.env.log_path()));
        }
        let heard = self.hear(name, fields).await;
        if let Some(why) = heard.stop {
            return Ok(end(TerminalReason::StopHookPrevented, why));
        }
        // Context that is no objection is for the model all the same, which can only read it if it goes on.
        let words: Vec<String> = heard.blocked.into_iter().chain(heard.context).collect();
        if words.is_empty() {
            return done();
        }
        let why = words.join("\n\n");
        if state.stop_blocks >= MAX_STOP_BLOCKS {
            let text = format!(
                "hooks kept the run from ending {MAX_STOP_BLOCKS} times in a row; it ends now"
            );
            self.tell(AgentEvent::Warning(text)).await;
            return done();
        }
        self.note(why).await?;
        let next = State {
            stop_blocks: state.stop_blocks + 1,
            relieved: state.relieved,
            ..State::default()
        };
        Ok(Next::Continue(next, Transition::StopHookBlocking))
    }

    /// What hooks said to the person of tasks of the list, since the last time.
    pub(crate) fn said_of_tasks(&self) -> Vec<String> {
        std::mem::take(&mut self.sayings().messages)
    }

    /// Why the run must stop, if a hook said so of a task.
    pub(crate) fn stopped_at_a_task(&self) -> Option<String> {
        self.sayings().stop.take()
    }

    fn sayings(&self) -> MutexGuard<'_, Said> {
        self.env.sayings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agent moved to another directory.
    pub(crate) async fn hear_moved(&mut self, old: &Path, new: &Path) {
        if old != new {
            let fields = object(json!({ "old_cwd": old, "new_cwd": new }));
            self.hear(HookEventName::CwdChanged, fields).await;
        }
    }
}

/// The calls of a response with their results, as hooks see them.
pub(crate) fn batch_fields(settled: &[Settled], calls: &[ToolUse]) -> Map<String, Value> {
    let calls = settled.iter().map(|call| {
        let tool_use = calls.iter().find(|tool_use| tool_use.id == call.result.tool_use_id);
        json!({
            "tool_name": call.tool,
            "tool_input": tool_use.map(|tool_use| &tool_use.input),
            "tool_use_id": call.result.tool_use_id,
            "tool_response": call.result.content.plain_text(),
        })
    });
    object(json!({ "tool_calls": calls.collect::<Vec<Value>>() }))
}

/// The fields of an event.
pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}
