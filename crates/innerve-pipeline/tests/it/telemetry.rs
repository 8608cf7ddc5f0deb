//! What leaves a call as spans and events: classes and numbers, and no word that anybody wrote.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use innerve_permission::{Objection, PermissionMode};
use innerve_pipeline::{
    Answer, ClassifierVerdict, Grant, GrantScope, HookDecision, HookEventName, HookOutcome, Naming,
    PermissionAnswer, Requested, Settled,
};
use innerve_protocol::ToolUse;
use innerve_tool::{ToolBuilder, ToolError};
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

use crate::kit::{Bench, Hooks, Judge, Person, Probe, SECRET, TestClock, pool};

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
    fn note(&self, line: Line) {
        self.0.lock().unwrap().push(line.0);
    }
    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Ear {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let metadata = attributes.metadata();
        let parent = context.span(id).and_then(|span| span.parent().map(|parent| parent.name()));
        let mut line = Line(format!("span {} in {}", metadata.name(), parent.unwrap_or("-")));
        attributes.record(&mut line);
        self.note(line);
    }
    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let name = context.span(id).map_or("?", |span| span.name());
        let mut line = Line(format!("record {name}"));
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

/// Runs a call and gives what was emitted.
async fn heard(bench: Bench, tool: &str, input: serde_json::Value) -> (Settled, Vec<String>) {
    let ear = Ear::default();
    let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(ear.clone()));
    let bench = bench.clock(TestClock::Instant);
    let tool_use = ToolUse::new(format!("toolu_{SECRET}").as_str(), tool, input);
    let settled = bench.run(Requested::new(tool_use)).await;
    drop(guard);
    (settled, ear.lines())
}

#[track_caller]
fn says(lines: &[String], parts: &[&str]) {
    let found = lines.iter().any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(found, "no line has {parts:?}:\n{}", lines.join("\n"));
}

#[track_caller]
fn is_safe(lines: &[String]) {
    assert!(lines.len() > 3, "something is told: {lines:?}");
    for line in lines {
        assert!(!line.contains(SECRET), "{line}");
    }
}

fn path() -> serde_json::Value {
    json!({ "path": format!("/home/{SECRET}/.env") })
}

#[tokio::test]
async fn a_call_is_told_as_a_span_with_its_steps_decision_sizes_and_times() {
    let bench = Bench::new(Probe::asking()).person(&Person::yes());
    let (_, lines) = heard(bench, "Task", path()).await;
    is_safe(&lines);
    says(&lines, &["span innerve.tool in -", "tool_name=Task", "agent_depth=0"]);
    says(&lines, &["record innerve.tool", "tool_input_size_bytes="]);
    says(&lines, &["span innerve.tool.blocked_on_user in innerve.tool"]);
    says(&lines, &["span innerve.tool.execution in innerve.tool"]);
    says(&lines, &["tool_decision", "decision=accept", "source=user_temporary", "reason=default"]);
    says(&lines, &["tool_result", "success=true", "duration_ms=", "tool_result_size_bytes=4"]);
    let steps = lines.iter().filter(|line| line.contains("tool_step")).count();
    assert_eq!(steps, 14, "{}", lines.join("\n"));
}

#[tokio::test]
async fn who_decided_is_told_by_class() {
    let said = |answer: fn() -> Answer| Person::new(move |_| answer());
    let always = || Answer::Allow {
        remember: Some(Grant { scope: GrantScope::Always, rules: vec!["Agent".to_owned()] }),
        edited: None,
    };
    let before = |decision| {
        let outcome = HookOutcome { decision: Some(decision), ..HookOutcome::default() };
        Hooks::at(HookEventName::PreToolUse, outcome)
    };
    let answers = |permission| {
        let outcome = HookOutcome { permission: Some(permission), ..HookOutcome::default() };
        Hooks::at(HookEventName::PermissionRequest, outcome)
    };
    let no = || PermissionAnswer::Deny { message: SECRET.to_owned(), interrupt: false };
    let auto = || Bench::in_mode(Probe::asking(), PermissionMode::Auto, &[]);
    let block = ClassifierVerdict::Block(format!("it reads {SECRET}"));
    let asking = || Bench::new(Probe::asking());
    for (bench, decision, source) in [
        (Bench::new(Probe::default()), "accept", "config"),
        (Bench::in_mode(Probe::asking(), PermissionMode::Default, &["Agent"]), "reject", "config"),
        (asking(), "reject", "nobody"),
        (asking().person(&said(always)), "accept", "user_permanent"),
        (
            asking().person(&said(|| Answer::Deny { comment: Some(SECRET.to_owned()) })),
            "reject",
            "user_reject",
        ),
        (asking().hooks(&before(HookDecision::Deny(SECRET.to_owned()))), "reject", "hook"),
        (asking().hooks(&before(HookDecision::Allow)), "accept", "hook"),
        (asking().hooks(&answers(PermissionAnswer::Allow)), "accept", "hook"),
        (asking().hooks(&answers(no())), "reject", "hook"),
        (auto().judge(&Judge::new(ClassifierVerdict::Allow)), "accept", "classifier"),
        (auto().judge(&Judge::new(block)), "reject", "classifier"),
    ] {
        let (_, lines) = heard(bench, "Agent", path()).await;
        is_safe(&lines);
        let (decision, source) = (format!("decision={decision}"), format!("source={source}"));
        says(&lines, &["tool_decision", &decision, &source]);
    }
}

