//! What decides about programs that run outside of the sandbox later stays as it is, and work goes on beside it.

use std::path::Path;
use std::process::Command;

use innerve_tests::World;
use serde_json::json;

use super::{has_bubblewrap, run, sandbox, write};

#[track_caller]
fn git(directory: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]);
    git.args(["-c", "protocol.file.allow=always"]).args(arguments);
    let output = git.current_dir(directory).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
}

/// A world whose work is a repository with a commit.
fn repository() -> World {
    let world = World::new().file("a.txt", "alpha\n");
    let work = world.root().join("work");
    git(&work, &["init", "-q"]);
    for (name, value) in [("user.name", "a"), ("user.email", "a@example.com")] {
        git(&work, &["config", name, value]);
    }
    git(&work, &["add", "."]);
    git(&work, &["commit", "-q", "-m", "first"]);
    world
}

/// What a script says that nobody can see into.
#[track_caller]
fn script(world: &World, text: &str) -> String {
    let path = world.root().join("scripts/script.sh");
    write(&path, text);
    run(world, &sandbox(true, &json!({})), &format!("bash {}", path.display()))
}

#[test]
fn a_linked_worktree_stays_with_its_repository() {
    if !has_bubblewrap() {
        return;
    }
    let world = World::new();
    let (work, repository) = (world.root().join("work"), world.root().join("repository"));
    std::fs::create_dir(&repository).unwrap();
    git(&repository, &["init", "-q"]);
    git(&repository, &["commit", "-q", "--allow-empty", "-m", "first"]);
    std::fs::remove_dir_all(&work).unwrap();
    git(&repository, &["worktree", "add", "-q", "../work"]);
    let before = world.read(".git");
    script(&world, "echo 'gitdir: evil' > .git; rm -f .git; mv .git x; mkdir .git");
    assert_eq!(world.read(".git"), before);
}

#[test]
fn the_repositories_of_submodules_keep_their_settings_and_take_commits() {
    if !has_bubblewrap() {
        return;
    }
    let world = repository();
    let (work, library) = (world.root().join("work"), world.root().join("library"));
    std::fs::create_dir(&library).unwrap();
    git(&library, &["init", "-q"]);
    git(&library, &["commit", "-q", "--allow-empty", "-m", "first"]);
    git(&work, &["submodule", "--quiet", "add", "../library", "lib"]);
    let config = world.read(".git/modules/lib/config");
    let told = script(
        &world,
        "m=.git/modules/lib\ngit config -f $m/config core.fsmonitor 'touch pwned; false'\necho x > $m/hooks/pre-commit\n\
         echo 'gitdir: ../evil' > lib/.git\nmv $m .git/modules/other; mv .git/modules .git/m; mv lib l; mv $m/hooks $m/h\n\
         git -C lib -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m second && echo committed\n\
         git status > /dev/null && echo seen",
    );
    assert!(told.contains("committed") && told.contains("seen"), "{told}");
    assert_eq!(world.read(".git/modules/lib/config"), config, "{told}");
    assert!(!world.has(".git/modules/lib/hooks/pre-commit") && !world.has("pwned"), "{told}");
    assert!(world.read("lib/.git").contains("modules/lib"), "{told}");
}

#[test]
fn what_leads_git_elsewhere_is_gone_when_the_command_ends() {
    if !has_bubblewrap() {
        return;
    }
    let world = repository();
    git(&world.root().join("work"), &["config", "extensions.worktreeConfig", "true"]);
    let told = script(
        &world,
        "mkdir -p evil/hooks; cp -r .git/objects .git/refs .git/config evil/\n\
         git config -f evil/config core.fsmonitor 'touch pwned; false'\n\
         echo ../evil > .git/commondir; ln -s ../evil/config .git/config.worktree; ls .git",
    );
    assert!(told.contains("commondir`, made while the command ran"), "{told}");
    git(&world.root().join("work"), &["status"]);
    assert!(!world.has("pwned") && !world.has(".git/commondir"), "{told}");
    assert!(!world.has(".git/config.worktree") && world.has("evil/config"), "{told}");
}

