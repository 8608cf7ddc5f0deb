//! Real TLS on both sides of the proxy: a command that trusts its authority, and a server with a certificate of its own.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use innerve_permission::{HostPattern, Layer, NetworkPolicy, RuleSource, merge};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{RootCertStore, ServerConfig};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixStream};

use super::super::{Egress, Proxies, Proxy};
use super::*;
use crate::sandbox::masking::MaskedCredential;

const PLACEHOLDER: &str = "innerve-masked-0123456789abcdef";
const VALUE: &str = "the-real-value";

/// A client or server side that trusts these alone.
fn trusting(certificates: Vec<CertificateDer<'static>>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// A server for `localhost` that answers each request with the head that it got; and its certificate.
async fn server() -> (SocketAddr, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config =
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key.into())
            .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let head = head(&mut stream).await;
                let answer =
                    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{head}", head.len());
                drop(stream.write_all(answer.as_bytes()).await);
                drop(stream.shutdown().await);
            });
        }
    });
    (address, certificate)
}

/// Everything up to the first blank line.
async fn head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { break };
        read.push(byte);
    }
    String::from_utf8_lossy(&read).into_owned()
}

struct World {
    proxy: Proxy,
    folder: TempDir,
    port: u16,
    /// What a command trusts.
    trust: ClientConfig,
}

fn policy(host: &str) -> NetworkPolicy {
    let settings = json!({ "sandbox": { "network": { "allowedDomains": [host] } } });
    merge(&[Layer::new(RuleSource::User, "/", settings)]).unwrap().network
}

/// A proxy that masks a credential for `masked`, in front of a server that it trusts or not.
async fn world(masked: &str, is_trusted: bool) -> World {
    let folder = tempfile::tempdir().unwrap();
    let (address, certificate) = server().await;
    let hosts = vec![HostPattern::parse(masked).unwrap()];
    let credential = MaskedCredential::new(PLACEHOLDER.to_owned(), VALUE, hosts);
    let masking = Masking { credentials: vec![credential], allows_plaintext: false };
    let known = if is_trusted { vec![certificate.clone()] } else { Vec::new() };
    let interception = Arc::new(Interception::trusting(masking, trusting(known)).unwrap());
    let own = interception.authority.certificate().clone();
    let proxies = Proxies::new(folder.path().join("network")).with_interception(interception);
    let proxy = proxies.start(Egress { policy: policy("localhost"), ..Egress::default() }).unwrap();
    World { proxy, folder, port: address.port(), trust: trusting(vec![own, certificate]) }
}

impl World {
    /// Opens a tunnel, and within it TLS with whoever is at its other end.
    async fn tunnel(&self) -> tokio_rustls::client::TlsStream<UnixStream> {
        let mut stream = UnixStream::connect(self.proxy.folder().join("socket")).await.unwrap();
        let asked =
            format!("CONNECT localhost:{0} HTTP/1.1\r\nHost: localhost:{0}\r\n\r\n", self.port);
        stream.write_all(asked.as_bytes()).await.unwrap();
        let answer = head(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let connector = TlsConnector::from(Arc::new(self.trust.clone()));
        connector.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap()
    }

    /// Sends a request through a tunnel of its own and gives the whole answer.
    async fn ask(&self, host: &str, headers: &str) -> String {
        let mut tunnel = self.tunnel().await;
        let request =
            format!("GET /x HTTP/1.1\r\nHost: {host}\r\n{headers}Connection: close\r\n\r\n");
        tunnel.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        drop(tunnel.read_to_string(&mut answer).await);
        answer
    }

    fn host(&self) -> String {
        format!("localhost:{}", self.port)
    }
}

#[tokio::test]
async fn the_host_gets_the_value_and_nobody_else_sees_it() {
    let world = world("localhost", true).await;
    let basic = STANDARD.encode(format!("x:{PLACEHOLDER}"));
    let headers = format!("Authorization: Bearer {PLACEHOLDER}\r\nX-Basic: Basic {basic}\r\n");
    let answer = world.ask(&world.host(), &headers).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains(&format!("Authorization: Bearer {VALUE}\r\n")), "{answer}");
    let put = STANDARD.encode(format!("x:{VALUE}"));
    assert!(answer.contains(&format!("X-Basic: Basic {put}\r\n")), "{answer}");
    assert!(answer.contains(&format!("Host: {}\r\n", world.host())), "{answer}");
    assert!(!answer.contains(PLACEHOLDER), "{answer}");
}

