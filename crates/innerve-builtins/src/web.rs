//! The tools for the web: `WebFetch` reads one page, `WebSearch` finds pages.
//!
//! A model chooses the addresses, so that a page must not become a way into the network that the agent stands in: every
//! name is resolved here, only public addresses count, and the connection goes to an address that was checked.

mod address;
mod body;
mod cache;
mod client;
mod fetch;
mod markdown;
mod search;
mod searxng;

pub use fetch::{WebFetchInput, WebFetchOutput, WebFetchTool};
pub use search::{WebSearchHit, WebSearchInput, WebSearchOutput, WebSearchTool};
pub use searxng::SearxngSearcher;
