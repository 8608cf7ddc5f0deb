//! A tool that answers questions in place of a person.

use std::sync::{Arc, Mutex};

use innerve_permission::{Behavior, NoDisk, PermissionMode, Policy};
use innerve_pipeline::{Outcome, Pipeline, PolicySource as _, PromptTool, StopRequest, Turn};
use innerve_tool::{DynTool, ToolBuilder, ToolError};
use serde_json::{Value, json};

use crate::asking::Live;
use crate::kit::{Bench, Probe, policy, pool, rule, text};

const NAME: &str = "mcp__desk__approve";

/// A raw tool, as an MCP server's would be: it notes what it is asked and answers with this text.
fn desk(answer: &str, told: &Arc<Mutex<Vec<Value>>>) -> Arc<dyn DynTool> {
    let schema = json!({
        "type": "object",
        "properties": { "tool_name": {}, "input": {}, "tool_use_id": {} },
        "required": ["tool_name", "input"],
        "additionalProperties": false,
    });
    let (answer, told) = (answer.to_owned(), Arc::clone(told));
    ToolBuilder::new(NAME, schema)
        .build(move |input, _| {
            told.lock().unwrap().push(input);
            let answer = answer.clone();
            async move {
                if answer == "fail" {
                    return Err(ToolError::invalid("the desk is closed"));
                }
                assert_ne!(answer, "panic");
                Ok(answer.as_str().into())
            }
        })
        .unwrap()
}

/// A bench whose questions go to the tool, if there is one.
fn bench(probe: Probe, tool: Option<Arc<dyn DynTool>>, own: Policy) -> Bench {
    let tools = pool(tool.into_iter().collect());
    let own = Arc::new(own);
    let turn = move || Turn::new(tools.clone(), Arc::clone(&own) as _);
    let tool = PromptTool::new(NAME, Pipeline::new(Arc::new(NoDisk)), turn);
    let mut bench = Bench::new(probe);
    bench.pipeline = bench.pipeline.with_approver(Arc::new(tool));
    bench
}

fn permitting() -> Policy {
    let mut policy = policy(PermissionMode::Default, &[]);
    policy.headless = true;
    policy.rules.push(rule(NAME, Behavior::Allow));
    policy
}

struct Answered {
    runs: bool,
    text: String,
    ends: bool,
    paths: Vec<String>,
}

async fn ask_of(probe: Probe, answer: &str) -> (Answered, Vec<Value>) {
    let told = Arc::default();
    let bench = bench(probe, Some(desk(answer, &told)), permitting());
    let settled = bench.path("~/a").await;
    let answered = Answered {
        runs: settled.outcome == Outcome::Succeeded,
        text: text(&settled),
        ends: settled.stop == Some(StopRequest::DeniedByUser),
        paths: bench.paths(),
    };
    let told = told.lock().unwrap().clone();
    (answered, told)
}

async fn ask(answer: &str) -> (Answered, Vec<Value>) {
    ask_of(Probe::asking(), answer).await
}

