//! What rules and settings keep from commands in the sandbox: files, directories and credentials.

use std::os::unix::fs::symlink;

use innerve_tests::{Wire, World, reply};
use serde_json::{Value, json};

use super::{has_bubblewrap, mechanisms, run, sandbox, write};

/// Settings with a sandbox and permission rules.
fn with_rules(bubblewrap: bool, sandboxed: &Value, permissions: &Value) -> String {
    let mut settings: Value = serde_json::from_str(&sandbox(bubblewrap, sandboxed)).unwrap();
    settings["permissions"] = permissions.clone();
    settings.to_string()
}

/// What a script says that nobody can see into.
#[track_caller]
fn script(world: &World, settings: &str, text: &str) -> String {
    // Not in the working directory, in which little can be made where a part of it is hidden.
    let path = world.root().join("scripts/script.sh");
    write(&path, text);
    run(world, settings, &format!("bash {}", path.display()))
}

#[test]
fn what_rules_deny_to_read_is_hidden_from_scripts() {
    for bubblewrap in mechanisms() {
        let world = World::new()
            .file(".env", "TOKEN=top")
            .file("src/deep/.env", "TOKEN=deep")
            .file("node_modules/p/server.pem", "the key")
            .file("private/notes.txt", "the notes")
            .file("src/main.rs", "fn main")
            .file(".gitignore", "*.pem\nnode_modules\n")
            .file("public.txt", "shown");
        let deny = json!({ "deny": ["Read(.env)", "Read(**/*.pem)", "Read(./private/**)"] });
        let settings = with_rules(bubblewrap, &json!({}), &deny);
        let told = script(
            &world,
            &settings,
            "cat .env src/deep/.env node_modules/p/server.pem private/notes.txt\ncp .env copy; cat copy\n\
             ln .env hard; cat hard\nmv src moved; cat moved/deep/.env\nmv private p; cat p/notes.txt\n\
             echo x > .env\ncat public.txt src/main.rs; echo changed > src/main.rs",
        );
        for secret in ["TOKEN", "the key", "the notes"] {
            assert!(!told.contains(secret), "bubblewrap {bubblewrap}: {told}");
        }
        assert!(
            told.contains("shown") && told.contains("fn main"),
            "bubblewrap {bubblewrap}: {told}"
        );
        assert_eq!(world.read(".env"), "TOKEN=top", "bubblewrap {bubblewrap}");
        assert_eq!(world.read("src/main.rs"), "changed\n", "bubblewrap {bubblewrap}: {told}");
    }
}

#[test]
fn what_comes_to_match_between_two_commands_is_hidden_from_the_second() {
    for bubblewrap in mechanisms() {
        let world = World::new().file("a/.env", "TOKEN=one").file("b/x", "");
        let settings = with_rules(bubblewrap, &json!({}), &json!({ "deny": ["Read(.env)"] }));
        assert!(!script(&world, &settings, "cat a/.env").contains("TOKEN"));
        write(&world.root().join("work/b/.env"), "TOKEN=two");
        let told = script(&world, &settings, "cat a/.env b/.env; ls b");
        assert!(
            !told.contains("TOKEN") && told.contains(".env"),
            "bubblewrap {bubblewrap}: {told}"
        );
    }
}

#[test]
fn links_lead_to_nothing_that_is_hidden() {
    for bubblewrap in mechanisms() {
        let world = World::new().file("a.txt", "");
        let outside = world.root().join("outside");
        write(&outside.join("real.env"), "TOKEN=real");
        write(&outside.join("dir/.env"), "TOKEN=dir");
        symlink(outside.join("real.env"), world.root().join("work/.env")).unwrap();
        symlink(outside.join("dir"), world.root().join("work/link")).unwrap();
        symlink("circle", world.root().join("work/circle")).unwrap();
        let settings = with_rules(bubblewrap, &json!({}), &json!({ "deny": ["Read(.env)"] }));
        let real = outside.join("real.env");
        let told =
            script(&world, &settings, &format!("cat .env link/.env {}; echo done", real.display()));
        assert!(
            !told.contains("TOKEN") && told.contains("done"),
            "bubblewrap {bubblewrap}: {told}"
        );
    }
}

