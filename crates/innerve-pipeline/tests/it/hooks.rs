//! Steps 7 and 12: what hooks may and may not do.

use std::sync::Arc;

use innerve_permission::{Behavior, PermissionMode};
use innerve_pipeline::{
    Answer, Hook, HookDecision, HookEvent, HookEventName, HookOutcome, Outcome, PermissionAnswer,
    Step, StopRequest,
};
use innerve_tool::{BoxFuture, ToolError};
use serde_json::json;

use crate::kit::{Bench, Hooks, Person, Probe, SECRET, messages, rule, text};

fn deciding(decision: HookDecision) -> HookOutcome {
    HookOutcome { decision: Some(decision), ..HookOutcome::default() }
}

fn changing_to(path: &str) -> HookOutcome {
    HookOutcome { updated_input: Some(json!({ "path": path })), ..HookOutcome::default() }
}

#[tokio::test]
async fn i3_a_hook_s_deny_is_final_even_where_the_mode_allows_all() {
    let hooks =
        Hooks::at(HookEventName::PreToolUse, deciding(HookDecision::Deny("not today".to_owned())));
    let person = Person::yes();
    let bench = Bench::in_mode(Probe::default(), PermissionMode::BypassPermissions, &[])
        .hooks(&hooks)
        .person(&person);
    let settled = bench.path("a").await;
    assert!(matches!(settled.outcome, Outcome::Refused(_)));
    assert_eq!(settled.step, Step::HandleRefusal);
    assert!(text(&settled).contains("not today"));
    assert_eq!(settled.stop, None);
    assert!(bench.paths().is_empty() && person.count() == 0);
    assert_eq!(hooks.names(), ["PreToolUse"], "a refusal is no failure of the tool");
}

#[tokio::test]
async fn a_hook_s_allow_spares_the_question() {
    let hooks = Hooks::at(HookEventName::PreToolUse, deciding(HookDecision::Allow));
    let person = Person::yes();
    let bench = Bench::new(Probe::asking()).hooks(&hooks).person(&person);
    assert!(!bench.path("a").await.result.failed());
    assert_eq!(person.count(), 0);
}

#[tokio::test]
async fn a_hook_s_ask_makes_a_free_call_a_question() {
    let hooks = Hooks::at(HookEventName::PreToolUse, deciding(HookDecision::Ask("hm".to_owned())));
    let person = Person::yes();
    let bench = Bench::in_mode(Probe::default(), PermissionMode::BypassPermissions, &[])
        .hooks(&hooks)
        .person(&person);
    assert!(!bench.path("a").await.result.failed());
    assert_eq!(person.count(), 1);
}

#[tokio::test]
async fn a_hook_can_stop_the_run() {
    let outcome = HookOutcome { stop: Some("enough".to_owned()), ..HookOutcome::default() };
    let hooks = Hooks::at(HookEventName::PreToolUse, outcome);
    let bench = Bench::new(Probe::default()).hooks(&hooks);
    let settled = bench.path("a").await;
    assert_eq!(settled.stop, Some(StopRequest::HookStopped("enough".to_owned())));
    assert_eq!((settled.step, settled.code.as_deref()), (Step::PreHooks, Some("hook_stopped")));
    assert!(settled.result.failed() && bench.paths().is_empty());
}

#[tokio::test]
async fn a_hook_can_defer_the_call_and_the_step_is_told_once() {
    let hooks = Hooks::at(HookEventName::PreToolUse, deciding(HookDecision::Defer));
    let bench = Bench::new(Probe::default()).hooks(&hooks);
    let settled = bench.path("a").await;
    assert_eq!(settled.outcome, Outcome::Deferred);
    assert_eq!(settled.stop, Some(StopRequest::Deferred));
    assert!(bench.paths().is_empty());
    let told = bench.steps().into_iter().filter(|line| line.contains("resolve")).count();
    assert_eq!(told, 1, "{:?}", bench.steps());
}

