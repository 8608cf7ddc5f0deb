//! Makes plain text of what a program writes for a terminal, piece by piece and in bounded memory.
//!
//! Bytes become characters ([`Decoder`]), escape sequences go, overwritten progress lines collapse ([`Page`]), and of
//! what remains the beginning and the end are kept ([`Window`]).

/// A line that is longer than this many bytes is no longer held back to see whether it gets overwritten.
const MAX_HELD_LINE: usize = 8 * 1024;
/// Bytes that are looked at together.
const BLOCK: usize = 64;
/// Bytes that are looked at one by one first: what comes in small pieces ends soon.
const NEAR: usize = 24;
/// Escape sequences that are longer than this many characters are not taken for ones.
const MAX_SEQUENCE: usize = 4 * 1024;

/// Turns the bytes of one stream into text on a page; characters and escape sequences may be split anywhere.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// The beginning of a character whose rest has not come yet; three bytes at most.
    partial: Vec<u8>,
    state: State,
    /// How many characters the escape sequence has so far.
    length: usize,
}

/// Where in an escape sequence (ECMA-48) the stream is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and intermediate characters: one more ends it.
    Intermediate,
    /// In a control sequence, `ESC [ … letter`.
    Control,
    /// In a control string such as a window title, until BEL or `ESC \`.
    String,
    /// After an ESC inside a control string.
    StringEscape,
}

impl Decoder {
    /// Takes the next bytes of the stream.
    pub(super) fn push(&mut self, bytes: &[u8], page: &mut Page) {
        if self.partial.is_empty() {
            self.decode(bytes, page);
        } else {
            let mut joined = std::mem::take(&mut self.partial);
            joined.extend_from_slice(bytes);
            self.decode(&joined, page);
        }
    }

    /// Takes the end of the stream.
    pub(super) fn finish(&mut self, page: &mut Page) {
        if !std::mem::take(&mut self.partial).is_empty() {
            self.interpret("\u{FFFD}", page);
        }
    }

