//! Errors of a model request: what happened, whether it may pass, and the way out.

mod failure;

use std::time::Duration;

use innerve_protocol::{StreamError, WireError};
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub(crate) use failure::Failure;

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
    /// Nobody listens at the address.
    ConnectionRefused,
    /// The connection could not be made otherwise, or broke.
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
        Self::ConnectionRefused,
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
            Self::ConnectionRefused => "connection_refused",
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
            | Self::ConnectionRefused
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
