//! Glob.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use innerve_builtins::glob::GlobTool;
use innerve_tool::{Tool as _, code};
use serde_json::{Value, json};

use crate::kit::{Bench, refused};

async fn names(bench: &Bench, input: Value) -> String {
    let mut names: Vec<String> =
        bench.glob(input).await.unwrap().lines().map(str::to_owned).collect();
    names.sort();
    names.join(" ")
}

#[tokio::test]
async fn patterns_find_files() {
    let bench = Bench::with(&[
        ("a.rs", ""),
        ("src/b.rs", ""),
        ("src/c.ts", ""),
        ("src/deep/d.rs", ""),
        (".hidden/e.rs", ""),
        (".git/f.rs", ""),
        ("ignored/g.rs", ""),
        (".gitignore", "ignored\n"),
    ]);
    let find = |pattern: &str| {
        let input = json!({ "pattern": pattern });
        let bench = &bench;
        async move { names(bench, input).await }
    };
    assert_eq!(find("*.rs").await, ".hidden/e.rs a.rs ignored/g.rs src/b.rs src/deep/d.rs");
    assert_eq!(find("**/*.rs").await, find("*.rs").await);
    assert_eq!(find("./*.rs").await, "a.rs");
    assert_eq!(find("src/*.rs").await, "src/b.rs");
    assert_eq!(find("src/**/*.{rs,ts}").await, "src/b.rs src/c.ts src/deep/d.rs");
    assert_eq!(find("src/c.ts").await, "src/c.ts");
    assert_eq!(find("nothing*").await, "No files found");
    let absolute = format!("{}/src/*.ts", bench.root().display());
    assert_eq!(find(&absolute).await, "src/c.ts");
    assert_eq!(
        names(&bench, json!({ "pattern": "*.rs", "path": "src/deep" })).await,
        "src/deep/d.rs"
    );
    assert_eq!(
        names(&bench, json!({ "pattern": "../*.ts", "path": "src/deep" })).await,
        "src/c.ts"
    );
}

#[tokio::test]
async fn only_the_newest_hundred_are_listed() {
    let bench = Bench::new();
    for number in 0..150_u64 {
        let path = bench.put(&format!("f{number:03}"), "");
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(1_000 - number)).unwrap();
    }
    let text = bench.glob(json!({ "pattern": "*" })).await.unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0], lines[99], lines.len()), ("f149", "f050", 101));
    assert!(lines[100].contains("100 of 150"), "{}", lines[100]);
}

// anthropics/claude-code 2.1.208
#[tokio::test]
async fn a_nul_byte_in_a_pattern_is_refused() {
    let bench = Bench::new();
    assert_eq!(refused(bench.glob(json!({ "pattern": "a\0b" })).await).0, code::INVALID);
    assert_eq!(refused(bench.glob(json!({ "pattern": "" })).await).0, code::INVALID);
    assert_eq!(refused(bench.glob(json!({ "pattern": "[" })).await).0, "search:pattern");
    let (code, _) = refused(bench.glob(json!({ "pattern": "*", "path": "none" })).await);
    assert_eq!(code, code::NOT_FOUND);
}

// anthropics/claude-code 2.1.162
#[tokio::test]
async fn hidden_files_do_not_appear() {
    let bench = Bench::with(&[(".env", ""), ("a", "")]);
    let tool = GlobTool::new(Some(Arc::new(|path| path.ends_with(".env"))));
    assert_eq!(bench.call(&tool, json!({ "pattern": "**/*" })).await.unwrap(), "a");
}

// anthropics/claude-code 2.1.207
#[tokio::test]
async fn a_broken_ignore_file_does_not_matter() {
    let bench = Bench::with(&[(".ignore", "[abc\n"), ("a", "")]);
    assert_eq!(names(&bench, json!({ "pattern": "*" })).await, ".ignore a");
}

#[tokio::test]
async fn links_to_files_are_files_and_links_to_directories_are_not_walked() {
    let bench = Bench::with(&[("d/a", "")]);
    symlink("d/a", bench.path("link")).unwrap();
    symlink("d", bench.path("loop")).unwrap();
    symlink("nowhere", bench.path("dangling")).unwrap();
    assert_eq!(names(&bench, json!({ "pattern": "*" })).await, "d/a link");
}

#[tokio::test]
async fn a_pattern_does_not_leave_its_directory_through_a_link() {
    let outside = Bench::with(&[("secret.txt", "")]);
    let bench = Bench::with(&[("d/a.txt", "")]);
    symlink(outside.root(), bench.path("link")).unwrap();
    let (code, words) = refused(bench.glob(json!({ "pattern": "link/*.txt" })).await);
    assert_eq!(code, code::INVALID);
    assert!(words.contains("symbolic link"), "{words}");
    // Named as the directory, it is what is judged.
    let text = bench.glob(json!({ "pattern": "*.txt", "path": "link" })).await.unwrap();
    assert_eq!(text, "link/secret.txt");
    assert_eq!(names(&bench, json!({ "pattern": "d/*.txt", "path": "" })).await, "d/a.txt");
}

#[tokio::test]
async fn the_directory_that_a_pattern_leads_to_is_what_is_judged() {
    let bench = Bench::new();
    let tool = GlobTool::new(None);
    for (pattern, path, rest) in [
        ("/etc/*.conf", "/etc", "./*.conf"),
        ("/etc/**/x", "/etc", "**/x"),
        ("~/x/*", &*bench.path("home/x").to_string_lossy(), "./*"),
        ("/*", "/", "./*"),
        ("../*.rs", &*bench.root().parent().unwrap().to_string_lossy(), "./*.rs"),
    ] {
        let mut input = json!({ "pattern": pattern });
        tool.prepare(&mut input, &bench.context());
        assert_eq!(input, json!({ "pattern": rest, "path": path }), "{pattern}");
    }
    let mut input = json!({ "pattern": "src/*.rs" });
    tool.prepare(&mut input, &bench.context());
    assert_eq!(input, json!({ "pattern": "src/*.rs" }));
}
