//! One server as its tools see it: whether it is there, what it offers, and what becomes of a call.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use innerve_pipeline::Approver;
use innerve_protocol::ToolResultContent;
use innerve_tool::{CallContext, CancellationToken, Reporter, ToolError, code as tool_code};
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
    ClientRequest, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::timeout;

use crate::config::{ServerConfig, Transport};
use crate::content::{self, Attachments};
use crate::tool::Built;
use crate::transport::shortened;
use crate::{code, servers};

/// How long a call waits for a server that is starting or coming back.
const RECONNECT_PATIENCE: Duration = Duration::from_secs(15);
/// How long a server may be silent in a call (Claude Code documentation, "MCP").
const IDLE_STDIO: Duration = Duration::from_mins(30);
const IDLE_HTTP: Duration = Duration::from_mins(5);
/// How long handing a request over may take: a server that reads nothing must not hold a call forever.
const HAND_OVER: Duration = Duration::from_mins(1);
/// Calls whose progress is followed at most.
const MAX_REPORTERS: usize = 1_000;

/// How a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// It is being started for the first time.
    Starting,
    /// Its tools can be called.
    Connected,
    /// The connection was lost, or could not be made yet, and is tried again.
    Reconnecting,
    /// It cannot be used.
    Failed,
    /// It was ended with the session.
    Closed,
}

impl ServerState {
    /// The state in one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Connected => "connected",
            Self::Reconnecting => "reconnecting",
            Self::Failed => "failed",
            Self::Closed => "closed",
        }
    }
}

/// What is wrong with a server, and what would mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong.
    pub text: String,
    /// What would mend it.
    pub mend: String,
}

/// One server.
pub(crate) struct Link {
    pub(crate) config: ServerConfig,
    /// Characters of a result at most, for tools that declare no limit of their own.
    pub(crate) output_chars: usize,
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    /// Ends the connection for good.
    pub(crate) cancellation: CancellationToken,
    pub(crate) relist: Relist,
    /// A server asks one question at a time.
    pub(crate) asking: Semaphore,
    attachments: Attachments,
    state: watch::Sender<ServerState>,
    known: Mutex<Known>,
    reporters: Mutex<HashMap<ProgressToken, Progress>>,
    changed: Arc<servers::Changes>,
}

/// What the server said of changes of its tools, and how far these have been asked for.
#[derive(Default)]
pub(crate) struct Relist {
    said: AtomicU64,
    answered: AtomicU64,
    notify: Notify,
}

impl Relist {
    /// The server says that its tools have changed.
    pub(crate) fn say(&self) {
        self.said.fetch_add(1, Ordering::SeqCst);
        self.notify.notify_one();
    }

    /// Waits until the server says so; gives how often it has.
    pub(crate) async fn wait(&self) -> u64 {
        self.notify.notified().await;
        self.said()
    }

    fn said(&self) -> u64 {
        self.said.load(Ordering::SeqCst)
    }

    fn answered(&self, said: u64) {
        self.answered.fetch_max(said, Ordering::SeqCst);
    }

    /// Whether the tools are about to change.
    pub(crate) fn is_due(&self) -> bool {
        self.answered.load(Ordering::SeqCst) < self.said()
    }
}

#[derive(Default)]
struct Known {
    peer: Option<Peer<RoleClient>>,
    built: Built,
    problem: Option<Problem>,
    version: Option<String>,
    instructions: Option<String>,
}

#[derive(Clone)]
struct Progress {
    tool: String,
    reporter: Reporter,
}

