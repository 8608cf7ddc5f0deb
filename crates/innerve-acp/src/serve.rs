//! The agent's side of the protocol: which request does what.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, AuthenticateRequest, AuthenticateResponse, CancelNotification,
    ClientCapabilities, Implementation, InitializeRequest, InitializeResponse, LoadSessionRequest,
    LoadSessionResponse, McpCapabilities, McpServer, NewSessionRequest, NewSessionResponse,
    PromptCapabilities, PromptRequest, PromptResponse, SessionAdditionalDirectoriesCapabilities,
    SessionCapabilities, SessionId, SetSessionModeRequest, SetSessionModeResponse,
};
use agent_client_protocol::{
    Agent, ByteStreams, Client, Error, on_receive_notification, on_receive_request,
};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::compat::{TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _};

use crate::error::refused;
use crate::session::Session;
use crate::{AcpError, Editor, Host, Opening, prompt};

/// The code for what does not exist (Agent Client Protocol, "Error Handling").
const NOT_FOUND: i32 = -32_002;

/// Serves an editor until it closes `input`, then ends all sessions. Nothing but the protocol is written to `output`.
///
/// Must be called within a tokio runtime. The editor is trusted as much as the person at it: its messages have no limit
/// of size.
pub async fn serve(
    host: Arc<dyn Host>,
    input: impl AsyncRead + Send + 'static,
    output: impl AsyncWrite + Send + 'static,
) -> Result<(), AcpError> {
    let service = Arc::new(Service { host, client: Mutex::default(), sessions: Mutex::default() });
    let served =
        connection(&service, ByteStreams::new(output.compat_write(), input.compat())).await;
    let sessions: Vec<_> = service.sessions().drain().map(|(_, session)| session).collect();
    for session in sessions {
        session.close().await;
    }
    served.map_err(|error| AcpError::Connection(error.to_string()))
}

