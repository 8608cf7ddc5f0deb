//! Tests of the policy that agents share.

use super::*;

#[test]
fn a_child_can_only_tighten() {
    let policy = Policy { mode: PermissionMode::AcceptEdits, ..Policy::new("/repo", "/home/u") };
    let parent = SharedPolicy::new(policy, None);
    let mode = |wanted| parent.child("/repo/a".into(), wanted).current().mode;
    assert_eq!(mode(None), PermissionMode::AcceptEdits);
    assert_eq!(mode(Some(PermissionMode::Plan)), PermissionMode::Plan);
    assert_eq!(mode(Some(PermissionMode::BypassPermissions)), PermissionMode::AcceptEdits);
}

#[test]
fn a_child_in_plan_mode_is_held_back_whatever_its_session_may() {
    let bypass = |mode| Policy { bypass_available: true, mode, ..Policy::new("/repo", "/home/u") };
    let parent = SharedPolicy::new(bypass(PermissionMode::BypassPermissions), None);
    let child = parent.child("/repo".into(), Some(PermissionMode::Plan));
    assert_eq!(child.current().mode, PermissionMode::Plan);
    assert!(!child.current().bypass_available);
    child.set_mode(PermissionMode::BypassPermissions);
    assert_eq!(child.current().mode, PermissionMode::Plan);
    assert!(parent.child("/repo".into(), None).current().bypass_available);
    // A parent that plans has no child that edits.
    let parent = SharedPolicy::new(
        Policy { mode: PermissionMode::Plan, ..Policy::new("/repo", "/home/u") },
        None,
    );
    let child = parent.child("/repo".into(), Some(PermissionMode::DontAsk));
    assert_eq!(child.current().mode, PermissionMode::Plan);
}

#[test]
fn bypassing_permissions_is_not_entered_where_it_is_not_available() {
    let policy = SharedPolicy::new(Policy::new("/repo", "/home/u"), None);
    policy.set_mode(PermissionMode::BypassPermissions);
    assert_eq!(policy.current().mode, PermissionMode::Default);
}

#[test]
fn a_grant_in_a_child_holds_for_its_parent_and_a_directory_does_not_leak() {
    let parent = SharedPolicy::new(Policy::new("/repo", "/home/u"), None);
    let child = parent.child("/repo/a".into(), None);
    child
        .remember(&Grant { scope: GrantScope::Session, rules: vec!["Bash(make *)".to_owned()] })
        .unwrap();
    child.set_cwd(Path::new("/repo/b"));
    assert_eq!(parent.current().rules.rules().len(), 1);
    assert_eq!(child.current().rules.rules().len(), 1);
    assert_eq!(parent.current().cwd, Path::new("/repo"));
    assert_eq!(child.current().cwd, Path::new("/repo/b"));
}

#[test]
fn a_rule_that_cannot_be_saved_still_holds_for_the_session() {
    let policy = SharedPolicy::new(Policy::new("/repo", "/home/u"), None);
    let grant = Grant { scope: GrantScope::Always, rules: vec!["Bash(make)".to_owned()] };
    assert!(policy.remember(&grant).is_err());
    assert_eq!(policy.current().rules.rules().len(), 1);
}

fn rule(text: &str, behavior: Behavior, source: RuleSource) -> Rule {
    Rule::parse(text, behavior, Origin::inline(source, "/repo")).unwrap()
}

fn texts(policy: &SharedPolicy) -> Vec<String> {
    policy.current().rules.rules().iter().map(|rule| rule.text().to_owned()).collect()
}

#[test]
fn settings_that_are_loaded_again_keep_what_the_session_granted() {
    let mut policy = Policy { headless: false, ..Policy::new("/repo", "/home/u") };
    policy.rules.push(rule("Bash(old)", Behavior::Allow, RuleSource::User));
    policy.additional_directories.push("/data/old".into());
    let parent = SharedPolicy::new(policy, None);
    let child = parent.child("/repo/a".into(), Some(PermissionMode::Plan));
    let grant = Grant { scope: GrantScope::Session, rules: vec!["Bash(make *)".to_owned()] };
    parent.remember(&grant).unwrap();
    parent.add_directories(&["/granted".into()]);
    parent.set_mode(PermissionMode::AcceptEdits);
    parent.set_cwd(Path::new("/repo/b"));

    let mut settings = Policy::new("/repo", "/home/u");
    settings.rules.push(rule("Bash(rm *)", Behavior::Deny, RuleSource::User));
    settings.ask_secret_reads = false;
    parent.reload(settings);
    for policy in [&parent, &child] {
        assert_eq!(texts(policy), ["Bash(rm *)", "Bash(make *)"]);
        assert_eq!(policy.current().additional_directories, [Path::new("/granted")]);
        assert!(!policy.current().headless && !policy.current().ask_secret_reads);
    }
    assert_eq!(parent.current().mode, PermissionMode::AcceptEdits);
    assert_eq!(parent.current().cwd, Path::new("/repo/b"));
    assert_eq!(child.current().mode, PermissionMode::Plan);
}

#[test]
fn settings_that_take_bypassing_away_end_it() {
    let bypass = Policy {
        bypass_available: true,
        mode: PermissionMode::BypassPermissions,
        ..Policy::new("/repo", "/home/u")
    };
    let policy = SharedPolicy::new(bypass.clone(), None);
    policy.reload(bypass);
    assert_eq!(policy.current().mode, PermissionMode::BypassPermissions);
    policy.reload(Policy::new("/repo", "/home/u"));
    assert_eq!(policy.current().mode, PermissionMode::Default);
    // Nor does the end of plan mode bring it back.
    policy.set_mode(PermissionMode::Plan);
    policy.leave_plan();
    assert_eq!(policy.current().mode, PermissionMode::Default);
}

#[test]
fn leaving_plan_mode_restores_the_mode_before() {
    let policy = SharedPolicy::new(Policy::new("/repo", "/home/u"), None);
    policy.set_mode(PermissionMode::AcceptEdits);
    policy.set_mode(PermissionMode::Plan);
    policy.leave_plan();
    assert_eq!(policy.current().mode, PermissionMode::AcceptEdits);
}

#[tokio::test]
async fn every_change_is_told_to_all_agents_of_the_session_and_nothing_else_is() {
    use futures_util::FutureExt as _;

    let parent = SharedPolicy::new(Policy::new("/repo", "/home/u"), None);
    let child = parent.child("/repo".into(), None);
    let grant = Grant { scope: GrantScope::Session, rules: vec!["Edit".to_owned()] };
    let changes: [&dyn Fn(); 3] = [
        &|| parent.remember(&grant).unwrap(),
        &|| parent.add_directories(&["/other".into()]),
        &|| parent.reload(Policy::new("/repo", "/home/u")),
    ];
    for change in changes {
        let seen = child.current();
        let mut changed = child.changed(&seen);
        assert!((&mut changed).now_or_never().is_none());
        change();
        assert!((&mut changed).now_or_never().is_some());
    }
    // Its mode is each agent's own.
    let (of_parent, of_child) = (parent.current(), child.current());
    parent.set_mode(PermissionMode::AcceptEdits);
    assert!(parent.changed(&of_parent).now_or_never().is_some());
    assert!(child.changed(&of_child).now_or_never().is_none());
}
