//! What hooks and the rules decide together, in the real pipeline (Claude Code, "Hooks reference" and "Permissions").

use std::fs;
use std::sync::Arc;

use innerve_hooks::Deferral;
use innerve_permission::{Behavior, PermissionMode, RuleSource};
use innerve_pipeline::{
    Answer, ApprovalRequest, Approver, Classifier, ClassifierRequest, ClassifierVerdict,
    HookEventName, Outcome, StopRequest,
};
use innerve_tool::{BoxFuture, CancellationToken};
use serde_json::{Value, json};

use crate::kit::{Ran, World, decide, layer, pre, say, script, specific};

/// What became of a call, in a word.
fn word(ran: &Ran) -> &'static str {
    let did_run = !ran.inputs.is_empty();
    match (&ran.settled.outcome, did_run, ran.asked) {
        (Outcome::Succeeded, true, 0) => "allow",
        (Outcome::Succeeded, true, _) => "ask",
        (Outcome::Refused(_), false, 0) => "deny",
        (Outcome::Deferred, false, 0) => "defer",
        (Outcome::Failed, false, 0) => "stopped",
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn check(ran: &Ran, expected: &str) {
    assert_eq!(word(ran), expected, "{:?}", ran.settled);
}

fn text(ran: &Ran) -> String {
    ran.settled.result.content.plain_text()
}

/// A hook that decides so, and a rule about what it decides on.
fn with(decision: &str, behavior: Behavior) -> World {
    World::before(&[decide(decision, "why")]).rule(behavior, "Bash(touch *)")
}

#[tokio::test]
async fn h01_a_hooks_allow_does_not_pass_a_deny_rule() {
    check(&with("allow", Behavior::Deny).runs("touch a").await, "deny");
    check(&World::before(&[decide("allow", "")]).runs("touch a").await, "allow");
}

#[tokio::test]
async fn h02_a_hooks_question_does_not_pass_a_deny_rule() {
    check(&with("ask", Behavior::Deny).runs("touch a").await, "deny");
    check(&with("ask", Behavior::Allow).runs("touch a").await, "ask");
}

#[tokio::test]
async fn h03_what_a_rule_wants_to_be_asked_is_asked_though_a_hook_allows_it() {
    check(&with("allow", Behavior::Ask).runs("touch a").await, "ask");
}

#[tokio::test]
async fn h04_code_2_refuses_what_rules_and_modes_allow() {
    let world = || World::before(&[say(2, "", "hands off")]);
    for world in [
        world().rule(Behavior::Allow, "Bash(touch *)"),
        world().mode(PermissionMode::BypassPermissions),
    ] {
        let ran = world.runs("touch a").await;
        check(&ran, "deny");
        assert!(text(&ran).contains("hands off"), "{}", text(&ran));
    }
}

/// What becomes of a call that a rule allows.
async fn although_allowed(entry: Value) -> Ran {
    let world = World::before(&[entry]).rule(Behavior::Allow, "Bash(touch *)");
    world.runs("touch a").await
}

#[tokio::test]
async fn h05_code_2_refuses_though_its_json_allows() {
    let allow = pre(&json!({"permissionDecision": "allow"}));
    check(&although_allowed(say(2, &allow, "no")).await, "deny");
}

#[tokio::test]
async fn h06_code_2_refuses_though_its_json_is_of_no_known_form() {
    check(&although_allowed(say(2, "{\"decision\": 7}", "no")).await, "deny");
}

#[tokio::test]
async fn h08_another_code_leaves_the_decision_to_the_json() {
    let deny = pre(&json!({"permissionDecision": "deny"}));
    check(&although_allowed(say(1, &deny, "")).await, "deny");
}

/// A hook that does not work leaves the usual way, and a person is told.
async fn has_no_say(entry: Value, words: &str) {
    let world = World::before(&[entry]);
    let ran = world.runs("touch a").await;
    check(&ran, "ask");
    assert!(ran.settled.notices[0].contains(words), "{:?}", ran.settled.notices);
    check(&world.rule(Behavior::Allow, "Bash(touch *)").runs("touch a").await, "allow");
}

#[tokio::test]
async fn h07_codes_of_errors_decide_nothing() {
    has_no_say(say(1, "", "oops"), "exit code 1: oops").await;
    has_no_say(json!({"type": "command", "command": "/is/not/there"}), "exit code 127").await;
}

#[tokio::test]
async fn h09_a_hook_whose_time_is_over_decides_nothing() {
    let mut slow = json!({"type": "command", "command": "sleep 30"});
    slow["timeout"] = json!(0.2);
    has_no_say(slow, "did not end within").await;
}

#[tokio::test]
async fn h10_the_strictest_of_several_hooks_counts() {
    for (first, second, expected) in [
        ("deny", "allow", "deny"),
        ("allow", "deny", "deny"),
        ("defer", "ask", "defer"),
        ("ask", "allow", "ask"),
        ("defer", "deny", "deny"),
        ("allow", "allow", "allow"),
    ] {
        let mut world = World::before(&[decide(first, "a"), decide(second, "b")]);
        world.deferral = Deferral::Honoured;
        check(&world.runs("touch a").await, expected);
    }
}

#[tokio::test]
async fn h11_a_call_is_put_off_only_where_nobody_can_be_asked() {
    let mut world = World::before(&[decide("defer", "later")]);
    let ran = world.runs("touch a").await;
    check(&ran, "ask");
    assert!(ran.settled.notices[0].contains("put the call off"), "{:?}", ran.settled.notices);
    world.deferral = Deferral::Honoured;
    let ran = world.runs("touch a").await;
    check(&ran, "defer");
    assert_eq!(ran.settled.stop, Some(StopRequest::Deferred));
}

#[tokio::test]
async fn h12_a_call_is_put_off_only_if_it_is_alone_in_its_response() {
    let mut world = World::before(&[decide("defer", "later"), decide("allow", "fine")]);
    world.deferral = Deferral::Honoured;
    check(&world.runs("touch a").await, "defer");
    world.calls_in_response = 2;
    let ran = world.runs("touch a").await;
    check(&ran, "allow");
    assert!(ran.settled.notices[0].contains("not the only one"), "{:?}", ran.settled.notices);
    let mut alone = World::before(&[decide("defer", "later")]);
    (alone.deferral, alone.calls_in_response) = (Deferral::Honoured, 2);
    check(&alone.runs("touch a").await, "ask");
}

#[tokio::test]
async fn h13_a_hooks_allow_is_no_answer_of_a_person_and_its_input_is() {
    let mut world = World::before(&[decide("allow", "")]);
    world.tool = "AskUserQuestion";
    world.headless = true;
    let questions = json!({"questions": []});
    check(&world.calls(questions.clone()).await, "deny");
    let answered = json!({"questions": [], "answers": {"Which?": "this"}});
    let output = pre(&json!({"permissionDecision": "allow", "updatedInput": answered}));
    let mut answering = World::before(&[say(0, &output, "")]);
    answering.tool = "AskUserQuestion";
    answering.headless = true;
    let ran = answering.calls(questions.clone()).await;
    assert_eq!((word(&ran), ran.inputs), ("allow", vec![answered]));
    world.headless = false;
    check(&world.calls(questions).await, "ask");
}

#[tokio::test]
async fn h14_removing_the_home_is_asked_about_whatever_a_hook_allows() {
    for mode in
        [PermissionMode::Default, PermissionMode::AcceptEdits, PermissionMode::BypassPermissions]
    {
        let world = World::before(&[decide("allow", "")]).mode(mode);
        check(&world.runs("rm -rf ~").await, "ask");
    }
}

#[tokio::test]
async fn h15_a_hook_allows_what_the_mode_would_not_ask_about() {
    let world = World::before(&[decide("allow", "")]).mode(PermissionMode::DontAsk);
    check(&world.runs("npm test").await, "allow");
    check(&World::before(&[]).mode(PermissionMode::DontAsk).runs("npm test").await, "deny");
}

/// A world with a hook that answers in place of a person.
fn answering(decision: &Value) -> World {
    let output = specific("PermissionRequest", &json!({ "decision": decision }));
    World::new(HookEventName::PermissionRequest, &[say(0, &output, "")])
}

#[tokio::test]
async fn a_hook_may_answer_in_place_of_a_person() {
    check(&answering(&json!({"behavior": "allow"})).runs("touch a").await, "allow");
    let ran = answering(&json!({"behavior": "deny", "message": "no", "interrupt": true}))
        .runs("touch a")
        .await;
    check(&ran, "deny");
    assert_eq!(ran.settled.stop, Some(StopRequest::HookStopped("no".to_owned())));
    let ruled = answering(&json!({"behavior": "allow"})).rule(Behavior::Ask, "Bash(touch *)");
    check(&ruled.runs("touch a").await, "ask");
}

#[tokio::test]
async fn h16_code_2_does_not_answer_a_question() {
    let world = World::new(HookEventName::PermissionRequest, &[say(2, "", "no")]);
    let ran = world.runs("touch a").await;
    check(&ran, "ask");
    assert!(ran.settled.notices[0].ends_with("no"), "{:?}", ran.settled.notices);
}

#[tokio::test]
async fn h17_an_input_that_a_hook_approved_is_still_judged() {
    let world = answering(&json!({"behavior": "allow", "updatedInput": {"command": "rm a"}}));
    let world = world.rule(Behavior::Deny, "Bash(rm *)");
    check(&world.runs("touch a").await, "deny");
    let other = answering(&json!({"behavior": "allow", "updatedInput": {"command": "touch b"}}));
    let ran = other.runs("touch a").await;
    assert_eq!((word(&ran), ran.inputs), ("allow", vec![json!("touch b")]));
}

#[tokio::test]
async fn h18_a_mode_that_a_hook_may_not_set_is_told_and_the_call_is_allowed_once() {
    let updates =
        json!([{"type": "setMode", "mode": "bypassPermissions", "destination": "session"}]);
    let world = answering(&json!({"behavior": "allow", "updatedPermissions": updates}));
    let ran = world.runs("touch a").await;
    check(&ran, "allow");
    assert_eq!(ran.settled.changes, []);
    assert!(ran.settled.notices[0].contains("this call only"), "{:?}", ran.settled.notices);
    // A change of no known form is told by the hook's name.
    let odd = answering(&json!({"behavior": "allow", "updatedPermissions": [{"type": "all"}]}));
    let ran = odd.runs("touch a").await;
    check(&ran, "allow");
    assert!(ran.settled.notices[0].contains("`all`"), "{:?}", ran.settled.notices);
}

#[tokio::test]
async fn an_input_that_a_hook_changed_is_checked_and_judged_again() {
    let change = |input: Value| {
        say(0, &pre(&json!({"permissionDecision": "allow", "updatedInput": input})), "")
    };
    let world = World::before(&[change(json!({"command": "rm a"}))]);
    check(&world.rule(Behavior::Deny, "Bash(rm *)").runs("touch a").await, "deny");
    let ran = World::before(&[change(json!({"cmd": 7}))]).runs("touch a").await;
    check(&ran, "stopped");
    let ran = World::before(&[change(json!({"command": "touch b"}))]).runs("touch a").await;
    assert_eq!((word(&ran), ran.inputs), ("allow", vec![json!("touch b")]));
}

#[tokio::test]
async fn a_hook_may_stop_the_run() {
    let output = json!({"continue": false, "stopReason": "out of money"}).to_string();
    let ran = World::before(&[say(0, &output, "")]).runs("touch a").await;
    check(&ran, "stopped");
    assert_eq!(ran.settled.stop, Some(StopRequest::HookStopped("out of money".to_owned())));
}

#[tokio::test]
async fn after_a_tool_hooks_add_to_its_result_or_replace_it() {
    let allow = |world: World| world.rule(Behavior::Allow, "Bash");
    let after = |output: &Value| {
        let entry = say(0, &specific("PostToolUse", output), "");
        allow(World::new(HookEventName::PostToolUse, &[entry]))
    };
    let ran =
        after(&json!({"updatedToolOutput": "[gone]", "additionalContext": "mind"})).runs("x").await;
    assert_eq!(text(&ran), "[gone]");
    assert_eq!(ran.settled.messages[0].plain_text(), "mind");

    let entry = say(2, "", "lint fails");
    let world = World::new(HookEventName::PostToolUse, std::slice::from_ref(&entry));
    let ran = allow(world).runs("x").await;
    assert_eq!(
        (text(&ran).as_str(), ran.settled.messages[0].plain_text().as_str()),
        ("done", "lint fails")
    );
    let ran = allow(World::new(HookEventName::PostToolUseFailure, &[entry])).runs("false").await;
    assert_eq!(ran.settled.messages[0].plain_text(), "lint fails");
}

/// Says the same to everything.
struct Verdict(ClassifierVerdict);

impl Classifier for Verdict {
    fn start(&self, _: ClassifierRequest) -> BoxFuture<'static, ClassifierVerdict> {
        let verdict = self.0.clone();
        Box::pin(async { verdict })
    }
}

