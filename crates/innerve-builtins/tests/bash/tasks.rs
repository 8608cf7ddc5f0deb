//! Commands in the background.

use innerve_tool::port::{TaskError, TaskId, TaskKind, TaskRegistry, TaskState, TaskStatus};

use innerve_builtins::task::{TaskOutputTool, TaskStopTool};
use serde_json::{Value, json};

use super::*;

/// A registry, as the loop has one.
#[derive(Default)]
pub(crate) struct Tasks {
    known: Mutex<Vec<(TaskStatus, CancellationToken)>>,
    events: Mutex<Vec<String>>,
    refuses: bool,
}

impl TaskRegistry for Tasks {
    fn register(
        &self,
        kind: TaskKind,
        description: &str,
        output: Option<PathBuf>,
        stop: CancellationToken,
    ) -> Result<TaskId, TaskError> {
        if self.refuses {
            return Err(TaskError::Unavailable);
        }
        let mut tasks = self.known.lock().unwrap();
        let letter = if kind == TaskKind::Monitor { 'm' } else { 'b' };
        let id = TaskId::new(format!("{letter}0000000{}", tasks.len() + 1));
        let (description, state) = (description.to_owned(), TaskState::Running);
        tasks.push((TaskStatus { id: id.clone(), kind, description, state, output }, stop));
        Ok(id)
    }

    fn update(&self, id: &TaskId, state: TaskState) {
        let mut tasks = self.known.lock().unwrap();
        tasks.iter_mut().find(|(task, _)| task.id == *id).unwrap().0.state = state;
    }

    fn report(&self, _id: &TaskId, event: String) {
        self.events.lock().unwrap().push(event);
    }

    fn list(&self) -> Vec<TaskStatus> {
        self.known.lock().unwrap().iter().map(|(task, _)| task.clone()).collect()
    }

    fn get(&self, id: &TaskId) -> Option<TaskStatus> {
        self.list().into_iter().find(|task| task.id == *id)
    }

    fn stop(&self, id: &TaskId) -> Result<(), TaskError> {
        let tasks = self.known.lock().unwrap();
        let (task, stop) = tasks
            .iter()
            .find(|(task, _)| task.id == *id)
            .ok_or_else(|| TaskError::Unknown(id.clone()))?;
        if task.state != TaskState::Running {
            return Err(TaskError::Ended(id.clone()));
        }
        stop.cancel();
        Ok(())
    }
}

impl Tasks {
    pub(crate) fn refusing() -> Self {
        Self { refuses: true, ..Self::default() }
    }

    /// What was told of running tasks.
    pub(crate) fn events(&self) -> Vec<String> {
        self.events.lock().unwrap().clone()
    }

