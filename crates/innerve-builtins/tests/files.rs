//! The file tools on real files: Read, Edit, Write, Grep, Glob, and the Agent tool on a spawner of its own.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test says no by a panic"
)]

#[path = "files/agent.rs"]
mod agent;
#[path = "files/cases.rs"]
mod cases;
#[path = "files/conversation.rs"]
mod conversation;
#[path = "files/disk.rs"]
mod disk;
#[path = "files/edit.rs"]
mod edit;
#[path = "files/facts.rs"]
mod facts;
#[path = "files/glob.rs"]
mod glob;
#[path = "files/grep.rs"]
mod grep;
#[path = "files/kit.rs"]
mod kit;
#[cfg(feature = "multi-edit")]
#[path = "files/multi_edit.rs"]
mod multi_edit;
#[path = "files/notebook.rs"]
mod notebook;
#[path = "files/property.rs"]
mod property;
#[path = "files/read.rs"]
mod read;
#[path = "files/schema.rs"]
mod schema;
#[path = "files/task_list.rs"]
mod task_list;
#[cfg(feature = "web")]
#[path = "files/web.rs"]
mod web;
#[cfg(all(feature = "worktree", unix))]
#[path = "files/worktree.rs"]
mod worktree;
#[path = "files/write.rs"]
mod write;
