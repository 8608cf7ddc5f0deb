//! The conversation of one agent, kept in memory and in its log in step.

use std::collections::{BTreeSet, HashSet};
use std::time::{SystemTime, UNIX_EPOCH};

use innerve_budget::{ReplacementState, fit_error};
use innerve_protocol::{ContentBlock, Message, Role, ToolUse, ToolUseId, normalize};
use innerve_tool::port::{TaskId, TaskRegistry, TaskState};

use crate::{LogError, Record, SessionEnv, SessionLog, Transcript};

/// The messages so far, and what was decided about their results.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) messages: Vec<Message>,
    pub(crate) replacements: ReplacementState,
    pub(crate) log: SessionLog,
    seen: HashSet<ToolUseId>,
    /// How it was opened, until hooks were told.
    pub(crate) opened: Option<&'static str>,
    /// The tasks in the background whose end is no news.
    told: BTreeSet<TaskId>,
}

impl Conversation {
    /// A new conversation with a fresh log.
    pub(crate) fn start(env: &SessionEnv) -> Result<Self, LogError> {
        let log = SessionLog::open(&env.log_path())?;
        let started =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        log.append(&Record::Session {
            version: 1,
            id: env.session_id.to_string(),
            cwd: innerve_pipeline::PolicySource::current(env.policy.as_ref()).cwd.clone(),
            model: env.config.model.clone(),
            started,
        })?;
        Ok(Self {
            messages: Vec::new(),
            replacements: ReplacementState::default(),
            log,
            seen: HashSet::new(),
            opened: Some("startup"),
            told: ended(env.tasks.as_ref()),
        })
    }

    /// A conversation that goes on from its log.
    pub(crate) fn resume(env: &SessionEnv, transcript: Transcript) -> Result<Self, LogError> {
        let log = SessionLog::open(&env.log_path())?;
        let mut conversation = Self {
            seen: tool_use_ids(&transcript.messages),
            replacements: ReplacementState::resume(&transcript.messages, transcript.replacements),
            messages: transcript.messages,
            opened: Some("resume"),
            log,
            told: ended(env.tasks.as_ref()),
        };
        // What was completed or repaired on loading is written back, so that it is repaired once.
        conversation.repair();
        conversation.log.append(&Record::History { messages: conversation.messages.clone() })?;
        Ok(conversation)
    }

    /// Adds a message.
    pub(crate) fn push(&mut self, message: Message) -> Result<(), LogError> {
        self.log.append(&Record::Message { message: message.clone() })?;
        append(&mut self.messages, message);
        Ok(())
    }

    /// What the model has not been told yet of tasks in the background that have ended.
    pub(crate) fn task_news(&mut self, tasks: &dyn TaskRegistry) -> Vec<ContentBlock> {
        let mut news = Vec::new();
        let mut told = BTreeSet::new();
        for task in tasks.list() {
            let how = match task.state {
                TaskState::Running => continue,
                TaskState::Completed(summary) => format!("has completed: {summary}"),
                TaskState::Failed(summary) => format!("has failed: {summary}"),
                TaskState::Killed => "was stopped".to_owned(),
            };
            if !self.told.contains(&task.id) {
                let id = &task.id.0;
                let text = format!("[Background task {id} ({}) {how}]", task.description);
                news.push(ContentBlock::text(fit_error(&text)));
            }
            told.insert(task.id);
        }
        self.told = told;
        news
    }

    /// Adds text for the model after what the user said last.
    pub(crate) fn push_user(&mut self, content: Vec<ContentBlock>) -> Result<(), LogError> {
        self.push(Message::new(Role::User, content))
    }

    /// Gives a tool use an id that the API takes and that no other has; models and proxies repeat ids.
    pub(crate) fn adopt(&mut self, tool_use: &mut ToolUse, new_id: &dyn Fn() -> String) {
        if tool_use.id.is_plain() && self.seen.insert(tool_use.id.clone()) {
            return;
        }
        let fresh = ToolUseId::new(format!("toolu_{}", new_id()));
        let stem = if fresh.is_plain() { fresh } else { ToolUseId::new("toolu") };
        // The number ends it, whatever the maker of ids repeats.
        tool_use.id = stem.clone();
        let mut number = 1_u64;
        while !self.seen.insert(tool_use.id.clone()) {
            number += 1;
            tool_use.id = ToolUseId::new(format!("{stem}_{number}"));
        }
    }

    /// Makes the history one that an API takes; what had to be mended is written to the log.
    pub(crate) fn repair(&mut self) -> bool {
        let repairs = normalize(&mut self.messages);
        !repairs.is_empty()
    }

    /// As [`Self::repair`], and writes the history if it changed.
    pub(crate) fn repair_and_log(&mut self) -> Result<(), LogError> {
        if self.repair() {
            self.log.append(&Record::History { messages: self.messages.clone() })?;
        }
        Ok(())
    }
}

/// Adds a message. Two of one role in a row become one, as an API would take them.
pub(crate) fn append(messages: &mut Vec<Message>, message: Message) {
    match messages.last_mut() {
        Some(last) if last.role == message.role && message.extra.is_empty() => {
            last.content.extend(message.content);
        }
        Some(_) | None => messages.push(message),
    }
}

fn ended(tasks: &dyn TaskRegistry) -> BTreeSet<TaskId> {
    let ended = tasks.list().into_iter().filter(|task| task.state != TaskState::Running);
    ended.map(|task| task.id).collect()
}

fn tool_use_ids(messages: &[Message]) -> HashSet<ToolUseId> {
    messages.iter().flat_map(Message::tool_uses).map(|tool_use| tool_use.id.clone()).collect()
}