#[test]
fn protected_files_stay_and_new_ones_are_told() {
    if !has_bubblewrap() {
        return;
    }
    let kept =
        [".vscode/tasks.json", ".gitmodules", ".husky/pre-commit", ".bashrc", ".cargo/config.toml"];
    let free =
        ["CLAUDE.md", "package.json", ".pnp.cjs", ".yarn/install-state.gz", "sub/.gitignore"];
    let mut world = World::new();
    for file in kept.iter().chain(&free) {
        world = world.file(file, "before\n");
    }
    let attack = format!(
        "for file in {} {}; do echo after > $file; rm -f .bashrc; done; mv .vscode v\n\
         mkdir .idea; echo x > .envrc; touch new.txt",
        kept.join(" "),
        free.join(" ")
    );
    let told = script(&world, &attack);
    for file in kept {
        assert_eq!(world.read(file), "before\n", "{file}: {told}");
    }
    for file in free {
        assert_eq!(world.read(file), "after\n", "{file}: {told}");
    }
    for made in [".idea`", ".envrc`"] {
        assert!(told.contains("obeyed by programs outside") && told.contains(made), "{told}");
    }
    assert!(!told.contains("new.txt`"), "{told}");
    // A setting opens one of them, and no link in place of what it names does.
    let settings = sandbox(true, &json!({ "filesystem": { "allowWrite": ["out"] } }));
    run(&world, &settings, "ln -s .vscode out");
    let told = run(&world, &settings, "bash ../scripts/script.sh");
    assert_eq!(world.read(".vscode/tasks.json"), "before\n", "{told}");
    let settings = sandbox(true, &json!({ "filesystem": { "allowWrite": [".vscode"] } }));
    let told = run(&world, &settings, "bash ../scripts/script.sh");
    assert_eq!(world.read("v/tasks.json"), "after\n", "{told}");
    assert_eq!(world.read(".gitmodules"), "before\n", "{told}");
}

#[test]
fn a_home_that_is_worked_in_keeps_what_the_shell_reads() {
    if !has_bubblewrap() {
        return;
    }
    let world = World::new();
    let home = world.root().join("home");
    for file in [".bashrc", ".config/git/config", "notes"] {
        write(&home.join(file), "before\n");
    }
    let lists = json!({ "filesystem": { "allowWrite": ["~"] } });
    let text = "for file in ~/.bashrc ~/.config/git/config ~/notes; do echo after > $file; done; mv ~/.config ~/c";
    let path = world.root().join("scripts/script.sh");
    write(&path, text);
    let told = run(&world, &sandbox(true, &lists), &format!("bash {}", path.display()));
    let read = |file: &str| std::fs::read_to_string(home.join(file)).unwrap();
    assert_eq!(read(".bashrc"), "before\n", "{told}");
    assert_eq!(read(".config/git/config"), "before\n", "{told}");
    assert_eq!(read("notes"), "after\n", "{told}");
}

#[test]
fn a_link_that_decides_and_is_replaced_is_told() {
    if !has_bubblewrap() {
        return;
    }
    let world = repository();
    let (work, elsewhere) = (world.root().join("work"), world.root().join("elsewhere"));
    std::fs::rename(work.join(".git"), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, work.join(".git")).unwrap();
    let told = script(&world, "git status --short; echo ran");
    assert!(told.contains("ran") && !told.contains("obeyed by programs"), "{told}");
    let told = script(&world, "rm .git; mkdir .git; echo ran");
    assert!(told.contains("obeyed by programs outside of the sandbox: `"), "{told}");
}

#[test]
fn ordinary_work_goes_on() {
    if !has_bubblewrap() {
        return;
    }
    let world = repository();
    let told = script(
        &world,
        "set -e; echo beta >> a.txt; git add a.txt; git commit -q -m second; git checkout -q -b other; echo x > b.txt\n\
         git add .; git commit -q -m third; git checkout -q -; git merge -q other; git tag v1; git stash list; git gc -q\n\
         git rev-list --count HEAD; git status --short; git worktree add -q wt; git -C wt commit -q --allow-empty -m w; echo done",
    );
    assert!(told.starts_with("3\n") && told.contains("done"), "{told}");
    assert!(!told.contains("obeyed") && !told.contains("made while"), "{told}");
}
