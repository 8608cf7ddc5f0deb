//! Edit. What other tools of its kind got wrong is in `cases.rs`, by the place that tells of it.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::Arc;
use std::time::SystemTime;

use innerve_builtins::edit::{EditOutput, MatchKind, StaleEdits};
use innerve_builtins::host::MemoryLedger;
use innerve_tool::{Tool as _, code};
use serde_json::json;

use crate::kit::{Bench, check_edit, lines, preview, refused};

fn utf16(text: &str) -> Vec<u8> {
    let mut bytes = b"\xFF\xFE".to_vec();
    bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    bytes
}

#[tokio::test]
async fn each_line_keeps_its_ending() {
    check_edit("a\r\nb\nc\r\nd\n", "a\nb\nc", "a\nB\nc", "a\r\nB\nc\r\nd\n").await;
    check_edit("a\r\nb\r\nc\n", "b\nc", "b\nx\nc", "a\r\nb\r\nx\r\nc\n").await;
    check_edit("l1\r\nl2\r\n", "l1\r\nl2", "x\r\ny\nz", "x\r\ny\r\nz\r\n").await;
}

#[tokio::test]
async fn quotes_keep_the_style_of_the_file() {
    check_edit("say “hi” to ‘me’\n", "\"hi\"", "\"ho\"", "say “ho” to ‘me’\n").await;
}

#[tokio::test]
async fn text_that_is_not_there_may_begin_somewhere() {
    let lines: String = lines(1..=38, |n| format!("- item {n}\n"));
    let bench = Bench::with(&[("a.md", &lines)]);
    bench.read("a.md").await.unwrap();
    let (_, words) =
        refused(bench.edit("a.md", "- item 3\n- item four\n- item 5\n- x\n- y", "x").await);
    assert!(words.contains("first line is at 3"), "{words}");
}

#[tokio::test]
async fn crlf_utf_16_the_mark_and_an_end_without_line_end_all_stay() {
    check_edit(utf16("eins\r\nzwei\r\ndrei"), "zwei\ndrei", "2\n3", utf16("eins\r\n2\r\n3")).await;
}

#[tokio::test]
async fn bytes_that_are_no_text_stay_and_are_not_edited() {
    check_edit(b"caf\xE9\nx\n", "x", "yy", b"caf\xE9\nyy\n").await;
    let bench = Bench::new();
    bench.put("a", b"caf\xE9\n");
    bench.read("a").await.unwrap();
    assert_eq!(refused(bench.edit("a", "caf\u{fffd}", "tea").await).0, "file:binary");
    assert_eq!(bench.bytes("a"), b"caf\xE9\n");
}

#[tokio::test]
async fn a_last_line_without_its_end_may_go() {
    check_edit("a\nb", "b", "", "a\n").await;
}

#[tokio::test]
async fn removing_whole_lines_removes_their_end_and_nothing_else() {
    check_edit("a\nb\nc\n", "b", "", "a\nc\n").await;
    check_edit("a\r\nb\r\nc\r\n", "b", "", "a\r\nc\r\n").await;
    check_edit("a\nb\nc\n", "b\n", "", "a\nc\n").await;
    // A part of a line is not the line.
    check_edit("a x\nb\n", " x", "", "a\nb\n").await;
}

#[tokio::test]
async fn an_edit_that_changes_nothing_is_refused() {
    let bench = Bench::with(&[("a", "x\n")]);
    bench.read("a").await.unwrap();
    assert_eq!(refused(bench.edit("a", "x", "x").await).0, code::INVALID);
}

#[tokio::test]
async fn a_file_must_have_been_read() {
    let bench = Bench::with(&[("a", "x\n")]);
    let (code, words) = refused(bench.edit("a", "x", "y").await);
    assert_eq!(code, "file:not_read");
    assert!(words.contains("read it first"), "{words}");
    // What one agent has read, another has not.
    bench.read("a").await.unwrap();
    let other = bench.access.for_agent(Arc::new(MemoryLedger::new()));
    let tool = innerve_builtins::edit::EditTool::new(other);
    let input = json!({ "file_path": "a", "old_string": "x", "new_string": "y" });
    assert_eq!(bench.call(&tool, input).await.unwrap_err().code(), "file:not_read");
}

