//! Grep.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use innerve_builtins::grep::{GrepOutput, GrepTool};
use innerve_tool::code;
use serde_json::{Value, json};

use crate::kit::{Bench, refused};

async fn output(bench: &Bench, input: Value) -> GrepOutput {
    bench.output(&GrepTool::new(None), input).await.unwrap()
}

// anomalyco/opencode#3524; QwenLM/qwen-code#7863
#[tokio::test]
async fn a_pattern_that_begins_with_a_dash_is_a_pattern() {
    let bench = Bench::with(&[("a", "head -n 3\nother\n")]);
    let text = bench.grep(json!({ "pattern": "-n", "output_mode": "content" })).await.unwrap();
    assert_eq!(text, "a:1:head -n 3");
}

// earendil-works/pi#4018; LionSR/TeXRA#6226; bunnycompany/underclass#3
#[tokio::test]
async fn a_pattern_never_is_an_option() {
    let bench = Bench::new();
    let evil = bench.put("evil.sh", format!("#!/bin/sh\ntouch {}/pwned\n", bench.root().display()));
    fs::set_permissions(&evil, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    bench.put("a", format!("--pre={}\n", evil.display()));
    let pattern = format!("--pre={}", evil.display());
    let input = json!({ "pattern": pattern, "path": ".", "output_mode": "content" });
    assert!(bench.grep(input).await.unwrap().starts_with("a:1:--pre="));
    assert!(!bench.path("pwned").exists());
}

#[tokio::test]
async fn matches_are_shown_with_context_and_numbers() {
    let bench = Bench::with(&[("d/a.txt", "1\n2\nx\n4\n5\n6\n7\nx\n9\n"), ("b.txt", "x\n")]);
    let content = |more: Value| {
        let mut input = json!({ "pattern": "x", "output_mode": "content" });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        bench.grep(input)
    };
    assert_eq!(content(json!({})).await.unwrap(), "b.txt:1:x\nd/a.txt:3:x\nd/a.txt:8:x");
    assert_eq!(content(json!({ "-n": false })).await.unwrap(), "b.txt:x\nd/a.txt:x\nd/a.txt:x");
    assert_eq!(
        content(json!({ "context": 1 })).await.unwrap(),
        "b.txt:1:x\n--\nd/a.txt-2-2\nd/a.txt:3:x\nd/a.txt-4-4\n--\nd/a.txt-7-7\nd/a.txt:8:x\nd/a.txt-9-9"
    );
    assert_eq!(
        content(json!({ "-A": 1, "path": "d/a.txt" })).await.unwrap(),
        "d/a.txt:3:x\nd/a.txt-4-4\n--\nd/a.txt:8:x\nd/a.txt-9-9"
    );
    assert_eq!(
        content(json!({ "-B": 1, "-A": 9, "-C": "0" })).await.unwrap(),
        "b.txt:1:x\nd/a.txt:3:x\nd/a.txt:8:x"
    );
}

#[tokio::test]
async fn case_parts_and_several_lines_are_options() {
    let bench = Bench::with(&[("a", "foo1 foo22\nFOO\nbar {\n  baz }\n")]);
    let content = |pattern: &str, more: Value| {
        let mut input = json!({ "pattern": pattern, "output_mode": "content" });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        bench.grep(input)
    };
    assert_eq!(content("foo", json!({ "-i": true })).await.unwrap(), "a:1:foo1 foo22\na:2:FOO");
    assert_eq!(content(r"foo\d+", json!({ "-o": true })).await.unwrap(), "a:1:foo1\na:1:foo22");
    assert_eq!(content(r"bar.*baz", json!({})).await.unwrap(), "No matches found");
    assert_eq!(
        content(r"bar.*baz", json!({ "multiline": true })).await.unwrap(),
        "a:3:bar {\na:4:  baz }"
    );
    let (code, words) = refused(content(r"\{\n", json!({})).await);
    assert_eq!(code, "search:pattern");
    assert!(words.contains("multiline"), "{words}");
    bench.put("crlf", "end\r\n");
    assert_eq!(content("end$", json!({})).await.unwrap(), "crlf:1:end");
}

#[tokio::test]
async fn files_are_listed_newest_first() {
    let bench = Bench::new();
    for (index, name) in ["old", "b", "a", "new"].iter().enumerate() {
        let path = bench.put(name, "x\n");
        // `a` and `b` are of the same time: the name decides.
        let age = [300, 200, 200, 100][index];
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
    }
    let same = SystemTime::now() - Duration::from_secs(200);
    for name in ["a", "b"] {
        fs::File::options().write(true).open(bench.path(name)).unwrap().set_modified(same).unwrap();
    }
    let text = bench.grep(json!({ "pattern": "x" })).await.unwrap();
    assert_eq!(text, "Found 4 files\nnew\na\nb\nold");
}

#[tokio::test]
async fn a_page_is_cut_and_says_so() {
    let bench = Bench::new();
    for number in 0..300 {
        bench.put(&format!("{number:03}"), "x\n");
    }
    let page = output(&bench, json!({ "pattern": "x" })).await;
    assert_eq!((page.filenames.len(), page.num_files, page.applied_limit), (250, 300, Some(250)));
    let all = output(&bench, json!({ "pattern": "x", "head_limit": 0 })).await;
    assert_eq!((all.filenames.len(), all.applied_limit), (300, None));
    let rest = output(&bench, json!({ "pattern": "x", "offset": 250 })).await;
    assert_eq!(
        (rest.filenames.len(), rest.applied_limit, rest.applied_offset),
        (50, None, Some(250))
    );
    let text = bench.grep(json!({ "pattern": "x" })).await.unwrap();
    assert!(text.ends_with("[files 1–250 of 300; the next page begins at offset: 250]"), "{text}");
    // All pages together are all files, once.
    let mut names = page.filenames;
    names.extend(rest.filenames);
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 300);
}

