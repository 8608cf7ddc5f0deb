//! What a call gives back: data, messages and changes to the session, all of it plain data.

use std::path::PathBuf;

use innerve_permission::PermissionMode;
use innerve_protocol::Message;

/// What a successful call gives back.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput<T> {
    /// The tool's own data.
    pub data: T,
    /// Messages to append after the result.
    pub messages: Vec<Message>,
    /// Changes to the session, applied after the batch that the call belongs to.
    pub changes: Vec<SessionChange>,
    /// Where the tool has already put its full output, so that the budget need not copy it.
    pub spooled: Option<Spooled>,
}

/// A file that holds the full output of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spooled {
    /// The file, absolute.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// The size of the whole output in bytes: more than the file has, if the file was capped or the disk is full.
    pub total: u64,
}

impl<T> ToolOutput<T> {
    /// Data alone.
    pub fn new(data: T) -> Self {
        Self { data, messages: Vec::new(), changes: Vec::new(), spooled: None }
    }
}

/// A change to the session that a call asks for; the host applies or refuses it.
///
/// A change that loosens permissions ([`Self::SetMode`] to a wider mode, [`Self::LeavePlan`]) counts only when the
/// approver's answer carried it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionChange {
    /// Sets the permission mode.
    SetMode(PermissionMode),
    /// Leaves plan mode for the mode before it.
    LeavePlan,
    /// Moves the session to another directory, absolute.
    SetCwd(PathBuf),
    /// Makes another directory the session's root (a worktree), absolute.
    SetRoot(PathBuf),
    /// Adds working directories, absolute.
    AddDirectories(Vec<PathBuf>),
    /// Loads deferred tools by name.
    LoadTools(Vec<String>),
    /// Replaces the todo list, as JSON of the tool's own shape.
    SetTodos(serde_json::Value),
}
