//! Which files are read, and what they say together.

use innerve_permission::{
    Behavior, Decision, PermissionMode, RuleSource, Verdict, Voices, facts, resolve,
};
use innerve_settings::{DiskPaths, Flags, Loaded, Settings, Trust};
use serde_json::json;

use crate::World;

fn load(world: &World) -> Loaded {
    Settings::load(&world.locations, &Flags { trusted: true, ..Flags::default() }).unwrap()
}

/// The sources and texts of all rules, those that win first.
fn rules(loaded: &Loaded) -> Vec<(RuleSource, String)> {
    let rules = loaded.settings.permissions.rules.rules();
    rules.iter().map(|rule| (rule.origin().source, rule.text().to_owned())).collect()
}

fn allowing(rule: &str) -> String {
    json!({ "permissions": { "allow": [rule] } }).to_string()
}

#[test]
fn every_file_counts_in_the_order_of_its_scope() {
    let world = World::new();
    for (file, rule) in [
        ("etc/innerve/managed-settings.json", "Bash(managed)"),
        ("etc/innerve/managed-settings.d/10.json", "Bash(drop-in 10)"),
        ("etc/innerve/managed-settings.d/20.json", "Bash(drop-in 20)"),
        ("etc/innerve/managed-settings.d/.hidden.json", "Bash(never)"),
        ("etc/innerve/managed-settings.d/30.txt", "Bash(never)"),
        ("etc/claude-code/managed-settings.json", "Bash(claude managed)"),
        ("home/repo/.innerve/settings.local.json", "Bash(local)"),
        ("home/repo/.claude/settings.local.json", "Bash(claude local)"),
        ("home/repo/.innerve/settings.json", "Bash(project)"),
        ("home/repo/.claude/settings.json", "Bash(claude project)"),
        ("home/.config/innerve/settings.json", "Bash(user)"),
        ("home/.claude/settings.json", "Bash(claude user)"),
    ] {
        world.write(file, &allowing(rule));
    }
    let flags = Flags {
        trusted: true,
        settings: Some(allowing("Bash(settings flag)")),
        inline: Some(json!({ "permissions": { "allow": ["Bash(flag)"] } })),
    };
    let loaded = Settings::load(&world.locations, &flags).unwrap();
    let found: Vec<String> = rules(&loaded)
        .into_iter()
        .map(|(source, rule)| format!("{} {rule}", source.name()))
        .collect();
    assert_eq!(
        found,
        [
            "policy Bash(drop-in 20)",
            "policy Bash(drop-in 10)",
            "policy Bash(managed)",
            "policy Bash(claude managed)",
            "cli Bash(flag)",
            "cli Bash(settings flag)",
            "local Bash(local)",
            "local Bash(claude local)",
            "project Bash(project)",
            "project Bash(claude project)",
            "user Bash(user)",
            "user Bash(claude user)",
        ]
    );
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
}

#[test]
fn scalars_are_taken_from_the_highest_file_and_own_before_claude() {
    let world = World::new();
    let mode = |mode: &str| json!({ "permissions": { "defaultMode": mode } }).to_string();
    world.write("home/.claude/settings.json", &mode("plan"));
    assert_eq!(load(&world).settings.permissions.default_mode, PermissionMode::Plan);
    world.write("home/.config/innerve/settings.json", &mode("dontAsk"));
    assert_eq!(load(&world).settings.permissions.default_mode, PermissionMode::DontAsk);
    world.write("etc/innerve/managed-settings.json", &mode("default"));
    world.write("etc/innerve/managed-settings.d/a.json", &mode("acceptEdits"));
    world.write("etc/innerve/managed-settings.d/b.json", &mode("plan"));
    assert_eq!(load(&world).settings.permissions.default_mode, PermissionMode::Plan);
}

