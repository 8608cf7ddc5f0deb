//! Commands in the background.

use innerve_tool::port::{TaskError, TaskId, TaskKind, TaskRegistry, TaskState, TaskStatus};

use super::*;

/// A registry of one task.
#[derive(Default)]
struct OneTask {
    state: Mutex<Option<TaskState>>,
    stop: Mutex<Option<CancellationToken>>,
    refuses: bool,
}

impl TaskRegistry for OneTask {
    fn register(
        &self,
        _kind: TaskKind,
        _description: &str,
        _output: Option<PathBuf>,
        stop: CancellationToken,
    ) -> Result<TaskId, TaskError> {
        if self.refuses {
            return Err(TaskError::Unavailable);
        }
        *self.state.lock().unwrap() = Some(TaskState::Running);
        *self.stop.lock().unwrap() = Some(stop);
        Ok(TaskId("b00000001".to_owned()))
    }

    fn update(&self, _id: &TaskId, state: TaskState) {
        *self.state.lock().unwrap() = Some(state);
    }

    fn list(&self) -> Vec<TaskStatus> {
        Vec::new()
    }

    fn get(&self, _id: &TaskId) -> Option<TaskStatus> {
        None
    }

    fn stop(&self, _id: &TaskId) -> Result<(), TaskError> {
        self.stop.lock().unwrap().as_ref().unwrap().cancel();
        Ok(())
    }
}

impl OneTask {
    async fn end(&self) -> TaskState {
        for _ in 0..500 {
            let state = self.state.lock().unwrap().clone().unwrap();
            if state != TaskState::Running {
                return state;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the task does not end");
    }
}

fn bench(tasks: &Arc<OneTask>) -> Bench {
    let mut bench = Bench::new();
    bench.tool = BashTool::new(
        Arc::new(HostProcesses::new()),
        Arc::new(DiskSpool::new(&bench.spool)),
        Arc::new(HostClock),
        BashOptions::default(),
    )
    .with_tasks(Arc::<OneTask>::clone(tasks));
    bench
}

fn in_background(command: &str) -> BashInput {
    BashInput { run_in_background: Some(true), ..command_of(command) }
}

#[tokio::test]
async fn a_background_command_returns_at_once_and_ends_by_itself() {
    let tasks = Arc::new(OneTask::default());
    let bench = bench(&tasks);
    let output = bench.call(in_background("sleep 0.2; echo out; echo err >&2")).await.unwrap();
    assert_eq!(output.data.background_task_id.as_deref(), Some("b00000001"));
    let path = output.data.persisted_output_path.clone().unwrap();
    let text = bench.tool.render(&output.data).plain_text();
    assert!(text.contains("b00000001") && text.contains(&path), "{text}");
    assert_eq!(tasks.end().await, TaskState::Completed("exit code 0".to_owned()));
    assert_eq!(fs::read_to_string(path).unwrap(), "out\nerr\n");
}

#[tokio::test]
async fn a_background_command_that_fails_says_so() {
    let tasks = Arc::new(OneTask::default());
    bench(&tasks).call(in_background("exit 3")).await.unwrap();
    assert_eq!(tasks.end().await, TaskState::Failed("exit code 3".to_owned()));
}

#[tokio::test]
async fn a_stopped_task_takes_its_children_along() {
    let tasks = Arc::new(OneTask::default());
    let bench = bench(&tasks);
    bench.call(in_background("sleep 64.01 & sleep 64.02; true")).await.unwrap();
    while !is_alive("64.02") {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    bench.cancellation.cancel();
    tasks.stop(&TaskId("b00000001".to_owned())).unwrap();
    assert_eq!(tasks.end().await, TaskState::Killed);
    assert_gone("64.01").await;
    assert_gone("64.02").await;
}

#[tokio::test]
async fn a_task_that_cannot_be_registered_does_not_run() {
    let tasks = Arc::new(OneTask { refuses: true, ..OneTask::default() });
    let bench = bench(&tasks);
    let error = bench.call(in_background("sleep 64.03")).await.unwrap_err();
    assert!(error.message().contains("not available"));
    assert_gone("64.03").await;
    assert_eq!(bench.spooled_files(), 0);
}

#[test]
fn background_commands_end_with_the_runtime() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let tasks = Arc::new(OneTask::default());
    let bench = bench(&tasks);
    runtime.block_on(async {
        bench.call(in_background("sleep 64.04; true")).await.unwrap();
        while !is_alive("64.04") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    drop(runtime);
    tokio::runtime::Runtime::new().unwrap().block_on(assert_gone("64.04"));
}