#[tokio::test]
async fn a_partial_view_is_no_read_and_a_range_is() {
    let lines: String = lines(1..=20_000, |n| format!("this is line number {n}\n"));
    let bench = Bench::with(&[("big", &lines)]);
    bench.read("big").await.unwrap();
    let edit = || bench.edit("big", "number 15000\n", "number X\n");
    let (code, words) = refused(edit().await);
    assert_eq!(code, "file:not_read");
    assert!(words.contains("in part"), "{words}");
    let range = json!({ "file_path": "big", "offset": 14_990, "limit": 20 });
    bench.call(&bench.read_tool(), range).await.unwrap();
    edit().await.unwrap();
    assert!(bench.text("big").contains("number X\n"));
}

#[tokio::test]
async fn only_a_change_of_content_makes_a_read_stale() {
    let bench = Bench::with(&[("a", "x\ny\n")]);
    bench.read("a").await.unwrap();
    let touched = fs::File::options().write(true).open(bench.path("a")).unwrap();
    touched.set_modified(SystemTime::now() + std::time::Duration::from_secs(100)).unwrap();
    bench.edit("a", "x", "X").await.unwrap();
    // Its own change does not make it stale either.
    bench.edit("a", "X", "x").await.unwrap();
    bench.put("a", "x\nz\n");
    let (code, words) = refused(bench.edit("a", "x", "X").await);
    assert_eq!(code, "file:stale");
    assert!(words.contains("read it again"), "{words}");
    assert_eq!(bench.text("a"), "x\nz\n");
}

// anthropics/claude-code#51361, 2.1.208
#[tokio::test]
async fn a_stale_edit_may_be_allowed_where_it_is_unique() {
    let bench = Bench::with(&[("a", "fn  a(){}\nfn b(){}\n")]);
    bench.read("a").await.unwrap();
    bench.put("a", "fn a() {}\nfn b(){}\n");
    let tool = bench.edit_tool().with_stale_edits(StaleEdits::WhereUnique);
    let edit = |old: &str| json!({ "file_path": "a", "old_string": old, "new_string": "fn c(){}" });
    assert_eq!(bench.call(&tool, edit("fn  a(){}")).await.unwrap_err().code(), "file:stale");
    bench.call(&tool, edit("fn b(){}")).await.unwrap();
    assert_eq!(bench.text("a"), "fn a() {}\nfn c(){}\n");
}

#[tokio::test]
async fn an_ambiguous_text_is_refused_with_count_and_lines() {
    let bench = Bench::with(&[("a", "x\ny\nx\n"), ("b", "aaa\n")]);
    bench.read("a").await.unwrap();
    bench.read("b").await.unwrap();
    let (code, words) = refused(bench.edit("a", "x", "z").await);
    assert_eq!(code, "edit:ambiguous");
    assert!(words.contains("2 times") && words.contains("lines 1, 3"), "{words}");
    assert_eq!(refused(bench.edit("b", "aa", "z").await).0, "edit:ambiguous");
    // Tolerant matches must be unique too.
    bench.put("c", "x \ny\nx  \ny\n");
    bench.read("c").await.unwrap();
    assert_eq!(refused(bench.edit("c", "x\ny", "z").await).0, "edit:ambiguous");
}

#[tokio::test]
async fn all_occurrences_are_replaced_on_demand() {
    let bench = Bench::with(&[("a", "x\r\ny\nx\nx")]);
    bench.read("a").await.unwrap();
    let all = |old: &str, new: &str| json!({ "file_path": "a", "old_string": old, "new_string": new, "replace_all": "true" });
    let text = bench.call(&bench.edit_tool(), all("x", "zz")).await.unwrap();
    assert!(text.contains("all 3 occurrences"), "{text}");
    assert_eq!(bench.text("a"), "zz\r\ny\nzz\nzz");
    bench.put("a", "“q”\n");
    bench.read("a").await.unwrap();
    let error = bench.call(&bench.edit_tool(), all("\"q\"", "w")).await.unwrap_err();
    assert_eq!(error.code(), "edit:no_match");
    assert!(error.message().contains("exact text"));
}

