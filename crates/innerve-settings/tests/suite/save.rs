//! Saving a rule without disturbing the file.

use std::fs;

use innerve_permission::{Behavior, Rule};
use innerve_settings::{Flags, Saved, Settings, save_rule};
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
