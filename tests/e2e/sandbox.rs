//! The sandbox of the operating system around commands, by both mechanisms.

mod deciding;
mod files;

use std::path::Path;

use innerve_tests::{Wire, World, reply};
use serde_json::{Value, json};

/// Whether bubblewrap works here; without it its tests have nothing to look at.
pub(crate) fn has_bubblewrap() -> bool {
    let tried = std::process::Command::new("bwrap")
        .args(["--ro-bind", "/", "/", "--unshare-net", "true"])
        .output();
    let works = tried.as_ref().is_ok_and(|output| output.status.success());
    if !works {
        println!("skipped: bubblewrap does not work here: {tried:?}");
    }
    works
}

/// Settings with a sandbox by bubblewrap, or by Landlock where no `bwrap` is found.
fn sandbox(bubblewrap: bool, more: &Value) -> String {
    let mut sandbox = json!({ "enabled": true });
    if !bubblewrap {
        sandbox["bwrapPath"] = json!("/nonexistent/bwrap");
    }
    for (name, value) in more.as_object().unwrap() {
        sandbox[name] = value.clone();
    }
    json!({ "sandbox": sandbox }).to_string()
}

fn mechanisms() -> Vec<bool> {
    let mut mechanisms = vec![false];
    if has_bubblewrap() {
        mechanisms.push(true);
    }
    mechanisms
}

