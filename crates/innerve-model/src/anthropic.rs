//! Anthropic's Messages API, streaming.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use innerve_protocol::{Assembler, Capabilities, Request, StreamEvent, Thinking, WireEvent};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;

use crate::endpoint::Endpoint;
use crate::http::{self, Decode, Http, KeyHeader};
use crate::{ErrorClass, EventStream, Model, ModelError, known_capabilities, list, references};

/// Models whose refusals are remembered at most.
const LEARNED_LIMIT: usize = 64;
/// The smallest thinking budget that the API takes.
const MIN_BUDGET: u32 = 1024;

/// A provider that speaks Anthropic's Messages API.
///
/// A model that refuses the kind of thinking that was asked for is asked again once with a kind that it takes, and
/// [`Model::capabilities`] knows it from then on.
///
/// ```no_run
/// use innerve_model::{Anthropic, Endpoint};
///
/// # fn main() -> Result<(), innerve_model::ModelError> {
/// let endpoint = Endpoint::new(Anthropic::BASE_URL).api_key("…", "ANTHROPIC_API_KEY");
/// let model = Anthropic::new(endpoint)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Anthropic {
    shared: Arc<Shared>,
}

struct Shared {
    http: Http,
    /// Whether the server is one that takes references to deferred tools.
    tool_references: bool,
    learned: Mutex<HashMap<String, Refused>>,
}

/// Kinds of thinking that a model refused.
#[derive(Clone, Copy, Debug, Default)]
struct Refused {
    enabled: bool,
    adaptive: bool,
    disabled: bool,
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(flatten)]
    request: &'a Request,
    stream: bool,
}

impl Anthropic {
    /// Anthropic's own address.
    pub const BASE_URL: &'static str = "https://api.anthropic.com";

    /// A provider at `endpoint`; a base URL may end in `/v1` or not.
    ///
    /// # Errors
    /// When the base URL or a header cannot be used.
    pub fn new(endpoint: Endpoint) -> Result<Self, ModelError> {
        let endpoint = endpoint.default_key_source("ANTHROPIC_API_KEY").strip_path("/v1");
        let tool_references =
            endpoint.takes_tool_references() || endpoint.base_url() == Self::BASE_URL;
        let http = Http::new(endpoint, KeyHeader::XApiKey)?;
        Ok(Self { shared: Arc::new(Shared { http, tool_references, learned: Mutex::default() }) })
    }

    /// The ids of the models that the provider offers, newest first; asking for them costs nothing.
    ///
    /// # Errors
    /// When the provider cannot be reached, refuses the key, or has no such list.
    pub async fn list_models(&self) -> Result<Vec<String>, ModelError> {
        let document = self.shared.http.get("/v1/models?limit=1000", headers()).await?;
        list::read(&document)
    }
}

fn headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    headers
}

impl fmt::Debug for Anthropic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Anthropic").finish_non_exhaustive()
    }
}

impl Model for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        self.shared.capabilities(model)
    }

    fn stream(&self, request: Request) -> EventStream {
        let shared = Arc::clone(&self.shared);
        http::open(async move {
            let body = shared.send(request).await?;
            Ok(http::decode(body, Decoder::default()))
        })
    }
}

impl Shared {
    fn capabilities(&self, model: &str) -> Capabilities {
        // An unknown model is taken for a current one that may think either way.
        let mut capabilities = known_capabilities(model).unwrap_or_else(|| Capabilities {
            thinking_enabled: true,
            ..Capabilities::anthropic()
        });
        let refused = self.refused(model);
        capabilities.thinking_enabled &= !refused.enabled;
        capabilities.thinking_adaptive &= !refused.adaptive;
        capabilities.tool_reference &= self.tool_references;
        capabilities
    }

    fn refused(&self, model: &str) -> Refused {
        let learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        learned.get(model).copied().unwrap_or_default()
    }

    async fn send(&self, mut request: Request) -> Result<http::Body, ModelError> {
        if !self.capabilities(&request.model).tool_reference {
            references::write_out(&mut request);
        }
        self.fit_thinking(&mut request);
        match self.post(&request).await {
            Err(error) if self.learn(&request, &error) => {
                self.fit_thinking(&mut request);
                self.post(&request).await
            }
            outcome => outcome,
        }
    }

    async fn post(&self, request: &Request) -> Result<http::Body, ModelError> {
        let body = serde_json::to_vec(&Body { request, stream: true }).map_err(|error| {
            ModelError::new(
                ErrorClass::Invalid,
                format!("the request cannot be written as JSON: {error}"),
            )
        })?;
        let mut headers = headers();
        if let Ok(id) = HeaderValue::from_str(&http::client_request_id()) {
            headers.insert(HeaderName::from_static("x-client-request-id"), id);
        }
        self.http.post("/v1/messages", headers, body).await
    }

    /// Replaces a kind of thinking that the model is known to refuse.
    fn fit_thinking(&self, request: &mut Request) {
        let refused = self.refused(&request.model);
        let budget = (request.max_tokens / 2).clamp(MIN_BUDGET, 16_000);
        request.thinking = match request.thinking.take() {
            Some(Thinking::Enabled { display, .. }) if refused.enabled => {
                (!refused.adaptive).then_some(Thinking::Adaptive { display })
            }
            Some(Thinking::Adaptive { display }) if refused.adaptive => (!refused.enabled
                && budget < request.max_tokens)
                .then_some(Thinking::Enabled { budget_tokens: budget, display }),
            Some(Thinking::Disabled) if refused.disabled => None,
            thinking => thinking,
        };
    }

    /// Remembers that the model refused the request's kind of thinking; `false` if the error is about something else.
    fn learn(&self, request: &Request, error: &ModelError) -> bool {
        let text = error.message();
        let refusal = error.http_status() == Some(400)
            && text.contains("thinking")
            && ["not supported", "unsupported", "does not support"]
                .iter()
                .any(|words| text.contains(words));
        if !refusal {
            return false;
        }
        let mut learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        if learned.len() >= LEARNED_LIMIT && !learned.contains_key(&request.model) {
            learned.clear();
        }
        let refused = learned.entry(request.model.clone()).or_default();
        let (kind, flag) = match &request.thinking {
            Some(Thinking::Enabled { .. }) => ("enabled", &mut refused.enabled),
            Some(Thinking::Adaptive { .. }) => ("adaptive", &mut refused.adaptive),
            Some(Thinking::Disabled) => ("disabled", &mut refused.disabled),
            None => return false,
        };
        text.contains(kind) && !std::mem::replace(flag, true)
    }
}

#[derive(Debug, Default)]
struct Decoder {
    assembler: Assembler,
}

impl Decode for Decoder {
    fn push(&mut self, data: &str) -> Result<Vec<StreamEvent>, ModelError> {
        Ok(self.assembler.push(WireEvent::parse(data)?)?)
    }

    fn finish(&mut self) -> Result<Vec<StreamEvent>, ModelError> {
        Ok(self.assembler.finish()?)
    }
}
