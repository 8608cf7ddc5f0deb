//! The bytes of a page as text: its kind by the content type, its characters by the charset.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// Where a page may name its charset (HTML standard, "prescan a byte stream").
const PRESCAN: usize = 1024;
/// How much of an error page is told, in characters.
const EXCERPT: usize = 300;

/// What kind of text a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Html,
    Text,
    /// No text at all.
    Other,
}

/// The kind by content type; a page that names none is looked at.
pub(super) fn kind(content_type: &str, bytes: &[u8]) -> Kind {
    let media = media_type(content_type);
    let subtype = media.split_once('/').map_or("", |(_, subtype)| subtype);
    let is_text_like = media.starts_with("text/")
        || matches!(
            subtype,
            "json"
                | "xml"
                | "javascript"
                | "ecmascript"
                | "x-javascript"
                | "yaml"
                | "x-yaml"
                | "toml"
                | "x-sh"
                | "x-ndjson"
                | "graphql"
                | "sql"
                | "rtf"
        )
        || subtype.ends_with("+json")
        || subtype.ends_with("+xml")
        || subtype.ends_with("+yaml");
    match media.as_str() {
        "text/html" | "application/xhtml+xml" => Kind::Html,
        _ if is_text_like => Kind::Text,
        "" | "application/octet-stream" => sniff(bytes),
        _ => Kind::Other,
    }
}

/// The kind of bytes that nobody has named.
fn sniff(bytes: &[u8]) -> Kind {
    let head = bytes.get(..PRESCAN).unwrap_or(bytes);
    if head.contains(&0) {
        return Kind::Other;
    }
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let start = head.trim_start_matches('\u{feff}').trim_start();
    if start.starts_with("<!doctype html") || start.starts_with("<html") {
        Kind::Html
    } else {
        Kind::Text
    }
}

pub(super) fn media_type(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The text, by byte order mark, content type, the page's own word, and what the bytes look like, in this order.
pub(super) fn decode(content_type: &str, bytes: &[u8], kind: Kind) -> String {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return encoding.decode(bytes).0.into_owned();
    }
    let named = parameter(content_type).and_then(|label| Encoding::for_label(label.as_bytes()));
    let own = || (kind == Kind::Html).then(|| declared(bytes)).flatten();
    let encoding = named.or_else(own).unwrap_or_else(|| {
        // What is cut in the middle of a character is UTF-8 all the same.
        let is_utf8 = match std::str::from_utf8(bytes) {
            Ok(_) => true,
            Err(error) => error.error_len().is_none(),
        };
        if is_utf8 { UTF_8 } else { WINDOWS_1252 }
    });
    encoding.decode_without_bom_handling(bytes).0.into_owned()
}

/// The charset of a content type.
fn parameter(content_type: &str) -> Option<String> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("charset")
            .then(|| value.trim().trim_matches(['"', '\'']).to_owned())
    })
}

/// The charset that an HTML page names itself. One that is not readable as ASCII cannot be meant.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(bytes.get(..PRESCAN).unwrap_or(bytes)).to_ascii_lowercase();
    head.split("<meta").skip(1).find_map(|tag| {
        let tag = tag.split('>').next()?;
        let (_, value) = tag.split_once("charset")?;
        let value =
            value.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
        let label = value
            .split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '/'))
            .next()?;
        let encoding = Encoding::for_label(label.as_bytes())?;
        Some(if encoding.is_ascii_compatible() { encoding } else { UTF_8 })
    })
}

/// The beginning of an error page, for the message.
pub(super) fn excerpt(content_type: &str, bytes: &[u8]) -> String {
    let kind = kind(content_type, bytes);
    let text = match kind {
        Kind::Other => return String::new(),
        Kind::Text => decode(content_type, bytes, kind),
        Kind::Html => {
            super::markdown::convert(&decode(content_type, bytes, kind), None, EXCERPT).text
        }
    };
    let line: Vec<&str> = text.split_whitespace().collect();
    let line: String = line.join(" ").chars().take(EXCERPT).collect();
    if line.is_empty() { line } else { format!(": {line}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_charset_comes_from_mark_header_page_and_bytes() {
        let decode = |content_type: &str, bytes: &[u8]| {
            decode(content_type, bytes, kind(content_type, bytes))
        };
        assert_eq!(decode("text/plain; charset=iso-8859-1", b"t\xEDtulo"), "título");
        assert_eq!(decode("text/plain; Charset=\"Shift_JIS\"", b"\x93\xFA\x96\x7B"), "日本");
        assert_eq!(decode("text/plain", b"\xEF\xBB\xBFa"), "a");
        assert_eq!(decode("text/plain; charset=latin1", b"\xFF\xFEa\0"), "a");
        assert_eq!(
            decode("text/html", b"<meta charset=windows-1251>\xEF"),
            "<meta charset=windows-1251>п"
        );
        let http_equiv =
            b"<meta http-equiv='content-type' content='text/html; charset=gbk'>\xD6\xD0";
        assert!(decode("text/html", http_equiv).ends_with('中'));
        assert_eq!(decode("text/html", b"<meta charset=utf-16>\xC3\xA9"), "<meta charset=utf-16>é");
        assert_eq!(decode("text/plain", "é".as_bytes()), "é");
        assert_eq!(decode("text/plain", b"caf\xE9 bar"), "café bar");
        assert_eq!(decode("text/plain; charset=none-such", b"a"), "a");
    }

    #[test]
    fn the_kind_comes_from_the_content_type() {
        assert_eq!(kind("text/html; charset=utf-8", b""), Kind::Html);
        assert_eq!(kind("application/json", b""), Kind::Text);
        assert_eq!(kind("application/ld+json", b""), Kind::Text);
        assert_eq!(kind("image/png", b""), Kind::Other);
        assert_eq!(kind("application/pdf", b""), Kind::Other);
        assert_eq!(kind("", b" <!DOCTYPE html><p>"), Kind::Html);
        assert_eq!(kind("", b"plain"), Kind::Text);
        assert_eq!(kind("application/octet-stream", b"\0\x01"), Kind::Other);
    }
}
