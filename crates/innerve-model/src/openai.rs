//! OpenAI's Chat Completions and the many servers that imitate it, streaming.

mod accumulate;
mod body;
mod decode;
mod encode;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use innerve_protocol::{Capabilities, Request};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use body::Written;

use crate::endpoint::Endpoint;
use crate::http::{self, Http, KeyHeader};
use crate::{ErrorClass, EventStream, Model, ModelError, list};

/// A provider that speaks OpenAI's Chat Completions.
///
/// ```no_run
/// use innerve_model::{Dialect, Endpoint, OpenAi};
///
/// # fn main() -> Result<(), innerve_model::ModelError> {
/// let model = OpenAi::new(Endpoint::new("http://127.0.0.1:8080/v1"), Dialect::new())?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct OpenAi {
    shared: Arc<Shared>,
}

struct Shared {
    http: Http,
    dialect: Dialect,
    written: Mutex<Written>,
}

impl Shared {
    fn write(&self, request: &Request) -> Result<Vec<u8>, serde_json::Error> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.write(request, &self.dialect)
    }
}

/// Makes tool use ids for servers that give none.
type Ids = Arc<dyn Fn() -> String + Send + Sync>;

/// What a server wants otherwise than OpenAI does; the default suits OpenAI's own and most others.
#[derive(Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent quirks of servers, each off by default"
)]
pub struct Dialect {
    max_completion_tokens: bool,
    no_usage: bool,
    short_ids: bool,
    empty_content: bool,
    parallel_tool_calls: Option<bool>,
    salvage_text: bool,
    lenient_arguments: bool,
    ids: Option<Ids>,
    fields: Map<String, Value>,
    capabilities: Capabilities,
}

impl Default for Dialect {
    fn default() -> Self {
        Self::new()
    }
}

impl Dialect {
    /// What OpenAI's own servers take.
    pub fn new() -> Self {
        Self {
            max_completion_tokens: false,
            no_usage: false,
            short_ids: false,
            empty_content: false,
            parallel_tool_calls: None,
            salvage_text: false,
            lenient_arguments: false,
            ids: None,
            fields: Map::new(),
            capabilities: Capabilities::openai_compatible(),
        }
    }

    /// Sends `max_completion_tokens` instead of `max_tokens`, as OpenAI's reasoning models want.
    #[must_use]
    pub fn max_completion_tokens(mut self) -> Self {
        self.max_completion_tokens = true;
        self
    }

    /// Leaves `stream_options` out, for servers that refuse it; usage is then unknown.
    #[must_use]
    pub fn without_usage(mut self) -> Self {
        self.no_usage = true;
        self
    }

    /// Makes every tool use id exactly nine letters and digits, as Mistral's templates want.
    #[must_use]
    pub fn short_ids(mut self) -> Self {
        self.short_ids = true;
        self
    }

    /// Sends `""` instead of `null` as the content of a message that only uses tools.
    #[must_use]
    pub fn empty_content(mut self) -> Self {
        self.empty_content = true;
        self
    }

    /// Sends `parallel_tool_calls` in every request with tools; llama.cpp needs `true` to allow several.
    #[must_use]
    pub fn parallel_tool_calls(mut self, allowed: bool) -> Self {
        self.parallel_tool_calls = Some(allowed);
        self.capabilities.parallel_tools = allowed;
        self
    }

    /// Reads a response that is nothing but `<tool_call>{…}</tool_call>` as the tool use that the server failed to see.
    ///
    /// Only tools of the request are used. The real cure is at the server (`--jinja`, `--enable-auto-tool-choice`).
    #[must_use]
    pub fn salvage_text(mut self) -> Self {
        self.salvage_text = true;
        self
    }

    /// Reads a top-level argument that is a string where the schema wants something else as JSON, as small models need.
    #[must_use]
    pub fn lenient_arguments(mut self) -> Self {
        self.lenient_arguments = true;
        self
    }

    /// Takes ids for tool uses that came without one from `source`; random ones by default.
    #[must_use]
    pub fn ids(mut self, source: impl Fn() -> String + Send + Sync + 'static) -> Self {
        self.ids = Some(Arc::new(source));
        self
    }

    /// Adds a field to every request's body, such as `reasoning_effort`.
    #[must_use]
    pub fn field(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.fields.insert(name.into(), value.into());
        self
    }

    /// Says what the server's models take, such as the context window.
    #[must_use]
    pub fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    fn new_id(&self) -> String {
        let random = |length| {
            let letters = std::iter::repeat_with(fastrand::alphanumeric).take(length);
            letters.collect::<String>()
        };
        match &self.ids {
            Some(source) => source(),
            None if self.short_ids => random(9),
            None => format!("call_{}", random(24)),
        }
    }
}

impl fmt::Debug for Dialect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Dialect")
            .field("max_completion_tokens", &self.max_completion_tokens)
            .field("no_usage", &self.no_usage)
            .field("short_ids", &self.short_ids)
            .field("empty_content", &self.empty_content)
            .field("parallel_tool_calls", &self.parallel_tool_calls)
            .field("salvage_text", &self.salvage_text)
            .field("lenient_arguments", &self.lenient_arguments)
            .field("fields", &self.fields)
            .field("capabilities", &self.capabilities)
            .finish_non_exhaustive()
    }
}

impl OpenAi {
    /// OpenAI's own address.
    pub const BASE_URL: &'static str = "https://api.openai.com/v1";

    /// A provider at `endpoint` that speaks `dialect`; a base URL without a path gets `/v1`.
    ///
    /// # Errors
    /// When the base URL or a header cannot be used.
    pub fn new(endpoint: Endpoint, dialect: Dialect) -> Result<Self, ModelError> {
        let endpoint = endpoint.default_key_source("OPENAI_API_KEY").with_path_unless_any("/v1");
        let http = Http::new(endpoint, KeyHeader::Bearer)?;
        Ok(Self { shared: Arc::new(Shared { http, dialect, written: Mutex::default() }) })
    }

    /// The ids of the models that the server offers; asking for them costs nothing.
    ///
    /// # Errors
    /// When the server cannot be reached, refuses the key, or has no such list.
    pub async fn list_models(&self) -> Result<Vec<String>, ModelError> {
        list::read(&self.shared.http.get("/models", HeaderMap::new()).await?)
    }
}

impl fmt::Debug for OpenAi {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("OpenAi")
            .field("dialect", &self.shared.dialect)
            .finish_non_exhaustive()
    }
}

impl Model for OpenAi {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn capabilities(&self, _model: &str) -> Capabilities {
        self.shared.dialect.capabilities.clone()
    }

    fn stream(&self, request: Request) -> EventStream {
        let shared = Arc::clone(&self.shared);
        http::open(async move {
            let body = shared.write(&request).map_err(|error| {
                ModelError::new(
                    ErrorClass::Invalid,
                    format!("the request cannot be written as JSON: {error}"),
                )
            })?;
            let mut headers = HeaderMap::new();
            if let Ok(id) = HeaderValue::from_str(&http::client_request_id()) {
                headers.insert(HeaderName::from_static("x-client-request-id"), id);
            }
            let body = shared.http.post("/chat/completions", headers, body).await?;
            Ok(http::decode(body, decode::Decoder::new(&shared.dialect, request.tools)))
        })
    }
}
