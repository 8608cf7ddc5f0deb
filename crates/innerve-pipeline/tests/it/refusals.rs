//! What the model is told of a call that may not run, and whether the turn goes on after it.

use crate::kit::{Bench, Hooks, Judge, Person, Probe, rule, text};
use innerve_permission::{Behavior, Objection, PermissionMode, ReasonKind};
use innerve_pipeline::{
    Answer, ClassifierVerdict, HookDecision, HookEventName, HookOutcome, Outcome, PermissionAnswer,
    Settled, StopRequest, Turn,
};
use innerve_protocol::AgentId;

/// Refused, for this kind of reason, with these words, and the turn goes on.
#[track_caller]
fn check(settled: &Settled, kind: ReasonKind, words: &[&str]) {
    let Outcome::Refused(reason) = &settled.outcome else { panic!("{settled:?}") };
    assert_eq!(reason.kind, kind);
    let text = text(settled);
    for words in words {
        assert!(text.contains(words), "`{words}` is not in: {text}");
    }
    assert!(settled.result.failed());
    assert_eq!(settled.stop, None, "the turn goes on");
}

/// Every word that a refusal by policy has: what, why, and that there is no way around.
const NO_WAY_AROUND: &str = "Do not try to get the same effect in another way";

#[tokio::test]
async fn a_rule_is_named_with_the_tool_and_advises_no_way_around() {
    let bench = Bench::in_mode(Probe::default(), PermissionMode::BypassPermissions, &["Agent"]);
    let told = ["Permission to use Agent was denied by the session rule `Agent`.", NO_WAY_AROUND];
    check(&bench.path("a").await, ReasonKind::Rule, &told);
}

#[tokio::test]
async fn a_mode_that_denies_says_which_and_why() {
    let bench = Bench::in_mode(Probe::asking(), PermissionMode::DontAsk, &[]);
    let told = ["Permission to use Agent was denied", "dontAsk", NO_WAY_AROUND];
    check(&bench.path("a").await, ReasonKind::Default, &told);
}

#[tokio::test]
async fn a_tool_s_own_objection_is_told_in_its_words() {
    let objection = Some(Objection::Deny("this would overwrite the backup".to_owned()));
    let bench = Bench::new(Probe { objection, ..Probe::default() });
    let told = ["this would overwrite the backup", NO_WAY_AROUND];
    check(&bench.path("a").await, ReasonKind::Safety, &told);
}

#[tokio::test]
async fn a_classifier_s_reason_is_told_and_its_silence_as_such() {
    let blocking = Judge::new(ClassifierVerdict::Block("it deploys".to_owned()));
    let bench = Bench::in_mode(Probe::asking(), PermissionMode::Auto, &[]).judge(&blocking);
    let told = ["Permission to use Agent was denied: it deploys.", NO_WAY_AROUND];
    check(&bench.path("a").await, ReasonKind::Classifier, &told);

    let silent = Judge::new(ClassifierVerdict::Unavailable("no answer (overloaded)".to_owned()));
    let retry = HookOutcome { retry: true, ..HookOutcome::default() };
    let hooks = Hooks::at(HookEventName::PermissionDenied, retry);
    let bench = Bench::in_mode(Probe::asking(), PermissionMode::Auto, &[]).judge(&silent);
    let bench = bench.hooks(&hooks);
    for _ in 0..5 {
        let settled = bench.path("a").await;
        check(&settled, ReasonKind::Classifier, &["no verdict", "overloaded", "try again"]);
        assert_eq!(settled.code.as_deref(), Some("permission:no_verdict"));
    }
    assert_eq!(silent.told.lock().unwrap().len(), 5, "silence is not counted as a refusal");
    assert_eq!(hooks.names(), ["PreToolUse"; 5], "hooks hear of refusals, and this is none");
}

#[tokio::test]
async fn a_hook_s_reason_is_told() {
    let outcome = HookOutcome {
        decision: Some(HookDecision::Deny("not on Fridays".to_owned())),
        ..HookOutcome::default()
    };
    let bench = Bench::new(Probe::default()).hooks(&Hooks::at(HookEventName::PreToolUse, outcome));
    check(&bench.path("a").await, ReasonKind::Hook, &["not on Fridays"]);

    let answer = PermissionAnswer::Deny { message: "not on Fridays".to_owned(), interrupt: false };
    let outcome = HookOutcome { permission: Some(answer), ..HookOutcome::default() };
    let hooks = Hooks::at(HookEventName::PermissionRequest, outcome);
    let bench = Bench::new(Probe::asking()).hooks(&hooks).person(&Person::yes());
    check(&bench.path("a").await, ReasonKind::Default, &["A hook refused", "not on Fridays"]);
}

#[tokio::test]
async fn a_person_s_no_says_that_nothing_was_written_and_ends_the_turn_unless_they_said_more() {
    let no = Person::new(|_| Answer::Deny { comment: None });
    let settled = Bench::new(Probe::asking()).person(&no).path("a").await;
    assert_eq!(settled.stop, Some(StopRequest::DeniedByUser));
    for words in ["The user rejected", "nothing was run or written", "Stop here and wait"] {
        assert!(text(&settled).contains(words), "{}", text(&settled));
    }
    for comment in ["use make check", "no.\nUse \"make check\" – bitte ✓"] {
        let said = comment.to_owned();
        let no = Person::new(move |_| Answer::Deny { comment: Some(said.clone()) });
        let settled = Bench::new(Probe::asking()).person(&no).path("a").await;
        let told = ["The user rejected", "nothing was run or written", comment];
        check(&settled, ReasonKind::Default, &told);
    }
    // A comment of blanks is none.
    let blank = Person::new(|_| Answer::Deny { comment: Some(" \n".to_owned()) });
    let settled = Bench::new(Probe::asking()).person(&blank).path("a").await;
    assert_eq!(settled.stop, Some(StopRequest::DeniedByUser));
}

#[tokio::test]
async fn a_sub_agent_that_nobody_answers_is_told_why_and_goes_on() {
    let mut bench = Bench::new(Probe::asking());
    bench.turn = Turn { agent_id: Some(AgentId::new("a1")), depth: 1, ..bench.turn };
    let told = ["Permission to use Agent was denied", "nobody can be asked in this run"];
    check(&bench.path("a").await, ReasonKind::Default, &told);
    // A policy that knows that nobody is there does not even ask.
    bench.rules.0.lock().unwrap().headless = true;
    check(&bench.path("a").await, ReasonKind::Default, &["nobody can be asked"]);
}

#[tokio::test]
async fn an_ask_rule_that_nobody_answers_is_named() {
    let bench = Bench::in_mode(Probe::default(), PermissionMode::DontAsk, &[]);
    bench.rules.0.lock().unwrap().rules.push(rule("Agent", Behavior::Ask));
    check(&bench.path("a").await, ReasonKind::Rule, &["rule `Agent`", "dontAsk"]);
}
