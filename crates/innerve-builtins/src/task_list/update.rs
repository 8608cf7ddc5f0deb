//! `TaskUpdate`: changes a task of the list, or takes it off.

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

use super::list::{
    ListedStatus, ListedTask, MAX_TASKS, TaskList, TaskNumber, Words, check_metadata,
};
use super::{Keep, change, joined, line, read};

/// Changes tasks of the list that all agents of a session share.
pub struct TaskUpdateTool {
    store: Arc<dyn TaskListStore>,
}

/// What the model gives to [`TaskUpdateTool`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TaskUpdateInput {
    /// Its number
    pub task_id: String,
    /// How it stands
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskUpdateStatus>,
    /// New subject
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// New description
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// New activeForm
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// Who works on it; empty: nobody
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Merged into what it has; null removes a key
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// Tasks that wait for it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub add_blocks: Option<Vec<String>>,
    /// Tasks that it waits for
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub add_blocked_by: Option<Vec<String>>,
}

/// How a task is to stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline, transform = crate::schema::plain_enum)]
pub enum TaskUpdateStatus {
    /// Not begun.
    Pending,
    /// Being done.
    InProgress,
    /// Done.
    Completed,
    /// Off the list.
    Deleted,
}

impl TaskUpdateStatus {
    fn word(self) -> &'static str {
        match self {
            Self::Pending => ListedStatus::Pending.word(),
            Self::InProgress => ListedStatus::InProgress.word(),
            Self::Completed => ListedStatus::Completed.word(),
            Self::Deleted => "deleted",
        }
    }
}

/// What [`TaskUpdateTool`] did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskUpdateOutput {
    /// Always true; a call that changes nothing of what it asks for fails.
    pub success: bool,
    /// The task.
    pub task_id: TaskNumber,
    /// What to do in it, as it is now.
    pub subject: String,
    /// How it stands; `deleted` if it is off the list.
    pub status: &'static str,
    /// The fields that are new.
    pub updated_fields: Vec<&'static str>,
    /// How it stood and stands, if that has changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_change: Option<StatusChange>,
    /// Who works on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// What it still waits for.
    pub blocked_by: Vec<TaskNumber>,
    /// The tasks that wait for nothing any more, now that this one is done or gone.
    pub unblocked: Vec<TaskNumber>,
}

/// How a task stood and stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StatusChange {
    /// Before.
    pub from: &'static str,
    /// Now.
    pub to: &'static str,
}

impl TaskUpdateTool {
    /// Works on the list that `store` keeps.
    pub fn new(store: Arc<dyn TaskListStore>) -> Self {
        Self { store }
    }
}

