//! Processes: started in a group of their own, output drained, ended as a whole.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use innerve_protocol::ToolUseId;

use crate::BoxFuture;

/// Starts processes: on this machine (`innerve-builtins`), or in an editor's terminal (`innerve-acp`).
///
/// Whoever implements it keeps the two streams apart, gives the whole output to the sink, and leaves no process of a
/// group behind that was killed or dropped.
pub trait ProcessRunner: Send + Sync {
    /// Starts a process in a group of its own, with nothing on standard input.
    ///
    /// Dropped before it is ready, it starts nothing, or ends what it has started.
    fn spawn(
        &self,
        request: ProcessRequest,
        output: Arc<dyn OutputSink>,
    ) -> BoxFuture<'_, io::Result<Box<dyn RunningProcess>>>;

    /// Waits until nothing runs any more of what was started here, what ended processes have left behind included. By
    /// default it is not known that anything does.
    fn all_ended(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// What to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessRequest {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its directory, absolute.
    pub cwd: PathBuf,
    /// Variables to set.
    pub env: Vec<(String, String)>,
    /// Variables to remove from the inherited environment; a trailing `*` removes all that begin so.
    pub env_remove: Vec<String>,
    /// The tool use whose command this is; `None` for what a tool runs for itself, such as git of a worktree. An editor
    /// shows the former in a terminal.
    pub tool_use: Option<ToolUseId>,
}

/// A started process; dropping it ends its group.
pub trait RunningProcess: Send {
    /// The operating system's id, if it still has one.
    fn id(&self) -> Option<u32>;

    /// Waits for the process itself, not for children that hold its pipes, then a short while for late output.
    fn wait(&mut self) -> BoxFuture<'_, io::Result<ExitStatus>>;

    /// Ends the whole group: asks first, then forces, and waits until it is gone.
    fn kill(&mut self) -> BoxFuture<'_, io::Result<()>>;
}

/// Takes output as it comes; must be quick, and must bound what it keeps.
pub trait OutputSink: Send + Sync {
    /// Takes bytes; pieces of both streams come in the order in which they were read.
    fn write(&self, stream: StdStream, bytes: &[u8]);
}

/// Which stream bytes came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StdStream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}
