//! Times a call that does nothing through the fourteen steps beside the tool by itself.
//!
//! `cargo run --release -p innerve-pipeline --example bench_pipeline` prints samples as JSON; `cargo xtask bench pipeline`
//! makes a table of them and holds it to its bound.

use std::error::Error;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use innerve_permission::facts::{Need, Place, from_call};
use innerve_permission::{
    Behavior, CallFacts, NoDisk, Origin, Policy, Preview, Rule, RuleSource, Voices, judge,
};
use innerve_pipeline::{
    Grant, Hook, HookEvent, HookEventName, HookOutcome, Pipeline, PolicySource, Requested, Turn,
};
use innerve_protocol::{ToolResultContent, ToolUse, ToolUseId};
use innerve_tool::{
    BoxFuture, CallContext, CancellationToken, Reporter, SessionView, Silent, Tool, ToolError,
    ToolOutput, ToolPool, ToolSources, erase,
};
use serde_json::{Map, Value, json};

/// How often each call is made.
const ROUNDS: usize = 2_001;
/// The most microseconds that a call may take beyond its tool.
const BOUND: f64 = 100.0;

/// A tool that does nothing; its facts are those of the tool whose name it has.
struct Nothing(&'static str);

impl Tool for Nothing {
    type Input = Map<String, Value>;
    type Output = ();
    type Progress = ();

    fn name(&self) -> &str {
        self.0
    }
    fn description(&self) -> String {
        String::new()
    }
    fn facts(&self, input: &Value, _: &CallContext, place: Place<'_>) -> CallFacts {
        from_call(self.0, input, place)
            .unwrap_or_else(|| CallFacts::new(self.0, input.clone()).with_need(Need::Never))
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
        "done".into()
    }
}

/// A policy as a session has it: the same value until it changes.
struct Fixed(Arc<Policy>);

impl PolicySource for Fixed {
    fn current(&self) -> Arc<Policy> {
        Arc::clone(&self.0)
    }
    fn remember(&self, _: &Grant) -> Result<(), String> {
        Ok(())
    }
}

/// A hook that listens to everything and has nothing to say.
struct Listener;

impl Hook for Listener {
    fn listens(&self, _: HookEventName, _: Option<&str>) -> bool {
        true
    }
    fn run(&self, _: HookEvent) -> BoxFuture<'_, HookOutcome> {
        Box::pin(async { HookOutcome::default() })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let file = json!({ "file_path": "src/deep/in/the/tree/lib.rs" });
    let bare = || Pipeline::new(Arc::new(NoDisk));
    let cases = [
        ("a call that does nothing", bare(), "Nothing", json!({}), 10),
        ("so, under 1,000 rules", bare(), "Nothing", json!({}), 1_000),
        ("so, with a hook", bare().with_hook(Arc::new(Listener)), "Nothing", json!({}), 10),
        ("a file is read", bare(), "Read", file, 1_000),
    ];
    let mut rows = Vec::new();
    for (name, pipeline, tool, input, rules) in cases {
        let samples = runtime.block_on(measure(&pipeline, tool, &input, rules))?;
        let name = format!("pipeline: {name}");
        rows.push(json!({ "name": name, "samples": samples, "unit": "us", "bound": BOUND }));
    }
    writeln!(io::stdout().lock(), "{}", Value::Array(rows))?;
    Ok(())
}

/// The microseconds that a call takes beyond its tool: both are run in turn.
async fn measure(
    pipeline: &Pipeline,
    name: &'static str,
    input: &Value,
    rules: usize,
) -> Result<Vec<f64>, Box<dyn Error>> {
    let tool = erase(Nothing(name))?;
    let pool = ToolSources { builtins: vec![Arc::clone(&tool)], mcp: Vec::new() };
    let policy = Arc::new(policy(rules)?);
    let source = Arc::new(Fixed(Arc::clone(&policy)));
    let turn = Turn::new(ToolPool::assemble(pool, |_| false), source);
    let requested = Requested::new(ToolUse::new("call_1", name, input.clone()));
    let mut beyond = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS + 50 {
        let (settled, took) = timed(pipeline.run(requested.clone(), &turn)).await;
        if settled.result.failed() {
            return Err(format!("the call failed: {}", settled.result.content.plain_text()).into());
        }
        let facts = tool.facts(
            input,
            &context(),
            Place { cwd: &policy.cwd, home: &policy.home, disk: &NoDisk },
        );
        let permit = judge(&policy, facts, &Voices::default()).permit()?;
        let (_, tool_took) = timed(tool.invoke(permit, context())).await;
        // The rules are compiled, and the processor woken, before anything counts.
        if round >= 50 {
            beyond.push((took.as_secs_f64() - tool_took.as_secs_f64()) * 1e6);
        }
    }
    Ok(beyond)
}

async fn timed<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let begun = Instant::now();
    let done = work.await;
    (done, begun.elapsed())
}

fn context() -> CallContext {
    let session = SessionView {
        session_id: innerve_protocol::SessionId::new("session"),
        agent_id: None,
        depth: 0,
        mode: innerve_permission::PermissionMode::Default,
        original_cwd: "/repo".into(),
        additional_directories: Vec::new(),
        home: "/home/u".into(),
        tools: Vec::new(),
    };
    let id = ToolUseId::new("call_1");
    CallContext {
        tool_use_id: id.clone(),
        cwd: "/repo".into(),
        cancellation: CancellationToken::new(),
        progress: Reporter::new(id, Arc::new(Silent)),
        session: Arc::new(session),
    }
}

/// A policy with so many rules, none of which speaks of these calls.
fn policy(rules: usize) -> Result<Policy, Box<dyn Error>> {
    let mut policy = Policy::new("/repo", "/home/u");
    for number in 0..rules {
        let (behavior, text) = match number % 4 {
            0 => (Behavior::Allow, format!("Bash(tool{number} build *)")),
            1 => (Behavior::Ask, format!("Bash(tool{number} push *)")),
            2 => (Behavior::Deny, format!("Read(/private/area{number}/**)")),
            _ => (Behavior::Allow, format!("Edit(/src/part{number}/**)")),
        };
        let origin = Origin::inline(RuleSource::Project, "/repo");
        policy.rules.push(Rule::parse(&text, behavior, origin)?);
    }
    Ok(policy)
}
