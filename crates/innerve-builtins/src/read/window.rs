//! Picks a window of lines out of a stream of bytes, however long the stream and its lines are.

use std::fmt::Write as _;

use encoding_rs::{Decoder, UTF_16BE, UTF_16LE};

use crate::text::{Encoding, cut_line};

/// Longer lines are cut.
pub(super) const MAX_LINE_CHARS: usize = 2_000;
/// More bytes of one line are not kept: four per character at most.
const MAX_LINE_BYTES: usize = 4 * MAX_LINE_CHARS;
/// Stretches of this many bytes are skipped at once where no line is wanted.
const STRIDE: usize = 4 * 1024;

/// A window of lines.
pub(super) struct Window {
    first: u64,
    /// The line after the window.
    end: u64,
    max_bytes: usize,
    decoder: Option<Decoder>,
    decoded: String,
    /// The line that the next byte belongs to, from 1.
    line: u64,
    /// The start of that line, where it is wanted, and how many characters more it has.
    current: Vec<u8>,
    left_out: u64,
    /// Whether that line has any byte yet.
    begun: bool,
    /// The numbered lines.
    pub(super) text: String,
    /// How many lines are in `text`.
    pub(super) shown: u64,
    /// How many lines of the window there are, and their size as text, even if they do not fit.
    pub(super) lines: u64,
    pub(super) bytes: u64,
}

impl Window {
    /// `limit` lines from line `first` on, of which only `max_bytes` are kept.
    pub(super) fn new(encoding: Encoding, first: u64, limit: u64, max_bytes: usize) -> Self {
        let decoder = match encoding {
            Encoding::Utf8 | Encoding::Utf8Bom => None,
            Encoding::Utf16Le => Some(UTF_16LE.new_decoder_without_bom_handling()),
            Encoding::Utf16Be => Some(UTF_16BE.new_decoder_without_bom_handling()),
        };
        Self {
            first,
            end: first.saturating_add(limit),
            max_bytes,
            decoder,
            decoded: String::new(),
            line: 1,
            current: Vec::new(),
            left_out: 0,
            begun: false,
            text: String::new(),
            shown: 0,
            lines: 0,
            bytes: 0,
        }
    }

    /// Decodes by this encoding instead, if there is one.
    pub(super) fn guessed(mut self, guess: Option<&'static encoding_rs::Encoding>) -> Self {
        if let Some(encoding) = guess {
            self.decoder = Some(encoding.new_decoder_without_bom_handling());
        }
        self
    }