async fn connection(
    service: &Arc<Service>,
    streams: impl agent_client_protocol::ConnectTo<Agent>,
) -> Result<(), Error> {
    let [first, second, third, fourth, fifth, sixth] = std::array::from_fn(|_| Arc::clone(service));
    Agent
        .v1()
        .name("innerve")
        .on_receive_request(
            async move |request: InitializeRequest, responder, _: ConnectionTo<Client>| {
                responder.respond(first.initialize(request))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |_: AuthenticateRequest, responder, _: ConnectionTo<Client>| {
                let text =
                    "there is nothing to sign in to: the model's key comes from the environment";
                let refused: Result<AuthenticateResponse, Error> = Err(refused(text));
                responder.respond_with_result(refused)
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: NewSessionRequest, responder, cx: ConnectionTo<Client>| {
                responder.respond_with_result(second.start(request, &cx))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: LoadSessionRequest, responder, cx: ConnectionTo<Client>| {
                let service = Arc::clone(&third);
                let connection = cx.clone();
                cx.spawn(async move {
                    responder.respond_with_result(service.load(request, &connection).await)
                })
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: PromptRequest, responder, cx: ConnectionTo<Client>| {
                // Claimed here, so that a cancellation which comes right behind finds it.
                let claim = match fourth.find(&request.session_id).and_then(|found| found.claim()) {
                    Ok(claim) => claim,
                    Err(error) => return responder.respond_with_error(error),
                };
                let prompt = match prompt::read(request.prompt) {
                    Ok(prompt) => prompt,
                    Err(error) => return responder.respond_with_error(error),
                };
                cx.spawn(async move {
                    let ended = claim.work(prompt).await;
                    responder.respond_with_result(ended.map(PromptResponse::new))
                })
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: SetSessionModeRequest, responder, _: ConnectionTo<Client>| {
                let found = fifth.find(&request.session_id);
                let set = found.and_then(|session| session.set_mode(&request.mode_id.0));
                responder.respond_with_result(set.map(|()| SetSessionModeResponse::new()))
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |cancel: CancelNotification, _: ConnectionTo<Client>| {
                if let Ok(session) = sixth.find(&cancel.session_id) {
                    session.cancel();
                }
                Ok(())
            },
            on_receive_notification!(),
        )
        .connect_to(streams)
        .await
}

/// What all requests share.
struct Service {
    host: Arc<dyn Host>,
    /// What the editor can do.
    client: Mutex<Arc<ClientCapabilities>>,
    sessions: Mutex<HashMap<SessionId, Arc<Session>>>,
}

/// What is asked of a new session and of a past one.
struct Wanted {
    past: Option<SessionId>,
    cwd: PathBuf,
    additional_directories: Vec<PathBuf>,
    mcp_servers: Vec<McpServer>,
}

impl Service {
    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, id: &SessionId) -> Result<Arc<Session>, Error> {
        self.sessions().get(id).cloned().ok_or_else(|| {
            let text = format!("there is no open session `{id}`; load it, or start a new one");
            Error::new(NOT_FOUND, text)
        })
    }

    fn initialize(&self, request: InitializeRequest) -> InitializeResponse {
        let client = Arc::new(request.client_capabilities);
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = client;
        let sessions = SessionCapabilities::new()
            .additional_directories(SessionAdditionalDirectoriesCapabilities::new());
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
            .mcp_capabilities(McpCapabilities::new().http(true))
            .session_capabilities(sessions);
        InitializeResponse::new(ProtocolVersion::V1).agent_capabilities(capabilities).agent_info(
            Implementation::new("innerve", env!("CARGO_PKG_VERSION")).title("innerve".to_owned()),
        )
    }

    fn start(
        &self,
        request: NewSessionRequest,
        connection: &ConnectionTo<Client>,
    ) -> Result<NewSessionResponse, Error> {
        let NewSessionRequest { cwd, additional_directories, mcp_servers, .. } = request;
        let wanted = Wanted { past: None, cwd, additional_directories, mcp_servers };
        let session = self.open(wanted, connection)?;
        Ok(NewSessionResponse::new(session.id()).modes(session.modes()))
    }

    async fn load(
        &self,
        request: LoadSessionRequest,
        connection: &ConnectionTo<Client>,
    ) -> Result<LoadSessionResponse, Error> {
        let LoadSessionRequest { session_id, cwd, additional_directories, mcp_servers, .. } =
            request;
        self.leave(&session_id).await?;
        let past = Some(session_id);
        let wanted = Wanted { past, cwd, additional_directories, mcp_servers };
        let session = self.open(wanted, connection)?;
        session.replay().await?;
        Ok(LoadSessionResponse::new().modes(session.modes()))
    }

    /// Closes a session that is open, so that it can be opened again.
    async fn leave(&self, id: &SessionId) -> Result<(), Error> {
        let Ok(open) = self.find(id) else { return Ok(()) };
        let _claim = open.claim()?;
        self.sessions().remove(id);
        open.close().await;
        Ok(())
    }

    fn open(
        &self,
        wanted: Wanted,
        connection: &ConnectionTo<Client>,
    ) -> Result<Arc<Session>, Error> {
        let Wanted { past, cwd, additional_directories, mcp_servers } = wanted;
        for directory in additional_directories.iter().chain([&cwd]) {
            absolute(directory)?;
        }
        let client = Arc::clone(&self.client.lock().unwrap_or_else(PoisonError::into_inner));
        let editor = Editor::new(Arc::clone(&self.host), connection.clone(), client, &cwd);
        let opening = Opening {
            past: past.map(|id| id.to_string()),
            cwd,
            additional_directories,
            mcp_servers: mcp_servers.into_iter().filter_map(server).collect(),
            editor: editor.clone(),
        };
        let hosted = self.host.open(opening).map_err(|error| error.answer())?;
        let session = Session::new(Arc::clone(&self.host), hosted, editor);
        self.sessions().insert(session.id(), Arc::clone(&session));
        Ok(session)
    }
}

fn absolute(path: &Path) -> Result<(), Error> {
    if path.is_absolute() {
        return Ok(());
    }
    let text = format!("`{}` is not an absolute path", path.display());
    Err(refused(text))
}

/// A server in the form of `.mcp.json`; `None` for a kind that was not offered.
fn server(server: McpServer) -> Option<(String, Value)> {
    match server {
        McpServer::Stdio(server) => {
            let env: Map<String, Value> = server
                .env
                .into_iter()
                .map(|variable| (variable.name, variable.value.into()))
                .collect();
            let value = json!({ "command": server.command, "args": server.args, "env": env });
            Some((server.name, value))
        }
        McpServer::Http(server) => {
            let headers: Map<String, Value> = server
                .headers
                .into_iter()
                .map(|header| (header.name, header.value.into()))
                .collect();
            Some((server.name, json!({ "type": "http", "url": server.url, "headers": headers })))
        }
        // Kinds that were not offered at the start.
        McpServer::Sse(_) | _ => None,
    }
}
