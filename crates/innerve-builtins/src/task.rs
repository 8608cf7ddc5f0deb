//! The tools for background work: `TaskOutput` tells what a task has put out since it was last asked about, `TaskStop` ends
//! it.

mod output;
mod stop;

pub use output::{TaskOutputInput, TaskOutputResult, TaskOutputTool};
pub use stop::{TaskStopInput, TaskStopResult, TaskStopTool};

use innerve_tool::port::{TaskError, TaskId, TaskRegistry, TaskState};
use innerve_tool::{ToolError, code as tool_code};

use crate::code;

/// How a task stands, in words that follow "the task".
fn standing(state: &TaskState) -> String {
    match state {
        TaskState::Running => "is running".to_owned(),
        TaskState::Completed(summary) => format!("has completed: {summary}"),
        TaskState::Failed(summary) => format!("has failed: {summary}"),
        TaskState::Killed => "was stopped".to_owned(),
    }
}

/// The error for a task that cannot be found or stopped; of an unknown one it names those there are.
fn refused(error: &TaskError, tasks: &dyn TaskRegistry) -> ToolError {
    let unknown = matches!(error, TaskError::Unknown(_));
    let mut message = error.to_string();
    if unknown {
        let ids: Vec<String> = tasks.list().into_iter().map(|task| task.id.to_string()).collect();
        let last = ids.iter().rev().take(MAX_NAMED).cloned().collect::<Vec<_>>();
        message.push_str(&match last.as_slice() {
            [] => "; none was started".to_owned(),
            names => format!("; the last ones are {}", names.join(", ")),
        });
    }
    ToolError::new(if unknown { tool_code::NOT_FOUND } else { code::TASK }, message)
}

/// How many ids an error names.
const MAX_NAMED: usize = 10;

fn id_of(given: &str) -> Result<TaskId, ToolError> {
    match given.trim() {
        "" => Err(ToolError::invalid(
            "the task id is empty; give the one that the task was started with",
        )),
        id => Ok(TaskId::new(id)),
    }
}
