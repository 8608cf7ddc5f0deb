//! Write.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::{Duration, Instant};

use innerve_builtins::write::WriteTool;
use innerve_tool::{Tool as _, code};
use serde_json::json;

use crate::kit::{Bench, lines, preview, refused};

#[tokio::test]
async fn a_new_file_is_made_as_it_is_given() {
    let bench = Bench::new();
    let text = bench.write("d/e/a.txt", "x\r\ny").await.unwrap();
    assert!(text.starts_with("Created") && text.contains("2 lines"), "{text}");
    assert_eq!(bench.text("d/e/a.txt"), "x\r\ny");
    // The umask decides, as for any new file.
    let plain = bench.put("plain", "");
    let mode = |path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(bench.path("d/e/a.txt")), mode(plain));
}

#[tokio::test]
async fn an_existing_file_must_have_been_read_in_full_and_be_fresh() {
    let bench = Bench::with(&[("a", "1\n2\n3\n")]);
    assert_eq!(refused(bench.write("a", "x").await).0, "file:not_read");
    let range = |offset, limit| json!({ "file_path": "a", "offset": offset, "limit": limit });
    bench.call(&bench.read_tool(), range(2, 1)).await.unwrap();
    let (code, words) = refused(bench.write("a", "x").await);
    assert_eq!(code, "file:not_read");
    assert!(words.contains("3 lines") && words.contains("lines 2–2"), "{words}");
    // The rest, in pieces.
    bench.call(&bench.read_tool(), range(1, 1)).await.unwrap();
    bench.call(&bench.read_tool(), range(3, 1)).await.unwrap();
    assert!(bench.write("a", "x\n").await.unwrap().starts_with("Updated"));
    assert_eq!(bench.text("a"), "x\n");
    // What was written is known.
    bench.write("a", "y\n").await.unwrap();
    bench.put("a", "someone else\n");
    assert_eq!(refused(bench.write("a", "z\n").await).0, "file:stale");
    assert_eq!(bench.text("a"), "someone else\n");
}

#[tokio::test]
async fn after_an_edit_of_a_range_the_rest_is_still_unread() {
    let bench = Bench::with(&[("a", "1\n2\n3\n")]);
    let range = json!({ "file_path": "a", "offset": 2, "limit": 1 });
    bench.call(&bench.read_tool(), range).await.unwrap();
    bench.edit("a", "2", "two").await.unwrap();
    assert_eq!(refused(bench.write("a", "x").await).0, "file:not_read");
}

#[tokio::test]
async fn encoding_and_line_endings_of_a_replaced_file_are_kept() {
    let bench = Bench::new();
    bench.put("crlf", "a\r\nb\r\n");
    bench.put("bom", b"\xEF\xBB\xBFa\n");
    bench.put("utf16", b"\xFF\xFEa\0\r\0\n\0");
    for name in ["crlf", "bom", "utf16"] {
        bench.read(name).await.unwrap();
        bench.write(name, "x\ny").await.unwrap();
    }
    assert_eq!(bench.bytes("crlf"), b"x\r\ny");
    assert_eq!(bench.bytes("bom"), b"\xEF\xBB\xBFx\ny");
    assert_eq!(bench.bytes("utf16"), b"\xFF\xFEx\0\r\0\n\0y\0");
}

#[tokio::test]
async fn directories_and_devices_are_refused() {
    let bench = Bench::with(&[("d/x", "")]);
    for name in ["d", ".", "/dev/null"] {
        assert_eq!(refused(bench.write(name, "x").await).0, "file:not_a_file", "{name}");
    }
    let (code, _) = refused(bench.write("d/x/y", "x").await);
    assert_eq!(code, code::IO);
}

#[tokio::test]
async fn a_link_to_nothing_leads_to_the_new_file() {
    let bench = Bench::with(&[("d/x", "")]);
    symlink("d/new", bench.path("link")).unwrap();
    bench.write("link", "x").await.unwrap();
    assert!(fs::symlink_metadata(bench.path("link")).unwrap().is_symlink());
    assert_eq!(bench.text("d/new"), "x");
}

#[tokio::test]
async fn a_preview_shows_what_is_written() {
    let bench = Bench::with(&[("a", "old\r\n")]);
    bench.read("a").await.unwrap();
    let tool = WriteTool::new(bench.access.clone());
    let input = json!({ "file_path": "a", "content": "new\n" });
    let shown = preview(&bench, &tool, input.clone()).await;
    assert_eq!(shown.after, b"new\r\n");
    let new = preview(&bench, &tool, json!({ "file_path": "b", "content": "x" })).await;
    assert_eq!((new.before.clone(), new.base_hash.as_str()), (None, ""));
    // Someone makes the file while the person looks.
    bench.put("b", "theirs");
    let parsed = bench.parsed(&tool, json!({ "file_path": "b", "content": "x" })).unwrap();
    let error = tool.call(parsed, Some(new), bench.context()).await.unwrap_err();
    assert_eq!(error.code(), "file:exists");
    assert_eq!(bench.text("b"), "theirs");
    let parsed = bench.parsed(&tool, input).unwrap();
    tool.call(parsed, Some(shown), bench.context()).await.unwrap();
    assert_eq!(bench.text("a"), "new\r\n");
}

// anthropics/claude-code 2.1.83
#[tokio::test]
async fn a_rewrite_of_a_very_large_file_ends_soon_with_a_short_diff() {
    let numbered = |word: &str| lines(0..200_000, |n| format!("{word} {n}\n"));
    let bench = Bench::with(&[("a", &numbered("old"))]);
    for start in (1..=200_000).step_by(2_000) {
        let range = json!({ "file_path": "a", "offset": start, "limit": 2_000 });
        bench.call(&bench.read_tool(), range).await.unwrap();
    }
    let begun = Instant::now();
    let input = json!({ "file_path": "a", "content": numbered("new") });
    let output = bench.output(&WriteTool::new(bench.access.clone()), input).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert!(output.diff.abbreviated);
    let shown: usize = output.diff.hunks.iter().map(|hunk| hunk.lines.len()).sum();
    assert!(shown <= 2_000, "{shown}");
}
