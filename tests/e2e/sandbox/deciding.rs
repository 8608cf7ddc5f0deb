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