#[tokio::test]
async fn h31_in_mode_auto_a_classifier_may_refuse_what_a_hook_asks_about_and_never_allow_it() {
    let world = || World::before(&[decide("ask", "look")]).mode(PermissionMode::Auto);
    let mut blocked = world();
    blocked.shape = |pipeline| {
        let blocks = ClassifierVerdict::Block("it smells".to_owned());
        pipeline.with_classifier(Arc::new(Verdict(blocks)))
    };
    check(&blocked.runs("touch a").await, "deny");
    let mut allowed = world();
    allowed.shape =
        |pipeline| pipeline.with_classifier(Arc::new(Verdict(ClassifierVerdict::Allow)));
    assert_ne!(word(&allowed.runs("touch a").await), "allow");
}

struct No;

impl Approver for No {
    fn ask(&self, _: ApprovalRequest, _: CancellationToken) -> BoxFuture<'_, Answer> {
        Box::pin(async { Answer::Deny { comment: None } })
    }
}

/// A world that notes in the file `told` what hooks of `PermissionDenied` are told.
fn noting() -> World {
    let mut world = World::before(&[]);
    let told = world.place.text("told");
    let entry = script("record.sh", &[&told]);
    world.layers = vec![layer(RuleSource::User, HookEventName::PermissionDenied, &[entry])];
    world
}

