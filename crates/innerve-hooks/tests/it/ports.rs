//! Hooks that ask a model, an agent or an MCP server through the crate's ports.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use innerve_hooks::{
    AgentRunner, Answer, EventName, Judge, PortError, Question, ToolCaller, ToolRequest,
};
use innerve_pipeline::{Hook as _, HookDecision, HookEventName, HookOutcome};
use serde_json::{Value, json};

use crate::kit::{Ground, pre};

/// Answers all questions alike, and notes them.
struct Oracle {
    answer: Result<Answer, PortError>,
    asked: Mutex<Vec<String>>,
}

impl Oracle {
    fn new(answer: Result<Answer, PortError>) -> Arc<Self> {
        Arc::new(Self { answer, asked: Mutex::default() })
    }

    fn no() -> Arc<Self> {
        Self::new(Ok(Answer { ok: false, reason: Some("no".to_owned()), impossible: false }))
    }

    fn note(&self, question: Question<'_>, turns: u32) -> BoxFuture<'_, Result<Answer, PortError>> {
        let line = format!("{} {:?} {turns} {}", question.event, question.model, question.prompt);
        self.asked.lock().unwrap().push(line);
        async { self.answer.clone() }.boxed()
    }
}

impl Judge for Oracle {
    fn judge<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Result<Answer, PortError>> {
        self.note(question, 0)
    }
}

impl AgentRunner for Oracle {
    fn run<'a>(
        &'a self,
        question: Question<'a>,
        turns: u32,
    ) -> BoxFuture<'a, Result<Answer, PortError>> {
        self.note(question, turns)
    }
}

/// Never answers.
struct Silence;

impl Judge for Silence {
    fn judge<'a>(&'a self, _: Question<'a>) -> BoxFuture<'a, Result<Answer, PortError>> {
        std::future::pending().boxed()
    }
}

struct Server {
    answer: Result<String, PortError>,
    called: Mutex<Vec<Value>>,
}

impl ToolCaller for Server {
    fn call<'a>(&'a self, request: ToolRequest<'a>) -> BoxFuture<'a, Result<String, PortError>> {
        let noted = json!([request.server, request.tool, request.input]);
        self.called.lock().unwrap().push(noted);
        async { self.answer.clone() }.boxed()
    }
}

fn prompt() -> Value {
    json!({"type": "prompt", "prompt": "Fine? $ARGUMENTS", "model": "small"})
}

fn deny() -> Option<HookDecision> {
    Some(HookDecision::Deny("no".to_owned()))
}

