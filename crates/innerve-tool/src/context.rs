//! What one call needs from its host: id, place, cancellation, progress and a read-only view of the session.

use std::fmt;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;

use innerve_permission::PermissionMode;
use innerve_protocol::{AgentId, SessionId, ToolUseId};
use serde::Serialize;
use serde_json::Value;

use crate::CancellationToken;

/// What one call needs from its host. `P` is the tool's progress type.
#[derive(Debug)]
pub struct CallContext<P = Value> {
    /// The tool use that is being answered.
    pub tool_use_id: ToolUseId,
    /// The session's current directory, absolute.
    pub cwd: PathBuf,
    /// Cancelled when the call must stop.
    pub cancellation: CancellationToken,
    /// Where progress goes.
    pub progress: Reporter<P>,
    /// The session, read-only.
    pub session: Arc<SessionView>,
}

/// What a tool may know of its session.
#[derive(Clone, Debug)]
pub struct SessionView {
    /// The session.
    pub session_id: SessionId,
    /// The sub-agent that calls; `None` in the main conversation.
    pub agent_id: Option<AgentId>,
    /// How deep below the main conversation the caller is; 0 in it.
    pub depth: u32,
    /// The permission mode when the call began.
    pub mode: PermissionMode,
    /// The directory that the session started in, absolute.
    pub original_cwd: PathBuf,
    /// Working directories besides `original_cwd`, absolute.
    pub additional_directories: Vec<PathBuf>,
    /// The user's home directory, absolute.
    pub home: PathBuf,
    /// Names of the tools in the pool, sorted as sent.
    pub tools: Vec<String>,
}

/// Progress of one call, for people only: it never reaches the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgressEvent {
    /// The call.
    pub tool_use_id: ToolUseId,
    /// The call of the Agent tool that this one belongs to, for a sub-agent's calls.
    pub parent_tool_use_id: Option<ToolUseId>,
    /// The tool's own data.
    pub data: Value,
}

/// Takes progress; must not block.
pub trait ProgressSink: Send + Sync {
    /// Takes one event; may drop it when the receiver is slow.
    fn emit(&self, event: ProgressEvent);
}

/// Drops all progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl ProgressSink for Silent {
    fn emit(&self, _event: ProgressEvent) {}
}

/// Reports the progress of one call, typed by the tool's progress type.
pub struct Reporter<P = Value> {
    tool_use_id: ToolUseId,
    sink: Arc<dyn ProgressSink>,
    // `fn(P)` keeps the reporter `Send + Sync` whatever `P` is.
    typed: PhantomData<fn(P)>,
}

impl<P> Reporter<P> {
    /// A reporter for one call.
    pub fn new(tool_use_id: ToolUseId, sink: Arc<dyn ProgressSink>) -> Self {
        Self { tool_use_id, sink, typed: PhantomData }
    }

    /// Where the events go, for a host that starts calls of its own.
    pub fn sink(&self) -> &Arc<dyn ProgressSink> {
        &self.sink
    }
}

impl<P: Serialize> Reporter<P> {
    /// Reports; what cannot be written as JSON is dropped.
    pub fn report(&self, progress: &P) {
        if let Ok(data) = serde_json::to_value(progress) {
            self.sink.emit(ProgressEvent {
                tool_use_id: self.tool_use_id.clone(),
                parent_tool_use_id: None,
                data,
            });
        }
    }
}

impl<P> Clone for Reporter<P> {
    fn clone(&self) -> Self {
        Self {
            tool_use_id: self.tool_use_id.clone(),
            sink: Arc::clone(&self.sink),
            typed: PhantomData,
        }
    }
}

impl<P> fmt::Debug for Reporter<P> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Reporter")
            .field("tool_use_id", &self.tool_use_id)
            .finish_non_exhaustive()
    }
}

impl<P> Clone for CallContext<P> {
    fn clone(&self) -> Self {
        self.typed()
    }
}

impl<P> CallContext<P> {
    /// The same context for another progress type.
    pub fn typed<Q>(&self) -> CallContext<Q> {
        CallContext {
            tool_use_id: self.tool_use_id.clone(),
            cwd: self.cwd.clone(),
            cancellation: self.cancellation.clone(),
            progress: Reporter::new(
                self.progress.tool_use_id.clone(),
                Arc::clone(&self.progress.sink),
            ),
            session: Arc::clone(&self.session),
        }
    }
}
