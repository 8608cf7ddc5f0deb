//! Runs a command in the background: as a task, with its output in a file.

use std::path::PathBuf;
use std::sync::Arc;

use innerve_tool::port::{
    ExitStatus, OutputSink, RunningProcess, TaskError, TaskId, TaskKind, TaskRegistry, TaskState,
};
use innerve_tool::{CallContext, CancellationToken, ToolError, ToolOutput, code};

use super::capture::Capture;
use super::exit;
use super::startup::Started;
use super::text::first_chars;
use super::{BashInput, BashOutput, BashProgress, BashTool, Confined, Lease, notes, run};

/// How much of a command describes a task, in characters.
const MAX_DESCRIPTION: usize = 100;

impl BashTool {
    /// Starts the command and returns; the task goes on until the command ends, the task is stopped, or the runtime is
    /// shut down.
    pub(super) async fn start_in_background(
        &self,
        input: &BashInput,
        context: &CallContext<BashProgress>,
    ) -> Result<ToolOutput<BashOutput>, ToolError> {
        let Some(tasks) = self.tasks.clone() else {
            return Err(ToolError::invalid("`run_in_background` is not available here"));
        };
        let start = match run::start(input, context)? {
            Ok(start) => start,
            Err(refused) => return Ok(refused),
        };
        let file = self
            .spool
            .create(&context.tool_use_id)
            .map_err(|error| ToolError::io("the file for the output cannot be made", &error))?;
        let path = file.path();
        let output = Arc::new(Capture::to_file(file));
        let sink: Arc<dyn OutputSink> = Arc::<Capture>::clone(&output);
        let started = self.startup.begin();
        let told = started.as_ref().map(Started::unfollowed);
        let Confined { request, lease } = match self.request(input, &start.cwd, told, context) {
            Ok(confined) => confined,
            Err(error) => {
                output.discard();
                return Err(error);
            }
        };
        let process = match self.spawn(request, sink, context).await {
            Ok(process) => process,
            Err(error) => {
                output.discard();
                return Err(error);
            }
        };
        let work = Work { process, output, path: path.clone(), started, lease };
        let id = match register(tasks, input, work) {
            Ok(id) => id,
            Err(returned) => {
                let (error, mut work) = *returned;
                // It was not meant to run unwatched; if it does not end now, dropping it forces it.
                drop(work.process.kill().await);
                work.output.discard();
                return Err(ToolError::new(code::FAILED, error.to_string()));
            }
        };
        Ok(ToolOutput::new(BashOutput {
            stdout: format!(
                "Running in the background as task {}. Its output goes to {}. Changes of directory do not apply.",
                id.as_str(),
                path.display()
            ),
            background_task_id: Some(id.to_string()),
            persisted_output_path: Some(path.display().to_string()),
            ..BashOutput::default()
        }))
    }
}

/// A running command whose output goes to a file.
pub(super) struct Work {
    pub(super) process: Box<dyn RunningProcess>,
    pub(super) output: Arc<Capture>,
    pub(super) path: PathBuf,
    /// Bash reads it some time after it was started.
    pub(super) started: Option<Started>,
    pub(super) lease: Option<Box<dyn Lease>>,
}

/// Makes a task of a running command, and watches it to its end. What cannot be registered is given back.
pub(super) fn register(
    tasks: Arc<dyn TaskRegistry>,
    input: &BashInput,
    work: Work,
) -> Result<TaskId, Box<(TaskError, Work)>> {
    let stop = CancellationToken::new();
    let description = description(input.description.as_deref().unwrap_or(&input.command));
    let output = Some(work.path.clone());
    let id = match tasks.register(TaskKind::Shell, &description, output, stop.clone()) {
        Ok(id) => id,
        Err(error) => return Err(Box::new((error, work))),
    };
    tokio::spawn(Task { id: id.clone(), tasks, stop, work }.watch());
    Ok(id)
}

/// The first line of a text, as what a task is known by.
pub(super) fn description(words: &str) -> String {
    let words = words.trim();
    let line = words.lines().next().unwrap_or_default();
    let mut description = first_chars(line, MAX_DESCRIPTION).to_owned();
    if description.len() < words.len() {
        description.push('…');
    }
    description
}

/// What the sandbox of a command in the background refused to it, to be put behind how it ended.
pub(super) fn told(lease: Option<&dyn Lease>) -> String {
    notes(lease).iter().flat_map(|note| ["; ", note]).collect()
}

struct Task {
    id: TaskId,
    tasks: Arc<dyn TaskRegistry>,
    stop: CancellationToken,
    work: Work,
}

impl Task {
    async fn watch(self) {
        let Work { mut process, output, path: _, started, lease } = self.work;
        let ended = {
            let exit = process.wait();
            tokio::select! {
                biased;
                status = exit => Some(status),
                () = self.stop.cancelled() => None,
            }
        };
        let refused = told(lease.as_deref());
        let state = match ended {
            Some(Ok(ExitStatus::Code(0))) => TaskState::Completed(format!("exit code 0{refused}")),
            Some(Ok(ExitStatus::Code(code))) => {
                TaskState::Failed(format!("exit code {code}{refused}"))
            }
            Some(Ok(ExitStatus::Signal(signal))) => {
                TaskState::Failed(exit::killed_by(signal) + &refused)
            }
            Some(Err(error)) => TaskState::Failed(error.to_string()),
            None => {
                // What does not end now is forced to when it is dropped.
                drop(process.kill().await);
                TaskState::Killed
            }
        };
        drop((process, started, lease));
        output.keep();
        self.tasks.update(&self.id, state);
    }
}
