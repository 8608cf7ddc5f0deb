//! Background work: who knows of it, and how it ends.

use innerve_agent::Tasks;
use innerve_tool::CancellationToken;
use innerve_tool::port::{TaskError, TaskId, TaskKind, TaskRegistry as _, TaskState};

fn register(tasks: &Tasks, kind: TaskKind) -> (TaskId, CancellationToken) {
    let stop = CancellationToken::new();
    let id = tasks.register(kind, "work", None, stop.clone()).unwrap();
    (id, stop)
}

#[test]
fn a_task_has_an_id_that_tells_its_kind() {
    let tasks = Tasks::default();
    for (kind, letter) in [(TaskKind::Shell, 'b'), (TaskKind::Agent, 'a'), (TaskKind::Monitor, 'm')]
    {
        let (id, _) = register(&tasks, kind);
        assert!(id.as_str().starts_with(letter) && id.as_str().len() == 9, "{id}");
        assert_eq!(tasks.get(&id).unwrap().state, TaskState::Running);
    }
    assert_eq!(tasks.list().len(), 3);
}

#[test]
fn a_task_ends_once_and_is_news_once() {
    let tasks = Tasks::default();
    let (id, _) = register(&tasks, TaskKind::Shell);
    tasks.update(&id, TaskState::Completed("fine".to_owned()));
    tasks.update(&id, TaskState::Failed("late".to_owned()));
    assert_eq!(tasks.get(&id).unwrap().state, TaskState::Completed("fine".to_owned()));
    assert_eq!(tasks.take_news().len(), 1);
    assert!(tasks.take_news().is_empty());
    assert_eq!(tasks.stop(&id), Err(TaskError::Ended(id.clone())));
}

#[test]
fn a_stopped_task_is_cancelled_and_stays_killed() {
    let tasks = Tasks::default();
    let (id, stop) = register(&tasks, TaskKind::Agent);
    tasks.stop(&id).unwrap();
    assert!(stop.is_cancelled());
    tasks.update(&id, TaskState::Completed("too late".to_owned()));
    assert_eq!(tasks.get(&id).unwrap().state, TaskState::Killed);
    let unknown = TaskId::new("b00000000");
    assert_eq!(tasks.stop(&unknown), Err(TaskError::Unknown(unknown.clone())));
    tasks.update(&unknown, TaskState::Killed);
}

#[test]
fn the_end_of_the_session_ends_its_tasks() {
    let tasks = Tasks::default();
    let (_, first) = register(&tasks, TaskKind::Shell);
    let (_, second) = register(&tasks, TaskKind::Agent);
    drop(tasks);
    assert!(first.is_cancelled() && second.is_cancelled());
}

#[test]
fn i8_ended_tasks_and_old_news_are_forgotten() {
    let tasks = Tasks::default();
    let (running, _) = register(&tasks, TaskKind::Shell);
    for _ in 0..3_000 {
        let (id, _) = register(&tasks, TaskKind::Shell);
        tasks.update(&id, TaskState::Completed(String::new()));
    }
    assert!(tasks.list().len() <= 1_000);
    assert!(tasks.get(&running).is_some(), "what runs is not forgotten");
    assert!(tasks.take_news().len() <= 1_000);
}

#[test]
fn i8_what_running_tasks_tell_is_told_once_and_bounded() {
    let tasks = Tasks::default();
    let (id, _) = register(&tasks, TaskKind::Monitor);
    tasks.report(&id, "one".to_owned());
    tasks.report(&id, "two".to_owned());
    let told = tasks.take_events();
    assert_eq!(told, [(id.clone(), "one".to_owned()), (id.clone(), "two".to_owned())]);
    assert!(tasks.take_events().is_empty());
    for _ in 0..1_000 {
        tasks.report(&id, "again".to_owned());
    }
    assert!(tasks.take_events().len() <= 200);
}
