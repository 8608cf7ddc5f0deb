//! MCP in the words of innerve: names that a model may use, hints that grant nothing.
#![doc = include_str!("../README.md")]

mod hints;
mod name;

pub use hints::{Annotations, Hints};
pub use name::tool_name;
