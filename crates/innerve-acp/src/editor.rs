//! The editor as a session sees it: where its questions and its files go.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ClientCapabilities, SessionId, SessionNotification, SessionUpdate,
};
use agent_client_protocol::{Client, Error};
use innerve_pipeline::Approver;
use innerve_tool::port::FileSystem;

use crate::asking::EditorApprover;
use crate::files::EditorFiles;

/// The editor's side of one session. Clones speak for the same session.
#[derive(Clone)]
pub struct Editor {
    connection: ConnectionTo<Client>,
    capabilities: Arc<ClientCapabilities>,
    cwd: Arc<Path>,
    /// Known as soon as the session is open.
    session: Arc<OnceLock<SessionId>>,
}

impl Editor {
    pub(crate) fn new(
        connection: ConnectionTo<Client>,
        capabilities: Arc<ClientCapabilities>,
        cwd: &Path,
    ) -> Self {
        Self { connection, capabilities, cwd: cwd.into(), session: Arc::default() }
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
        let Some(session) = self.session() else { return Ok(()) };
        self.connection.send_notification(SessionNotification::new(session, update))
    }
}

impl fmt::Debug for Editor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Editor").field("session", &self.session).finish_non_exhaustive()
    }
}
