//! What the tests share: a host with real tools, and an editor that does what it is told to.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CancelNotification, ClientCapabilities, ContentBlock, FileSystemCapabilities,
    InitializeRequest, InitializeResponse, NewSessionRequest, PromptRequest, ReadTextFileRequest,
    ReadTextFileResponse, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SelectedPermissionOutcome, SessionId, SessionNotification,
    SessionUpdate, StopReason, WriteTextFileRequest, WriteTextFileResponse,
};
use agent_client_protocol::{
    Agent as AgentRole, ByteStreams, Client, Error, on_receive_notification, on_receive_request,
};
use innerve_acp::{AcpError, Host, HostedSession, Opening, serve};
use innerve_agent::{
    Agent, AgentConfig, PastSession, ResultFiles, RuleSaver, Seat, SessionEnv, SharedPolicy,
    ToolFactory,
};
use innerve_builtins::bash::BashOptions;
use innerve_builtins::edit::StaleEdits;
use innerve_builtins::host::{DiskSpool, HostClock, HostFiles, HostProcesses, MemoryLedger};
use innerve_builtins::{FileAccess, builtins};
use innerve_permission::{Behavior, NoDisk, Origin, PermissionMode, Policy, Rule, RuleSource};
use innerve_pipeline::{Observer, Pipeline, Step, StepReport};
use innerve_tool::port::FileSystem;
use innerve_tool::{BoxFuture, CancellationToken, ToolSources};
use tokio_util::compat::{TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _};

use crate::script::{Script, Speaker};

/// Longer than anything here takes; what hangs is ended by it.
const LONG: Duration = Duration::from_secs(20);

/// Opens sessions in a folder, with the built-in tools.
pub(crate) struct World {
    folder: tempfile::TempDir,
    pub(crate) script: Arc<Script>,
    pub(crate) mode: PermissionMode,
    /// A deny rule of the project.
    pub(crate) deny: Mutex<Option<&'static str>>,
    pub(crate) warnings: Mutex<Vec<String>>,
    pub(crate) saved: Arc<Saved>,
    /// The steps that calls took.
    pub(crate) steps: Arc<Steps>,
    /// What sessions were opened with.
    pub(crate) openings: Mutex<Vec<Opening>>,
    ids: AtomicU64,
}

#[derive(Default)]
pub(crate) struct Steps(pub(crate) Mutex<Vec<Step>>);

impl Observer for Steps {
    fn step(&self, report: &StepReport<'_>) {
        self.0.lock().unwrap().push(report.step);
    }
}

impl World {
    pub(crate) fn new(script: Vec<Vec<crate::script::Say>>) -> Arc<Self> {
        Self::in_mode(PermissionMode::Default, script)
    }

    pub(crate) fn in_mode(mode: PermissionMode, script: Vec<Vec<crate::script::Say>>) -> Arc<Self> {
        Arc::new(Self {
            folder: tempfile::tempdir().unwrap(),
            script: Script::new(script),
            mode,
            deny: Mutex::default(),
            warnings: Mutex::default(),
            saved: Arc::default(),
            steps: Arc::default(),
            openings: Mutex::default(),
            ids: AtomicU64::new(1),
        })
    }

    /// The project.
    pub(crate) fn project(&self) -> PathBuf {
        let project = self.folder.path().canonicalize().unwrap().join("project");
        std::fs::create_dir_all(&project).unwrap();
        project
    }

    pub(crate) fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.project().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

/// The world as a host.
pub(crate) struct AsHost(pub(crate) Arc<World>);

struct Hosted {
    agent: Agent,
    cancellation: CancellationToken,
}

impl HostedSession for Hosted {
    fn agent(&self) -> &Agent {
        &self.agent
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.cancellation.cancel();
        Box::pin(std::future::ready(()))
    }
}

impl Host for AsHost {
    fn open(&self, opening: Opening) -> Result<Box<dyn HostedSession>, AcpError> {
        let world = &self.0;
        world.openings.lock().unwrap().push(opening.clone());
        let failed = |error: &dyn std::error::Error| AcpError::Opening(error.to_string());
        let sessions = world.folder.path().join("sessions");
        let new_id = || format!("session-{}", world.ids.fetch_add(1, Ordering::SeqCst));
        let id = opening.past.clone().unwrap_or_else(new_id);
        let folder = sessions.join(&id);
        let mut policy = Policy {
            mode: world.mode,
            headless: false,
            additional_directories: opening.additional_directories.clone(),
            ..Policy::new(&opening.cwd, world.folder.path())
        };
        if let Some(rule) = *world.deny.lock().unwrap() {
            let origin = Origin::inline(RuleSource::Project, &opening.cwd);
            policy.rules.push(Rule::parse(rule, Behavior::Deny, origin).unwrap());
        }
        let results = SessionEnv::results_folder(&folder);
        let pipeline = Pipeline::new(Arc::new(NoDisk))
            .with_results(Arc::new(ResultFiles::new(results.clone())))
            .with_observer(Arc::clone(&world.steps) as _)
            .with_approver(opening.editor.approver());
        let cancellation = CancellationToken::new();
        let mut env = SessionEnv::new(
            innerve_protocol::SessionId::new(id),
            &folder,
            AgentConfig::new("any", vec!["Be brief.".to_owned()]),
            Arc::new(Speaker(Arc::clone(&world.script))),
            pipeline,
            Arc::new(SharedPolicy::new(policy, Some(Arc::clone(&world.saved) as _))),
            Arc::new(Tools { files: opening.editor.files(Arc::new(HostFiles)), results }),
        );
        env.cancellation = cancellation.clone();
        let agent = match opening.past {
            None => Agent::start(env),
            Some(_) => Agent::resume(env, PastSession::take(&folder).map_err(|e| failed(&e))?),
        };
        let agent = agent.map_err(|error| failed(&error))?;
        Ok(Box::new(Hosted { agent, cancellation }))
    }

