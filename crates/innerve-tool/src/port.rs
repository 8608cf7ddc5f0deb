//! Ports: what built-in tools need from their host, so that no tool depends on who runs it.
//!
//! ```text
//!   innerve-builtins ──uses──►  innerve-tool::port  ◄──implements── innerve-builtins (disk, processes), innerve-agent
//!                                                                   (sub-agents, tasks, journal), innerve-acp (editor)
//! ```

mod files;
mod process;
mod services;
mod session;

pub use files::{
    ChangeJournal, DirEntry, FileChange, FileKind, FileLedger, FileMetadata, FileReader,
    FileSystem, ReadRecord, WriteCondition,
};
pub use process::{
    ExitStatus, OutputSink, ProcessRequest, ProcessRunner, RunningProcess, StdStream,
};
pub use services::{CatalogEntry, SearchHit, SmallModel, ToolCatalog, WebSearcher};
pub use session::{
    AgentType, Clock, Isolation, ListNews, ListStep, OutputSpool, SpoolFile, SubagentError,
    SubagentOutcome, SubagentRequest, SubagentSpawner, TaskError, TaskId, TaskKind, TaskListStore,
    TaskRegistry, TaskState, TaskStatus, Worktrees,
};
