//! Runs a command in the background: as a task, with its output in a file.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use innerve_tool::port::{
    ExitStatus, OutputSink, RunningProcess, SpoolFile, StdStream, TaskId, TaskKind, TaskRegistry,
    TaskState,
};
use innerve_tool::{CallContext, CancellationToken, ToolError, ToolOutput, code};

use super::exit;
use super::startup::Started;
use super::{BashInput, BashOutput, BashProgress, BashTool, run};

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
        let output = Arc::new(FileSink { file: Mutex::new(Some(file)) });
        let sink: Arc<dyn OutputSink> = Arc::<FileSink>::clone(&output);
        let started = self.startup.begin();
        let told = started.as_ref().map(Started::unfollowed);
        let request = self.request(input, &start.cwd, told);
        let mut process = match self.spawn(request, sink).await {
            Ok(process) => process,
            Err(error) => {
                output.discard();
                return Err(error);
            }
        };
        let stop = CancellationToken::new();
        let description = input.description.as_deref().unwrap_or(&input.command);
        let registered =
            tasks.register(TaskKind::Shell, description, Some(path.clone()), stop.clone());
        let id = match registered {
            Ok(id) => id,
            Err(error) => {
                // It was not meant to run unwatched; if it does not end now, dropping it forces it.
                drop(process.kill().await);
                output.discard();
                return Err(ToolError::new(code::FAILED, error.to_string()));
            }
        };
        let task = Task { id: id.clone(), tasks, stop, output, _started: started };
        tokio::spawn(task.watch(process));
        Ok(ToolOutput::new(BashOutput {
            stdout: format!(
                "Running in the background as task {}. Its output goes to {}. Changes of directory do not apply.",
                id.0,
                path.display()
            ),
            background_task_id: Some(id.0),
            persisted_output_path: Some(path.display().to_string()),
            ..BashOutput::default()
        }))
    }
}

struct Task {
    id: TaskId,
    tasks: Arc<dyn TaskRegistry>,
    stop: CancellationToken,
    output: Arc<FileSink>,
    /// Bash reads it some time after it was started.
    _started: Option<Started>,
}

impl Task {
    async fn watch(self, mut process: Box<dyn RunningProcess>) {
        let ended = {
            let exit = process.wait();
            tokio::select! {
                biased;
                status = exit => Some(status),
                () = self.stop.cancelled() => None,
            }
        };
        let state = match ended {
            Some(Ok(ExitStatus::Code(0))) => TaskState::Completed("exit code 0".to_owned()),
            Some(Ok(ExitStatus::Code(code))) => TaskState::Failed(format!("exit code {code}")),
            Some(Ok(ExitStatus::Signal(signal))) => TaskState::Failed(exit::killed_by(signal)),
            Some(Err(error)) => TaskState::Failed(error.to_string()),
            None => {
                // What does not end now is forced to when it is dropped.
                drop(process.kill().await);
                TaskState::Killed
            }
        };
        drop(process);
        self.output.keep();
        self.tasks.update(&self.id, state);
    }
}

/// Writes both streams into a file as they come.
struct FileSink {
    file: Mutex<Option<Box<dyn SpoolFile>>>,
}

impl FileSink {
    fn take(&self) -> Option<Box<dyn SpoolFile>> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn keep(&self) {
        if let Some(file) = self.take() {
            // The task's state is told all the same; whoever reads the file sees what is missing.
            drop(file.keep());
        }
    }

    fn discard(&self) {
        if let Some(file) = self.take() {
            file.discard();
        }
    }
}

impl OutputSink for FileSink {
    fn write(&self, _stream: StdStream, bytes: &[u8]) {
        if let Some(file) = self.file.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            file.write(bytes);
        }
    }
}

impl fmt::Debug for FileSink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FileSink").finish_non_exhaustive()
    }
}
