//! Text of a file: decoded for the model, encoded again with every byte that was not meant to change.

use std::ops::Range;

/// How the bytes of a file stand for text, told by the byte order mark; text without one is UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Utf8Bom,
    Utf16Le,
    Utf16Be,
}

impl Encoding {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        [Self::Utf8Bom, Self::Utf16Le, Self::Utf16Be]
            .into_iter()
            .find(|encoding| bytes.starts_with(encoding.mark()))
            .unwrap_or(Self::Utf8)
    }

    /// The byte order mark.
    pub(crate) fn mark(self) -> &'static [u8] {
        match self {
            Self::Utf8 => b"",
            Self::Utf8Bom => b"\xEF\xBB\xBF",
            Self::Utf16Le => b"\xFF\xFE",
            Self::Utf16Be => b"\xFE\xFF",
        }
    }

    pub(crate) fn is_utf8(self) -> bool {
        matches!(self, Self::Utf8 | Self::Utf8Bom)
    }

    /// The bytes of a whole file with this text.
    pub(crate) fn file(self, text: &str) -> Vec<u8> {
        let mut bytes = self.mark().to_vec();
        let text = text.strip_prefix('\u{feff}').filter(|_| !bytes.is_empty()).unwrap_or(text);
        match self {
            Self::Utf8 | Self::Utf8Bom => bytes.extend_from_slice(text.as_bytes()),
            Self::Utf16Le => bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes)),
            Self::Utf16Be => bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes)),
        }
        bytes
    }
}

/// A line ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineEnding {
    Lf,
    CrLf,
}

impl LineEnding {
    /// The ending that most lines have; line feed if none has one.
    pub(crate) fn of_most(text: &str) -> Self {
        let (crlf, lf) = Self::count(text);
        if crlf > lf { Self::CrLf } else { Self::Lf }
    }

    /// The ending that all lines have, if they have one and agree.
    fn of_all(text: &str) -> Option<Self> {
        match Self::count(text) {
            (0, 0) => None,
            (0, _) => Some(Self::Lf),
            (_, 0) => Some(Self::CrLf),
            (_, _) => None,
        }
    }

    fn count(text: &str) -> (usize, usize) {
        let crlf = text.matches("\r\n").count();
        (crlf, text.matches('\n').count() - crlf)
    }

    /// `text`, which ends its lines with line feeds, with this ending.
    pub(crate) fn apply(self, text: &str) -> String {
        match self {
            Self::Lf => text.to_owned(),
            Self::CrLf => text.replace('\n', "\r\n"),
        }
    }
}

/// Text with line feeds for CRLF; a lone CR is data and stays.
pub(crate) fn with_line_feeds(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// A shorter form of a text that remembers where each of its bytes came from.
pub(crate) struct Squeezed {
    pub(crate) text: String,
    /// Where in `text` something is missing, and how many bytes are missing up to there.
    cuts: Vec<(usize, usize)>,
}

impl Squeezed {
    /// Builds it from pieces: what is kept, and how many bytes of the original it stands for.
    pub(crate) fn new<'a>(pieces: impl Iterator<Item = (&'a str, usize)>) -> Self {
        let mut squeezed = Self { text: String::new(), cuts: Vec::new() };
        let mut missing = 0;
        for (kept, original) in pieces {
            squeezed.text.push_str(kept);
            if original > kept.len() {
                missing += original - kept.len();
                squeezed.cuts.push((squeezed.text.len(), missing));
            }
        }
        squeezed
    }

    /// Line feeds for CRLF.
    pub(crate) fn line_feeds(text: &str) -> Self {
        let mut pieces = text.split("\r\n").peekable();
        let mut parts = Vec::new();
        while let Some(piece) = pieces.next() {
            parts.push((piece, piece.len()));
            if pieces.peek().is_some() {
                // The CR is what is missing: nothing is kept for one byte, then the line feed.
                parts.push(("", 1));
                parts.push(("\n", 1));
            }
        }
        Self::new(parts.into_iter())
    }

    /// The place in the original, before whatever is missing here.
    pub(crate) fn before(&self, at: usize) -> usize {
        self.place(at, self.cuts.partition_point(|(cut, _)| *cut < at))
    }

    /// The place in the original, after whatever is missing here.
    pub(crate) fn after(&self, at: usize) -> usize {
        self.place(at, self.cuts.partition_point(|(cut, _)| *cut <= at))
    }

    fn place(&self, at: usize, cuts: usize) -> usize {
        let missing = cuts.checked_sub(1).and_then(|last| self.cuts.get(last));
        at + missing.map_or(0, |(_, missing)| *missing)
    }
}

