//! Expansions inside words: `$name`, `${…}`, arithmetic on numbers, and `$'…'`.

use tree_sitter::Node;

use super::words::{Draft, Quotes};
use super::{Reader, Scope, Step};
use crate::WordPart;

/// Characters that may follow `$` when it stands for itself.
const AFTER_PLAIN_DOLLAR: &[u8] = b" \t\n,./%)]|^:;=+~&<>}'";

impl Reader<'_> {
    /// Reads the `$…` or backtick at `at`; gives the place behind it.
    pub(super) fn expansion(
        &mut self,
        at: usize,
        quotes: Quotes,
        draft: &mut Draft,
        substitutions: &[Node<'_>],
        holder: Node<'_>,
        scope: Scope,
    ) -> Step<usize> {
        let quoted = quotes == Quotes::Double;
        if self.byte(at) == b'`' || self.byte(at + 1) == b'(' && self.byte(at + 2) != b'(' {
            let end = self.substitution(at, substitutions, holder, scope)?;
            draft.dynamic(WordPart::Other(self.slice(at, end).to_owned()), quoted);
            return Ok(end);
        }
        let rest = self.rest(at + 1);
        if rest.starts_with("((") {
            let digits = rest
                .bytes()
                .skip(2)
                .take_while(|byte| byte.is_ascii_digit() || b"+-*/% ".contains(byte))
                .count();
            let end = at + 3 + digits;
            if digits == 0 || self.slice(end, end + 2) != "))" {
                return Err(self.evaluates(
                    "arithmetic on anything but numbers evaluates data as code",
                    holder,
                ));
            }
            draft.dynamic(WordPart::Other(self.slice(at, end + 2).to_owned()), quoted);
            return Ok(end + 2);
        }
        if rest.starts_with('{') {
            let length = braced_expansion(rest).ok_or_else(|| {
                self.evaluates("a `${…}` of this form may evaluate data as code", holder)
            })?;
            let raw = self.slice(at, at + 1 + length);
            let name = self.slice(at + 2, at + length);
            let part = if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                WordPart::Variable(name.to_owned())
            } else {
                WordPart::Other(raw.to_owned())
            };
            let many = name == "@" || name.ends_with("[@]") && !name.starts_with('#');
            draft.dynamic(part, quoted && !many);
            return Ok(at + 1 + length);
        }
        let length = match rest.bytes().next() {
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => rest
                .bytes()
                .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
                .count(),
            Some(byte) if byte.is_ascii_digit() || b"@*#?!$-".contains(&byte) => 1,
            Some(b'"') if quoted => 0,
            Some(byte) if AFTER_PLAIN_DOLLAR.contains(&byte) => 0,
            None => 0,
            Some(_) => return self.construct("a `$` of this form is not analyzed", holder),
        };
        let end = at + 1 + length;
        if length == 0 {
            draft.literal.push('$');
            return Ok(end);
        }
        if self.byte(end) == b'\\' && self.byte(end + 1) == b'\n' {
            return self.construct("a line continuation follows a variable", holder);
        }
        let name = self.slice(at + 1, end);
        let part = if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            WordPart::Variable(name.to_owned())
        } else {
            WordPart::Other(self.slice(at, end).to_owned())
        };
        draft.dynamic(part, quoted && name != "@");
        Ok(end)
    }

    /// Reads `$'…'`; gives the place behind it.
    pub(super) fn ansi_quoted(
        &self,
        start: usize,
        draft: &mut Draft,
        holder: Node<'_>,
    ) -> Step<usize> {
        let mut decoded = Some(String::new());
        let mut at = start + 2;
        loop {
            match self.char_at(at) {
                None => return self.construct("a quote is not closed", holder),
                Some('\'') => {
                    at += 1;
                    match decoded {
                        Some(text) => draft.literal.push_str(&text),
                        None => {
                            draft.dynamic(WordPart::Other(self.slice(start, at).to_owned()), true);
                        }
                    }
                    return Ok(at);
                }
                Some('\\') => {
                    let (character, length) = ansi_escape(self.rest(at + 1));
                    match character {
                        Some(character) => {
                            decoded = decoded.map(|text| text + &character.to_string());
                        }
                        None => decoded = None,
                    }
                    at += 1 + length;
                }
                Some(character) => {
                    if let Some(text) = &mut decoded {
                        text.push(character);
                    }
                    at += character.len_utf8();
                }
            }
        }
    }
}

/// The character that an escape in `$'…'` stands for, if that is certain, and how long the escape is.
fn ansi_escape(rest: &str) -> (Option<char>, usize) {
    let Some(first) = rest.chars().next() else { return (None, 0) };
    let digits = |skip: usize, most: usize, radix: u32| {
        let text: String =
            rest.chars().skip(skip).take(most).take_while(|digit| digit.is_digit(radix)).collect();
        // Only ASCII is the same in every locale; a NUL ends the text.
        let value =
            u32::from_str_radix(&text, radix).ok().filter(|value| (1..0x80).contains(value));
        (value.and_then(char::from_u32), skip + text.len())
    };
    match first {
        'a' => (Some('\x07'), 1),
        'b' => (Some('\x08'), 1),
        'e' | 'E' => (Some('\x1b'), 1),
        'f' => (Some('\x0c'), 1),
        'n' => (Some('\n'), 1),
        'r' => (Some('\r'), 1),
        't' => (Some('\t'), 1),
        'v' => (Some('\x0b'), 1),
        '\\' | '\'' | '"' | '?' => (Some(first), 1),
        '0'..='7' => digits(0, 3, 8),
        'x' => digits(1, 2, 16),
        'u' => digits(1, 4, 16),
        'U' => digits(1, 8, 16),
        _ => (None, first.len_utf8()),
    }
}

/// The length of a `{…}` behind `$` that only names variables and plain text.
fn braced_expansion(rest: &str) -> Option<usize> {
    let length = rest.find('}')? + 1;
    let inner = rest.get(1..length - 1)?;
    let is_name = |text: &str| crate::variables::is_name(text);
    // A constant subscript evaluates no data.
    let is_element = |text: &str| {
        text.strip_suffix(']').and_then(|text| text.split_once('[')).is_some_and(
            |(name, subscript)| {
                is_name(name)
                    && (matches!(subscript, "@" | "*")
                        || !subscript.is_empty()
                            && subscript.bytes().all(|byte| byte.is_ascii_digit()))
            },
        )
    };
    let plain = is_name(inner)
        || is_element(inner)
        || !inner.is_empty() && inner.bytes().all(|byte| byte.is_ascii_digit())
        || matches!(inner, "@" | "*" | "#" | "?" | "$" | "!" | "-")
        || inner.strip_prefix('#').is_some_and(|inner| is_name(inner) || is_element(inner));
    if plain {
        return Some(length);
    }
    let name_length =
        inner.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    let (name, operation) = inner.split_at_checked(name_length)?;
    let operator = [":-", ":+", "-", "+", "##", "#", "%%", "%", "//", "/"]
        .into_iter()
        .find(|operator| operation.starts_with(operator))?;
    let text = operation.strip_prefix(operator)?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./:@%+,=*?-".contains(&byte);
    (is_name(name) && text.bytes().all(is_plain)).then_some(length)
}
