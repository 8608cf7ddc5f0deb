//! The network of one command in the sandbox: a proxy outside of it that lets through what its policy names.
//!
//! It listens on a Unix socket and speaks both HTTP (RFC 9110, 9112) and SOCKS5 (RFC 1928). Each host that is asked for is
//! judged, then resolved here, and the connection goes to an address that was checked. Into TLS it looks only for hosts that
//! may have a masked credential ([`Interception`]).

mod connect;
mod http;
mod intercept;
mod socks;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::HeaderMap;
use innerve_permission::NetworkPolicy;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, BufReader};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use self::connect::Opened;
pub use self::intercept::Interception;
use super::live::LiveFolder;
use crate::bash::Lease;

/// The port where a command finds its proxy, on its own loopback: that of Squid, free in a network that nobody else is in.
pub(super) const PORT: u16 = 3128;
/// What of a proxy's folder its command sees.
const WAY: &str = "way";
/// The name of the socket in its folder.
pub(super) const SOCKET: &str = "socket";
/// How long a client may take for what it has to say before anything is connected.
const HEAD_LIMIT: Duration = Duration::from_secs(30);
/// Connections of one command at a time; more wait. A part of those of all, so that no two commands hold up the others.
const MAX_CONNECTIONS: usize = 48;
/// Connections of all commands at a time: each takes two file descriptors of this process.
const MAX_ALL: usize = 256;
/// Refusals that are told of one command.
const MAX_TOLD: usize = 10;

/// What a command may reach, and who decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Egress {
    /// The hosts.
    pub policy: NetworkPolicy,
    /// The port of 127.0.0.1 where a person's own HTTP proxy decides in place of the policy.
    pub http_proxy: Option<u16>,
    /// The port of 127.0.0.1 where a person's own SOCKS proxy decides in place of the policy.
    pub socks_proxy: Option<u16>,
}

impl Egress {
    /// Whether nothing can be reached, so that no proxy is needed.
    pub fn is_closed(&self) -> bool {
        self.policy.is_closed() && self.http_proxy.is_none() && self.socks_proxy.is_none()
    }
}

/// Makes the proxies of a program's commands.
#[derive(Clone, Debug)]
pub struct Proxies {
    folder: PathBuf,
    all: Arc<Semaphore>,
    interception: Option<Arc<Interception>>,
}

/// The proxy of one command; dropping it ends its connections.
#[derive(Debug)]
pub struct Proxy {
    way: PathBuf,
    _folder: LiveFolder,
    gate: Arc<Gate>,
    accepting: JoinHandle<()>,
}

/// Where connections are judged.
#[derive(Debug)]
struct Gate {
    egress: Egress,
    refused: Mutex<Vec<String>>,
    own: Arc<Semaphore>,
    all: Arc<Semaphore>,
    interception: Option<Arc<Interception>>,
}

impl Proxies {
    /// Their sockets are made in this folder, which nobody else may read, and which commands must not see.
    ///
    /// What a program that was killed left behind in it is removed.
    pub fn new(folder: PathBuf) -> Self {
        LiveFolder::tidy(&folder);
        Self { folder, all: Arc::new(Semaphore::new(MAX_ALL)), interception: None }
    }

    /// Has masked credentials put into requests.
    #[must_use]
    pub fn with_interception(mut self, interception: Arc<Interception>) -> Self {
        self.interception = Some(interception);
        self
    }

    /// The folder of all sockets, which is made if it is not there: what is not there cannot be hidden.
    pub fn folder(&self) -> io::Result<&Path> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.folder)?;
        Ok(&self.folder)
    }

    /// Starts a proxy; needs an asynchronous runtime.
    pub fn start(&self, egress: Egress) -> io::Result<Proxy> {
        let folder = LiveFolder::new(self.folder()?, "command-")?;
        let way = folder.path().join(WAY);
        fs::create_dir(&way)?;
        let gate = Arc::new(Gate {
            egress,
            refused: Mutex::default(),
            own: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
            all: Arc::clone(&self.all),
            interception: self.interception.clone(),
        });
        let accepting = listen(&way, Arc::clone(&gate))?;
        Ok(Proxy { way, _folder: folder, gate, accepting })
    }
}

impl Proxy {
    /// The folder that holds the socket and nothing else.
    pub fn folder(&self) -> &Path {
        &self.way
    }
}

impl Lease for Proxy {
    fn notes(&self) -> Vec<String> {
        self.gate.notes()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // With it go all connections, which it owns.
        self.accepting.abort();
    }
}

impl Gate {
    /// Remembers what was refused, and says it.
    fn refuse(&self, host: &str, port: u16, why: &str) -> String {
        // A command chooses the name, and a person reads it.
        let name: String = host.escape_debug().take(100).collect();
        self.remember(format!("{name}:{port} ({why})"))
    }

