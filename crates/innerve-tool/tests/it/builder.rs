//! The builder: strict until something is claimed.

use innerve_permission::facts::{Need, Place};
use innerve_permission::{EffectSet, NoDisk};
use innerve_tool::{InterruptBehavior, ResultLimit, ToolBuilder};
use serde_json::json;

use crate::kit::{context, named, permit};

#[test]
fn i2_a_built_tool_that_claims_nothing_is_serial_a_writer_and_asked_about() {
    let tool = named("Odd");
    let input = json!({});
    assert!(!tool.is_concurrency_safe(&input));
    assert!(!tool.is_read_only(&input));
    assert!(tool.is_destructive(&input));
    assert!(!tool.should_defer() && !tool.always_load() && !tool.requires_user_interaction());
    assert_eq!(tool.classifier_input(&input), "", "no classifier may judge it");
    assert_eq!(tool.interrupt_behavior(), InterruptBehavior::Block);
    assert_eq!(tool.result_limit(), ResultLimit::Chars(100_000));
    let context = context();
    let place = Place { cwd: &context.cwd, home: &context.session.home, disk: &NoDisk };
    let facts = tool.facts(&input, &context, place);
    assert_eq!(facts.need, Need::Always);
    assert_eq!(facts.effects, EffectSet::default());
    assert!(!facts.complete);
}

#[test]
fn i2_read_only_grants_no_permission() {
    let tool = ToolBuilder::new("Look", json!({ "type": "object" }))
        .read_only()
        .build(|_, _| async { Ok("seen".into()) })
        .unwrap();
    let context = context();
    let place = Place { cwd: &context.cwd, home: &context.session.home, disk: &NoDisk };
    assert!(tool.is_concurrency_safe(&json!({})) && !tool.is_destructive(&json!({})));
    assert_eq!(tool.facts(&json!({}), &context, place).need, Need::Always);
}

#[test]
fn a_tool_that_lets_itself_be_judged_tells_its_whole_input() {
    let tool = ToolBuilder::new("mcp__desk__send", json!({ "type": "object" }))
        .judged_by_input()
        .build(|_, _| async { Ok("sent".into()) })
        .unwrap();
    let input = json!({ "to": "ada", "text": "line\nline" });
    assert_eq!(tool.classifier_input(&input), r#"{"to":"ada","text":"line\nline"}"#);
}

#[test]
fn an_interactive_tool_needs_a_person_whatever_is_allowed() {
    let tool = ToolBuilder::new("Question", json!({ "type": "object" }))
        .interactive()
        .build(|_, _| async { Ok("answered".into()) })
        .unwrap();
    let context = context();
    let place = Place { cwd: &context.cwd, home: &context.session.home, disk: &NoDisk };
    assert!(tool.requires_user_interaction());
    assert_eq!(tool.facts(&json!({}), &context, place).need, Need::Interaction);
}

#[test]
fn a_name_that_no_api_takes_is_refused() {
    for name in ["", "a b", "naïve", "a/b", &"x".repeat(65)] {
        let built = ToolBuilder::new(name, json!({ "type": "object" }))
            .build(|_, _| async { Ok("".into()) });
        assert_eq!(built.unwrap_err().code(), "definition:name", "{name:?}");
    }
}

#[tokio::test]
async fn the_body_gets_the_permitted_input() {
    let tool = ToolBuilder::new("Echo", json!({ "type": "object" }))
        .build(|input, _| async move { Ok(input.to_string().as_str().into()) })
        .unwrap();
    let rendered = tool.invoke(permit("Echo", json!({ "a": 1 })), context()).await.unwrap();
    assert_eq!(rendered.content.plain_text(), r#"{"a":1}"#);
}
