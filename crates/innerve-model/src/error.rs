//! Errors of a model request: what happened, whether it may pass, and the way out.

use std::fmt::Write as _;
use std::time::Duration;

use innerve_protocol::{StreamError, WireError};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Bytes of a message at most; a proxy's error page must not flood a terminal or a log.
const MESSAGE_LIMIT: usize = 1024;

/// Why a model gave no (complete) response.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", .detail.message)]
pub struct ModelError {
    // Boxed, since it travels in every `Result` of a stream.
    detail: Box<Detail>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Detail {
    class: ErrorClass,
    http: Option<u16>,
    kind: Option<String>,
    message: String,
    request_id: Option<String>,
    retry_after: Option<Duration>,
    should_retry: Option<bool>,
    overflow: Option<Overflow>,
}

/// What sort of failure it is; the loop decides by this alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorClass {
    /// The conversation does not fit the model's window, or the body is too large.
    Overflow,
    /// Too many requests or tokens per time; [`ModelError::retry_after`] may say how long.
    RateLimit,
    /// The provider has no capacity at the moment.
    Overloaded,
    /// The provider failed inside.
    Server,
    /// The provider did not answer in time.
    Timeout,
    /// The response began and then went silent for longer than the idle limit.
    #[serde(rename = "stream_stalled")]
    Stalled,
    /// The connection could not be made or broke.
    Transport,
    /// The server's certificate was not accepted.
    Certificate,
    /// The key is missing, wrong or not allowed to do this.
    Auth,
    /// The account has no credit or reached its spend limit.
    Billing,
    /// The request is wrong; sending it again cannot help.
    Invalid,
    /// The model or the address does not exist.
    NotFound,
    /// An image or document is too large, too many, or unreadable.
    Media,
    /// The response ended before it was complete.
    #[serde(rename = "stream_truncated")]
    Truncated,
    /// The response makes no sense.
    Malformed,
    /// The request was given up by the caller.
    Cancelled,
    /// A recording does not fit what was asked.
    Replay,
}

/// The numbers of an overflow, as far as the provider told them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overflow {
    /// Tokens of the input.
    pub input: u64,
    /// Output tokens asked for, when these were what did not fit.
    pub max_tokens: Option<u64>,
    /// Tokens that fit.
    pub limit: u64,
}

impl ErrorClass {
    /// Every class, once.
    pub const ALL: &[Self] = &[
        Self::Overflow,
        Self::RateLimit,
        Self::Overloaded,
        Self::Server,
        Self::Timeout,
        Self::Stalled,
        Self::Transport,
        Self::Certificate,
        Self::Auth,
        Self::Billing,
        Self::Invalid,
        Self::NotFound,
        Self::Media,
        Self::Truncated,
        Self::Malformed,
        Self::Cancelled,
        Self::Replay,
    ];

    /// The stable code, for telemetry and tests.
    pub fn code(self) -> &'static str {
        match self {
            Self::Overflow => "overflow",
            Self::RateLimit => "rate_limit",
            Self::Overloaded => "overloaded",
            Self::Server => "server",
            Self::Timeout => "timeout",
            Self::Stalled => "stream_stalled",
            Self::Transport => "transport",
            Self::Certificate => "certificate",
            Self::Auth => "auth",
            Self::Billing => "billing",
            Self::Invalid => "invalid",
            Self::NotFound => "not_found",
            Self::Media => "media",
            Self::Truncated => "stream_truncated",
            Self::Malformed => "malformed",
            Self::Cancelled => "cancelled",
            Self::Replay => "replay",
        }
    }

    /// Whether the same request may succeed a little later.
    pub fn is_transient(self) -> bool {
        match self {
            Self::RateLimit
            | Self::Overloaded
            | Self::Server
            | Self::Timeout
            | Self::Stalled
            | Self::Transport
            | Self::Truncated
            | Self::Malformed => true,
            Self::Overflow
            | Self::Certificate
            | Self::Auth
            | Self::Billing
            | Self::Invalid
            | Self::NotFound
            | Self::Media
            | Self::Cancelled
            | Self::Replay => false,
        }
    }
}

impl ModelError {
    /// An error of `class` with words for a person.
    pub fn new(class: ErrorClass, message: impl AsRef<str>) -> Self {
        let detail = Detail {
            class,
            http: None,
            kind: None,
            message: bounded(message.as_ref()),
            request_id: None,
            retry_after: None,
            should_retry: None,
            overflow: None,
        };
        Self { detail: Box::new(detail) }
    }

    /// What sort of failure it is.
    pub fn class(&self) -> ErrorClass {
        self.detail.class
    }

