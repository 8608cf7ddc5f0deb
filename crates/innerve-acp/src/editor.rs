//! The editor as a session sees it: where its questions, its files and its commands go.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ClientCapabilities, SessionId, SessionNotification, SessionUpdate,
};
use agent_client_protocol::{Client, Error};
use innerve_pipeline::Approver;
use innerve_tool::port::FileSystem;

#[cfg(unix)]
use {
    crate::Launch,
    crate::terminal::EditorProcesses,
    agent_client_protocol::v1::schema::TerminalId,
    innerve_protocol::ToolUseId,
    innerve_tool::port::ProcessRunner,
    std::sync::atomic::{AtomicBool, Ordering},
};

use crate::Host;
use crate::asking::EditorApprover;
use crate::calls::Calls;
use crate::files::EditorFiles;

/// The editor's side of one session. Clones speak for the same session.
#[derive(Clone)]
pub struct Editor {
    #[cfg_attr(not(unix), expect(dead_code, reason = "only terminals have something to tell it"))]
    host: Arc<dyn Host>,
    connection: ConnectionTo<Client>,
    capabilities: Arc<ClientCapabilities>,
    cwd: Arc<Path>,
    /// Known as soon as the session is open.
    session: Arc<OnceLock<SessionId>>,
    calls: Arc<Mutex<Calls>>,
    /// Whether its terminals were found not to work.
    #[cfg(unix)]
    has_no_terminals: Arc<AtomicBool>,
}

impl Editor {
    pub(crate) fn new(
        host: Arc<dyn Host>,
        connection: ConnectionTo<Client>,
        capabilities: Arc<ClientCapabilities>,
        cwd: &Path,
    ) -> Self {
        Self {
            host,
            connection,
            capabilities,
            cwd: cwd.into(),
            session: Arc::default(),
            calls: Arc::default(),
            #[cfg(unix)]
            has_no_terminals: Arc::default(),
        }
    }

    /// Puts questions to the person at the editor.
    pub fn approver(&self) -> Arc<dyn Approver> {
        Arc::new(EditorApprover::new(self.clone()))
    }

    /// Files as the editor has them, unsaved changes included, and edits through the editor; `disk` does what the
    /// protocol cannot. An editor without file capabilities leaves `disk` as it is.
    pub fn files(&self, disk: Arc<dyn FileSystem>) -> Arc<dyn FileSystem> {
        let fs = &self.capabilities.fs;
        if !fs.read_text_file && !fs.write_text_file {
            return disk;
        }
        Arc::new(EditorFiles::new(self.clone(), disk, fs.read_text_file, fs.write_text_file))
    }

    /// Processes that the person sees: the commands of tool uses run in terminals of the editor, by the program that
    /// `launch` names and that calls [`relay`](crate::relay()) there; `host` starts everything else.
    ///
    /// Output, exit codes and the end of a whole group are as `host` has them, and nothing that a command leaves in its
    /// background outlives what is returned. An editor without terminals leaves `host` as it is; where one does not work,
    /// as in an editor on another machine, the command runs by `host`, and the host of the session is told once.
    #[cfg(unix)]
    pub fn processes(
        &self,
        host: Arc<dyn ProcessRunner>,
        launch: Launch,
    ) -> Arc<dyn ProcessRunner> {
        if !self.capabilities.terminal {
            return host;
        }
        Arc::new(EditorProcesses::new(self.clone(), host, launch))
    }

    #[cfg(unix)]
    pub(crate) fn lends_terminals(&self) -> bool {
        !self.has_no_terminals.load(Ordering::Relaxed)
    }

    /// Asks for no terminal any more, and says so.
    #[cfg(unix)]
    pub(crate) fn does_without_terminals(&self, why: &str) {
        if !self.has_no_terminals.swap(true, Ordering::Relaxed) {
            self.host.warn(&format!(
                "commands do not run in the editor's terminals but as processes of innerve: {why}"
            ));
        }
    }

    /// Shows a terminal with the call that it is for.
    #[cfg(unix)]
    pub(crate) fn show_terminal(&self, tool_use: &ToolUseId, terminal: &TerminalId) {
        let mut calls = self.calls();
        if let Some(update) = calls.show(tool_use.as_str(), terminal) {
            // Without an editor the run ends by itself.
            let _gone = self.send(update);
        }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn connection(&self) -> &ConnectionTo<Client> {
        &self.connection
    }

    /// Where the session began: what paths are shown from.
    pub(crate) fn cwd(&self) -> &Path {
        &self.cwd
    }

    pub(crate) fn is_session(&self, id: SessionId) {
        let _only_once = self.session.set(id);
    }

    /// The session; `None` while it is being opened.
    pub(crate) fn session(&self) -> Option<SessionId> {
        self.session.get().cloned()
    }

    /// Tells the editor something about the session.
    pub(crate) fn tell(&self, update: SessionUpdate) -> Result<(), Error> {
        // Held while it is sent, so that no terminal is told of before its call.
        let mut calls = self.calls();
        let update = calls.follow(update);
        self.send(update)
    }

    fn send(&self, update: SessionUpdate) -> Result<(), Error> {
        let Some(session) = self.session() else { return Ok(()) };
        self.connection.send_notification(SessionNotification::new(session, update))
    }
}

impl fmt::Debug for Editor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Editor").field("session", &self.session).finish_non_exhaustive()
    }
}
