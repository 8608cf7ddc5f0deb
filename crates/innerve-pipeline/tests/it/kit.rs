//! What the tests share: a tool that notes what it is given, and scripted people, hooks, classifiers and clocks.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use innerve_permission::facts::{Need, Place};
use innerve_permission::{
    Behavior, CallFacts, NoDisk, Objection, Origin, PathTarget, PermissionMode, Policy, Preview,
    Resolution, Rule, RuleSource, Target,
};
use innerve_pipeline::{
    Answer, ApprovalRequest, Approver, Classifier, ClassifierRequest, ClassifierVerdict, Grant,
    Hook, HookEvent, HookEventName, HookOutcome, Observer, Pipeline, PolicySource, Requested,
    Settled, StepReport, Turn,
};
use innerve_protocol::{Message, ToolResultContent, ToolUse, ToolUseId};
use innerve_tool::port::Clock;
use innerve_tool::{
    BoxFuture, CallContext, CancellationToken, DynTool, ResultLimit, SessionChange, Tool,
    ToolError, ToolOutput, ToolPool, ToolSources, erase,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// The text that must never leave a tool that panics.
pub(crate) const SECRET: &str = "hunter2";

/// What the writing tool is given.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The file.
    pub(crate) path: String,
    /// Another field.
    pub(crate) model: Option<String>,
}

type Body = dyn Fn(
        Input,
        Option<Preview>,
        CallContext<Value>,
    ) -> BoxFuture<'static, Result<ToolOutput<String>, ToolError>>
    + Send
    + Sync;

/// A tool whose every answer can be set, and which notes what it ran with. It is called `Agent` (once `Task`), since
/// that name has rules on its parameters.
pub(crate) struct Probe {
    pub(crate) need: Need,
    pub(crate) body: Box<Body>,
    pub(crate) invalid: fn(&Input) -> bool,
    pub(crate) preview: fn(&Input) -> Result<Option<Preview>, ToolError>,
    pub(crate) objection: Option<Objection>,
    pub(crate) classifier_input: String,
    pub(crate) limit: ResultLimit,
    pub(crate) timeout: Option<Duration>,
    pub(crate) deferred: bool,
    /// The inputs it ran with.
    pub(crate) ran: Arc<Mutex<Vec<Value>>>,
}

impl Default for Probe {
    fn default() -> Self {
        Self {
            need: Need::Never,
            body: Box::new(|_, _, _| Box::pin(async { Ok(ToolOutput::new("done".to_owned())) })),
            invalid: |input| input.path == "invalid",
            preview: |_| Ok(None),
            objection: None,
            classifier_input: "what it does".to_owned(),
            limit: ResultLimit::Chars(100_000),
            timeout: None,
            deferred: false,
            ran: Arc::default(),
        }
    }
}

impl Probe {
    /// A probe that always needs permission.
    pub(crate) fn asking() -> Self {
        Self { need: Need::Always, ..Self::default() }
    }

    /// A probe that does this.
    pub(crate) fn doing<F, R>(body: F) -> Self
    where
        F: Fn(CallContext<Value>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ToolOutput<String>, ToolError>> + Send + 'static,
    {
        Self { body: Box::new(move |_, _, context| Box::pin(body(context))), ..Self::default() }
    }
}

impl Tool for Probe {
    type Input = Input;
    type Output = String;
    type Progress = Value;

    fn name(&self) -> &str {
        "Agent"
    }
    fn aliases(&self) -> &[&str] {
        &["Task"]
    }
    fn description(&self) -> String {
        "Notes what it is given.".to_owned()
    }
    async fn validate(&self, input: &Input, _: &CallContext) -> Result<(), ToolError> {
        if (self.invalid)(input) { Err(ToolError::invalid("makes no sense")) } else { Ok(()) }
    }
    fn prepare(&self, input: &mut Value, context: &CallContext) {
        if let Some(rest) = input["path"].as_str().and_then(|path| path.strip_prefix("~/")) {
            let absolute = context.session.home.join(rest);
            input["path"] = json!(absolute.display().to_string());
        }
    }
    fn facts(&self, input: &Value, _: &CallContext, place: Place<'_>) -> CallFacts {
        let path = input["path"].as_str().unwrap_or_default();
        CallFacts::new("Agent", input.clone())
            .with_need(self.need)
            .with_target(Target::Write(PathTarget::new(path, place)))
    }
    fn objection(&self, _: &Input, _: &CallContext) -> Option<Objection> {
        self.objection.clone()
    }
    async fn preview(&self, input: &Input, _: &CallContext) -> Result<Option<Preview>, ToolError> {
        (self.preview)(input)
    }
    fn classifier_input(&self, input: &Input) -> String {
        if self.classifier_input.is_empty() {
            return String::new();
        }
        format!("{} {}", self.classifier_input, input.path)
    }
    fn result_limit(&self) -> ResultLimit {
        self.limit
    }
    fn timeout(&self, _: &Input) -> Option<Duration> {
        self.timeout
    }
    fn should_defer(&self) -> bool {
        self.deferred
    }
    async fn call(
        &self,
        input: Input,
        approved: Option<Preview>,
        context: CallContext<Value>,
    ) -> Result<ToolOutput<String>, ToolError> {
        let noted = match &input.model {
            Some(model) => json!({ "path": input.path, "model": model }),
            None => json!({ "path": input.path }),
        };
        self.ran.lock().unwrap().push(noted);
        (self.body)(input, approved, context).await
    }
    fn render(&self, output: &String) -> ToolResultContent {
        output.as_str().into()
    }
}

/// Answers questions by a function, and notes them.
pub(crate) struct Person {
    pub(crate) answer: Box<dyn Fn(&ApprovalRequest) -> Answer + Send + Sync>,
    pub(crate) asked: Mutex<Vec<ApprovalRequest>>,
}

impl Person {
    pub(crate) fn new(
        answer: impl Fn(&ApprovalRequest) -> Answer + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { answer: Box::new(answer), asked: Mutex::default() })
    }

