//! The port to the program around: it makes the agents, this crate shows them to an editor.

use std::path::PathBuf;

use innerve_agent::Agent;
use innerve_tool::BoxFuture;
use serde_json::{Map, Value};

use crate::{AcpError, Editor};

/// Opens sessions.
pub trait Host: Send + Sync + 'static {
    /// Opens a session, a new one or a past one. May read files; must not wait for anything else.
    ///
    /// A new [`Agent`] must be started in a session whose id can be given to `opening.past` later.
    fn open(&self, opening: Opening) -> Result<Box<dyn HostedSession>, AcpError>;

    /// Tells a person something; never on the stream that the protocol runs over.
    fn warn(&self, text: &str);
}

/// What an editor asks for.
#[derive(Clone, Debug)]
pub struct Opening {
    /// The session to go on with; a new one if `None`.
    pub past: Option<String>,
    /// The directory, absolute.
    pub cwd: PathBuf,
    /// More working directories, absolute.
    pub additional_directories: Vec<PathBuf>,
    /// MCP servers that the editor names, by name, in the form of `mcpServers` in `.mcp.json`.
    pub mcp_servers: Map<String, Value>,
    /// The editor's side of the tools' and the pipeline's ports.
    pub editor: Editor,
}

/// A session that a host has opened.
pub trait HostedSession: Send + Sync {
    /// The agent.
    fn agent(&self) -> &Agent;

    /// Called before a prompt and between its rounds, so that changed settings can count. By default nothing happens.
    fn refresh(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Ends what belongs to the session.
    fn close(&self) -> BoxFuture<'_, ()>;
}
