//! Hosts in the one form in which they are compared, and patterns of them.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::fmt;

use super::Specificity;
use crate::rule::DomainPattern;

/// The longest name of a host, in bytes (RFC 1035, 2.3.4, as text without the last dot).
const MAX_NAME: usize = 253;
/// The longest part of one.
const MAX_LABEL: usize = 63;

/// A host in canonical form: what is compared with entries, resolved and connected to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// A name in lower case, without the trailing dot.
    Name(String),
    /// An address; an IPv4 address in IPv6 clothes is an IPv4 address.
    Address(IpAddr),
}

impl Host {
    /// Reads a host as a request names it; `None` for everything that two programs could read differently.
    pub fn parse(text: &str) -> Option<Self> {
        let bracketed = text.strip_prefix('[').map(|rest| rest.strip_suffix(']'));
        match bracketed {
            Some(inner) => return inner?.parse::<Ipv6Addr>().ok().map(Self::v6),
            None if text.contains(':') => return text.parse::<Ipv6Addr>().ok().map(Self::v6),
            None => {}
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        if ends_in_number(&name) {
            // `127.1` and `0x7f.1` are loopback to one program and a name to another.
            return name.parse::<Ipv4Addr>().ok().map(|address| Self::Address(address.into()));
        }
        let is_name = name.len() <= MAX_NAME && name.split('.').all(is_label);
        is_name.then_some(Self::Name(name))
    }

    fn v6(address: Ipv6Addr) -> Self {
        Self::Address(IpAddr::V6(address).to_canonical())
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => formatter.write_str(name),
            Self::Address(IpAddr::V4(address)) => address.fmt(formatter),
            Self::Address(IpAddr::V6(address)) => write!(formatter, "[{address}]"),
        }
    }
}

/// Whether the last part is a number, so that the whole is an IPv4 address or nothing (WHATWG URL standard, "ends in a
/// number checker").
fn ends_in_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    let hex = last.strip_prefix("0x");
    !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit())
        || hex.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn is_label(label: &str) -> bool {
    (1..=MAX_LABEL).contains(&label.len())
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Hosts that an entry of a list names, and perhaps the port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    text: String,
    hosts: Hosts,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hosts {
    Any,
    Domain(DomainPattern),
    Address(IpAddr),
}

impl HostPattern {
    /// Every host.
    pub(super) fn any() -> Self {
        Self { text: "*".to_owned(), hosts: Hosts::Any, port: None }
    }

    /// Reads `example.com`, `*.example.com:443`, `192.0.2.1`, `[::1]:8080` or `*`; the error says what it is not.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` names no host; write a name, a pattern such as `*.example.com`, or an address, and a port behind \
                 `:` if only that one is meant"
            )
        };
        let (host, port) = split_port(text.trim()).ok_or_else(wrong)?;
        let hosts = if host == "*" {
            Hosts::Any
        } else if host.contains('*') {
            // With a letter in place of each star it has to be a name.
            match Host::parse(&host.replace('*', "x")) {
                Some(Host::Name(_)) => Hosts::Domain(DomainPattern::new(host)?),
                Some(Host::Address(_)) | None => return Err(wrong()),
            }
        } else {
            match Host::parse(host).ok_or_else(wrong)? {
                Host::Name(name) => Hosts::Domain(DomainPattern::new(&name)?),
                Host::Address(address) => Hosts::Address(address),
            }
        };
        Ok(Self { text: text.trim().to_owned(), hosts, port })
    }

    /// The pattern as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How exactly it names this host, if it does.
    pub(super) fn allows(&self, host: &Host, port: u16) -> Option<Specificity> {
        if self.port.is_some_and(|own| own != port) {
            return None;
        }
        match (&self.hosts, host) {
            (Hosts::Any, _) => Some(Specificity::Any),
            (Hosts::Address(own), Host::Address(address)) => {
                (own == address).then_some(Specificity::Address)
            }
            (Hosts::Domain(own), Host::Name(name)) => own.matches(name).then(|| {
                if own.only_host().is_some() { Specificity::Name } else { Specificity::Pattern }
            }),
            // The parts of an address are no domains.
            (Hosts::Domain(_), Host::Address(_)) | (Hosts::Address(_), Host::Name(_)) => None,
        }
    }

    /// Whether it covers this host.
    pub fn covers(&self, host: &Host, port: u16) -> bool {
        self.allows(host, port).is_some()
    }
}

/// The host of an entry and its port; `None` if the port is none.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    let colons = text.matches(':').count();
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (_, port) = rest.split_once(']')?;
            let host = text.strip_suffix(port)?;
            if port.is_empty() {
                return Some((host, None));
            }
            (host, port.strip_prefix(':')?)
        }
        // An address without brackets has no room for a port.
        None if colons == 1 => text.split_once(':')?,
        None => return Some((text, None)),
    };
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.parse().ok().filter(|port| is_port && *port != 0)?;
    Some((host, Some(port)))
}