#[tokio::test]
async fn a_new_file_is_made_with_its_directories() {
    let bench = Bench::new();
    bench.edit("new/dir/a", "", "hello\n").await.unwrap();
    assert_eq!(bench.text("new/dir/a"), "hello\n");
    // It is known now.
    bench.edit("new/dir/a", "hello", "bye").await.unwrap();
    let (code, _) = refused(bench.edit("new/dir/a", "", "x").await);
    assert_eq!(code, "file:exists");
    bench.put("blank", b"\xEF\xBB\xBF \n");
    bench.edit("blank", "", "x\n").await.unwrap();
    assert_eq!(bench.bytes("blank"), b"\xEF\xBB\xBFx\n");
    let (code, _) = refused(bench.edit("missing", "a", "b").await);
    assert_eq!(code, code::NOT_FOUND);
}

#[tokio::test]
async fn what_is_no_plain_file_is_refused() {
    let bench = Bench::with(&[("a.ipynb", "{\"cells\": []}"), ("d/x", "")]);
    bench.read("a.ipynb").await.unwrap();
    assert!(refused(bench.edit("a.ipynb", "cells", "x").await).1.contains("NotebookEdit"));
    assert_eq!(refused(bench.edit("d", "x", "y").await).0, "file:not_a_file");
    assert_eq!(refused(bench.edit("/dev/zero", "x", "y").await).0, "file:not_a_file");
    let large = fs::File::create(bench.path("large")).unwrap();
    large.set_len((1 << 30) + 1).unwrap();
    assert_eq!(refused(bench.edit("large", "x", "y").await).0, "file:too_large");
}

#[tokio::test]
async fn line_numbers_in_the_old_text_are_told() {
    let bench = Bench::with(&[("a", "x\ny\n")]);
    bench.read("a").await.unwrap();
    let (_, words) = refused(bench.edit("a", "1\tx\n2\ty", "z").await);
    assert!(words.contains("leave them out"), "{words}");
}

#[tokio::test]
async fn links_and_permissions_are_kept() {
    let bench = Bench::with(&[("real/a.sh", "echo 1\n")]);
    let real = bench.path("real/a.sh");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o751)).unwrap();
    symlink("real/a.sh", bench.path("link")).unwrap();
    bench.read("link").await.unwrap();
    bench.edit("link", "1", "2").await.unwrap();
    assert!(fs::symlink_metadata(bench.path("link")).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "echo 2\n");
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o7777, 0o751);
    let names: Vec<_> = fs::read_dir(bench.path("real")).unwrap().collect();
    assert_eq!(names.len(), 1, "no temporary file is left");
}

#[tokio::test]
async fn the_answer_shows_the_new_lines_with_numbers() {
    let lines: String = lines(1..=20, |n| format!("l{n}\n"));
    let bench = Bench::with(&[("a", &lines)]);
    bench.read("a").await.unwrap();
    let text = bench.edit("a", "l10", "new\nlines").await.unwrap();
    assert!(
        text.contains(
            "6\tl6\n7\tl7\n8\tl8\n9\tl9\n10\tnew\n11\tlines\n12\tl11\n13\tl12\n14\tl13\n15\tl14\n"
        ),
        "{text}"
    );
    assert!(!text.contains("l15\n") && !text.contains("\tl5\n"), "{text}");
    bench.put("q", "“a”\n");
    bench.read("q").await.unwrap();
    assert!(
        bench
            .edit("q", "\"a\"", "\"b\"")
            .await
            .unwrap()
            .contains("ignoring the style of its quotes")
    );
}

