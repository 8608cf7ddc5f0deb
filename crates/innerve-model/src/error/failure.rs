//! Judges what a response says of a failure: its class, and words that name the cause and the way out.

use std::fmt::Write as _;
use std::time::Duration;

use super::{Detail, ErrorClass, ModelError, Overflow, bounded, clip};

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
            | ErrorClass::ConnectionRefused
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
            | ErrorClass::ConnectionRefused
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

/// Reads `… <n> tokens > <max> maximum` and `… <in> + <max_tokens> > <window> …`.
pub(super) fn read_overflow(text: &str) -> Option<Overflow> {
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
