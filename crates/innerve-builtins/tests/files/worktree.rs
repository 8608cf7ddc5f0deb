//! Worktrees of real repositories.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use innerve_builtins::host::{HostClock, HostProcesses};
use innerve_builtins::worktree::{EnterWorktreeTool, ExitWorktreeTool};
use innerve_tool::{CallContext, SessionChange, Tool, ToolError};
use serde_json::{Value, json};

use crate::kit::Bench;

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.com",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

struct Repository {
    bench: Bench,
    /// The session's directory, as the host keeps it.
    cwd: PathBuf,
}

impl Repository {
    fn new() -> Self {
        let bench = Bench::with(&[("a.txt", "one\n"), ("sub/b.txt", "two\n")]);
        git(bench.root(), &["init", "-q"]);
        git(bench.root(), &["add", "."]);
        git(bench.root(), &["commit", "-q", "-m", "first"]);
        let cwd = bench.root().to_owned();
        Self { bench, cwd }
    }

    fn context<P>(&self) -> CallContext<P> {
        CallContext { cwd: self.cwd.clone(), ..self.bench.context() }
    }

    async fn call<T: Tool>(&mut self, tool: &T, input: Value) -> Result<String, ToolError> {
        let input = self.bench.parsed(tool, input)?;
        tool.validate(&input, &self.context()).await?;
        let output = tool.call(input, None, self.context()).await?;
        for change in &output.changes {
            if let SessionChange::SetRoot(root) = change {
                self.cwd.clone_from(root);
            }
        }
        Ok(tool.render(&output.data).plain_text())
    }

    async fn enter(&mut self, input: Value) -> Result<String, ToolError> {
        self.call(
            &EnterWorktreeTool::new(Arc::new(HostProcesses::new()), Arc::new(HostClock)),
            input,
        )
        .await
    }

    async fn exit(&mut self, input: Value) -> Result<String, ToolError> {
        self.call(
            &ExitWorktreeTool::new(Arc::new(HostProcesses::new()), Arc::new(HostClock)),
            input,
        )
        .await
    }

    fn branches(&self) -> String {
        git(self.bench.root(), &["branch", "--format=%(refname:short)"])
    }
}

#[tokio::test]
async fn a_worktree_is_made_entered_left_and_removed() {
    let mut repository = Repository::new();
    let text = repository.enter(json!({ "name": "fix/it" })).await.unwrap();
    assert!(text.contains("branch worktree-fix/it"), "{text}");
    let path = repository.bench.root().canonicalize().unwrap().join(".innerve/worktrees/fix+it");
    assert_eq!(repository.cwd, path);
    assert_eq!(std::fs::read_to_string(path.join("a.txt")).unwrap(), "one\n");
    assert_eq!(git(repository.bench.root(), &["status", "--porcelain"]), "", "git leaves it out");

    let again = repository.enter(json!({})).await.unwrap_err();
    assert!(again.message().contains("already"), "{}", again.message());

    let text = repository.exit(json!({ "action": "remove" })).await.unwrap();
    assert!(text.contains("was removed"), "{text}");
    assert_eq!(repository.cwd, repository.bench.root());
    assert!(!path.exists());
    assert_eq!(repository.branches(), "main\n");
    let none = repository.exit(json!({ "action": "keep" })).await.unwrap_err();
    assert!(none.message().contains("no worktree"), "{}", none.message());
}

#[tokio::test]
async fn i9_work_that_would_be_lost_keeps_a_worktree() {
    let mut repository = Repository::new();
    repository.enter(json!({ "name": "w" })).await.unwrap();
    std::fs::write(repository.cwd.join("new.txt"), "x").unwrap();
    std::fs::write(repository.cwd.join("a.txt"), "changed").unwrap();
    let error = repository.exit(json!({ "action": "remove" })).await.unwrap_err();
    assert_eq!(error.code(), "worktree:refused");
    assert!(
        error.message().contains("2 uncommitted files") && error.message().contains("new.txt"),
        "{}",
        error.message()
    );

    git(&repository.cwd, &["add", "."]);
    git(&repository.cwd, &["commit", "-q", "-m", "my work"]);
    let error = repository.exit(json!({ "action": "remove" })).await.unwrap_err();
    assert!(
        error.message().contains("1 commits") && error.message().contains("my work"),
        "{}",
        error.message()
    );

    let path = repository.cwd.clone();
    let text = repository.exit(json!({ "action": "keep" })).await.unwrap();
    assert!(text.contains("is kept") && path.exists(), "{text}");

    let text = repository.enter(json!({ "path": path })).await.unwrap();
    assert!(text.contains("Entered"), "{text}");
    repository.exit(json!({ "action": "remove", "discard_changes": true })).await.unwrap();
    assert!(!path.exists() && !repository.branches().contains("worktree-w"));
}