#[test]
fn what_rules_deny_to_change_stays_by_bubblewrap() {
    if !has_bubblewrap() {
        return;
    }
    let world = World::new()
        .file("keep.txt", "kept")
        .file("deep/in/x.lock", "kept")
        .file("dir/a", "kept")
        .file("free.txt", "");
    let rules = json!({ "deny": ["Edit(./keep.txt)", "Edit(*.lock)", "Write(./dir/**)", "Edit(./new/**)"] });
    let told = script(
        &world,
        &with_rules(true, &json!({}), &rules),
        "echo x > keep.txt; rm -f keep.txt; mv keep.txt k; echo x > deep/in/x.lock\nmv deep other; mv deep/in deep/on\n\
         echo x > dir/a; touch dir/b; rm -rf dir; mkdir -p new/sub; cat keep.txt\necho free > free.txt",
    );
    assert!(told.contains("kept"), "{told}");
    for file in ["keep.txt", "deep/in/x.lock", "dir/a"] {
        assert_eq!(world.read(file), "kept", "{file}");
    }
    assert!(!world.has("dir/b") && !world.has("new/sub"));
    assert_eq!(world.read("free.txt"), "free\n");
}

#[test]
fn what_rules_allow_to_change_outside_is_open_but_for_what_decides() {
    for bubblewrap in mechanisms() {
        let world = World::new();
        let outside = world.root().join("outside");
        for file in ["open/a", "open/.git/config", "open/closed/b", "one.txt", "other/c"] {
            write(&outside.join(file), "before");
        }
        let at = |path: &str| format!("Edit(/{}/{path})", outside.display());
        let rules = json!({
            "allow": [at("open/**"), at("one.txt"), at("*.txt")],
            "deny": [at("open/closed/**")],
        });
        let told = script(
            &world,
            &with_rules(bubblewrap, &json!({}), &rules),
            &format!(
                "cd {}; for file in open/a open/.git/config open/closed/b one.txt other/c; do echo after > $file; done; \
                 echo new > two.txt",
                outside.display()
            ),
        );
        let read = |file: &str| std::fs::read_to_string(outside.join(file)).unwrap();
        for (file, text) in [("open/a", "after\n"), ("one.txt", "after\n"), ("other/c", "before")] {
            assert_eq!(read(file), text, "bubblewrap {bubblewrap}: {file}: {told}");
        }
        assert!(!outside.join("two.txt").exists(), "bubblewrap {bubblewrap}");
        if bubblewrap {
            // Landlock cannot take back a part of what it grants.
            assert_eq!(read("open/.git/config"), "before", "{told}");
            assert_eq!(read("open/closed/b"), "before", "{told}");
        }
    }
}

#[test]
fn too_many_matches_are_kept_back_by_the_directory_and_that_is_told() {
    for bubblewrap in mechanisms() {
        let world = World::new().file("src/main.rs", "shown");
        for index in 0..400 {
            write(&world.root().join(format!("work/keys/k{index}.pem")), "the key");
        }
        let settings = with_rules(bubblewrap, &json!({}), &json!({ "deny": ["Read(*.pem)"] }));
        let told = script(&world, &settings, "cat keys/*.pem keys/k399.pem; cat src/main.rs");
        assert!(
            !told.contains("the key") && told.contains("shown"),
            "bubblewrap {bubblewrap}: {told}"
        );
        assert!(told.contains("keeps whole directories back"), "bubblewrap {bubblewrap}: {told}");
        // Where no directory is left to close, nothing runs.
        for index in 0..400 {
            write(&world.root().join(format!("work/k{index}.pem")), "the key");
        }
        let told = script(&world, &settings, "echo ran");
        assert!(told.contains("was not run") && told.contains("`Read(*.pem)`"), "{told}");
    }
}

#[test]
fn a_hidden_name_that_is_no_text_stops_commands_and_says_so() {
    use std::os::unix::ffi::OsStrExt as _;

    if !has_bubblewrap() {
        return;
    }
    let world = World::new().file("a\nb.pem", "the key");
    let settings = with_rules(true, &json!({}), &json!({ "deny": ["Read(*.pem)"] }));
    let told = script(&world, &settings, "cat a*.pem; echo ran");
    assert!(!told.contains("the key") && told.contains("ran"), "{told}");
    let name = std::ffi::OsStr::from_bytes(b"bad\xff.pem");
    std::fs::write(world.root().join("work").join(name), "the key").unwrap();
    let told = script(&world, &settings, "cat *.pem; echo ran");
    assert!(!told.contains("the key") && told.contains("no text"), "{told}");
}