#[tokio::test]
async fn a_prompt_hook_asks_a_model_and_its_no_ends_the_turn() {
    let ground = Ground::new();
    let judge = Oracle::no();
    let hooks = ground
        .hooks(HookEventName::PreToolUse, &[prompt()])
        .with_judge(Arc::clone(&judge) as Arc<dyn Judge>);
    let outcome = ground.before(&hooks, "ls").await;
    assert_eq!((outcome.decision, outcome.stop.as_deref()), (deny(), Some("no")));
    let asked = judge.asked.lock().unwrap().clone();
    assert!(
        asked[0].starts_with(r#"PreToolUse Some("small") 0 Fine? {"session_id":"s1""#),
        "{asked:?}"
    );

    let mut going_on = prompt();
    going_on["continueOnBlock"] = json!(true);
    let hooks = ground.hooks(HookEventName::PreToolUse, &[going_on]).with_judge(judge);
    let outcome = ground.before(&hooks, "ls").await;
    assert_eq!((outcome.decision, outcome.stop), (deny(), None));
}

#[tokio::test]
async fn an_agent_hook_has_fifty_turns_and_its_no_is_an_error_of_the_tool() {
    let ground = Ground::new();
    let agents = Oracle::no();
    let entry = json!({"type": "agent", "prompt": "Check."});
    let hooks = ground
        .hooks(HookEventName::PreToolUse, &[entry])
        .with_agents(Arc::clone(&agents) as Arc<dyn AgentRunner>);
    let outcome = ground.before(&hooks, "ls").await;
    assert_eq!((outcome.decision, outcome.stop), (deny(), None));
    assert!(agents.asked.lock().unwrap()[0].starts_with("PreToolUse None 50 Check.\n\n{"));
}

#[tokio::test]
async fn a_stop_hook_may_find_that_more_work_is_in_vain() {
    let ground = Ground::new();
    for (impossible, decision) in [(false, deny()), (true, None)] {
        let answer = Answer { ok: false, reason: Some("no".to_owned()), impossible };
        let hooks =
            ground.hooks(HookEventName::Stop, &[prompt()]).with_judge(Oracle::new(Ok(answer)));
        let outcome = hooks.run(ground.event(HookEventName::Stop, json!({}))).await;
        assert_eq!(outcome.decision, decision);
    }
}

#[tokio::test]
async fn a_tool_hook_fills_its_input_and_its_answer_is_read_like_a_commands() {
    let ground = Ground::new();
    let entry = json!({
        "type": "mcp_tool", "server": "audit", "tool": "check",
        "input": {"line": "${tool_input.command}", "all": "${tool_input}", "n": 1},
    });
    let denial = pre(&json!({"permissionDecision": "deny", "permissionDecisionReason": "no"}));
    let server = Arc::new(Server { answer: Ok(denial), called: Mutex::default() });
    let hooks = ground
        .hooks(HookEventName::PreToolUse, std::slice::from_ref(&entry))
        .with_tools(Arc::clone(&server) as Arc<dyn ToolCaller>);
    assert_eq!(ground.before(&hooks, "ls").await.decision, deny());
    let expected = json!(["audit", "check", {"line": "ls", "all": {"command": "ls"}, "n": 1}]);
    assert_eq!(*server.called.lock().unwrap(), [expected]);

    let gone = PortError::NotConnected { server: "audit".to_owned() };
    let server = Arc::new(Server { answer: Err(gone), called: Mutex::default() });
    let hooks = ground.hooks(HookEventName::PreToolUse, &[entry]).with_tools(server);
    let outcome = ground.before(&hooks, "ls").await;
    assert_eq!(outcome.decision, None);
    assert!(outcome.messages[0].contains("`audit` is not connected"), "{outcome:?}");
}

#[tokio::test]
async fn a_port_that_is_not_there_or_does_not_answer_blocks_nothing_and_is_told() {
    let ground = Ground::new();
    let tool = json!({"type": "mcp_tool", "server": "s", "tool": "t"});
    let agent = json!({"type": "agent", "prompt": "x"});
    let http = json!({"type": "http", "url": "http://localhost:9/"});
    for (entry, words) in [
        (prompt(), "no model for hooks"),
        (agent, "no agents for hooks"),
        (tool, "no MCP servers"),
        (http, if cfg!(feature = "http") { "got no answer" } else { "not built into" }),
    ] {
        let hooks = ground.hooks(HookEventName::PreToolUse, &[entry]);
        let outcome = ground.before(&hooks, "ls").await;
        let silent = HookOutcome { messages: Vec::new(), ..outcome.clone() };
        assert_eq!(silent, HookOutcome::default());
        assert!(outcome.messages[0].contains(words), "{words}: {outcome:?}");
    }
    let mut entry = prompt();
    entry["timeout"] = json!(0.1);
    let hooks = ground.hooks(HookEventName::PreToolUse, &[entry]).with_judge(Arc::new(Silence));
    let outcome = ground.before(&hooks, "ls").await;
    assert!(outcome.messages[0].contains("did not end within 100ms"), "{outcome:?}");
}

#[tokio::test]
async fn a_question_names_the_event_that_it_is_about() {
    let ground = Ground::new();
    let answer = Answer { ok: true, reason: None, impossible: false };
    let judge = Oracle::new(Ok(answer));
    let hooks = ground
        .hooks(HookEventName::UserPromptSubmit, &[prompt()])
        .with_judge(Arc::clone(&judge) as Arc<dyn Judge>);
    let event = ground.event(HookEventName::UserPromptSubmit, json!({"prompt": "hello"}));
    assert_eq!(hooks.run(event).await, HookOutcome::default());
    let asked = judge.asked.lock().unwrap();
    assert!(asked[0].starts_with(&EventName::UserPromptSubmit.to_string()), "{asked:?}");
}