#[tokio::test]
async fn i6_changed_input_is_checked_and_judged_again_and_hooks_run_once() {
    let hooks = Hooks::at(HookEventName::PreToolUse, changing_to("~/b"));
    let bench = Bench::new(Probe::default()).hooks(&hooks);
    let settled = bench.path("a").await;
    assert!(!settled.result.failed());
    assert_eq!(bench.paths(), ["/home/user/b"], "prepared anew, and that is what ran");
    assert_eq!(hooks.names(), ["PreToolUse", "PostToolUse"]);
    let parsed = bench.steps().into_iter().filter(|line| line.contains("parse")).count();
    assert_eq!(parsed, 2);
}

#[tokio::test]
async fn i8_changed_input_that_is_too_deep_does_not_run() {
    let deep = (0..120).fold(json!(1), |inner, _| json!([inner]));
    let input = json!({ "path": "a", "more": deep });
    let outcome = HookOutcome { updated_input: Some(input.clone()), ..HookOutcome::default() };
    let hooks = Hooks::at(HookEventName::PreToolUse, outcome);
    let person =
        Person::new(move |_| Answer::Allow { remember: None, edited: Some(input.clone()) });
    for bench in
        [Bench::new(Probe::default()).hooks(&hooks), Bench::new(Probe::asking()).person(&person)]
    {
        let settled = bench.path("a").await;
        assert_eq!(settled.code.as_deref(), Some("invalid_input"), "{settled:?}");
        assert!(text(&settled).contains("100 values in values"), "{}", text(&settled));
        assert!(bench.paths().is_empty());
    }
}

#[tokio::test]
async fn i6_changed_input_that_is_not_valid_does_not_run() {
    let outcome = HookOutcome { updated_input: Some(json!({ "p": 1 })), ..HookOutcome::default() };
    let bench = Bench::new(Probe::default()).hooks(&Hooks::at(HookEventName::PreToolUse, outcome));
    assert_eq!(bench.path("a").await.code.as_deref(), Some("invalid_input"));
    let bench = Bench::new(Probe::default())
        .hooks(&Hooks::at(HookEventName::PreToolUse, changing_to("invalid")));
    assert_eq!(bench.path("a").await.code.as_deref(), Some("tool:invalid"));
    assert!(bench.paths().is_empty());
}

#[tokio::test]
async fn i3_changed_input_meets_the_deny_rules_with_an_allow_beside_it() {
    for input in [
        json!({ "path": "/repo/secret" }),
        // A parameter rule looks at the words of whoever wrote the input.
        json!({ "path": "a", "model": "opus" }),
    ] {
        let outcome = HookOutcome { updated_input: Some(input), ..deciding(HookDecision::Allow) };
        let hooks = Hooks::at(HookEventName::PreToolUse, outcome);
        let deny = ["Edit(/secret)", "Agent(model:opus)"];
        let bench = Bench::in_mode(Probe::default(), PermissionMode::BypassPermissions, &deny)
            .hooks(&hooks);
        let settled = bench.path("a").await;
        assert!(matches!(settled.outcome, Outcome::Refused(_)), "{settled:?}");
        assert!(bench.paths().is_empty());
    }
}

#[tokio::test]
async fn two_hooks_are_combined_by_strictness() {
    let allow = Hooks::at(HookEventName::PreToolUse, deciding(HookDecision::Allow));
    let deny = Hooks::at(HookEventName::PreToolUse, deciding(HookDecision::Deny("no".to_owned())));
    for pair in [[&allow, &deny], [&deny, &allow]] {
        let bench = Bench::new(Probe::default()).hooks(pair[0]).hooks(pair[1]);
        assert!(matches!(bench.path("a").await.outcome, Outcome::Refused(_)));
    }
}

/// Panics, in one of the two places where it may.
struct Broken {
    at: HookEventName,
    while_running: bool,
}

impl Hook for Broken {
    fn listens(&self, event: HookEventName, _: Option<&str>) -> bool {
        assert!(self.while_running, "{SECRET}");
        event == self.at
    }
    fn run(&self, _: HookEvent) -> BoxFuture<'_, HookOutcome> {
        panic!("{SECRET}")
    }
}

