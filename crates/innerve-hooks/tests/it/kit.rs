//! What the tests share: hooks from settings, events, and a pipeline around a tool that only notes that it ran.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use innerve_hooks::{HookSession, Hooks};
use innerve_permission::facts::{Place, from_call};
use innerve_permission::{
    Behavior, CallFacts, Layer, NoDisk, Origin, PermissionMode, Policy, Preview, Rule, RuleSource,
};
use innerve_pipeline::{
    Answer, ApprovalRequest, Approver, Batch, Hook as _, HookEvent, HookEventName, HookOutcome,
    Pipeline, Requested, Settled, Turn,
};
use innerve_protocol::{ToolResultContent, ToolUse};
use innerve_tool::{
    BoxFuture, CallContext, CancellationToken, DynTool, Tool, ToolBuilder, ToolError, ToolOutput,
    ToolPool, ToolSources, erase,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The path of a script.
pub(crate) fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    path.to_str().unwrap().to_owned()
}

/// A hook that runs a script with these arguments.
pub(crate) fn script(name: &str, args: &[&str]) -> Value {
    let mut all = vec![fixture(name)];
    all.extend(args.iter().map(|arg| (*arg).to_owned()));
    json!({"type": "command", "command": "sh", "args": all, "timeout": 20})
}

/// A hook that ends with this code after writing to both streams.
pub(crate) fn say(code: i32, stdout: &str, stderr: &str) -> Value {
    script("say.sh", &[&code.to_string(), stdout, stderr])
}

/// A hook that prints what `PreToolUse` may say.
pub(crate) fn decide(decision: &str, reason: &str) -> Value {
    say(0, &pre(&json!({"permissionDecision": decision, "permissionDecisionReason": reason})), "")
}

/// The JSON of a `PreToolUse` hook.
pub(crate) fn pre(fields: &Value) -> String {
    specific("PreToolUse", fields)
}

/// The JSON of a hook with the event's own fields.
pub(crate) fn specific(event: &str, fields: &Value) -> String {
    let mut fields = fields.clone();
    fields["hookEventName"] = json!(event);
    json!({ "hookSpecificOutput": fields }).to_string()
}

/// A directory with a project and a home.
pub(crate) struct Ground {
    root: TempDir,
}

impl Ground {
    pub(crate) fn new() -> Self {
        let root = TempDir::new().unwrap();
        for name in ["project", "home", "cwd"] {
            fs::create_dir(root.path().join(name)).unwrap();
        }
        Self { root }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn session(&self) -> HookSession {
        let environment = ["PATH", "HOME"]
            .into_iter()
            .filter_map(|name| Some((name.into(), std::env::var_os(name)?)));
        HookSession::new(self.path("project"), self.path("home"), environment)
    }

    pub(crate) fn hooks(&self, event: HookEventName, entries: &[Value]) -> Hooks {
        self.layers(&[layer(RuleSource::User, event, entries)])
    }

    pub(crate) fn layers(&self, layers: &[Layer]) -> Hooks {
        let (hooks, warnings) = Hooks::new(layers, self.session());
        assert_eq!(warnings, []);
        hooks
    }

    pub(crate) fn event(&self, name: HookEventName, fields: Value) -> HookEvent {
        let Value::Object(fields) = fields else { panic!("fields are an object") };
        HookEvent {
            name,
            session_id: "s1".to_owned(),
            agent_id: None,
            agent_type: None,
            cwd: self.path("cwd"),
            permission_mode: "default",
            tool: None,
            fields,
        }
    }

    /// What hooks say before a command runs.
    pub(crate) async fn before(&self, hooks: &Hooks, command: &str) -> HookOutcome {
        let fields = json!({"tool_input": {"command": command}, "tool_use_id": "t1"});
        let event = self.event(HookEventName::PreToolUse, fields);
        hooks.run(HookEvent { tool: Some("Bash".to_owned()), ..event }).await
    }
}

/// A layer of settings with one event's hooks for everything.
pub(crate) fn layer(source: RuleSource, event: HookEventName, entries: &[Value]) -> Layer {
    Layer::new(source, "/repo", json!({"hooks": {event.name(): [{"hooks": entries}]}}))
}

/// What one hook says before `ls` runs.
pub(crate) async fn pre_tool_use(entry: Value) -> HookOutcome {
    let place = Ground::new();
    let hooks = place.hooks(HookEventName::PreToolUse, &[entry]);
    place.before(&hooks, "ls").await
}

/// What one hook says at an event without a tool.
pub(crate) async fn at(name: HookEventName, entry: Value, fields: Value) -> HookOutcome {
    let place = Ground::new();
    let hooks = place.hooks(name, &[entry]);
    hooks.run(place.event(name, fields)).await
}

/// Whether a process runs; one that ended and was not waited for does not.
pub(crate) fn is_alive(id: &str) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{id}/stat")) else { return false };
    !stat.rsplit(") ").next().unwrap_or_default().starts_with('Z')
}