#[tokio::test]
async fn h32_a_refusal_by_a_rule_or_a_person_is_no_event() {
    let by_rule = noting().rule(Behavior::Deny, "Bash(touch *)");
    let mut by_person = noting();
    by_person.shape = |pipeline| pipeline.with_approver(Arc::new(No));
    for world in [by_rule, by_person] {
        check(&world.runs("touch a").await, "deny");
        assert!(!world.place.path("told").exists());
    }
}

#[tokio::test]
async fn a_refusal_by_the_classifier_is_an_event_that_may_allow_another_try() {
    let by_classifier = |world: World| {
        let mut world = world.mode(PermissionMode::Auto);
        world.shape = |pipeline| {
            let blocks = ClassifierVerdict::Block("it smells".to_owned());
            pipeline.with_classifier(Arc::new(Verdict(blocks)))
        };
        world
    };
    let world = by_classifier(noting());
    check(&world.runs("touch a").await, "deny");
    let told = fs::read(world.place.path("told")).unwrap();
    let told: Value = serde_json::from_slice(&told).unwrap();
    assert_eq!(
        (&told["hook_event_name"], &told["reason"], &told["tool_use_id"]),
        (&json!("PermissionDenied"), &json!("it smells"), &json!("t1"))
    );
    let retry = say(0, &specific("PermissionDenied", &json!({"retry": true})), "");
    let world = by_classifier(World::new(HookEventName::PermissionDenied, &[retry]));
    let ran = world.runs("touch a").await;
    check(&ran, "deny");
    assert!(text(&ran).contains("allows you to try again"), "{}", text(&ran));
}