#[tokio::test]
async fn i2_a_hook_that_panics_before_the_call_counts_as_a_no() {
    for while_running in [true, false] {
        let mut bench = Bench::in_mode(Probe::default(), PermissionMode::BypassPermissions, &[]);
        let at = HookEventName::PreToolUse;
        bench.pipeline = bench.pipeline.with_hook(Arc::new(Broken { at, while_running }));
        let settled = bench.path("a").await;
        assert!(matches!(settled.outcome, Outcome::Refused(_)), "{settled:?}");
        assert!(bench.paths().is_empty());
        assert!(!format!("{settled:?}").contains(SECRET));
    }
}

#[tokio::test]
async fn i9_a_hook_that_panics_after_the_call_loses_no_result() {
    let mut bench = Bench::new(Probe::default());
    let hook = Broken { at: HookEventName::PostToolUse, while_running: true };
    bench.pipeline = bench.pipeline.with_hook(Arc::new(hook));
    let settled = bench.path("a").await;
    assert_eq!(text(&settled), "done");
    assert_eq!(settled.notices, ["a PostToolUse hook failed with an internal error"]);
}

#[tokio::test]
async fn post_hooks_replace_the_output_which_is_budgeted_again() {
    let hooks = Hooks::new(|event| match event.name {
        HookEventName::PostToolUse => HookOutcome {
            updated_output: Some(json!("x".repeat(1_000_000))),
            context: vec!["mind this".to_owned()],
            ..HookOutcome::default()
        },
        _ => HookOutcome::default(),
    });
    for limit in [innerve_tool::ResultLimit::Chars(30_000), innerve_tool::ResultLimit::SelfBounded]
    {
        let bench = Bench::new(Probe { limit, ..Probe::default() }).hooks(&hooks);
        let settled = bench.path("a").await;
        assert!(text(&settled).chars().count() <= 50_200, "{limit:?}");
        assert!(text(&settled).starts_with("xxx"));
        assert_eq!(messages(&settled), ["mind this"]);
    }
}

#[tokio::test]
async fn what_a_hook_takes_out_of_a_result_is_in_no_part_of_it() {
    let outcome = HookOutcome { updated_output: Some(json!("[gone]")), ..HookOutcome::default() };
    let hooks = Hooks::at(HookEventName::PostToolUse, outcome);
    let bench = Bench::new(Probe::doing(|_| async {
        Ok(innerve_tool::ToolOutput::new(SECRET.to_owned()))
    }))
    .hooks(&hooks);
    let settled = bench.path("a").await;
    assert_eq!(text(&settled), "[gone]");
    assert!(!format!("{settled:?}").contains(SECRET), "{settled:?}");
}

#[tokio::test]
async fn a_failure_is_told_to_the_failure_hooks_and_cannot_be_replaced() {
    let hooks = Hooks::new(|_| HookOutcome {
        updated_output: Some(json!("all is well")),
        ..HookOutcome::default()
    });
    let bench = Bench::new(Probe::doing(|_| async {
        Err(ToolError::new(innerve_tool::code::FAILED, "exit code 1"))
    }))
    .hooks(&hooks);
    let settled = bench.path("a").await;
    assert!(settled.result.failed());
    assert_eq!(text(&settled), "exit code 1");
    assert_eq!(hooks.names(), ["PreToolUse", "PostToolUseFailure"]);
    let events = hooks.events.lock().unwrap();
    assert_eq!(events[1].fields["error"], "exit code 1");
    assert_eq!(events[1].fields["is_interrupt"], false);
}

#[tokio::test]
async fn a_post_hook_can_stop_the_run_and_give_feedback() {
    let outcome = HookOutcome {
        stop: Some("lint failed".to_owned()),
        ..deciding(HookDecision::Deny("fix the lint".to_owned()))
    };
    let bench = Bench::new(Probe::default()).hooks(&Hooks::at(HookEventName::PostToolUse, outcome));
    let settled = bench.path("a").await;
    assert!(!settled.result.failed(), "it ran");
    assert_eq!(settled.stop, Some(StopRequest::HookStopped("lint failed".to_owned())));
    assert_eq!(messages(&settled), ["fix the lint"]);
}