/// Waits until something has happened.
pub(crate) async fn until(what: &str, done: impl Fn() -> bool) {
    let since = Instant::now();
    while !done() {
        assert!(since.elapsed() < Duration::from_secs(10), "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The ids that a script wrote into a file.
pub(crate) fn ids(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// What a shell is given.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The command.
    command: String,
}

/// A shell that runs nothing and notes what it was given.
struct Shell {
    ran: Arc<Mutex<Vec<Value>>>,
}

impl Tool for Shell {
    type Input = Input;
    type Output = String;
    type Progress = Value;

    fn name(&self) -> &str {
        "Bash"
    }
    fn description(&self) -> String {
        "Notes what it is given.".to_owned()
    }
    fn facts(&self, input: &Value, _: &CallContext, place: Place<'_>) -> CallFacts {
        from_call("Bash", input, place).unwrap()
    }
    fn classifier_input(&self, input: &Input) -> String {
        input.command.clone()
    }
    async fn call(
        &self,
        input: Input,
        _: Option<Preview>,
        _: CallContext<Value>,
    ) -> Result<ToolOutput<String>, ToolError> {
        self.ran.lock().unwrap().push(json!(input.command));
        match input.command.as_str() {
            "false" => Err(ToolError::new("failed", "it failed")),
            _ => Ok(ToolOutput::new("done".to_owned())),
        }
    }
    fn render(&self, output: &String) -> ToolResultContent {
        output.as_str().into()
    }
}

/// The shell, or a tool of another name in which a person takes part.
fn tool(name: &str, ran: &Arc<Mutex<Vec<Value>>>) -> Arc<dyn DynTool> {
    let ran = Arc::clone(ran);
    if name == "Bash" {
        return erase(Shell { ran }).unwrap();
    }
    let body = move |input: Value, _| {
        ran.lock().unwrap().push(input);
        async { Ok("done".into()) }
    };
    ToolBuilder::new(name, json!({"type": "object"})).interactive().build(body).unwrap()
}

/// Says yes, and counts.
#[derive(Default)]
pub(crate) struct Person(pub(crate) Mutex<usize>);

impl Approver for Person {
    fn ask(&self, _: ApprovalRequest, _: CancellationToken) -> BoxFuture<'_, Answer> {
        *self.0.lock().unwrap() += 1;
        Box::pin(async { Answer::once() })
    }
}

/// What became of a call.
pub(crate) struct Ran {
    pub(crate) settled: Settled,
    /// The inputs that the tool got.
    pub(crate) inputs: Vec<Value>,
    /// How often somebody was asked.
    pub(crate) asked: usize,
}

/// A pipeline with hooks, rules and a mode.
pub(crate) struct World {
    pub(crate) place: Ground,
    pub(crate) layers: Vec<Layer>,
    pub(crate) rules: Vec<(Behavior, &'static str)>,
    pub(crate) mode: PermissionMode,
    pub(crate) headless: bool,
    pub(crate) deferral: innerve_hooks::Deferral,
    pub(crate) tool: &'static str,
    pub(crate) calls_in_response: usize,
    pub(crate) shape: fn(Pipeline) -> Pipeline,
}

impl World {
    pub(crate) fn new(event: HookEventName, entries: &[Value]) -> Self {
        Self {
            place: Ground::new(),
            layers: vec![layer(RuleSource::User, event, entries)],
            rules: Vec::new(),
            mode: PermissionMode::Default,
            headless: false,
            deferral: innerve_hooks::Deferral::Ignored,
            tool: "Bash",
            calls_in_response: 1,
            shape: |pipeline| pipeline,
        }
    }

    pub(crate) fn before(entries: &[Value]) -> Self {
        Self::new(HookEventName::PreToolUse, entries)
    }

    pub(crate) fn rule(mut self, behavior: Behavior, text: &'static str) -> Self {
        self.rules.push((behavior, text));
        self
    }

    pub(crate) fn mode(self, mode: PermissionMode) -> Self {
        Self { mode, ..self }
    }

    pub(crate) async fn runs(&self, command: &str) -> Ran {
        self.calls(json!({ "command": command })).await
    }

    pub(crate) async fn calls(&self, input: Value) -> Ran {
        let session = HookSession { deferral: self.deferral, ..self.place.session() };
        let (hooks, warnings) = Hooks::new(&self.layers, session);
        assert_eq!(warnings, []);
        let person = Arc::new(Person::default());
        let pipeline = Pipeline::new(Arc::new(NoDisk))
            .with_hook(Arc::new(hooks))
            .with_approver(Arc::clone(&person) as Arc<dyn Approver>);
        let pipeline = (self.shape)(pipeline);

        let ran = Arc::new(Mutex::new(Vec::new()));
        let builtins = vec![tool(self.tool, &ran)];
        let pool = ToolPool::assemble(ToolSources { builtins, mcp: Vec::new() }, |_| false);
        let mut policy = Policy {
            mode: self.mode,
            headless: self.headless,
            bypass_available: self.mode == PermissionMode::BypassPermissions,
            classifier_available: true,
            ..Policy::new(self.place.path("cwd"), self.place.path("home"))
        };
        for (behavior, text) in &self.rules {
            let origin = Origin::inline(RuleSource::Project, self.place.path("cwd"));
            policy.rules.push(Rule::parse(text, *behavior, origin).unwrap());
        }
        let batch = Batch::default();
        for _ in 0..self.calls_in_response {
            batch.add();
        }
        batch.complete();
        let turn = Turn { batch: Arc::new(batch), ..Turn::new(pool, Arc::new(policy)) };
        let tool_use = ToolUse::new("t1", self.tool, input);
        let settled = pipeline.run(Requested::new(tool_use), &turn).await;
        let inputs = ran.lock().unwrap().clone();
        let asked = *person.0.lock().unwrap();
        Ran { settled, inputs, asked }
    }
}