// anthropics/claude-code 2.1.210
#[tokio::test]
async fn past_the_end_is_not_no_matches() {
    let bench = Bench::with(&[("a", &"x\n".repeat(20))]);
    for (mode, what) in
        [("content", "20 matches"), ("files_with_matches", "1 file"), ("count", "1 file")]
    {
        let input =
            json!({ "pattern": "x", "output_mode": mode, "head_limit": 10, "offset": 1000 });
        let text = bench.grep(input).await.unwrap();
        assert!(text.contains("No entries at offset 1000") && text.contains(what), "{text}");
    }
    assert_eq!(bench.grep(json!({ "pattern": "y" })).await.unwrap(), "No files found");
}

// anthropics/claude-code 2.1.208
#[tokio::test]
async fn counts_are_totals_over_all_files() {
    let bench = Bench::new();
    for number in 0..9 {
        bench.put(&format!("f{number}"), "x\nx x\n");
    }
    let input = json!({ "pattern": "x", "output_mode": "count", "head_limit": 5 });
    let text = bench.grep(input).await.unwrap();
    assert!(
        text.starts_with(
            "f0:2\nf1:2\nf2:2\nf3:2\nf4:2\n\nFound 18 total occurrences across 9 files."
        ),
        "{text}"
    );
    assert!(text.contains("offset: 5"));
}

// anthropics/claude-code 2.1.139
#[tokio::test]
async fn the_count_of_a_single_file_has_its_name() {
    let bench = Bench::with(&[("a.txt", "x\ny\nx\n")]);
    let input = json!({ "pattern": "x", "path": "a.txt", "output_mode": "count" });
    let text = bench.grep(input).await.unwrap();
    assert_eq!(text, "a.txt:2\n\nFound 2 total occurrences across 1 file.");
}

// anthropics/claude-code 2.1.235
#[tokio::test]
async fn a_limit_counts_matches_and_keeps_their_context() {
    let bench = Bench::with(&[("a", "1\n2\nx3\nx4\n5\n6\nx7\n8\n")]);
    let page = |limit: usize, offset: usize| {
        bench.grep(json!({ "pattern": "x", "output_mode": "content", "context": 2, "head_limit": limit, "offset": offset }))
    };
    let text = page(1, 0).await.unwrap();
    assert_eq!(
        text,
        "a-1-1\na-2-2\na:3:x3\na-4-x4\na-5-5\n\n[matches 1–1 of 3; the next page begins at offset: 1]"
    );
    let text = page(1, 1).await.unwrap();
    assert!(text.starts_with("a-2-2\na-3-x3\na:4:x4\na-5-5\na-6-6\n\n"), "{text}");
    let text = page(5, 2).await.unwrap();
    assert!(text.starts_with("a-5-5\na-6-6\na:7:x7\na-8-8\n\n[matches 3–3 of 3]"), "{text}");
}

#[tokio::test]
async fn pages_of_matches_go_over_files() {
    let bench = Bench::new();
    for name in ["a", "b", "c", "d"] {
        bench.put(name, format!("{name}1x\n{name}2x\n{name}3x\n"));
    }
    let mut all = Vec::new();
    for offset in (0..12).step_by(5) {
        let input =
            json!({ "pattern": "x", "output_mode": "content", "head_limit": 5, "offset": offset });
        let page = output(&bench, input).await;
        assert_eq!((page.total, page.num_files), (12, 4));
        all.extend(page.content.unwrap().lines().map(str::to_owned).collect::<Vec<_>>());
    }
    let wanted: Vec<String> = ["a", "b", "c", "d"]
        .iter()
        .flat_map(|name| (1..=3).map(move |line| format!("{name}:{line}:{name}{line}x")))
        .collect();
    assert_eq!(all, wanted);
}