impl Link {
    pub(crate) fn new(
        config: ServerConfig,
        options: &servers::Options,
        changed: Arc<servers::Changes>,
        cancellation: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            config,
            output_chars: options.output_chars(),
            roots: options.roots.clone(),
            approver: options.approver.clone(),
            cancellation,
            relist: Relist::default(),
            asking: Semaphore::new(1),
            attachments: Attachments::new(&options.attachments),
            state: watch::Sender::new(ServerState::Starting),
            known: Mutex::default(),
            reporters: Mutex::default(),
            changed,
        })
    }

    /// A link that leads nowhere.
    #[cfg(test)]
    pub(crate) fn unconnected(name: &str, output_chars: usize) -> Arc<Self> {
        let config = ServerConfig::parse(name, &json!({ "command": "true" }), &|_| None).unwrap();
        let options = servers::Options::new("/w", "/nonexistent");
        let mut link = Self::new(config, &options, Arc::default(), CancellationToken::new());
        Arc::get_mut(&mut link).unwrap().output_chars = output_chars;
        link
    }

    pub(crate) fn state(&self) -> ServerState {
        *self.state.borrow()
    }

    pub(crate) fn set_state(&self, state: ServerState) {
        self.state.send_replace(state);
        self.changed.notify();
    }

    /// The server answers and offers these tools.
    pub(crate) fn connected(&self, peer: Peer<RoleClient>, built: Built) {
        let info = peer.peer_info();
        {
            let mut known = self.known();
            known.version = info.as_ref().and_then(|info| {
                info.server_info
                    .as_ref()
                    .map(|server| format!("{} {}", server.name, server.version))
            });
            let instructions = info.as_ref().and_then(|info| info.instructions.clone());
            known.instructions =
                instructions.map(|text| text.chars().take(crate::tool::MAX_DESCRIPTION).collect());
            known.peer = Some(peer);
            known.problem = None;
        }
        self.offer(built);
        self.set_state(ServerState::Connected);
    }

    /// The server offers these tools from now on.
    pub(crate) fn offer(&self, built: Built) {
        self.known().built = built;
        self.changed.tools_changed();
    }

    /// The server was asked for its tools after it had said `said` changes, whatever came of it.
    pub(crate) fn relisted(&self, said: u64) {
        self.relist.answered(said);
        self.changed.notify();
    }

    /// The connection is gone; the tools stay while it is tried again.
    pub(crate) fn lost(&self, problem: Problem, state: ServerState) {
        {
            let mut known = self.known();
            known.peer = None;
            known.problem = Some(problem);
        }
        self.reporters().clear();
        self.relist.answered(self.relist.said());
        match state {
            ServerState::Failed | ServerState::Closed => self.offer(Built::default()),
            ServerState::Starting | ServerState::Connected | ServerState::Reconnecting => {}
        }
        self.set_state(state);
    }

    pub(crate) fn built(&self) -> Built {
        self.known().built.clone()
    }

    pub(crate) fn status(&self) -> servers::ServerStatus {
        let known = self.known();
        servers::ServerStatus {
            name: self.config.name.clone(),
            transport: self.config.kind(),
            state: self.state(),
            tools: known.built.tools.iter().map(|tool| tool.name().to_owned()).collect(),
            left_out: known.built.left_out.clone(),
            problem: known.problem.clone(),
            version: known.version.clone(),
            instructions: known.instructions.clone(),
        }
    }

    /// Calls a tool by the server's own name for it.
    pub(crate) async fn call(
        &self,
        tool: String,
        input: Value,
        context: CallContext,
    ) -> Result<ToolResultContent, ToolError> {
        let cancellation = context.cancellation.clone();
        let peer = tokio::select! {
            peer = self.peer() => peer?,
            () = cancellation.cancelled() => return Err(ToolError::interrupted()),
        };
        let mut params = CallToolRequestParams::new(tool.clone());
        if let Value::Object(arguments) = input {
            params = params.with_arguments(arguments);
        }
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::with_timeout(self.idle())
            .reset_timeout_on_progress()
            .with_max_total_timeout(self.config.call_timeout);
        let sent = timeout(HAND_OVER, peer.send_cancellable_request(request, options));
        let handle = tokio::select! {
            sent = sent => sent
                .map_err(|_| self.silent(HAND_OVER))?
                .map_err(|error| self.failed(&error))?,
            () = cancellation.cancelled() => return Err(ToolError::interrupted()),
        };
        let (id, token) = (handle.id.clone(), handle.progress_token.clone());
        self.follow(&token, &tool, &context);
        let answered = tokio::select! {
            answered = handle.await_response() => answered,
            () = cancellation.cancelled() => {
                let param = CancelledNotificationParam::new(Some(id), Some("interrupted".to_owned()));
                let notice = CancelledNotification::new(param);
                // A server that takes no notice gets none twice.
                let _late = timeout(Duration::from_secs(1), peer.send_notification(notice.into())).await;
                self.reporters().remove(&token);
                return Err(ToolError::interrupted());
            }
        };
        self.reporters().remove(&token);
        let result = answered.map_err(|error| self.failed(&error))?;
        let result = serde_json::to_value(result).map_err(|error| {
            ToolError::new(code::PROTOCOL, format!("the server's answer cannot be read: {error}"))
        })?;
        let answer = content::answer(&result, &self.attachments, &context.tool_use_id);
        if answer.is_error {
            return Err(ToolError::new(tool_code::FAILED, answer.content.plain_text()));
        }
        Ok(answer.content)
    }

    /// The connection, once there is one.
    async fn peer(&self) -> Result<Peer<RoleClient>, ToolError> {
        let mut states = self.state.subscribe();
        let settled = states.wait_for(|state| match state {
            ServerState::Starting | ServerState::Reconnecting => false,
            ServerState::Connected | ServerState::Failed | ServerState::Closed => true,
        });
        let _late =
            timeout(RECONNECT_PATIENCE, settled).await.map(|state| state.map(|state| *state));
        let known = self.known();
        known.peer.clone().ok_or_else(|| {
            let name = &self.config.name;
            let text = match &known.problem {
                Some(Problem { text, mend }) => {
                    format!("the MCP server `{name}` is not connected: {text}; {mend}")
                }
                None => format!("the MCP server `{name}` is not connected yet; try again later"),
            };
            ToolError::new(code::NOT_CONNECTED, text)
        })
    }

    /// Lets a server's words on the progress of a call reach whoever watches.
    fn follow(&self, token: &ProgressToken, tool: &str, context: &CallContext) {
        let mut reporters = self.reporters();
        if reporters.len() < MAX_REPORTERS {
            let progress = Progress { tool: tool.to_owned(), reporter: context.progress.clone() };
            reporters.insert(token.clone(), progress);
        }
    }

    pub(crate) fn progressed(&self, params: &ProgressNotificationParam) {
        let Some(progress) = self.reporters().get(&params.progress_token).cloned() else { return };
        progress.reporter.report(&json!({
            "kind": "mcp_progress",
            "server": self.config.name,
            "tool": progress.tool,
            "progress": params.progress,
            "total": params.total,
            "message": params.message.as_deref().map(shortened),
        }));
    }

    fn idle(&self) -> Duration {
        match self.config.transport {
            Transport::Stdio { .. } => IDLE_STDIO,
            Transport::Http { .. } => IDLE_HTTP,
        }
        .min(self.config.call_timeout)
    }

    fn silent(&self, limit: Duration) -> ToolError {
        let name = &self.config.name;
        let text = format!(
            "the MCP server `{name}` did not answer within {limit:?}; the call may still have had effects. Its `timeout` can be raised where it is configured"
        );
        ToolError::new(tool_code::TIMED_OUT, text)
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the protocol's kinds of error are open-ended"
    )]
    fn failed(&self, error: &ServiceError) -> ToolError {
        let name = &self.config.name;
        match error {
            ServiceError::Timeout { timeout } => self.silent(*timeout),
            ServiceError::McpError(error) => ToolError::new(
                code::REFUSED,
                format!("the MCP server `{name}` refused: {}", error.message),
            ),
            ServiceError::TransportClosed => {
                let text = format!(
                    "the connection to the MCP server `{name}` was lost during the call, which may have had effects; check before you call again"
                );
                ToolError::new(code::LOST, text)
            }
            other => {
                let text = format!(
                    "the MCP server `{name}` could not be asked: {}",
                    shortened(&chain(other))
                );
                ToolError::new(code::PROTOCOL, text)
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reporters(&self) -> MutexGuard<'_, HashMap<ProgressToken, Progress>> {
        self.reporters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An error with its causes, each said once.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) {
            text.push_str(&format!(": {words}"));
        }
        cause = error.source();
    }
    text
}

impl fmt::Debug for Link {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Link")
            .field("name", &self.config.name)
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}
