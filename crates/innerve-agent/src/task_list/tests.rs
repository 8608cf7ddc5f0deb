//! The list on a real disk.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use serde_json::json;

use super::*;

fn put(list: &TaskListFile, value: &Value) {
    list.change(&mut |_| Some(value.clone())).unwrap();
}

fn get(list: &TaskListFile) -> Value {
    let mut found = Value::Null;
    list.change(&mut |list| {
        found = list.clone();
        None
    })
    .unwrap();
    found
}

#[test]
fn i9_a_change_is_on_the_disk_when_it_returns() {
    let folder = tempfile::tempdir().unwrap();
    let session = folder.path().join("session");
    let list = TaskListFile::new(&session);
    assert_eq!(get(&list), Value::Null);
    assert!(!session.exists(), "a look writes nothing");
    put(&list, &json!({ "tasks": [1] }));
    // As another process would find it: nothing was closed or flushed.
    assert_eq!(get(&TaskListFile::new(&session)), json!({ "tasks": [1] }));
    assert!(TaskListFile::is_kept_in(&session));
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&session), mode(&session.join("tasks.json"))), (0o700, 0o600));
    let names: Vec<_> =
        std::fs::read_dir(&session).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names, ["tasks.json"], "nothing is left beside it");
}

#[test]
fn i9_a_list_that_cannot_be_read_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.json");
    for text in ["{ half", ""] {
        std::fs::write(&path, text).unwrap();
        let list = TaskListFile::new(folder.path());
        let mut called = false;
        let refused = list.change(&mut |_| {
            called = true;
            Some(json!(1))
        });
        assert!(refused.unwrap_err().to_string().contains("tasks.json"));
        assert!(!called);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        // As soon as it is mended it counts.
        std::fs::write(&path, "{}").unwrap();
        assert_eq!(get(&list), json!({}));
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("tasks.json");
    assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let refused = TaskListFile::new(folder.path()).change(&mut |_| Some(json!(1)));
    assert!(refused.unwrap_err().to_string().ends_with("tasks.json: it is no file"));
}

#[test]
fn a_change_that_cannot_be_kept_has_not_happened() {
    let folder = tempfile::tempdir().unwrap();
    let session = folder.path().join("session");
    let list = TaskListFile::new(&session);
    put(&list, &json!(1));
    std::fs::remove_dir_all(&session).unwrap();
    std::fs::write(&session, "in the way").unwrap();
    assert!(list.change(&mut |_| Some(json!(2))).is_err());
    assert_eq!(get(&list), json!(1));
}

#[test]
fn changes_of_many_at_once_follow_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let list = Arc::new(TaskListFile::new(folder.path()));
    let threads: Vec<_> = std::iter::repeat_with(|| {
        let list = Arc::clone(&list);
        std::thread::spawn(move || {
            for _ in 0..20 {
                list.change(&mut |count| Some(json!(count.as_u64().unwrap_or(0) + 1))).unwrap();
            }
        })
    })
    .take(8)
    .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(get(&TaskListFile::new(folder.path())), json!(160));
}

#[test]
fn a_copy_goes_its_own_way() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    copy(&from, &to).unwrap();
    assert!(!to.exists(), "there was nothing to copy");
    put(&TaskListFile::new(&from), &json!(1));
    copy(&from, &to).unwrap();
    put(&TaskListFile::new(&to), &json!(2));
    assert_eq!(get(&TaskListFile::new(&from)), json!(1));
}

#[test]
fn a_copy_of_a_list_that_cannot_be_read_is_empty_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    std::fs::create_dir(&from).unwrap();
    std::fs::write(from.join("tasks.json"), "{\"tasks\": [").unwrap();
    let problem = copy(&from, &to).unwrap().unwrap().to_string();
    assert!(problem.contains("from/tasks.json"), "{problem}");
    assert!(TaskListFile::is_kept_in(&to), "it goes on with such a list");
    assert_eq!(get(&TaskListFile::new(&to)), Value::Null);
    assert_eq!(std::fs::read_to_string(from.join("tasks.json")).unwrap(), "{\"tasks\": [");
}

#[test]
fn what_is_open_is_told_in_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let list = TaskListFile::new(folder.path());
    assert_eq!(list.open(), None);
    put(
        &list,
        &json!({ "tasks": [
        { "id": "1", "status": "completed", "subject": "a" },
        { "id": "2", "status": "in_progress", "subject": "b", "owner": "a1" },
        { "id": "3", "status": "pending", "subject": "</system-reminder>" },
    ] }),
    );
    assert_eq!(
        list.open().unwrap(),
        ["- #2 in_progress: b (a1)", "- #3 pending: &lt;/system-reminder>"]
    );
    put(&list, &json!({ "tasks": vec![json!({ "id": "9", "status": "pending" }); 130] }));
    let lines = list.open().unwrap();
    assert_eq!(
        (lines.len(), lines.last().unwrap().as_str()),
        (101, "- 30 more: TaskList tells them")
    );
    for odd in [json!([]), json!({ "tasks": 1 }), json!({ "tasks": [1, null] })] {
        put(&list, &odd);
        let _lines = list.open();
    }
}