    /// What was refused so far, as it is told.
    fn notes(&self) -> Vec<String> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let mut notes: Vec<String> = refused.iter().take(MAX_TOLD).map(|what| told(what)).collect();
        if refused.len() > MAX_TOLD {
            notes.push(told("other hosts, too"));
        }
        notes
    }

    fn remember(&self, what: String) -> String {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() <= MAX_TOLD && !refused.contains(&what) {
            refused.push(what.clone());
        }
        what
    }

    /// Serves one connection to its end.
    async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(self: Arc<Self>, stream: S) {
        let mut stream = BufReader::new(stream);
        let first = match tokio::time::timeout(HEAD_LIMIT, stream.fill_buf()).await {
            Ok(Ok([first, ..])) => *first,
            Ok(Ok([]) | Err(_)) | Err(_) => return,
        };
        let is_socks = first == socks::VERSION;
        let (setting, other) = if is_socks {
            ("socksProxyPort", self.egress.socks_proxy)
        } else {
            ("httpProxyPort", self.egress.http_proxy)
        };
        if let Some(port) = other {
            match TcpStream::connect(("127.0.0.1", port)).await {
                Ok(proxy) => relay(&mut stream, proxy).await,
                Err(error) => {
                    let what = format!(
                        "everything (the proxy of sandbox.network.{setting}, 127.0.0.1:{port}, is not reached: {error})"
                    );
                    self.remember(what);
                }
            }
        } else if is_socks {
            socks::serve(&self, stream).await;
        } else {
            http::serve(&self, stream).await;
        }
    }

    /// Carries a tunnel to its end.
    async fn tunnel<S: AsyncRead + AsyncWrite + Unpin + Send>(&self, client: S, opened: Opened) {
        match self.interception_for(&opened) {
            Some(interception) => interception.serve(self, client, opened).await,
            None => relay(client, opened.stream).await,
        }
    }

    /// Puts masked credentials into a request that anybody on the way can read, where settings want that.
    fn mask_plain(&self, headers: &mut HeaderMap, opened: &Opened) {
        if let Some(interception) = self.interception_for(opened)
            && interception.masking().allows_plaintext
        {
            interception.masking().put_into(headers, &opened.host, opened.port);
        }
    }

    fn interception_for(&self, opened: &Opened) -> Option<&Interception> {
        let interception = self.interception.as_deref()?;
        interception.masking().concerns(&opened.host, opened.port).then_some(interception)
    }
}

/// A refusal, as it is told to the command, the model and the person.
fn told(what: &str) -> String {
    format!("the sandbox refused the network: {what}")
}

/// What tells programs of the way; names in lower case are what some read, and of HTTP all that curl does.
///
/// All of them name it as an HTTP proxy, although it speaks SOCKS too: the clients of Python that are built on HTTPX do not
/// even start where a variable names a SOCKS proxy and the package for it is not installed.
pub(super) fn variables() -> Vec<(String, String)> {
    let http = format!("http://127.0.0.1:{PORT}");
    let own = "localhost,127.0.0.1,::1";
    let proxies = [
        ("HTTP_PROXY", http.as_str()),
        ("HTTPS_PROXY", &http),
        ("ALL_PROXY", &http),
        ("NO_PROXY", own),
    ];
    let mut variables: Vec<(String, String)> = Vec::new();
    for (name, value) in proxies {
        variables.push((name.to_owned(), value.to_owned()));
        variables.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    variables.push(("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned()));
    variables
}

/// Copies both ways until both are done; an error of one side ends both.
async fn relay(mut client: impl AsyncRead + AsyncWrite + Unpin, mut server: TcpStream) {
    // How a connection ends is between its two ends.
    drop(tokio::io::copy_bidirectional(&mut client, &mut server).await);
}

/// Does something with the path of a folder's socket, which is short however long that of the folder is: the kernel takes
/// 108 bytes (`unix(7)`).
#[cfg(unix)]
fn short<T>(folder: &Path, work: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    use std::os::fd::AsRawFd as _;

    const MAX_PATH: usize = 100;
    let socket = folder.join(SOCKET);
    if socket.as_os_str().len() <= MAX_PATH {
        return work(&socket);
    }
    let opened = File::open(folder)?;
    let done = work(&Path::new("/proc/self/fd").join(opened.as_raw_fd().to_string()).join(SOCKET));
    drop(opened);
    done
}

#[cfg(unix)]
fn listen(folder: &Path, gate: Arc<Gate>) -> io::Result<JoinHandle<()>> {
    use tokio::task::JoinSet;

    let runtime = tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
    let listener = short(folder, |socket| tokio::net::UnixListener::bind(socket))?;
    Ok(runtime.spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            let own = Arc::clone(&gate.own).acquire_owned().await;
            let all = Arc::clone(&gate.all).acquire_owned().await;
            match listener.accept().await {
                Ok((stream, _)) => {
                    let gate = Arc::clone(&gate);
                    connections.spawn(async move {
                        gate.serve(stream).await;
                        drop((own, all));
                    });
                }
                // Such as too many open files: that passes.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }))
}

#[cfg(not(unix))]
fn listen(_folder: &Path, _gate: Arc<Gate>) -> io::Result<JoinHandle<()>> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(unix)]
#[cfg(test)]
mod tests;
