//! Steps 8 and 9: who answers, what counts, and how a refusal is worded.

use std::sync::Arc;

use innerve_permission::{Behavior, Objection, PermissionMode, ReasonKind};
use innerve_pipeline::{
    Answer, ApprovalRequest, Approver, ClassifierVerdict, Grant, GrantScope, HookDecision,
    HookEventName, HookOutcome, Outcome, Settled, Step, StopRequest,
};
use innerve_tool::{BoxFuture, CancellationToken, ToolError};
use serde_json::json;

use crate::kit::{
    Bench, Hooks, Judge, Person, Probe, SECRET, TestClock, preview, rule, shown, text,
};

#[track_caller]
fn reason(settled: &Settled) -> innerve_permission::Reason {
    match &settled.outcome {
        Outcome::Refused(reason) => (**reason).clone(),
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn i3_a_deny_rule_is_told_by_name_and_advises_no_way_around() {
    let bench = Bench::in_mode(Probe::default(), PermissionMode::BypassPermissions, &["Agent"]);
    let settled = bench.path("a").await;
    assert_eq!(reason(&settled).rule.as_deref(), Some("Agent"));
    assert_eq!(settled.step, Step::HandleRefusal);
    let text = text(&settled);
    assert!(text.contains("was denied by the session rule `Agent`"), "{text}");
    assert!(text.contains("Do not try to get the same effect in another way"), "{text}");
}

#[tokio::test]
async fn i2_a_tool_that_claims_nothing_is_asked_about_and_refused_when_nobody_is_there() {
    let bench = Bench::new(Probe::asking());
    let settled = bench.path("a").await;
    assert!(matches!(settled.outcome, Outcome::Refused(_)));
    assert!(text(&settled).contains("nobody can be asked"), "{}", text(&settled));
    assert!(bench.paths().is_empty());
}

#[tokio::test]
async fn a_person_s_yes_runs_it_once() {
    let person = Person::yes();
    let bench = Bench::new(Probe::asking()).person(&person);
    bench.path("a").await;
    bench.path("a").await;
    assert_eq!((person.count(), bench.paths().len()), (2, 2));
}

#[tokio::test]
async fn a_no_without_a_comment_ends_the_turn_and_one_with_a_comment_does_not() {
    for (comment, ends) in
        [(None, true), (Some("  ".to_owned()), true), (Some("use b".to_owned()), false)]
    {
        let said = comment.clone();
        let person = Person::new(move |_| Answer::Deny { comment: said.clone() });
        let bench = Bench::new(Probe::asking()).person(&person);
        let settled = bench.path("a").await;
        assert_eq!(settled.stop, ends.then_some(StopRequest::DeniedByUser), "{comment:?}");
        assert!(text(&settled).contains("rejected"));
        assert_eq!(text(&settled).contains("use b"), !ends);
        assert!(bench.paths().is_empty());
    }
}

#[tokio::test]
async fn i6_an_edited_input_is_what_runs_and_is_not_asked_about_again() {
    let person =
        Person::new(|_| Answer::Allow { remember: None, edited: Some(json!({ "path": "~/b" })) });
    let bench = Bench::new(Probe::asking()).person(&person);
    assert!(!bench.path("a").await.result.failed());
    assert_eq!(bench.paths(), ["/home/user/b"]);
    assert_eq!(person.count(), 1);
}

#[tokio::test]
async fn i3_an_edited_input_is_judged_again_and_a_deny_rule_still_denies_it() {
    for edited in [json!({ "path": "/repo/secret" }), json!({ "path": "a", "model": "opus" })] {
        let person =
            Person::new(move |_| Answer::Allow { remember: None, edited: Some(edited.clone()) });
        let deny = ["Edit(/secret)", "Agent(model:opus)"];
        let bench = Bench::in_mode(Probe::asking(), PermissionMode::Default, &deny).person(&person);
        assert!(reason(&bench.path("a").await).rule.is_some());
        assert!(bench.paths().is_empty());
    }
}

#[tokio::test]
async fn an_edited_input_that_is_not_valid_is_told_as_such() {
    let person =
        Person::new(|_| Answer::Allow { remember: None, edited: Some(json!({ "path": 1 })) });
    let bench = Bench::new(Probe::asking()).person(&person);
    let settled = bench.path("a").await;
    assert_eq!((settled.step, settled.code.as_deref()), (Step::Parse, Some("invalid_input")));
    assert!(bench.paths().is_empty());
}

#[tokio::test]
async fn a_grant_spares_the_next_question() {
    let grant = Grant { scope: GrantScope::Session, rules: vec!["Agent".to_owned()] };
    let person =
        Person::new(move |_| Answer::Allow { remember: Some(grant.clone()), edited: None });
    let bench = Bench::new(Probe::asking()).person(&person);
    bench.path("a").await;
    bench.path("b").await;
    assert_eq!(bench.paths(), ["a", "b"]);
    assert_eq!(person.count(), 1);
}

#[tokio::test]
async fn a_grant_that_cannot_be_kept_is_told_and_the_answer_holds() {
    let grant = Grant { scope: GrantScope::Always, rules: vec!["Agent".to_owned()] };
    let person =
        Person::new(move |_| Answer::Allow { remember: Some(grant.clone()), edited: None });
    let mut bench = Bench::new(Probe::asking()).person(&person);
    // A plain policy cannot remember anything.
    let fixed = bench.rules.0.lock().unwrap().clone();
    bench.turn.policy = Arc::new(fixed);
    let settled = bench.path("a").await;
    assert!(!settled.result.failed());
    assert!(settled.notices[0].contains("could not be remembered"), "{:?}", settled.notices);
}

#[tokio::test]
async fn an_ask_rule_asks_even_where_the_mode_allows_all_and_denies_in_dont_ask() {
    let person = Person::yes();
    let bench =
        Bench::in_mode(Probe::default(), PermissionMode::BypassPermissions, &[]).person(&person);
    bench.rules.0.lock().unwrap().rules.push(rule("Agent", Behavior::Ask));
    assert!(!bench.path("a").await.result.failed());
    assert_eq!(person.count(), 1);
    bench.rules.0.lock().unwrap().mode = PermissionMode::DontAsk;
    assert!(matches!(bench.path("a").await.outcome, Outcome::Refused(_)));
    assert_eq!(person.count(), 1);
}

#[tokio::test]
async fn a_tool_s_own_objection_asks_or_denies() {
    let person = Person::yes();
    let ask = Some(Objection::Ask("looks odd".to_owned()));
    let bench = Bench::new(Probe { objection: ask, ..Probe::default() }).person(&person);
    assert!(!bench.path("a").await.result.failed());
    assert_eq!(person.asked.lock().unwrap()[0].resolution.reason.message, "looks odd");
    let deny = Some(Objection::Deny("is broken".to_owned()));
    let bench = Bench::new(Probe { objection: deny, ..Probe::default() }).person(&person);
    assert!(text(&bench.path("a").await).contains("is broken"));
    assert!(bench.paths().is_empty());
}

#[tokio::test]
async fn i6_the_preview_that_was_shown_is_carried_to_the_tool_and_not_in_the_input() {
    let person = Person::yes();
    let written: Arc<std::sync::Mutex<Vec<u8>>> = Arc::default();
    let sink = Arc::clone(&written);
    let probe = Probe {
        preview: |input| Ok(Some(preview(&input.path, "new content"))),
        body: Box::new(move |_, approved, _| {
            *sink.lock().unwrap() = approved.map(|preview| preview.after).unwrap_or_default();
            Box::pin(async { Ok(innerve_tool::ToolOutput::new("written".to_owned())) })
        }),
        ..Probe::asking()
    };
    let bench = Bench::new(probe).person(&person);
    assert!(!bench.path("a").await.result.failed());
    let asked = person.asked.lock().unwrap();
    assert_eq!(shown(asked[0].preview.as_ref().unwrap()), std::path::Path::new("a"));
    assert_eq!(*written.lock().unwrap(), b"new content");
    assert_eq!(asked[0].input, json!({ "path": "a" }));
}

#[tokio::test]
async fn a_preview_that_fails_ends_the_call_unasked() {
    let person = Person::yes();
    let probe =
        Probe { preview: |_| Err(ToolError::invalid("the file changed")), ..Probe::asking() };
    let bench = Bench::new(probe).person(&person);
    let settled = bench.path("a").await;
    assert_eq!((settled.step, settled.code.as_deref()), (Step::Resolve, Some("tool:invalid")));
    assert!(text(&settled).contains("the file changed"));
    assert!(person.count() == 0 && bench.paths().is_empty());
}

/// An approver that panics, or that never answers.
struct Silent;

impl Approver for Silent {
    fn ask(&self, _: ApprovalRequest, _: CancellationToken) -> BoxFuture<'_, Answer> {
        Box::pin(std::future::pending())
    }
}

pub(crate) struct Broken;

impl Approver for Broken {
    fn ask(&self, _: ApprovalRequest, _: CancellationToken) -> BoxFuture<'_, Answer> {
        panic!("{SECRET}")
    }
}