#[tokio::test]
async fn i11_no_way_out_of_a_call_tells_a_word_that_somebody_wrote() {
    let failing =
        || Probe::doing(|_| async { Err(ToolError::invalid(format!("{SECRET} is bad"))) });
    let panicking = || Probe::doing(|_| async { panic!("{SECRET}") });
    let objecting = Probe {
        objection: Some(Objection::Deny(format!("{SECRET} forbids it"))),
        ..Probe::default()
    };
    let stopping = Hooks::at(
        HookEventName::PreToolUse,
        HookOutcome { stop: Some(SECRET.to_owned()), ..HookOutcome::default() },
    );
    let talking = Hooks::new(|_| HookOutcome {
        context: vec![SECRET.to_owned()],
        messages: vec![SECRET.to_owned()],
        ..HookOutcome::default()
    });
    let deferring = Hooks::at(
        HookEventName::PreToolUse,
        HookOutcome { decision: Some(HookDecision::Defer), ..HookOutcome::default() },
    );
    let deny = format!("Agent({SECRET})");
    let aborted = Bench::new(Probe::default());
    aborted.turn.cancellation.cancel();
    let unknown = format!("mcp__{SECRET}__read");
    for (bench, tool, input, class) in [
        (Bench::new(failing()), "Agent", path(), "error_type=tool:invalid"),
        (Bench::new(panicking()), "Agent", path(), "error_type=tool:panicked"),
        (Bench::new(objecting), "Agent", path(), "reason=safety"),
        (Bench::new(Probe::default()).hooks(&stopping), "Agent", path(), "error_type=hook_stopped"),
        (Bench::new(Probe::default()).hooks(&talking), "Agent", path(), "success=true"),
        (Bench::new(Probe::default()).hooks(&deferring), "Agent", path(), "decision=defer"),
        (
            Bench::in_mode(Probe::default(), PermissionMode::Default, &[&deny]),
            "Agent",
            path(),
            "success=",
        ),
        (
            Bench::new(Probe::default()),
            "Agent",
            json!({ "path": 7, SECRET: SECRET }),
            "success=false",
        ),
        (Bench::new(Probe::default()), &unknown, path(), "tool_name=mcp_tool"),
        (Bench::new(Probe::default()), SECRET, path(), "tool_name=custom"),
        (aborted, "Agent", path(), "success=false"),
    ] {
        let (_, lines) = heard(bench, tool, input).await;
        is_safe(&lines);
        says(&lines, &[class]);
    }
}

/// A bench with a tool of a server.
fn of_a_server(name: &str, naming: Naming) -> Bench {
    let body = |_, _| async { Ok(SECRET.into()) };
    let tool = ToolBuilder::new(name, json!({"type": "object"})).build(body).unwrap();
    let policy = crate::kit::policy(PermissionMode::Default, &[]);
    let mut bench = Bench::with_pool(pool(vec![tool]), Arc::default(), policy);
    bench.pipeline = bench.pipeline.with_naming(naming);
    bench.person(&Person::yes())
}

#[tokio::test]
async fn i11_a_tool_of_a_server_has_a_name_only_if_the_host_says_so() {
    let name = format!("mcp__{SECRET}__read");
    let (settled, lines) = heard(of_a_server(&name, Naming::Classes), &name, json!({})).await;
    assert_eq!(settled.code, None);
    is_safe(&lines);
    says(&lines, &["span innerve.tool", "tool_name=mcp_tool"]);

    let (_, lines) = heard(of_a_server(&name, Naming::Given), &name, json!({})).await;
    says(&lines, &["span innerve.tool", &format!("tool_name={name}")]);
    says(&lines, &[&format!("tool_use_id=toolu_{SECRET}")]);
}
