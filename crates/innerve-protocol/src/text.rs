//! Blank text: what the API counts as whitespace.

/// Whether a server may strip this character; Python, unlike Unicode, also strips the four separators below U+0020.
fn is_blank_char(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}

/// Whether nothing but whitespace is in `text`.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(is_blank_char)
}

/// `text` without whitespace at its end.
pub(crate) fn trim_end(text: &str) -> &str {
    text.trim_end_matches(is_blank_char)
}