    /// The stable code, for telemetry and tests.
    pub fn code(&self) -> &'static str {
        self.detail.class.code()
    }

    /// The HTTP status, if there was a response.
    pub fn http_status(&self) -> Option<u16> {
        self.detail.http
    }

    /// The provider's own name for the error, such as `overloaded_error`.
    pub fn kind(&self) -> Option<&str> {
        self.detail.kind.as_deref()
    }

    /// The words for a person: at most 1 kB, one line, never the key.
    pub fn message(&self) -> &str {
        &self.detail.message
    }

    /// The provider's id of the request, to quote when asking its support.
    pub fn request_id(&self) -> Option<&str> {
        self.detail.request_id.as_deref()
    }

    /// How long the provider asks to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.detail.retry_after
    }

    /// The numbers of an overflow, if the provider told them.
    pub fn overflow(&self) -> Option<Overflow> {
        self.detail.overflow
    }

    /// Whether sending the same request again may help; the provider's own word (`x-should-retry`) counts first.
    pub fn is_retryable(&self) -> bool {
        let fixed = [ErrorClass::Cancelled, ErrorClass::Certificate, ErrorClass::Replay]
            .contains(&self.class());
        !fixed && self.detail.should_retry.unwrap_or_else(|| self.class().is_transient())
    }

    /// The same error with the wait that the provider asked for.
    #[must_use]
    pub fn with_retry_after(mut self, retry_after: Duration) -> Self {
        self.detail.retry_after = Some(retry_after);
        self
    }

    /// The same error with the provider's id of the request.
    #[must_use]
    pub fn with_request_id(mut self, request_id: impl AsRef<str>) -> Self {
        self.detail.request_id = Some(bounded(request_id.as_ref()));
        self
    }
}

/// What an HTTP response says of a failure, before it is judged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failure {
    pub(crate) http: Option<u16>,
    pub(crate) kind: Option<String>,
    pub(crate) message: String,
    pub(crate) request_id: Option<String>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) should_retry: Option<bool>,
    /// Where the key comes from, such as `ANTHROPIC_API_KEY`.
    pub(crate) key_source: String,
}

impl Failure {
    /// Judges the failure and words it.
    pub(crate) fn into_error(self) -> ModelError {
        let class = self.class();
        let overflow = (class == ErrorClass::Overflow).then(|| read_overflow(&self.message));
        let detail = Detail {
            class,
            message: bounded(&self.words(class)),
            http: self.http,
            kind: self.kind.map(|kind| bounded(&kind)),
            request_id: self.request_id.map(|id| bounded(&id)),
            retry_after: self.retry_after,
            should_retry: self.should_retry,
            overflow: overflow.flatten(),
        };
        ModelError { detail: Box::new(detail) }
    }

    /// Anthropic Messages API, "errors"; OpenAI API reference, "error codes"; the rest is what proxies send.
    fn class(&self) -> ErrorClass {
        let text = self.message.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let kind = self.kind.as_deref().unwrap_or_default();
        let overflow = has(&[
            "prompt is too long",
            "exceed context limit",
            "maximum context length",
            "exceeds the available context size",
            "context window",
            "input is too long",
        ]);
        let broke = has(&[
            "spend",
            "credit balance",
            "billing",
            "insufficient quota",
            "exceeded your current quota",
        ]);
        let media = text
            .split(|character: char| !character.is_ascii_alphanumeric())
            .any(|word| matches!(word, "image" | "images" | "pdf" | "pdfs"));
        match kind {
            "request_too_large" | "context_length_exceeded" | "exceed_context_size_error" => {
                return ErrorClass::Overflow;
            }
            "insufficient_quota" | "billing_error" => return ErrorClass::Billing,
            "overloaded_error" => return ErrorClass::Overloaded,
            _ => {}
        }
        match (self.http, kind) {
            (Some(413), _) => ErrorClass::Overflow,
            (Some(402), _) => ErrorClass::Billing,
            (Some(401 | 403), _) | (None, "authentication_error" | "permission_error") => {
                ErrorClass::Auth
            }
            (Some(404), _) | (None, "not_found_error") => ErrorClass::NotFound,
            (Some(429), _) | (None, "rate_limit_error" | "rate_limit_exceeded") => {
                if self.retry_after.is_none() && broke {
                    ErrorClass::Billing
                } else {
                    ErrorClass::RateLimit
                }
            }
            (Some(408 | 504), _) | (None, "timeout_error") => ErrorClass::Timeout,
            (Some(529), _) => ErrorClass::Overloaded,
            (Some(409), _) | (None, "conflict_error") => ErrorClass::Server,
            (Some(500..), _) => {
                if overflow {
                    ErrorClass::Overflow
                } else if has(&["overloaded"]) {
                    ErrorClass::Overloaded
                } else {
                    ErrorClass::Server
                }
            }
            (Some(400..500), _) | (None, "invalid_request_error") => {
                if overflow {
                    ErrorClass::Overflow
                } else if broke {
                    ErrorClass::Billing
                } else if media {
                    ErrorClass::Media
                } else {
                    ErrorClass::Invalid
                }
            }
            (Some(_), _) => ErrorClass::Invalid,
            (None, _) => {
                if overflow {
                    ErrorClass::Overflow
                } else {
                    ErrorClass::Server
                }
            }
        }
    }