/// A file's bytes together with their text.
pub(crate) struct Document {
    raw: Vec<u8>,
    encoding: Encoding,
    /// Without the byte order mark, line endings as they are; U+FFFD for what cannot be decoded.
    pub(crate) text: String,
    /// For each run of bytes that cannot be decoded: where its U+FFFD is in `text`, and by how much `raw` runs ahead of
    /// `text` after it.
    broken: Vec<(usize, isize)>,
}

impl Document {
    pub(crate) fn new(raw: Vec<u8>) -> Self {
        let encoding = Encoding::of(&raw);
        let body = raw.get(encoding.mark().len()..).unwrap_or_default();
        let mut text = String::with_capacity(body.len());
        let mut broken = Vec::new();
        match encoding {
            Encoding::Utf8 | Encoding::Utf8Bom => {
                // Nearly every file is text, and checking all of it at once is many times faster than piece by piece.
                if let Ok(whole) = std::str::from_utf8(body) {
                    whole.clone_into(&mut text);
                    return Self { raw, encoding, text, broken };
                }
                let mut ahead = 0;
                for chunk in body.utf8_chunks() {
                    text.push_str(chunk.valid());
                    if !chunk.invalid().is_empty() {
                        let place = text.len();
                        text.push('\u{fffd}');
                        ahead += chunk.invalid().len().cast_signed() - 3;
                        broken.push((place, ahead));
                    }
                }
            }
            Encoding::Utf16Le | Encoding::Utf16Be => {
                let decoder = if encoding == Encoding::Utf16Le {
                    encoding_rs::UTF_16LE
                } else {
                    encoding_rs::UTF_16BE
                };
                let (decoded, had_errors) = decoder.decode_without_bom_handling(body);
                text.push_str(&decoded);
                if had_errors {
                    broken.push((0, 0));
                }
            }
        }
        Self { raw, encoding, text, broken }
    }

    pub(crate) fn encoding(&self) -> Encoding {
        self.encoding
    }

    pub(crate) fn raw(&self) -> &[u8] {
        &self.raw
    }

    pub(crate) fn into_raw(self) -> Vec<u8> {
        self.raw
    }

    /// Whether a change of these ranges could not keep the other bytes, or would touch bytes that are not text.
    pub(crate) fn cannot_splice(&self, ranges: &[Range<usize>]) -> bool {
        if !self.encoding.is_utf8() {
            return !self.broken.is_empty();
        }
        ranges.iter().any(|range| {
            let next = self.broken.partition_point(|(place, _)| *place < range.start);
            self.broken.get(next).is_some_and(|(place, _)| *place < range.end)
        })
    }

    /// The file's bytes with each range of `text` replaced; ranges are in order and do not overlap.
    pub(crate) fn splice(&self, changes: &[(Range<usize>, String)]) -> Vec<u8> {
        if !self.encoding.is_utf8() {
            let mut text = String::with_capacity(self.text.len());
            let mut done = 0;
            for (range, new) in changes {
                text.push_str(self.text.get(done..range.start).unwrap_or_default());
                text.push_str(new);
                done = range.end;
            }
            text.push_str(self.text.get(done..).unwrap_or_default());
            let mut bytes = self.encoding.mark().to_vec();
            // Not `file`: a mark at the start of the text is text here.
            bytes.extend(match self.encoding {
                Encoding::Utf16Be => {
                    text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>()
                }
                Encoding::Utf8 | Encoding::Utf8Bom | Encoding::Utf16Le => {
                    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
                }
            });
            return bytes;
        }
        let mut bytes = Vec::with_capacity(self.raw.len());
        let mut done = 0;
        for (range, new) in changes {
            bytes.extend_from_slice(
                self.raw.get(done..self.raw_place(range.start)).unwrap_or_default(),
            );
            bytes.extend_from_slice(new.as_bytes());
            done = self.raw_place(range.end);
        }
        bytes.extend_from_slice(self.raw.get(done..).unwrap_or_default());
        bytes
    }

