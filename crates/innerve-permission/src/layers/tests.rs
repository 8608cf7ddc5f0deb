//! Tests of merging.

use serde_json::json;

use super::*;

fn layer(source: RuleSource, value: Value) -> Layer {
    Layer::new(source, "/repo", value)
}

fn untrusted(source: RuleSource, value: Value) -> Layer {
    Layer { trusted: false, ..layer(source, value) }
}

fn texts(settings: &PermissionSettings) -> Vec<(Behavior, &str)> {
    settings.rules.rules().iter().map(|rule| (rule.behavior(), rule.text())).collect()
}

#[test]
fn lists_are_united_and_the_highest_scalar_wins() {
    let merged = merge(&[
        layer(RuleSource::User, json!({"permissions": {"allow": ["Bash(a)"], "deny": ["Read(x)"], "defaultMode": "plan", "additionalDirectories": ["~/d"]}})),
        layer(RuleSource::Project, json!({"permissions": {"allow": ["Bash(b)"], "defaultMode": "acceptEdits", "additionalDirectories": ["../e", "/f"]}})),
    ])
    .unwrap();
    assert_eq!(
        texts(&merged),
        [(Behavior::Allow, "Bash(b)"), (Behavior::Deny, "Read(x)"), (Behavior::Allow, "Bash(a)")]
    );
    assert_eq!(merged.default_mode, PermissionMode::AcceptEdits);
    let policy = merged.policy("/repo", "/home/u");
    assert_eq!(policy.additional_directories, ["/e", "/f", "/home/u/d"].map(PathBuf::from));
    assert!(policy.ask_secret_reads && policy.headless && !policy.bypass_available);
}

#[test]
fn a_project_that_is_not_trusted_only_tightens() {
    let value = json!({"permissions": {
        "allow": ["Bash"], "ask": ["Edit"], "deny": ["Read(x)"], "additionalDirectories": ["/"],
        "defaultMode": "bypassPermissions", "secretReads": "allow", "bashReadScope": "any",
    }});
    let user = json!({"permissions": {"bashReadScope": "workdirs"}});
    for source in [RuleSource::Project, RuleSource::Local] {
        let merged =
            merge(&[untrusted(source, value.clone()), layer(RuleSource::User, user.clone())])
                .unwrap();
        assert_eq!(texts(&merged), [(Behavior::Deny, "Read(x)"), (Behavior::Ask, "Edit")]);
        assert_eq!(merged.default_mode, PermissionMode::Default);
        assert_eq!(merged.bash_read_scope, ReadScope::WorkingDirectories);
        assert!(!merged.allow_secret_reads && merged.additional_directories.is_empty());
        assert_eq!(merged.warnings.len(), 5, "{:?}", merged.warnings);
    }
    let trusted = merge(&[layer(RuleSource::Project, value)]).unwrap();
    assert_eq!(trusted.rules.rules().len(), 3);
    assert_eq!(trusted.default_mode, PermissionMode::BypassPermissions);
    assert!(trusted.allow_secret_reads);
}

#[test]
fn a_broken_entry_is_left_out_with_its_line_and_a_broken_deny_is_an_error() {
    let mut broken = layer(
        RuleSource::User,
        json!({"permissions": {"allow": ["Bash()", 3, "Bash(ok)"], "ask": "x"}}),
    );
    broken.lines.insert("/permissions/allow/0".to_owned(), 7);
    broken.file = Some("/s.json".into());
    let merged = merge(&[broken]).unwrap();
    assert_eq!(texts(&merged), [(Behavior::Allow, "Bash(ok)")]);
    assert_eq!(merged.warnings.len(), 3);
    let first = merged.warnings.iter().find(|warning| warning.line.is_some()).unwrap();
    assert_eq!((first.line, first.file.as_deref()), (Some(7), Some(Path::new("/s.json"))));
    assert!(first.reason.contains("Bash()"), "{}", first.reason);
    for deny in [json!(["Bash("]), json!([1]), json!("Bash")] {
        let mut layer = layer(RuleSource::Project, json!({"permissions": {"deny": deny}}));
        layer.file = Some("/s.json".into());
        layer.lines.insert("/permissions/deny/0".to_owned(), 9);
        layer.lines.insert("/permissions/deny".to_owned(), 9);
        let error = merge(&[layer]).unwrap_err();
        assert_eq!(error.code(), "rule_broken_deny");
        assert!(error.to_string().contains("/s.json:9"), "{error}");
    }
}

#[test]
fn managed_settings_can_be_the_only_ones_that_allow() {
    let merged = merge(&[
        layer(RuleSource::Policy, json!({"allowManagedPermissionRulesOnly": "yes", "permissions": {"allow": ["Bash(a)"]}})),
        layer(RuleSource::User, json!({"permissions": {"allow": ["Bash(npm test)"], "deny": ["Bash(b)"]}})),
    ])
    .unwrap();
    assert!(merged.managed_rules_only);
    assert_eq!(texts(&merged), [(Behavior::Allow, "Bash(a)"), (Behavior::Deny, "Bash(b)")]);
    // Nobody but managed settings can say so.
    let merged = merge(&[layer(
        RuleSource::User,
        json!({"allowManagedPermissionRulesOnly": true, "permissions": {"allow": ["Bash(a)"]}}),
    )])
    .unwrap();
    assert_eq!(texts(&merged), [(Behavior::Allow, "Bash(a)")]);
}