impl TaskUpdateInput {
    fn words(&self) -> Words<'_> {
        Words {
            subject: self.subject.as_deref(),
            description: self.description.as_deref(),
            active_form: self.active_form.as_deref(),
            owner: self.owner.as_deref(),
        }
    }

    /// Whether it says anything besides how the task stands.
    fn has_more_than_status(&self) -> bool {
        let Self {
            task_id: _,
            status: _,
            subject,
            description,
            active_form,
            owner,
            metadata,
            add_blocks,
            add_blocked_by,
        } = self;
        subject.is_some()
            || description.is_some()
            || active_form.is_some()
            || owner.is_some()
            || metadata.is_some()
            || add_blocks.is_some()
            || add_blocked_by.is_some()
    }

    /// What is told of the task if it would be done by this, and was not before.
    fn completion(
        &self,
        list: &TaskList,
        agent: Option<&str>,
    ) -> Result<Option<ListNews>, ToolError> {
        if self.status != Some(TaskUpdateStatus::Completed) {
            return Ok(None);
        }
        let mut tried = list.clone();
        let output = self.apply(&mut tried, agent)?;
        let task = tried.get(output.task_id).filter(|_| output.status_change.is_some());
        Ok(task.map(|task| ListNews {
            step: ListStep::Completed,
            id: task.id.to_string(),
            subject: task.subject.clone(),
            description: task.description.clone(),
        }))
    }

    fn apply(
        &self,
        list: &mut TaskList,
        agent: Option<&str>,
    ) -> Result<TaskUpdateOutput, ToolError> {
        let before = list.find(&self.task_id)?.clone();
        let waiting = list.blocks(before.id);
        let was_blocked: Vec<TaskNumber> = waiting
            .into_iter()
            .filter(|id| list.get(*id).is_some_and(|task| !list.open_blockers(task).is_empty()))
            .collect();
        if self.status == Some(TaskUpdateStatus::Deleted) {
            list.remove(before.id);
        } else {
            self.edit(list, &before, agent)?;
            self.link(list, before.id)?;
        }
        list.check()?;
        let after = list.get(before.id);
        let to = after.map_or("deleted", |task| task.status.word());
        let is_free = |id: &TaskNumber| {
            list.get(*id).is_some_and(|task| {
                task.status != ListedStatus::Completed && list.open_blockers(task).is_empty()
            })
        };
        Ok(TaskUpdateOutput {
            success: true,
            task_id: before.id,
            subject: after.unwrap_or(&before).subject.clone(),
            status: to,
            updated_fields: updated(&before, after, self),
            status_change: (before.status.word() != to)
                .then(|| StatusChange { from: before.status.word(), to }),
            owner: after.and_then(|task| task.owner.clone()),
            blocked_by: after.map(|task| list.open_blockers(task)).unwrap_or_default(),
            unblocked: was_blocked.into_iter().filter(is_free).collect(),
        })
    }

    /// Sets what belongs to the task alone.
    fn edit(
        &self,
        list: &mut TaskList,
        before: &ListedTask,
        agent: Option<&str>,
    ) -> Result<(), ToolError> {
        let Some(task) = list.get_mut(before.id) else { return Ok(()) };
        let status = self.status.and_then(TaskUpdateStatus::kept);
        let starts = status == Some(ListedStatus::InProgress);
        if starts && self.owner.is_none() {
            match (&task.owner, agent) {
                (Some(owner), agent)
                    if before.status == ListedStatus::InProgress && agent != Some(owner) =>
                {
                    return Err(ToolError::invalid(format!(
                        "task #{} is being done by {owner} already; take another one, or give `owner` to take it over",
                        task.id
                    )));
                }
                (None, Some(agent)) => task.owner = Some(agent.to_owned()),
                (Some(_) | None, _) => {}
            }
        }
        task.status = status.unwrap_or(task.status);
        if let Some(subject) = &self.subject {
            task.subject = line(subject);
        }
        if let Some(description) = &self.description {
            task.description.clone_from(description);
        }
        let some_line = |words: &str| Some(line(words)).filter(|words| !words.is_empty());
        if let Some(words) = &self.active_form {
            task.active_form = some_line(words);
        }
        if let Some(owner) = &self.owner {
            task.owner = some_line(owner);
        }
        for (key, value) in self.metadata.iter().flatten() {
            if value.is_null() {
                task.metadata.shift_remove(key);
            } else {
                task.metadata.insert(key.clone(), value.clone());
            }
        }
        check_metadata(&task.metadata)
    }

    /// Adds the edges.
    fn link(&self, list: &mut TaskList, id: TaskNumber) -> Result<(), ToolError> {
        for first in self.add_blocked_by.iter().flatten() {
            let first = list.find(first)?.id;
            list.let_wait(id, first)?;
        }
        for waiting in self.add_blocks.iter().flatten() {
            let waiting = list.find(waiting)?.id;
            list.let_wait(waiting, id)?;
        }
        Ok(())
    }
}

impl TaskUpdateStatus {
    fn kept(self) -> Option<ListedStatus> {
        match self {
            Self::Pending => Some(ListedStatus::Pending),
            Self::InProgress => Some(ListedStatus::InProgress),
            Self::Completed => Some(ListedStatus::Completed),
            Self::Deleted => None,
        }
    }
}

/// The fields that are other than before; edges count as given, since those of `addBlocks` belong to other tasks.
fn updated(
    before: &ListedTask,
    after: Option<&ListedTask>,
    input: &TaskUpdateInput,
) -> Vec<&'static str> {
    let Some(after) = after else { return vec!["status"] };
    let edges = |given: &Option<Vec<String>>| given.as_ref().is_some_and(|ids| !ids.is_empty());
    [
        ("status", before.status != after.status),
        ("subject", before.subject != after.subject),
        ("description", before.description != after.description),
        ("activeForm", before.active_form != after.active_form),
        ("owner", before.owner != after.owner),
        ("metadata", before.metadata != after.metadata),
        ("blocks", edges(&input.add_blocks)),
        ("blockedBy", edges(&input.add_blocked_by)),
    ]
    .into_iter()
    .filter_map(|(name, is_new)| is_new.then_some(name))
    .collect()
}

