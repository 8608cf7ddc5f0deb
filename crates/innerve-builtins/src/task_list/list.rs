//! The list itself: what a task is, and the rules that hold for all of them whoever changes one.

use std::collections::BTreeSet;
use std::fmt;

use innerve_tool::{ToolError, code};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{graph, joined, line};

/// Tasks in a list.
pub(super) const MAX_TASKS: usize = 500;
/// Characters of a subject, of what is said while it is done, and of an owner.
const MAX_LINE: usize = 200;
/// Characters of a description.
const MAX_DESCRIPTION: usize = 10_000;
/// Bytes of a task's own data, as JSON.
const MAX_METADATA: usize = 4_000;
/// Tasks that one task may wait for.
const MAX_BLOCKERS: usize = 50;
/// Bytes of the whole list, as JSON.
const MAX_LIST: usize = 1 << 20;
/// Ids that an error names.
const MAX_NAMED: usize = 20;

/// The number of a task: small, counted up, never given twice in a session; text on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TaskNumber(u32);

impl TaskNumber {
    /// Reads an id as a model writes it: `3`, and also `#3`.
    pub fn parse(given: &str) -> Option<Self> {
        let digits = given.trim().trim_start_matches('#');
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|number| is_plain && *number > 0).map(Self)
    }
}

impl fmt::Display for TaskNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl From<TaskNumber> for String {
    fn from(number: TaskNumber) -> Self {
        number.0.to_string()
    }
}

impl TryFrom<String> for TaskNumber {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("`{text}` is no number of a task"))
    }
}

/// How a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListedStatus {
    /// Not begun.
    Pending,
    /// Being done.
    InProgress,
    /// Done.
    Completed,
}

impl ListedStatus {
    /// The word on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }
}

/// One task, as the list keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedTask {
    /// Its number.
    pub id: TaskNumber,
    /// What to do, in a few words.
    pub subject: String,
    /// All that whoever does it must know.
    pub description: String,
    /// How it stands.
    pub status: ListedStatus,
    /// The subject as it is said while it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// Who works on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The tasks that must be done before it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub blocked_by: BTreeSet<TaskNumber>,
    /// Whatever else is to be kept with it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// The tasks of a session, by number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskList {
    /// The number given last; deleted tasks do not free theirs.
    last: u32,
    tasks: Vec<ListedTask>,
}

impl TaskList {
    pub(super) fn tasks(&self) -> &[ListedTask] {
        &self.tasks
    }

    /// Adds a task; only its words are taken.
    pub(super) fn add(&mut self, task: NewTask) -> Result<&ListedTask, ToolError> {
        if self.tasks.len() >= MAX_TASKS {
            return Err(ToolError::invalid(format!(
                "the list has {MAX_TASKS} tasks and takes no more; delete those that are done (TaskUpdate, status deleted)"
            )));
        }
        let NewTask { subject, description, active_form, metadata } = task;
        self.last = self.last.saturating_add(1);
        self.tasks.push(ListedTask {
            id: TaskNumber(self.last),
            subject,
            description,
            status: ListedStatus::Pending,
            active_form,
            owner: None,
            blocked_by: BTreeSet::new(),
            metadata,
        });
        self.check()?;
        self.tasks.last().ok_or_else(|| ToolError::invalid("the task was not added"))
    }

    pub(super) fn get(&self, id: TaskNumber) -> Option<&ListedTask> {
        self.tasks.iter().find(|task| task.id == id)
    }

    pub(super) fn get_mut(&mut self, id: TaskNumber) -> Option<&mut ListedTask> {
        self.tasks.iter_mut().find(|task| task.id == id)
    }

    /// The task that is meant; the error of an unknown one names those there are.
    pub(super) fn find(&self, given: &str) -> Result<&ListedTask, ToolError> {
        TaskNumber::parse(given).and_then(|id| self.get(id)).ok_or_else(|| self.unknown(given))
    }

    fn unknown(&self, given: &str) -> ToolError {
        let given: String = given.trim().chars().take(MAX_LINE).collect();
        let there = match self.tasks.len() {
            0 => "the list is empty".to_owned(),
            count => {
                let ids = self.tasks.iter().rev().take(MAX_NAMED).map(|task| task.id);
                let more = if count > MAX_NAMED { " and older ones" } else { "" };
                let mut ids: Vec<TaskNumber> = ids.collect();
                ids.reverse();
                format!("there are {}{more}", joined(ids))
            }
        };
        ToolError::new(code::NOT_FOUND, format!("there is no task `{given}`; {there}"))
    }