/// Runs a command as the program's own call and gives what it printed.
#[track_caller]
fn run(world: &World, settings: &str, command: &str) -> String {
    let input = json!({ "command": command }).to_string();
    let ended =
        world.innerve(["call", "Bash", &input, "--settings", settings, "--allow", "Bash(*)"]).run();
    format!("{}{}", ended.stdout(), ended.stderr())
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn a_command_changes_the_workspace_and_nothing_else() {
    for bubblewrap in mechanisms() {
        let world = World::new().file("a.txt", "one\n");
        let settings = sandbox(bubblewrap, &json!({}));
        let outside = world.root().join("config/outside");
        let told = run(
            &world,
            &settings,
            &format!(
                "echo two >> a.txt; echo new > b.txt; mkdir c; touch {} || echo refused; pwd",
                outside.display()
            ),
        );
        assert!(told.contains("refused"), "bubblewrap {bubblewrap}: {told}");
        assert_eq!(world.read("a.txt"), "one\ntwo\n");
        assert_eq!(world.read("b.txt"), "new\n");
        assert!(!outside.exists() && world.has("c"));
    }
}

#[test]
fn secrets_are_not_readable_and_the_rest_is() {
    for bubblewrap in mechanisms() {
        let world = World::new();
        write(&world.root().join("home/.ssh/id_ed25519"), "the key");
        write(&world.root().join("home/notes"), "the notes");
        let settings = sandbox(bubblewrap, &json!({}));
        let told = run(
            &world,
            &settings,
            "cat ~/.ssh/id_ed25519; cat ~/notes; head -c 0 /etc/passwd && echo read",
        );
        assert!(!told.contains("the key"), "bubblewrap {bubblewrap}: {told}");
        assert!(
            told.contains("the notes") && told.contains("read"),
            "bubblewrap {bubblewrap}: {told}"
        );
    }
}

#[test]
fn there_is_no_network() {
    for bubblewrap in mechanisms() {
        let world = World::new();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let command = format!(
            "(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo connected || echo refused"
        );
        let told = run(&world, &sandbox(bubblewrap, &json!({})), &command);
        assert!(told.contains("refused"), "bubblewrap {bubblewrap}: {told}");
        let without = run(&world, "{}", &command);
        assert!(without.contains("connected"), "{without}");
    }
}

#[test]
fn what_runs_outside_later_is_protected_by_bubblewrap() {
    if !has_bubblewrap() {
        return;
    }
    // A script, so that nothing of it is seen beforehand.
    let script = "echo x > .git/hooks/pre-commit\necho x >> .git/config\nmv .git .moved\nmkdir -p .innerve\n\
                  echo x > .innerve/settings.json\nmv .git/hooks .h\necho y > .git/index\ntrue\n";
    let world = World::new()
        .file(".git/config", "[core]\n")
        .file(".git/hooks/sample", "")
        .file("attack.sh", script);
    run(&world, &sandbox(true, &json!({})), "bash attack.sh");
    assert!(!world.has(".git/hooks/pre-commit") && !world.has(".moved"));
    assert_eq!(world.read(".git/config"), "[core]\n");
    assert!(!world.has(".innerve/settings.json"));
    assert_eq!(world.read(".git/index"), "y\n", "git itself still works");
}

#[test]
fn a_command_may_leave_where_settings_let_it() {
    for bubblewrap in mechanisms() {
        let world = World::new();
        let outside = world.root().join("config/outside");
        let call = |settings: &str, input: Value| {
            let input = input.to_string();
            world
                .innerve(["call", "Bash", &input, "--settings", settings, "--allow", "Bash(*)"])
                .run()
        };
        let touch = format!("touch {}", outside.display());
        let free = json!({ "command": touch, "dangerouslyDisableSandbox": true });
        call(&sandbox(bubblewrap, &json!({ "allowUnsandboxedCommands": false })), free.clone());
        assert!(!outside.exists(), "bubblewrap {bubblewrap}: the parameter is ignored");
        call(&sandbox(bubblewrap, &json!({})), free);
        assert!(outside.exists(), "bubblewrap {bubblewrap}");
        std::fs::remove_file(&outside).unwrap();
        let excluded = json!({ "excludedCommands": ["touch *"] });
        call(&sandbox(bubblewrap, &excluded), json!({ "command": touch }));
        assert!(outside.exists(), "bubblewrap {bubblewrap}: excluded");
    }
}

#[test]
fn what_runs_in_bubblewrap_needs_no_question() {
    if !has_bubblewrap() {
        return;
    }
    let world = World::new();
    let model =
        world.model(Wire::Anthropic, [reply().bash("touch made.txt"), reply().text("Made.")]);
    let settings = sandbox(true, &json!({}));
    world.innerve(["run", "make it", "--settings", &settings]).model(&model).run().exits(0);
    assert!(world.has("made.txt"));
    world.nobody_is_left();
}

#[test]
fn the_files_of_the_shell_are_out_of_reach_of_what_it_runs() {
    if !has_bubblewrap() {
        return;
    }
    // What a command leaves there would be read by the next command, which runs outside.
    let script = "for file in ${TMPDIR:-/tmp}/innerve-bash-*/start \"$XDG_STATE_HOME\"/innerve/shell/*/start; do\n\
                  echo 'touch pwned' >> $file\nmv $(dirname $file) $(dirname $file)-moved\ndone\ntrue\n";
    let world = World::new().file("attack.sh", script);
    let model = world.model(
        Wire::Anthropic,
        [reply().bash("bash attack.sh; pwd"), reply().bash("ls"), reply().text("Done.")],
    );
    let settings = sandbox(true, &json!({ "excludedCommands": ["ls *", "ls"] }));
    world
        .innerve(["run", "go", "--settings", &settings, "--allow", "Bash(*)"])
        .model(&model)
        .run()
        .exits(0);
    let first = model.request(1).result_texts().remove(0);
    assert!(first.contains("work"), "{first}");
    assert!(!world.has("pwned"));
}

#[test]
fn a_command_cannot_lay_anything_in_the_way_of_the_next_one() {
    if !has_bubblewrap() {
        return;
    }
    // Where it may say where it ended it finds the places where later commands will; these run outside.
    let attack = "e=$(tr '\\0' '\\n' </proc/1/environ | sed -n 's/^INNERVE_END_FILE=//p'); d=${e%/*/*}\n\
                  echo \"found ${e:+it}\"; for i in 0 1 2 3 4 5 6 7 8 9; do\n\
                  mkdir $d/call-$i; ln -s ~/.profile $d/call-$i/end; ln -s ~/.profile $d/end-$i; done; mv ${e%/*} $d/other\n\
                  mkdir ';touch pwned;'; true";
    // In a script, so that nothing of it is seen beforehand.
    let world = World::new().file("attack.sh", attack);
    write(&world.root().join("home/.profile"), "mine\n");
    let model = world.model(
        Wire::Anthropic,
        [
            reply().bash("bash attack.sh; cd ';touch pwned;'"),
            reply().bash("uptime -V"),
            reply().bash("uptime -V"),
            reply().text("Done."),
        ],
    );
    let settings = sandbox(true, &json!({ "excludedCommands": ["uptime *"] }));
    let run = world.innerve(["run", "go", "--settings", &settings, "--allow", "Bash(*)"]);
    run.model(&model).run().exits(0);
    let first = model.request(1).result_texts().remove(0);
    assert!(first.contains("found it"), "{first}");
    let profile = std::fs::read_to_string(world.root().join("home/.profile")).unwrap();
    assert_eq!(profile, "mine\n");
}

#[test]
fn a_command_does_not_set_the_machine() {
    for bubblewrap in mechanisms() {
        let world = World::new();
        // Opened and not written to, should it be possible.
        let told = run(
            &world,
            &sandbox(bubblewrap, &json!({})),
            "for file in /proc/sys/kernel/core_pattern /proc/sysrq-trigger /proc/mtrr; do (: >> $file) && echo open; done; true",
        );
        assert!(!told.lines().any(|line| line == "open"), "bubblewrap {bubblewrap}: {told}");
    }
}

#[test]
fn a_command_of_the_superuser_has_no_more_rights_than_work_on_files_needs() {
    for bubblewrap in mechanisms() {
        let told = run(&World::new(), &sandbox(bubblewrap, &json!({})), "cat /proc/self/status");
        let effective = told.lines().find_map(|line| line.strip_prefix("CapEff:"));
        let effective = u64::from_str_radix(effective.unwrap().trim(), 16).unwrap();
        // CHOWN, DAC_OVERRIDE, FOWNER, FSETID (capabilities(7)).
        assert_eq!(effective & !0b1_1011, 0, "bubblewrap {bubblewrap}: {effective:x}");
    }
}
