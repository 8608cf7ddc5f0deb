//! What settings allow an HTTP hook: addresses by patterns, environment variables by name.

use reqwest::Url;

/// Whether an address is one that the pattern allows (Claude Code, "Settings", `allowedHttpHookUrls`).
///
/// `*` stands for anything, but in the host for no more than the host: `https://*.example.com/*` does not allow
/// `https://example.org/.example.com/`. Scheme and host know no case, and a dot at the end of the host does not count.
/// A pattern without a path allows the root only, or every path if it ends in `*`.
pub(super) fn matches(pattern: &str, url: &Url) -> bool {
    let pattern = pattern.trim();
    if pattern == "*" {
        return true;
    }
    // Who names a user in an address hides the host behind it from human eyes.
    let (Some(host), "") = (url.host_str(), url.username()) else { return false };
    let Some((scheme, rest)) = pattern.split_once("://") else { return false };
    let (authority, path) = match rest.split_once('/') {
        Some((authority, path)) => (authority, Some(format!("/{path}"))),
        None => (rest, None),
    };
    let host = host.trim_end_matches('.').to_lowercase();
    let with_port = match url.port_or_known_default() {
        Some(port) => format!("{host}:{port}"),
        None => host.clone(),
    };
    // The pattern need not say the port that the scheme has anyway.
    let bare = if url.port().is_none() { host.as_str() } else { with_port.as_str() };
    let authority = plain(authority);
    let mut asked = url.path().to_owned();
    if let Some(query) = url.query() {
        asked.push('?');
        asked.push_str(query);
    }
    let path_fits = match path {
        Some(path) => star(&path, &asked),
        None => authority.ends_with('*') || asked == "/",
    };
    star(&scheme.to_lowercase(), url.scheme())
        && (star(&authority, &with_port) || star(&authority, bare))
        && path_fits
}

/// A host pattern in lower case, without the dot at the end of the name.
fn plain(authority: &str) -> String {
    let authority = authority.to_lowercase();
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => {
            format!("{}:{port}", host.trim_end_matches('.'))
        }
        Some(_) | None => authority.trim_end_matches('.').to_owned(),
    }
}

/// Whether the whole text is what the pattern says, where `*` stands for any text.
fn star(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        // Between stars the leftmost place is always as good as any other.
        match rest.split_once(piece) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    false
}

/// The text with `$NAME` and `${NAME}` filled in.
pub(super) fn fill<'a>(text: &str, variable: impl Fn(&str) -> &'a str) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        filled.push_str(before);
        let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let (name, remaining) = braced.unwrap_or_else(|| {
            let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            after.split_at(end.unwrap_or(after.len()))
        });
        if name.is_empty() {
            filled.push('$');
            rest = after;
        } else {
            filled.push_str(variable(name));
            rest = remaining;
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, url: &str, expected: bool) {
        let url = Url::parse(url).unwrap();
        assert_eq!(matches(pattern, &url), expected, "{pattern} on {url}");
    }

    #[test]
    fn patterns_allow_what_they_say() {
        for (pattern, url, expected) in [
            ("*", "http://anything/x", true),
            ("https://hooks.example.com/*", "https://hooks.example.com/a?b=c", true),
            ("https://hooks.example.com/*", "https://HOOKS.example.com./a", true),
            ("https://Hooks.Example.com./*", "https://hooks.example.com/a", true),
            ("https://hooks.example.com/*", "http://hooks.example.com/a", false),
            ("https://hooks.example.com/a", "https://hooks.example.com/a", true),
            ("https://hooks.example.com/a", "https://hooks.example.com/a/b", false),
            ("https://hooks.example.com/A", "https://hooks.example.com/a", false),
            ("https://hooks.example.com", "https://hooks.example.com", true),
            ("https://hooks.example.com", "https://hooks.example.com/a", false),
            ("https://hooks.example.com:443/*", "https://hooks.example.com/a", true),
            ("https://hooks.example.com/*", "https://hooks.example.com:8443/a", false),
            ("http://localhost:*", "http://localhost:8080/a/b", true),
            ("http://localhost:*", "http://localhost/a", true),
            ("http://localhost:8080/*", "http://localhost:8080/", true),
            ("http://[::1]:8080/*", "http://[::1]:8080/a", true),
            ("http://[::1]/*", "http://[::1]/a", true),
            ("https://*.example.com/*", "https://a.b.example.com/x", true),
        ] {
            check(pattern, url, expected);
        }
    }

    #[test]
    fn a_star_in_the_host_ends_with_the_host() {
        for (pattern, url) in [
            ("https://*.example.com/*", "https://example.org/.example.com/"),
            ("https://*.example.com/*", "https://example.org?.example.com/"),
            ("https://*.example.com/*", "https://example.org#.example.com/"),
            ("https://*.example.com/*", "https://a.example.com@example.org/"),
            ("https://example.com*", "https://example.com@example.org/"),
            ("https://*.example.com/*", "https://example.org\\.example.com/"),
            ("example.com/*", "https://example.com/a"),
            ("", "https://example.com/a"),
        ] {
            check(pattern, url, false);
        }
    }

    #[test]
    fn only_listed_variables_are_filled_in() {
        let variable = |name: &str| if name == "TOKEN" { "s3" } else { "" };
        for (text, filled) in [
            ("Bearer $TOKEN", "Bearer s3"),
            ("${TOKEN}x$TOKEN.$OTHER!", "s3xs3.!"),
            ("5$ ${", "5$ ${"),
            ("$$TOKEN", "$s3"),
        ] {
            assert_eq!(fill(text, variable), filled);
        }
    }
}