#[test]
fn credentials_are_hidden_or_masked() {
    for bubblewrap in mechanisms() {
        let world = World::new();
        let home = world.root().join("home");
        for (file, text) in [("token", "value-1"), ("store/a", "value-2"), ("masked", "value-3")] {
            write(&home.join(file), text);
        }
        let credentials = json!({ "credentials": {
            "files": [
                { "path": "~/token", "mode": "deny" },
                { "path": "~/store", "mode": "deny" },
                { "path": "~/masked", "mode": "mask" },
            ],
            "envVars": [
                { "name": "DENIED_TOKEN", "mode": "deny" },
                { "name": "MASKED_TOKEN", "mode": "mask", "injectHosts": ["api.example.com"] },
                { "name": "BROKEN_TOKEN", "mode": "hide" },
            ],
        }});
        let text = "echo denied=[$DENIED_TOKEN] broken=[$BROKEN_TOKEN] masked=[$MASKED_TOKEN] free=[$FREE_TOKEN]\nenv\n\
                    cat ~/token ~/store/a\necho file=[$(cat ~/masked)]\ncat /proc/[0-9]*/environ | tr '\\0' '\\n'";
        let path = world.root().join("scripts/script.sh");
        write(&path, text);
        let input = json!({ "command": format!("bash {}", path.display()) }).to_string();
        let settings = sandbox(bubblewrap, &credentials);
        let ended = world
            .innerve(["call", "Bash", &input, "--settings", &settings, "--allow", "Bash(*)"])
            .env("DENIED_TOKEN", "value-4")
            .env("MASKED_TOKEN", "value-5")
            .env("BROKEN_TOKEN", "value-6")
            .env("FREE_TOKEN", "free-7")
            .run();
        let told = ended.stdout();
        assert!(!told.contains("value-"), "bubblewrap {bubblewrap}: {told}");
        assert!(told.contains("denied=[] broken=[] masked=[innerve-masked-"), "{told}");
        assert!(told.contains("free=[free-7]"), "{told}");
        assert_eq!(
            told.contains("file=[innerve-masked-"),
            bubblewrap,
            "a copy of the file: {told}"
        );
        assert!(ended.stderr().contains("`BROKEN_TOKEN`"), "{}", ended.stderr());
    }
}

#[test]
fn a_project_hides_credentials_and_masks_none() {
    for bubblewrap in mechanisms() {
        let project = json!({ "sandbox": { "credentials": {
            "envVars": [{ "name": "A_TOKEN", "mode": "mask" }, { "name": "B_TOKEN", "mode": "deny" }],
        }}});
        let world = World::new().file(".innerve/settings.json", project.to_string());
        let input = json!({ "command": "echo [$A_TOKEN][$B_TOKEN]" }).to_string();
        let settings = sandbox(bubblewrap, &json!({}));
        let ended = world
            .innerve(["call", "Bash", &input, "--settings", &settings, "--allow", "Bash(*)"])
            .env("A_TOKEN", "value-1")
            .env("B_TOKEN", "value-2")
            .run();
        assert!(ended.stdout().contains("[][]"), "bubblewrap {bubblewrap}: {}", ended.stdout());
        assert!(ended.stderr().contains("a project's files cannot mask"), "{}", ended.stderr());
    }
}

#[test]
fn files_can_be_left_open_by_the_person_alone_and_the_network_stays_closed() {
    for bubblewrap in mechanisms() {
        let disabled = json!({ "filesystem": { "disabled": true } });
        let project = json!({ "sandbox": disabled });
        let world = World::new().file(".innerve/settings.json", project.to_string());
        let outside = world.root().join("config/outside");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let text = format!(
            "echo x > {}; head -c 4 /dev/zero > /dev/null && echo device\n\
             (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo connected",
            outside.display()
        );
        let told = script(&world, &sandbox(bubblewrap, &json!({})), &text);
        assert!(!outside.exists(), "bubblewrap {bubblewrap}: {told}");
        assert!(told.contains("is ignored in the files of a project"), "{told}");
        let told = script(&world, &sandbox(bubblewrap, &disabled), &text);
        assert!(outside.exists(), "bubblewrap {bubblewrap}: {told}");
        assert!(told.contains("device") && !told.contains("connected"), "{told}");
    }
}

#[test]
fn a_home_is_hidden_but_for_what_is_excepted() {
    for bubblewrap in mechanisms() {
        let world = World::new().file("a.txt", "shown");
        write(&world.root().join("home/other"), "hidden");
        write(&world.root().join("home/kept/x"), "kept");
        let lists = json!({ "filesystem": { "denyRead": ["~"], "allowRead": ["~/kept"] } });
        let text = "cat a.txt ~/other ~/kept/x";
        let told = script(&world, &sandbox(bubblewrap, &lists), text);
        assert!(told.contains("shown") && told.contains("kept"), "bubblewrap {bubblewrap}: {told}");
        assert!(!told.contains("hidden"), "bubblewrap {bubblewrap}: {told}");
        // What a rule denies no setting takes back.
        let rules = json!({ "deny": ["Read(~/**)"] });
        let told = script(&world, &with_rules(bubblewrap, &lists, &rules), text);
        assert!(
            !told.contains("kept\n") && !told.contains("hidden"),
            "bubblewrap {bubblewrap}: {told}"
        );
        // Nothing runs where there is nothing to run.
        let rules = json!({ "deny": ["Read(//**)"] });
        let told = run(&world, &with_rules(bubblewrap, &json!({}), &rules), "true; echo ran");
        assert!(!told.contains("ran\n"), "bubblewrap {bubblewrap}: {told}");
    }
}

