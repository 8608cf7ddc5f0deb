//! `TaskList`: all tasks of the list, a line each.

use std::fmt;
use std::sync::Arc;

use innerve_permission::facts::{self, Place};
use innerve_permission::{CallFacts, Preview};
use innerve_protocol::ToolResultContent;
use innerve_tool::port::TaskListStore;
use innerve_tool::{
    CallContext, InterruptBehavior, Tool, ToolError, ToolOutput, without_reminders,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::list::{ListedStatus, TaskList, TaskNumber};
use super::{joined, read};

/// Tells the list that all agents of a session share.
pub struct TaskListTool {
    store: Arc<dyn TaskListStore>,
}

/// What the model gives to [`TaskListTool`]: nothing.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::empty_structs_with_brackets,
    reason = "it stands for an object without fields; a unit struct stands for null"
)]
pub struct TaskListInput {}

/// What [`TaskListTool`] found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskListOutput {
    /// The tasks, by number.
    pub tasks: Vec<TaskRow>,
}

/// A task in a few words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskRow {
    /// Its number.
    pub id: TaskNumber,
    /// What to do.
    pub subject: String,
    /// How it stands.
    pub status: ListedStatus,
    /// Who works on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The tasks that it waits for and that are not done.
    pub blocked_by: Vec<TaskNumber>,
}

impl TaskRow {
    /// All rows of a list.
    pub(super) fn all(list: &TaskList) -> Vec<Self> {
        let row = |task: &super::ListedTask| Self {
            id: task.id,
            subject: task.subject.clone(),
            status: task.status,
            owner: task.owner.clone(),
            blocked_by: match task.status {
                ListedStatus::Completed => Vec::new(),
                ListedStatus::Pending | ListedStatus::InProgress => list.open_blockers(task),
            },
        };
        list.tasks().iter().map(row).collect()
    }

    fn line(&self) -> String {
        let mut line = format!("#{} [{}] {}", self.id, self.status.word(), self.subject);
        if let Some(owner) = &self.owner {
            line.push_str(&format!(" ({owner})"));
        }
        if !self.blocked_by.is_empty() {
            line.push_str(&format!(" [blocked by {}]", joined(self.blocked_by.iter().copied())));
        }
        line
    }
}

impl TaskListTool {
    /// Works on the list that `store` keeps.
    pub fn new(store: Arc<dyn TaskListStore>) -> Self {
        Self { store }
    }
}

impl Tool for TaskListTool {
    type Input = TaskListInput;
    type Output = TaskListOutput;
    type Progress = ();

    fn name(&self) -> &'static str {
        "TaskList"
    }

    fn description(&self) -> String {
        "Gives all tasks of the shared list, a line each. A pending one without owner and blockers is free to be taken; prefer \
         the lowest number."
            .to_owned()
    }

    async fn call(
        &self,
        _input: TaskListInput,
        _approved: Option<Preview>,
        _context: CallContext<()>,
    ) -> Result<ToolOutput<TaskListOutput>, ToolError> {
        let tasks = read(self.store.as_ref(), |list| Ok(TaskRow::all(list)))?;
        Ok(ToolOutput::new(TaskListOutput { tasks }))
    }

    fn render(&self, output: &TaskListOutput) -> ToolResultContent {
        if output.tasks.is_empty() {
            return "The list has no tasks.".into();
        }
        // Sub-agents have written some of it.
        without_reminders(&output.tasks.iter().map(TaskRow::line).collect::<Vec<_>>().join("\n"))
            .into()
    }

    fn facts(&self, input: &Value, _context: &CallContext, place: Place<'_>) -> CallFacts {
        facts::from_call_or_strict(self.name(), input, place)
    }

    fn is_concurrency_safe(&self, _input: &TaskListInput) -> bool {
        true
    }

    fn is_read_only(&self, _input: &TaskListInput) -> bool {
        true
    }

    fn interrupt_behavior(&self) -> InterruptBehavior {
        InterruptBehavior::Cancel
    }

    fn should_defer(&self) -> bool {
        true
    }

    fn search_hint(&self) -> &'static str {
        "task list, what is to be done, progress"
    }

    fn classifier_input(&self, _input: &TaskListInput) -> String {
        "reads the list of tasks".to_owned()
    }
}

impl fmt::Debug for TaskListTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TaskListTool").finish_non_exhaustive()
    }
}
