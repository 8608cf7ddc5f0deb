//! What a compacted conversation is given besides the summary: the plan, the list of tasks, the files read last.

use std::collections::HashSet;
use std::sync::Arc;

use innerve_pipeline::{Outcome, Requested, Unattended};
use innerve_protocol::{ContentBlock, SharedMessage, ToolUse, ToolUseId};
use innerve_tool::Lookup;
use serde_json::Value;

use crate::looping::Looping;

/// Files that are read again at most.
const MAX_FILES: usize = 5;
/// Characters of one file at most: about 5,000 tokens.
const MAX_FILE: usize = 20_000;
/// The tool that reads files.
const READ: &str = "Read";
/// How a list of tasks begins.
const TASKS: &str = "[Your list of tasks:]";
/// How a plan begins.
const PLAN: &str = "[The plan that the user approved:]";

impl Looping<'_> {
    /// What goes into the first message of a compacted conversation.
    pub(super) async fn carried(&self) -> Vec<ContentBlock> {
        let messages = self.conversation.messages();
        let tasks = match &self.env.task_list {
            Some(list) => list.open().map(|lines| format!("{TASKS}\n{}", lines.join("\n"))),
            None => tasks(messages),
        };
        let mut texts: Vec<String> = [plan(messages), tasks].into_iter().flatten().collect();
        for tool_use in recent_reads(messages) {
            texts.extend(self.read_again(tool_use).await);
        }
        texts.into_iter().map(ContentBlock::text).collect()
    }

    /// Reads a file anew, as it is now. It goes the way of every tool use, but nobody is asked.
    async fn read_again(&self, tool_use: ToolUse) -> Option<String> {
        let turn = self.turn();
        if !matches!(turn.pool.find(READ), Lookup::Found(_)) {
            return None;
        }
        let pipeline = self.env.pipeline.clone().with_approver(Arc::new(Unattended));
        let path = file(&tool_use)?.to_owned();
        let id = ToolUseId::new(format!("toolu_{}", (self.env.new_id)()));
        let tool_use = ToolUse { id, ..tool_use };
        let settled = pipeline.run(Requested { tool_use, invalid_input: None }, &turn).await;
        if !matches!(settled.outcome, Outcome::Succeeded) {
            return None;
        }
        let text = settled.result.content.plain_text();
        if text.trim().is_empty() {
            return None;
        }
        let kept: String = text.chars().take(MAX_FILE).collect();
        let cut = if kept.len() < text.len() {
            "\n[cut here; read it again if you need the rest]"
        } else {
            ""
        };
        Some(format!("[{path} as it is now:]\n{kept}{cut}"))
    }
}

/// The plan that was approved last.
fn plan(messages: &[SharedMessage]) -> Option<String> {
    let approved = last_success(messages, "ExitPlanMode");
    let plan = approved.and_then(|tool_use| tool_use.input.get("plan")?.as_str());
    plan.map(|plan| format!("{PLAN}\n{plan}")).or_else(|| carried_before(messages, PLAN))
}

/// The list of tasks as it was written last, unless all of it is done.
fn tasks(messages: &[SharedMessage]) -> Option<String> {
    let Some(tool_use) = last_success(messages, "TodoWrite") else {
        return carried_before(messages, TASKS);
    };
    let mut lines = vec![TASKS.to_owned()];
    let mut open = false;
    for task in tool_use.input.get("todos")?.as_array()? {
        let word = |field: &str| task.get(field).and_then(Value::as_str).unwrap_or_default();
        open |= word("status") != "completed";
        lines.push(format!("- {}: {}", word("status"), word("content")));
    }
    open.then(|| lines.join("\n"))
}

/// What an earlier compaction carried over.
fn carried_before(messages: &[SharedMessage], heading: &str) -> Option<String> {
    let mut texts = messages.first()?.content.iter().filter_map(ContentBlock::as_text);
    texts.find(|text| text.starts_with(heading)).map(str::to_owned)
}

/// The last call of a tool that succeeded.
fn last_success<'a>(messages: &'a [SharedMessage], tool: &str) -> Option<&'a ToolUse> {
    let failed = failed(messages);
    let calls = messages.iter().rev().flat_map(|message| message.content.iter().rev());
    let mut calls = calls.filter_map(ContentBlock::as_tool_use);
    calls.find(|tool_use| tool_use.name == tool && !failed.contains(&tool_use.id))
}

/// The files that were read last, each once, the latest first.
fn recent_reads(messages: &[SharedMessage]) -> Vec<ToolUse> {
    let failed = failed(messages);
    let mut paths = HashSet::new();
    let calls = messages.iter().rev().flat_map(|message| message.content.iter().rev());
    calls
        .filter_map(ContentBlock::as_tool_use)
        .filter(|tool_use| tool_use.name == READ && !failed.contains(&tool_use.id))
        .filter(|tool_use| file(tool_use).is_some_and(|path| paths.insert(path.to_owned())))
        .take(MAX_FILES)
        .cloned()
        .collect()
}

fn file(tool_use: &ToolUse) -> Option<&str> {
    tool_use.input.get("file_path")?.as_str()
}

fn failed(messages: &[SharedMessage]) -> HashSet<&ToolUseId> {
    let results = messages.iter().flat_map(|message| &message.content);
    let results = results.filter_map(ContentBlock::as_tool_result);
    results.filter(|result| result.failed()).map(|result| &result.tool_use_id).collect()
}