    /// Takes a task off the list, and out of all edges.
    pub(super) fn remove(&mut self, id: TaskNumber) {
        self.tasks.retain(|task| task.id != id);
        for task in &mut self.tasks {
            task.blocked_by.remove(&id);
        }
    }

    /// The tasks that wait for this one.
    pub(super) fn blocks(&self, id: TaskNumber) -> Vec<TaskNumber> {
        let waiting = self.tasks.iter().filter(|task| task.blocked_by.contains(&id));
        waiting.map(|task| task.id).collect()
    }

    /// The tasks that this one waits for and that are not done.
    pub(super) fn open_blockers(&self, task: &ListedTask) -> Vec<TaskNumber> {
        let is_open = |id: &TaskNumber| {
            self.get(*id).is_some_and(|task| task.status != ListedStatus::Completed)
        };
        task.blocked_by.iter().copied().filter(is_open).collect()
    }

    /// Lets `waiting` wait for `first`; a cycle is refused.
    pub(super) fn let_wait(
        &mut self,
        waiting: TaskNumber,
        first: TaskNumber,
    ) -> Result<(), ToolError> {
        if let Some(cycle) = graph::cycle(self, waiting, first) {
            let steps = cycle.iter().map(|id| format!("#{id}")).collect::<Vec<_>>().join(" → ");
            return Err(ToolError::invalid(format!(
                "task #{waiting} cannot wait for #{first}: they would wait for each other in a cycle, {steps}"
            )));
        }
        let Some(task) = self.get_mut(waiting) else { return Ok(()) };
        task.blocked_by.insert(first);
        if task.blocked_by.len() > MAX_BLOCKERS {
            return Err(ToolError::invalid(format!(
                "task #{waiting} would wait for more than {MAX_BLOCKERS} tasks; let it wait for one that waits for them"
            )));
        }
        Ok(())
    }

    /// What must hold after every change: nothing is in progress that waits, and the list is not too large.
    pub(super) fn check(&self) -> Result<(), ToolError> {
        for task in self.tasks.iter().filter(|task| task.status == ListedStatus::InProgress) {
            let open = self.open_blockers(task);
            if !open.is_empty() {
                return Err(ToolError::invalid(format!(
                    "task #{} cannot be in progress while it waits for {}; complete or delete what it waits for, or leave it \
                     pending",
                    task.id,
                    joined(open)
                )));
            }
        }
        let bytes = serde_json::to_vec(&self.tasks).map_or(usize::MAX, |text| text.len());
        if bytes > MAX_LIST {
            return Err(ToolError::invalid(format!(
                "the list of tasks would have more than {MAX_LIST} bytes; shorten descriptions, or delete what is done"
            )));
        }
        Ok(())
    }
}

/// The words of a task that is to be.
pub(super) struct NewTask {
    pub(super) subject: String,
    pub(super) description: String,
    pub(super) active_form: Option<String>,
    pub(super) metadata: Map<String, Value>,
}

/// The words of a task, as far as they are given.
#[derive(Clone, Copy, Default)]
pub(super) struct Words<'a> {
    pub(super) subject: Option<&'a str>,
    pub(super) description: Option<&'a str>,
    pub(super) active_form: Option<&'a str>,
    pub(super) owner: Option<&'a str>,
}

impl Words<'_> {
    /// Refuses what says nothing or too much.
    pub(super) fn check(self) -> Result<(), ToolError> {
        if self.subject.is_some_and(|subject| subject.trim().is_empty()) {
            return Err(ToolError::invalid("the subject is empty; say what is to be done"));
        }
        let lines = [("subject", self.subject), ("activeForm", self.active_form)];
        for (name, words) in lines.into_iter().chain([("owner", self.owner)]) {
            if words.is_some_and(|words| line(words).chars().count() > MAX_LINE) {
                return Err(ToolError::invalid(format!(
                    "`{name}` is longer than {MAX_LINE} characters; the description takes more"
                )));
            }
        }
        if self.description.is_some_and(|text| text.chars().count() > MAX_DESCRIPTION) {
            return Err(ToolError::invalid(format!(
                "the description is longer than {MAX_DESCRIPTION} characters; put the rest into a file and name it"
            )));
        }
        Ok(())
    }
}

/// Refuses own data of a task that is too large.
pub(super) fn check_metadata(metadata: &Map<String, Value>) -> Result<(), ToolError> {
    if serde_json::to_vec(metadata).map_or(usize::MAX, |text| text.len()) > MAX_METADATA {
        return Err(ToolError::invalid(format!(
            "the metadata has more than {MAX_METADATA} bytes; put the rest into a file and name it"
        )));
    }
    Ok(())
}
