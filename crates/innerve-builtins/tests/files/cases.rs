//! Failures that users of such tools have met, each named after the public thread or changelog that tells of it.

use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::time::{Duration, Instant};

use innerve_builtins::edit::{EditTool, StaleEdits};
use innerve_builtins::glob::GlobTool;
use innerve_builtins::grep::GrepTool;
use innerve_builtins::notebook::NotebookEditTool;
use innerve_builtins::write::WriteTool;
use innerve_tool::{InputSchema, erase};
use serde_json::json;

use crate::kit::{Bench, check_edit, lines, refused};

// --- Edit ---

#[tokio::test]
async fn mcp_file_tools_24_openclaw_116011_mixed_line_endings_stay_mixed() {
    check_edit("a\r\nb\nc\r\nd\n", "c", "C", "a\r\nb\nC\r\nd\n").await;
}

#[tokio::test]
async fn openclaw_116011_a_bare_carriage_return_is_data() {
    check_edit("10%\r50%\r100%\ndone\n", "done", "finished", "10%\r50%\r100%\nfinished\n").await;
}

#[tokio::test]
async fn mistral_vibe_674_carriage_returns_are_not_doubled() {
    check_edit("l1\r\nl2\r\n", "l2", "L2", "l1\r\nL2\r\n").await;
    check_edit("l1\r\nl2\r\n", "l2", "L2\nL3", "l1\r\nL2\r\nL3\r\n").await;
}

#[tokio::test]
async fn claude_code_2_1_89_trailing_blanks_of_markdown_stay() {
    check_edit("one  \ntwo\n", "one  ", "uno  ", "uno  \ntwo\n").await;
}

#[tokio::test]
async fn claude_code_13456_a_crlf_file_is_not_taken_for_changed() {
    check_edit("a\r\nb\r\n", "b", "B", "a\r\nB\r\n").await;
}

#[tokio::test]
async fn opencode_45892_sdk_typescript_688_an_ampersand_after_a_dollar_is_text() {
    check_edit("log(\"done\");\n", "log(\"done\");", "log(\"$& ok\");", "log(\"$& ok\");\n").await;
}

#[tokio::test]
async fn flue_506_wave_agent_1752_quotes_after_a_dollar_are_text() {
    let new = "re = `$`; x=$'y'; $1 ${name} \\1";
    check_edit("A\nB\ntarget\n", "target", new, format!("A\nB\n{new}\n")).await;
}

#[tokio::test]
async fn claude_code_2_1_47_curly_quotes_elsewhere_stay() {
    check_edit("He said “hi”\nx\n", "x", "y", "He said “hi”\ny\n").await;
}

#[tokio::test]
async fn pi_5899_a_tolerant_match_leaves_the_rest_of_the_file_alone() {
    let before = "untouched   \nreplace me   \nafter\ntrailing   \n";
    check_edit(
        before,
        "replace me\nafter",
        "DONE\nDONE2",
        "untouched   \nDONE\nDONE2\ntrailing   \n",
    )
    .await;
}

#[tokio::test]
async fn pi_hashline_readmap_89_a_stale_text_truncates_nothing() {
    let before = lines(1..=38, |number| format!("- item {number}\n"));
    let bench = Bench::with(&[("a.md", &before)]);
    bench.read("a.md").await.unwrap();
    let stale = "- item 3\n- Item Four\n- item 5\n- six\n- item 7";
    assert_eq!(refused(bench.edit("a.md", stale, "x").await).0, "edit:no_match");
    assert_eq!(bench.text("a.md"), before);
}

#[tokio::test]
async fn aft_83_a_tolerant_match_keeps_the_line_end_behind_it() {
    let (old, new) = ("  a;\n  return a;", "  b;\n  return b;");
    check_edit("f() {\n  a;   \n  return a;\n}\n", old, new, "f() {\n  b;\n  return b;\n}\n").await;
}

#[tokio::test]
async fn claude_code_51361_a_formatter_between_read_and_edit_is_noticed_or_harmless() {
    let bench = Bench::with(&[("a.rs", "fn a(){}\nlet x = 1;\n")]);
    bench.read("a.rs").await.unwrap();
    bench.put("a.rs", "fn a() {}\nlet x = 1;\n");
    let (code, words) = refused(bench.edit("a.rs", "let x = 1;", "let x = 2;").await);
    assert_eq!(code, "file:stale");
    assert!(words.contains("read it again"), "{words}");
    let tolerant = EditTool::new(bench.access.clone()).with_stale_edits(StaleEdits::WhereUnique);
    let input =
        json!({ "file_path": "a.rs", "old_string": "let x = 1;", "new_string": "let x = 2;" });
    bench.call(&tolerant, input).await.unwrap();
    assert_eq!(bench.text("a.rs"), "fn a() {}\nlet x = 2;\n");
}

