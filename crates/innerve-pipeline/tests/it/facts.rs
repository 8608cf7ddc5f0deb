//! What was promised of looking up and checking a call, as far as no other file here shows it.

use std::sync::{Arc, Mutex};

use innerve_permission::facts::{Need, Place};
use innerve_permission::{CallFacts, PermissionMode, Preview};
use innerve_pipeline::{
    Classifier, ClassifierRequest, ClassifierVerdict, HookEventName, HookOutcome, Outcome,
};
use innerve_protocol::ToolResultContent;
use innerve_tool::{
    BoxFuture, CallContext, ResultLimit, Tool, ToolBuilder, ToolError, ToolOutput, ToolPool,
    ToolSources, erase,
};
use serde_json::{Map, Value, json};

use crate::kit::{Bench, Hooks, Person, Probe, SECRET, policy, text};

/// A tool that is switched off, and had another name once.
#[derive(Default)]
struct SwitchedOff(Arc<Mutex<Vec<Value>>>);

impl Tool for SwitchedOff {
    type Input = Map<String, Value>;
    type Output = ();
    type Progress = ();

    fn name(&self) -> &str {
        "Off"
    }
    fn aliases(&self) -> &[&str] {
        &["OldName"]
    }
    fn is_enabled(&self) -> bool {
        false
    }
    fn description(&self) -> String {
        String::new()
    }
    fn facts(&self, input: &Value, _: &CallContext, _: Place<'_>) -> CallFacts {
        CallFacts::new("Off", input.clone()).with_need(Need::Never)
    }
    async fn call(
        &self,
        input: Self::Input,
        _: Option<Preview>,
        _: CallContext<()>,
    ) -> Result<ToolOutput<()>, ToolError> {
        self.0.lock().unwrap().push(input.into());
        Ok(ToolOutput::new(()))
    }
    fn render(&self, (): &()) -> ToolResultContent {
        "ran".into()
    }
}

#[tokio::test]
async fn f66_an_internal_field_is_removed_before_anything_reads_the_input() {
    let hooks = Hooks::new(|event| {
        let mut input = event.fields.get("tool_input").cloned().unwrap_or_default();
        input["_simulatedSedEdit"] = json!({ "path": "/etc/passwd" });
        let updated = event.name == HookEventName::PreToolUse;
        HookOutcome { updated_input: updated.then_some(input), ..HookOutcome::default() }
    });
    let person = Person::yes();
    let bench = Bench::new(Probe::asking()).person(&person).hooks(&hooks);
    // The schema takes no unknown field: that the call runs shows that it was gone before step 3.
    let input = json!({ "path": "a", "_simulatedSedEdit": { "path": "/etc/passwd" } });
    let settled = bench.call("Agent", input).await;
    assert_eq!(settled.outcome, Outcome::Succeeded, "{}", text(&settled));
    let inputs: Vec<Value> = hooks
        .events
        .lock()
        .unwrap()
        .iter()
        .map(|event| event.fields.get("tool_input").cloned().unwrap_or_default())
        .collect();
    assert!(inputs.iter().all(|input| *input == json!({ "path": "a" })), "{inputs:?}");
    assert_eq!(person.asked.lock().unwrap()[0].input, json!({ "path": "a" }));
    assert_eq!(*bench.ran.lock().unwrap(), [json!({ "path": "a" })]);
    // A field that only looks like it is the model's mistake, and told as such.
    let settled = bench.call("Agent", json!({ "path": "a", "_other": 1 })).await;
    assert!(text(&settled).contains("`_other`"));
}

#[tokio::test]
async fn f61_a_former_name_of_a_tool_that_is_switched_off_still_runs_it() {
    let probe = SwitchedOff::default();
    let ran = Arc::clone(&probe.0);
    let builtins = vec![erase(probe).unwrap()];
    let pool = ToolPool::assemble(ToolSources { builtins, mcp: Vec::new() }, |_| false);
    let bench = Bench::with_pool(pool, ran, policy(PermissionMode::Default, &[]));
    assert_eq!(bench.call("OldName", json!({})).await.outcome, Outcome::Succeeded);
    // By its own name it is not offered, and the answer says so.
    let settled = bench.call("Off", json!({})).await;
    assert!(text(&settled).contains("switched off"), "{}", text(&settled));
    assert_eq!(bench.ran.lock().unwrap().len(), 1);
}

/// What a server declares for its tool wins over the cap on tools, up to a cap of its own.
#[tokio::test]
async fn a_server_s_own_limit_counts_up_to_five_hundred_thousand_characters() {
    for (limit, size, inline) in [
        (ResultLimit::Chars(100_000), 50_000, true),
        (ResultLimit::Chars(100_000), 50_001, false),
        (ResultLimit::Declared(200_000), 200_000, true),
        (ResultLimit::Declared(200_000), 200_001, false),
        (ResultLimit::Declared(900_000), 500_000, true),
        (ResultLimit::Declared(900_000), 500_001, false),
        (ResultLimit::Declared(1_000), 1_001, false),
    ] {
        let tool = ToolBuilder::new("mcp__docs__read", json!({ "type": "object" }))
            .result_limit(limit)
            .build(move |_, _| async move { Ok("w".repeat(size).as_str().into()) })
            .unwrap();
        let pool = ToolPool::assemble(ToolSources { builtins: vec![], mcp: vec![tool] }, |_| false);
        let mode = PermissionMode::BypassPermissions;
        let bench = Bench::with_pool(pool, Arc::default(), policy(mode, &[]));
        let settled = bench.call("mcp__docs__read", json!({})).await;
        let chars = text(&settled).chars().count();
        assert!(!settled.result.failed());
        assert_eq!(chars == size, inline, "{limit:?} {size}: {chars}");
    }
}

/// A classifier that panics, at once or later, is one that gives no verdict, and step 5 cannot fail a call by it.
#[tokio::test]
async fn i2_a_classifier_that_panics_gives_no_verdict() {
    struct Broken(bool);
    impl Classifier for Broken {
        fn start(&self, _: ClassifierRequest) -> BoxFuture<'static, ClassifierVerdict> {
            assert!(!self.0, "{SECRET}");
            Box::pin(async { panic!("{SECRET}") })
        }
    }
    for at_once in [true, false] {
        let mut bench = Bench::in_mode(Probe::asking(), PermissionMode::Auto, &[]);
        bench.pipeline = bench.pipeline.with_classifier(Arc::new(Broken(at_once)));
        let settled = bench.path("a").await;
        assert_eq!(settled.code.as_deref(), Some("permission:no_verdict"));
        assert!(!format!("{settled:?}").contains(SECRET) && bench.paths().is_empty());
    }
}
