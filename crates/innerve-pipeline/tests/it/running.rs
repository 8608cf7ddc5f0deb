//! Step 10: panics, timeouts and aborts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use innerve_permission::facts::{Need, Place};
use innerve_permission::{CallFacts, PermissionMode, Preview};
use innerve_pipeline::{HookEventName, HookOutcome, Outcome, Step};
use innerve_protocol::ToolResultContent;
use innerve_tool::{CallContext, Tool, ToolError, ToolOutput, code, erase};
use serde_json::{Map, Value, json};

use crate::kit::{Bench, Hooks, Probe, SECRET, TestClock, policy, pool, text};

fn never() -> Probe {
    Probe::doing(|_| std::future::pending())
}

#[tokio::test]
async fn i11_f71_a_panic_in_the_call_gives_one_error_result_without_its_text() {
    let bench = Bench::new(Probe::doing(|_| async { panic!("{SECRET}") }));
    let settled = bench.path("a").await;
    assert!(settled.result.failed());
    assert_eq!(settled.code.as_deref(), Some("tool:panicked"));
    assert!(text(&settled).contains("internal error in Agent"));
    assert!(!format!("{settled:?}{:?}", bench.steps()).contains(SECRET));
    assert!(!bench.path("b").await.tool.is_empty(), "and the next call runs");
}

