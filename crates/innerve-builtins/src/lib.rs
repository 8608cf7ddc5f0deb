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
#[cfg(feature = "read")]
pub mod read;
#[cfg(feature = "write")]
pub mod write;

mod access;
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
mod diff;
mod paths;
#[cfg(any(feature = "agent", feature = "grep"))]
mod schema;
#[cfg(any(feature = "grep", feature = "glob"))]
mod search;
#[cfg(any(feature = "read", feature = "edit", feature = "write"))]
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
