//! What the tests share: tools that wait for gates and note what happens, and a world around an agent.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use innerve_agent::{
    Agent, AgentConfig, AgentEvent, PastSession, ResultFiles, Run, RunSummary, Seat, SessionEnv,
    SharedPolicy, Tasks, TerminalReason, ToolFactory,
};
use innerve_permission::facts::{Need, Place};
use innerve_permission::{CallFacts, NoDisk, PermissionMode, Policy, Preview};
use innerve_pipeline::{
    Answer, ApprovalRequest, Approver, Hook, HookEvent, HookEventName, HookOutcome, Pipeline,
};
use innerve_protocol::{ContentBlock, Message, Request, SessionId, ToolResultContent, validate};
use innerve_tool::port::{Isolation, SubagentOutcome, SubagentRequest, TaskRegistry};
use innerve_tool::{
    BoxFuture, CallContext, CancellationToken, DynTool, InterruptBehavior, ProgressEvent,
    ResultLimit, SessionChange, Tool, ToolError, ToolOutput, ToolSources, erase,
};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use crate::script::{Script, Speaker};

/// Longer than anything here takes; what hangs is ended by it.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// Notes in the order in which they were taken, and gates that tools wait at.
#[derive(Default)]
pub(crate) struct Board {
    notes: Mutex<Vec<String>>,
    gates: Mutex<HashMap<String, Arc<Notify>>>,
    changed: Notify,
}

impl Board {
    pub(crate) fn note(&self, text: impl Into<String>) {
        self.notes.lock().unwrap().push(text.into());
        self.changed.notify_waiters();
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap().clone()
    }

    /// Waits until this note is there.
    pub(crate) async fn wait_for(&self, note: &str) {
        let wait = async {
            loop {
                let changed = self.changed.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                if self.notes().iter().any(|there| there == note) {
                    return;
                }
                changed.await;
            }
        };
        let came = tokio::time::timeout(LONG, wait).await;
        assert!(came.is_ok(), "`{note}` never came: {:?}", self.notes());
    }

    pub(crate) fn gate(&self, name: &str) -> Arc<Notify> {
        Arc::clone(self.gates.lock().unwrap().entry(name.to_owned()).or_default())
    }

    pub(crate) fn open(&self, gate: &str) {
        self.gate(gate).notify_one();
    }

    /// The greatest number of calls that ran at once.
    pub(crate) fn most_at_once(&self) -> usize {
        let (mut running, mut most) = (0_usize, 0);
        for note in self.notes() {
            if note.starts_with("start ") {
                running += 1;
                most = most.max(running);
            } else if note.starts_with("end ") {
                running -= 1;
            }
        }
        most
    }
}

/// A tool that does what its input says: `id` is noted, `gate` is waited for, `opens` is opened, `fails`, `panics`,
/// `size` characters are returned, `cwd` is moved to, `deaf` ignores its cancellation, `safe` may run beside others.
pub(crate) struct Scripted {
    pub(crate) name: &'static str,
    pub(crate) safe: bool,
    pub(crate) need: Need,
    pub(crate) limit: ResultLimit,
    pub(crate) board: Arc<Board>,
}

impl Tool for Scripted {
    type Input = Map<String, Value>;
    type Output = String;
    type Progress = Value;

