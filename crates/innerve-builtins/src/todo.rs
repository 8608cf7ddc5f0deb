//! The `TodoWrite` tool: the agent's own list of what is to be done, for itself and for whoever watches.

use std::sync::{Mutex, PoisonError};

use innerve_permission::facts::{self, Place};
use innerve_permission::{CallFacts, Preview};
use innerve_protocol::ToolResultContent;
use innerve_tool::{CallContext, SessionChange, Tool, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How many tasks a list may hold.
const MAX_TODOS: usize = 200;
/// How long the words of one may be, in characters.
const MAX_CHARS: usize = 1_000;

/// Keeps the list of one agent. The list is also told to the session, which may show and keep it.
#[derive(Debug, Default)]
pub struct TodoWriteTool {
    list: Mutex<Vec<Todo>>,
}

/// What the model gives to [`TodoWriteTool`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TodoWriteInput {
    /// The whole list
    pub todos: Vec<Todo>,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline, transform = crate::schema::undescribed)]
pub struct Todo {
    /// What to do: Run the tests
    pub content: String,
    /// How it stands.
    pub status: TodoStatus,
    /// The same while it is done: Running the tests
    #[serde(default, rename = "activeForm", skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
}

/// How a thing to do stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline, transform = crate::schema::plain_enum)]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Being done.
    InProgress,
    /// Done.
    Completed,
}

/// What [`TodoWriteTool`] did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TodoWriteOutput {
    /// The list before.
    pub old_todos: Vec<Todo>,
    /// The list as it was given; when all of it is done, the agent's list is empty afterwards.
    pub new_todos: Vec<Todo>,
}

impl TodoWriteTool {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Tool for TodoWriteTool {
    type Input = TodoWriteInput;
    type Output = TodoWriteOutput;
    type Progress = ();

    fn name(&self) -> &'static str {
        "TodoWrite"
    }

    fn description(&self) -> String {
        "Keeps your list of tasks, for work of three or more steps. Give the whole list each time. Mark one task in_progress \
         (activeForm: `Running tests`), and completed as soon as it is."
            .to_owned()
    }

    async fn call(
        &self,
        input: TodoWriteInput,
        _approved: Option<Preview>,
        _context: CallContext<()>,
    ) -> Result<ToolOutput<TodoWriteOutput>, ToolError> {
        let is_done = input.todos.iter().all(|todo| todo.status == TodoStatus::Completed);
        let kept = if is_done { Vec::new() } else { input.todos.clone() };
        let told = serde_json::to_value(&kept).unwrap_or_default();
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let old_todos = std::mem::replace(&mut *list, kept);
        let mut output = ToolOutput::new(TodoWriteOutput { old_todos, new_todos: input.todos });
        output.changes.push(SessionChange::SetTodos(told));
        Ok(output)
    }

    fn render(&self, output: &TodoWriteOutput) -> ToolResultContent {
        let todos = &output.new_todos;
        let count = |status| todos.iter().filter(|todo| todo.status == status).count();
        let done = count(TodoStatus::Completed);
        if done == todos.len() {
            return format!("All {done} tasks are done; the list is empty now.").into();
        }
        let next = todos
            .iter()
            .find(|todo| todo.status == TodoStatus::InProgress)
            .or_else(|| todos.iter().find(|todo| todo.status == TodoStatus::Pending));
        let next = next.map(|todo| todo.content.as_str()).unwrap_or_default();
        format!("The list is kept: {done} of {} done. Go on with: {next}", todos.len()).into()
    }

    async fn validate(
        &self,
        input: &TodoWriteInput,
        _context: &CallContext,
    ) -> Result<(), ToolError> {
        if input.todos.len() > MAX_TODOS {
            let message = format!(
                "{} tasks are too many; at most {MAX_TODOS} fit: join some",
                input.todos.len()
            );
            return Err(ToolError::invalid(message));
        }
        for (number, todo) in (1..).zip(&input.todos) {
            if todo.content.trim().is_empty() {
                let message = format!("task {number} has no content; say what is to be done");
                return Err(ToolError::invalid(message));
            }
            let words = [Some(&todo.content), todo.active_form.as_ref()];
            if words.into_iter().flatten().any(|words| words.chars().count() > MAX_CHARS) {
                let message = format!("task {number} is longer than {MAX_CHARS} characters");
                return Err(ToolError::invalid(message));
            }
        }
        Ok(())
    }

    fn facts(&self, input: &Value, _context: &CallContext, place: Place<'_>) -> CallFacts {
        facts::from_call_or_strict(self.name(), input, place)
    }

    fn always_load(&self) -> bool {
        true
    }

    fn search_hint(&self) -> &'static str {
        "todo list, plan of tasks, progress"
    }

    fn classifier_input(&self, input: &TodoWriteInput) -> String {
        let words: Vec<&str> = input.todos.iter().map(|todo| todo.content.as_str()).collect();
        words.join("\n")
    }
}
