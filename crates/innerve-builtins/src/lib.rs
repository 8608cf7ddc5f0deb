#![doc = include_str!("../README.md")]

#[cfg(feature = "agent")]
pub mod agent;
#[cfg(feature = "bash")]
pub mod bash;
#[cfg(feature = "edit")]
pub mod edit;
#[cfg(feature = "glob")]
pub mod glob;
#[cfg(feature = "grep")]
pub mod grep;
#[cfg(feature = "host")]
pub mod host;
#[cfg(feature = "notebook")]
pub mod notebook;
#[cfg(feature = "plan")]
pub mod plan;
#[cfg(feature = "question")]
pub mod question;
#[cfg(feature = "read")]
pub mod read;
#[cfg(feature = "sandbox")]
pub mod sandbox;
#[cfg(feature = "task")]
pub mod task;
#[cfg(feature = "task-list")]
pub mod task_list;
#[cfg(feature = "todo")]
pub mod todo;
#[cfg(feature = "tool-search")]
pub mod tool_search;
#[cfg(feature = "web")]
pub mod web;
#[cfg(feature = "worktree")]
pub mod worktree;
#[cfg(feature = "write")]
pub mod write;

#[cfg_attr(
    not(any(feature = "edit", feature = "write")),
    expect(dead_code, reason = "changes need more of it than reads")
)]
mod access;
#[cfg(any(feature = "sandbox", feature = "web"))]
mod address;
#[cfg(all(
    feature = "agent",
    feature = "bash",
    feature = "edit",
    feature = "glob",
    feature = "grep",
    feature = "read",
    feature = "write"
))]
mod assembly;
pub mod code;
#[cfg(any(feature = "edit", feature = "write"))]
#[cfg_attr(not(feature = "edit"), expect(dead_code, reason = "Edit alone shows a snippet"))]
mod diff;
#[cfg_attr(
    not(all(
        any(feature = "read", feature = "edit"),
        any(feature = "grep", feature = "glob"),
        any(feature = "edit", feature = "write", feature = "glob")
    )),
    expect(dead_code, reason = "each tool needs its part of it")
)]
mod paths;
#[cfg(any(
    feature = "agent",
    feature = "grep",
    feature = "multi-edit",
    feature = "notebook",
    feature = "question",
    feature = "task-list",
    feature = "todo",
    feature = "websocket",
    feature = "worktree"
))]
mod schema;
#[cfg(any(feature = "grep", feature = "glob"))]
#[cfg_attr(not(feature = "grep"), expect(dead_code, reason = "Glob disregards ignore files"))]
mod search;
pub mod show;
#[cfg(any(feature = "read", feature = "edit", feature = "write"))]
#[cfg_attr(not(feature = "edit"), expect(dead_code, reason = "Edit alone needs all of it"))]
mod text;

pub use access::{FileAccess, Hidden, content_hash};
#[cfg(all(
    feature = "agent",
    feature = "bash",
    feature = "edit",
    feature = "glob",
    feature = "grep",
    feature = "read",
    feature = "write"
))]
pub use assembly::{Host, builtins};
#[cfg(any(feature = "edit", feature = "write"))]
pub use diff::{Diff, Hunk};