    fn name(&self) -> &str {
        self.name
    }
    fn description(&self) -> String {
        format!("The tool {}.", self.name)
    }
    fn facts(&self, input: &Value, _: &CallContext, _: Place<'_>) -> CallFacts {
        CallFacts::new(self.name, input.clone()).with_need(self.need)
    }
    fn is_concurrency_safe(&self, input: &Self::Input) -> bool {
        assert!(!input.contains_key("odd"), "a predicate that panics");
        self.safe || input.contains_key("safe")
    }
    fn interrupt_behavior(&self) -> InterruptBehavior {
        match self.name {
            "Read" | "Grep" => InterruptBehavior::Cancel,
            _ => InterruptBehavior::Block,
        }
    }
    fn result_limit(&self) -> ResultLimit {
        self.limit
    }
    async fn call(
        &self,
        input: Self::Input,
        _: Option<Preview>,
        context: CallContext<Value>,
    ) -> Result<ToolOutput<String>, ToolError> {
        let word = |field: &str| word(&input, field);
        let id = word("id").unwrap_or_else(|| context.tool_use_id.to_string());
        self.board.note(format!("start {id}"));
        context.progress.report(&json!({ "id": id }));
        if let Some(gate) = word("opens") {
            self.board.open(&gate);
        }
        if let Some(gate) = word("gate") {
            let gate = self.board.gate(&gate);
            if input.contains_key("deaf") {
                gate.notified().await;
            } else {
                tokio::select! {
                    () = gate.notified() => {}
                    () = context.cancellation.cancelled() => {
                        self.board.note(format!("stopped {id}"));
                        return Err(ToolError::interrupted());
                    }
                }
            }
        }
        assert!(!input.contains_key("panics"), "hunter2");
        self.board.note(format!("end {id}"));
        if let Some(words) = word("fails") {
            return Err(ToolError::invalid(words));
        }
        let data = match input.get("size").and_then(Value::as_u64) {
            Some(size) => id.chars().cycle().take(usize::try_from(size).unwrap()).collect(),
            None => format!("{id} in {}", context.cwd.display()),
        };
        let changes = word("cwd").map(|cwd| SessionChange::SetCwd(PathBuf::from(cwd)));
        Ok(ToolOutput { changes: changes.into_iter().collect(), ..ToolOutput::new(data) })
    }
    fn render(&self, output: &String) -> ToolResultContent {
        output.as_str().into()
    }
}

/// The Agent tool as far as these tests need it: hands its input to the spawner and gives back what came of it.
pub(crate) struct AgentTool(pub(crate) Seat);

impl Tool for AgentTool {
    type Input = Map<String, Value>;
    type Output = String;
    type Progress = Value;

    fn name(&self) -> &'static str {
        "Agent"
    }
    fn description(&self) -> String {
        "Starts an agent.".to_owned()
    }
    fn facts(&self, input: &Value, _: &CallContext, _: Place<'_>) -> CallFacts {
        CallFacts::new("Agent", input.clone()).with_need(Need::Never)
    }
    async fn call(
        &self,
        input: Self::Input,
        _: Option<Preview>,
        context: CallContext<Value>,
    ) -> Result<ToolOutput<String>, ToolError> {
        let word = |field: &str| word(&input, field);
        let request = SubagentRequest {
            description: "a task".to_owned(),
            prompt: word("prompt").unwrap_or_default(),
            agent_type: word("type"),
            model: None,
            mode: word("mode").map(|mode| mode.parse().unwrap()),
            background: input.contains_key("background"),
            isolation: match word("isolation").as_deref() {
                None => Isolation::None,
                Some("worktree") => Isolation::Worktree,
                Some(path) => Isolation::Directory(PathBuf::from(path)),
            },
        };
        match self.0.spawner.spawn(request, context.typed()).await {
            Ok(SubagentOutcome::Completed { text, note, tool_uses, .. }) => {
                let note = note.map(|note| format!(" [{note}]")).unwrap_or_default();
                Ok(ToolOutput::new(format!("{text}{note} ({tool_uses} tools)")))
            }
            Ok(SubagentOutcome::Launched { task_id, .. }) => {
                Ok(ToolOutput::new(format!("launched {task_id}")))
            }
            Err(error) => Err(ToolError::invalid(error.to_string())),
        }
    }
    fn render(&self, output: &String) -> ToolResultContent {
        output.as_str().into()
    }
}

/// Makes the tools of an agent by a function.
pub(crate) struct Factory<F>(pub(crate) F);

impl<F: Fn(&Seat) -> Vec<Arc<dyn DynTool>> + Send + Sync> ToolFactory for Factory<F> {
    fn tools(&self, seat: &Seat) -> ToolSources {
        ToolSources { builtins: (self.0)(seat), mcp: Vec::new() }
    }
}

/// Answers all questions by a function of the tool's name and input.
pub(crate) struct Person(pub(crate) Box<dyn Fn(&ApprovalRequest) -> Answer + Send + Sync>);

impl Approver for Person {
    fn ask(&self, request: ApprovalRequest, _: CancellationToken) -> BoxFuture<'_, Answer> {
        let answer = (self.0)(&request);
        Box::pin(async { answer })
    }
}

