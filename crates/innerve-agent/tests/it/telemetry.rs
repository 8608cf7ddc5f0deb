//! What leaves a run as spans and events: classes and numbers, and no word of the conversation.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use innerve_agent::AgentConfig;
use innerve_model::ErrorClass;
use innerve_pipeline::{Answer, HookOutcome, Naming};
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

use crate::kit::World;
use crate::script::{
    Say, Script, answer, broken_call, call, response, retrying, text, thinking, usage,
};

/// What must not leave, wherever it stands.
const SECRET: &str = "hunter2";

/// Keeps all that is emitted, word for word.
#[derive(Clone, Default)]
struct Ear(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push_str(&format!(" {}={value:?}", field.name()));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push_str(&format!(" {}={value}", field.name()));
    }
}

impl Ear {
    /// Listens on this thread, on which a test's tasks run.
    fn listen() -> (Self, DefaultGuard) {
        let ear = Self::default();
        let guard =
            tracing::subscriber::set_default(tracing_subscriber::registry().with(ear.clone()));
        (ear, guard)
    }

    fn note(&self, line: Line) {
        self.0.lock().unwrap().push(line.0);
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    #[track_caller]
    fn heard(&self, parts: &[&str]) {
        let lines = self.lines();
        let found = lines.iter().any(|line| parts.iter().all(|part| line.contains(part)));
        assert!(found, "no line has {parts:?}:\n{}", lines.join("\n"));
    }

    #[track_caller]
    fn is_safe(&self) {
        for line in self.lines() {
            assert!(!line.contains(SECRET), "{line}");
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Ear {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let parent = context.span(id).and_then(|span| span.parent().map(|parent| parent.name()));
        let name = attributes.metadata().name();
        let mut line = Line(format!("span {name} in {}", parent.unwrap_or("-")));
        attributes.record(&mut line);
        self.note(line);
    }
    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let mut line = Line(format!("record {}", context.span(id).map_or("?", |span| span.name())));
        values.record(&mut line);
        self.note(line);
    }
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let name = context.event_span(event).map_or("-", |span| span.name());
        let mut line = Line(format!("event {} in {name}", event.metadata().target()));
        event.record(&mut line);
        self.note(line);
    }
}

#[tokio::test]
async fn a_run_is_a_span_with_its_requests_and_calls_below_it() {
    let (ear, _guard) = Ear::listen();
    let calls = [
        retrying(),
        usage(1000, 20),
        call("a", "Read", json!({})),
        call("b", "Agent", json!({"prompt": "sub"})),
    ];
    let script = Script::with_lanes([
        ("do", vec![response(calls), answer("All is well.")]),
        ("sub", vec![answer("found")]),
    ]);
    let world = World::new(&script);
    world.run("do it").await;
    ear.heard(&["span innerve.interaction in -", "model=claude-sonnet-4-5", "agent_depth=0"]);
    ear.heard(&["record innerve.interaction", "session.id=session"]);
    ear.heard(&["user_prompt", "prompt_length=5"]);
    ear.heard(&["span innerve.llm_request in innerve.interaction", "messages=1"]);
    ear.heard(&["record innerve.llm_request", "input_tokens=1000"]);
    ear.heard(&[
        "event innerve_agent::telemetry in innerve.llm_request",
        "api_request",
        "cost_usd=",
    ]);
    ear.heard(&["api_retry", "error_type=overloaded", "attempt=1"]);
    ear.heard(&["span innerve.tool in innerve.interaction", "tool_name=Read"]);
    ear.heard(&["span innerve.interaction in innerve.tool.execution", "agent_depth=1"]);
    ear.heard(&["subagent_completed", "agent_type=general-purpose", "outcome=completed"]);
    ear.heard(&["record innerve.interaction", "outcome=completed"]);
    ear.heard(&["innerve::metrics", "monotonic_counter.innerve.token.usage=1000", "type=input"]);
    ear.heard(&["innerve::metrics", "monotonic_counter.innerve.session.count=1"]);
}

#[tokio::test]
async fn i11_no_word_of_a_conversation_leaves_with_its_telemetry() {
    let (ear, _guard) = Ear::listen();
    let secret = |what: &str| format!("{what} {SECRET}");
    let path = format!("/home/{SECRET}/.env");
    let script = Script::new(vec![
        response([
            usage(7, 7),
            thinking(&secret("I think of")),
            text(&secret("I use")),
            call(
                &format!("toolu_{SECRET}"),
                "Bash",
                json!({"command": secret("cat"), "id": SECRET}),
            ),
            call("f", "Edit", json!({"fails": secret("no such file")})),
            call("p", "Bash", json!({"panics": path})),
            call("u", &format!("mcp__{SECRET}__read"), json!({"path": path})),
            call("c", SECRET, json!({})),
            call("q", "Ask", json!({"why": SECRET})),
            call("h", "Grep", json!({"pattern": SECRET})),
            call("d", "Agent", json!({"prompt": secret("sub"), "type": SECRET})),
            broken_call("b", "Read", &format!("{{\"path\": \"{path}\"")),
        ]),
        vec![Say::Fail(ErrorClass::Auth, "the key hunter2 is wrong")],
    ]);
    let hooks = HookOutcome {
        context: vec![secret("mind")],
        messages: vec![secret("look")],
        ..HookOutcome::default()
    };
    let mut world = World::new(&script)
        .person(|_| Answer::Deny { comment: Some("not hunter2".to_owned()) })
        .hook("Grep", hooks);
    // A model that only its owner knows, of which the server has its own name.
    world.config = AgentConfig::new(secret("claude"), vec![secret("You know")]);
    let ran = world.run(&secret("print")).await;
    assert!(ran.ended().len() >= 9, "{:?}", ran.ended());

    ear.is_safe();
    for parts in [
        ["span innerve.interaction", "model=custom"],
        ["api_error", "error_type=auth"],
        ["span innerve.tool", "tool_name=mcp_tool"],
        ["span innerve.tool", "tool_name=custom"],
        ["tool_result", "error_type=tool:panicked"],
        ["tool_result", "error_type=tool:invalid"],
        ["tool_decision", "source=user_reject"],
        ["interaction_ended", "outcome=model_error"],
    ] {
        ear.heard(&parts);
    }
}

#[tokio::test]
async fn i11_a_provider_that_panics_is_told_without_its_words() {
    let (ear, _guard) = Ear::listen();
    let script = Script::new(vec![vec![Say::Panic]]);
    let world = World::new(&script);
    let agent = world.start();
    let prompt = vec![innerve_protocol::ContentBlock::text("go")];
    crate::kit::finish(agent.run(prompt)).await;
    ear.heard(&["internal_error", "error_type=panic"]);
    assert!(!ear.lines().iter().any(|line| line.contains("the provider is broken")));
}

#[tokio::test]
async fn names_are_told_where_the_host_says_so() {
    let (ear, _guard) = Ear::listen();
    let script = Script::new(vec![answer("hello")]);
    let mut world = World::new(&script);
    world.pipeline = world.pipeline.with_naming(Naming::Given);
    world.config = AgentConfig::new("our-own-model", Vec::new());
    world.run("go").await;
    ear.heard(&["span innerve.llm_request", "model=our-own-model"]);
}