#[tokio::test]
async fn it_is_told_the_call_and_its_yes_lets_it_run() {
    let (answered, told) = ask(r#"{"behavior":"allow"}"#).await;
    assert!(answered.runs, "{}", answered.text);
    let input = json!({ "path": "/home/user/a" });
    assert_eq!(told, [json!({ "tool_name": "Agent", "input": input, "tool_use_id": "call_1" })]);
}

#[tokio::test]
async fn its_no_is_told_in_its_own_words_and_ends_the_turn_only_if_it_says_so() {
    let (answered, _) = ask(r#"{"behavior":"deny","message":"ask Ada first"}"#).await;
    assert!(!answered.runs && answered.text.contains("ask Ada first") && !answered.ends);
    let (answered, _) = ask(r#"{"behavior":"deny","message":"no","interrupt":true}"#).await;
    assert!(!answered.runs && answered.ends);
}

#[tokio::test]
async fn i6_the_input_that_it_changes_is_what_runs() {
    let (answered, told) = ask(r#"{"behavior":"allow","updatedInput":{"path":"/repo/b"}}"#).await;
    assert_eq!((answered.runs, answered.paths), (true, vec!["/repo/b".to_owned()]));
    assert_eq!(told.len(), 1);
    let (answered, _) = ask(r#"{"behavior":"allow","updatedInput":{"path":7}}"#).await;
    assert!(!answered.runs && answered.text.contains("InputValidationError"));
}

#[tokio::test]
async fn rules_that_come_with_its_yes_are_remembered_where_they_only_allow() {
    let answer = json!({ "behavior": "allow", "updatedPermissions": [
        { "type": "addRules", "behavior": "allow", "destination": "session",
          "rules": [{ "toolName": "Bash", "ruleContent": "make *" }, { "toolName": "Agent" }] },
        { "type": "setMode", "mode": "bypassPermissions", "destination": "session" },
        { "type": "addRules", "behavior": "allow", "destination": "userSettings", "rules": [{ "toolName": "Edit" }] },
    ] });
    let told = Arc::default();
    let mut bench = bench(Probe::asking(), Some(desk(&answer.to_string(), &told)), permitting());
    let live = Live::new(policy(PermissionMode::Default, &[]));
    bench.turn.policy = Arc::clone(&live) as _;
    for _ in 0..2 {
        assert_eq!(bench.path("a").await.outcome, Outcome::Succeeded);
    }
    let policy = live.current();
    let rules: Vec<String> =
        policy.rules.rules().iter().map(|rule| rule.text().to_owned()).collect();
    assert_eq!(rules, ["Bash(make *)", "Agent"]);
    assert_eq!(policy.mode, PermissionMode::Default);
    assert_eq!(told.lock().unwrap().len(), 1, "the second call needs no question");
}

#[tokio::test]
async fn i2_what_is_no_decision_lets_nothing_run() {
    for answer in [
        "",
        "yes",
        "{}",
        r#"{"behavior":"ALLOW"}"#,
        r#"{"behavior":"ask"}"#,
        r#"{"behavior":"deny"}"#,
        r#"[{"behavior":"allow"}]"#,
        r#"["allow"]"#,
        r#"Sure: {"behavior":"allow"}"#,
        r#"{"behavior":"allow"} {"behavior":"deny","message":"no"}"#,
        r#"{"behavior":"allow","updatedPermissions":"all"}"#,
        "fail",
        "panic",
    ] {
        let (answered, told) = ask(answer).await;
        assert!(!answered.runs && answered.paths.is_empty(), "{answer}");
        assert!(answered.text.contains(NAME), "{answer}: {}", answered.text);
        assert_eq!(told.len(), 1);
    }
}

#[tokio::test]
async fn what_only_a_person_can_answer_it_cannot_allow() {
    let need = innerve_permission::Need::Interaction;
    let probe = || Probe { need, ..Probe::default() };
    let (answered, _) = ask_of(probe(), r#"{"behavior":"allow"}"#).await;
    assert!(!answered.runs && answered.text.contains("by a person"));
    // Whatever else the question was about.
    let told = Arc::default();
    let bench = bench(probe(), Some(desk(r#"{"behavior":"allow"}"#, &told)), permitting());
    bench.rules.0.lock().unwrap().rules.push(rule("Agent", Behavior::Ask));
    assert!(bench.path("a").await.result.failed());
}

#[tokio::test]
async fn i1_the_tool_itself_is_called_under_rules() {
    let told = Arc::default();
    let mut denying = permitting();
    denying.rules.push(rule(NAME, Behavior::Deny));
    for (tool, own) in [
        (None, permitting()),
        (Some(desk(r#"{"behavior":"allow"}"#, &told)), policy(PermissionMode::Default, &[])),
        (Some(desk(r#"{"behavior":"allow"}"#, &told)), denying),
    ] {
        let bench = bench(Probe::asking(), tool, own);
        let settled = bench.path("a").await;
        assert!(settled.result.failed() && text(&settled).contains(NAME), "{}", text(&settled));
    }
    assert!(told.lock().unwrap().is_empty());
}
