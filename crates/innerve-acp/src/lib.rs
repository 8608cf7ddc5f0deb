//! The agent of innerve for editors: an Agent Client Protocol agent over any pair of streams.
#![doc = include_str!("../README.md")]

mod asking;
mod calls;
mod editor;
mod error;
mod files;
#[cfg(unix)]
mod frame;
mod host;
mod modes;
mod prompt;
#[cfg(unix)]
mod relay;
mod serve;
mod session;
mod show;
#[cfg(unix)]
mod terminal;
mod updates;

pub use editor::Editor;
pub use error::AcpError;
pub use host::{Host, HostedSession, Opening};
#[cfg(unix)]
pub use relay::{RELAY_WORD, relay};
pub use serve::serve;
#[cfg(unix)]
pub use terminal::Launch;
