//! Searches through a `SearXNG` server (or what answers like one), whose address a person configured.

use std::fmt;
use std::time::Duration;

use innerve_tool::port::{SearchHit, WebSearcher};
use innerve_tool::{BoxFuture, ToolError, code as tool_code};
use reqwest::{Client, Url};
use serde_json::Value;

use super::client;
use crate::code;

/// How much of an answer is read.
const MAX_BYTES: usize = 2 << 20;
/// How long an answer may take.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// Asks `<endpoint>/search?q=…&format=json` (`SearXNG` documentation, "Search API").
#[derive(Clone)]
pub struct SearxngSearcher {
    endpoint: Url,
}

impl SearxngSearcher {
    /// A searcher at this address, which may be on a private network: a person named it.
    pub fn new(endpoint: &str) -> Result<Self, ToolError> {
        let invalid = |problem: &str| {
            ToolError::invalid(format!("the search server `{endpoint}` cannot be used: {problem}"))
        };
        let mut endpoint = Url::parse(endpoint).map_err(|error| invalid(&error.to_string()))?;
        if !matches!(endpoint.scheme(), "http" | "https") || endpoint.host_str().is_none() {
            return Err(invalid("give an address such as https://search.example.com"));
        }
        let path = endpoint.path().trim_end_matches('/').to_owned();
        if !path.ends_with("/search") {
            endpoint.set_path(&format!("{path}/search"));
        }
        Ok(Self { endpoint })
    }

    async fn ask(&self, query: &str) -> Result<Vec<SearchHit>, ToolError> {
        client::install_provider();
        let mut url = self.endpoint.clone();
        url.query_pairs_mut().append_pair("q", query).append_pair("format", "json");
        let builder = Client::builder()
            .user_agent(concat!("innerve/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .timeout(TIME_LIMIT);
        // Reading the system's certificates takes time, and minimal systems have none.
        let builder = if url.scheme() == "http" { builder.tls_certs_only([]) } else { builder };
        let failed = |error: reqwest::Error| client::failed(&self.endpoint, &error);
        let response = builder.build().map_err(failed)?.get(url).send().await.map_err(failed)?;
        let status = response.status();
        let (bytes, _) = client::read(response, &self.endpoint, MAX_BYTES).await?;
        if !status.is_success() {
            let advice = if status.as_u16() == 403 {
                "; its settings must allow the format json"
            } else {
                ""
            };
            let message = format!("the search server answered {status}{advice}");
            return Err(ToolError::new(code::HTTP_STATUS, message));
        }
        let answer: Value = serde_json::from_slice(&bytes).map_err(|error| {
            ToolError::new(
                tool_code::FAILED,
                format!("the answer of the search server is no JSON: {error}"),
            )
        })?;
        let text = |hit: &Value, field: &str| {
            hit.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let hits = answer.get("results").and_then(Value::as_array).into_iter().flatten();
        Ok(hits
            .map(|hit| SearchHit {
                title: text(hit, "title"),
                url: text(hit, "url"),
                snippet: text(hit, "content"),
            })
            .collect())
    }
}

impl WebSearcher for SearxngSearcher {
    fn search<'a>(
        &'a self,
        query: &'a str,
        allowed: &'a [String],
        _blocked: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<SearchHit>, ToolError>> {
        // Most engines behind such a server know `site:`; the tool leaves out what comes all the same.
        let sites: Vec<String> = allowed.iter().map(|host| format!("site:{host}")).collect();
        Box::pin(async move {
            if sites.is_empty() {
                return self.ask(query).await;
            }
            self.ask(&format!("{query} {}", sites.join(" OR "))).await
        })
    }
}

impl fmt::Debug for SearxngSearcher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.endpoint.host_str().unwrap_or_default();
        formatter.debug_struct("SearxngSearcher").field("host", &host).finish()
    }
}