    /// "what happened (status, kind: the provider's words); the way out".
    fn words(&self, class: ErrorClass) -> String {
        let what = match class {
            ErrorClass::Overflow => "the conversation is too large for the model",
            ErrorClass::RateLimit => "the provider's rate limit is reached",
            ErrorClass::Overloaded => "the provider is overloaded",
            ErrorClass::Timeout => "the provider did not answer in time",
            ErrorClass::Auth => "the provider refused the key",
            ErrorClass::Billing => "the account has no credit left or reached its spend limit",
            ErrorClass::NotFound => "the provider knows no such model or address",
            ErrorClass::Media => {
                "the provider cannot take an image or document of the conversation"
            }
            ErrorClass::Invalid => "the provider refused the request",
            ErrorClass::Server
            | ErrorClass::Stalled
            | ErrorClass::Transport
            | ErrorClass::Certificate
            | ErrorClass::Truncated
            | ErrorClass::Malformed
            | ErrorClass::Cancelled
            | ErrorClass::Replay => "the provider failed",
        };
        let mut text = what.to_owned();
        let mut facts = Vec::new();
        facts.extend(self.http.map(|status| format!("HTTP {status}")));
        facts.extend(self.kind.clone());
        let said = self.message.trim();
        // Writing to a String cannot fail.
        let _ = match (facts.is_empty(), said.is_empty()) {
            (true, true) => Ok(()),
            (true, false) => write!(text, " ({said})"),
            (false, true) => write!(text, " ({})", facts.join(", ")),
            (false, false) => write!(text, " ({}: {})", facts.join(", "), clip(said, 700)),
        };
        let way_out = match class {
            ErrorClass::Auth if self.key_source.is_empty() => "; check the key".to_owned(),
            ErrorClass::Auth => format!("; set {} to a valid key", self.key_source),
            ErrorClass::Billing => {
                "; add credit or raise the limit in the provider's console".to_owned()
            }
            ErrorClass::NotFound => "; check the model's name and the base URL".to_owned(),
            ErrorClass::Overflow => "; compact the conversation or start a new one".to_owned(),
            ErrorClass::Media => "; remove or shrink it".to_owned(),
            ErrorClass::RateLimit
            | ErrorClass::Overloaded
            | ErrorClass::Timeout
            | ErrorClass::Server => match self.retry_after {
                Some(wait) => format!("; try again in {} s", wait.as_secs_f64().ceil()),
                None => "; try again later".to_owned(),
            },
            ErrorClass::Invalid
            | ErrorClass::Stalled
            | ErrorClass::Transport
            | ErrorClass::Certificate
            | ErrorClass::Truncated
            | ErrorClass::Malformed
            | ErrorClass::Cancelled
            | ErrorClass::Replay => String::new(),
        };
        text.push_str(&way_out);
        text
    }
}

impl From<WireError> for ModelError {
    fn from(error: WireError) -> Self {
        Failure { kind: Some(error.kind), message: error.message, ..Failure::default() }
            .into_error()
    }
}

impl From<StreamError> for ModelError {
    fn from(error: StreamError) -> Self {
        match error {
            StreamError::Provider(error) => error.into(),
            StreamError::Truncated => {
                Self::new(ErrorClass::Truncated, StreamError::Truncated.to_string())
            }
            StreamError::Malformed(what) => {
                Self::new(ErrorClass::Malformed, StreamError::Malformed(what).to_string())
            }
            other => Self::new(ErrorClass::Malformed, other.to_string()),
        }
    }
}

/// Reads `… <n> tokens > <max> maximum` and `… <in> + <max_tokens> > <window> …`.
fn read_overflow(text: &str) -> Option<Overflow> {
    let (before, after) = text.split_once('>')?;
    let limit = *numbers(after).first()?;
    let before = before.rsplit_once(':').map_or(before, |(_, tail)| tail);
    match *numbers(before).as_slice() {
        [input] => Some(Overflow { input, max_tokens: None, limit }),
        [input, max_tokens] => Some(Overflow { input, max_tokens: Some(max_tokens), limit }),
        _ => None,
    }
}

fn numbers(text: &str) -> Vec<u64> {
    text.split(|character: char| !character.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect()
}

/// One line, no control characters, at most [`MESSAGE_LIMIT`] bytes.
pub(crate) fn bounded(text: &str) -> String {
    let line: String = clip(text, MESSAGE_LIMIT)
        .chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect();
    line
}

/// The start of `text`, at most `limit` bytes, cut between characters.
pub(crate) fn clip(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
