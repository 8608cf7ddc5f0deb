//! The order of the steps.

use std::sync::Arc;

use innerve_pipeline::{Observer, Step, StepReport};

use crate::kit::{Bench, Probe};

#[tokio::test]
async fn i1_a_plain_run_passes_the_fourteen_steps_in_their_order() {
    let bench = Bench::new(Probe::default());
    let settled = bench.path("a").await;
    assert!(!settled.result.failed(), "{settled:?}");
    assert_eq!(settled.step, Step::Classify);
    insta::assert_snapshot!(bench.steps().join("\n"), @r"
     1 look_up Agent
     2 check_abort Agent
     3 parse Agent
     4 validate Agent
     5 start_classifier Agent
     6 prepare Agent
     7 pre_hooks Agent
     8 resolve Agent
     9 handle_refusal Agent
    10 run Agent
    11 fit_result Agent
    12 post_hooks Agent
    13 attach Agent
    14 classify Agent
    ");
    let all: Vec<String> = Step::ALL.iter().map(|step| format!("{step} Agent")).collect();
    assert_eq!(bench.steps(), all);
}

#[test]
fn steps_are_numbered_from_one_and_named_once() {
    for (index, step) in Step::ALL.iter().enumerate() {
        assert_eq!(usize::from(step.number()), index + 1);
    }
    let names: std::collections::BTreeSet<_> = Step::ALL.iter().map(|step| step.name()).collect();
    assert_eq!(names.len(), 14);
}

#[test]
fn a_run_may_move_between_threads() {
    fn check<T: Send>(_: &T) {}
    let bench = Bench::new(Probe::default());
    let requested = innerve_pipeline::Requested::new(innerve_protocol::ToolUse::new(
        "call_1",
        "Agent",
        serde_json::json!({}),
    ));
    check(&bench.pipeline.run(requested, &bench.turn));
}

/// Panics at every step.
struct Fragile;

impl Observer for Fragile {
    fn step(&self, _: &StepReport<'_>) {
        panic!("an observer's own trouble")
    }
}

#[tokio::test]
async fn an_observer_that_panics_changes_nothing() {
    let mut bench = Bench::new(Probe::default());
    bench.pipeline = bench.pipeline.with_observer(Arc::new(Fragile));
    assert!(!bench.path("a").await.result.failed());
}
