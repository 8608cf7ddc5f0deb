//! MCP in the words of innerve: servers' tools as tools like any other, names and hints that grant nothing.
#![doc = include_str!("../README.md")]

mod client;
pub mod code;
mod config;
mod connect;
mod content;
mod elicit;
mod hints;
mod link;
mod name;
mod serve;
mod servers;
mod tool;
mod transport;
#[cfg(unix)]
mod watchdog;

pub use config::{ConfigError, ServerConfig, Transport};
pub use link::{Problem, ServerState};
pub use name::tool_name;
pub use serve::{ClientApprover, Host, ServeError, serve};
pub use servers::{Options, ServerStatus, Servers};
pub use tool::LeftOut;
