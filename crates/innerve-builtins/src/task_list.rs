//! The tools for the list of things to do that all agents of a session share: `TaskCreate`, `TaskUpdate`, `TaskGet` and
//! `TaskList`.
//!
//! They have nothing to do with work in the background, which [`crate::task`] is about. Who does what stands in a task's
//! `owner`, what must wait for what in its edges; [`crate::todo`] has neither and is an agent's own.

mod create;
mod get;
mod graph;
mod list;
mod overview;
mod update;

pub use create::{CreatedTask, TaskCreateInput, TaskCreateOutput, TaskCreateTool};
pub use get::{TaskDetails, TaskGetInput, TaskGetOutput, TaskGetTool};
pub use list::{ListedStatus, ListedTask, TaskNumber};
pub use overview::{TaskListInput, TaskListOutput, TaskListTool, TaskRow};
pub use update::{
    StatusChange, TaskUpdateInput, TaskUpdateOutput, TaskUpdateStatus, TaskUpdateTool,
};

use innerve_tool::ToolError;
use innerve_tool::port::TaskListStore;
use serde_json::Value;

use list::TaskList;

/// Looks at the list.
fn read<T>(
    store: &dyn TaskListStore,
    look: impl FnOnce(&TaskList) -> Result<T, ToolError>,
) -> Result<T, ToolError> {
    change(store, |list| look(list).map(|found| (found, Keep::Nothing)))
}

/// Whether a change is kept.
enum Keep {
    Nothing,
    Changes,
}

/// Changes the list as one step: all of it is kept before this returns, or nothing.
fn change<T>(
    store: &dyn TaskListStore,
    change: impl FnOnce(&mut TaskList) -> Result<(T, Keep), ToolError>,
) -> Result<T, ToolError> {
    let mut change = Some(change);
    let mut outcome = None;
    let kept = store.change(&mut |value| {
        let work = change.take()?;
        let worked = parsed(value).and_then(|mut list| work(&mut list).map(|done| (list, done)));
        match worked {
            Ok((list, (done, keep))) => {
                outcome = Some(Ok(done));
                match keep {
                    Keep::Nothing => None,
                    Keep::Changes => serde_json::to_value(list).ok(),
                }
            }
            Err(refused) => {
                outcome = Some(Err(refused));
                None
            }
        }
    });
    kept.map_err(|error| ToolError::io("the list of tasks cannot be read or kept", &error))?;
    outcome.unwrap_or_else(|| Err(ToolError::invalid("the list of tasks was not handed over")))
}

fn parsed(value: &Value) -> Result<TaskList, ToolError> {
    if value.is_null() {
        return Ok(TaskList::default());
    }
    serde_json::from_value(value.clone()).map_err(|error| {
        ToolError::invalid(format!(
            "the list of tasks of this session cannot be read ({error}); it was left as it is"
        ))
    })
}

/// Words that stand in a line.
fn line(given: &str) -> String {
    given.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn joined(ids: impl IntoIterator<Item = TaskNumber>) -> String {
    ids.into_iter().map(|id| format!("#{id}")).collect::<Vec<_>>().join(", ")
}