#[tokio::test]
async fn each_request_of_a_tunnel_gets_it() {
    let world = world("localhost", true).await;
    let mut tunnel = world.tunnel().await;
    for _ in 0..3 {
        let request = format!(
            "GET / HTTP/1.1\r\nHost: {}\r\nAuthorization: {PLACEHOLDER}\r\n\r\n",
            world.host()
        );
        tunnel.write_all(request.as_bytes()).await.unwrap();
        let answer = head(&mut tunnel).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(head(&mut tunnel).await.contains(VALUE));
    }
}

#[tokio::test]
async fn a_request_for_another_host_does_not_leave_the_tunnel() {
    let world = world("localhost", true).await;
    let header = format!("Authorization: {PLACEHOLDER}\r\n");
    for host in
        ["evil.example", "localhost", "localhost:1", "localhost.evil.example:443", "a@b", ""]
    {
        let answer = world.ask(host, &header).await;
        assert!(answer.starts_with("HTTP/1.1 421"), "{host}: {answer}");
    }
    let twice = format!("Host: evil.example\r\n{header}");
    assert!(!world.ask(&world.host(), &twice).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn a_tunnel_in_the_tunnel_is_refused() {
    let world = world("localhost", true).await;
    let mut tunnel = world.tunnel().await;
    let request =
        format!("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\nX: {PLACEHOLDER}\r\n\r\n", world.host());
    tunnel.write_all(request.as_bytes()).await.unwrap();
    let answer = head(&mut tunnel).await;
    assert!(answer.starts_with("HTTP/1.1 405"), "{answer}");
}

#[tokio::test]
async fn a_server_that_is_not_who_it_says_gets_nothing() {
    let world = world("localhost", false).await;
    let answer = world.ask(&world.host(), &format!("Authorization: {PLACEHOLDER}\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 502") && answer.contains("localhost"), "{answer}");
    assert!(!answer.contains(VALUE), "{answer}");
}

#[tokio::test]
async fn tls_with_other_hosts_is_not_looked_into() {
    let world = world("api.example.com", true).await;
    let answer = world.ask(&world.host(), &format!("Authorization: {PLACEHOLDER}\r\n")).await;
    assert!(answer.contains(PLACEHOLDER) && !answer.contains(VALUE), "{answer}");
}

#[tokio::test]
async fn what_is_no_tls_is_relayed_as_it_is() {
    let world = world("localhost", true).await;
    let mut stream = UnixStream::connect(world.proxy.folder().join("socket")).await.unwrap();
    let asked = format!("CONNECT localhost:{} HTTP/1.1\r\n\r\n", world.port);
    stream.write_all(asked.as_bytes()).await.unwrap();
    head(&mut stream).await;
    stream
        .write_all(format!("GET / HTTP/1.1\r\nX: {PLACEHOLDER}\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer).await);
    // The server speaks TLS alone, and says so by an alert.
    assert!(!String::from_utf8_lossy(&answer).contains(VALUE));
}

#[tokio::test]
async fn without_tls_the_value_goes_out_only_where_that_is_wanted() {
    for allows_plaintext in [false, true] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = format!("localhost:{}", listener.local_addr().unwrap().port());
        let credential = MaskedCredential::new(
            PLACEHOLDER.to_owned(),
            VALUE,
            vec![HostPattern::parse(&host).unwrap()],
        );
        let masking = Masking { credentials: vec![credential], allows_plaintext };
        let interception = Interception::trusting(masking, trusting(Vec::new())).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let proxies =
            Proxies::new(folder.path().join("network")).with_interception(Arc::new(interception));
        let proxy = proxies.start(Egress { policy: policy(&host), ..Egress::default() }).unwrap();
        let mut stream = UnixStream::connect(proxy.folder().join("socket")).await.unwrap();
        let asked = format!(
            "GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nAuthorization: {PLACEHOLDER}\r\n\r\n"
        );
        stream.write_all(asked.as_bytes()).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        assert_eq!(head(&mut server).await.contains(VALUE), allows_plaintext);
    }
}

#[tokio::test]
async fn commands_trust_what_they_trusted_and_the_authority() {
    let world = world("localhost", true).await;
    let own = world.folder.path().join("own.pem");
    std::fs::write(&own, "-----BEGIN CERTIFICATE-----\nb3du\n-----END CERTIFICATE-----\n").unwrap();
    let masking = Masking::default();
    let interception = Interception::trusting(masking, trusting(Vec::new())).unwrap();
    let told = interception
        .introduce(world.folder.path(), |name| {
            (name == "SSL_CERT_FILE").then(|| own.display().to_string())
        })
        .unwrap();
    let (_, path) = told.iter().find(|(name, _)| name == "SSL_CERT_FILE").unwrap();
    let bundle = std::fs::read_to_string(path).unwrap();
    assert!(bundle.contains("b3du"), "{bundle}");
    let begin = STANDARD.encode(interception.authority.certificate());
    assert!(bundle.replace('\n', "").contains(&begin), "the authority's own");
}
