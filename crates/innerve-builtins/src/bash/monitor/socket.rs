//! A WebSocket as something to watch: connected to a checked public address alone, each message read in bounds.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use innerve_permission::facts::websocket_host_of;
use innerve_tool::ToolError;
use reqwest::Url;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::ConfigVerifierExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::error::CapacityError;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::http::header::{LOCATION, SEC_WEBSOCKET_PROTOCOL, USER_AGENT};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::lines::{Lines, visible};
use super::watch::{End, MAX_MINUTE_LINES};
use crate::code;
use crate::web::{checked_addresses, install_provider};

/// Bytes of a message; a longer one ends the watch (Claude Code documentation, "Monitor").
const MAX_MESSAGE: usize = 1 << 20;
/// The longest URL, in characters.
const MAX_URL: usize = 2_000;
/// Protocols that may be offered.
const MAX_PROTOCOLS: usize = 10;
/// How long a connection may take, from the name to the end of the handshake.
const PATIENCE: Duration = Duration::from_secs(15);
/// Messages after which others get their turn.
const TURN: usize = 32;
/// Pings and pongs in a minute that are not yet a flood.
const MAX_MINUTE_CONTROLS: usize = 10 * MAX_MINUTE_LINES;

/// A WebSocket to watch, as the model gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline, transform = crate::schema::undescribed)]
pub struct MonitorSocket {
    /// `ws` or `wss`.
    pub url: String,
    /// Subprotocols to offer, the preferred one first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocols: Option<Vec<String>>,
}

/// How sockets are connected.
#[derive(Clone)]
pub struct Sockets {
    reachable: Vec<SocketAddr>,
    trusted: Vec<CertificateDer<'static>>,
    patience: Duration,
}

impl Default for Sockets {
    fn default() -> Self {
        Self { reachable: Vec::new(), trusted: Vec::new(), patience: PATIENCE }
    }
}

impl MonitorSocket {
    /// Refuses what cannot be connected to, and what rules could not be asked about.
    pub(super) fn check(&self) -> Result<(), ToolError> {
        self.checked().map(|_| ())
    }

    fn checked(&self) -> Result<Url, ToolError> {
        let given = &self.url;
        if given.chars().count() > MAX_URL {
            return Err(ToolError::invalid(format!("the URL is longer than {MAX_URL} characters")));
        }
        let mut url = Url::parse(given).map_err(|error| {
            ToolError::invalid(format!(
                "`{given}` is not a URL ({error}); give one such as wss://example.com/feed"
            ))
        })?;
        if !matches!(url.scheme(), "ws" | "wss") {
            return Err(ToolError::invalid(format!(
                "`{}` URLs are not watched, only ws and wss",
                url.scheme()
            )));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(ToolError::invalid("the URL holds a name or password; leave them out"));
        }
        // What is connected to must be what the rules were asked about.
        let judged = websocket_host_of(given);
        if judged.is_none() || judged.as_deref() != bare_host(&url) {
            return Err(ToolError::invalid(format!(
                "the host of `{given}` can be read in two ways; write it plainly, in lower case and without escapes"
            )));
        }
        url.set_fragment(None);
        let protocols = self.protocols.as_deref().unwrap_or_default();
        let is_token = |it: &String| {
            // A token (RFC 9110, "tokens").
            let plain =
                |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            !it.is_empty() && it.len() <= 100 && it.bytes().all(plain)
        };
        if protocols.len() > MAX_PROTOCOLS || !protocols.iter().all(is_token) {
            return Err(ToolError::invalid(format!(
                "`protocols` must be at most {MAX_PROTOCOLS} names without blanks, commas and quotes"
            )));
        }
        Ok(url)
    }
}

fn bare_host(url: &Url) -> Option<&str> {
    url.host_str().map(|host| host.trim_start_matches('[').trim_end_matches(']'))
}

impl Sockets {
    /// Lets these addresses be reached although they are not public: for tests against a server on this machine. No
    /// input of a model leads here.
    #[must_use]
    pub fn with_reachable(mut self, addresses: Vec<SocketAddr>) -> Self {
        self.reachable = addresses;
        self
    }

    /// Trusts these certificates, in DER, in place of those that the system trusts.
    #[must_use]
    pub fn with_trusted(mut self, certificates: Vec<Vec<u8>>) -> Self {
        self.trusted = certificates.into_iter().map(CertificateDer::from).collect();
        self
    }

    /// How long a connection may take; 15 seconds unless it is said.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Connects; nothing is followed anywhere else.
    pub(super) async fn connect(&self, socket: &MonitorSocket) -> Result<Connection, ToolError> {
        let url = socket.checked()?;
        let dialling = self.dial(&url, socket.protocols.as_deref().unwrap_or_default());
        match tokio::time::timeout(self.patience, dialling).await {
            Ok(connected) => connected.map(Connection),
            Err(_elapsed) => {
                let words = format!("did not answer within {} s", self.patience.as_secs_f32());
                Err(failed(&url, &words))
            }
        }
    }

