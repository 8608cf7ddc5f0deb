//! `TaskOutput`: what a task in the background has put out since it was last asked about.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use innerve_permission::facts::{Place, from_call};
use innerve_permission::{CallFacts, Preview};
use innerve_protocol::ToolResultContent;
use innerve_tool::port::{Clock, TaskError, TaskId, TaskRegistry, TaskState, TaskStatus};
use innerve_tool::{CallContext, InterruptBehavior, ResultLimit, Tool, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bash::plain;

/// How long a call waits unless it says otherwise.
const DEFAULT_WAIT: Duration = Duration::from_secs(30);
/// How long a call may wait.
const MAX_WAIT: Duration = Duration::from_mins(10);
/// How often a task is looked at while it is waited for.
const POLL: Duration = Duration::from_millis(50);
/// How much of the new output is read, in bytes; earlier bytes stay in the file.
const MAX_BYTES: u64 = 30_000;

/// Tells how a task stands and what it has put out since the last call for it.
pub struct TaskOutputTool {
    tasks: Arc<dyn TaskRegistry>,
    clock: Arc<dyn Clock>,
    /// How many bytes of each task's file were told.
    told: Mutex<BTreeMap<TaskId, u64>>,
}

/// What the model gives to [`TaskOutputTool`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskOutputInput {
    /// The task
    pub task_id: String,
    /// Wait until it ends (default true)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<bool>,
    /// Milliseconds to wait (default 30000, at most 600000)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
}

/// What [`TaskOutputTool`] found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskOutputResult {
    /// The task, as it stands now.
    pub task: TaskStatus,
    /// What it has put out since the last call, as plain text.
    pub output: String,
    /// How many bytes of new output were left out before that.
    pub skipped_bytes: u64,
    /// Whether the time to wait was over before the task had ended.
    pub timed_out: bool,
}

impl TaskOutputTool {
    /// Looks at the tasks of `tasks`.
    pub fn new(tasks: Arc<dyn TaskRegistry>, clock: Arc<dyn Clock>) -> Self {
        Self { tasks, clock, told: Mutex::default() }
    }

    fn task(&self, id: &TaskId) -> Result<TaskStatus, ToolError> {
        let unknown = || super::refused(&TaskError::Unknown(id.clone()), self.tasks.as_ref());
        self.tasks.get(id).ok_or_else(unknown)
    }

    /// Waits for the end of the task, or for the end of the time.
    async fn wait(
        &self,
        id: &TaskId,
        limit: Duration,
        context: &CallContext<()>,
    ) -> Result<(TaskStatus, bool), ToolError> {
        let started = self.clock.instant();
        loop {
            let task = self.task(id)?;
            if task.state != TaskState::Running {
                return Ok((task, false));
            }
            let left =
                limit.saturating_sub(self.clock.instant().saturating_duration_since(started));
            if left.is_zero() {
                return Ok((task, true));
            }
            let pause = self.clock.sleep(POLL.min(left));
            if context.cancellation.run_until_cancelled(pause).await.is_none() {
                return Err(ToolError::interrupted());
            }
        }
    }

    /// Reads what is new in the file of a task, and notes how far that was.
    fn news(&self, task: &TaskStatus, path: &Path) -> io::Result<(String, u64)> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.tasks.list();
        told.retain(|id, _| known.iter().any(|task| task.id == *id));
        let from = told.get(&task.id).copied().unwrap_or_default();
        let (text, skipped, to) = read_from(path, from, task.state != TaskState::Running)?;
        told.insert(task.id.clone(), to);
        Ok((text, skipped))
    }
}

/// The text of a file from a place on, at most [`MAX_BYTES`] of its end; how many bytes were left out, and where it was
/// read to. A character that is not complete yet is left for later unless the file `is_complete`.
fn read_from(path: &Path, from: u64, is_complete: bool) -> io::Result<(String, u64, u64)> {
    let mut file = File::open(path)?;
    let end = file.metadata()?.len();
    let start = from.max(end.saturating_sub(MAX_BYTES)).min(end);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(end - start).read_to_end(&mut bytes)?;
    if !is_complete && let Some(cut) = bytes.utf8_chunks().last() {
        // At most three bytes can be the beginning of a character.
        let open = cut.invalid().len();
        let begins =
            std::str::from_utf8(cut.invalid()).is_err_and(|error| error.error_len().is_none());
        if begins {
            bytes.truncate(bytes.len() - open);
        }
    }
    let to = start + bytes.len() as u64;
    if start > from {
        // What is left of a character whose beginning was left out.
        let torn = bytes.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
        bytes.drain(..torn);
    }
    Ok((plain(&bytes), to - from - bytes.len() as u64, to))
}

