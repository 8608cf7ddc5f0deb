//! Saving a rule without disturbing the file.

use std::fs;

use innerve_permission::{Behavior, Rule};
use innerve_settings::{Flags, Locations, Saved, Settings, save_local_rule, save_rule};
use proptest::prelude::*;

use crate::World;

#[track_caller]
fn check(before: &str, rule: &str, after: &str) {
    let world = World::new();
    let file = world.write("s.json", before);
    assert_eq!(save_rule(&file, Behavior::Allow, rule).unwrap(), Saved::Added);
    assert_eq!(fs::read_to_string(&file).unwrap(), after);
    // Once more changes nothing.
    assert_eq!(save_rule(&file, Behavior::Allow, rule).unwrap(), Saved::Present);
    assert_eq!(fs::read_to_string(&file).unwrap(), after);
}

#[test]
fn comments_order_and_layout_stay() {
    check(
        "{\n  // mine\n  \"z\": 1, /* a */ \"permissions\": {\n    \"deny\": [\"Read(x)\"],\n    \"allow\": [\n      \"Bash(a)\", // first\n      \"Bash(b)\"\n    ]\n  }\n}\n",
        "Bash(c *)",
        "{\n  // mine\n  \"z\": 1, /* a */ \"permissions\": {\n    \"deny\": [\"Read(x)\"],\n    \"allow\": [\n      \"Bash(a)\", // first\n      \"Bash(b)\",\n      \"Bash(c *)\"\n    ]\n  }\n}\n",
    );
    check(
        "{\"permissions\": {\"allow\": [\"Bash(a)\"]}}",
        "Bash(b)",
        "{\"permissions\": {\"allow\": [\"Bash(a)\", \"Bash(b)\"]}}",
    );
    check(
        "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(a)\",\n    ],\n  },\n}\n",
        "Bash(b)",
        "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(a)\",\n      \"Bash(b)\",\n    ],\n  },\n}\n",
    );
}

#[test]
fn what_is_missing_is_made() {
    check(
        "",
        "Bash(a)",
        "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(a)\"\n    ]\n  }\n}\n",
    );
    check(
        "{\n  \"z\": 1\n}\n",
        "Bash(a)",
        "{\n  \"z\": 1,\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(a)\"\n    ]\n  }\n}\n",
    );
    let world = World::new();
    let file = world.path("home/repo/.innerve/settings.local.json");
    assert_eq!(save_rule(&file, Behavior::Deny, "Read(.env)").unwrap(), Saved::Added);
    let loaded = Settings::load(&world.locations, &Flags::default()).unwrap();
    assert_eq!(
        loaded.settings.permissions.rules.rules().first().map(Rule::text),
        Some("Read(.env)")
    );
}

#[test]
fn what_is_no_rule_and_what_is_no_settings_file_is_refused_and_left_alone() {
    let world = World::new();
    for (text, rule, code) in [
        ("{}", "Bash(", "rule_malformed"),
        ("{}", "Bash(a\nb)", "rule_malformed"),
        ("{", "Bash(a)", "settings_syntax"),
        ("[]", "Bash(a)", "settings_syntax"),
        ("{\"permissions\": 1}", "Bash(a)", "settings_syntax"),
        ("{\"permissions\": {\"allow\": \"Bash\"}}", "Bash(a)", "settings_syntax"),
        ("{\"permissions\": {}, \"permissions\": {}}", "Bash(a)", "settings_syntax"),
    ] {
        let file = world.write("s.json", text);
        assert_eq!(save_rule(&file, Behavior::Allow, rule).unwrap_err().code(), code, "{text}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

#[cfg(unix)]
#[test]
fn permissions_and_links_stay() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let real = world.write("real.json", "{}");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    let link = world.path("link.json");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    save_rule(&link, Behavior::Allow, "Bash(a)").unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("Bash(a)"));
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    fs::set_permissions(&real, fs::Permissions::from_mode(0o440)).unwrap();
    assert_eq!(save_rule(&link, Behavior::Allow, "Bash(b)").unwrap_err().code(), "settings_write");
    let new = world.path("new/dir/s.json");
    save_rule(&new, Behavior::Allow, "Bash(a)").unwrap();
    assert_eq!(fs::metadata(&new).unwrap().permissions().mode() & 0o777, 0o600);
}

#[cfg(unix)]
#[test]
fn a_link_to_what_is_not_there_yet_stays_a_link() {
    let world = World::new();
    let link = world.path("home/link.json");
    fs::create_dir_all(world.path("home")).unwrap();
    std::os::unix::fs::symlink("../dotfiles/settings.json", &link).unwrap();
    save_rule(&link, Behavior::Allow, "Bash(a)").unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert!(fs::read_to_string(world.path("dotfiles/settings.json")).unwrap().contains("Bash(a)"));
    let circle = world.path("home/circle.json");
    std::os::unix::fs::symlink(&circle, &circle).unwrap();
    let error = save_rule(&circle, Behavior::Allow, "Bash(a)").unwrap_err();
    assert_eq!(error.code(), "settings_write");
}

#[cfg(target_os = "linux")]
#[test]
fn where_nothing_can_be_written_it_is_told() {
    let error = save_rule("/proc/innerve/settings.json".as_ref(), Behavior::Allow, "Bash(a)");
    assert_eq!(error.unwrap_err().code(), "settings_write");
}

#[test]
fn rules_that_are_saved_at_the_same_time_are_all_kept() {
    let world = World::new();
    let file = world.write("s.json", "{\n  // mine\n  \"permissions\": {}\n}\n");
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let file = &file;
            scope.spawn(move || {
                for number in 0..5 {
                    let rule = format!("Bash(make {writer}-{number})");
                    assert_eq!(save_rule(file, Behavior::Allow, &rule).unwrap(), Saved::Added);
                }
            });
        }
    });
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("// mine"), "{text}");
    assert_eq!(text.matches("Bash(make ").count(), 40, "{text}");
    assert_eq!(
        fs::read_dir(world.path(""))
            .unwrap()
            .filter(|entry| {
                entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(".tmp")
            })
            .count(),
        0,
        "nothing is left behind"
    );
}

