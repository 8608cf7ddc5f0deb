//! Erased tools: nothing that a tool's author wrote can make them laxer or bring the process down.

use std::sync::Arc;
use std::time::Duration;

use innerve_permission::facts::{Need, Place};
use innerve_permission::{CallFacts, NoDisk, Objection, Preview};
use innerve_protocol::ToolResultContent;
use innerve_tool::{
    CallContext, DynTool, InterruptBehavior, ResultLimit, Tool, ToolError, ToolOutput, ToolPool,
    ToolSources, code, erase,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::kit::{Idle, context, permit};

const SECRET: &str = "hunter2";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    #[expect(dead_code, reason = "only read")]
    path: String,
}

/// Panics wherever it can.
struct Panics;

impl Tool for Panics {
    type Input = Input;
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
        _: Input,
        _: Option<Preview>,
        _: CallContext<()>,
    ) -> Result<ToolOutput<()>, ToolError> {
        panic!("{SECRET}")
    }
    fn render(&self, (): &()) -> ToolResultContent {
        panic!("{SECRET}")
    }
    fn aliases(&self) -> &[&str] {
        panic!("{SECRET}")
    }
    fn is_enabled(&self) -> bool {
        panic!("{SECRET}")
    }
    async fn validate(&self, _: &Input, _: &CallContext) -> Result<(), ToolError> {
        panic!("{SECRET}")
    }
    fn prepare(&self, input: &mut Value, _: &CallContext) {
        *input = json!({ "path": "half done" });
        panic!("{SECRET}")
    }
    fn facts(&self, _: &Value, _: &CallContext, _: Place<'_>) -> CallFacts {
        panic!("{SECRET}")
    }
    fn objection(&self, _: &Input, _: &CallContext) -> Option<Objection> {
        panic!("{SECRET}")
    }
    async fn preview(&self, _: &Input, _: &CallContext) -> Result<Option<Preview>, ToolError> {
        panic!("{SECRET}")
    }
    fn is_concurrency_safe(&self, _: &Input) -> bool {
        panic!("{SECRET}")
    }
    fn is_read_only(&self, _: &Input) -> bool {
        panic!("{SECRET}")
    }
    fn is_destructive(&self, _: &Input) -> bool {
        panic!("{SECRET}")
    }
    fn should_defer(&self) -> bool {
        panic!("{SECRET}")
    }
    fn always_load(&self) -> bool {
        panic!("{SECRET}")
    }
    fn search_hint(&self) -> &str {
        panic!("{SECRET}")
    }
    fn result_limit(&self) -> ResultLimit {
        panic!("{SECRET}")
    }
    fn interrupt_behavior(&self) -> InterruptBehavior {
        panic!("{SECRET}")
    }
    fn classifier_input(&self, _: &Input) -> String {
        panic!("{SECRET}")
    }
    fn requires_user_interaction(&self) -> bool {
        panic!("{SECRET}")
    }
    fn timeout(&self, _: &Input) -> Option<Duration> {
        panic!("{SECRET}")
    }
}

fn place(context: &CallContext) -> Place<'_> {
    Place { cwd: &context.cwd, home: &context.session.home, disk: &NoDisk }
}

#[test]
fn i2_a_panic_in_any_predicate_counts_as_the_strict_answer() {
    let tool = erase(Panics).unwrap();
    let (input, context) = (json!({ "path": "a" }), context());
    assert!(!tool.is_enabled());
    assert!(tool.aliases().is_empty());
    assert!(!tool.is_concurrency_safe(&input));
    assert!(!tool.is_read_only(&input));
    assert!(tool.is_destructive(&input));
    assert!(!tool.should_defer() && !tool.always_load());
    assert_eq!(tool.search_hint(), "");
    assert_eq!(tool.result_limit(), ResultLimit::Chars(100_000));
    assert_eq!(tool.interrupt_behavior(), InterruptBehavior::Block);
    assert!(tool.requires_user_interaction());
    assert_eq!(tool.classifier_input(&input), "");
    assert_eq!(tool.timeout(&input), None);
    assert_eq!(
        tool.facts(&input, &context, place(&context)),
        CallFacts::new("Panics", input.clone())
    );
    assert!(matches!(tool.objection(&input, &context), Some(Objection::Ask(_))));
}

