//! The host of a URL, read strictly: what two URL parsers could read differently has no host here.

use core::net::{Ipv4Addr, Ipv6Addr};

/// The host of an `http` or `https` URL in lower case, as rules are asked about it; `None` when it is not certain.
pub fn host(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    // Backslashes, blanks and control characters are where parsers disagree about what the host is.
    if url.chars().any(|c| c == '\\' || c.is_whitespace() || c.is_control()) {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = match authority.rsplit_once('@') {
        Some((user, host)) if !user.contains('@') => host,
        Some(_) => return None,
        None => authority,
    };
    if let Some(literal) = host.strip_prefix('[') {
        let (address, _) = literal.split_once(']')?;
        // One address has many spellings.
        return address.parse::<Ipv6Addr>().ok().map(|address| address.to_string());
    }
    let name = host.split(':').next()?;
    if ends_in_number(name) && name.parse::<Ipv4Addr>().is_err() {
        return None;
    }
    let plain =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-._:".contains(c));
    plain.then(|| name.to_ascii_lowercase())
}

/// The host of a `ws` or `wss` URL, read just as strictly.
pub fn websocket_host(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let is_socket = scheme.eq_ignore_ascii_case("ws") || scheme.eq_ignore_ascii_case("wss");
    is_socket.then(|| host(&format!("http://{rest}"))).flatten()
}

/// Whether programs take the name for an address, `127.1` and `0x7f000001` among them (WHATWG URL standard, "ends in a number
/// checker").
fn ends_in_number(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let last = name.rsplit('.').next().unwrap_or(name);
    let hex = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit())
        || hex.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::{host, websocket_host};

    #[track_caller]
    fn check(url: &str, expected: Option<&str>) {
        assert_eq!(host(url).as_deref(), expected, "{url}");
    }

    #[test]
    fn the_host_is_read_or_refused() {
        check("https://Example.com/a", Some("example.com"));
        check("http://example.com.:8080?x", Some("example.com."));
        check("http://127.0.0.1:80/", Some("127.0.0.1"));
        check("http://127.1/", None);
        check("http://2130706433/", None);
        check("http://0x7f.1/", None);
        check("http://0X7F000001/", None);
        check("http://0177.0.0.1/", None);
        check("http://127.0.0.1./", None);
        check("http://a.0x/", None);
        check("http://[0:0:0:0:0:0:0:1]/", Some("::1"));
        check("http://[::1%25eth0]/", None);
        check("http://v1.example1/", Some("v1.example1"));
        check("https://user:pw@example.com/", Some("example.com"));
        check("https://allowed.example@evil.example/", Some("evil.example"));
        check("https://[::1]:80/", Some("::1"));
        check("https://allowed.example\\@evil.example/", None);
        check("https://evil.example\0.allowed.example/", None);
        check("https://a@b@c/", None);
        check("https://ex%61mple.com/", None);
        check("https://exämple.com/", None);
        check("file:///etc/passwd", None);
        check("example.com", None);
        check("https:///x", None);
    }
    #[test]
    fn the_host_of_a_socket_is_read_or_refused() {
        for (url, expected) in [
            ("ws://Example.com:80/feed?x", Some("example.com")),
            ("WSS://[::1]/", Some("::1")),
            ("wss://a@evil.example/", Some("evil.example")),
            ("wss://a\\@b/", None),
            ("ws://127.1/", None),
            ("https://example.com/", None),
            ("wss:example.com", None),
            ("wss://", None),
        ] {
            assert_eq!(websocket_host(url).as_deref(), expected, "{url}");
        }
    }
}