#[test]
fn a_link_that_a_command_leaves_opens_nothing_to_the_next() {
    for bubblewrap in mechanisms() {
        let world = World::new().file("kept", "");
        let precious = world.root().join("home/precious");
        write(&precious.join("file"), "before");
        write(&world.root().join("home/secret/file"), "the secret");
        let lists = json!({ "filesystem": {
            "allowWrite": ["out"], "denyRead": ["~"], "allowRead": ["shown"],
        }});
        let rules = json!({ "allow": ["Edit(./src/**)"] });
        let settings = with_rules(bubblewrap, &lists, &rules);
        let told = script(
            &world,
            &settings,
            &format!(
                "ln -s {0} out; ln -s {0} src; ln -s ~/secret shown; ls -l",
                precious.display()
            ),
        );
        assert!(told.contains("shown ->"), "bubblewrap {bubblewrap}: {told}");
        let told = script(
            &world,
            &settings,
            &format!(
                "echo after > {0}/file; echo after > out/file; echo after > src/file; cat ~/secret/file shown/file; echo ran",
                precious.display()
            ),
        );
        assert!(told.contains("ran") && !told.contains("the secret"), "{told}");
        let read = std::fs::read_to_string(precious.join("file")).unwrap();
        assert_eq!(read, "before", "bubblewrap {bubblewrap}: {told}");
    }
}

#[test]
fn a_sub_agent_works_in_its_worktree_and_rules_hold_where_it_is() {
    for bubblewrap in mechanisms() {
        let world = World::new().file("a.txt", "alpha\n").file("b.secret", "the secret");
        for arguments in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", "first"]] {
            let mut git = std::process::Command::new("git");
            git.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]).args(arguments);
            assert!(git.current_dir(world.root().join("work")).status().unwrap().success());
        }
        let path = world.root().join("scripts/script.sh");
        write(&path, "echo beta > a.txt; cat b.secret; pwd; cat a.txt");
        let command = format!("bash {}", path.display());
        let model = world.model_by(Wire::Anthropic, move |seen| {
            let is_child = seen.messages[0].plain_text().starts_with("child");
            let input = json!({
                "description": "a part", "prompt": "child task", "isolation": "worktree",
            });
            match (is_child, seen.results().is_empty()) {
                (true, true) => reply().bash(&command),
                (true, false) => reply().text("The child is done."),
                (false, true) => reply().uses("Agent", input),
                (false, false) => reply().text("Done."),
            }
        });
        let deny = json!({ "deny": ["Read(./b.secret)"], "allow": ["Bash(*)"] });
        let settings = with_rules(bubblewrap, &json!({}), &deny);
        let run = world.innerve(["run", "go", "--settings", &settings]);
        run.model(&model).run().exits(0);
        let seen = model.seen();
        let told = seen.iter().find_map(|seen| {
            seen.result_texts().into_iter().find(|text| text.contains("worktrees"))
        });
        let told = told.unwrap_or_else(|| panic!("the child has not run: {seen:?}"));
        assert!(told.contains("beta"), "bubblewrap {bubblewrap}: {told}");
        assert!(!told.contains("the secret"), "bubblewrap {bubblewrap}: {told}");
        assert_eq!(world.read("a.txt"), "alpha\n");
    }
}

#[test]
fn nobody_takes_a_mount_away_and_opens_what_is_beneath_not_even_the_superuser() {
    for bubblewrap in mechanisms() {
        let world = World::new().file(".env", "TOKEN=top").file("a.txt", "before");
        let settings = with_rules(bubblewrap, &json!({}), &json!({ "deny": ["Read(.env)"] }));
        let told = script(
            &world,
            &settings,
            "umount .env; mount -o remount,rw /; cat .env\nunshare -rm sh -c 'umount .env; cat .env'\n\
             cat /proc/1/root$PWD/.env; nsenter -t 1 -m cat $PWD/.env\necho after > a.txt; chmod 600 a.txt; echo ran",
        );
        assert!(!told.contains("TOKEN") && told.contains("ran"), "bubblewrap {bubblewrap}: {told}");
        assert_eq!(world.read("a.txt"), "after\n", "bubblewrap {bubblewrap}: {told}");
    }
}