    fn decode(&mut self, bytes: &[u8], page: &mut Page) {
        // Most output is text, and checking all of it at once is many times faster than piece by piece.
        if let Ok(text) = std::str::from_utf8(bytes) {
            return self.interpret(text, page);
        }
        let mut text = String::with_capacity(bytes.len());
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            if chunk.invalid().is_empty() {
                continue;
            }
            let is_cut_off = chunks.peek().is_none()
                && std::str::from_utf8(chunk.invalid())
                    .is_err_and(|error| error.error_len().is_none());
            if is_cut_off {
                self.partial.extend_from_slice(chunk.invalid());
            } else {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        self.interpret(&text, page);
    }

    fn interpret(&mut self, text: &str, page: &mut Page) {
        let mut rest = text;
        // Goes onto the page in one piece, up to the next character that does something there.
        let mut shown = String::new();
        while !rest.is_empty() {
            if self.state == State::Text {
                let (run, tail) = split(rest, is_special);
                if tail.is_empty() && shown.is_empty() {
                    return page.push(run);
                }
                shown.push_str(run);
                let (controls, tail) = split(tail, |byte| !has_picture(byte));
                push_pictures(controls, &mut shown);
                rest = tail;
            }
            let mut chars = rest.chars();
            let Some(c) = chars.next() else { break };
            rest = chars.as_str();
            if self.state == State::Text && is_plain(c) {
                shown.push(c);
                continue;
            }
            page.push(&shown);
            shown.clear();
            self.step(c, page);
        }
        page.push(&shown);
    }

    fn step(&mut self, c: char, page: &mut Page) {
        self.length = if self.state == State::Text { 0 } else { self.length.saturating_add(1) };
        // No sequence holds a line feed: a stray ESC must not swallow what follows.
        if self.state != State::Text && (c == '\n' || self.length > MAX_SEQUENCE) {
            self.state = State::Text;
        }
        self.state = match (self.state, c) {
            (State::Text, '\u{1B}') => State::Escape,
            (State::Text, '\u{9B}') | (State::Escape, '[') | (State::Control, ' '..='?') => {
                State::Control
            }
            (State::Text, _) => {
                page.control(c);
                State::Text
            }
            (State::Escape, ']' | 'P' | 'X' | '^' | '_') => State::String,
            (State::Escape | State::Intermediate, ' '..='/') => State::Intermediate,
            (State::Escape | State::Intermediate, '0'..='~')
            | (State::String, '\u{7}' | '\u{9C}')
            | (State::StringEscape, '\\') => State::Text,
            (State::Control, '@'..='~') => {
                if c == 'K' {
                    page.erase_line();
                }
                State::Text
            }
            (State::String, '\u{1B}') => State::StringEscape,
            (State::String | State::StringEscape, _) => State::String,
            // Not a sequence after all.
            (State::Escape | State::Intermediate | State::Control, _) => {
                self.state = State::Text;
                self.step(c, page);
                self.state
            }
        };
    }
}

/// The text before the first byte of this kind, and the rest.
fn split(text: &str, is_end: impl Fn(u8) -> bool) -> (&str, &str) {
    let bytes = text.as_bytes();
    let near = bytes.iter().take(NEAR).position(|byte| is_end(*byte));
    let end = near.or_else(|| {
        // Without a way out inside of a block the compiler looks at many bytes at a time.
        let blocks = bytes.chunks(BLOCK);
        let clean = blocks
            .take_while(|block| !block.iter().fold(false, |found, byte| found | is_end(*byte)));
        let start: usize = clean.map(<[u8]>::len).sum();
        Some(start + bytes.get(start..)?.iter().position(|byte| is_end(*byte))?)
    });
    end.and_then(|end| text.split_at_checked(end)).unwrap_or((text, ""))
}

/// Whether a character stands for itself.
fn is_plain(c: char) -> bool {
    !c.is_control() || matches!(c, '\n' | '\t')
}

/// Bytes that do not simply stand for themselves: controls but tab and line feed, and the lead byte of the C1 controls.
fn is_special(byte: u8) -> bool {
    (byte < 0x20 && byte != b'\n' && byte != b'\t') || byte == 0x7F || byte == 0xC2
}

/// Controls that do nothing on a page, so that they are shown; binary output has long runs of them.
fn has_picture(byte: u8) -> bool {
    matches!(byte, 0..=0x06 | 0x0B..=0x0C | 0x0E..=0x1A | 0x1C..=0x1F | 0x7F)
}

/// U+2400 and on are the pictures of the controls: `␀` for NUL.
fn picture(control: char) -> char {
    match control {
        '\u{7F}' => '\u{2421}',
        _ => char::from_u32(0x2400 + u32::from(control)).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

/// Adds the pictures of controls; long runs are mostly of one kind, such as the zeros of a binary file.
#[expect(
    clippy::needless_bitwise_bool,
    reason = "the whole block is compared without a branch, so that the compiler can vectorise it"
)]
fn push_pictures(controls: &str, shown: &mut String) {
    for block in controls.as_bytes().chunks(BLOCK * BLOCK) {
        match block.split_first() {
            Some((first, rest)) if rest.iter().fold(true, |same, byte| same & (byte == first)) => {
                shown.push_str(&String::from(picture(char::from(*first))).repeat(block.len()));
            }
            Some(_) | None => shown.extend(block.iter().map(|byte| picture(char::from(*byte)))),
        }
    }
}

/// The text as a terminal would show it: the last line is held back, since it may yet be overwritten.
#[derive(Debug)]
pub(super) struct Page {
    line: String,
    /// Whether the cursor stands at the beginning of the held line.
    returned: bool,
    window: Window,
}

impl Page {
    /// A page of which the first `head` and the last `tail` characters are kept.
    pub(super) fn new(head: usize, tail: usize) -> Self {
        Self { line: String::new(), returned: false, window: Window::new(head, tail) }
    }

    /// What was written, the held line included.
    pub(super) fn finish(mut self) -> Window {
        self.window.push(&self.line);
        self.window
    }

    /// How many characters have left the held line.
    pub(super) fn chars(&self) -> u64 {
        self.window.chars()
    }

    /// The last lines for progress, `max` characters at most.
    pub(super) fn tail(&self, max: usize) -> String {
        let mut text = last_chars(self.window.tail_text(), max).to_owned();
        text.push_str(&self.line);
        last_chars(&text, max).to_owned()
    }

    /// Takes text without controls but tab and line feed.
    fn push(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if std::mem::take(&mut self.returned) && !text.starts_with('\n') {
            self.line.clear();
        }
        let held = match text.rsplit_once('\n') {
            Some((lines, held)) => {
                self.window.push(&self.line);
                self.window.push(lines);
                self.window.push("\n");
                self.line.clear();
                held
            }
            None => text,
        };
        self.line.push_str(held);
        if self.line.len() > MAX_HELD_LINE {
            self.window.push(&self.line);
            self.line.clear();
        }
    }

