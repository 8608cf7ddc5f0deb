//! Tests of which hooks count.

use innerve_permission::RuleSource::{Cli, Local, Policy, Project, User};
use serde_json::json;

use super::*;
use crate::settings::Action;

fn layer(source: RuleSource, value: Value) -> Layer {
    Layer::new(source, "/repo", value)
}

/// A layer with one hook of `Stop` that runs this command.
fn hook(source: RuleSource, command: &str) -> Layer {
    layer(
        source,
        json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}}),
    )
}

fn with(mut layer: Layer, key: &str, value: Value) -> Layer {
    layer.value[key] = value;
    layer
}

#[track_caller]
fn check(layers: &[Layer], expected: &[&str]) {
    let configuration = configure(layers);
    let commands: Vec<&str> = configuration
        .hooks
        .iter()
        .map(|hook| {
            let Action::Command(command) = &hook.entry.action else { panic!("{hook:?}") };
            command.command.as_str()
        })
        .collect();
    assert_eq!(commands, expected);
}

#[test]
fn hooks_of_all_layers_run_and_the_managed_ones_have_the_last_word() {
    let layers =
        [hook(Policy, "m"), hook(Cli, "c"), hook(Local, "l"), hook(Project, "p"), hook(User, "u")];
    check(&layers, &["u", "p", "l", "c", "m"]);
    // Of one source the layer that wins comes first among the layers, and last among the hooks.
    check(&[hook(User, "own"), hook(User, "other")], &["other", "own"]);
}

#[test]
fn a_project_that_is_not_trusted_has_no_hooks_and_switches_none_off() {
    let untrusted = |source| Layer { trusted: false, ..hook(source, "p") };
    let off = Layer { trusted: false, ..with(hook(Project, "p"), "disableAllHooks", json!(true)) };
    check(&[untrusted(Local), untrusted(Project), untrusted(User)], &["p"]);
    check(&[off, hook(User, "u")], &["u"]);
    let walled = Layer { trusted: false, ..layer(Project, json!({"allowedHttpHookUrls": []})) };
    assert_eq!(configure(&[walled]).http, HttpLimits::default());
}

#[test]
fn h29_the_highest_layer_decides_whether_hooks_run() {
    let user = with(hook(User, "u"), "disableAllHooks", json!(true));
    check(std::slice::from_ref(&user), &[]);
    check(&[with(hook(Project, "p"), "disableAllHooks", json!(false)), user], &["u", "p"]);
}

#[test]
fn h30_only_managed_settings_switch_managed_hooks_off() {
    let user = with(hook(User, "u"), "disableAllHooks", json!(true));
    check(&[hook(Policy, "m"), user.clone()], &["m"]);
    check(&[with(hook(Policy, "m"), "disableAllHooks", json!(true)), user.clone()], &[]);
    check(&[with(hook(Policy, "m"), "disableAllHooks", json!(false)), user], &["u", "m"]);
}

#[test]
fn managed_settings_may_allow_managed_hooks_only() {
    for (key, value, managed_only) in [
        ("allowManagedHooksOnly", json!(true), true),
        ("allowManagedHooksOnly", json!("yes"), true),
        ("allowManagedHooksOnly", json!(false), false),
        ("strictPluginOnlyCustomization", json!(["hooks"]), true),
        ("strictPluginOnlyCustomization", json!(["agents"]), false),
        ("strictPluginOnlyCustomization", json!(true), true),
    ] {
        let managed = with(hook(Policy, "m"), key, value);
        let expected: &[&str] = if managed_only { &["m"] } else { &["u", "m"] };
        check(&[managed, hook(User, "u")], expected);
    }
    check(&[with(hook(User, "u"), "allowManagedHooksOnly", json!(true))], &["u"]);
}

#[test]
fn a_broken_entry_is_told_with_its_file_and_line() {
    let mut broken = layer(
        User,
        json!({
            "disableAllHooks": "no",
            "hooks": {
                "PreToolUse": [{"hooks": [
                    {"type": "pigeon"},
                    {"type": "command", "command": "a", "if": "Bash("},
                    {"type": "command", "command": "b", "if": "Bash(git *)"},
                ]}],
                "Stop": [{"hooks": [{"type": "command", "command": "c", "if": "Bash"}]}],
            },
        }),
    );
    broken.file = Some("/u/settings.json".into());
    broken.lines.insert("/hooks/PreToolUse/0/hooks/0".to_owned(), 7);
    let warnings = configure(std::slice::from_ref(&broken)).warnings;
    let told: Vec<_> = warnings.iter().map(|warning| (warning.line, &*warning.reason)).collect();
    assert!(told[0].1.contains("disableAllHooks"), "{told:?}");
    assert_eq!(told[1].0, Some(7));
    assert!(told[1].1.contains("/hooks/PreToolUse/0/hooks/0"), "{told:?}");
    assert!(told[2].1.contains("its `if` rule `Bash(`"), "{told:?}");
    assert!(told[3].1.contains("never runs"), "{told:?}");
    assert_eq!(told.len(), 4);
    check(&[broken], &["b", "c"]);
}

#[test]
fn bounds_of_http_hooks_are_united_and_fail_closed() {
    let user = layer(User, json!({"allowedHttpHookUrls": ["https://a/*", 7]}));
    let project = layer(
        Project,
        json!({"allowedHttpHookUrls": ["https://b/*"], "httpHookAllowedEnvVars": "TOKEN"}),
    );
    let configuration = configure(&[project, user]);
    assert_eq!(
        configuration.http,
        HttpLimits {
            urls: Some(vec!["https://a/*".to_owned(), "https://b/*".to_owned()]),
            variables: Some(BTreeSet::new()),
        }
    );
    assert_eq!(configuration.warnings.len(), 2);
}
