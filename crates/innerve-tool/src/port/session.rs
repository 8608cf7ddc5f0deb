//! The session: time, sub-agents, background tasks and spooled output.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use innerve_permission::PermissionMode;
use innerve_protocol::{AgentId, ToolUseId, Usage};
use serde::Serialize;
use serde_json::Value;
use thiserror::Error;

use crate::{BoxFuture, CallContext};

/// Time, so that lower layers need no runtime and tests need not wait.
pub trait Clock: Send + Sync {
    /// The time of day.
    fn now(&self) -> SystemTime;
    /// Time that never goes back.
    fn instant(&self) -> Instant;
    /// Waits.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

/// Starts sub-agents; the loop implements it, the Agent tool uses it.
pub trait SubagentSpawner: Send + Sync {
    /// The types that may be started, sorted by name.
    fn agent_types(&self) -> Vec<AgentType>;

    /// Runs a sub-agent to its end, or starts it in the background. It ends with the call's cancellation, and its
    /// permissions are the caller's or tighter.
    fn spawn(
        &self,
        request: SubagentRequest,
        context: CallContext,
    ) -> BoxFuture<'_, Result<SubagentOutcome, SubagentError>>;
}

/// A type of sub-agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentType {
    /// Its name.
    pub name: String,
    /// When to use it, in words for a model.
    pub description: String,
}

/// What a sub-agent is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubagentRequest {
    /// A few words for people.
    pub description: String,
    /// The task.
    pub prompt: String,
    /// The type; the general one if `None`.
    pub agent_type: Option<String>,
    /// The model; inherited if `None`.
    pub model: Option<String>,
    /// The mode asked for; may only tighten.
    pub mode: Option<PermissionMode>,
    /// Whether to return at once.
    pub background: bool,
    /// Where it works.
    pub isolation: Isolation,
}

/// Where a sub-agent works.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// Where its parent works.
    #[default]
    None,
    /// In a git worktree of its own.
    Worktree,
    /// In this directory, absolute.
    Directory(PathBuf),
}

/// Gives sub-agents git worktrees of their own.
pub trait Worktrees: Send + Sync {
    /// Makes a worktree of the repository around `near`, from what is committed there. The name is plain; the error is a
    /// sentence for the model.
    fn make<'a>(&'a self, near: &'a Path, name: &'a str) -> BoxFuture<'a, Result<PathBuf, String>>;
    /// Removes a worktree that was made, unless work in it would be lost; says whether it is gone.
    fn clear<'a>(&'a self, worktree: &'a Path, near: &'a Path) -> BoxFuture<'a, bool>;
}

/// How a sub-agent ended.
#[derive(Clone, Debug, PartialEq)]
pub enum SubagentOutcome {
    /// It ran to its end.
    Completed {
        /// Its id.
        agent_id: AgentId,
        /// Its last words.
        text: String,
        /// How it ended, if not by being done.
        note: Option<String>,
        /// How many tools it used.
        tool_uses: u32,
        /// How long it took.
        duration: Duration,
        /// The tokens it cost.
        usage: Usage,
    },
    /// It goes on in the background.
    Launched {
        /// Its id.
        agent_id: AgentId,
        /// The task it is registered as.
        task_id: TaskId,
    },
}

/// Why a sub-agent did not start or did not end well.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SubagentError {
    /// There is no such type.
    #[error("there is no agent type `{name}`; available: {}", available.join(", "))]
    UnknownType {
        /// The name given.
        name: String,
        /// The names there are.
        available: Vec<String>,
    },
    /// Too deep or too many.
    #[error("{0}")]
    Limit(String),
    /// What was asked for is not available here.
    #[error("{0}")]
    Unsupported(String),
    /// It failed.
    #[error("the agent ended early: {0}")]
    Failed(String),
    /// It was cancelled.
    #[error("the agent was interrupted")]
    Interrupted,
}

/// The id of a background task: a letter for its kind and eight characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct TaskId(String);

impl TaskId {
    /// Wraps the text as it came.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What a background task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskKind {
    /// A shell command.
    Shell,
    /// A sub-agent.
    Agent,
    /// A monitor.
    Monitor,
}

