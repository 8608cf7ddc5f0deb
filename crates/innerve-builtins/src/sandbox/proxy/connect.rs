//! From the name that a command asks for to a connection with an address that was checked.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use innerve_permission::{AllowedHost, Host, Specificity};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Gate;
use crate::address::{is_private, is_public};

/// How long resolving a name may take.
const LOOKUP_LIMIT: Duration = Duration::from_secs(20);
/// How long a connection with one address may take to be made.
const CONNECT_LIMIT: Duration = Duration::from_secs(20);
/// How many addresses of a host are tried.
const MAX_TRIED: usize = 4;

/// A connection with a host that was judged.
pub(super) struct Opened {
    pub(super) host: Host,
    pub(super) port: u16,
    pub(super) stream: TcpStream,
}

impl Opened {
    /// How a request names the host: without the port where that is the usual one.
    pub(super) fn named(&self, usual: u16) -> String {
        named(&self.host, self.port, usual)
    }
}

/// How a request names a host: without the port where that is the usual one.
pub(super) fn named(host: &Host, port: u16, usual: u16) -> String {
    if port == usual { host.to_string() } else { format!("{host}:{port}") }
}

/// Why there is no connection, in words.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It is not allowed.
    Refused(String),
    /// The name has no address.
    Unknown(String),
    /// The host does not answer.
    Unreachable(String),
}

impl Gate {
    /// Judges a host and connects to it.
    pub(super) async fn open(&self, asked: &str, port: u16) -> Result<Opened, Trouble> {
        let refused = |why: &str| Trouble::Refused(self.refuse(asked, port, why));
        if port == 0 {
            return Err(refused("it is no port"));
        }
        let judged = self.egress.policy.judge(asked, port);
        let AllowedHost { host, specificity } = judged.map_err(|why| refused(&why.to_string()))?;
        let found = resolve(&host, port)
            .await
            .map_err(|error| Trouble::Unknown(format!("{host} cannot be resolved: {error}")))?;
        let mut allowed = Vec::new();
        let mut why = None;
        for address in found {
            match self.check(address, specificity) {
                Ok(()) => allowed.push(address),
                Err(reason) => why = Some(reason),
            }
        }
        match (allowed.is_empty(), why) {
            (true, Some(why)) => return Err(refused(&why)),
            (true, None) => return Err(Trouble::Unknown(format!("{host} has no address"))),
            (false, _) => {}
        }
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for address in allowed.iter().take(MAX_TRIED) {
            match timeout(CONNECT_LIMIT, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => {
                    // What is relayed is not to wait for more; without it, it is slower and not wrong.
                    drop(stream.set_nodelay(true));
                    return Ok(Opened { host, port, stream });
                }
                Ok(Err(error)) => last = error,
                Err(_) => last = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(Trouble::Unreachable(format!("{host}:{port} is not reached: {last}")))
    }

    /// Whether an address may be connected to that an entry leads to by naming its host so exactly.
    pub(super) fn check(
        &self,
        address: SocketAddr,
        specificity: Specificity,
    ) -> Result<(), String> {
        let ip = address.ip().to_canonical();
        if let Some(name) = self.egress.policy.denies_address(ip, address.port()) {
            return Err(format!("its address is {ip}, and {name} denies it"));
        }
        let near = match specificity {
            Specificity::Address => return Ok(()),
            Specificity::Name => is_private(ip) || ip.is_loopback(),
            Specificity::Pattern => is_private(ip),
            Specificity::Any => false,
        };
        if near || is_public(ip) {
            return Ok(());
        }
        Err(format!(
            "its address is {ip}, which is local, private or reserved and needs an entry of sandbox.network.allowedDomains \
             that names {}",
            if is_private(ip) || ip.is_loopback() {
                "the host itself"
            } else {
                "the address itself"
            }
        ))
    }
}

async fn resolve(host: &Host, port: u16) -> io::Result<Vec<SocketAddr>> {
    match host {
        Host::Address(address) => Ok(vec![SocketAddr::new(*address, port)]),
        Host::Name(name) => {
            let found = timeout(LOOKUP_LIMIT, tokio::net::lookup_host((name.as_str(), port)));
            let found = found.await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
            Ok(found.map(plain).collect())
        }
    }
}

/// The address as what it is: an IPv4 address in IPv6 clothes is one, and a scope of IPv6 stays.
fn plain(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => SocketAddr::new(ip.into(), address.port()),
        IpAddr::V6(_) => address,
    }
}