    async fn dial(&self, url: &Url, protocols: &[String]) -> Result<Socket, ToolError> {
        let addresses = checked_addresses(url, &self.reachable).await?;
        let tcp = TcpStream::connect(addresses.as_slice())
            .await
            .map_err(|error| failed(url, &error.to_string()))?;
        let stream: Box<dyn Duplex> =
            if url.scheme() == "wss" { self.encrypted(url, tcp).await? } else { Box::new(tcp) };
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE))
            .max_frame_size(Some(MAX_MESSAGE));
        let request = request(url, protocols)?;
        let handshake = client_async_with_config(request, stream, Some(config)).await;
        let (socket, _response) = handshake.map_err(|error| refused(url, &error))?;
        Ok(socket)
    }

    async fn encrypted(&self, url: &Url, tcp: TcpStream) -> Result<Box<dyn Duplex>, ToolError> {
        install_provider();
        let config = if self.trusted.is_empty() {
            ClientConfig::with_platform_verifier()
        } else {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(self.trusted.iter().cloned());
            Ok(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth())
        };
        let config = config.map_err(|error| failed(url, &error.to_string()))?;
        let name = bare_host(url).unwrap_or_default().to_owned();
        let name = ServerName::try_from(name).map_err(|error| failed(url, &error.to_string()))?;
        let connected = TlsConnector::from(Arc::new(config)).connect(name, tcp).await;
        let stream =
            connected.map_err(|error| failed(url, &format!("cannot be trusted: {error}")))?;
        Ok(Box::new(stream))
    }
}

type Socket = WebSocketStream<Box<dyn Duplex>>;

/// A connection, encrypted or not.
trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// A socket that has said yes to the handshake.
pub(super) struct Connection(Socket);

impl Connection {
    /// Puts each message into the lines until the connection ends.
    pub(super) async fn read(mut self, lines: Arc<Lines>) -> End {
        let (mut seen, mut minute, mut controls) = (0_usize, Instant::now(), 0);
        loop {
            let message = match self.0.next().await {
                None => return broken("the connection ended"),
                Some(Err(error)) => return broken(&words(&error)),
                Some(Ok(message)) => message,
            };
            let is_flood = match message {
                Message::Text(text) => lines.message(text.as_str()),
                Message::Binary(bytes) => {
                    lines.message(&format!("[a binary message of {} bytes]", bytes.len()))
                }
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {
                    if minute.elapsed() >= Duration::from_mins(1) {
                        (minute, controls) = (Instant::now(), 0);
                    }
                    controls += 1;
                    controls > MAX_MINUTE_CONTROLS
                }
                Message::Close(frame) => return closed(frame),
            };
            if is_flood {
                return End::Flood;
            }
            seen += 1;
            if seen.is_multiple_of(TURN) {
                // What is always ready would keep the clock and whoever stops it from being heard.
                tokio::task::yield_now().await;
            }
        }
    }
}

fn request(url: &Url, protocols: &[String]) -> Result<Request, ToolError> {
    let unusable = |error: &dyn fmt::Display| {
        ToolError::invalid(format!("`{url}` cannot be asked for: {error}"))
    };
    let mut request = url.as_str().into_client_request().map_err(|error| unusable(&error))?;
    let headers = request.headers_mut();
    headers.insert(
        USER_AGENT,
        HeaderValue::from_static(concat!("innerve/", env!("CARGO_PKG_VERSION"))),
    );
    if !protocols.is_empty() {
        let offered = HeaderValue::from_str(&protocols.join(", "));
        headers.insert(SEC_WEBSOCKET_PROTOCOL, offered.map_err(|error| unusable(&error))?);
    }
    Ok(request)
}

/// Why the server said no to the handshake.
fn refused(url: &Url, error: &Error) -> ToolError {
    let Error::Http(response) = error else { return failed(url, &words(error)) };
    let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
    let words = match to {
        Some(to) if response.status().is_redirection() => {
            let to: String = to.chars().take(MAX_URL).collect();
            format!("sends on to `{to}`, which is not followed; watch that if it is meant")
        }
        Some(_) | None => format!("is no WebSocket: it answered {}", response.status()),
    };
    ToolError::new(code::HTTP_STATUS, format!("`{}` {words}", bare_host(url).unwrap_or_default()))
}

fn failed(url: &Url, words: &str) -> ToolError {
    let host = bare_host(url).unwrap_or_default();
    ToolError::new(code::NETWORK, format!("`{host}` cannot be watched: {words}"))
}

fn words(error: &Error) -> String {
    match error {
        Error::Capacity(CapacityError::MessageTooLong { size, .. }) => {
            format!("a message had more than 1 MiB ({size} bytes)")
        }
        Error::ConnectionClosed
        | Error::AlreadyClosed
        | Error::Io(_)
        | Error::Tls(_)
        | Error::Capacity(_)
        | Error::Protocol(_)
        | Error::WriteBufferFull(_)
        | Error::Utf8(_)
        | Error::AttackAttempt
        | Error::Url(_)
        | Error::Http(_)
        | Error::HttpFormat(_) => format!("the connection broke: {error}"),
    }
}

fn broken(how: &str) -> End {
    End::Broken(how.to_owned())
}

fn closed(frame: Option<CloseFrame>) -> End {
    match frame {
        None | Some(CloseFrame { code: CloseCode::Normal | CloseCode::Away, .. }) => End::Closed,
        Some(CloseFrame { code, reason }) => {
            let reason = visible(&reason).replace('\n', " ");
            let gap = if reason.is_empty() { "" } else { ": " };
            End::Broken(format!("the server closed the connection with code {code}{gap}{reason}"))
        }
    }
}

impl fmt::Debug for Sockets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Sockets")
            .field("reachable", &self.reachable)
            .finish_non_exhaustive()
    }
}