/// Keeps account of background work; one per session, shared by all agents.
pub trait TaskRegistry: Send + Sync {
    /// Registers a task; `stop` ends it.
    fn register(
        &self,
        kind: TaskKind,
        description: &str,
        output: Option<PathBuf>,
        stop: crate::CancellationToken,
    ) -> Result<TaskId, TaskError>;
    /// Says what became of a task.
    fn update(&self, id: &TaskId, state: TaskState);
    /// Tells something of a running task, such as a line that a monitor saw: the next turn is told. By default nobody is.
    fn report(&self, id: &TaskId, event: String) {
        let _ = id;
        drop(event);
    }
    /// What was told of running tasks since the last call, oldest first.
    fn take_events(&self) -> Vec<(TaskId, String)> {
        Vec::new()
    }
    /// All tasks, oldest first.
    fn list(&self) -> Vec<TaskStatus>;
    /// One task.
    fn get(&self, id: &TaskId) -> Option<TaskStatus>;
    /// Ends a task.
    fn stop(&self, id: &TaskId) -> Result<(), TaskError>;
}

/// What is known of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskStatus {
    /// Its id.
    pub id: TaskId,
    /// Its kind.
    pub kind: TaskKind,
    /// A few words for people.
    pub description: String,
    /// How it stands.
    pub state: TaskState,
    /// The file that holds its output.
    pub output: Option<PathBuf>,
}

/// How a task stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskState {
    /// It runs.
    Running,
    /// It ended well, with this summary.
    Completed(String),
    /// It failed, with this summary.
    Failed(String),
    /// It was stopped.
    Killed,
}

/// Why a task cannot be registered or stopped.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TaskError {
    /// There is no such task.
    #[error("there is no background task `{0}`")]
    Unknown(TaskId),
    /// It has ended already.
    #[error("background task `{0}` has already ended")]
    Ended(TaskId),
    /// Background work is not available.
    #[error("background tasks are not available here")]
    Unavailable,
}

/// Keeps the list of things to do of a session: one for an agent and its sub-agents, there again when the session goes on.
/// It has nothing to do with background work, which [`TaskRegistry`] keeps account of.
pub trait TaskListStore: Send + Sync {
    /// Hands over the list as it is (`Null` as long as there is none), and keeps what `change` makes of it before this
    /// returns; `None` leaves it as it is. Nobody else changes it meanwhile. The shape is the business of the tools.
    ///
    /// # Errors
    /// It cannot be read, and `change` was not called; or it cannot be kept, and is as it was.
    fn change(&self, change: &mut dyn FnMut(&Value) -> Option<Value>) -> io::Result<()>;

    /// Tells those who listen that a task was put on the list, or that it is to be done; an error is why it must not be.
    /// Nobody listens by default.
    fn announce(&self, news: ListNews) -> BoxFuture<'_, Result<(), String>> {
        drop(news);
        Box::pin(std::future::ready(Ok(())))
    }
}

/// What is told of a task of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListNews {
    /// What happens to it.
    pub step: ListStep,
    /// Its number.
    pub id: String,
    /// What to do, in a few words.
    pub subject: String,
    /// All of what to do; may be empty.
    pub description: String,
}

/// What happens to a task of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListStep {
    /// It was put there.
    Created,
    /// It is to count as done.
    Completed,
}

/// Takes output that is too large for a conversation straight to disk.
pub trait OutputSpool: Send + Sync {
    /// Starts a file for a call; it is private to the user.
    fn create(&self, tool_use_id: &ToolUseId) -> io::Result<Box<dyn SpoolFile>>;
}

/// A file that output is spooled to.
pub trait SpoolFile: Send {
    /// Appends; after the cap, or after an error of the disk, bytes are counted and dropped.
    fn write(&mut self, bytes: &[u8]);
    /// The file, absolute.
    fn path(&self) -> PathBuf;
    /// Bytes that were given, and bytes that are in the file.
    fn counts(&self) -> (u64, u64);
    /// Removes the file: its content fitted into the conversation.
    fn discard(self: Box<Self>);
    /// Keeps the file.
    fn keep(self: Box<Self>) -> io::Result<()>;
}