#[tokio::test]
async fn claude_code_2_1_83_two_hundred_thousand_other_lines_are_compared_in_seconds() {
    let bench = Bench::new();
    bench.put("a", lines(0..200_000, |number| format!("old {number}\n")));
    for start in (1..=200_000).step_by(2_000) {
        let input = json!({ "file_path": "a", "offset": start, "limit": 2_000 });
        bench.call(&bench.read_tool(), input).await.unwrap();
    }
    let started = Instant::now();
    let new = lines(0..200_000, |number| format!("new {number}\n"));
    bench.write("a", &new).await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert_eq!(bench.text("a"), new);
}

#[tokio::test]
async fn claude_code_86196_a_last_line_without_its_end_is_not_run_into() {
    check_edit("A=1", "A=1", "A=1\nNEW=1", "A=1\nNEW=1").await;
}

#[tokio::test]
async fn mistral_vibe_674_a_file_is_utf_8_whatever_the_code_page() {
    check_edit("título\n", "título", "Título", "Título\n".as_bytes()).await;
}

#[tokio::test]
async fn claude_code_2_1_239_a_byte_order_mark_hides_nothing_and_stays() {
    check_edit(b"\xEF\xBB\xBFname: x\n", "name: x", "name: y", b"\xEF\xBB\xBFname: y\n").await;
}

#[tokio::test]
async fn claude_code_2_1_214_utf_16_stays_utf_16() {
    check_edit(b"\xFF\xFEa\0\n\0", "a", "b", b"\xFF\xFEb\0\n\0").await;
}

#[test]
fn codex_24592_every_tool_that_changes_files_has_a_deadline() {
    let bench = Bench::new();
    let access = || bench.access.clone();
    let edit = json!({ "file_path": "a", "old_string": "a", "new_string": "b" });
    for (tool, input) in [
        (erase(EditTool::new(access())).unwrap(), edit),
        (erase(WriteTool::new(access())).unwrap(), json!({ "file_path": "a", "content": "" })),
        (erase(NotebookEditTool::new(access())).unwrap(), json!({ "notebook_path": "a" })),
        (erase(bench.read_tool()).unwrap(), json!({ "file_path": "a" })),
        (erase(GrepTool::new(None)).unwrap(), json!({ "pattern": "a" })),
        (erase(GlobTool::new(None)).unwrap(), json!({ "pattern": "a" })),
    ] {
        let limit = tool.timeout(&input).unwrap_or(Duration::MAX);
        assert!(limit <= Duration::from_mins(2), "{}: {limit:?}", tool.name());
    }
}

// --- Read ---

#[tokio::test]
async fn claude_code_2_1_208_openclaw_121828_an_empty_file_is_empty_and_not_too_short() {
    let bench = Bench::with(&[("a", "")]);
    for input in [json!({ "file_path": "a" }), json!({ "file_path": "a", "offset": 5 })] {
        let text = bench.call(&bench.read_tool(), input).await.unwrap();
        assert!(text.contains("exists and is empty"), "{text}");
    }
}

async fn refuses_at_once(bench: &Bench, path: &str) {
    let read = tokio::time::timeout(Duration::from_secs(5), bench.read(path)).await;
    assert_eq!(refused(read.expect("no hang")).0, "file:not_a_file", "{path}");
}

#[tokio::test]
async fn openclaw_121828_dev_zero_is_refused_at_once() {
    refuses_at_once(&Bench::new(), "/dev/zero").await;
}

fn make_fifo(bench: &Bench, name: &str) {
    let made = std::process::Command::new("mkfifo").arg(bench.path(name)).status().unwrap();
    assert!(made.success());
}

#[tokio::test]
async fn hermes_agent_82075_claude_code_2_1_41_a_fifo_is_refused_at_once() {
    let bench = Bench::new();
    make_fifo(&bench, "pipe");
    refuses_at_once(&bench, "pipe").await;
    // Nor does a search wait for it.
    let found =
        tokio::time::timeout(Duration::from_secs(10), bench.grep(json!({ "pattern": "x" })));
    found.await.expect("no hang").unwrap();
}

#[tokio::test]
async fn claude_code_2_1_0_a_fifo_behind_a_link_is_refused_at_once() {
    let bench = Bench::new();
    make_fifo(&bench, "pipe");
    symlink("pipe", bench.path("link")).unwrap();
    refuses_at_once(&bench, "link").await;
}