#[tokio::test]
async fn i2_an_approver_that_panics_lets_nothing_run() {
    let mut bench = Bench::new(Probe::asking());
    bench.pipeline = bench.pipeline.with_approver(Arc::new(Broken));
    let settled = bench.path("a").await;
    assert_eq!((settled.step, settled.code.as_deref()), (Step::Resolve, Some("tool:panicked")));
    assert!(text(&settled).contains("nothing was run") && bench.paths().is_empty());
    assert!(!format!("{settled:?}").contains(SECRET));
}

#[tokio::test]
async fn an_abort_takes_an_open_question_back() {
    for clock in [None, Some(TestClock::Instant)] {
        let mut bench = Bench::new(Probe::asking());
        bench.pipeline = bench.pipeline.with_approver(Arc::new(Silent));
        if let Some(clock) = clock {
            bench = bench.clock(clock);
        }
        let cancellation = bench.turn.cancellation.clone();
        let (settled, ()) = tokio::join!(bench.path("a"), async { cancellation.cancel() });
        assert_eq!(settled.outcome, Outcome::Interrupted);
        assert_eq!(settled.step, Step::Resolve);
        assert!(bench.paths().is_empty());
    }
}

fn in_auto(probe: Probe, verdict: ClassifierVerdict) -> (Bench, Arc<Judge>, Arc<Person>) {
    let (judge, person) = (Judge::new(verdict), Person::yes());
    let bench = Bench::in_mode(probe, PermissionMode::Auto, &[]).judge(&judge).person(&person);
    (bench, judge, person)
}

