//! `TaskGet`: one task of the list, in full.

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

use super::list::{ListedTask, TaskNumber};
use super::{joined, read};

/// Tells one task of the list that all agents of a session share.
pub struct TaskGetTool {
    store: Arc<dyn TaskListStore>,
}

/// What the model gives to [`TaskGetTool`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TaskGetInput {
    /// Its number
    pub task_id: String,
}

/// What [`TaskGetTool`] found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskGetOutput {
    /// The task.
    pub task: TaskDetails,
}

/// A task with its place among the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskDetails {
    /// The task itself.
    #[serde(flatten)]
    pub task: ListedTask,
    /// The tasks that wait for it.
    pub blocks: Vec<TaskNumber>,
    /// Those that it waits for and that are not done.
    pub open_blockers: Vec<TaskNumber>,
}

impl TaskGetTool {
    /// Works on the list that `store` keeps.
    pub fn new(store: Arc<dyn TaskListStore>) -> Self {
        Self { store }
    }
}

impl Tool for TaskGetTool {
    type Input = TaskGetInput;
    type Output = TaskGetOutput;
    type Progress = ();

    fn name(&self) -> &'static str {
        "TaskGet"
    }

    fn description(&self) -> String {
        "Gives a task of the shared list in full: description, edges, metadata.".to_owned()
    }

    async fn call(
        &self,
        input: TaskGetInput,
        _approved: Option<Preview>,
        _context: CallContext<()>,
    ) -> Result<ToolOutput<TaskGetOutput>, ToolError> {
        let task = read(self.store.as_ref(), |list| {
            let task = list.find(&input.task_id)?;
            Ok(TaskDetails {
                blocks: list.blocks(task.id),
                open_blockers: list.open_blockers(task),
                task: task.clone(),
            })
        })?;
        Ok(ToolOutput::new(TaskGetOutput { task }))
    }

    fn render(&self, output: &TaskGetOutput) -> ToolResultContent {
        let TaskDetails { task, blocks, open_blockers } = &output.task;
        let mut lines = vec![format!("#{} [{}] {}", task.id, task.status.word(), task.subject)];
        lines.extend(task.owner.as_ref().map(|owner| format!("Owner: {owner}")));
        if !task.blocked_by.is_empty() {
            let open = match open_blockers.as_slice() {
                [] => "all done".to_owned(),
                open => format!("open: {}", joined(open.iter().copied())),
            };
            lines.push(format!("Blocked by: {} ({open})", joined(task.blocked_by.iter().copied())));
        }
        if !blocks.is_empty() {
            lines.push(format!("Blocks: {}", joined(blocks.iter().copied())));
        }
        if !task.metadata.is_empty() {
            lines.push(format!("Metadata: {}", Value::Object(task.metadata.clone())));
        }
        if !task.description.trim().is_empty() {
            lines.push(format!("\n{}", task.description.trim()));
        }
        // A sub-agent may have written it.
        without_reminders(&lines.join("\n")).into()
    }

    fn facts(&self, input: &Value, _context: &CallContext, place: Place<'_>) -> CallFacts {
        facts::from_call_or_strict(self.name(), input, place)
    }

    fn is_concurrency_safe(&self, _input: &TaskGetInput) -> bool {
        true
    }

    fn is_read_only(&self, _input: &TaskGetInput) -> bool {
        true
    }

    fn interrupt_behavior(&self) -> InterruptBehavior {
        InterruptBehavior::Cancel
    }

    fn should_defer(&self) -> bool {
        true
    }

    fn search_hint(&self) -> &'static str {
        "task list, details of a task"
    }

    fn classifier_input(&self, input: &TaskGetInput) -> String {
        input.task_id.clone()
    }
}

impl fmt::Debug for TaskGetTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TaskGetTool").finish_non_exhaustive()
    }
}
