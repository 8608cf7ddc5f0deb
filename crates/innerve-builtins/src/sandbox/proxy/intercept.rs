//! TLS that ends in the proxy, for the hosts that a masked credential is for: a request gets the credential's value and goes
//! on over TLS of its own, to the host that was judged.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::body::Incoming;
use hyper::header::HOST;
use hyper::http::uri::Authority as UriAuthority;
use hyper::{Method, Request, Response, StatusCode, service::service_fn};
use hyper_util::rt::TokioIo;
use innerve_permission::Host;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::ConfigVerifierExt as _;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::connect::{Opened, named};
use super::http::{Begun, Body, failure, http_server, send, words};
use super::{Gate, HEAD_LIMIT, relay};
use crate::sandbox::authority::Authority;
use crate::sandbox::masking::Masking;

/// How a TLS connection begins: a record of a handshake (RFC 8446, 5.1).
const HANDSHAKE: u8 = 22;

/// What puts masked credentials into requests.
pub struct Interception {
    authority: Authority,
    masking: Masking,
    trusted: Arc<ClientConfig>,
}

impl Interception {
    /// Makes the authority that commands have to trust; servers are trusted as this machine trusts them.
    pub fn new(masking: Masking) -> io::Result<Self> {
        // A host that has made another provider the default keeps it.
        drop(rustls::crypto::ring::default_provider().install_default());
        let trusted = ClientConfig::with_platform_verifier().map_err(io::Error::other)?;
        Self::trusting(masking, trusted)
    }

    fn trusting(masking: Masking, mut trusted: ClientConfig) -> io::Result<Self> {
        trusted.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { authority: Authority::new()?, masking, trusted: Arc::new(trusted) })
    }

    /// Writes the certificates that commands are to trust into `folder`; gives the variables that tell them where.
    ///
    /// `own` looks up the environment that commands have without it.
    pub fn introduce(
        &self,
        folder: &Path,
        own: impl Fn(&str) -> Option<String>,
    ) -> io::Result<Vec<(String, String)>> {
        self.authority.introduce(folder, own)
    }

    /// The credentials.
    pub(super) fn masking(&self) -> &Masking {
        &self.masking
    }

    /// Serves the inside of a tunnel to its end.
    pub(super) async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send>(
        &self,
        gate: &Gate,
        client: S,
        opened: Opened,
    ) {
        let mut client = BufReader::new(client);
        let first = match timeout(HEAD_LIMIT, client.fill_buf()).await {
            Ok(Ok([first, ..])) => *first,
            Ok(Ok([]) | Err(_)) | Err(_) => return,
        };
        if first != HANDSHAKE {
            // What is not TLS is relayed as it is, with placeholders that open no door.
            return relay(client, opened.stream).await;
        }
        let Opened { host, port, stream } = opened;
        let Ok(server) = self.authority.server(&host) else { return };
        let accepted = timeout(HEAD_LIMIT, TlsAcceptor::from(server).accept(client));
        let Ok(Ok(client)) = accepted.await else { return };
        let tunnel = Tunnel {
            gate,
            interception: self,
            host,
            port,
            first: Mutex::new(Some(stream)),
            begun: Begun::default(),
        };
        let service = service_fn(|request| {
            let tunnel = &tunnel;
            async move { Ok::<_, Infallible>(tunnel.answer(request).await) }
        });
        let served = http_server().serve_connection(TokioIo::new(client), service);
        // How it ended is between the client and the server.
        drop(served.await);
    }
}

impl fmt::Debug for Interception {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Interception")
            .field("masking", &self.masking)
            .finish_non_exhaustive()
    }
}

/// A tunnel that is looked into.
struct Tunnel<'a> {
    gate: &'a Gate,
    interception: &'a Interception,
    host: Host,
    port: u16,
    /// The connection that the tunnel was opened with, for the first request; each further one gets its own.
    first: Mutex<Option<TcpStream>>,
    begun: Begun,
}

impl Tunnel<'_> {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        if request.method() == Method::CONNECT {
            let text = "there is no proxy at the end of this tunnel".to_owned();
            return words(StatusCode::METHOD_NOT_ALLOWED, text);
        }
        if !self.is_for_here(&request) {
            let text = format!(
                "this is a tunnel to {}:{}, and the request is for another host",
                self.host, self.port
            );
            return words(StatusCode::MISDIRECTED_REQUEST, text);
        }
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        let stream = match first {
            Some(stream) => stream,
            None => match self.gate.open(&self.host.to_string(), self.port).await {
                Ok(opened) => opened.stream,
                Err(trouble) => return failure(trouble),
            },
        };
        match self.pass_on(request, stream).await {
            Ok(response) => response,
            Err(error) => words(
                StatusCode::BAD_GATEWAY,
                format!("{}:{} failed: {error}", self.host, self.port),
            ),
        }
    }

    async fn pass_on(
        &self,
        mut request: Request<Incoming>,
        stream: TcpStream,
    ) -> Result<Response<Body>, Box<dyn std::error::Error + Send + Sync>> {
        let name = match &self.host {
            Host::Name(name) => ServerName::try_from(name.clone())?,
            Host::Address(address) => ServerName::from(*address),
        };
        let connector = TlsConnector::from(Arc::clone(&self.interception.trusted));
        let stream = timeout(HEAD_LIMIT, connector.connect(name, stream)).await??;
        self.interception.masking.put_into(request.headers_mut(), &self.host, self.port);
        send(&self.begun, request, stream, &named(&self.host, self.port, 443)).await
    }

    /// Whether the request is for the host of the tunnel: a credential goes nowhere else, whatever stands behind the same
    /// address.
    fn is_for_here(&self, request: &Request<Incoming>) -> bool {
        let named = request.headers().get_all(HOST).iter().map(|value| value.to_str().ok());
        let whole = request.uri().authority().map(|authority| Some(authority.as_str()));
        let mut named = named.chain(whole).peekable();
        named.peek().is_some()
            && named.all(|name| {
                let Some(Ok(authority)) = name.map(str::parse::<UriAuthority>) else {
                    return false;
                };
                Host::parse(authority.host()).as_ref() == Some(&self.host)
                    && authority.port_u16().unwrap_or(443) == self.port
            })
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests;
