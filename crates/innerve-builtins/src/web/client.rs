//! HTTP for pages that a model chose: names resolved and checked here, connections pinned to what was checked, redirects
//! by hand, size and time bounded.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use innerve_tool::{ToolError, code as tool_code};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Client, Url, redirect};

use crate::address::is_public;
use crate::code;

/// Redirects on one host that are followed.
const MAX_REDIRECTS: usize = 10;
/// How long a connection may take to be made.
const CONNECT_LIMIT: Duration = Duration::from_secs(15);

/// What a fetch gave.
pub(super) enum Fetched {
    /// A page.
    Page(Page),
    /// The server sends on to another host, which nobody has judged yet.
    MovedTo { status: u16, to: Url },
}

/// A page as it came.
pub(super) struct Page {
    pub(super) url: Url,
    pub(super) content_type: String,
    pub(super) bytes: Vec<u8>,
    /// Whether the page was longer.
    pub(super) is_cut: bool,
}

/// Fetches a page, its redirects included as long as they stay on its host.
pub(super) async fn fetch(
    mut url: Url,
    reachable: &[SocketAddr],
    max_bytes: usize,
) -> Result<Fetched, ToolError> {
    for _ in 0..=MAX_REDIRECTS {
        let client = pinned(&url, reachable).await?;
        let response = client
            .get(url.clone())
            .header(ACCEPT, "text/markdown, text/html;q=0.9, text/*;q=0.8, */*;q=0.5")
            .send()
            .await
            .map_err(|error| failed(&url, &error))?;
        let status = response.status();
        if status.is_redirection()
            && let Some(to) = location(&url, response.headers())?
        {
            if !is_same_place(&url, &to) {
                return Ok(Fetched::MovedTo { status: status.as_u16(), to });
            }
            url = to;
            continue;
        }
        let content_type =
            response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_owned();
        let (bytes, is_cut) = read(response, &url, max_bytes).await?;
        if !status.is_success() {
            let words = super::body::excerpt(&content_type, &bytes);
            let message = format!("`{url}` answered {status}{words}");
            return Err(ToolError::new(code::HTTP_STATUS, message));
        }
        return Ok(Fetched::Page(Page { url, content_type, bytes, is_cut }));
    }
    let message =
        format!("`{url}` was reached after {MAX_REDIRECTS} redirects and redirects again");
    Err(ToolError::new(tool_code::FAILED, message))
}

/// The whole body, up to a limit; whether there was more.
pub(super) async fn read(
    mut response: reqwest::Response,
    url: &Url,
    max_bytes: usize,
) -> Result<(Vec<u8>, bool), ToolError> {
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| failed(url, &error))? {
        let room = max_bytes.saturating_sub(bytes.len());
        bytes.extend_from_slice(piece.get(..room).unwrap_or(&piece));
        if piece.len() > room {
            return Ok((bytes, true));
        }
    }
    Ok((bytes, false))
}

/// A client that connects to checked addresses of the URL's host alone.
async fn pinned(url: &Url, reachable: &[SocketAddr]) -> Result<Client, ToolError> {
    let allowed = checked_addresses(url, reachable).await?;
    let builder = client().connect_timeout(CONNECT_LIMIT).dns_resolver(Arc::new(Checked(allowed)));
    // Reading the system's certificates takes time, and minimal systems have none.
    let builder = if url.scheme() == "http" { builder.tls_certs_only([]) } else { builder };
    builder.build().map_err(|error| failed(url, &error))
}

/// The addresses of the URL's host that are public or `reachable`; an error if there is none.
pub(crate) async fn checked_addresses(
    url: &Url,
    reachable: &[SocketAddr],
) -> Result<Vec<SocketAddr>, ToolError> {
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return Err(ToolError::invalid(format!("`{url}` names no host")));
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let found: Vec<SocketAddr> = match bare.parse::<IpAddr>() {
        Ok(address) => vec![SocketAddr::new(address, port)],
        Err(_) => tokio::net::lookup_host((bare, port))
            .await
            .map_err(|error| {
                ToolError::new(code::NETWORK, format!("`{host}` cannot be resolved: {error}"))
            })?
            .collect(),
    };
    let is_allowed = |address: &SocketAddr| is_public(address.ip()) || reachable.contains(address);
    let allowed: Vec<SocketAddr> = found.iter().copied().filter(is_allowed).collect();
    if allowed.is_empty() {
        let message = match found.first() {
            Some(address) => format!(
                "`{host}` has the address {}, which is private, local or reserved; only public addresses are reached. For a server of your own use a command such as curl",
                address.ip()
            ),
            None => format!("`{host}` has no address"),
        };
        return Err(ToolError::new(code::PRIVATE_ADDRESS, message));
    }
    Ok(allowed)
}

/// Knows the addresses that were checked, and no others, whatever name is asked for.
struct Checked(Vec<SocketAddr>);

impl Resolve for Checked {
    fn resolve(&self, _name: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(std::future::ready(Ok(addresses)))
    }
}

/// What all clients have in common. No proxy: it would resolve the name anew, where nobody checks the address.
fn client() -> reqwest::ClientBuilder {
    install_provider();
    Client::builder()
        .user_agent(concat!("innerve/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .no_proxy()
}

/// Says which cryptography TLS uses.
pub(crate) fn install_provider() {
    static PROVIDER: OnceLock<()> = OnceLock::new();
    // An error means that the program installed its own provider before: that one is used.
    PROVIDER.get_or_init(|| drop(rustls::crypto::ring::default_provider().install_default()));
}

/// Where a redirect leads.
fn location(url: &Url, headers: &HeaderMap) -> Result<Option<Url>, ToolError> {
    let Some(value) = headers.get(LOCATION) else { return Ok(None) };
    let text = value.to_str().ok();
    let to = text.and_then(|text| url.join(text).ok());
    match to.filter(|to| matches!(to.scheme(), "http" | "https")) {
        Some(to) => Ok(Some(to)),
        None => Err(ToolError::new(
            tool_code::FAILED,
            format!("`{url}` redirects to something that is no http or https URL"),
        )),
    }
}

/// Whether what was judged for one URL holds for the other: the same server, and no step from https to http.
fn is_same_place(from: &Url, to: &Url) -> bool {
    let is_upgrade = from.scheme() == "http"
        && to.scheme() == "https"
        && (from.port(), to.port()) == (None, None);
    let is_same =
        from.scheme() == to.scheme() && from.port_or_known_default() == to.port_or_known_default();
    from.host_str() == to.host_str()
        && (is_same || is_upgrade)
        && to.username().is_empty()
        && to.password().is_none()
}

/// An error of the connection, told by its cause.
pub(super) fn failed(url: &Url, error: &reqwest::Error) -> ToolError {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let host = url.host_str().unwrap_or_default();
    ToolError::new(code::NETWORK, format!("the connection to `{host}` failed: {cause}"))
}
