//! Services: the catalog of tools, a small model, a web search.

use crate::{BoxFuture, ToolError};

/// Sees the deferred tools of the agent that asks; bound late, since the pool holds the tool that asks.
pub trait ToolCatalog: Send + Sync {
    /// All tools that may be searched for, in the order of the pool.
    fn entries(&self) -> Vec<CatalogEntry>;

    /// Waits until no server is still starting that may bring more tools; only for a bounded time.
    fn settled(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// What may still bring more tools, or why it does not, a sentence each: servers that start or have failed.
    fn pending(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A tool as a search sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CatalogEntry {
    /// Its name.
    pub name: String,
    /// Its former names.
    pub aliases: Vec<String>,
    /// Its description.
    pub description: String,
    /// Its input schema.
    pub input_schema: serde_json::Value,
    /// Words that it should be found by.
    pub search_hint: String,
    /// Whether the model has its schema already.
    pub loaded: bool,
}

/// A quick model for small questions, such as what a page says.
pub trait SmallModel: Send + Sync {
    /// Answers a question about a text.
    fn ask<'a>(
        &'a self,
        system: &'a str,
        prompt: &'a str,
        max_tokens: u32,
    ) -> BoxFuture<'a, Result<String, ToolError>>;
}

/// Searches the web.
pub trait WebSearcher: Send + Sync {
    /// Searches; `allowed` and `blocked` are host names, at most one of them is non-empty.
    fn search<'a>(
        &'a self,
        query: &'a str,
        allowed: &'a [String],
        blocked: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<SearchHit>, ToolError>>;
}

/// A page that a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchHit {
    /// Its title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// A piece of its text.
    pub snippet: String,
}