#[test]
fn claude_files_can_be_turned_off_by_the_user_or_the_administrator() {
    for file in ["home/.config/innerve/settings.json", "etc/innerve/managed-settings.json"] {
        let world = World::new();
        for claude in [
            "home/.claude/settings.json",
            "home/repo/.claude/settings.json",
            "etc/claude-code/managed-settings.json",
        ] {
            world.write(claude, &allowing("Bash(claude)"));
        }
        assert_eq!(rules(&load(&world)).len(), 3);
        world.write(file, r#"{"disableClaudeSettings": true}"#);
        assert_eq!(rules(&load(&world)), []);
    }
    let world = World::new();
    world.write("home/.claude/settings.json", &allowing("Bash(claude)"));
    world.write("home/repo/.innerve/settings.json", r#"{"disableClaudeSettings": true}"#);
    assert_eq!(rules(&load(&world)).len(), 1, "a project must not turn the user's rules off");
}

#[test]
fn what_a_project_loosens_waits_for_trust() {
    let world = World::new();
    let text = r#"{"permissions": {"allow": ["Bash(x)"], "ask": ["Bash(y)"], "deny": ["Bash(z)"], "additionalDirectories": ["/opt"]}}"#;
    for file in ["home/repo/.innerve/settings.json", "home/repo/.claude/settings.local.json"] {
        let file = world.write(file, text);
        let untrusted = Settings::load(&world.locations, &Flags::default()).unwrap();
        let behaviors: Vec<Behavior> = untrusted
            .settings
            .permissions
            .rules
            .rules()
            .iter()
            .map(innerve_permission::Rule::behavior)
            .collect();
        assert_eq!(behaviors, [Behavior::Deny, Behavior::Ask]);
        assert!(untrusted.settings.permissions.additional_directories.is_empty());
        assert_eq!(untrusted.warnings.len(), 2);
        assert!(untrusted.warnings.iter().all(|warning| warning.reason.contains("innerve trust")));
        std::fs::remove_file(file).unwrap();
    }
    world.write("home/repo/.innerve/settings.json", text);
    let mut trust = Trust::load(&world.locations);
    trust.add(&world.locations.trust_root()).unwrap();
    let trusted = Settings::load(&world.locations, &Flags::default()).unwrap();
    assert!(trusted.settings.trusted);
    assert_eq!(trusted.settings.permissions.rules.rules().len(), 3);
    assert_eq!(trusted.settings.permissions.additional_directories.len(), 1);
}

#[test]
fn a_rule_knows_its_file_and_line() {
    let world = World::new();
    let file = world.write(
        "home/.config/innerve/settings.json",
        "{\n  // mine\n  \"permissions\": {\n    \"deny\": [\n      \"Read(/secrets/**)\",\n      \"Bash(rm *)\", // never\n    ],\n  },\n}\n",
    );
    let loaded = load(&world);
    let policy = loaded.settings.policy(&world.locations, &DiskPaths);
    let place = facts::Place { cwd: &policy.cwd, home: &policy.home, disk: &DiskPaths };
    let decide = |path: &str| {
        let facts = facts::from_call("Read", &json!({ "file_path": path }), place).unwrap();
        resolve(&policy, &facts, &Voices::default())
    };
    // `/p` of a user's rule starts at the user's settings directory.
    let denied = decide("~/.config/innerve/secrets/k");
    assert_eq!(denied.verdict, Verdict::Decided(Decision::Deny));
    assert_eq!(denied.reason.file.as_deref(), file.to_str());
    assert_eq!(denied.reason.line, Some(5));
    assert_eq!(decide("secrets/k").verdict, Verdict::Decided(Decision::Allow));
}

#[test]
fn a_broken_entry_is_left_out_and_a_broken_deny_stops_the_start() {
    let world = World::new();
    let file = world.write(
        "home/repo/.claude/settings.json",
        "{\"permissions\": {\"allow\": [\n\"Bash(ok)\",\n\"Bash(\"\n]}}",
    );
    let loaded = load(&world);
    assert_eq!(rules(&loaded).len(), 1);
    let [warning] = loaded.warnings.as_slice() else { panic!("{:?}", loaded.warnings) };
    assert_eq!((warning.file.as_ref(), warning.line), (Some(&file), Some(3)));
    assert!(warning.reason.contains("Bash("), "{}", warning.reason);

    world.write("home/repo/.claude/settings.json", "{\"permissions\": {\"deny\": [\n\"Bash(\"]}}");
    let error = Settings::load(&world.locations, &Flags::default()).unwrap_err();
    assert_eq!(error.code(), "rule_broken_deny");
    assert!(error.to_string().contains(&format!("{}:2", file.display())), "{error}");
}

#[test]
fn a_file_that_cannot_be_read_is_never_skipped() {
    let world = World::new();
    let file = world.write("home/repo/.innerve/settings.json", "{");
    let code =
        |world: &World| Settings::load(&world.locations, &Flags::default()).unwrap_err().code();
    assert_eq!(code(&world), "settings_syntax");
    std::fs::write(&file, [0xff, 0xfe]).unwrap();
    assert_eq!(code(&world), "settings_read");
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert_eq!(code(&world), "settings_not_regular");
    std::fs::remove_dir(&file).unwrap();
    std::fs::write(&file, " ".repeat(2 * 1024 * 1024 + 1)).unwrap();
    assert_eq!(code(&world), "settings_too_large");
}

#[test]
fn settings_of_the_flag_are_a_file_or_a_text() {
    let world = World::new();
    world.write("home/repo/conf/s.json", &allowing("Edit(/x)"));
    let load = |settings: &str| {
        Settings::load(
            &world.locations,
            &Flags { settings: Some(settings.to_owned()), ..Flags::default() },
        )
    };
    let from_file = load("conf/s.json").unwrap();
    let rule = from_file.settings.permissions.rules.rules().first().unwrap();
    assert_eq!(rule.origin().root, world.path("home/repo/conf"));
    let inline = load(&allowing("Edit(/x)")).unwrap();
    let rule = inline.settings.permissions.rules.rules().first().unwrap();
    assert_eq!(rule.origin().root, world.locations.cwd);
    assert_eq!(load("missing.json").unwrap_err().code(), "settings_read");
    assert_eq!(load("{").unwrap_err().code(), "settings_syntax");
}

#[test]
fn local_files_lie_in_the_main_checkout_and_leftovers_count() {
    let mut world = World::new();
    let main = world.locations.cwd.clone();
    // A worktree beside the main checkout.
    world.write("home/repo/.git/worktrees/w/commondir", "../..\n");
    world.write("home/w/.git", &format!("gitdir: {}\n", main.join(".git/worktrees/w").display()));
    world.write("home/repo/.innerve/settings.local.json", &allowing("Bash(main)"));
    world.write("home/w/sub/.innerve/settings.local.json", &allowing("Bash(left over)"));
    world.locations.cwd = world.path("home/w/sub");
    assert_eq!(world.locations.local_settings(), main.join(".innerve/settings.local.json"));
    assert_eq!(world.locations.trust_root(), main);
    let texts: Vec<String> = rules(&load(&world)).into_iter().map(|(_, rule)| rule).collect();
    assert_eq!(texts, ["Bash(main)", "Bash(left over)"]);
    // Anchors of local rules start where the session does.
    let loaded = load(&world);
    assert!(
        loaded
            .settings
            .permissions
            .rules
            .rules()
            .iter()
            .all(|rule| rule.origin().root == world.locations.cwd)
    );
}

#[test]
fn the_users_own_file_is_not_read_as_a_project_file_too() {
    let mut world = World::new();
    world.locations.cwd.clone_from(&world.locations.home);
    world.write("home/.claude/settings.json", &allowing("Bash(x)"));
    assert_eq!(rules(&load(&world)), [(RuleSource::User, "Bash(x)".to_owned())]);
}

#[cfg(unix)]
#[test]
fn a_settings_file_that_is_a_link_is_followed() {
    let world = World::new();
    let real = world.write("elsewhere/s.json", &allowing("Bash(x)"));
    world.write("home/.config/innerve/other", "");
    std::os::unix::fs::symlink(real, world.locations.user_settings()).unwrap();
    assert_eq!(rules(&load(&world)).len(), 1);
}

#[test]
fn other_crates_read_their_own_keys_under_the_same_gate() {
    let world = World::new();
    world.write("home/repo/.innerve/settings.json", r#"{"env": {"A": "project"}}"#);
    world.write("home/.config/innerve/settings.json", r#"{"env": {"A": "user"}}"#);
    let value = |trusted| {
        let loaded =
            Settings::load(&world.locations, &Flags { trusted, ..Flags::default() }).unwrap();
        loaded.settings.value("/env/A").cloned()
    };
    assert_eq!(value(true), Some(json!("project")));
    assert_eq!(value(false), Some(json!("user")));
}