impl Tool for TaskOutputTool {
    type Input = TaskOutputInput;
    type Output = TaskOutputResult;
    type Progress = ();

    fn name(&self) -> &'static str {
        "TaskOutput"
    }

    fn aliases(&self) -> &[&str] {
        &["BashOutput"]
    }

    fn description(&self) -> String {
        "Tells how a background task stands and what it has put out since you last asked. You are told of its end in any \
         case."
            .to_owned()
    }

    async fn call(
        &self,
        input: TaskOutputInput,
        _approved: Option<Preview>,
        context: CallContext<()>,
    ) -> Result<ToolOutput<TaskOutputResult>, ToolError> {
        let id = super::id_of(&input.task_id)?;
        let limit = match (input.block, input.timeout) {
            (Some(false), _) => Duration::ZERO,
            (Some(true) | None, Some(limit)) => Duration::from_millis(limit).min(MAX_WAIT),
            (Some(true) | None, None) => DEFAULT_WAIT,
        };
        let (task, timed_out) = self.wait(&id, limit, &context).await?;
        let (output, skipped_bytes) = match &task.output {
            None => (String::new(), 0),
            Some(path) => self.news(&task, path).map_err(|error| {
                let what = format!(
                    "task {} {}, and its output cannot be read",
                    id.as_str(),
                    super::standing(&task.state)
                );
                ToolError::io(&what, &error)
            })?,
        };
        let timed_out = timed_out && input.block != Some(false);
        Ok(ToolOutput::new(TaskOutputResult { task, output, skipped_bytes, timed_out }))
    }

    fn render(&self, output: &TaskOutputResult) -> ToolResultContent {
        let TaskOutputResult { task, output, skipped_bytes, timed_out } = output;
        let still = if *timed_out { " still" } else { "" };
        let mut text = format!("Task {} ({})", task.id.as_str(), task.description);
        text.push_str(&match task.state {
            TaskState::Running => format!(" is{still} running."),
            TaskState::Completed(_) | TaskState::Failed(_) | TaskState::Killed => {
                format!(" {}.", super::standing(&task.state))
            }
        });
        let file = || task.output.as_ref().map_or_else(PathBuf::new, PathBuf::clone);
        if output.is_empty() {
            if task.output.is_some() {
                text.push_str(" No new output.");
            }
        } else if *skipped_bytes > 0 {
            text.push_str(&format!(
                " The end of its new output ({skipped_bytes} bytes before it are in {}):\n{output}",
                file().display()
            ));
        } else {
            text.push_str(&format!(" New output:\n{output}"));
        }
        text.into()
    }

    fn facts(&self, input: &Value, _context: &CallContext, place: Place<'_>) -> CallFacts {
        from_call(self.name(), input, place)
            .unwrap_or_else(|| CallFacts::new(self.name(), input.clone()))
    }

    fn is_concurrency_safe(&self, _input: &TaskOutputInput) -> bool {
        true
    }

    fn is_read_only(&self, _input: &TaskOutputInput) -> bool {
        true
    }

    fn interrupt_behavior(&self) -> InterruptBehavior {
        InterruptBehavior::Cancel
    }

    fn result_limit(&self) -> ResultLimit {
        ResultLimit::SelfBounded
    }

    fn search_hint(&self) -> &'static str {
        "output and exit code of background commands and agents"
    }

    fn classifier_input(&self, input: &TaskOutputInput) -> String {
        input.task_id.clone()
    }

    fn accepts_text_scalars(&self) -> bool {
        true
    }
}

impl fmt::Debug for TaskOutputTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TaskOutputTool").finish_non_exhaustive()
    }
}