#[tokio::test]
async fn ignored_and_version_control_files_are_left_out() {
    let bench = Bench::with(&[
        (".gitignore", "*.log\n/build/\n"),
        ("a.log", "MARKER\n"),
        ("build/x", "MARKER\n"),
        (".hidden/x", "MARKER\n"),
        (".git/config", "MARKER\n"),
        (".jj/x", "MARKER\n"),
        ("sub/.svn/x", "MARKER\n"),
    ]);
    assert_eq!(
        bench.grep(json!({ "pattern": "MARKER" })).await.unwrap(),
        "Found 1 file\n.hidden/x"
    );
    // What is named is searched.
    for path in ["a.log", "build", ".git"] {
        let text = bench.grep(json!({ "pattern": "MARKER", "path": path })).await.unwrap();
        assert!(text.starts_with("Found 1 file"), "{path}: {text}");
    }
}

#[tokio::test]
async fn matches_only_in_a_version_control_directory_are_none() {
    let bench = Bench::with(&[(".jj/x", "MARKER\n"), ("a", "\n")]);
    assert_eq!(bench.grep(json!({ "pattern": "MARKER" })).await.unwrap(), "No files found");
}

// anthropics/claude-code#83326
#[tokio::test]
async fn when_nothing_is_found_ignored_files_are_told() {
    let bench = Bench::with(&[
        (".git/HEAD", ""),
        (".gitignore", ".env\n"),
        (".env", "MARKER\n"),
        ("a", "\n"),
    ]);
    let text = bench.grep(json!({ "pattern": "MARKER" })).await.unwrap();
    assert!(
        text.starts_with("No files found\n(Files that .gitignore and other ignore files name were"),
        "{text}"
    );
}

#[tokio::test]
async fn likely_secrets_are_searched_only_where_they_are_named() {
    let bench = Bench::with(&[(".env", "MARKER\n"), ("sub/k.pem", "MARKER\n"), ("a", "MARKER\n")]);
    let note = "(2 files that likely hold secrets were not searched; give a path to search it.)";
    let text = bench.grep(json!({ "pattern": "MARKER" })).await.unwrap();
    assert_eq!(text, format!("Found 1 file\na\n{note}"));
    // Whether a secret holds the text is not told either.
    let text = bench.grep(json!({ "pattern": "NOTHING" })).await.unwrap();
    assert_eq!(text, format!("No files found\n{note}"));
    for named in [
        json!({ "pattern": "MARKER", "path": ".env" }),
        json!({ "pattern": "MARKER", "glob": ".env" }),
        json!({ "pattern": "MARKER", "glob": "*.{pem,rs}" }),
    ] {
        let text = bench.grep(named.clone()).await.unwrap();
        assert!(text.starts_with("Found 1 file\n"), "{named}: {text}");
    }
}

#[tokio::test]
async fn errors_are_errors() {
    let bench = Bench::with(&[("a", "x\n")]);
    for (input, code, words) in [
        (json!({ "pattern": "(" }), "search:pattern", "unclosed group"),
        (json!({ "pattern": "x", "type": "nonsense" }), "search:pattern", "nonsense"),
        (json!({ "pattern": "x", "glob": "[" }), "search:pattern", "glob"),
        (json!({ "pattern": "x", "path": "no/such" }), code::NOT_FOUND, "no/such"),
        (json!({ "pattern": "x", "path": "/dev/zero" }), "file:not_a_file", "device"),
        (json!({ "pattern": "x", "path": "a\0b" }), code::INVALID, "NUL"),
        (json!({ "pattern": "x", "output_mode": "all" }), "schema", "output_mode"),
        (json!({ "pattern": "x", "-x": 1 }), "schema", "-x"),
    ] {
        let (found, message) = refused(bench.grep(input.clone()).await);
        assert_eq!(found, code, "{input}");
        assert!(message.contains(words), "{input}: {message}");
    }
}