#[tokio::test]
async fn the_data_holds_hunks() {
    let bench = Bench::with(&[("a", "1\n2\n3\n")]);
    bench.read("a").await.unwrap();
    let input = json!({ "file_path": "a", "old_string": "2", "new_string": "two" });
    let output: EditOutput = bench.output(&bench.edit_tool(), input).await.unwrap();
    assert_eq!((output.created, output.replacements, output.matched), (false, 1, MatchKind::Exact));
    let [hunk] = output.diff.hunks.as_slice() else { panic!("no hunk") };
    assert_eq!(hunk.lines, [" 1", "-2", "+two", " 3"]);
    assert_eq!((hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines), (1, 3, 1, 3));
}

#[tokio::test]
async fn a_change_is_noted_before_it_is_made() {
    let bench = Bench::with(&[("a", "1\n")]);
    bench.read("a").await.unwrap();
    bench.edit("a", "1", "2").await.unwrap();
    let changes = bench.journal.0.lock().unwrap();
    assert_eq!(changes[0].before.as_deref(), Some(b"1\n".as_slice()));
    assert_eq!(changes[0].path, bench.path("a").canonicalize().unwrap());
    assert_eq!(changes[0].after_hash, innerve_builtins::content_hash(b"2\n"));
}

#[tokio::test]
async fn what_was_approved_is_written_byte_for_byte_or_nothing() {
    let bench = Bench::with(&[("a", "1\n2\n")]);
    bench.read("a").await.unwrap();
    let tool = bench.edit_tool();
    let input = json!({ "file_path": "a", "old_string": "1", "new_string": "one" });
    let mut shown = preview(&bench, &tool, input.clone()).await;
    assert_eq!(shown.before.as_deref(), Some(b"1\n2\n".as_slice()));
    assert_eq!(shown.after, b"one\n2\n");
    // Even bytes that the input would not give.
    shown.after = b"uno\n2\n".to_vec();
    let parsed = bench.parsed(&tool, input.clone()).unwrap();
    tool.call(parsed, Some(shown.clone()), bench.context()).await.unwrap();
    assert_eq!(bench.text("a"), "uno\n2\n");
    // The file is not what the person saw any more.
    let parsed = bench.parsed(&tool, input.clone()).unwrap();
    let error = tool.call(parsed, Some(shown.clone()), bench.context()).await.unwrap_err();
    assert_eq!(error.code(), "file:stale");
    shown.path = bench.path("b");
    let parsed = bench.parsed(&tool, input).unwrap();
    let error = tool.call(parsed, Some(shown), bench.context()).await.unwrap_err();
    assert_eq!(error.code(), code::INVALID);
    assert_eq!(bench.text("a"), "uno\n2\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn edits_of_one_file_at_the_same_time_are_all_made() {
    let lines: String = lines(0..40, |n| format!("line-{n}-\n"));
    let bench = Arc::new(Bench::with(&[("a", &lines)]));
    bench.read("a").await.unwrap();
    let edits: Vec<_> = (0..40)
        .map(|n| {
            let bench = Arc::clone(&bench);
            tokio::spawn(async move {
                let input = json!({ "file_path": "a", "old_string": format!("line-{n}-"), "new_string": format!("done-{n}-") });
                let tool = bench.edit_tool();
                let input = bench.parsed(&tool, input).unwrap();
                tool.call(input, None, bench.context()).await.map(drop)
            })
        })
        .collect();
    for edit in edits {
        edit.await.unwrap().unwrap();
    }
    assert_eq!(bench.text("a"), lines.replace("line", "done"));
}

#[tokio::test]
async fn validation_tells_nothing_of_a_hidden_file() {
    let bench = Bench::with(&[(".env", "TOKEN=1\n")]);
    let access = bench.access.clone().with_hidden(Arc::new(|path| path.ends_with(".env")));
    let tool = innerve_builtins::edit::EditTool::new(access);
    for old in ["TOKEN=1", "TOKEN=2"] {
        let input = json!({ "file_path": ".env", "old_string": old, "new_string": "x" });
        let input = bench.parsed(&tool, input).unwrap();
        tool.validate(&input, &bench.context()).await.unwrap();
    }
}