#[tokio::test]
async fn claude_code_2_1_140_a_number_with_a_sign_and_blanks_is_a_number() {
    let bench = Bench::with(&[("a", &lines(1..=20, |number| format!("line {number}\n")))]);
    let input = json!({ "file_path": "a", "offset": " +10 ", "limit": "1" });
    let text = bench.call(&bench.read_tool(), input).await.unwrap();
    assert!(text.starts_with("10\tline 10\n"), "{text}");
}

#[tokio::test]
async fn claude_code_2_1_229_a_path_that_is_a_number_is_refused_in_words() {
    let bench = Bench::new();
    let (code, words) = refused(bench.call(&bench.read_tool(), json!({ "file_path": 123 })).await);
    assert_eq!(code, "schema");
    assert!(words.contains("file_path") && words.contains("string"), "{words}");
}

const JPEG: &[u8] = b"\xFF\xD8\xFF\xE0\0\x04ab\xFF\xC0\0\x0B\x08\0\x01\0\x01\x01\0\0\0\xFF\xD9";

#[tokio::test]
async fn claude_code_2_0_65_the_type_of_an_image_is_told_by_its_bytes() {
    let bench = Bench::new();
    bench.put("x.png", JPEG);
    let output = bench.output(&bench.read_tool(), json!({ "file_path": "x.png" })).await.unwrap();
    let data = serde_json::to_value(output).unwrap();
    assert_eq!((&data["type"], &data["mediaType"]), (&json!("image"), &json!("image/jpeg")));
}

#[tokio::test]
async fn claude_code_2_1_71_2_1_126_an_image_that_would_be_rejected_is_never_sent() {
    let bench = Bench::new();
    // 12,000 × 12,000 pixels and no data: what cannot be scaled down is an error in words.
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    png.extend(12_000_u32.to_be_bytes());
    png.extend(12_000_u32.to_be_bytes());
    png.extend(b"\x08\x02\0\0\0");
    bench.put("large.png", png);
    assert_eq!(refused(bench.read("large.png").await).0, "file:too_large");
}

#[tokio::test]
async fn claude_code_2_1_145_a_large_file_gives_its_first_page() {
    let bench = Bench::new();
    bench.put("a", lines(0..10_000, |number| format!("{number:049}\n")));
    let text = bench.read("a").await.unwrap();
    assert!(
        text.len() <= 130_000 && text.contains("PARTIAL view") && text.contains("offset"),
        "{}",
        text.len()
    );
}

#[tokio::test]
async fn claude_code_1_0_82_ten_lines_of_a_log_of_300_megabytes_are_streamed() {
    use std::io::Write as _;
    let bench = Bench::new();
    let mut file = std::fs::File::create(bench.path("log")).unwrap();
    let block = lines(0..10_000, |number| format!("{number:099}\n"));
    for _ in 0..300 {
        file.write_all(block.as_bytes()).unwrap();
    }
    let input = json!({ "file_path": "log", "offset": 1, "limit": 10 });
    let text = bench.call(&bench.read_tool(), input).await.unwrap();
    assert_eq!(text.lines().filter(|line| line.contains('\t')).count(), 10);
}

#[tokio::test]
async fn openclaw_121828_a_line_of_three_megabytes_is_cut_with_a_note() {
    let bench = Bench::new();
    bench.put("a", "x".repeat(3_000_000));
    let text = bench.read("a").await.unwrap();
    assert!(text.len() < 10_000 && text.contains("characters"), "{}", text.len());
}

#[tokio::test]
async fn claude_code_2_1_208_a_nul_byte_in_a_path_is_refused() {
    let bench = Bench::new();
    let (code, _) = refused(bench.glob(json!({ "pattern": "a\u{0}b" })).await);
    assert!(code == "search:pattern" || code == "tool:invalid", "{code}");
    assert_eq!(refused(bench.read("a\u{0}b").await).0, "tool:invalid");
}

// --- Grep and Glob ---

#[tokio::test]
async fn opencode_3524_qwen_code_7863_a_pattern_may_begin_with_a_dash() {
    let bench = Bench::with(&[("a", "head -n 3\nother\n")]);
    let text = bench.grep(json!({ "pattern": "-n", "output_mode": "content" })).await.unwrap();
    assert_eq!(text, "a:1:head -n 3");
}

#[tokio::test]
async fn pi_4018_texra_6226_underclass_3_a_pattern_is_no_option() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::with(&[("a", "text\n")]);
    let marker = bench.path("ran");
    let evil = bench.put("evil.sh", format!("#!/bin/sh\ntouch {}\n", marker.display()));
    std::fs::set_permissions(&evil, std::fs::Permissions::from_mode(0o755)).unwrap();
    let input = json!({ "pattern": format!("--pre={}", evil.display()), "path": "." });
    bench.grep(input).await.unwrap();
    assert!(!marker.exists());
}