    fn warn(&self, text: &str) {
        self.0.warnings.lock().unwrap().push(text.to_owned());
    }
}

/// The rules that were saved for good.
#[derive(Default)]
pub(crate) struct Saved(pub(crate) Mutex<Vec<String>>);

impl RuleSaver for Saved {
    fn save(&self, rule: &str) -> Result<(), String> {
        self.0.lock().unwrap().push(rule.to_owned());
        Ok(())
    }
}

struct Tools {
    files: Arc<dyn FileSystem>,
    results: PathBuf,
}

impl ToolFactory for Tools {
    fn tools(&self, seat: &Seat) -> ToolSources {
        let files = FileAccess::new(Arc::clone(&self.files), Arc::new(MemoryLedger::new()));
        let host = innerve_builtins::Host {
            files,
            processes: Arc::new(HostProcesses::new()),
            spool: Arc::new(DiskSpool::new(self.results.clone())),
            clock: Arc::new(HostClock),
            tasks: Some(Arc::clone(&seat.tasks)),
            task_list: seat.task_list.clone(),
            spawner: Some(Arc::clone(&seat.spawner)),
            bash: BashOptions::default(),
            stale_edits: StaleEdits::Refuse,
            small_model: None,
            searcher: None,
            confinement: None,
        };
        ToolSources { builtins: builtins(&host).unwrap(), mcp: Vec::new() }
    }
}

/// What the person at the editor does when they are asked.
#[derive(Clone, Debug)]
pub(crate) enum Do {
    /// Chooses the option of this id.
    Choose(&'static str),
    /// Types this into a file, without saving it, and allows what was asked.
    Type(PathBuf, &'static str),
    /// Cancels the prompt.
    Cancel,
}

/// The editor and the person at it.
#[derive(Default)]
pub(crate) struct Person {
    pub(crate) does: Mutex<VecDeque<Do>>,
    pub(crate) asked: Mutex<Vec<RequestPermissionRequest>>,
    pub(crate) updates: Mutex<Vec<SessionNotification>>,
    /// Open files with unsaved changes.
    pub(crate) buffers: Mutex<HashMap<PathBuf, String>>,
    /// What was asked of the editor's files, in order.
    pub(crate) file_requests: Mutex<Vec<String>>,
    pub(crate) fs: FileSystemCapabilities,
}

impl Person {
    pub(crate) fn new(does: impl IntoIterator<Item = Do>) -> Arc<Self> {
        Arc::new(Self { does: Mutex::new(does.into_iter().collect()), ..Self::default() })
    }

    /// At an editor that lends its files.
    pub(crate) fn with_files(does: impl IntoIterator<Item = Do>) -> Arc<Self> {
        let fs = FileSystemCapabilities::new().read_text_file(true).write_text_file(true);
        Arc::new(Self { does: Mutex::new(does.into_iter().collect()), fs, ..Self::default() })
    }

    pub(crate) fn updates(&self) -> Vec<SessionUpdate> {
        self.updates.lock().unwrap().iter().map(|told| told.update.clone()).collect()
    }

    /// What the agent said.
    pub(crate) fn read(&self) -> String {
        let text = |update: &SessionUpdate| match update {
            SessionUpdate::AgentMessageChunk(chunk) => words(&chunk.content),
            _ => String::new(),
        };
        self.updates().iter().map(text).collect()
    }

    fn read_file(&self, request: &ReadTextFileRequest) -> Result<ReadTextFileResponse, Error> {
        self.note("read", &request.path);
        let buffer = self.buffers.lock().unwrap().get(&request.path).cloned();
        // As editors do: line feeds alone, whatever the file has.
        let saved =
            || std::fs::read_to_string(&request.path).map(|text| text.replace("\r\n", "\n"));
        let text = buffer.map_or_else(saved, Ok).map_err(Error::into_internal_error)?;
        Ok(ReadTextFileResponse::new(text))
    }

    fn write_file(&self, request: WriteTextFileRequest) -> Result<WriteTextFileResponse, Error> {
        self.note("write", &request.path);
        self.buffers.lock().unwrap().remove(&request.path);
        std::fs::write(request.path, request.content).map_err(Error::into_internal_error)?;
        Ok(WriteTextFileResponse::new())
    }

    fn note(&self, what: &str, path: &Path) {
        let name = path.file_name().unwrap().to_string_lossy();
        self.file_requests.lock().unwrap().push(format!("{what} {name}"));
    }

    fn decide(&self, request: RequestPermissionRequest) -> Do {
        self.asked.lock().unwrap().push(request);
        self.does.lock().unwrap().pop_front().unwrap_or(Do::Choose("reject"))
    }
}

pub(crate) fn words(content: &ContentBlock) -> String {
    match content {
        ContentBlock::Text(text) => text.text.clone(),
        _ => String::new(),
    }
}

/// Connects an editor to the agent over pipes, does `work`, and waits until the agent has ended with it.
pub(crate) async fn connected<T>(
    world: &Arc<World>,
    person: &Arc<Person>,
    work: impl AsyncFnOnce(ConnectionTo<AgentRole>) -> Result<T, Error>,
) -> T {
    let (editor, agent) = tokio::io::duplex(64 * 1024);
    let (agent_in, agent_out) = tokio::io::split(agent);
    let host = Arc::new(AsHost(Arc::clone(world)));
    let serving = tokio::spawn(serve(host, agent_in, agent_out));
    let (editor_in, editor_out) = tokio::io::split(editor);
    let streams = ByteStreams::new(editor_out.compat_write(), editor_in.compat());
    let [one, two, three, four] = std::array::from_fn(|_| Arc::clone(person));
    let client = Client
        .v1()
        .on_receive_notification(
            async move |told: SessionNotification, _: ConnectionTo<AgentRole>| {
                one.updates.lock().unwrap().push(told);
                Ok(())
            },
            on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest,
                        responder,
                        cx: ConnectionTo<AgentRole>| {
                let session = request.session_id.clone();
                let chosen = |id: &'static str| {
                    RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(id))
                };
                let outcome = match two.decide(request) {
                    Do::Choose(id) => chosen(id),
                    Do::Type(path, text) => {
                        two.buffers.lock().unwrap().insert(path, text.to_owned());
                        chosen("once")
                    }
                    Do::Cancel => {
                        cx.send_notification(CancelNotification::new(session))?;
                        RequestPermissionOutcome::Cancelled
                    }
                };
                responder.respond(RequestPermissionResponse::new(outcome))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ReadTextFileRequest, responder, _: ConnectionTo<AgentRole>| {
                responder.respond_with_result(three.read_file(&request))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: WriteTextFileRequest, responder, _: ConnectionTo<AgentRole>| {
                responder.respond_with_result(four.write_file(request))
            },
            on_receive_request!(),
        )
        .connect_with(streams, work);
    let done = tokio::time::timeout(LONG, client).await;
    let served = tokio::time::timeout(LONG, serving).await;
    let (Ok(done), Ok(served)) = (done, served) else { panic!("the agent hangs") };
    served.unwrap().unwrap();
    done.unwrap()
}

/// The first request of any editor.
pub(crate) async fn initialize(
    agent: &ConnectionTo<AgentRole>,
    person: &Person,
) -> Result<InitializeResponse, Error> {
    let capabilities = ClientCapabilities::new().fs(person.fs.clone());
    let request = InitializeRequest::new(ProtocolVersion::V1).client_capabilities(capabilities);
    agent.send_request(request).block_task().await
}

/// A new session.
pub(crate) async fn session(
    agent: &ConnectionTo<AgentRole>,
    world: &World,
) -> Result<SessionId, Error> {
    let request = NewSessionRequest::new(world.project());
    Ok(agent.send_request(request).block_task().await?.session_id)
}

pub(crate) async fn prompt(
    agent: &ConnectionTo<AgentRole>,
    session: &SessionId,
    text: &str,
) -> Result<StopReason, Error> {
    let request = PromptRequest::new(session.clone(), vec![text.into()]);
    Ok(agent.send_request(request).block_task().await?.stop_reason)
}

/// One prompt in a new session.
pub(crate) async fn one_prompt(world: &Arc<World>, person: &Arc<Person>) -> StopReason {
    connected(world, person, async |agent| {
        initialize(&agent, person).await?;
        let session = session(&agent, world).await?;
        prompt(&agent, &session, "Go on.").await
    })
    .await
}