#[tokio::test]
async fn what_hooks_said_is_told_even_when_the_call_is_refused() {
    let outcome = HookOutcome {
        context: vec!["for the model".to_owned(), "  ".to_owned()],
        messages: vec!["for the person".to_owned()],
        ..deciding(HookDecision::Deny("no".to_owned()))
    };
    let bench = Bench::new(Probe::default()).hooks(&Hooks::at(HookEventName::PreToolUse, outcome));
    let settled = bench.path("a").await;
    assert_eq!(messages(&settled), ["for the model"]);
    assert_eq!(settled.notices, ["for the person"]);
}

#[tokio::test]
async fn i8_a_hook_cannot_flood_the_conversation() {
    let outcome = HookOutcome { context: vec!["y".repeat(1_000_000)], ..HookOutcome::default() };
    let bench = Bench::new(Probe::default()).hooks(&Hooks::at(HookEventName::PreToolUse, outcome));
    let settled = bench.path("a").await;
    assert!(messages(&settled)[0].chars().count() <= 10_200);
}

fn answering(permission: PermissionAnswer) -> HookOutcome {
    HookOutcome { permission: Some(permission), ..HookOutcome::default() }
}

#[tokio::test]
async fn a_permission_hook_answers_in_place_of_a_person() {
    let person = Person::yes();
    let yes = Hooks::at(HookEventName::PermissionRequest, answering(PermissionAnswer::Allow));
    let bench = Bench::new(Probe::asking()).hooks(&yes).person(&person);
    assert!(!bench.path("a").await.result.failed());

    for interrupt in [false, true] {
        let no = PermissionAnswer::Deny { message: "never".to_owned(), interrupt };
        let no = Hooks::at(HookEventName::PermissionRequest, answering(no));
        let bench = Bench::new(Probe::asking()).hooks(&no).person(&person);
        let settled = bench.path("a").await;
        assert!(text(&settled).contains("never") && bench.paths().is_empty());
        assert_eq!(settled.stop.is_some(), interrupt);
    }
    assert_eq!(person.count(), 0);
}

#[tokio::test]
async fn i6_a_permission_hook_that_changes_the_input_sends_it_back() {
    let outcome = HookOutcome {
        updated_input: Some(json!({ "path": "harmless" })),
        ..answering(PermissionAnswer::Allow)
    };
    let hooks = Hooks::at(HookEventName::PermissionRequest, outcome.clone());
    let bench = Bench::new(Probe::asking()).hooks(&hooks);
    assert!(!bench.path("a").await.result.failed());
    assert_eq!(bench.paths(), ["harmless"], "not what it was asked about");
    let requests = hooks.names().iter().filter(|name| **name == "PermissionRequest").count();
    assert_eq!(requests, 1);

    let bench = Bench::in_mode(Probe::asking(), PermissionMode::Default, &["Edit(/harmless)"])
        .hooks(&Hooks::at(HookEventName::PermissionRequest, outcome));
    assert!(matches!(bench.path("a").await.outcome, Outcome::Refused(_)));
    assert!(bench.paths().is_empty());
}

#[tokio::test]
async fn what_a_rule_wants_to_be_asked_is_asked_whatever_a_permission_hook_says() {
    for updated_input in [None, Some(json!({ "path": "b" }))] {
        let outcome = HookOutcome { updated_input, ..answering(PermissionAnswer::Allow) };
        let person = Person::new(|_| innerve_pipeline::Answer::Deny { comment: None });
        let bench = Bench::new(Probe::default())
            .hooks(&Hooks::at(HookEventName::PermissionRequest, outcome))
            .person(&person);
        bench.rules.0.lock().unwrap().rules.push(rule("Agent", Behavior::Ask));
        assert!(matches!(bench.path("a").await.outcome, Outcome::Refused(_)));
        assert_eq!(person.count(), 1);
        assert!(bench.paths().is_empty());
    }
}
