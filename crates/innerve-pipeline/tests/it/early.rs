//! Steps 1 to 6: what ends a call before anybody speaks about it.

use std::sync::Arc;

use innerve_permission::PermissionMode;
use innerve_pipeline::{Outcome, Requested, Settled, Step};
use innerve_protocol::ToolUse;
use innerve_tool::{ToolPool, ToolSources, erase};
use serde_json::json;

use crate::kit::{Bench, Hooks, Person, Probe, policy, text};

/// A bench whose hooks and person would be noticed.
fn watched(probe: Probe) -> (Bench, Arc<Hooks>, Arc<Person>) {
    let hooks = Hooks::new(|_| innerve_pipeline::HookOutcome::default());
    let person = Person::yes();
    (Bench::new(probe).hooks(&hooks).person(&person), hooks, person)
}

#[track_caller]
fn check_failed(settled: &Settled, step: Step, code: &str) {
    assert!(settled.result.failed());
    assert_eq!(settled.step, step);
    assert_eq!(settled.code.as_deref(), Some(code));
    assert_eq!(settled.outcome, Outcome::Failed);
}

#[tokio::test]
async fn an_unknown_tool_is_answered_with_the_nearest_name() {
    let bench = Bench::new(Probe::default());
    let settled = bench.call("Agnet", json!({})).await;
    check_failed(&settled, Step::LookUp, "unknown_tool");
    assert_eq!(
        text(&settled),
        "<tool_use_error>Error: No such tool available: Agnet. Did you mean Agent?</tool_use_error>"
    );
    let settled = bench.call("Launch", json!({})).await;
    assert!(!text(&settled).contains("Did you mean"));
    assert_eq!(
        bench.steps()[..2],
        [" 1 look_up Agnet ended: unknown_tool", "14 classify Agnet ended: unknown_tool"]
    );
}

#[tokio::test]
async fn f61_a_former_name_runs_the_tool() {
    let bench = Bench::new(Probe::default());
    let settled = bench.call("Task", json!({ "path": "a" })).await;
    assert!(!settled.result.failed());
    assert_eq!(settled.tool, "Agent");
    assert_eq!(bench.paths(), ["a"]);
}

#[tokio::test]
async fn i3_a_removed_tool_is_refused_by_the_rule_that_removed_it() {
    for name in ["Agent", "Task"] {
        let probe = Probe::default();
        let ran = Arc::clone(&probe.ran);
        let builtins = vec![erase(probe).unwrap()];
        let pool =
            ToolPool::assemble(ToolSources { builtins, mcp: Vec::new() }, |name| name == "Agent");
        let policy = policy(PermissionMode::BypassPermissions, &["Agent"]);
        let bench = Bench::with_pool(pool, ran, policy);
        let settled = bench.call(name, json!({ "path": "a" })).await;
        assert_eq!(settled.step, Step::LookUp);
        let Outcome::Refused(reason) = &settled.outcome else { panic!("{settled:?}") };
        assert_eq!(reason.rule.as_deref(), Some("Agent"));
        assert!(text(&settled).contains("removed"), "{}", text(&settled));
        assert!(bench.paths().is_empty());
    }
}

#[tokio::test]
async fn f62_an_aborted_turn_starts_nothing() {
    let (bench, hooks, person) = watched(Probe::asking());
    bench.turn.cancellation.cancel();
    let settled = bench.path("a").await;
    assert_eq!(settled.outcome, Outcome::Interrupted);
    assert_eq!(settled.step, Step::CheckAbort);
    assert!(hooks.names().is_empty() && person.count() == 0 && bench.paths().is_empty());
}

#[tokio::test]
async fn i7_input_that_is_no_json_is_answered_in_the_api_s_own_form() {
    let (bench, hooks, _) = watched(Probe::default());
    let raw = format!("{{\"path\": \"{}", "x".repeat(10_000));
    let tool_use = ToolUse::new("call_1", "Agent", json!({}));
    let settled = bench.run(Requested { tool_use, invalid_input: Some(raw.clone()) }).await;
    check_failed(&settled, Step::Parse, "invalid_json");
    let told: serde_json::Value = serde_json::from_str(&text(&settled)).unwrap();
    let told = told["INVALID_JSON"].as_str().unwrap();
    assert!(raw.starts_with(told) && told.len() == 2_000);
    assert!(bench.paths().is_empty() && hooks.names().is_empty());
}

#[tokio::test]
async fn f64_every_schema_issue_is_listed_and_no_hook_fires() {
    let (bench, hooks, person) = watched(Probe::asking());
    let settled = bench.call("Agent", json!({ "paht": "a", "model": 5 })).await;
    check_failed(&settled, Step::Parse, "invalid_input");
    let text = text(&settled);
    assert!(text.contains("Agent failed due to the following issues:"), "{text}");
    for issue in [
        "The required parameter `path` is missing",
        "An unexpected parameter `paht` was provided",
        "The parameter `model` type is expected as `string` but provided as `integer`",
    ] {
        assert!(text.contains(issue), "{text}");
    }
    assert!(hooks.names().is_empty() && person.count() == 0);
}

#[tokio::test]
async fn f63_a_deferred_tool_s_guessed_parameters_are_answered_with_the_way_to_its_schema() {
    let mut bench = Bench::new(Probe { deferred: true, ..Probe::default() });
    let hint = "ToolSearch with query \"select:Agent\"";
    assert!(text(&bench.call("Agent", json!({})).await).contains(hint));
    bench.turn.loaded = Arc::new(["Agent".to_owned()].into());
    assert!(!text(&bench.call("Agent", json!({})).await).contains(hint));
}

#[tokio::test]
async fn what_makes_no_sense_ends_before_anybody_is_asked() {
    let (bench, hooks, person) = watched(Probe::asking());
    let settled = bench.path("invalid").await;
    check_failed(&settled, Step::Validate, "tool:invalid");
    assert_eq!(text(&settled), "<tool_use_error>makes no sense</tool_use_error>");
    assert!(hooks.names().is_empty() && person.count() == 0);
}

#[tokio::test]
async fn f65_hooks_rules_and_the_tool_see_the_derived_fields() {
    let (bench, hooks, person) = watched(Probe::asking());
    let settled = bench.path("~/a").await;
    assert!(!settled.result.failed());
    let expected = json!({ "path": "/home/user/a" });
    assert_eq!(hooks.events.lock().unwrap()[0].fields["tool_input"], expected);
    assert_eq!(person.asked.lock().unwrap()[0].input, expected);
    assert_eq!(bench.paths(), ["/home/user/a"]);
}

#[tokio::test]
async fn a_long_flood_of_issues_is_bounded() {
    let bench = Bench::new(Probe::default());
    let fields: serde_json::Map<_, _> =
        (0..100_000).map(|number| (format!("field{number}"), json!(number))).collect();
    let settled = bench.call("Agent", fields.into()).await;
    assert!(settled.result.failed());
    assert!(text(&settled).chars().count() <= 10_200, "{}", text(&settled).chars().count());
}
