//! Files as the editor has them.

use std::path::Path;
use std::sync::Arc;

use agent_client_protocol::v1::schema::StopReason;
use innerve_permission::PermissionMode;
use serde_json::json;

use crate::kit::{Do, Person, World, one_prompt};
use crate::script::{Say, answer, call, response};

fn read(path: &Path) -> Vec<Say> {
    response([call("r", "Read", json!({ "file_path": path }))])
}

fn edit(path: &Path, old: &str, new: &str) -> Vec<Say> {
    let input = json!({ "file_path": path, "old_string": old, "new_string": new });
    response([call("e", "Edit", input)])
}

/// One prompt in a world whose model does this.
async fn run(world: &Arc<World>, person: &Arc<Person>, script: Vec<Vec<Say>>) {
    *world.script.responses() = script.into();
    assert_eq!(one_prompt(world, person).await, StopReason::EndTurn);
}

fn world() -> Arc<World> {
    World::in_mode(PermissionMode::AcceptEdits, vec![])
}

#[tokio::test]
async fn unsaved_changes_are_read_and_edits_go_through_the_editor() {
    let (world, person) = (world(), Person::with_files([]));
    let path = world.file("a.txt", "saved\n");
    person.buffers.lock().unwrap().insert(path.clone(), "typed, not saved\n".to_owned());
    run(&world, &person, vec![read(&path), edit(&path, "typed", "written"), answer("Done.")]).await;
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "written, not saved\n");
    let requests = person.file_requests.lock().unwrap().clone();
    assert_eq!(requests.iter().filter(|request| *request == "write a.txt").count(), 1);
    assert_eq!(requests[0], "read a.txt");
    assert!(person.buffers.lock().unwrap().is_empty());
}

/// Reads a file, asks about a command, and then edits the file; the person types while they are asked.
async fn typing(at: impl FnOnce(Do) -> Vec<Do>) {
    let world = World::new(vec![]);
    let path = world.file("a.txt", "one\n");
    let person = Person::with_files(at(Do::Type(path.clone(), "one, and more\n")));
    let command = response([call("b", "Bash", json!({ "command": "touch b.txt" }))]);
    let script = vec![read(&path), command, edit(&path, "one", "two"), answer("Stale.")];
    run(&world, &person, script).await;
    let heard = world.script.heard();
    assert!(heard.contains("has changed since it was read"), "{heard}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\n");
    assert_eq!(person.buffers.lock().unwrap().len(), 1, "what was typed is still there");
    let requests = person.file_requests.lock().unwrap().clone();
    assert!(!requests.contains(&"write a.txt".to_owned()), "{requests:?}");
}

#[tokio::test]
async fn what_the_person_types_after_a_read_makes_the_edit_stale() {
    typing(|types| vec![types]).await;
}

#[tokio::test]
async fn i6_what_the_person_types_while_they_look_at_the_diff_makes_the_edit_stale() {
    typing(|types| vec![Do::Choose("once"), types]).await;
}

#[tokio::test]
async fn i9_line_ends_survive_an_editor_that_does_not_show_them() {
    let (world, person) = (world(), Person::with_files([]));
    let path = world.file("dos.txt", "one\r\ntwo\r\n");
    run(&world, &person, vec![read(&path), edit(&path, "two", "three"), answer("Done.")]).await;
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\r\nthree\r\n");
}

#[tokio::test]
async fn what_the_protocol_cannot_do_is_done_on_the_disk() {
    let (world, person) = (world(), Person::with_files([]));
    let marked = world.file("bom.txt", "\u{feff}one\n");
    let deep = world.project().join("new/folder/c.txt");
    let write = json!({ "file_path": deep, "content": "c\n" });
    let script = vec![
        read(&marked),
        edit(&marked, "one", "two"),
        response([call("w", "Write", write)]),
        answer("Done."),
    ];
    run(&world, &person, script).await;
    assert_eq!(std::fs::read_to_string(&marked).unwrap(), "\u{feff}two\n");
    assert_eq!(std::fs::read_to_string(&deep).unwrap(), "c\n");
    assert_eq!(*person.file_requests.lock().unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_new_file_is_made_by_the_editor() {
    let (world, person) = (world(), Person::with_files([]));
    let path = world.project().join("new.txt");
    let write = json!({ "file_path": path, "content": "new\n" });
    run(&world, &person, vec![response([call("w", "Write", write)]), answer("Done.")]).await;
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "new\n");
    assert_eq!(*person.file_requests.lock().unwrap(), ["write new.txt"]);
}

#[tokio::test]
async fn an_editor_without_files_is_not_asked_for_any() {
    let (world, person) = (world(), Person::new([]));
    let path = world.file("a.txt", "one\n");
    run(&world, &person, vec![read(&path), edit(&path, "one", "two"), answer("Done.")]).await;
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "two\n");
    assert_eq!(*person.file_requests.lock().unwrap(), Vec::<String>::new());
}
