//! Commands that are watched in the background.

use innerve_builtins::bash::MonitorTool;
use innerve_tool::port::{TaskKind, TaskRegistry as _, TaskState};
use serde_json::{Value, json};

use super::tasks::Tasks;
use super::*;

fn monitor(bench: &Bench, tasks: &Arc<Tasks>) -> MonitorTool {
    let shell = BashTool::new(
        Arc::new(HostProcesses::new()),
        Arc::new(DiskSpool::new(&bench.spool)),
        Arc::new(HostClock),
        BashOptions::default(),
    );
    MonitorTool::new(shell, Arc::<Tasks>::clone(tasks))
}

async fn watch(bench: &Bench, tasks: &Arc<Tasks>, input: Value) -> Result<String, ToolError> {
    let tool = monitor(bench, tasks);
    let input = serde_json::from_value(input).unwrap();
    tool.validate(&input, &bench.context().typed()).await?;
    let output = tool.call(input, None, bench.context().typed()).await?;
    Ok(tool.render(&output.data).plain_text())
}

#[tokio::test]
async fn each_line_of_standard_output_is_told_and_the_end() {
    let (bench, tasks) = (Bench::new(), Arc::new(Tasks::default()));
    let command = "echo one; echo err >&2; sleep 0.6; echo two; printf three";
    let text = watch(&bench, &tasks, json!({ "command": command, "description": "numbers" }))
        .await
        .unwrap();
    assert!(
        text.contains("numbers") && text.contains("m00000001") && text.contains("5m"),
        "{text}"
    );
    assert_eq!(tasks.end().await, TaskState::Completed("exit code 0 after 3 lines".to_owned()));
    assert_eq!(tasks.events(), ["one", "two\nthree"]);
    let task = tasks.list().remove(0);
    assert_eq!(task.kind, TaskKind::Monitor);
    let whole = fs::read_to_string(task.output.unwrap()).unwrap();
    assert!(whole.contains("err") && whole.ends_with("three"), "{whole}");
}

#[tokio::test]
async fn lines_that_come_together_are_one_event() {
    let (bench, tasks) = (Bench::new(), Arc::new(Tasks::default()));
    let input =
        json!({ "command": "for i in 1 2 3; do echo $i; done; sleep 0.5", "description": "d" });
    watch(&bench, &tasks, input).await.unwrap();
    tasks.end().await;
    assert_eq!(tasks.events(), ["1\n2\n3"]);
}

#[tokio::test]
async fn i8_a_flood_ends_the_watch() {
    let (bench, tasks) = (Bench::new(), Arc::new(Tasks::default()));
    watch(&bench, &tasks, json!({ "command": "yes 71.5.3", "description": "d" })).await.unwrap();
    let TaskState::Failed(words) = tasks.end().await else { panic!("not failed") };
    assert!(words.contains("too many lines"), "{words}");
    assert_eq!(tasks.events().len(), 1);
    assert!(tasks.events()[0].len() < 20_000);
    assert_gone("71.5.3").await;
}

#[tokio::test]
async fn a_long_line_is_cut_and_colours_are_left_out() {
    let (bench, tasks) = (Bench::new(), Arc::new(Tasks::default()));
    let command = r"head -c 100000 /dev/zero | tr '\0' a; printf '\n\033[31mred\033[0m\n\n'";
    watch(&bench, &tasks, json!({ "command": command, "description": "d" })).await.unwrap();
    tasks.end().await;
    let events = tasks.events().join("\n");
    assert_eq!(events, format!("{}\nred", "a".repeat(2_000)));
}

#[tokio::test]
async fn a_watch_ends_with_its_time_unless_it_is_persistent() {
    let (bench, tasks) = (Bench::new(), Arc::new(Tasks::default()));
    let input = json!({ "command": "echo a; sleep 72.01", "description": "d", "timeout_ms": 300 });
    watch(&bench, &tasks, input).await.unwrap();
    let TaskState::Completed(words) = tasks.end().await else { panic!("not completed") };
    assert!(words.contains("its time") && words.contains("1 lines"), "{words}");
    assert_gone("72.01").await;

    let tasks = Arc::new(Tasks::default());
    let input = json!({ "command": "sleep 72.02", "description": "d", "timeout_ms": 100, "persistent": true });
    let text = watch(&bench, &tasks, input).await.unwrap();
    assert!(text.contains("until the session ends"), "{text}");
    tokio::time::sleep(Duration::from_millis(400)).await;
    let task = tasks.list().remove(0);
    assert_eq!(task.state, TaskState::Running);
    tasks.stop(&task.id).unwrap();
    assert_eq!(tasks.end().await, TaskState::Killed);
    assert_gone("72.02").await;
}

#[tokio::test]
async fn a_watch_that_cannot_be_kept_account_of_does_not_run() {
    let (bench, tasks) = (Bench::new(), Arc::new(Tasks::refusing()));
    let error = watch(&bench, &tasks, json!({ "command": "sleep 72.03", "description": "d" }))
        .await
        .unwrap_err();
    assert!(error.message().contains("not available"), "{}", error.message());
    assert_gone("72.03").await;
    assert_eq!(bench.spooled_files(), 0);
    let empty =
        watch(&bench, &tasks, json!({ "command": " ", "description": "d" })).await.unwrap_err();
    assert_eq!(empty.code(), "tool:invalid");
}

#[tokio::test]
async fn a_failing_watch_says_so() {
    let (bench, tasks) = (Bench::new(), Arc::new(Tasks::default()));
    watch(&bench, &tasks, json!({ "command": "exit 3", "description": "d" })).await.unwrap();
    assert_eq!(tasks.end().await, TaskState::Failed("exit code 3 after 0 lines".to_owned()));
}