#[tokio::test]
async fn a_classifier_allows_and_blocks_in_place_of_a_person() {
    let (bench, judge, person) = in_auto(Probe::asking(), ClassifierVerdict::Allow);
    assert!(!bench.path("~/a").await.result.failed());
    assert_eq!(*judge.told.lock().unwrap(), ["what it does /home/user/a"], "what will run");

    let block = ClassifierVerdict::Block("exfiltrates".to_owned());
    let (bench, _, _) = in_auto(Probe::asking(), block);
    let settled = bench.path("a").await;
    assert_eq!(reason(&settled).kind, ReasonKind::Classifier);
    assert!(text(&settled).contains("exfiltrates"));
    assert!(bench.paths().is_empty());
    assert_eq!(person.count(), 0);
}

#[tokio::test]
async fn i2_no_verdict_is_no_permission() {
    let unavailable = ClassifierVerdict::Unavailable("no answer".to_owned());
    let (bench, _, person) = in_auto(Probe::asking(), unavailable);
    assert!(matches!(bench.path("a").await.outcome, Outcome::Refused(_)));
    assert!(person.count() == 0 && bench.paths().is_empty());
    // Nor is the lack of a classifier.
    let bench = Bench::in_mode(Probe::asking(), PermissionMode::Auto, &[]).person(&person);
    assert!(matches!(bench.path("a").await.outcome, Outcome::Refused(_)));
    assert!(bench.paths().is_empty());
}

#[tokio::test]
async fn what_a_classifier_cannot_judge_is_for_a_person() {
    let probe = Probe { classifier_input: String::new(), ..Probe::asking() };
    let (bench, judge, person) = in_auto(probe, ClassifierVerdict::Allow);
    assert!(!bench.path("a").await.result.failed());
    assert!(judge.told.lock().unwrap().is_empty());
    assert_eq!(person.count(), 1);
}