#[tokio::test]
async fn work_that_was_merged_is_not_lost() {
    let mut repository = Repository::new();
    repository.enter(json!({ "name": "m" })).await.unwrap();
    std::fs::write(repository.cwd.join("a.txt"), "changed").unwrap();
    git(&repository.cwd, &["commit", "-q", "-a", "-m", "my work"]);
    git(repository.bench.root(), &["merge", "-q", "worktree-m"]);
    repository.exit(json!({ "action": "remove" })).await.unwrap();
    assert_eq!(repository.bench.text("a.txt"), "changed");
}

#[tokio::test]
async fn names_that_lead_elsewhere_are_refused() {
    let mut repository = Repository::new();
    for name in [
        "",
        "..",
        "a/../b",
        "../x",
        "/x",
        "-x",
        ".x",
        "a b",
        "a.lock",
        "é",
        "a//b",
        &"x".repeat(65),
    ] {
        let error = repository.enter(json!({ "name": name })).await.unwrap_err();
        assert_eq!(error.code(), "tool:invalid", "{name}");
    }
    assert!(repository.enter(json!({ "name": "a", "path": "b" })).await.is_err());
    let error = repository.enter(json!({ "path": "sub" })).await.unwrap_err();
    assert!(error.message().contains("no worktree of this repository"), "{}", error.message());
    assert!(
        repository
            .enter(json!({ "path": "." }))
            .await
            .unwrap_err()
            .message()
            .contains("main working tree")
    );
    assert_eq!(repository.branches(), "main\n");
}

#[tokio::test]
async fn outside_of_a_repository_there_are_none() {
    let bench = Bench::new();
    let cwd = bench.root().to_owned();
    let mut repository = Repository { bench, cwd };
    let error = repository.enter(json!({})).await.unwrap_err();
    assert!(error.message().contains("not in a git repository"), "{}", error.message());
}

#[tokio::test]
async fn i5_a_hook_of_the_repository_does_not_run() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut repository = Repository::new();
    let marker = repository.bench.path("ran");
    let hook = repository
        .bench
        .put(".git/hooks/post-checkout", format!("#!/bin/sh\ntouch {}\n", marker.display()));
    std::fs::set_permissions(hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    repository.enter(json!({ "name": "h" })).await.unwrap();
    assert!(!marker.exists());
}

#[tokio::test]
async fn what_the_settings_of_a_repository_in_the_worktree_name_does_not_run() {
    let mut repository = Repository::new();
    repository.enter(json!({ "name": "w" })).await.unwrap();
    let (inner, ran) = (repository.cwd.join("inner"), repository.bench.root().join("ran"));
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(inner.join("f"), "1").unwrap();
    std::fs::write(inner.join(".gitattributes"), "* filter=x\n").unwrap();
    git(&inner, &["init", "-q"]);
    git(&inner, &["add", "."]);
    git(&inner, &["commit", "-q", "-m", "inner"]);
    git(&inner, &["config", "filter.x.clean", &format!("touch {}; cat", ran.display())]);
    let entry = format!("160000,{},inner", git(&inner, &["rev-parse", "HEAD"]).trim());
    git(&repository.cwd, &["update-index", "--add", "--cacheinfo", &entry]);
    std::fs::write(inner.join("f"), "changed").unwrap();
    let error = repository.exit(json!({ "action": "remove" })).await.unwrap_err();
    assert!(error.message().contains("inner"), "{}", error.message());
    assert!(!ran.exists() && inner.exists());
}

#[tokio::test]
async fn a_worktree_made_by_hand_is_left_but_not_removed() {
    let mut repository = Repository::new();
    let other = tempfile::tempdir().unwrap();
    let place = other.path().join("hand");
    git(
        repository.bench.root(),
        &["worktree", "add", "-q", "-b", "by-hand", place.to_str().unwrap()],
    );
    repository.enter(json!({ "path": place })).await.unwrap();
    let error =
        repository.exit(json!({ "action": "remove", "discard_changes": true })).await.unwrap_err();
    assert!(error.message().contains("not made by EnterWorktree"), "{}", error.message());
    repository.exit(json!({ "action": "keep" })).await.unwrap();
    assert!(place.join("a.txt").exists());
}
