//! Background work of a session: commands and sub-agents that go on while the conversation does.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use innerve_tool::CancellationToken;
use innerve_tool::port::{TaskError, TaskId, TaskKind, TaskRegistry, TaskState, TaskStatus};

/// Ended tasks are forgotten beyond this many.
const MAX_TASKS: usize = 1_000;

/// Events that nobody has asked for are forgotten beyond this many.
const MAX_EVENTS: usize = 200;

/// Keeps account of background work; dropping it ends all of it.
#[derive(Debug, Default)]
pub struct Tasks(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    next: u64,
    tasks: BTreeMap<u64, (TaskStatus, CancellationToken)>,
    news: Vec<TaskStatus>,
    events: Vec<(TaskId, String)>,
}

impl Tasks {
    /// The tasks that have ended since the last call, for the next turn to be told of.
    pub fn take_news(&self) -> Vec<TaskStatus> {
        std::mem::take(&mut self.table().news)
    }

    /// Ends all tasks.
    pub fn stop_all(&self) {
        for (_, stop) in self.table().tasks.values() {
            stop.cancel();
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.stop_all();
    }
}

impl TaskRegistry for Tasks {
    fn register(
        &self,
        kind: TaskKind,
        description: &str,
        output: Option<PathBuf>,
        stop: CancellationToken,
    ) -> Result<TaskId, TaskError> {
        let letter = match kind {
            TaskKind::Shell => 'b',
            TaskKind::Agent => 'a',
            TaskKind::Monitor => 'm',
        };
        let tail: String = std::iter::repeat_with(fastrand::alphanumeric).take(8).collect();
        let id = TaskId::new(format!("{letter}{}", tail.to_lowercase()));
        let state = TaskState::Running;
        let status =
            TaskStatus { id: id.clone(), kind, description: description.to_owned(), state, output };
        let mut table = self.table();
        let number = table.next;
        table.next += 1;
        table.tasks.insert(number, (status, stop));
        let ended: Option<u64> = (table.tasks.len() > MAX_TASKS)
            .then(|| {
                table
                    .tasks
                    .iter()
                    .find(|(_, (task, _))| task.state != TaskState::Running)
                    .map(|(key, _)| *key)
            })
            .flatten();
        if let Some(ended) = ended {
            table.tasks.remove(&ended);
        }
        Ok(id)
    }

    fn update(&self, id: &TaskId, state: TaskState) {
        let mut table = self.table();
        let mut news = None;
        if let Some((task, _)) = table.tasks.values_mut().find(|(task, _)| task.id == *id)
            && task.state == TaskState::Running
        {
            task.state = state;
            if task.state != TaskState::Running {
                news = Some(task.clone());
            }
        }
        table.news.extend(news);
        // Nobody may ever ask for the news.
        if table.news.len() > MAX_TASKS {
            table.news.remove(0);
        }
    }

    fn report(&self, id: &TaskId, event: String) {
        let mut table = self.table();
        table.events.push((id.clone(), event));
        // Nobody may ever ask for them.
        if table.events.len() > MAX_EVENTS {
            table.events.remove(0);
        }
    }

    fn take_events(&self) -> Vec<(TaskId, String)> {
        std::mem::take(&mut self.table().events)
    }

    fn list(&self) -> Vec<TaskStatus> {
        self.table().tasks.values().map(|(task, _)| task.clone()).collect()
    }

    fn get(&self, id: &TaskId) -> Option<TaskStatus> {
        self.table().tasks.values().map(|(task, _)| task).find(|task| task.id == *id).cloned()
    }

    fn stop(&self, id: &TaskId) -> Result<(), TaskError> {
        let mut table = self.table();
        let Some((task, stop)) = table.tasks.values_mut().find(|(task, _)| task.id == *id) else {
            return Err(TaskError::Unknown(id.clone()));
        };
        if task.state != TaskState::Running {
            return Err(TaskError::Ended(id.clone()));
        }
        task.state = TaskState::Killed;
        stop.cancel();
        Ok(())
    }
}
