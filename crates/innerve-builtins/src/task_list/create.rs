//! `TaskCreate`: puts a task on the list.

use std::fmt;
use std::sync::Arc;

use innerve_permission::facts::{self, Place};
use innerve_permission::{CallFacts, Preview};
use innerve_protocol::ToolResultContent;
use innerve_tool::port::{ListNews, ListStep, TaskListStore};
use innerve_tool::{CallContext, Tool, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::list::{NewTask, TaskNumber, Words, check_metadata};
use super::{Keep, change, line};

/// Puts tasks on the list that all agents of a session share.
pub struct TaskCreateTool {
    store: Arc<dyn TaskListStore>,
}

/// What the model gives to [`TaskCreateTool`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TaskCreateInput {
    /// What to do, in a few words: Run the tests
    pub subject: String,
    /// All that whoever does it must know
    pub description: String,
    /// The subject while it is done: Running the tests
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// Anything to keep with it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

/// What [`TaskCreateTool`] did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskCreateOutput {
    /// The new task.
    pub task: CreatedTask,
}

/// A task that was put on the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CreatedTask {
    /// Its number.
    pub id: TaskNumber,
    /// What to do.
    pub subject: String,
}

impl TaskCreateTool {
    /// Works on the list that `store` keeps.
    pub fn new(store: Arc<dyn TaskListStore>) -> Self {
        Self { store }
    }
}

impl Tool for TaskCreateTool {
    type Input = TaskCreateInput;
    type Output = TaskCreateOutput;
    type Progress = ();

    fn name(&self) -> &'static str {
        "TaskCreate"
    }

    fn description(&self) -> String {
        "Puts a task on the list that you share with your sub-agents, for work of three or more steps. It begins as pending \
         and gets a number; TaskUpdate sets how it stands, who does it and what it waits for."
            .to_owned()
    }

    async fn call(
        &self,
        input: TaskCreateInput,
        _approved: Option<Preview>,
        _context: CallContext<()>,
    ) -> Result<ToolOutput<TaskCreateOutput>, ToolError> {
        let description = input.description.clone();
        let task = change(self.store.as_ref(), |list| {
            let task = list.add(NewTask {
                subject: line(&input.subject),
                description: input.description,
                active_form: input
                    .active_form
                    .map(|words| line(&words))
                    .filter(|words| !words.is_empty()),
                metadata: input.metadata.unwrap_or_default(),
            })?;
            Ok((CreatedTask { id: task.id, subject: task.subject.clone() }, Keep::Changes))
        })?;
        let news = ListNews {
            step: ListStep::Created,
            id: task.id.to_string(),
            subject: task.subject.clone(),
            description,
        };
        if let Err(why) = self.store.announce(news).await {
            change(self.store.as_ref(), |list| {
                list.remove(task.id);
                Ok(((), Keep::Changes))
            })?;
            return Err(ToolError::invalid(format!("the task was not put on the list: {why}")));
        }
        Ok(ToolOutput::new(TaskCreateOutput { task }))
    }

    fn render(&self, output: &TaskCreateOutput) -> ToolResultContent {
        let CreatedTask { id, subject } = &output.task;
        format!("Task #{id} is on the list: {subject}").into()
    }

    async fn validate(
        &self,
        input: &TaskCreateInput,
        _context: &CallContext,
    ) -> Result<(), ToolError> {
        let words = Words {
            subject: Some(&input.subject),
            description: Some(&input.description),
            active_form: input.active_form.as_deref(),
            owner: None,
        };
        words.check()?;
        input.metadata.as_ref().map_or(Ok(()), check_metadata)
    }

    fn facts(&self, input: &Value, _context: &CallContext, place: Place<'_>) -> CallFacts {
        facts::from_call_or_strict(self.name(), input, place)
    }

    fn should_defer(&self) -> bool {
        true
    }

    fn search_hint(&self) -> &'static str {
        "task list, plan of tasks, todo, add a task"
    }

    fn classifier_input(&self, input: &TaskCreateInput) -> String {
        format!("{}\n{}", input.subject, input.description)
    }
}

impl fmt::Debug for TaskCreateTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TaskCreateTool").finish_non_exhaustive()
    }
}