#[test]
fn modes_that_are_forbidden_or_unknown_are_the_default() {
    let mode = |layers: &[Layer]| merge(layers).unwrap().default_mode;
    let set = |source, mode: &str| layer(source, json!({"permissions": {"defaultMode": mode}}));
    assert_eq!(mode(&[set(RuleSource::User, "auto")]), PermissionMode::Auto);
    // A project's `auto` also hides what the user chose.
    assert_eq!(
        mode(&[set(RuleSource::Project, "auto"), set(RuleSource::User, "acceptEdits")]),
        PermissionMode::Default
    );
    assert_eq!(
        mode(&[set(RuleSource::Cli, "yolo"), set(RuleSource::User, "acceptEdits")]),
        PermissionMode::Default
    );
    assert_eq!(mode(&[set(RuleSource::User, "manual")]), PermissionMode::Default);
    let forbid = layer(
        RuleSource::Project,
        json!({"permissions": {"disableBypassPermissionsMode": "disable"}, "disableAutoMode": "disable"}),
    );
    assert_eq!(
        mode(&[set(RuleSource::User, "bypassPermissions"), forbid.clone()]),
        PermissionMode::Default
    );
    assert_eq!(mode(&[set(RuleSource::User, "auto"), forbid]), PermissionMode::Default);
}

#[test]
fn classify_all_shell_is_not_for_projects() {
    let value = json!({"autoMode": {"classifyAllShell": true}});
    assert!(merge(&[layer(RuleSource::User, value.clone())]).unwrap().classify_all_shell);
    assert!(!merge(&[layer(RuleSource::Project, value)]).unwrap().classify_all_shell);
}

#[test]
fn odd_values_are_warned_about_and_strict() {
    let merged = merge(&[layer(RuleSource::User, json!({"permissions": {"secretReads": true, "bashReadScope": "all", "additionalDirectories": [3, ""]}}))]).unwrap();
    assert!(!merged.allow_secret_reads);
    assert_eq!(merged.bash_read_scope, ReadScope::WorkingDirectories);
    assert_eq!(merged.warnings.len(), 4);
    assert!(merge(&[layer(RuleSource::User, json!([1]))]).unwrap().warnings.is_empty());
}

#[test]
fn settings_of_a_sandbox_that_nobody_knows_are_named() {
    let known = json!({"sandbox": {
        "enabled": true, "ignoreViolations": {}, "ripgrep": {"command": "rg"}, "socatPath": "/x", "allowAppleEvents": true,
        "enableWeakerNetworkIsolation": true, "filesystem": {"denyRead": [], "disabled": false}, "network": null,
        "credentials": {"files": [], "envVars": []},
    }});
    assert!(merge(&[layer(RuleSource::User, known)]).unwrap().warnings.is_empty());
    let unknown = json!({"sandbox": {
        "enable": true, "filesystem": {"denyReads": ["~"]}, "network": {"domains": []}, "credentials": ["~/.npmrc"],
    }});
    let merged = merge(&[layer(RuleSource::Project, unknown)]).unwrap();
    let reasons: Vec<&str> = merged.warnings.iter().map(|it| it.reason.as_str()).collect();
    assert_eq!(
        reasons,
        [
            "`sandbox.enable` is no known setting, and has no effect",
            "`sandbox.filesystem.denyReads` is no known setting, and has no effect",
            "`sandbox.network.domains` is no known setting, and has no effect",
            "`sandbox.credentials` is no object, and has no effect",
        ]
    );
}

#[test]
fn a_project_moves_nothing_out_of_the_sandbox_before_it_is_trusted() {
    let user = json!({"sandbox": {"enabled": true, "allowUnsandboxedCommands": false}});
    let check = |project: serde_json::Value, trusted: bool| {
        let mut project = layer(RuleSource::Project, json!({ "sandbox": project }));
        project.trusted = trusted;
        let merged = merge(&[layer(RuleSource::User, user.clone()), project]).unwrap();
        let sandbox = merged.sandbox.map(|it| (it.may_leave, it.excluded.rules().len()));
        (sandbox, merged.warnings.len())
    };
    let kept = Some((false, 0));
    for said in [
        json!({"enabled": false}),
        json!({"enabled": "x"}),
        json!({"allowUnsandboxedCommands": true}),
        json!({"allowUnsandboxedCommands": 1}),
        json!({"excludedCommands": ["npm *"]}),
        json!({"excludedCommands": "npm *"}),
    ] {
        assert_eq!(check(said.clone(), false), (kept, 1), "{said}");
        assert_ne!(check(said.clone(), true).0, kept, "{said}");
    }
    assert_eq!(check(json!({"excludedCommands": []}), false), (kept, 0));
    // Fewer questions wait for trust, more do not.
    let asks = merge(&[
        layer(RuleSource::User, user.clone()),
        layer(RuleSource::Project, json!({"sandbox": {"autoAllowBashIfSandboxed": false}})),
    ]);
    assert!(!asks.unwrap().sandbox.unwrap().auto_allow);
}
