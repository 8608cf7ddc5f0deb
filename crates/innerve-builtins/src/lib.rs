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
pub mod code;
#[cfg(any(feature = "edit", feature = "write"))]
mod diff;
mod paths;
#[cfg(any(feature = "read", feature = "edit", feature = "write"))]
mod text;

pub use access::{FileAccess, Hidden, content_hash};
#[cfg(any(feature = "edit", feature = "write"))]
pub use diff::{Diff, Hunk};
