//! The MCP servers of a session: found, started without waiting, ended with it.

use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use innerve_mcp::{Options, ServerState, ServerStatus, Servers, tool_name};
use innerve_pipeline::{Answer, ApprovalRequest, Approver};
use innerve_tool::{BoxFuture, CancellationToken};

use super::Workplace;
use crate::args::McpArguments;
use crate::exit::Failure;
use crate::mcp::{Listed, find};
use crate::output::{plain, warn};
use crate::terminal::{AtTerminal, Keyboard};

/// How long servers are waited for by somebody who needs their tools; their own limits are mostly shorter.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);
/// The folder of a session for what servers send and a model cannot be shown.
const ATTACHMENTS: &str = "mcp";

impl Workplace {
    /// All servers that settings, `.mcp.json` and flags name.
    pub(crate) fn listed_servers(&self, arguments: &McpArguments) -> Result<Vec<Listed>, Failure> {
        if self.watcher.is_none() {
            // No file counts here.
            return Ok(Vec::new());
        }
        find(&self.layers, &self.policy.cwd, self.trusted, arguments)
    }

    /// Starts these servers; nobody waits for them. `None` if there are none.
    pub(crate) fn start_servers(&self, folder: &Path, listed: Vec<Listed>) -> Option<Arc<Servers>> {
        let configs: Vec<_> = listed.into_iter().filter_map(|listed| listed.outcome.ok()).collect();
        if configs.is_empty() {
            return None;
        }
        let mut options = Options::new(&self.policy.cwd, folder.join(ATTACHMENTS));
        options.roots.extend(self.policy.additional_directories.iter().cloned());
        options.environment = std::env::vars_os().collect();
        if let Some(tokens) = number("MAX_MCP_OUTPUT_TOKENS") {
            options.output_tokens = tokens;
        }
        options.approver = self.approver.clone().or_else(|| {
            let keyboard = Keyboard::open()?;
            Some(self.in_turn(Arc::new(AtTerminal::new(keyboard))))
        });
        let servers = Arc::new(Servers::start(configs, &options));
        self.servers.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&servers));
        Some(servers)
    }

    /// The servers of a session; what keeps one from being started is said.
    pub(super) fn session_servers(
        &self,
        folder: &Path,
        arguments: &McpArguments,
    ) -> Result<Option<Arc<Servers>>, Failure> {
        let listed = self.listed_servers(arguments)?;
        for Listed { name, origin, outcome } in &listed {
            if let Err(hindrance) = outcome {
                warn(&plain(&format!(
                    "the MCP server `{name}` ({origin}) is left out: {hindrance}; {}",
                    hindrance.mend()
                )));
            }
        }
        let servers = self.start_servers(folder, listed);
        if let Some(servers) = servers.clone() {
            tokio::spawn(async move {
                servers.settled(PATIENCE).await;
                servers.statuses().iter().filter_map(complaint).for_each(|text| warn(&text));
            });
        }
        Ok(servers)
    }

    /// Starts the server that a tool belongs to, and waits for it.
    pub(crate) async fn servers_of(
        &self,
        tool: &str,
        arguments: &McpArguments,
    ) -> Result<Option<Arc<Servers>>, Failure> {
        if !tool.starts_with("mcp__") {
            return Ok(None);
        }
        let mut listed = self.listed_servers(arguments)?;
        listed.retain(|listed| tool.starts_with(&tool_name(&listed.name, "")));
        if let Some(Listed { name, outcome: Err(hindrance), .. }) = listed.first() {
            let text = format!("the MCP server `{name}`: {hindrance}; {}", hindrance.mend());
            return Err(Failure::new(plain(&text)));
        }
        let servers = self.start_servers(&self.sessions.join("calls"), listed);
        if let Some(servers) = &servers {
            servers.settled(PATIENCE).await;
            servers.statuses().iter().filter_map(complaint).for_each(|text| warn(&text));
        }
        Ok(servers)
    }

    /// How the servers are that were started and have not been ended.
    pub(crate) fn server_statuses(&self) -> Vec<ServerStatus> {
        let servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        servers.iter().flat_map(|servers| servers.statuses()).collect()
    }

    /// Ends all servers in good order.
    pub(crate) async fn end_servers(&self) {
        let servers =
            std::mem::take(&mut *self.servers.lock().unwrap_or_else(PoisonError::into_inner));
        for servers in servers {
            servers.close().await;
        }
    }

    /// Lets questions of the engine and of servers follow each other at one terminal.
    pub(super) fn in_turn(&self, approver: Arc<dyn Approver>) -> Arc<dyn Approver> {
        Arc::new(InTurn { approver, turn: Arc::clone(&self.asking) })
    }
}

/// What is wrong with a server, for a person.
fn complaint(status: &ServerStatus) -> Option<String> {
    let problem = status.problem.as_ref()?;
    let text = format!(
        "the MCP server `{}` ({}): {}; {}",
        status.name,
        status.state.name(),
        problem.text,
        problem.mend
    );
    match status.state {
        ServerState::Failed | ServerState::Reconnecting => Some(plain(&text)),
        ServerState::Starting | ServerState::Connected | ServerState::Closed => None,
    }
}

/// What a model is told of servers whose tools are not there.
pub(super) fn pending(servers: &Servers) -> Vec<String> {
    let statuses = servers.statuses();
    let starting: Vec<String> = statuses
        .iter()
        .filter(|status| status.state == ServerState::Starting)
        .map(|status| format!("`{}`", status.name))
        .collect();
    let mut lines = Vec::new();
    if !starting.is_empty() {
        lines.push(format!(
            "MCP servers that are still starting: {}. Their tools join when they answer; ToolSearch waits for them.",
            starting.join(", ")
        ));
    }
    for status in statuses {
        let is_lost = matches!(status.state, ServerState::Failed | ServerState::Reconnecting);
        if let Some(problem) = status.problem.filter(|_| is_lost) {
            lines.push(format!(
                "The MCP server `{}` is not connected: {}.",
                status.name, problem.text
            ));
        }
    }
    lines
}

fn number(variable: &str) -> Option<usize> {
    std::env::var(variable).ok()?.parse().ok().filter(|number| *number > 0)
}

/// Asks when whoever was asked before has answered.
struct InTurn {
    approver: Arc<dyn Approver>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Approver for InTurn {
    fn ask(
        &self,
        request: ApprovalRequest,
        cancellation: CancellationToken,
    ) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            let _turn = tokio::select! {
                turn = self.turn.lock() => turn,
                () = cancellation.cancelled() => return Answer::Interrupted,
            };
            self.approver.ask(request, cancellation).await
        })
    }
}
