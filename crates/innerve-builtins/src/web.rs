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

#[cfg(feature = "websocket")]
pub(crate) use client::{checked_addresses, install_provider};
pub use fetch::{WebFetchInput, WebFetchOutput, WebFetchTool};
pub use search::{WebSearchHit, WebSearchInput, WebSearchOutput, WebSearchTool};
pub use searxng::SearxngSearcher;

/// A text by strangers between two tags, the second of which it cannot hold itself.
fn fenced(tag: &str, text: &str) -> String {
    let end = format!("</{tag}");
    let lower = text.to_ascii_lowercase();
    let mut inside = String::with_capacity(text.len());
    let mut from = 0;
    for (place, _) in lower.match_indices(&end) {
        inside.push_str(text.get(from..place).unwrap_or_default());
        inside.push_str("< ");
        from = place + 1;
    }
    inside.push_str(text.get(from..).unwrap_or_default());
    format!("<{tag}>\n{inside}\n</{tag}>")
}
