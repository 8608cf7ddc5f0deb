//! An HTTP proxy: tunnels (`CONNECT`) and plain requests, each of which is judged for itself.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::http::uri::{Authority, PathAndQuery, Scheme};
use hyper::server::conn::http1;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode, Uri, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::task::JoinSet;

use super::connect::{Opened, Trouble};
use super::{Gate, HEAD_LIMIT};

/// The largest head of a request, in bytes.
const MAX_HEAD: usize = 64 * 1024;
/// Headers that speak of one connection only (RFC 9110, 7.6.1), besides those that `Connection` names.
const HOP_BY_HOP: &[&str] = &[
    "connection",
    "expect",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The body of an answer: the server's, or words of the proxy.
pub(super) type Body = Either<Incoming, Full<Bytes>>;

/// What one connection of a client has begun; it ends with it.
#[derive(Default)]
pub(super) struct Begun {
    /// A tunnel whose answer is on its way.
    tunnel: Mutex<Option<(OnUpgrade, Opened)>>,
    /// Connections with servers that answer plain requests.
    servers: Mutex<JoinSet<()>>,
}

/// Serves one connection.
pub(super) async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    gate: &Arc<Gate>,
    stream: BufReader<S>,
) {
    let begun = Arc::new(Begun::default());
    let service = service_fn(|request| {
        let (gate, begun) = (Arc::clone(gate), Arc::clone(&begun));
        async move { Ok::<_, Infallible>(answer(&gate, &begun, request).await) }
    });
    let served =
        http_server().serve_connection(TokioIo::new(stream), service).with_upgrades().await;
    let tunnel = begun.tunnel.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let (Ok(()), Some((upgrade, opened))) = (served, tunnel)
        && let Ok(client) = upgrade.await
    {
        gate.tunnel(TokioIo::new(client), opened).await;
    }
}

/// How a client is served, here and within TLS.
pub(super) fn http_server() -> http1::Builder {
    let mut server = http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_LIMIT)
        .max_buf_size(MAX_HEAD)
        .preserve_header_case(true)
        .auto_date_header(false);
    server
}

async fn answer(gate: &Gate, begun: &Begun, mut request: Request<Incoming>) -> Response<Body> {
    let target = target(request.method(), request.uri());
    let (authority, port) = match target {
        Ok(target) => target,
        Err(problem) => return words(StatusCode::BAD_REQUEST, problem.to_owned()),
    };
    // With a user name in it, it is no host, and is refused as such.
    let asked =
        if authority.as_str().contains('@') { authority.as_str() } else { authority.host() };
    let opened = match gate.open(asked, port).await {
        Ok(opened) => opened,
        Err(trouble) => return failure(trouble),
    };
    if request.method() == Method::CONNECT {
        let tunnel = (hyper::upgrade::on(request), opened);
        *begun.tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some(tunnel);
        return Response::new(Either::Right(Full::default()));
    }
    gate.mask_plain(request.headers_mut(), &opened);
    let host = opened.named(80);
    match send(begun, request, opened.stream, &host).await {
        Ok(response) => response,
        Err(error) => words(StatusCode::BAD_GATEWAY, format!("{host} failed: {error}")),
    }
}

/// The host and port that a request is for.
fn target(method: &Method, uri: &Uri) -> Result<(Authority, u16), &'static str> {
    const PROXY: &str = "this is a proxy: a request names its whole `http:` URL, or is a CONNECT to a host and a port";
    let authority = uri.authority().cloned().ok_or(PROXY)?;
    let port = if method == Method::CONNECT {
        uri.scheme().is_none().then(|| authority.port_u16()).flatten()
    } else if uri.scheme() == Some(&Scheme::HTTP) {
        // A colon that no port follows is not the same as no colon.
        match authority.port_u16() {
            Some(port) => Some(port),
            None => {
                (!authority.as_str().ends_with(':') && authority.port().is_none()).then_some(80)
            }
        }
    } else {
        None
    };
    port.map(|port| (authority, port)).ok_or(PROXY)
}

/// Sends a request to the server at the end of `stream`, which is `host`: whatever the client wrote as its `Host` is
/// replaced.
pub(super) async fn send<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    begun: &Begun,
    mut request: Request<Incoming>,
    stream: S,
    host: &str,
) -> Result<Response<Body>, Box<dyn std::error::Error + Send + Sync>> {
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = path.unwrap_or_else(|| PathAndQuery::from_static("/")).into();
    let headers = request.headers_mut();
    strip(headers);
    headers.insert(HOST, HeaderValue::try_from(host)?);
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
        .preserve_header_case(true)
        .handshake::<_, Incoming>(TokioIo::new(stream))
        .await?;
    {
        let mut servers = begun.servers.lock().unwrap_or_else(PoisonError::into_inner);
        while servers.try_join_next().is_some() {}
        // How it ended is seen in the answer.
        servers.spawn(async move { drop(connection.await) });
    }
    let mut response = sender.send_request(request).await?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Err("it changes the protocol, which nobody asked for".into());
    }
    strip(response.headers_mut());
    Ok(response.map(Either::Left))
}

/// Takes out what was meant for this connection alone.
fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in HOP_BY_HOP {
        headers.remove(*name);
    }
}

/// Why a host is not reached, as an answer.
pub(super) fn failure(trouble: Trouble) -> Response<Body> {
    match trouble {
        Trouble::Refused(what) => words(StatusCode::FORBIDDEN, super::told(&what)),
        Trouble::Unknown(what) | Trouble::Unreachable(what) => words(StatusCode::BAD_GATEWAY, what),
    }
}

pub(super) fn words(status: StatusCode, text: String) -> Response<Body> {
    let mut response = Response::new(Either::Right(Full::from(text + "\n")));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
