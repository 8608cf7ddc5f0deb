//! Where a provider is and how to get in.

use std::fmt;
use std::time::Duration;

/// The address, key and patience for one provider.
///
/// ```
/// use innerve_model::Endpoint;
///
/// let endpoint = Endpoint::new("http://127.0.0.1:8080").api_key("secret", "ANTHROPIC_API_KEY");
/// assert!(!format!("{endpoint:?}").contains("secret"));
/// ```
#[derive(Clone)]
pub struct Endpoint {
    base_url: String,
    credential: Credential,
    key_source: String,
    headers: Vec<(String, String)>,
    connect_timeout: Duration,
    response_timeout: Duration,
    idle_timeout: Duration,
    tool_references: bool,
}

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Credential {
    None,
    ApiKey(String),
    Bearer(String),
}

impl Endpoint {
    /// A provider at `base_url`, without a key.
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into().trim().trim_end_matches('/').to_owned(),
            credential: Credential::None,
            key_source: String::new(),
            headers: Vec::new(),
            connect_timeout: Duration::from_secs(15),
            response_timeout: Duration::from_mins(10),
            idle_timeout: Duration::from_secs(90),
            tool_references: false,
        }
    }

    /// Sends the provider's usual key header (`x-api-key` for Anthropic, `Authorization: Bearer` for others).
    ///
    /// `source` says where a person set it, such as `ANTHROPIC_API_KEY`; it is named when the key is refused.
    #[must_use]
    pub fn api_key(mut self, key: impl AsRef<str>, source: impl Into<String>) -> Self {
        self.credential = Credential::ApiKey(key.as_ref().trim().to_owned());
        self.key_source = source.into();
        self
    }

    /// Sends `Authorization: Bearer`, whatever the provider; `source` as for [`Endpoint::api_key`].
    #[must_use]
    pub fn bearer(mut self, token: impl AsRef<str>, source: impl Into<String>) -> Self {
        self.credential = Credential::Bearer(token.as_ref().trim().to_owned());
        self.key_source = source.into();
        self
    }

    /// Adds a header to every request, such as `anthropic-beta`.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Waits this long for a connection; 15 seconds by default.
    #[must_use]
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = limit;
        self
    }

    /// Waits this long for the response's first byte; 10 minutes by default, since local servers may read the whole prompt
    /// before they answer.
    #[must_use]
    pub fn response_timeout(mut self, limit: Duration) -> Self {
        self.response_timeout = limit;
        self
    }

    /// Waits this long between two events (pings count) before the stream is given up; 90 seconds by default.
    #[must_use]
    pub fn idle_timeout(mut self, limit: Duration) -> Self {
        self.idle_timeout = limit;
        self
    }

    /// Says that the server takes deferred tools and references to them although it is not Anthropic's own: a proxy that
    /// passes them on. Otherwise what a search for tools finds is written out as text.
    #[must_use]
    pub fn tool_references(mut self) -> Self {
        self.tool_references = true;
        self
    }

    /// The address without a trailing slash.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }
}

/// What the HTTP side reads.
impl Endpoint {
    pub(crate) fn credential(&self) -> &Credential {
        &self.credential
    }

    pub(crate) fn key_source(&self) -> &str {
        &self.key_source
    }

    pub(crate) fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    pub(crate) fn connect_limit(&self) -> Duration {
        self.connect_timeout
    }

    pub(crate) fn response_limit(&self) -> Duration {
        self.response_timeout
    }

    pub(crate) fn idle_limit(&self) -> Duration {
        self.idle_timeout
    }

    #[cfg(feature = "anthropic")]
    pub(crate) fn takes_tool_references(&self) -> bool {
        self.tool_references
    }

    /// Names the source of the key if the caller did not.
    pub(crate) fn default_key_source(mut self, source: &str) -> Self {
        if self.key_source.is_empty() {
            source.clone_into(&mut self.key_source);
        }
        self
    }

    /// Takes `path` off the end of the address, since people write it both ways.
    #[cfg(feature = "anthropic")]
    pub(crate) fn strip_path(mut self, path: &str) -> Self {
        if let Some(base) = self.base_url.strip_suffix(path) {
            self.base_url.truncate(base.len());
        }
        self
    }

    /// Adds `path` to an address that has none.
    #[cfg(feature = "openai")]
    pub(crate) fn with_path_unless_any(mut self, path: &str) -> Self {
        let after_scheme = self.base_url.split_once("://").map_or("", |(_, rest)| rest);
        if !after_scheme.contains('/') {
            self.base_url.push_str(path);
        }
        self
    }

    /// `text` without the key, should a server or library have repeated it.
    pub(crate) fn redact(&self, text: &str) -> String {
        match &self.credential {
            Credential::ApiKey(secret) | Credential::Bearer(secret) if !secret.is_empty() => {
                text.replace(secret.as_str(), "[key]")
            }
            Credential::None | Credential::ApiKey(_) | Credential::Bearer(_) => text.to_owned(),
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Headers and addresses may carry secrets, too.
        formatter
            .debug_struct("Endpoint")
            .field("key_source", &self.key_source)
            .field("connect_timeout", &self.connect_timeout)
            .field("response_timeout", &self.response_timeout)
            .field("idle_timeout", &self.idle_timeout)
            .finish_non_exhaustive()
    }
}