#[test]
fn a_byte_order_mark_and_the_ends_of_lines_stay() {
    check(
        "\u{feff}{\r\n  \"permissions\": {\r\n    \"allow\": [\r\n      \"Bash(a)\"\r\n    ]\r\n  }\r\n}\r\n",
        "Bash(b)",
        "\u{feff}{\r\n  \"permissions\": {\r\n    \"allow\": [\r\n      \"Bash(a)\",\r\n      \"Bash(b)\"\r\n    ]\r\n  }\r\n}\r\n",
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_rule_that_is_saved_is_read_back(spec in "[a-z \"'\\\\*:./$#{},\u{e9}-]{1,20}") {
        let world = World::new();
        let file = world.write("home/.config/innerve/settings.json", "// kept\n{\"permissions\": {\"allow\": []}}\n");
        let rule = format!("Bash({spec})");
        if save_rule(&file, Behavior::Allow, &rule).is_ok() {
            let loaded = Settings::load(&world.locations, &Flags::default()).unwrap();
            let rules = loaded.settings.permissions.rules;
            prop_assert_eq!(rules.rules().first().map(Rule::text), Some(rule.as_str()));
            prop_assert!(fs::read_to_string(&file).unwrap().starts_with("// kept\n"));
        }
    }
}

#[test]
fn a_new_local_file_is_kept_out_of_the_repository_once() {
    let world = World::new();
    let exclude = world.write("home/repo/.git/info/exclude", "# mine\n*.log");
    let save = |rule| save_local_rule(&world.locations, Behavior::Allow, rule).unwrap();
    assert_eq!(save("Bash(a)"), Saved::Added);
    let excluded = "# mine\n*.log\n**/.innerve/settings.local.json\n";
    assert_eq!(fs::read_to_string(&exclude).unwrap(), excluded);
    // Whoever takes the line out again wants it so.
    fs::write(&exclude, "").unwrap();
    assert_eq!(save("Bash(b)"), Saved::Added);
    assert_eq!(fs::read_to_string(&exclude).unwrap(), "");
    // A file that is new again finds the line that stands already.
    fs::write(&exclude, excluded).unwrap();
    fs::remove_file(world.locations.local_settings()).unwrap();
    assert_eq!(save("Bash(c)"), Saved::Added);
    assert_eq!(fs::read_to_string(&exclude).unwrap(), excluded);
}

#[test]
fn a_repository_without_excludes_gets_them_and_a_place_without_repository_needs_none() {
    let world = World::new();
    save_local_rule(&world.locations, Behavior::Allow, "Bash(a)").unwrap();
    let exclude = world.path("home/repo/.git/info/exclude");
    assert_eq!(fs::read_to_string(exclude).unwrap(), "**/.innerve/settings.local.json\n");
    let plain = world.path("home/plain");
    fs::create_dir_all(&plain).unwrap();
    let outside = Locations { cwd: plain, ..world.locations };
    assert_eq!(save_local_rule(&outside, Behavior::Allow, "Bash(a)").unwrap(), Saved::Added);
}

#[test]
fn git_itself_no_longer_offers_the_file() {
    let world = World::new();
    fs::remove_dir(world.path("home/repo/.git")).unwrap();
    let git = |arguments: &[&str]| {
        let output = std::process::Command::new("git")
            .args(arguments)
            .current_dir(world.path("home/repo"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    git(&["init", "--quiet"]);
    save_local_rule(&world.locations, Behavior::Allow, "Bash(a)").unwrap();
    world.write("home/repo/.innerve/settings.json", "{}");
    assert_eq!(git(&["status", "--porcelain", "-uall"]), "?? .innerve/settings.json\n");
}

#[test]
fn a_rule_is_saved_even_where_git_cannot_be_told() {
    let world = World::new();
    fs::create_dir_all(world.path("home/repo/.git/info/exclude")).unwrap();
    let error = save_local_rule(&world.locations, Behavior::Allow, "Bash(a)").unwrap_err();
    assert_eq!(error.code(), "settings_not_excluded");
    assert!(fs::read_to_string(world.locations.local_settings()).unwrap().contains("Bash(a)"));
}
