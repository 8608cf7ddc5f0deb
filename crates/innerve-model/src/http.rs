//! HTTP as both providers need it: one client, streamed bodies, an idle watchdog, failures in words.

mod body;
mod document;

use std::collections::VecDeque;
use std::error::Error as StdError;
use std::io;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use futures_util::{Stream, StreamExt as _, stream};
use innerve_protocol::StreamEvent;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::time::timeout;

use crate::endpoint::{Credential, Endpoint};
use crate::error::{Failure, clip};
use crate::{ErrorClass, ModelError};
pub(crate) use body::Body;

/// Bytes of an error's body that are read; more cannot help a person.
const ERROR_BODY_LIMIT: usize = 64 * 1024;

/// A client for one endpoint.
pub(crate) struct Http {
    client: reqwest::Client,
    endpoint: Endpoint,
    credential: HeaderMap,
}

/// Which header carries an API key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyHeader {
    #[cfg(feature = "anthropic")]
    XApiKey,
    #[cfg(feature = "openai")]
    Bearer,
}

/// Which certificates a client trusts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Certificates {
    System,
    None,
}

impl Http {
    pub(crate) fn new(endpoint: Endpoint, key_header: KeyHeader) -> Result<Self, ModelError> {
        static PROVIDER: OnceLock<()> = OnceLock::new();
        // An error means that the program installed its own provider before: that one is used.
        PROVIDER.get_or_init(|| drop(rustls::crypto::ring::default_provider().install_default()));

        let url = reqwest::Url::parse(endpoint.base_url()).map_err(|error| {
            ModelError::new(
                ErrorClass::Invalid,
                format!("the base URL is not a URL ({error}); it looks like https://host:port"),
            )
        })?;
        let default_headers = headers(endpoint.headers())?;
        let builder = |certificates| {
            let builder = reqwest::Client::builder()
                .user_agent(concat!("innerve/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(endpoint.connect_limit())
                .tcp_keepalive(Duration::from_mins(1))
                // A redirect would carry the key to another place.
                .redirect(reqwest::redirect::Policy::none())
                .default_headers(default_headers.clone());
            match certificates {
                Certificates::System => builder,
                Certificates::None => builder.tls_certs_only([]),
            }
        };
        // Reading the system's certificates takes time, and minimal systems have none.
        let client = if is_loopback(&url) && url.scheme() == "http" {
            builder(Certificates::None).no_proxy().build()
        } else if is_loopback(&url) {
            builder(Certificates::System).no_proxy().build()
        } else if url.scheme() == "http" {
            // Only a proxy may need certificates here.
            builder(Certificates::System).build().or_else(|_| builder(Certificates::None).build())
        } else {
            builder(Certificates::System).build()
        };
        let client = client.map_err(|error| {
            ModelError::new(
                ErrorClass::Transport,
                format!(
                    "cannot set up an HTTPS client ({}); install the system's CA certificates",
                    root(&error)
                ),
            )
        })?;
        let credential = credential(endpoint.credential(), key_header, endpoint.key_source())?;
        Ok(Self { client, endpoint, credential })
    }

    /// Posts `body` to the base URL plus `path` and returns the body of a successful response.
    pub(crate) async fn post(
        &self,
        path: &str,
        extra: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Body, ModelError> {
        let url = format!("{}{path}", self.endpoint.base_url());
        let request = self
            .client
            .post(url)
            .headers(self.credential.clone())
            .headers(extra)
            .header("content-type", "application/json")
            .header("accept", "text/event-stream")
            .body(body);
        let response = self.send(request).await?;
        let request_id = request_id(&response);
        // A server that cannot stream, or that wraps an error in a 200.
        let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok());
        let streams = !kind.is_some_and(|kind| {
            kind.starts_with("application/json") || kind.starts_with("text/html")
        });
        if !response.status().is_success() || !streams {
            return Err(self.refusal(response, request_id).await);
        }
        Ok(Body::new(response, self.endpoint.idle_limit(), request_id))
    }

    async fn send(
        &self,
        request: reqwest::RequestBuilder,
    ) -> Result<reqwest::Response, ModelError> {
        match timeout(self.endpoint.response_limit(), request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(self.transport(error)),
            Err(_) => Err(self.too_late()),
        }
    }

    fn too_late(&self) -> ModelError {
        ModelError::new(
            ErrorClass::Timeout,
            format!(
                "the provider did not begin to answer within {:?}",
                self.endpoint.response_limit()
            ),
        )
    }

    /// Reads an error response.
    async fn refusal(
        &self,
        mut response: reqwest::Response,
        request_id: Option<String>,
    ) -> ModelError {
        let http = response.status().as_u16();
        let retry_after = retry_after(response.headers(), SystemTime::now());
        let should_retry = match response.headers().get("x-should-retry").map(HeaderValue::as_bytes)
        {
            Some(b"true") => Some(true),
            Some(b"false") => Some(false),
            Some(_) | None => None,
        };
        let mut bytes = Vec::new();
        // A body that breaks off or never ends must not hide the status.
        let read = async {
            while let Ok(Some(chunk)) = response.chunk().await {
                bytes.extend_from_slice(&chunk);
                if bytes.len() > ERROR_BODY_LIMIT {
                    break;
                }
            }
        };
        let _ended = timeout(Duration::from_secs(10), read).await;
        let text = String::from_utf8_lossy(&bytes);
        let (kind, message, id_in_body) = read_error(&text);
        Failure {
            http: Some(http),
            kind: kind.map(|kind| self.endpoint.redact(&kind)),
            message: self.endpoint.redact(&message),
            request_id: request_id.or(id_in_body),
            retry_after,
            should_retry,
            key_source: self.endpoint.key_source().to_owned(),
        }
        .into_error()
    }

    /// Words for a request that got no response.
    fn transport(&self, error: reqwest::Error) -> ModelError {
        let connect = error.is_connect();
        // The address may hold a password.
        let error = error.without_url();
        let cause = self.endpoint.redact(&root(&error));
        let host = reqwest::Url::parse(self.endpoint.base_url())
            .ok()
            .and_then(|url| Some(format!("{}:{}", url.host_str()?, url.port_or_known_default()?)))
            .unwrap_or_default();
        if is_certificate(&error) {
            return ModelError::new(
                ErrorClass::Certificate,
                format!(
                    "the certificate of {host} is not accepted ({cause}); check the address, the clock and the system's CA certificates"
                ),
            );
        }
        if is_refused(&error) {
            let text = format!("nobody listens at {host}; start the server, or check the base URL");
            return ModelError::new(ErrorClass::ConnectionRefused, text);
        }
        if connect {
            let class =
                if error.is_timeout() { ErrorClass::Timeout } else { ErrorClass::Transport };
            let text =
                format!("cannot connect to {host} ({cause}); check the base URL and the network");
            return ModelError::new(class, text);
        }
        ModelError::new(ErrorClass::Transport, format!("the connection to {host} broke ({cause})"))
    }
}

fn request_id(response: &reqwest::Response) -> Option<String> {
    ["request-id", "x-request-id"]
        .iter()
        .find_map(|name| response.headers().get(*name)?.to_str().ok())
        .map(str::to_owned)
}

/// Reads one wire format.
pub(crate) trait Decode: Send {
    /// Takes one event's data.
    fn push(&mut self, data: &str) -> Result<Vec<StreamEvent>, ModelError>;

    /// Takes the end of the body, clean or not; an error if the response is incomplete.
    fn finish(&mut self) -> Result<Vec<StreamEvent>, ModelError>;
}

/// The events of `body` as `decoder` reads them, up to and with [`StreamEvent::Stop`] or the first error.
pub(crate) fn decode(
    body: Body,
    decoder: impl Decode + 'static,
) -> impl Stream<Item = Result<StreamEvent, ModelError>> {
    struct State<D> {
        body: Body,
        decoder: D,
        queue: VecDeque<StreamEvent>,
        error: Option<ModelError>,
        /// No more of the body is read.
        ended: bool,
    }
    let state = State { body, decoder, queue: VecDeque::new(), error: None, ended: false };
    stream::unfold(state, |mut state| async move {
        loop {
            if let Some(event) = state.queue.pop_front() {
                if matches!(event, StreamEvent::Stop { .. })
                    && !std::mem::replace(&mut state.ended, true)
                {
                    // Before the stop is told, since callers do not ask for more after it.
                    state.body.drain().await;
                }
                return Some((Ok(event), state));
            }
            if let Some(error) = state.error.take() {
                state.ended = true;
                return Some((Err(state.body.name(error)), state));
            }
            if state.ended {
                return None;
            }
            let outcome = match state.body.next().await {
                Ok(Some(data)) => state.decoder.push(&data),
                end => {
                    state.ended = true;
                    // A response that was complete but for its last words counts.
                    let finished = state.decoder.finish();
                    match (finished, end) {
                        (Ok(events), Err(broken)) if events.is_empty() => Err(broken),
                        (Err(_), Err(broken)) => Err(broken),
                        (finished, _) => finished,
                    }
                }
            };
            match outcome {
                Ok(events) => state.queue.extend(events),
                Err(error) => state.error = Some(error),
            }
        }
    })
}

/// A stream that is opened by the first poll.
pub(crate) fn open<F, S>(opening: F) -> crate::EventStream
where
    F: Future<Output = Result<S, ModelError>> + Send + 'static,
    S: Stream<Item = Result<StreamEvent, ModelError>> + Send + 'static,
{
    let opened = stream::once(opening).map(|opened| match opened {
        Ok(events) => events.left_stream(),
        Err(error) => stream::once(std::future::ready(Err(error))).right_stream(),
    });
    Box::pin(opened.flatten())
}

/// An id of ours that ties a request without a response to the provider's logs.
pub(crate) fn client_request_id() -> String {
    format!("innerve-{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..))
}

/// The error's kind, words and request id from a body that may or may not be JSON.
///
/// Known shapes: `{"error":{"type","message","code"},"request_id"}`, `{"error":"text"}`, `{"message"}`, `{"detail"}`, and lists of
/// one such object.
fn read_error(body: &str) -> (Option<String>, String, Option<String>) {
    use serde_json::Value;
    let text = |value: Option<&Value>| match value {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        Some(other @ (Value::Object(_) | Value::Array(_))) => Some(other.to_string()),
        Some(Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_)) | None => None,
    };
    let Ok(mut value) = serde_json::from_str::<Value>(body) else {
        return (None, clip(body, 1024).to_owned(), None);
    };
    if let Some(first) = value.get_mut(0) {
        value = first.take();
    }
    let request_id = text(value.get("request_id"));
    let error = value.get("error").unwrap_or(&value);
    // OpenAI's `code` is the finer word: `insufficient_quota`, `context_length_exceeded`.
    let code = error.get("code").and_then(Value::as_str).map(str::to_owned);
    let kind = code.or_else(|| error.get("type").and_then(Value::as_str).map(str::to_owned));
    let message = text(error.get("message"))
        .or_else(|| error.as_str().map(str::to_owned))
        .or_else(|| text(error.get("detail")))
        .unwrap_or_else(|| clip(body, 1024).to_owned());
    (kind, message, request_id)
}

/// The wait that a response asks for: `retry-after-ms`, or `retry-after` as seconds or as a date (RFC 9110, 10.2.3).
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let seconds = |text: &str, per_second: f64| {
        let number: f64 = text.parse().ok()?;
        Duration::try_from_secs_f64(number / per_second).ok()
    };
    if let Some(wait) = value("retry-after-ms").and_then(|text| seconds(text, 1000.0)) {
        return Some(wait);
    }
    let text = value("retry-after")?;
    seconds(text, 1.0).or_else(|| {
        let date = httpdate::parse_http_date(text).ok()?;
        Some(date.duration_since(now).unwrap_or_default())
    })
}

fn headers(pairs: &[(String, String)]) -> Result<HeaderMap, ModelError> {
    let mut map = HeaderMap::new();
    for (name, value) in pairs {
        let bad =
            || ModelError::new(ErrorClass::Invalid, format!("the header `{name}` cannot be sent"));
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let value = HeaderValue::from_str(value).map_err(|_| bad())?;
        map.append(name, value);
    }
    Ok(map)
}

fn credential(
    credential: &Credential,
    key_header: KeyHeader,
    source: &str,
) -> Result<HeaderMap, ModelError> {
    let (name, text) = match (credential, key_header) {
        (Credential::None, _) => return Ok(HeaderMap::new()),
        #[cfg(feature = "anthropic")]
        (Credential::ApiKey(key), KeyHeader::XApiKey) => ("x-api-key", key.clone()),
        #[cfg(feature = "openai")]
        (Credential::ApiKey(key), KeyHeader::Bearer) => ("authorization", format!("Bearer {key}")),
        (Credential::Bearer(token), _) => ("authorization", format!("Bearer {token}")),
    };
    let mut value = HeaderValue::from_str(&text).map_err(|_| {
        ModelError::new(
            ErrorClass::Auth,
            format!(
                "the key holds characters that no header may carry; check {source} for line breaks"
            ),
        )
    })?;
    value.set_sensitive(true);
    Ok(HeaderMap::from_iter([(HeaderName::from_static(name), value)]))
}

fn is_loopback(url: &reqwest::Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The innermost cause, which is the one that tells something.
fn root(error: &(dyn StdError + 'static)) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

fn is_certificate(error: &(dyn StdError + 'static)) -> bool {
    has_cause(error, |error: &rustls::Error| {
        matches!(
            error,
            rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented
        )
    })
}

fn is_refused(error: &(dyn StdError + 'static)) -> bool {
    has_cause(error, |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused)
}

fn has_cause<E: StdError + 'static>(
    error: &(dyn StdError + 'static),
    is_it: impl Fn(&E) -> bool,
) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref::<E>().is_some_and(&is_it) {
            return true;
        }
        // `io::Error` gives the source of what it wraps, not what it wraps.
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = wrapped.map_or_else(|| error.source(), |wrapped| Some(wrapped));
    }
    false
}

#[cfg(test)]
mod tests;