    pub(crate) fn yes() -> Arc<Self> {
        Self::new(|_| Answer::once())
    }

    pub(crate) fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

impl Approver for Person {
    fn ask(&self, request: ApprovalRequest, _: CancellationToken) -> BoxFuture<'_, Answer> {
        let answer = (self.answer)(&request);
        self.asked.lock().unwrap().push(request);
        Box::pin(async { answer })
    }
}

/// Hooks by a function, which notes the events.
pub(crate) struct Hooks {
    pub(crate) speak: Box<dyn Fn(&HookEvent) -> HookOutcome + Send + Sync>,
    pub(crate) events: Mutex<Vec<HookEvent>>,
}

impl Hooks {
    pub(crate) fn new(
        speak: impl Fn(&HookEvent) -> HookOutcome + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { speak: Box::new(speak), events: Mutex::default() })
    }

    /// Hooks that say this at one event.
    pub(crate) fn at(name: HookEventName, outcome: HookOutcome) -> Arc<Self> {
        Self::new(
            move |event| {
                if event.name == name { outcome.clone() } else { HookOutcome::default() }
            },
        )
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.events.lock().unwrap().iter().map(|event| event.name.name()).collect()
    }
}

impl Hook for Hooks {
    fn listens(&self, _: HookEventName, _: Option<&str>) -> bool {
        true
    }
    fn run(&self, event: HookEvent) -> BoxFuture<'_, HookOutcome> {
        let outcome = (self.speak)(&event);
        self.events.lock().unwrap().push(event);
        Box::pin(async { outcome })
    }
}

/// A classifier that always says the same, and notes what it was told.
pub(crate) struct Judge {
    pub(crate) verdict: ClassifierVerdict,
    pub(crate) told: Mutex<Vec<String>>,
}

impl Judge {
    pub(crate) fn new(verdict: ClassifierVerdict) -> Arc<Self> {
        Arc::new(Self { verdict, told: Mutex::default() })
    }
}

impl Classifier for Judge {
    fn start(&self, request: ClassifierRequest) -> BoxFuture<'static, ClassifierVerdict> {
        self.told.lock().unwrap().push(request.input);
        let verdict = self.verdict.clone();
        Box::pin(async { verdict })
    }
}

/// Notes steps and resolutions.
#[derive(Default)]
pub(crate) struct Watcher(pub(crate) Mutex<Vec<String>>);

impl Watcher {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Observer for Watcher {
    fn step(&self, report: &StepReport<'_>) {
        let ended = report.ended.map(|code| format!(" ended: {code}")).unwrap_or_default();
        self.0.lock().unwrap().push(format!("{} {}{ended}", report.step, report.tool));
    }
    fn judged(&self, _: &ToolUseId, _: &str, _: &Resolution) {}
}

/// A policy that can change, and that remembers grants.
pub(crate) struct Rules(pub(crate) Mutex<Policy>);

impl PolicySource for Rules {
    fn current(&self) -> Arc<Policy> {
        Arc::new(self.0.lock().unwrap().clone())
    }
    fn remember(&self, grant: &Grant) -> Result<(), String> {
        for text in &grant.rules {
            let rule = rule(text, Behavior::Allow);
            self.0.lock().unwrap().rules.push(rule);
        }
        Ok(())
    }
}

pub(crate) fn rule(text: &str, behavior: Behavior) -> Rule {
    Rule::parse(text, behavior, Origin::inline(RuleSource::Session, "/repo")).unwrap()
}

/// A policy in this mode with these deny rules, where somebody can be asked.
pub(crate) fn policy(mode: PermissionMode, deny: &[&str]) -> Policy {
    let mut policy = Policy { mode, headless: false, ..Policy::new("/repo", "/home/user") };
    for text in deny {
        policy.rules.push(rule(text, Behavior::Deny));
    }
    policy
}

/// A clock whose waits end at once, or never.
pub(crate) enum TestClock {
    Instant,
    /// Waits of at most this length end at once, longer ones never.
    UpTo(Duration),
    /// It shows what it is set to, and no wait ends.
    Set(Arc<Mutex<Instant>>),
}

impl Clock for TestClock {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
    fn instant(&self) -> Instant {
        match self {
            Self::Instant | Self::UpTo(_) => Instant::now(),
            Self::Set(now) => *now.lock().unwrap(),
        }
    }
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let ends = match self {
            Self::Instant => true,
            Self::UpTo(longest) => duration <= *longest,
            Self::Set(_) => false,
        };
        if ends { Box::pin(async {}) } else { Box::pin(std::future::pending()) }
    }
}

