//! Redirections and here-documents.

use std::borrow::Cow;

use super::Read;
use super::scanner::Scanner;
use super::words::Token;
use crate::RedirectionKind;

/// A redirection.
#[derive(Debug)]
pub(super) struct Redirect<'a> {
    pub(super) kind: RedirectionKind,
    pub(super) target: Target<'a>,
}

/// What a redirection reads or writes.
#[derive(Debug)]
pub(super) enum Target<'a> {
    Word(Token<'a>),
    /// A here-document, by its number.
    Body(usize),
}

/// A here-document whose body is still to come.
#[derive(Debug)]
pub(super) struct Pending<'a> {
    slot: usize,
    delimiter: Cow<'a, str>,
    quoted: bool,
    /// Whether tabs before the delimiter are taken away.
    tabs: bool,
}

impl<'a> Scanner<'a> {
    /// Whether a redirection is next, leaving aside its descriptor.
    pub(super) fn at_redirect(&mut self) -> bool {
        match self.peek() {
            b'<' | b'>' => self.ahead() != b'(',
            b'&' => self.ahead() == b'>',
            _ => false,
        }
    }

    /// Reads a redirection from its operator on.
    pub(super) fn redirect(&mut self, redirects: &mut Vec<Redirect<'a>>) -> Read {
        let first = self.peek();
        let second = self.ahead();
        self.advance();
        let kind = match (first, second) {
            (b'<', b'<') => {
                self.advance();
                if self.peek() != b'<' {
                    let slot = self.here_delimiter()?;
                    let target = Target::Body(slot);
                    redirects.push(Redirect { kind: RedirectionKind::Text, target });
                    return Ok(());
                }
                self.at += 1;
                RedirectionKind::Text
            }
            (b'<' | b'>', b'&') => {
                self.advance();
                let target = self.duplicated()?;
                let kind = match target.raw.strip_suffix('-').unwrap_or(target.raw) {
                    digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                        RedirectionKind::Duplicate
                    }
                    _ if first == b'>' => RedirectionKind::Write,
                    _ => return self.give_up(),
                };
                redirects.push(Redirect { kind, target: Target::Word(target) });
                return Ok(());
            }
            (b'&', _) => {
                self.advance();
                if self.peek() == b'>' {
                    self.at += 1;
                    RedirectionKind::Append
                } else {
                    RedirectionKind::Write
                }
            }
            (b'>', b'>') => {
                self.advance();
                RedirectionKind::Append
            }
            (b'>', b'|') => {
                self.advance();
                RedirectionKind::Write
            }
            (b'<', b'>') => return self.give_up(),
            (b'<', _) => RedirectionKind::Read,
            _ => RedirectionKind::Write,
        };
        self.blanks();
        let target = self.word()?;
        if target.raw.is_empty() {
            return self.give_up();
        }
        redirects.push(Redirect { kind, target: Target::Word(target) });
        Ok(())
    }

    /// The word of `>&` and `<&`; bash expands it twice, so it must be plain.
    fn duplicated(&mut self) -> Read<Token<'a>> {
        self.blanks();
        if self.peek() == b'-' {
            // Alone it closes the descriptor, and what touches it is another word.
            let raw = self.slice(self.at, self.at + 1);
            self.at += 1;
            return Ok(Token { raw, value: Some(Cow::Borrowed(raw)) });
        }
        let word = self.word()?;
        if word.raw.is_empty() || word.value.as_deref() != Some(word.raw) {
            return self.give_up();
        }
        Ok(word)
    }

    /// Reads the delimiter of a here-document; gives the number of its body.
    fn here_delimiter(&mut self) -> Read<usize> {
        let tabs = self.peek() == b'-';
        if tabs {
            self.at += 1;
        }
        self.blanks();
        let Token { raw, value } = self.word()?;
        let Some(delimiter) = value.filter(|_| !raw.is_empty() && !raw.contains(['$', '`'])) else {
            return self.give_up();
        };
        let slot = self.bodies.len();
        self.bodies.push(Token { raw: "", value: None });
        let quoted = raw.contains(['\'', '"', '\\']);
        self.pending.push(Pending { slot, delimiter, quoted, tabs });
        Ok(slot)
    }

    /// Reads the body of a here-document, which begins at the cursor, and the line that ends it.
    pub(super) fn here_document(&mut self, pending: &Pending<'a>) -> Read {
        let start = self.at;
        let rest = self.slice(start, self.end);
        let mut line_start = start;
        for line in rest.split('\n') {
            let line_end = line_start + line.len();
            let compared = if pending.tabs { line.trim_start_matches('\t') } else { line };
            if compared == pending.delimiter {
                let body = self.here_text(start, line_start, pending)?;
                if let Some(slot) = self.bodies.get_mut(pending.slot) {
                    *slot = body;
                }
                self.at = self.end.min(line_end + 1);
                return Ok(());
            }
            let backslashes = line.len() - line.trim_end_matches('\\').len();
            if !pending.quoted && backslashes % 2 == 1 {
                // The next line would be joined to this one.
                return self.give_up();
            }
            line_start = line_end + 1;
        }
        self.give_up()
    }

    fn here_text(&mut self, start: usize, end: usize, pending: &Pending<'a>) -> Read<Token<'a>> {
        let raw = self.slice(start, end);
        if pending.quoted {
            return Ok(Token { raw, value: Some(Cow::Borrowed(raw)) });
        }
        let mut value = Some(String::new());
        let whole = std::mem::replace(&mut self.end, end);
        self.at = start;
        while self.at < end {
            self.quoted_piece(self.raw(self.at), b"$`\\", &mut value)?;
        }
        self.end = whole;
        Ok(Token { raw, value: value.map(Cow::Owned) })
    }
}
