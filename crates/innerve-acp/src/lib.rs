//! The agent of innerve for editors: an Agent Client Protocol agent over any pair of streams.
#![doc = include_str!("../README.md")]

mod asking;
mod editor;
mod error;
mod files;
mod host;
mod modes;
mod prompt;
mod serve;
mod session;
mod show;
mod updates;

pub use editor::Editor;
pub use error::AcpError;
pub use host::{Host, HostedSession, Opening};
pub use serve::serve;