/// A pipeline, a turn and a probe, ready to run.
pub(crate) struct Bench {
    pub(crate) pipeline: Pipeline,
    pub(crate) turn: Turn,
    pub(crate) rules: Arc<Rules>,
    pub(crate) watcher: Arc<Watcher>,
    pub(crate) ran: Arc<Mutex<Vec<Value>>>,
}

impl Bench {
    pub(crate) fn new(probe: Probe) -> Self {
        Self::in_mode(probe, PermissionMode::Default, &[])
    }

    pub(crate) fn in_mode(probe: Probe, mode: PermissionMode, deny: &[&str]) -> Self {
        let ran = Arc::clone(&probe.ran);
        let tool = erase(probe).unwrap();
        Self::with_pool(pool(vec![tool]), ran, policy(mode, deny))
    }

    pub(crate) fn with_pool(pool: ToolPool, ran: Arc<Mutex<Vec<Value>>>, policy: Policy) -> Self {
        let rules = Arc::new(Rules(Mutex::new(policy)));
        let watcher = Arc::new(Watcher::default());
        let pipeline = Pipeline::new(Arc::new(NoDisk))
            .with_observer(Arc::clone(&watcher) as Arc<dyn Observer>);
        let turn = Turn::new(pool, Arc::clone(&rules) as Arc<dyn PolicySource>);
        Self { pipeline, turn, rules, watcher, ran }
    }

    pub(crate) fn person(mut self, person: &Arc<Person>) -> Self {
        self.pipeline = self.pipeline.with_approver(Arc::clone(person) as Arc<dyn Approver>);
        self
    }

    pub(crate) fn hooks(mut self, hooks: &Arc<Hooks>) -> Self {
        self.pipeline = self.pipeline.with_hook(Arc::clone(hooks) as Arc<dyn Hook>);
        self
    }

    pub(crate) fn judge(mut self, judge: &Arc<Judge>) -> Self {
        self.pipeline = self.pipeline.with_classifier(Arc::clone(judge) as Arc<dyn Classifier>);
        self
    }

    pub(crate) fn clock(mut self, clock: TestClock) -> Self {
        self.pipeline = self.pipeline.with_clock(Arc::new(clock));
        self
    }

    pub(crate) async fn call(&self, tool: &str, input: Value) -> Settled {
        self.run(Requested::new(ToolUse::new("call_1", tool, input))).await
    }

    pub(crate) async fn run(&self, requested: Requested) -> Settled {
        let id = requested.tool_use.id.clone();
        let settled = self.pipeline.run(requested, &self.turn).await;
        assert_eq!(settled.result.tool_use_id, id, "every call is answered under its own id");
        settled
    }

    /// Calls the probe on a path.
    pub(crate) async fn path(&self, path: &str) -> Settled {
        self.call("Agent", json!({ "path": path })).await
    }

    /// The paths that the probe ran with.
    pub(crate) fn paths(&self) -> Vec<String> {
        let ran = self.ran.lock().unwrap();
        ran.iter().map(|input| input["path"].as_str().unwrap().to_owned()).collect()
    }

    /// The codes of the steps that were reported.
    pub(crate) fn steps(&self) -> Vec<String> {
        self.watcher.lines()
    }
}

pub(crate) fn pool(builtins: Vec<Arc<dyn DynTool>>) -> ToolPool {
    ToolPool::assemble(ToolSources { builtins, mcp: Vec::new() }, |_| false)
}

/// What the model sees.
pub(crate) fn text(settled: &Settled) -> String {
    settled.result.content.plain_text()
}

/// The texts of the messages behind the result.
pub(crate) fn messages(settled: &Settled) -> Vec<String> {
    settled.messages.iter().map(Message::plain_text).collect()
}

/// An output that asks for changes.
pub(crate) fn changing(changes: Vec<SessionChange>) -> ToolOutput<String> {
    ToolOutput { changes, ..ToolOutput::new("done".to_owned()) }
}

/// A preview of writing `after` to `path`.
pub(crate) fn preview(path: &str, after: &str) -> Preview {
    Preview {
        path: PathBuf::from(path),
        before: None,
        after: after.as_bytes().to_vec(),
        base_hash: String::new(),
    }
}

/// The path of a preview.
pub(crate) fn shown(preview: &Preview) -> &Path {
    &preview.path
}