#[test]
fn i6_a_panic_while_preparing_leaves_the_input_as_it_was() {
    let tool = erase(Panics).unwrap();
    let mut input = json!({ "path": "a" });
    tool.prepare(&mut input, &context());
    assert_eq!(input, json!({ "path": "a" }));
}

#[tokio::test]
async fn i11_a_panic_is_an_error_without_its_text() {
    let tool = erase(Panics).unwrap();
    let (input, context) = (json!({ "path": "a" }), context());
    let errors = [
        tool.validate(&input, &context).await.unwrap_err(),
        tool.preview(&input, &context).await.unwrap_err(),
        tool.invoke(permit("Panics", input.clone()), context.clone()).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.code(), code::PANICKED);
        assert!(!error.message().contains(SECRET) && !format!("{error:?}").contains(SECRET));
    }
}

#[test]
fn a_pool_lives_with_a_tool_that_panics_everywhere() {
    let pool = ToolSources { builtins: vec![erase(Panics).unwrap()], mcp: Vec::new() };
    let pool = ToolPool::assemble(pool, |_| false);
    assert!(pool.tools().is_empty(), "a tool that cannot say whether it is offered is not");
    let _found = pool.find("Other");
}

/// A tool whose facts may be about another call than the one it was asked about.
fn stating(facts: fn(&str, &Value) -> CallFacts) -> Arc<dyn DynTool> {
    Idle::<Input>::new("Liar").stating(facts).erased()
}

#[track_caller]
fn check_facts(facts: fn(&str, &Value) -> CallFacts, kept: bool) {
    let tool = stating(facts);
    let (input, context) = (json!({ "path": "a" }), context());
    let stated = tool.facts(&input, &context, place(&context));
    assert_eq!(stated.tool(), "Liar");
    assert_eq!(stated.input(), &input);
    assert_eq!(stated.need == Need::Never, kept);
}

#[test]
fn i6_facts_about_another_tool_or_input_are_not_believed() {
    check_facts(|_, input| CallFacts::new("Liar", input.clone()).with_need(Need::Never), true);
    check_facts(|_, input| CallFacts::new("Read", input.clone()).with_need(Need::Never), false);
    check_facts(
        |_, _| CallFacts::new("Liar", json!({ "path": "b" })).with_need(Need::Never),
        false,
    );
}

#[tokio::test]
async fn i6_a_permit_for_another_tool_runs_nothing() {
    let tool = Idle::<Input>::new("Liar").erased();
    let error = tool.invoke(permit("Other", json!({ "path": "a" })), context()).await.unwrap_err();
    assert_eq!(error.code(), code::WRONG_PERMIT);
}

#[test]
fn i2_an_input_that_does_not_parse_is_answered_strictly() {
    let tool = Idle::<Input>::new("Liar").erased();
    for input in [json!(null), json!({}), json!({ "path": 1 }), json!({ "path": "a", "x": 1 })] {
        assert!(tool.parse(input.clone()).is_err(), "{input}");
        assert!(!tool.is_concurrency_safe(&input) && !tool.is_read_only(&input), "{input}");
    }
}

/// A schema that says less than the type behind it.
#[derive(Deserialize, JsonSchema)]
struct Lax {
    #[schemars(with = "serde_json::Value")]
    #[expect(dead_code, reason = "only read")]
    number: u8,
}

#[test]
fn what_the_schema_lets_through_is_still_read_as_the_type() {
    let tool = Idle::<Lax>::new("Lax").erased();
    assert!(tool.parse(json!({ "number": 255 })).is_ok());
    let issues = tool.parse(json!({ "number": 256 })).unwrap_err();
    assert!(issues[0].to_string().contains("256"), "{}", issues[0]);
}

#[test]
fn the_words_of_an_error_stay_out_of_debug_output() {
    let error = ToolError::invalid(SECRET);
    assert!(!format!("{error:?}").contains(SECRET));
    assert_eq!(error.to_string(), SECRET);
}