    /// Takes one control character, or another character that [`is_special`] is careful about.
    fn control(&mut self, c: char) {
        match c {
            '\r' => self.returned = true,
            '\u{8}' => drop(self.line.pop()),
            '\u{7}' => {}
            '\n' | '\t' | ' '..='~' => self.push(c.encode_utf8(&mut [0; 4])),
            '\0'..='\u{1F}' | '\u{7F}' => self.push(picture(c).encode_utf8(&mut [0; 4])),
            '\u{80}'..='\u{9F}' => self.push("\u{FFFD}"),
            _ => self.push(c.encode_utf8(&mut [0; 4])),
        }
    }

    fn erase_line(&mut self) {
        if self.returned {
            self.line.clear();
        }
    }
}

/// The beginning and the end of a text, and how long it is.
#[derive(Debug)]
pub(super) struct Window {
    head: String,
    /// How many more characters go into the head.
    head_room: usize,
    tail: String,
    tail_bytes: usize,
    chars: u64,
}

impl Window {
    fn new(head: usize, tail: usize) -> Self {
        Self {
            head: String::new(),
            head_room: head,
            tail: String::new(),
            tail_bytes: tail.saturating_mul(4),
            chars: 0,
        }
    }

    /// How many characters were written.
    pub(super) fn chars(&self) -> u64 {
        self.chars
    }

    /// The whole text, unless it is longer than the head.
    pub(super) fn whole(&self) -> Option<&str> {
        self.tail.is_empty().then_some(self.head.as_str())
    }

    /// The first `head` and the last `tail` characters, and how many were left out between them; only what is kept
    /// can be given, and the whole text comes as the head.
    pub(super) fn ends(&self, head: usize, tail: usize) -> (&str, u64, String) {
        if let Some(whole) = self.whole()
            && self.chars <= (head as u64).saturating_add(tail as u64)
        {
            return (whole, 0, String::new());
        }
        let first = first_chars(&self.head, head);
        let mut last = last_chars(&self.tail, tail).to_owned();
        let missing = tail.saturating_sub(last.chars().count());
        if missing > 0 {
            let (_, unused) = self.head.split_at_checked(first.len()).unwrap_or_default();
            last.insert_str(0, last_chars(unused, missing));
        }
        let shown = first.chars().count().saturating_add(last.chars().count());
        (first, self.chars.saturating_sub(shown as u64), last)
    }

    fn tail_text(&self) -> &str {
        if self.tail.is_empty() { &self.head } else { &self.tail }
    }

    fn push(&mut self, text: &str) {
        let count = text.chars().count();
        self.chars = self.chars.saturating_add(count as u64);
        let mut rest = text;
        if self.head_room > 0 {
            let first = first_chars(text, self.head_room);
            self.head.push_str(first);
            self.head_room = self.head_room.saturating_sub(count);
            rest = text.get(first.len()..).unwrap_or_default();
        }
        if rest.is_empty() {
            return;
        }
        if rest.len() > self.tail_bytes {
            self.tail.clear();
            let cut = rest.ceil_char_boundary(rest.len().saturating_sub(self.tail_bytes));
            rest = rest.get(cut..).unwrap_or_default();
        }
        self.tail.push_str(rest);
        // Twice as much as is needed, so that the text is moved rarely.
        if self.tail.len() > self.tail_bytes.saturating_mul(2) {
            let cut = self.tail.len().saturating_sub(self.tail_bytes);
            let cut = self.tail.ceil_char_boundary(cut);
            self.tail.drain(..cut);
        }
    }
}

/// The first characters of a text, `max` at most.
pub(super) fn first_chars(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let end = text.char_indices().nth(max).map_or(text.len(), |(index, _)| index);
    text.get(..end).unwrap_or(text)
}

/// The last characters of a text, `max` at most.
pub(super) fn last_chars(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let Some(skipped) = max.checked_sub(1) else { return "" };
    let start = text.char_indices().rev().nth(skipped).map_or(0, |(index, _)| index);
    text.get(start..).unwrap_or(text)
}

#[cfg(test)]
mod tests;
