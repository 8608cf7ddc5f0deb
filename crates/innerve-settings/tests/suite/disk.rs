//! The disk as the engine sees it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use innerve_permission::{Decision, PathFacts as _, Policy, Verdict, Voices, facts, resolve};
use innerve_settings::DiskPaths;
use serde_json::json;

use crate::World;

#[track_caller]
fn real(world: &World, path: &str, expected: Option<&str>) {
    let resolved = DiskPaths.resolve(&world.path(path)).real;
    assert_eq!(resolved, expected.map(|expected| world.path(expected)), "{path}");
}

#[test]
fn links_are_followed_as_the_kernel_does() {
    let world = World::new();
    world.write("a/b/file", "");
    symlink("a/b", world.path("link")).unwrap();
    symlink(world.path("a"), world.path("a/b/up")).unwrap();
    symlink("missing/x", world.path("dangling")).unwrap();
    symlink("loop", world.path("loop")).unwrap();
    symlink("/etc/cron.d/new", world.path("outside")).unwrap();
    real(&world, "a/b/file", Some("a/b/file"));
    real(&world, "link/file", Some("a/b/file"));
    real(&world, "link/up/b/new", Some("a/b/new"));
    // `..` is taken after the link, not before.
    real(&world, "link/../b", Some("a/b"));
    real(&world, "dangling", Some("missing/x"));
    real(&world, "new/../a/x", Some("a/x"));
    real(&world, "loop", None);
    real(&world, "loop/x", None);
    assert_eq!(
        DiskPaths.resolve(&world.path("outside")).real.as_deref(),
        Some(Path::new("/etc/cron.d/new"))
    );
    assert!(DiskPaths.resolve(&world.path("link/file")).exists);
    assert!(!DiskPaths.resolve(&world.path("link/new")).exists);
    assert!(!DiskPaths.resolve(&world.path("dangling")).exists);
    assert!(!DiskPaths.resolve(&world.path("a/b/file/x")).exists);
}

#[test]
fn a_working_tree_ends_where_another_repository_begins() {
    let world = World::new();
    let cwd = &world.locations.cwd;
    fs::create_dir_all(cwd.join("sub/deep")).unwrap();
    fs::create_dir_all(cwd.join("vendor/lib/.git")).unwrap();
    world.write("home/repo/submodule/.git", "gitdir: ../.git/modules/submodule");
    for directory in ["objects", "refs"] {
        fs::create_dir_all(cwd.join("bare").join(directory)).unwrap();
    }
    world.write("home/repo/bare/HEAD", "ref: refs/heads/x");
    symlink(world.path("home"), cwd.join("out")).unwrap();
    for (path, same) in [
        ("sub/deep", true),
        ("", true),
        ("vendor/lib", false),
        ("submodule", false),
        ("bare", false),
        ("out", false),
        ("missing", true),
    ] {
        assert_eq!(DiskPaths.same_working_tree(cwd, &cwd.join(path)), same, "{path}");
    }
    assert!(!DiskPaths.same_working_tree(&world.path("home"), cwd));
}

#[test]
fn programs_in_the_repositorys_configuration_are_found() {
    let world = World::new();
    let cwd = world.locations.cwd.clone();
    let programs = || DiskPaths.git_programs(&cwd);
    assert_eq!(programs(), Vec::<String>::new());
    world.write("home/repo/.git/config", "[core]\n\tbare = false\n[include]\n\tpath = extra\n");
    assert_eq!(programs(), Vec::<String>::new());
    world.write("home/repo/.git/extra", "[core]\n\tfsmonitor = ./evil.sh\n");
    assert_eq!(programs(), ["core.fsmonitor = ./evil.sh"]);
    world.write("home/repo/.git/extra", "[include]\n\tpath = extra\n");
    assert_eq!(programs(), ["too many included files"]);
    world.write("home/repo/.git/config", "[core]\n");
    world.write("home/repo/.git/config.worktree", "[pager]\n\tlog = e\n");
    world.write("home/repo/.git/hooks/post-index-change", "");
    assert_eq!(programs(), ["hooks/post-index-change", "pager.log = e"]);
    fs::remove_file(world.path("home/repo/.git/config")).unwrap();
    fs::create_dir(world.path("home/repo/.git/config")).unwrap();
    assert!(programs().iter().any(|program| program.contains("unreadable")));
    // Outside of a repository git runs nothing.
    assert_eq!(DiskPaths.git_programs(&world.path("home")), Vec::<String>::new());
}

#[test]
fn a_worktree_reads_the_configuration_of_its_main_checkout() {
    let world = World::new();
    world.write("home/repo/.git/config", "[diff]\n\texternal = e\n");
    world.write("home/repo/.git/worktrees/w/commondir", "../..\n");
    world.write(
        "home/w/.git",
        &format!("gitdir: {}\n", world.path("home/repo/.git/worktrees/w").display()),
    );
    assert_eq!(DiskPaths.git_programs(&world.path("home/w")), ["diff.external = e"]);
    world.write("home/w/.git", "nonsense");
    assert!(!DiskPaths.git_programs(&world.path("home/w")).is_empty());
}

#[test]
fn git_that_reads_is_free_where_no_program_is_named() {
    let world = World::new();
    let mut policy = Policy::new(&world.locations.cwd, &world.locations.home);
    policy.headless = false;
    let decide = |command: &str| {
        let place = facts::Place { cwd: &policy.cwd, home: &policy.home, disk: &DiskPaths };
        let facts = facts::from_call("Bash", &json!({ "command": command }), place).unwrap();
        resolve(&policy, &facts, &Voices::default()).verdict
    };
    let free = Verdict::Decided(Decision::Allow);
    assert_eq!(decide("git status"), free);
    world.write("home/repo/.git/config", "[core]\n\tfsmonitor = ./evil.sh\n");
    assert_eq!(decide("git status"), Verdict::Decided(Decision::Ask));
    assert_eq!(decide("ls"), free);
}
