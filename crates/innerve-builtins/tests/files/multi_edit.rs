//! Several edits of one file.

use innerve_builtins::edit::MultiEditTool;
use innerve_tool::Tool as _;
use serde_json::{Value, json};

use crate::kit::{Bench, preview, refused};

fn tool(bench: &Bench) -> MultiEditTool {
    MultiEditTool::new(bench.access.clone())
}

fn input(edits: &[(&str, &str)]) -> Value {
    let edits: Vec<Value> =
        edits.iter().map(|(old, new)| json!({ "old_string": old, "new_string": new })).collect();
    json!({ "file_path": "f", "edits": edits })
}

#[tokio::test]
async fn each_edit_sees_what_those_before_it_made() {
    let bench = Bench::new();
    bench.put("f", b"\xEF\xBB\xBFone\r\ntwo\r\nthree");
    bench.read("f").await.unwrap();
    let edits = input(&[("one", "1\n1"), ("1\n1\ntwo", "2"), ("three", "3")]);
    let text = bench.call(&tool(&bench), edits).await.unwrap();
    assert!(text.starts_with("Made 3 edits of `") && text.ends_with("1\t2\n2\t3\n"), "{text}");
    assert_eq!(bench.bytes("f"), b"\xEF\xBB\xBF2\r\n3");
    assert_eq!(bench.journal.0.lock().unwrap().len(), 1, "one change to undo");
    // What was made is known: the next edit needs no read.
    bench.call(&tool(&bench), input(&[("3", "4")])).await.unwrap();
}

#[tokio::test]
async fn one_edit_that_cannot_be_made_undoes_all() {
    let bench = Bench::with(&[("f", "a a b\n")]);
    let first = refused(bench.call(&tool(&bench), input(&[("b", "c")])).await);
    assert_eq!(first.0, "file:not_read");
    bench.read("f").await.unwrap();
    for (edits, code, words) in [
        (input(&[("b", "c"), ("a", "x")]), "edit:ambiguous", "edit 2 of 2 cannot be made, so none"),
        (input(&[("b", "c"), ("b", "x")]), "edit:no_match", "edit 2 of 2"),
        (input(&[("b", "c"), ("c", "c")]), "tool:invalid", "edit 2 of 2"),
        (input(&[("b", "c"), ("", "c")]), "tool:invalid", "only the first edit"),
        (input(&[]), "tool:invalid", "no edits"),
    ] {
        let (found, message) = refused(bench.call(&tool(&bench), edits).await);
        assert!(found == code && message.contains(words), "{found} {message}");
        assert_eq!(bench.text("f"), "a a b\n");
    }
    bench.put("f", "a a b c\n");
    assert_eq!(refused(bench.call(&tool(&bench), input(&[("b", "c")])).await).0, "file:stale");
}

#[tokio::test]
async fn a_new_file_can_be_made_and_edited_at_once() {
    let bench = Bench::new();
    let text = bench.call(&tool(&bench), input(&[("", "one\n"), ("one", "two")])).await.unwrap();
    assert!(text.starts_with("Created `"), "{text}");
    assert_eq!(bench.text("f"), "two\n");
}

#[tokio::test]
async fn what_was_shown_is_written_or_nothing() {
    let bench = Bench::with(&[("f", "one\ntwo\n")]);
    bench.read("f").await.unwrap();
    let edits = || input(&[("one", "1"), ("two", "2")]);
    let shown = preview(&bench, &tool(&bench), edits()).await;
    assert_eq!((shown.after.as_slice(), bench.text("f").as_str()), (&b"1\n2\n"[..], "one\ntwo\n"));
    let parsed = || bench.parsed(&tool(&bench), edits()).unwrap();
    tool(&bench).call(parsed(), Some(shown.clone()), bench.context()).await.unwrap();
    assert_eq!(bench.text("f"), "1\n2\n");
    let again = tool(&bench).call(parsed(), Some(shown), bench.context()).await;
    assert_eq!(again.unwrap_err().code(), "file:stale");
}