#[tokio::test]
async fn after_three_refusals_in_a_row_a_person_is_asked_until_something_is_allowed() {
    let block = ClassifierVerdict::Block("no".to_owned());
    let (bench, judge, person) = in_auto(Probe::asking(), block);
    for _ in 0..3 {
        assert!(bench.path("a").await.result.failed());
    }
    assert_eq!(person.count(), 0);
    assert!(!bench.path("a").await.result.failed(), "the person says yes");
    assert_eq!((person.count(), judge.told.lock().unwrap().len()), (1, 3));
    // The yes resumes the classifier.
    assert!(bench.path("a").await.result.failed());
    assert_eq!((person.count(), judge.told.lock().unwrap().len()), (1, 4));
}

#[tokio::test]
async fn after_three_refusals_with_nobody_there_the_call_is_refused_and_the_run_goes_on() {
    let judge = Judge::new(ClassifierVerdict::Block("no".to_owned()));
    let bench = Bench::in_mode(Probe::asking(), PermissionMode::Auto, &[]).judge(&judge);
    for _ in 0..5 {
        let settled = bench.path("a").await;
        assert!(matches!(settled.outcome, Outcome::Refused(_)) && settled.stop.is_none());
    }
    assert_eq!(judge.told.lock().unwrap().len(), 3);
    assert!(bench.paths().is_empty());
}

#[tokio::test]
async fn a_classifier_cannot_answer_what_a_rule_wants_to_be_asked() {
    let (bench, _, person) = in_auto(Probe::asking(), ClassifierVerdict::Allow);
    bench.rules.0.lock().unwrap().rules.push(rule("Agent", Behavior::Ask));
    bench.path("a").await;
    assert_eq!(person.count(), 1);
}

#[tokio::test]
async fn what_a_hook_wants_to_be_asked_a_classifier_can_block_and_cannot_allow() {
    let asking = HookOutcome {
        decision: Some(HookDecision::Ask("look at this".to_owned())),
        ..HookOutcome::default()
    };
    let hooks = Hooks::at(HookEventName::PreToolUse, asking);
    let (bench, judge, person) = in_auto(Probe::asking(), ClassifierVerdict::Allow);
    let bench = bench.hooks(&hooks);
    assert!(!bench.path("a").await.result.failed(), "the person says yes");
    assert_eq!((judge.told.lock().unwrap().len(), person.count()), (1, 1));

    let silent = ClassifierVerdict::Unavailable("no answer".to_owned());
    let (bench, _, person) = in_auto(Probe::asking(), silent);
    assert!(!bench.hooks(&hooks).path("a").await.result.failed());
    assert_eq!(person.count(), 1);

    let (bench, _, person) = in_auto(Probe::asking(), ClassifierVerdict::Block("no".to_owned()));
    let bench = bench.hooks(&hooks);
    assert!(matches!(bench.path("a").await.outcome, Outcome::Refused(_)));
    assert!(person.count() == 0 && bench.paths().is_empty());
}

#[tokio::test]
async fn an_input_that_a_person_wrote_needs_no_classifier() {
    let judge = Judge::new(ClassifierVerdict::Block("no".to_owned()));
    let person =
        Person::new(|_| Answer::Allow { remember: None, edited: Some(json!({ "path": "b" })) });
    let probe = Probe { classifier_input: String::new(), ..Probe::asking() };
    let bench = Bench::in_mode(probe, PermissionMode::Auto, &[]).judge(&judge).person(&person);
    assert!(!bench.path("a").await.result.failed());
    assert_eq!(bench.paths(), ["b"]);
    assert_eq!(person.count(), 1);
}

#[tokio::test]
async fn only_a_classifier_s_refusal_is_told_to_hooks_which_may_allow_another_try() {
    let retry = HookOutcome { retry: true, ..HookOutcome::default() };
    let hooks = Hooks::at(HookEventName::PermissionDenied, retry);
    let judge = Judge::new(ClassifierVerdict::Block("no".to_owned()));
    let bench =
        Bench::in_mode(Probe::asking(), PermissionMode::Auto, &[]).judge(&judge).hooks(&hooks);
    assert!(text(&bench.path("a").await).contains("try again"));
    assert_eq!(hooks.names(), ["PreToolUse", "PermissionDenied"]);

    let hooks = Hooks::new(|_| HookOutcome::default());
    let bench = Bench::in_mode(Probe::default(), PermissionMode::Default, &["Agent"]).hooks(&hooks);
    bench.path("a").await;
    assert_eq!(hooks.names(), ["PreToolUse"]);
}