    fn raw_place(&self, at: usize) -> usize {
        let passed = self.broken.partition_point(|(place, _)| *place < at);
        let ahead = passed.checked_sub(1).and_then(|last| self.broken.get(last));
        (at + self.encoding.mark().len())
            .saturating_add_signed(ahead.map_or(0, |(_, ahead)| *ahead))
    }

    /// The ending that new lines inside `range` get: that of the lines replaced if they agree, else that of most lines.
    pub(crate) fn line_ending(&self, range: &Range<usize>) -> LineEnding {
        let region = self.text.get(range.clone()).unwrap_or_default();
        LineEnding::of_all(region).unwrap_or_else(|| LineEnding::of_most(&self.text))
    }
}

/// How many lines a text has; a last line without an ending counts.
pub(crate) fn count_lines(text: impl AsRef<[u8]>) -> u64 {
    let text = text.as_ref();
    line_feeds(text) as u64 + u64::from(!text.is_empty() && !text.ends_with(b"\n"))
}

/// How many line feeds there are.
pub(crate) fn line_feeds(text: &[u8]) -> usize {
    text.iter().map(|byte| usize::from(*byte == b'\n')).sum()
}

/// Cuts a line after `max` characters and says how many more there are.
pub(crate) fn cut_line(line: &str, max: usize) -> String {
    match line.char_indices().nth(max) {
        None => line.to_owned(),
        Some((end, _)) => {
            let (kept, rest) = line.split_at_checked(end).unwrap_or((line, ""));
            format!("{kept} … [{} more characters]", rest.chars().count())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_squeezed_text_knows_where_it_came_from() {
        let original = "a\r\nb\nc\r\n";
        let squeezed = Squeezed::line_feeds(original);
        assert_eq!(squeezed.text, "a\nb\nc\n");
        // The line feed at 1 stands for CRLF at 1..3.
        assert_eq!(squeezed.before(1), 1);
        assert_eq!(squeezed.before(2), 3);
        assert_eq!(squeezed.before(6), 8);
    }

    #[test]
    fn bytes_that_are_not_text_survive_a_splice() {
        let document = Document::new(b"\xEF\xBB\xBFa\xFFb\xC3\xA9\xF0\x9Fc".to_vec());
        let at = document.text.find('c').unwrap();
        assert_eq!(
            document.splice(&[(at..at + 1, "xyz".to_owned())]),
            b"\xEF\xBB\xBFa\xFFb\xC3\xA9\xF0\x9Fxyz"
        );
        let alone = std::slice::from_ref;
        assert!(document.cannot_splice(alone(&(0..4))));
        assert!(!document.cannot_splice(alone(&(at..at + 1))));
    }

    #[test]
    fn utf_16_comes_back_as_it_was() {
        for (mark, bytes) in [
            (b"\xFF\xFE", u16::to_le_bytes as fn(u16) -> [u8; 2]),
            (b"\xFE\xFF", u16::to_be_bytes as fn(u16) -> [u8; 2]),
        ] {
            let mut raw = mark.to_vec();
            raw.extend("a\u{1F600}\r\nb".encode_utf16().flat_map(bytes));
            let document = Document::new(raw.clone());
            assert_eq!(document.text, "a\u{1F600}\r\nb");
            assert_eq!(document.splice(&[]), raw);
            assert_eq!(document.encoding().file(&document.text), raw);
        }
        let odd = Document::new(b"\xFF\xFEa\0b".to_vec());
        assert!(odd.cannot_splice(&[]));
    }

    #[test]
    fn lines_are_cut_on_characters() {
        assert_eq!(cut_line("äöü", 3), "äöü");
        assert_eq!(cut_line("äöüx", 3), "äöü … [1 more characters]");
        assert_eq!(
            (count_lines(""), count_lines("a"), count_lines("a\n"), count_lines("a\nb")),
            (0, 1, 1, 2)
        );
    }
}
