//! innerve as a server: its tools for any MCP client, each call through the pipeline and under its user's rules.

mod asking;
mod content;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use innerve_pipeline::{Pipeline, Requested, Settled, Turn, is_concurrency_safe};
use innerve_protocol::{ToolDefinition, ToolUse};
use innerve_tool::{Lookup, ProgressEvent, ProgressSink};
use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, InitializeResult,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ProgressToken,
    ServerCapabilities, Tool,
};
use rmcp::service::{Peer, RequestContext, RoleServer, serve_server};
use serde_json::{Map, Value, json};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{RwLock, mpsc};

pub use asking::ClientApprover;

/// What a client is told of innerve.
const INSTRUCTIONS: &str = "Tools to read, search and change files and to run commands in one directory. Every call is checked \
                            against the rules of the user who started this server; a refusal says which rule or setting would allow it.";
/// Progress that waits for a slow client; what comes beyond it is dropped.
const PROGRESS_BUFFER: usize = 64;

/// The session that calls belong to.
pub trait Host: Send + Sync + 'static {
    /// The turn of the next call: the tools as they are now, and the policy.
    fn turn(&self) -> Turn;

    /// Takes note of a call that has ended: changes to the session, and what hooks had to say to the person.
    fn settled(&self, settled: &Settled);
}

/// Why serving ended before the client did.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The client did not begin as the protocol wants it.
    #[error("the client did not begin as an MCP client does: {0}")]
    Handshake(String),
    /// The work was abandoned.
    #[error("serving was abandoned: {0}")]
    Abandoned(String),
}

impl ServeError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Handshake(_) => "mcp:serve_handshake",
            Self::Abandoned(_) => "mcp:serve_abandoned",
        }
    }
}

/// Serves tools until the client's end of the input.
///
/// What the pipeline asks about is asked through the client if `asking` is its approver.
pub async fn serve<R, W>(
    input: R,
    output: W,
    pipeline: Pipeline,
    host: Arc<dyn Host>,
    asking: Arc<ClientApprover>,
) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let server = Server { pipeline, host, asking, order: Arc::default(), calls: AtomicU32::new(0) };
    let running = serve_server(server, (input, output))
        .await
        .map_err(|error| ServeError::Handshake(crate::link::chain(&error)))?;
    running.waiting().await.map_err(|error| ServeError::Abandoned(error.to_string()))?;
    Ok(())
}

struct Server {
    pipeline: Pipeline,
    host: Arc<dyn Host>,
    asking: Arc<ClientApprover>,
    /// Calls that may run beside others hold it together, all others alone.
    order: Arc<RwLock<()>>,
    calls: AtomicU32,
}

impl Server {
    async fn run(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Settled {
        let number = self.calls.fetch_add(1, Ordering::SeqCst);
        let input = Value::Object(request.arguments.unwrap_or_default());
        let tool_use =
            ToolUse::new(format!("mcp_{number}").as_str(), request.name.into_owned(), input);
        let mut turn = self.host.turn();
        turn.cancellation = context.ct.child_token();
        if let Some(token) = context.meta.get_progress_token() {
            turn.progress = Arc::new(Told::new(context.peer.clone(), token));
        }
        let requested = Requested::new(tool_use);
        if is_concurrency_safe(&turn.pool, &requested.tool_use) {
            let _beside = self.order.read().await;
            self.pipeline.run(requested, &turn).await
        } else {
            let _alone = self.order.write().await;
            self.pipeline.run(requested, &turn).await
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> InitializeResult {
        let capabilities: ServerCapabilities =
            serde_json::from_value(json!({ "tools": {} })).unwrap_or_default();
        let mut info = InitializeResult::new(capabilities).with_instructions(INSTRUCTIONS);
        info.server_info = Implementation::new("innerve", env!("CARGO_PKG_VERSION"));
        info
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.host.turn().pool.definitions().into_iter().map(tool);
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Lookup::Unknown { nearest } = self.host.turn().pool.find(&request.name) {
            let nearest = nearest.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
            let text = format!("there is no tool `{}`{nearest}", request.name);
            return Err(ErrorData::invalid_params(text, None));
        }
        self.asking.set_client(context.peer.clone());
        let settled = self.run(request, &context).await;
        self.host.settled(&settled);
        let blocks = content::blocks(&settled);
        let result = if settled.result.failed() {
            CallToolResult::error(blocks)
        } else {
            CallToolResult::success(blocks)
        };
        Ok(CallToolResponse::Complete(result))
    }
}

fn tool(definition: ToolDefinition) -> Tool {
    let ToolDefinition { name, description, input_schema, .. } = definition;
    let schema = match input_schema {
        Value::Object(schema) => schema,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    };
    Tool::new(name, description, Arc::new(schema))
}

/// Tells a client of the progress of its call.
struct Told(mpsc::Sender<String>);

impl Told {
    fn new(peer: Peer<RoleServer>, token: ProgressToken) -> Self {
        let (sender, mut events) = mpsc::channel(PROGRESS_BUFFER);
        tokio::spawn(async move {
            let mut count = 0.0;
            while let Some(message) = events.recv().await {
                count += 1.0;
                let param =
                    ProgressNotificationParam::new(token.clone(), count).with_message(message);
                if peer.notify_progress(param).await.is_err() {
                    return;
                }
            }
        });
        Self(sender)
    }
}

impl ProgressSink for Told {
    fn emit(&self, event: ProgressEvent) {
        let message: String = event.data.to_string().chars().take(500).collect();
        // A slow client misses some.
        let _dropped = self.0.try_send(message);
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Server").finish_non_exhaustive()
    }
}
