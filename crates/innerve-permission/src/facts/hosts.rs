//! The host of a URL, read strictly: what two URL parsers could read differently has no host here.

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
    let name = match host.strip_prefix('[') {
        Some(literal) => literal.split_once(']').map(|(address, _)| address)?,
        None => host.split(':').next()?,
    };
    let plain =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-._:".contains(c));
    plain.then(|| name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::host;

    #[track_caller]
    fn check(url: &str, expected: Option<&str>) {
        assert_eq!(host(url).as_deref(), expected, "{url}");
    }

    #[test]
    fn the_host_is_read_or_refused() {
        check("https://Example.com/a", Some("example.com"));
        check("http://example.com.:8080?x", Some("example.com."));
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
}