/// Panics in one place of its life.
struct Panics(&'static str);

impl Panics {
    fn here(&self, place: &str) {
        assert!(self.0 != place, "{SECRET}");
    }
}

impl Tool for Panics {
    type Input = Map<String, Value>;
    type Output = ();
    type Progress = ();

    fn name(&self) -> &str {
        "Panics"
    }
    fn description(&self) -> String {
        String::new()
    }
    async fn call(
        &self,
        _: Self::Input,
        _: Option<Preview>,
        _: CallContext<()>,
    ) -> Result<ToolOutput<()>, ToolError> {
        Ok(ToolOutput::new(()))
    }
    fn render(&self, (): &()) -> ToolResultContent {
        self.here("render");
        "ran".into()
    }
    async fn validate(&self, _: &Self::Input, _: &CallContext) -> Result<(), ToolError> {
        self.here("validate");
        Ok(())
    }
    fn prepare(&self, _: &mut Value, _: &CallContext) {
        self.here("prepare");
    }
    fn facts(&self, input: &Value, _: &CallContext, _: Place<'_>) -> CallFacts {
        self.here("facts");
        CallFacts::new("Panics", input.clone()).with_need(Need::Never)
    }
    fn objection(&self, _: &Self::Input, _: &CallContext) -> Option<innerve_permission::Objection> {
        self.here("objection");
        None
    }
    fn result_limit(&self) -> innerve_tool::ResultLimit {
        self.here("limit");
        innerve_tool::ResultLimit::SelfBounded
    }
    fn timeout(&self, _: &Self::Input) -> Option<Duration> {
        self.here("timeout");
        None
    }
    fn requires_user_interaction(&self) -> bool {
        self.here("interaction");
        false
    }
}

#[tokio::test]
async fn i2_a_panic_anywhere_in_a_tool_is_contained_and_answered_strictly() {
    for (place, runs) in [
        ("nowhere", true),
        ("validate", false),
        ("prepare", true),
        ("facts", false),
        ("objection", false),
        ("interaction", false),
        ("limit", true),
        ("timeout", true),
        ("render", false),
    ] {
        let pool = pool(vec![erase(Panics(place)).unwrap()]);
        let bench = Bench::with_pool(pool, Arc::default(), policy(PermissionMode::Default, &[]));
        let settled = bench.call("Panics", json!({})).await;
        assert_eq!(!settled.result.failed(), runs, "{place}: {settled:?}");
        assert!(!format!("{settled:?}{:?}", bench.steps()).contains(SECRET), "{place}");
    }
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_ended_and_says_so() {
    let probe = Probe { timeout: Some(Duration::from_millis(1_500)), ..never() };
    let bench = Bench::new(probe).clock(TestClock::Instant);
    let settled = bench.path("a").await;
    assert_eq!(settled.code.as_deref(), Some(code::TIMED_OUT));
    assert_eq!(settled.outcome, Outcome::Failed);
    assert_eq!(text(&settled), "Agent timed out after 1.5s");
}

#[tokio::test]
async fn a_tool_that_is_stopped_by_a_timeout_does_not_blame_the_user() {
    let stopped: Arc<AtomicBool> = Arc::default();
    let flag = Arc::clone(&stopped);
    let probe = Probe {
        timeout: Some(Duration::from_secs(2)),
        ..Probe::doing(move |context| {
            let flag = Arc::clone(&flag);
            async move {
                context.cancellation.cancelled().await;
                flag.store(true, Ordering::SeqCst);
                Err(ToolError::interrupted())
            }
        })
    };
    // Its time is over at once; the grace after that would last.
    let bench = Bench::new(probe).clock(TestClock::UpTo(Duration::from_secs(2)));
    let settled = bench.path("a").await;
    assert!(stopped.load(Ordering::SeqCst), "it was told to stop, and did");
    assert_eq!(settled.code.as_deref(), Some(code::TIMED_OUT));
    assert_eq!(settled.outcome, Outcome::Failed);
    assert!(!text(&settled).contains("user"), "{}", text(&settled));
}

#[tokio::test]
async fn what_a_tool_says_on_being_stopped_is_kept() {
    let probe = Probe {
        timeout: Some(Duration::from_secs(2)),
        ..Probe::doing(|context| async move {
            context.cancellation.cancelled().await;
            Err(ToolError::new(code::TIMED_OUT, "timed out; so far: 3 of 5 passed"))
        })
    };
    let bench = Bench::new(probe).clock(TestClock::UpTo(Duration::from_secs(2)));
    assert!(text(&bench.path("a").await).contains("3 of 5 passed"));
}

#[tokio::test]
async fn an_abort_reaches_a_tool_that_ignores_it() {
    for clock in [None, Some(TestClock::Instant)] {
        let mut bench = Bench::new(never());
        if let Some(clock) = clock {
            bench = bench.clock(clock);
        }
        let cancellation = bench.turn.cancellation.clone();
        let (settled, ()) = tokio::join!(bench.path("a"), async { cancellation.cancel() });
        assert_eq!(settled.outcome, Outcome::Interrupted);
        assert_eq!(settled.code.as_deref(), Some(code::INTERRUPTED));
        assert!(text(&settled).contains("interrupted by the user before it finished"));
        assert_eq!(bench.paths().len(), 1);
    }
}

#[tokio::test]
async fn a_result_that_comes_within_the_grace_is_kept() {
    let probe = Probe::doing(|context| async move {
        context.cancellation.cancelled().await;
        Ok(ToolOutput::new("finished all the same".to_owned()))
    });
    let bench = Bench::new(probe).clock(TestClock::UpTo(Duration::ZERO));
    let cancellation = bench.turn.cancellation.clone();
    let (settled, ()) = tokio::join!(bench.path("a"), async { cancellation.cancel() });
    assert_eq!(text(&settled), "finished all the same");
}

#[tokio::test]
async fn an_abort_during_the_hooks_starts_nothing() {
    let mut bench = Bench::new(Probe::default());
    let cancellation = bench.turn.cancellation.clone();
    let hooks = Hooks::new(move |event| {
        if event.name == HookEventName::PreToolUse {
            cancellation.cancel();
        }
        HookOutcome::default()
    });
    bench = bench.hooks(&hooks);
    let settled = bench.path("a").await;
    assert_eq!(settled.outcome, Outcome::Interrupted);
    assert!(settled.step <= Step::Run && bench.paths().is_empty(), "{settled:?}");
    assert_eq!(hooks.names(), ["PreToolUse"]);
}

#[tokio::test]
async fn the_tool_is_cancelled_with_its_turn_and_not_the_other_way_round() {
    let probe = Probe::doing(|context| async move {
        context.cancellation.cancel();
        Ok(ToolOutput::new("done".to_owned()))
    });
    let bench = Bench::new(probe);
    bench.path("a").await;
    assert!(!bench.turn.cancellation.is_cancelled());
}
