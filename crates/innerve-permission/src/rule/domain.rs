//! Domain patterns of `WebFetch` rules.

/// A compiled `domain:` pattern: lower case, without the trailing dot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DomainPattern {
    text: String,
}

impl DomainPattern {
    /// Compiles the text after `domain:`; the error says what is wrong with it.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let text = normalize(text.trim());
        if text.is_empty() {
            return Err("names no domain; write `WebFetch(domain:example.com)`".to_owned());
        }
        if text.contains(['/', ':', '@', ' ', '?', '#']) {
            return Err(
                "holds more than a host name; write `WebFetch(domain:example.com)`".to_owned()
            );
        }
        if !text.is_ascii() {
            return Err("holds letters beyond ASCII, and addresses name hosts without them; write the form that begins with `xn--`".to_owned());
        }
        Ok(Self { text })
    }

    /// The pattern.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The host, if the pattern covers just one.
    pub(crate) fn only_host(&self) -> Option<&str> {
        (!self.text.contains('*')).then_some(self.text.as_str())
    }

    /// Whether the pattern covers `host`.
    ///
    /// A leading `*.` stands for any subdomain at any depth, not the domain itself; any other `*` for text without dots.
    pub(crate) fn matches(&self, host: &str) -> bool {
        let host = normalize(host);
        if self.text == "*" {
            return true;
        }
        let Some(domain) = self.text.strip_prefix("*.") else {
            return labels_match(&self.text, &host);
        };
        let mut rest = host.as_str();
        while let Some((label, after)) = rest.split_once('.') {
            if label.is_empty() {
                return false;
            }
            if labels_match(domain, after) {
                return true;
            }
            rest = after;
        }
        false
    }
}

/// The host in lower case, without the trailing dot.
pub(super) fn normalize(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

fn labels_match(pattern: &str, host: &str) -> bool {
    pattern.split('.').count() == host.split('.').count()
        && pattern
            .split('.')
            .zip(host.split('.'))
            .all(|(pattern, label)| super::pattern::StarPattern::new(pattern).matches(label))
}