// anthropics/claude-code 2.1.235
#[tokio::test]
async fn a_pattern_that_would_eat_memory_is_refused_at_once() {
    let bench = Bench::with(&[("a", "aaa\n")]);
    let begun = Instant::now();
    let (code, _) = refused(bench.grep(json!({ "pattern": "(a{1,1000}){1,1000}" })).await);
    assert_eq!(code, "search:pattern");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

// mistralai/mistral-vibe#947
#[tokio::test]
async fn long_lines_are_elided_on_characters() {
    let bench = Bench::with(&[("a", &format!("{}\n", "漢".repeat(170_000)))]);
    let text = bench.grep(json!({ "pattern": ".", "output_mode": "content" })).await.unwrap();
    assert_eq!(text, format!("a:1:{} …", "漢".repeat(500)));
    // The match is shown even if it is far inside.
    bench.put("b", format!("{}NEEDLE{}\n", "ä".repeat(9_000), "z".repeat(9_000)));
    let text = bench.grep(json!({ "pattern": "NEEDLE", "output_mode": "content" })).await.unwrap();
    assert!(
        text.starts_with("b:1:… ä") && text.contains("äNEEDLEz") && text.ends_with(" …"),
        "{text}"
    );
    assert!(text.chars().count() < 520);
}

#[tokio::test]
async fn globs_and_types_narrow_a_search() {
    let bench =
        Bench::with(&[("a.rs", "x\n"), ("b.ts", "x\n"), ("c.tsx", "x\n"), ("src/d.rs", "x\n")]);
    let names = |input: Value| {
        let bench = &bench;
        async move {
            let mut names = output(bench, input).await.filenames;
            names.sort();
            names.join(" ")
        }
    };
    assert_eq!(names(json!({ "pattern": "x", "type": "rust" })).await, "a.rs src/d.rs");
    assert_eq!(names(json!({ "pattern": "x", "glob": "*.{ts,tsx}" })).await, "b.ts c.tsx");
    assert_eq!(names(json!({ "pattern": "x", "glob": "*.ts, *.rs" })).await, "a.rs b.ts src/d.rs");
    assert_eq!(names(json!({ "pattern": "x", "glob": "!*.rs" })).await, "b.ts c.tsx");
    assert_eq!(names(json!({ "pattern": "x", "glob": "src/**" })).await, "src/d.rs");
    assert_eq!(names(json!({ "pattern": "x", "glob": "*.ts", "path": "a.rs" })).await, "");
}

// anthropics/claude-code 2.1.162
#[tokio::test]
async fn hidden_files_do_not_appear() {
    let bench = Bench::with(&[(".env", "SECRET\n"), ("a", "SECRET\n"), ("keys/k", "SECRET\n")]);
    let root = bench.root().to_path_buf();
    let tool = GrepTool::new(Some(Arc::new(move |path: &std::path::Path| {
        path == root.join(".env") || path.starts_with(root.join("keys"))
    })));
    let text = bench.call(&tool, json!({ "pattern": "SECRET" })).await.unwrap();
    assert_eq!(text, "Found 1 file\na");
    let error =
        bench.call(&tool, json!({ "pattern": "SECRET", "path": ".env" })).await.unwrap_err();
    assert_eq!(error.code(), code::NOT_FOUND);
}

#[tokio::test]
async fn what_is_no_text_is_skipped_and_what_cannot_be_read_is_told() {
    let bench = Bench::with(&[("a", "x\n")]);
    bench.put("bin", b"x\n\0\n");
    let mut utf16 = b"\xFF\xFE".to_vec();
    utf16.extend("x\n".encode_utf16().flat_map(u16::to_le_bytes));
    bench.put("wide", utf16);
    assert!(Command::new("mkfifo").arg(bench.path("fifo")).status().unwrap().success());
    symlink("a", bench.path("link")).unwrap();
    let input = json!({ "pattern": "x", "output_mode": "count" });
    let text = bench.grep(input).await.unwrap();
    assert!(text.starts_with("a:1\nwide:1\n\nFound 2"), "{text}");
    let input = json!({ "pattern": "x", "output_mode": "content", "path": "bin" });
    let text = bench.grep(input).await.unwrap();
    assert!(text.contains("No matches") && text.contains("binary"), "{text}");
}

// anthropics/claude-code 2.1.207
#[tokio::test]
async fn a_broken_line_of_an_ignore_file_is_skipped() {
    let bench = Bench::with(&[(".ignore", "[abc\n*.log\n"), ("a", "x\n"), ("b.log", "x\n")]);
    assert_eq!(bench.grep(json!({ "pattern": "x" })).await.unwrap(), "Found 1 file\na");
}

#[tokio::test]
async fn a_cancelled_search_ends() {
    let bench = Bench::with(&[("a", "x\n")]);
    bench.cancellation.cancel();
    assert_eq!(refused(bench.grep(json!({ "pattern": "x" })).await).0, code::INTERRUPTED);
}

#[tokio::test]
async fn all_matches_of_a_large_file_are_counted_though_few_are_kept() {
    let bench = Bench::with(&[("a", &"x\n".repeat(100_000)), ("b", "x\n")]);
    let input = json!({ "pattern": "x", "output_mode": "content", "head_limit": 3 });
    let page = output(&bench, input).await;
    assert_eq!(
        (page.total, page.shown, page.content.as_deref()),
        (100_001, 3, Some("a:1:x\na:2:x\na:3:x"))
    );
}