fn many(count: u32) -> Bench {
    let bench = Bench::new();
    for number in 0..count {
        bench.put(&format!("{number:03}.txt"), "x\n");
    }
    bench
}

#[tokio::test]
async fn claude_code_2_1_210_past_the_end_is_not_no_matches() {
    let input = json!({ "pattern": "x", "head_limit": 10, "offset": 1000 });
    let text = many(20).grep(input).await.unwrap();
    assert!(
        text.contains("offset") && text.contains("20") && !text.starts_with("No files"),
        "{text}"
    );
}

#[tokio::test]
async fn claude_code_2_1_208_counts_are_totals_over_all_files() {
    let input = json!({ "pattern": "x", "output_mode": "count", "head_limit": 5 });
    let text = many(20).grep(input).await.unwrap();
    assert!(text.contains("Found 20 total occurrences across 20 files"), "{text}");
}

#[tokio::test]
async fn claude_code_2_1_139_the_count_of_one_file_has_its_name() {
    let bench = Bench::with(&[("a.txt", "x\nx\n")]);
    let input = json!({ "pattern": "x", "path": "a.txt", "output_mode": "count" });
    assert!(bench.grep(input).await.unwrap().starts_with("a.txt:2"));
}

#[tokio::test]
async fn claude_code_83326_what_ignore_files_leave_out_is_told() {
    let bench =
        Bench::with(&[(".gitignore", ".env\n*.log\n"), (".env", "MARKER"), ("a.log", "MARKER")]);
    std::fs::create_dir(bench.path(".git")).unwrap();
    let text = bench.grep(json!({ "pattern": "MARKER" })).await.unwrap();
    assert!(text.contains("No files found") && text.contains("ignore"), "{text}");
}

#[tokio::test]
async fn claude_code_2_1_235_a_pattern_that_would_eat_memory_is_refused_soon() {
    let bench = Bench::with(&[("a", "a\n")]);
    let started = Instant::now();
    let result = bench.grep(json!({ "pattern": "(a{1,1000}){1,1000}" })).await;
    assert_eq!(refused(result).0, "search:pattern");
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn claude_code_2_1_235_a_limit_keeps_the_context_of_the_first_match() {
    let bench = Bench::with(&[("a", "1\n2\n3\nx\n5\n6\n7\nx\n9\n")]);
    let input = json!({ "pattern": "x", "context": 2, "head_limit": 1, "output_mode": "content" });
    let text = bench.grep(input).await.unwrap();
    assert!(text.starts_with("a-2-2\na-3-3\na:4:x\na-5-5\na-6-6"), "{text}");
    assert!(!text.contains("a:8:x"), "{text}");
}

#[tokio::test]
async fn claude_code_2_1_162_a_denied_file_appears_nowhere() {
    let bench = Bench::with(&[(".env", "SECRET\n"), ("a", "SECRET\n")]);
    let hidden: innerve_builtins::Hidden = Arc::new(|path| path.ends_with(".env"));
    let text = bench
        .call(&GlobTool::new(Some(Arc::clone(&hidden))), json!({ "pattern": "**/*" }))
        .await
        .unwrap();
    assert!(text.contains('a') && !text.contains(".env"), "{text}");
    let text =
        bench.call(&GrepTool::new(Some(hidden)), json!({ "pattern": "SECRET" })).await.unwrap();
    assert!(!text.contains(".env"), "{text}");
}

#[tokio::test]
async fn claude_code_2_1_207_a_broken_line_of_an_ignore_file_disables_nothing() {
    let bench = Bench::with(&[(".ignore", "[abc\n"), ("a", "x\n")]);
    assert!(bench.glob(json!({ "pattern": "*" })).await.unwrap().contains('a'));
    assert!(bench.grep(json!({ "pattern": "x" })).await.unwrap().contains('a'));
}

#[tokio::test]
async fn mistral_vibe_947_limits_hold_for_text_of_wide_characters() {
    let bench = Bench::new();
    bench.put("a", lines(0..3_000, |_| format!("{}\n", "漢字".repeat(28))));
    let input = json!({ "pattern": ".", "output_mode": "content", "head_limit": 0 });
    let output = bench.output(&GrepTool::new(None), input).await.unwrap();
    let text = serde_json::to_string(&output).unwrap();
    // Whole characters, of whatever size: the pipeline counts the same ones.
    assert!(!text.contains('\u{fffd}'));
    let schema = InputSchema::of::<innerve_builtins::grep::GrepInput>("Grep").unwrap();
    assert!(schema.issues(&json!({ "pattern": "." })).is_empty());
}