    /// Takes the next bytes of the file, without its byte order mark.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.decode(bytes, false);
    }

    /// Takes the end of the file and gives the number of its lines.
    pub(super) fn finish(&mut self) -> u64 {
        self.decode(&[], true);
        if self.begun {
            self.end_line();
        }
        self.line - 1
    }

    /// Whether what follows cannot change the text.
    pub(super) fn is_done(&self) -> bool {
        self.line >= self.end || self.is_full()
    }

    /// Whether a line of the window did not fit.
    pub(super) fn is_full(&self) -> bool {
        self.lines > self.shown
    }

    fn decode(&mut self, bytes: &[u8], last: bool) {
        let Some(mut decoder) = self.decoder.take() else {
            return self.take(bytes);
        };
        let mut decoded = std::mem::take(&mut self.decoded);
        decoded.clear();
        if let Some(length) = decoder.max_utf8_buffer_length(bytes.len()) {
            decoded.reserve(length);
        }
        let (..) = decoder.decode_to_string(bytes, &mut decoded, last);
        self.take(decoded.as_bytes());
        self.decoded = decoded;
        self.decoder = (!last).then_some(decoder);
    }

    fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.is_wanted() {
                let length = bytes.iter().position(|byte| *byte == b'\n');
                let (piece, rest) = bytes.split_at(length.unwrap_or(bytes.len()));
                self.begun |= !piece.is_empty();
                self.keep(piece);
                bytes = rest;
                if let Some((_, rest)) = bytes.split_first() {
                    self.end_line();
                    bytes = rest;
                }
            } else {
                bytes = self.skip(bytes);
            }
        }
    }

    fn is_wanted(&self) -> bool {
        self.line >= self.first && self.line < self.end
    }

    /// Passes over lines that are not wanted; stops where the window may begin.
    fn skip<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let (stretch, rest) = bytes.split_at(bytes.len().min(STRIDE));
        // Counting without stopping is many times faster than looking for each line feed.
        let ended: u64 = stretch.iter().map(|byte| u64::from(*byte == b'\n')).sum();
        if self.line >= self.first || self.line + ended < self.first {
            self.line += ended;
            self.begun = stretch.last() != Some(&b'\n');
            return rest;
        }
        let mut place = 0;
        while self.line < self.first {
            let Some(next) = stretch.iter().skip(place).position(|byte| *byte == b'\n') else {
                break;
            };
            place += next + 1;
            self.line += 1;
        }
        self.begun = false;
        bytes.get(place..).unwrap_or_default()
    }

    fn keep(&mut self, piece: &[u8]) {
        let room = MAX_LINE_BYTES.saturating_sub(self.current.len());
        let (kept, rest) = piece.split_at(piece.len().min(room));
        self.current.extend_from_slice(kept);
        // Every character has one byte that continues no other.
        self.left_out += rest.iter().filter(|byte| **byte & 0xC0 != 0x80).count() as u64;
    }

    fn end_line(&mut self) {
        if self.is_wanted() {
            let mut line = self.current.as_slice();
            line = line.strip_suffix(b"\r").unwrap_or(line);
            let text = String::from_utf8_lossy(line);
            let mut text = if self.left_out == 0 {
                cut_line(&text, MAX_LINE_CHARS)
            } else {
                let kept: String = text.chars().take(MAX_LINE_CHARS).collect();
                let beyond = text.chars().count().saturating_sub(MAX_LINE_CHARS) as u64;
                format!("{kept} … [{} more characters]", beyond + self.left_out)
            };
            text.push('\n');
            self.lines += 1;
            self.bytes += text.len() as u64;
            // What comes after a line that did not fit is left out too: the text has no holes.
            if self.shown + 1 == self.lines && self.text.len() + text.len() <= self.max_bytes {
                // Writing to a string cannot fail.
                let _ = write!(self.text, "{}\t{text}", self.line);
                self.shown += 1;
            }
            self.current.clear();
            self.left_out = 0;
        }
        self.line += 1;
        self.begun = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], first: u64, limit: u64, text: &str, total: u64) {
        // The pieces must not matter.
        for size in [1, 2, 3, 7, bytes.len().max(1)] {
            let mut window = Window::new(Encoding::Utf8, first, limit, 1_000_000);
            bytes.chunks(size).for_each(|piece| window.feed(piece));
            assert_eq!(window.finish(), total, "pieces of {size}");
            assert_eq!(window.text, text, "pieces of {size}");
        }
    }

    #[test]
    fn lines_are_counted_from_one_and_cut_out() {
        check(b"", 1, 10, "", 0);
        check(b"a", 1, 10, "1\ta\n", 1);
        check(b"a\n", 1, 10, "1\ta\n", 1);
        check(b"a\r\nb\rc\n\nd", 1, 10, "1\ta\n2\tb\rc\n3\t\n4\td\n", 4);
        check(b"a\nb\nc\nd\n", 2, 2, "2\tb\n3\tc\n", 4);
        check(b"a\nb\nc", 4, 2, "", 3);
        check(b"a\nb\nc\n", 4, 2, "", 3);
        let many = "x\n".repeat(10_000);
        check(many.as_bytes(), 9_999, 5, "9999\tx\n10000\tx\n", 10_000);
        let long = format!("{}\nend\n", "y".repeat(10_000));
        check(long.as_bytes(), 2, 1, "2\tend\n", 2);
    }

    #[test]
    fn long_lines_are_cut_on_characters() {
        for length in [2_000, 2_001, 8_000, 100_000] {
            let line = "ä".repeat(length);
            let shown = if length == 2_000 {
                format!("1\t{line}\n")
            } else {
                format!("1\t{} … [{} more characters]\n", "ä".repeat(2_000), length - 2_000)
            };
            check(line.as_bytes(), 1, 1, &shown, 1);
        }
    }

    #[test]
    fn a_full_window_counts_on() {
        let mut window = Window::new(Encoding::Utf8, 1, 100, 10);
        window.feed(b"aaaa\nbbbb\ncccc\nd\n");
        assert_eq!(window.finish(), 4);
        assert_eq!(window.text, "1\taaaa\n");
        assert_eq!((window.shown, window.lines, window.bytes), (1, 4, 17));
        assert!(window.is_full() && window.is_done());
    }
}
