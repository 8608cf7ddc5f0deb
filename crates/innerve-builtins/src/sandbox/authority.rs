//! An authority of this session alone: it vouches for the proxy, where that ends TLS to put a credential in.
//!
//! Its keys are made for the session and never leave memory; what commands get of it is its certificate, beside those
//! that the machine trusts anyway.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use innerve_permission::Host;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// Certificates that are kept, at most: a pattern may cover any number of hosts.
const MAX_HOSTS: usize = 256;
/// Where the certificates are that a machine trusts, by distribution, the first that is there (Go's `crypto/x509`,
/// `root_linux.go`).
const TRUSTED: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
/// Variables by which programs find the certificates that they trust: of OpenSSL, curl, Python's requests and pip, git,
/// cargo, the AWS tools, Deno, npm and Node; for the last one it is an addition.
const VARIABLES: &[&str] = &[
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
    "AWS_CA_BUNDLE",
    "DENO_CERT",
    "NPM_CONFIG_CAFILE",
    "NODE_EXTRA_CA_CERTS",
];

/// Vouches for hosts towards the commands of one session.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    /// The key of all hosts' certificates.
    key: KeyPair,
    hosts: Mutex<HashMap<Host, Arc<ServerConfig>>>,
}

impl Authority {
    /// Makes its keys and its certificate.
    pub(super) fn new() -> io::Result<Self> {
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let mut params = CertificateParams::default();
        params.distinguished_name = named("innerve, for the commands of one session");
        // It vouches for hosts and for no further authority.
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let certificate = params.self_signed(&key).map_err(io::Error::other)?.der().clone();
        Ok(Self {
            issuer: Issuer::new(params, key),
            certificate,
            key: KeyPair::generate().map_err(io::Error::other)?,
            hosts: Mutex::default(),
        })
    }

    #[cfg(test)]
    pub(super) fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// How to answer as this host, over HTTP/1.1.
    pub(super) fn server(&self, host: &Host) -> io::Result<Arc<ServerConfig>> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = hosts.get(host) {
            return Ok(Arc::clone(known));
        }
        let name = match host {
            Host::Name(name) => name.clone(),
            Host::Address(address) => address.to_string(),
        };
        let mut params = CertificateParams::new([name]).map_err(io::Error::other)?;
        params.distinguished_name = named("innerve");
        params.use_authority_key_identifier_extension = true;
        let certificate = params.signed_by(&self.key, &self.issuer).map_err(io::Error::other)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .map_err(io::Error::other)?;
        server.alpn_protocols = vec![b"http/1.1".to_vec()];
        if hosts.len() >= MAX_HOSTS {
            hosts.clear();
        }
        let server = Arc::new(server);
        hosts.insert(host.clone(), Arc::clone(&server));
        Ok(server)
    }

    /// Writes what commands are to trust into `folder`; gives the variables that tell them.
    ///
    /// `own` are variables of the environment that commands inherit: what they trust already stays trusted.
    pub(super) fn introduce(
        &self,
        folder: &Path,
        own: impl Fn(&str) -> Option<String>,
    ) -> io::Result<Vec<(String, String)>> {
        let mut bundle = pem(&self.certificate);
        let mut known: Vec<PathBuf> =
            VARIABLES.iter().filter_map(|name| own(name)).map(PathBuf::from).collect();
        known.extend(TRUSTED.iter().map(PathBuf::from).find(|path| path.exists()));
        known.sort();
        known.dedup();
        for path in known {
            // What cannot be read was trusted by nobody.
            if let Ok(trusted) = std::fs::read_to_string(&path) {
                bundle.push('\n');
                bundle.push_str(&trusted);
            }
        }
        let path = folder.join("trusted.pem");
        std::fs::write(&path, bundle)?;
        let path = path.to_string_lossy().into_owned();
        Ok(VARIABLES.iter().map(|name| ((*name).to_owned(), path.clone())).collect())
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

/// A certificate as text (RFC 7468).
fn pem(certificate: &CertificateDer<'_>) -> String {
    let text = STANDARD.encode(certificate);
    let mut lines = String::from("-----BEGIN CERTIFICATE-----\n");
    for (at, letter) in text.chars().enumerate() {
        if at > 0 && at.is_multiple_of(64) {
            lines.push('\n');
        }
        lines.push(letter);
    }
    lines.push_str("\n-----END CERTIFICATE-----\n");
    lines
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Authority").finish_non_exhaustive()
    }
}