/// Says this before every call of this tool.
struct Before(&'static str, HookOutcome);

impl Hook for Before {
    fn listens(&self, event: HookEventName, tool: Option<&str>) -> bool {
        event == HookEventName::PreToolUse && tool == Some(self.0)
    }
    fn run(&self, _: HookEvent) -> BoxFuture<'_, HookOutcome> {
        let outcome = self.1.clone();
        Box::pin(async { outcome })
    }
}

/// Everything around an agent.
pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) script: Arc<Script>,
    pub(crate) board: Arc<Board>,
    pub(crate) config: AgentConfig,
    pub(crate) pipeline: Pipeline,
    pub(crate) policy: Arc<SharedPolicy>,
    pub(crate) tasks: Arc<Tasks>,
    pub(crate) cancellation: CancellationToken,
    pub(crate) ids: Arc<AtomicU64>,
}

impl World {
    pub(crate) fn new(script: &Arc<Script>) -> Self {
        let mode = PermissionMode::Default;
        Self::with_policy(
            script,
            Policy { mode, headless: false, ..Policy::new("/repo", "/home/user") },
        )
    }

    pub(crate) fn with_policy(script: &Arc<Script>, policy: Policy) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let results = ResultFiles::new(folder.path().join("session").join("tool-results"));
        Self {
            folder,
            script: Arc::clone(script),
            board: Arc::default(),
            config: AgentConfig::new("claude-sonnet-4-5", vec!["Be brief.".to_owned()]),
            pipeline: Pipeline::new(Arc::new(NoDisk)).with_results(Arc::new(results)),
            policy: Arc::new(SharedPolicy::new(policy, None)),
            tasks: Arc::default(),
            cancellation: CancellationToken::new(),
            ids: Arc::default(),
        }
    }

    pub(crate) fn person(
        mut self,
        answer: impl Fn(&ApprovalRequest) -> Answer + Send + Sync + 'static,
    ) -> Self {
        self.pipeline = self.pipeline.with_approver(Arc::new(Person(Box::new(answer))));
        self
    }

    /// Hooks that say this before every call of this tool.
    pub(crate) fn hook(mut self, tool: &'static str, outcome: HookOutcome) -> Self {
        self.pipeline = self.pipeline.with_hook(Arc::new(Before(tool, outcome)));
        self
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().join("session")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.folder().join("log.jsonl")
    }

    pub(crate) fn env(&self) -> SessionEnv {
        let board = Arc::clone(&self.board);
        let ids = Arc::clone(&self.ids);
        let mut env = SessionEnv::new(
            SessionId::new("session"),
            self.folder(),
            self.config.clone(),
            Arc::new(Speaker(Arc::clone(&self.script))),
            self.pipeline.clone(),
            Arc::clone(&self.policy),
            Arc::new(Factory(move |seat: &Seat| tools(&board, seat))),
        );
        env.tasks = Arc::clone(&self.tasks) as Arc<dyn TaskRegistry>;
        env.cancellation = self.cancellation.clone();
        env.new_id = Arc::new(move || format!("id{}", ids.fetch_add(1, Ordering::SeqCst)));
        env
    }

    /// Gives an agent its task and waits until a tool has noted this.
    pub(crate) async fn begin(&self, note: &str) -> (Agent, Run) {
        let agent = self.start();
        let run = agent.run(vec![ContentBlock::text("Do it.")]);
        self.board.wait_for(note).await;
        (agent, run)
    }

    pub(crate) fn start(&self) -> Agent {
        Agent::start(self.env()).unwrap()
    }

    pub(crate) fn resume(&self) -> Agent {
        Agent::resume(self.env(), PastSession::take(&self.folder()).unwrap()).unwrap()
    }

    /// Resumes as soon as a run that was dropped has let go of the log.
    pub(crate) async fn resume_soon(&self) -> Agent {
        let retry = async {
            loop {
                match PastSession::take(&self.folder()) {
                    Ok(past) => return Agent::resume(self.env(), past).unwrap(),
                    Err(error) => assert_eq!(error.code(), "session:in_use"),
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(LONG, retry).await.unwrap()
    }

    /// Starts an agent, does one task, and checks what must hold whatever the task was.
    pub(crate) async fn run(&self, prompt: &str) -> Ran {
        let agent = self.start();
        let ran = finish(agent.run(vec![ContentBlock::text(prompt)])).await;
        self.script.check();
        check_transcript(&agent).await;
        ran
    }
}

/// The usual tools: `Read` and `Grep` are safe, `Edit` and `Bash` are not, `Ask` needs permission, `Big` bounds itself.
pub(crate) fn tools(board: &Arc<Board>, seat: &Seat) -> Vec<Arc<dyn DynTool>> {
    let tool = |name, safe, need, limit| {
        erase(Scripted { name, safe, need, limit, board: Arc::clone(board) }).unwrap()
    };
    let usual = ResultLimit::Chars(100_000);
    vec![
        tool("Read", true, Need::Never, usual),
        tool("Grep", true, Need::Never, usual),
        tool("Edit", false, Need::Never, usual),
        tool("Bash", false, Need::Never, usual),
        tool("Ask", true, Need::Always, usual),
        tool("Big", true, Need::Never, ResultLimit::SelfBounded),
        erase(AgentTool(seat.clone())).unwrap(),
    ]
}

/// A run that is over.
pub(crate) struct Ran {
    pub(crate) events: Vec<AgentEvent>,
    pub(crate) summary: RunSummary,
}

impl Ran {
    pub(crate) fn reason(&self) -> TerminalReason {
        self.summary.terminal.reason
    }

    /// The calls in the order in which they ended, with the text of their results.
    pub(crate) fn ended(&self) -> Vec<(String, String)> {
        self.picked(|event| match event {
            AgentEvent::ToolEnded(report) => {
                Some((report.tool_use_id.to_string(), report.text.clone()))
            }
            _ => None,
        })
    }

    pub(crate) fn progress(&self) -> Vec<ProgressEvent> {
        self.picked(|event| match event {
            AgentEvent::Progress(progress) => Some(progress.clone()),
            _ => None,
        })
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        self.picked(|event| match event {
            AgentEvent::Warning(text) => Some(text.clone()),
            _ => None,
        })
    }

    pub(crate) fn transitions(&self) -> Vec<innerve_agent::Transition> {
        self.picked(|event| match event {
            AgentEvent::Continuing(transition) => Some(*transition),
            _ => None,
        })
    }

    fn picked<T>(&self, pick: impl Fn(&AgentEvent) -> Option<T>) -> Vec<T> {
        self.events.iter().filter_map(pick).collect()
    }
}

/// Lets everything run that can.
pub(crate) async fn idle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

/// A string field of an input.
pub(crate) fn word(input: &Map<String, Value>, field: &str) -> Option<String> {
    input.get(field).and_then(Value::as_str).map(ToOwned::to_owned)
}

/// Reads a run to its end.
pub(crate) async fn finish(mut run: Run) -> Ran {
    let read = async {
        let mut events = Vec::new();
        while let Some(event) = run.next().await {
            events.push(event);
        }
        events
    };
    let Ok(mut events) = tokio::time::timeout(LONG, read).await else { panic!("the run hangs") };
    match events.pop() {
        Some(AgentEvent::Ended(summary)) => Ran { events, summary: *summary },
        other => panic!("a run ends with its summary, not with {other:?}"),
    }
}

/// I7: whatever happened, an API takes the conversation.
pub(crate) async fn check_transcript(agent: &Agent) {
    let messages = agent.messages().await;
    assert_eq!(validate(&messages), vec![], "{messages:#?}");
}

/// The results of a message: id and text.
pub(crate) fn results(message: &Message) -> Vec<(String, String)> {
    let results = message.content.iter().filter_map(ContentBlock::as_tool_result);
    results.map(|result| (result.tool_use_id.to_string(), result.content.plain_text())).collect()
}

/// The results in the last message of a request.
pub(crate) fn last_results(request: &Request) -> Vec<(String, String)> {
    results(request.messages.last().unwrap())
}

/// The texts of a message.
pub(crate) fn texts(message: &Message) -> Vec<String> {
    message.content.iter().filter_map(ContentBlock::as_text).map(ToOwned::to_owned).collect()
}

pub(crate) fn ids(pairs: &[(String, String)]) -> Vec<&str> {
    pairs.iter().map(|(id, _)| id.as_str()).collect()
}
