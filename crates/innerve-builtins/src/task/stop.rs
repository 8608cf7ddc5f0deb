//! `TaskStop`: ends a task in the background.

use std::fmt;
use std::sync::Arc;

use innerve_permission::facts::{Place, from_call};
use innerve_permission::{CallFacts, Preview};
use innerve_protocol::ToolResultContent;
use innerve_tool::port::{TaskId, TaskRegistry};
use innerve_tool::{CallContext, Tool, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Ends a task and all that it has started.
pub struct TaskStopTool {
    tasks: Arc<dyn TaskRegistry>,
}

/// What the model gives to [`TaskStopTool`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskStopInput {
    /// The task
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Former name of `task_id`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell_id: Option<String>,
}

impl TaskStopInput {
    fn id(&self) -> Result<TaskId, ToolError> {
        match (self.task_id.as_deref(), self.shell_id.as_deref()) {
            (Some(id), None) | (None, Some(id)) => super::id_of(id),
            (Some(id), Some(same)) if id.trim() == same.trim() => super::id_of(id),
            (Some(_), Some(_)) => Err(ToolError::invalid(
                "`task_id` and `shell_id` name two tasks; give `task_id` alone",
            )),
            (None, None) => Err(ToolError::invalid(
                "`task_id` is missing; give the id that the task was started with",
            )),
        }
    }
}

/// What [`TaskStopTool`] did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskStopResult {
    /// The task that was stopped.
    pub task_id: String,
    /// What it was.
    pub description: String,
}

impl TaskStopTool {
    /// Ends tasks of `tasks`.
    pub fn new(tasks: Arc<dyn TaskRegistry>) -> Self {
        Self { tasks }
    }
}

impl Tool for TaskStopTool {
    type Input = TaskStopInput;
    type Output = TaskStopResult;
    type Progress = ();

    fn name(&self) -> &'static str {
        "TaskStop"
    }

    fn aliases(&self) -> &[&str] {
        &["KillShell"]
    }

    fn description(&self) -> String {
        "Ends a background task with all that it has started.".to_owned()
    }

    async fn call(
        &self,
        input: TaskStopInput,
        _approved: Option<Preview>,
        _context: CallContext<()>,
    ) -> Result<ToolOutput<TaskStopResult>, ToolError> {
        let id = input.id()?;
        let description = self.tasks.get(&id).map(|task| task.description).unwrap_or_default();
        self.tasks.stop(&id).map_err(|error| super::refused(&error, self.tasks.as_ref()))?;
        Ok(ToolOutput::new(TaskStopResult { task_id: id.to_string(), description }))
    }

    fn render(&self, output: &TaskStopResult) -> ToolResultContent {
        format!("Task {} ({}) was stopped.", output.task_id, output.description).into()
    }

    async fn validate(
        &self,
        input: &TaskStopInput,
        _context: &CallContext,
    ) -> Result<(), ToolError> {
        input.id().map(|_| ())
    }

    fn facts(&self, input: &Value, _context: &CallContext, place: Place<'_>) -> CallFacts {
        from_call(self.name(), input, place)
            .unwrap_or_else(|| CallFacts::new(self.name(), input.clone()))
    }

    fn search_hint(&self) -> &'static str {
        "stop, kill background commands and agents"
    }

    fn classifier_input(&self, input: &TaskStopInput) -> String {
        input.id().map(|id| id.to_string()).unwrap_or_default()
    }
}

impl fmt::Debug for TaskStopTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TaskStopTool").finish_non_exhaustive()
    }
}