impl Tool for TaskUpdateTool {
    type Input = TaskUpdateInput;
    type Output = TaskUpdateOutput;
    type Progress = ();

    fn name(&self) -> &'static str {
        "TaskUpdate"
    }

    fn description(&self) -> String {
        "Changes a task of the shared list. Set in_progress when you begin, completed as soon as all of it is done and checked, \
         deleted if it is not wanted any more. What waits for open tasks cannot be in progress."
            .to_owned()
    }

    async fn call(
        &self,
        input: TaskUpdateInput,
        _approved: Option<Preview>,
        context: CallContext<()>,
    ) -> Result<ToolOutput<TaskUpdateOutput>, ToolError> {
        let agent = context.session.agent_id.as_ref().map(ToString::to_string);
        let news = read(self.store.as_ref(), |list| input.completion(list, agent.as_deref()))?;
        if let Some(news) = news {
            let id = news.id.clone();
            self.store.announce(news).await.map_err(|why| {
                ToolError::invalid(format!("task #{id} does not count as completed: {why}"))
            })?;
        }
        let output = change(self.store.as_ref(), |list| {
            let output = input.apply(list, agent.as_deref())?;
            let keep = if output.updated_fields.is_empty() { Keep::Nothing } else { Keep::Changes };
            Ok((output, keep))
        })?;
        Ok(ToolOutput::new(output))
    }

    fn render(&self, output: &TaskUpdateOutput) -> ToolResultContent {
        let TaskUpdateOutput { task_id, subject, status_change, .. } = output;
        let mut text = match status_change {
            Some(StatusChange { from, to }) => {
                format!("Task #{task_id} ({subject}): {from} → {to}.")
            }
            None if output.updated_fields.is_empty() => {
                format!("Task #{task_id} ({subject}) is so already; nothing was changed.")
            }
            None => format!(
                "Task #{task_id} ({subject}): updated {}.",
                output.updated_fields.join(", ")
            ),
        };
        if !output.blocked_by.is_empty() {
            let open = joined(output.blocked_by.iter().copied());
            text.push_str(&match output.status {
                "completed" => format!(" What it was to wait for is still open: {open}."),
                _ => format!(" It waits for {open}."),
            });
        }
        if !output.unblocked.is_empty() {
            text.push_str(&format!(
                " Free to be begun now: {}.",
                joined(output.unblocked.iter().copied())
            ));
        }
        text.into()
    }

    async fn validate(
        &self,
        input: &TaskUpdateInput,
        _context: &CallContext,
    ) -> Result<(), ToolError> {
        let has_more = input.has_more_than_status();
        match input.status {
            None if !has_more => {
                return Err(ToolError::invalid(
                    "nothing is to be changed; give a field, such as `status`",
                ));
            }
            Some(TaskUpdateStatus::Deleted) if has_more => {
                return Err(ToolError::invalid(
                    "a task that is deleted has no fields any more; give `status` alone",
                ));
            }
            Some(_) | None => {}
        }
        for ids in [&input.add_blocks, &input.add_blocked_by].into_iter().flatten() {
            if ids.len() > MAX_TASKS {
                let message = format!("{} ids are more than a list has tasks", ids.len());
                return Err(ToolError::invalid(message));
            }
        }
        input.words().check()?;
        input.metadata.as_ref().map_or(Ok(()), check_metadata)
    }

    fn facts(&self, input: &Value, _context: &CallContext, place: Place<'_>) -> CallFacts {
        facts::from_call_or_strict(self.name(), input, place)
    }

    fn should_defer(&self) -> bool {
        true
    }

    fn search_hint(&self) -> &'static str {
        "task list, mark a task as done, dependencies, owner"
    }

    fn classifier_input(&self, input: &TaskUpdateInput) -> String {
        let status = input.status.map(|status| status.word().to_owned());
        let words = [Some(input.task_id.clone()), status];
        let more = [&input.subject, &input.description, &input.owner].map(Clone::clone);
        words.into_iter().chain(more).flatten().collect::<Vec<_>>().join("\n")
    }
}

impl fmt::Debug for TaskUpdateTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TaskUpdateTool").finish_non_exhaustive()
    }
}