    pub(crate) async fn end(&self) -> TaskState {
        for _ in 0..500 {
            let state = self.list().into_iter().next().unwrap().state;
            if state != TaskState::Running {
                return state;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the task does not end");
    }
}

fn bench(tasks: &Arc<Tasks>) -> Bench {
    let mut bench = Bench::new();
    bench.tool = BashTool::new(
        Arc::new(HostProcesses::new()),
        Arc::new(DiskSpool::new(&bench.spool)),
        Arc::new(HostClock),
        BashOptions::default(),
    )
    .with_tasks(Arc::<Tasks>::clone(tasks));
    bench
}

fn in_background(command: &str) -> BashInput {
    BashInput { run_in_background: Some(true), ..command_of(command) }
}

#[tokio::test]
async fn a_background_command_returns_at_once_and_ends_by_itself() {
    let tasks = Arc::new(Tasks::default());
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
    let tasks = Arc::new(Tasks::default());
    bench(&tasks).call(in_background("exit 3")).await.unwrap();
    assert_eq!(tasks.end().await, TaskState::Failed("exit code 3".to_owned()));
}

#[tokio::test]
async fn a_stopped_task_takes_its_children_along() {
    let tasks = Arc::new(Tasks::default());
    let bench = bench(&tasks);
    bench.call(in_background("sleep 64.01 & sleep 64.02; true")).await.unwrap();
    while !is_alive("64.02") {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    bench.cancellation.cancel();
    tasks.stop(&TaskId::new("b00000001")).unwrap();
    assert_eq!(tasks.end().await, TaskState::Killed);
    assert_gone("64.01").await;
    assert_gone("64.02").await;
}

#[tokio::test]
async fn a_task_that_cannot_be_registered_does_not_run() {
    let tasks = Arc::new(Tasks { refuses: true, ..Tasks::default() });
    let bench = bench(&tasks);
    let error = bench.call(in_background("sleep 64.03")).await.unwrap_err();
    assert!(error.message().contains("not available"));
    assert_gone("64.03").await;
    assert_eq!(bench.spooled_files(), 0);
}

#[test]
fn background_commands_end_with_the_runtime() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let tasks = Arc::new(Tasks::default());
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

fn output_tool(tasks: &Arc<Tasks>) -> TaskOutputTool {
    TaskOutputTool::new(Arc::<Tasks>::clone(tasks) as _, Arc::new(HostClock))
}

/// What the model sees of a task.
async fn look(bench: &Bench, tool: &TaskOutputTool, input: Value) -> Result<String, ToolError> {
    let input = serde_json::from_value(input).unwrap();
    let output = tool.call(input, None, bench.context().typed()).await?;
    Ok(tool.render(&output.data).plain_text())
}

async fn stop(bench: &Bench, tasks: &Arc<Tasks>, id: &str) -> Result<String, ToolError> {
    let tool = TaskStopTool::new(Arc::<Tasks>::clone(tasks) as _);
    let input = serde_json::from_value(json!({ "task_id": id })).unwrap();
    let output = tool.call(input, None, bench.context().typed()).await?;
    Ok(tool.render(&output.data).plain_text())
}

#[tokio::test]
async fn each_look_gives_what_is_new() {
    let tasks = Arc::new(Tasks::default());
    let bench = bench(&tasks);
    let command =
        "printf '\\033[31mone\\033[0m\\n'; until [ -e go ]; do sleep 0.02; done; echo two; exit 3";
    bench
        .call(BashInput { description: Some("counts".to_owned()), ..in_background(command) })
        .await
        .unwrap();
    let tool = output_tool(&tasks);
    let now = json!({ "task_id": "b00000001", "block": false });
    let mut first = look(&bench, &tool, now.clone()).await.unwrap();
    while first.ends_with("No new output.") {
        tokio::time::sleep(Duration::from_millis(10)).await;
        first = look(&bench, &tool, now.clone()).await.unwrap();
    }
    assert_eq!(first, "Task b00000001 (counts) is running. New output:\none\n");
    let second = look(&bench, &tool, json!({ "task_id": "b00000001", "timeout": 100 })).await;
    assert_eq!(second.unwrap(), "Task b00000001 (counts) is still running. No new output.");
    fs::write(bench.project.join("go"), "").unwrap();
    let third = look(&bench, &tool, json!({ "task_id": "b00000001" })).await.unwrap();
    assert_eq!(third, "Task b00000001 (counts) has failed: exit code 3. New output:\ntwo\n");
    let fourth = look(&bench, &tool, json!({ "task_id": " b00000001 " })).await.unwrap();
    assert_eq!(fourth, "Task b00000001 (counts) has failed: exit code 3. No new output.");
    // Another agent has not been told anything yet.
    let other = look(&bench, &output_tool(&tasks), now).await.unwrap();
    assert!(other.ends_with("New output:\none\ntwo\n"), "{other}");
}

#[tokio::test]
async fn of_a_flood_the_end_is_told_and_characters_stay_whole() {
    let tasks = Arc::new(Tasks::default());
    let bench = bench(&tasks);
    bench.call(in_background("yes 汉字 | head -c 3000000; echo end")).await.unwrap();
    let tool = output_tool(&tasks);
    let text = look(&bench, &tool, json!({ "task_id": "b00000001" })).await.unwrap();
    assert!(text.chars().count() < 31_000 && text.ends_with("end\n"), "{}", text.len());
    assert!(text.contains(" bytes before it are in ") && !text.contains('\u{FFFD}'));

    bench
        .call(in_background(
            "printf '\\346\\261'; until [ -e go ]; do sleep 0.02; done; printf '\\211\\n'",
        ))
        .await
        .unwrap();
    let part = json!({ "task_id": "b00000002", "timeout": 300 });
    assert!(look(&bench, &tool, part).await.unwrap().ends_with("No new output."));
    fs::write(bench.project.join("go"), "").unwrap();
    let text = look(&bench, &tool, json!({ "task_id": "b00000002" })).await.unwrap();
    assert!(text.ends_with("New output:\n汉\n"), "{text}");
}

#[tokio::test]
async fn a_task_is_stopped_once_and_an_unknown_one_named() {
    let tasks = Arc::new(Tasks::default());
    let bench = bench(&tasks);
    let error = stop(&bench, &tasks, "b9").await.unwrap_err();
    assert_eq!(error.message(), "there is no background task `b9`; none was started");
    bench.call(in_background("sleep 64.11; true")).await.unwrap();
    let words = stop(&bench, &tasks, "b00000001").await.unwrap();
    assert_eq!(words, "Task b00000001 (sleep 64.11; true) was stopped.");
    assert_eq!(tasks.end().await, TaskState::Killed);
    assert_gone("64.11").await;
    let error = stop(&bench, &tasks, "b00000001").await.unwrap_err();
    assert_eq!(
        (error.code(), error.message()),
        ("task:ended", "background task `b00000001` has already ended")
    );
    let error = look(&bench, &output_tool(&tasks), json!({ "task_id": "x" })).await.unwrap_err();
    assert_eq!(error.message(), "there is no background task `x`; the last ones are b00000001");
}

#[tokio::test]
async fn waiting_for_a_task_ends_with_the_call() {
    let tasks = Arc::new(Tasks::default());
    let bench = bench(&tasks);
    bench.call(in_background("sleep 64.12; true")).await.unwrap();
    let tool = output_tool(&tasks);
    let (ended, ()) = tokio::join!(look(&bench, &tool, json!({ "task_id": "b00000001" })), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        bench.cancellation.cancel();
    });
    assert_eq!(ended.unwrap_err().code(), "tool:interrupted");
    tasks.stop(&TaskId::new("b00000001")).unwrap();
    tasks.end().await;
}

#[tokio::test]
async fn a_command_whose_time_is_over_goes_on_in_the_background() {
    let tasks = Arc::new(Tasks::default());
    let bench = bench(&tasks);
    let go = bench.project.join("go");
    let command =
        format!("echo early; cd /; until [ -e {} ]; do sleep 0.02; done; echo late", go.display());
    let output = bench.call(with_timeout(&command, 300)).await.unwrap();
    assert_eq!(output.data.background_task_id.as_deref(), Some("b00000001"));
    assert_eq!((output.data.timed_out_after_ms, output.data.exit_code), (Some(300), None));
    assert!(output.changes.is_empty(), "the directory does not follow");
    let path = output.data.persisted_output_path.clone().unwrap();
    let text = bench.tool.render(&output.data).plain_text();
    assert_eq!(
        text,
        format!(
            "The command did not end within 300ms and goes on in the background as task b00000001. Its output goes to \
             {path}. Changes of directory do not apply.\nIts output so far (6 bytes, 1 lines) ends with:\nearly"
        )
    );
    fs::write(bench.project.join("go"), "").unwrap();
    assert_eq!(tasks.end().await, TaskState::Completed("exit code 0".to_owned()));
    assert_eq!(fs::read_to_string(path).unwrap(), "early\nlate\n");
}

#[tokio::test]
async fn a_flood_that_is_moved_loses_no_byte() {
    let tasks = Arc::new(Tasks::default());
    let bench = bench(&tasks);
    let command = "for i in $(seq 40); do seq 1000; sleep 0.02; done";
    let output = bench.call(with_timeout(command, 300)).await.unwrap();
    let path = output.data.persisted_output_path.unwrap();
    tasks.end().await;
    let one: String = (1..=1000).flat_map(|number| [number.to_string(), "\n".to_owned()]).collect();
    assert_eq!(fs::read_to_string(path).unwrap(), one.repeat(40));
}

#[tokio::test]
async fn some_commands_are_ended_all_the_same() {
    for command in [
        "sleep 64.21",
        "sleep 64.21; echo after",
        "while :; do sleep 0.02; git status; done >/dev/null 2>&1",
        "eval 'sleep 64.21'",
    ] {
        let tasks = Arc::new(Tasks::default());
        let bench = bench(&tasks);
        let error = bench.call(with_timeout(command, 200)).await.expect_err(command);
        assert_eq!(error.code(), "tool:timed_out", "{command}");
        assert!(tasks.list().is_empty(), "{command}");
        assert_gone("64.21").await;
    }
}

#[tokio::test]
async fn a_command_that_cannot_be_moved_is_ended_with_its_output_told() {
    let tasks = Arc::new(Tasks { refuses: true, ..Tasks::default() });
    let bench = bench(&tasks);
    let error = bench.call(with_timeout("echo early; tail -f /dev/null", 200)).await.unwrap_err();
    assert_eq!(error.message(), "Command timed out after 200ms\nearly");
    assert_eq!(bench.spooled_files(), 0);
}

#[tokio::test]
async fn a_task_is_stopped_by_its_former_parameter_too() {
    let tasks = Arc::new(Tasks::default());
    let bench = bench(&tasks);
    bench.call(in_background("sleep 64.09")).await.unwrap();
    let tool = TaskStopTool::new(Arc::<Tasks>::clone(&tasks) as _);
    for odd in [json!({}), json!({ "task_id": "a", "shell_id": "b" }), json!({ "shell_id": " " })] {
        let input = serde_json::from_value(odd).unwrap();
        let error = tool.validate(&input, &bench.context().typed()).await.unwrap_err();
        assert_eq!(error.code(), "tool:invalid");
    }
    let input = serde_json::from_value(json!({ "shell_id": "b00000001" })).unwrap();
    tool.call(input, None, bench.context().typed()).await.unwrap();
    assert_eq!(tasks.end().await, TaskState::Killed);
    assert_gone("64.09").await;
}
