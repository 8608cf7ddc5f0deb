//! The cursor: bytes as bash's lexer gets them, with line continuations already taken out.

use super::redirects::Pending;
use super::words::Token;
use super::{Read, Unread, Written};

/// Most lists inside lists: this bounds the stack.
const MAX_NESTING: usize = 80;

/// Reads one text.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    pub(super) text: &'a str,
    /// The next byte.
    pub(super) at: usize,
    /// Where the part ends that is read: the text, a here-document, or what stands between backticks.
    pub(super) end: usize,
    pub(super) commands: Vec<Written<'a>>,
    pub(super) bodies: Vec<Token<'a>>,
    /// Here-documents whose bodies begin at the next newline.
    pub(super) pending: Vec<Pending<'a>>,
    /// Whether a here-document waits outside of the substitution that is read.
    pub(super) waiting_outside: bool,
    nesting: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            end: text.len(),
            commands: Vec::new(),
            bodies: Vec::new(),
            pending: Vec::new(),
            waiting_outside: false,
            nesting: 0,
        }
    }

    pub(super) fn give_up<T>(&self) -> Read<T> {
        Err(Unread { at: self.at })
    }

    /// The byte at `index` as it is written; zero behind the end.
    pub(super) fn raw(&self, index: usize) -> u8 {
        if index < self.end { self.text.as_bytes().get(index).copied().unwrap_or(0) } else { 0 }
    }

    /// The first place from `index` on where no line continuation stands.
    fn past_continuations(&self, mut index: usize) -> usize {
        while self.raw(index) == b'\\' && self.raw(index + 1) == b'\n' {
            index += 2;
        }
        index
    }

    /// The next byte.
    pub(super) fn peek(&mut self) -> u8 {
        self.at = self.past_continuations(self.at);
        self.raw(self.at)
    }

    /// The byte behind the next one.
    pub(super) fn ahead(&mut self) -> u8 {
        self.peek();
        self.raw(self.past_continuations(self.at + 1))
    }

    /// Goes past the next byte.
    pub(super) fn advance(&mut self) {
        self.peek();
        self.at += 1;
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// The character at the cursor as it is written.
    pub(super) fn character(&self) -> Option<char> {
        self.slice(self.at, self.end).chars().next()
    }

    /// Goes past blanks and a comment.
    pub(super) fn blanks(&mut self) {
        while matches!(self.peek(), b' ' | b'\t') {
            self.at += 1;
        }
        if self.raw(self.at) == b'#' {
            // In a comment a backslash continues nothing.
            while !matches!(self.raw(self.at), 0 | b'\n') {
                self.at += 1;
            }
        }
    }

    /// Goes past blanks, comments and newlines, with the here-documents that begin there.
    pub(super) fn lines(&mut self) -> Read {
        loop {
            self.blanks();
            if self.raw(self.at) != b'\n' {
                return Ok(());
            }
            self.at += 1;
            if self.waiting_outside {
                return self.give_up();
            }
            for pending in std::mem::take(&mut self.pending) {
                self.here_document(&pending)?;
            }
        }
    }

    /// Where `word` ends, when the next word is exactly that, without quotes.
    pub(super) fn spelled(&self, word: &str) -> Option<usize> {
        let mut index = self.at;
        for byte in word.bytes() {
            index = self.past_continuations(index);
            if self.raw(index) != byte {
                return None;
            }
            index += 1;
        }
        ends_word(self.raw(self.past_continuations(index))).then_some(index)
    }

    /// Goes past `word`, which must be next.
    pub(super) fn expect(&mut self, word: &str) -> Read {
        self.blanks();
        match self.spelled(word) {
            Some(end) => {
                self.at = end;
                Ok(())
            }
            None => self.give_up(),
        }
    }

    /// Does `work` one level deeper.
    pub(super) fn nested<T>(&mut self, work: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.nesting >= MAX_NESTING {
            return self.give_up();
        }
        self.nesting += 1;
        let result = work(self);
        self.nesting -= 1;
        result
    }
}

/// Whether a byte ends an unquoted word.
pub(super) fn ends_word(byte: u8) -> bool {
    matches!(byte, 0 | b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')')
}
