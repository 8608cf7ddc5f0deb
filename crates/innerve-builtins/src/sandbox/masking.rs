//! Credentials that commands see a placeholder of: the proxy puts the real value into requests to the hosts that may have it.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{HeaderMap, HeaderValue};
use innerve_permission::{Host, HostPattern};

/// A credential whose value no command sees.
#[derive(Clone)]
pub struct MaskedCredential {
    placeholder: String,
    value: String,
    hosts: Vec<HostPattern>,
}

impl MaskedCredential {
    /// A credential that `hosts` alone are given; commands see `placeholder`, which must occur nowhere else.
    pub fn new(placeholder: String, value: &str, hosts: Vec<HostPattern>) -> Self {
        // A file that holds a token ends in a line feed, which a header cannot hold.
        Self { placeholder, value: value.trim().to_owned(), hosts }
    }

    fn is_for(&self, host: &Host, port: u16) -> bool {
        self.hosts.iter().any(|pattern| pattern.covers(host, port))
    }

    /// The text with the value in place of the placeholder; `None` where the placeholder is not.
    fn put_into(&self, text: &str) -> Option<String> {
        text.contains(&self.placeholder).then(|| text.replace(&self.placeholder, &self.value))
    }
}

impl fmt::Debug for MaskedCredential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("MaskedCredential");
        debug.field("placeholder", &self.placeholder).field("hosts", &self.hosts);
        debug.finish_non_exhaustive()
    }
}

/// The masked credentials of a session.
#[derive(Clone, Debug, Default)]
pub struct Masking {
    /// The credentials.
    pub credentials: Vec<MaskedCredential>,
    /// Whether they are also put into requests that anybody on the way can read.
    pub allows_plaintext: bool,
}

impl Masking {
    /// Whether any credential is for this host, so that TLS has to end in the proxy.
    pub(super) fn concerns(&self, host: &Host, port: u16) -> bool {
        self.credentials.iter().any(|credential| credential.is_for(host, port))
    }

    /// Puts the values for this host into the headers of a request: as they are, and within `Basic` (RFC 7617), in which
    /// git and curl send names and passwords.
    pub(super) fn put_into(&self, headers: &mut HeaderMap, host: &Host, port: u16) {
        for credential in self.credentials.iter().filter(|one| one.is_for(host, port)) {
            for value in headers.values_mut() {
                let Some(text) = value.to_str().ok() else { continue };
                let put = credential.put_into(text).or_else(|| {
                    let (scheme, encoded) = text.split_once(' ')?;
                    let decoded = STANDARD
                        .decode(encoded.trim())
                        .ok()
                        .filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
                    let put = credential.put_into(std::str::from_utf8(&decoded).ok()?)?;
                    Some(format!("{scheme} {}", STANDARD.encode(put)))
                });
                // A value that no header can hold leaves the placeholder: the host refuses it, and nothing is given away.
                let Some(mut put) = put.and_then(|put| HeaderValue::try_from(put).ok()) else {
                    continue;
                };
                put.set_sensitive(true);
                *value = put;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACEHOLDER: &str = "innerve-masked-0123456789abcdef";

    fn masking(value: &str) -> Masking {
        let hosts = vec![HostPattern::parse("api.example.com").unwrap()];
        let credential = MaskedCredential::new(PLACEHOLDER.to_owned(), value, hosts);
        Masking { credentials: vec![credential], allows_plaintext: false }
    }

    #[track_caller]
    fn put(host: &str, header: &str, value: &str) -> String {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::try_from(header).unwrap());
        masking(value).put_into(&mut headers, &Host::parse(host).unwrap(), 443);
        headers["authorization"].to_str().unwrap().to_owned()
    }

    #[test]
    fn a_value_goes_to_its_hosts_alone() {
        let bearer = format!("Bearer {PLACEHOLDER}");
        assert_eq!(put("api.example.com", &bearer, "s3cret\n"), "Bearer s3cret");
        for other in
            ["example.com", "api.example.com.evil.org", "evil-api.example.com", "192.0.2.1"]
        {
            assert_eq!(put(other, &bearer, "s3cret"), bearer, "{other}");
        }
    }

    #[test]
    fn a_value_is_put_into_what_basic_encodes() {
        let basic = format!("Basic {}", STANDARD.encode(format!("x-token:{PLACEHOLDER}")));
        let wanted = format!("Basic {}", STANDARD.encode("x-token:s3cret"));
        assert_eq!(put("api.example.com", &basic, "s3cret"), wanted);
        assert_eq!(put("api.example.com", "Basic %%%", "s3cret"), "Basic %%%");
    }

    #[test]
    fn what_no_header_can_hold_leaves_the_placeholder() {
        let bearer = format!("Bearer {PLACEHOLDER}");
        assert_eq!(put("api.example.com", &bearer, "two\nlines"), bearer);
    }

    #[test]
    fn a_value_is_not_shown_by_debugging() {
        assert!(!format!("{:?}", masking("s3cret")).contains("s3cret"));
    }
}
