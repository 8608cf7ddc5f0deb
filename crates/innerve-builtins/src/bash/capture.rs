//! Takes the output of a command: plain text in bounded memory, everything to a file once it grows, exact counts.

use std::fmt;
use std::mem;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use innerve_protocol::ToolUseId;
use innerve_tool::port::{OutputSink, OutputSpool, SpoolFile, StdStream};

use super::image::{self, Beginning, Image};
use super::text::{Decoder, Page, Window};

/// How many characters of the end are kept.
pub(super) const TAIL_CHARS: usize = 10_000;

/// Takes output while a command runs; [`Capture::finish`] gives what came of it.
pub(super) struct Capture(Mutex<Phase>);

enum Phase {
    /// Somebody waits for the command.
    Watched(Box<State>),
    /// The command goes on in the background: everything goes to the file.
    Detached(Box<dyn SpoolFile>),
    /// A late writer is ignored.
    Over,
}

struct State {
    spool: Arc<dyn OutputSpool>,
    tool_use_id: ToolUseId,
    /// How many characters fit into a conversation.
    limit: usize,
    out: Decoder,
    err: Decoder,
    page: Page,
    picture: Picture,
    raw: Raw,
    counts: Counts,
}

/// How much output there was, exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Bytes.
    pub(super) bytes: u64,
    line_feeds: u64,
    ends_in_line: bool,
}

/// Standard output as long as it may be an image.
enum Picture {
    Undecided(Vec<u8>),
    Collecting(Vec<u8>),
    TooLarge,
    None,
}

/// The bytes as they came.
pub(super) enum Raw {
    /// All of them, in memory.
    Memory(Vec<u8>),
    /// In a file.
    File(Box<dyn SpoolFile>),
    /// There is no file, for this reason.
    Lost(String),
}

/// What a command put out.
pub(super) struct Captured {
    /// The text.
    pub(super) text: Window,
    /// The image that standard output was.
    pub(super) image: Option<Image>,
    /// Whether standard output was an image that is too large to be shown.
    pub(super) has_large_image: bool,
    /// How much it was.
    pub(super) counts: Counts,
    /// The bytes.
    pub(super) raw: Raw,
    /// Whether the text is longer than the limit.
    pub(super) is_cut: bool,
}

impl Counts {
    /// Lines, an unfinished last one included.
    pub(super) fn lines(self) -> u64 {
        self.line_feeds.saturating_add(u64::from(self.ends_in_line))
    }

    #[expect(
        clippy::naive_bytecount,
        reason = "the compiler vectorises it; no dependency is worth the rest"
    )]
    fn add(&mut self, bytes: &[u8]) {
        let feeds = bytes.iter().filter(|byte| **byte == b'\n').count();
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        self.line_feeds = self.line_feeds.saturating_add(feeds as u64);
        self.ends_in_line = bytes.last().map_or(self.ends_in_line, |last| *last != b'\n');
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} bytes, {} lines", self.bytes, self.lines())
    }
}

impl Capture {
    /// Shows `limit` characters at most; a longer output goes to a file of the spool.
    pub(super) fn new(spool: Arc<dyn OutputSpool>, tool_use_id: ToolUseId, limit: usize) -> Self {
        let state = State {
            spool,
            tool_use_id,
            limit,
            out: Decoder::default(),
            err: Decoder::default(),
            page: Page::new(limit, TAIL_CHARS),
            picture: Picture::Undecided(Vec::new()),
            raw: Raw::Memory(Vec::new()),
            counts: Counts::default(),
        };
        Self(Mutex::new(Phase::Watched(Box::new(state))))
    }

    /// All output goes to `file` from the start.
    pub(super) fn to_file(file: Box<dyn SpoolFile>) -> Self {
        Self(Mutex::new(Phase::Detached(file)))
    }

    /// The last `max` characters so far, and how much there is.
    pub(super) fn tail(&self, max: usize) -> (String, Counts) {
        match &*self.lock() {
            Phase::Watched(state) => (state.page.tail(max), state.counts),
            Phase::Detached(_) | Phase::Over => (String::new(), Counts::default()),
        }
    }

    /// Puts what there is into a file, if it is not in one yet, and names it.
    pub(super) fn spool(&self) -> Option<PathBuf> {
        match &mut *self.lock() {
            Phase::Watched(state) => {
                state.spill();
                match &state.raw {
                    Raw::File(file) => Some(file.path()),
                    Raw::Memory(_) | Raw::Lost(_) => None,
                }
            }
            Phase::Detached(file) => Some(file.path()),
            Phase::Over => None,
        }
    }

    /// Lets the output go to the file alone from now on.
    pub(super) fn detach(&self) {
        let mut phase = self.lock();
        let Phase::Watched(state) = &mut *phase else { return };
        match mem::replace(&mut state.raw, Raw::Lost(String::new())) {
            Raw::File(file) => *phase = Phase::Detached(file),
            raw @ (Raw::Memory(_) | Raw::Lost(_)) => state.raw = raw,
        }
    }

    /// Ends the capture of a command in the background, whose file is kept.
    pub(super) fn keep(&self) {
        // The task's state is told whatever becomes of the file; whoever reads it sees what is missing.
        match mem::replace(&mut *self.lock(), Phase::Over) {
            Phase::Detached(file) => drop(file.keep()),
            Phase::Watched(state) => {
                if let Raw::File(file) = state.raw {
                    drop(file.keep());
                }
            }
            Phase::Over => {}
        }
    }

    /// Ends the capture of a command that came to nothing.
    pub(super) fn discard(&self) {
        match mem::replace(&mut *self.lock(), Phase::Over) {
            Phase::Detached(file) => file.discard(),
            Phase::Watched(state) => state.raw.discard(),
            Phase::Over => {}
        }
    }

    /// Ends the capture; `None` if it was ended before.
    pub(super) fn finish(&self) -> Option<Captured> {
        match mem::replace(&mut *self.lock(), Phase::Over) {
            Phase::Watched(state) => Some(state.finish()),
            Phase::Detached(_) | Phase::Over => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Phase> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OutputSink for Capture {
    fn write(&self, stream: StdStream, bytes: &[u8]) {
        match &mut *self.lock() {
            Phase::Watched(state) => state.write(stream, bytes),
            Phase::Detached(file) => file.write(bytes),
            Phase::Over => {}
        }
    }
}

impl State {
    fn write(&mut self, stream: StdStream, bytes: &[u8]) {
        self.counts.add(bytes);
        self.keep(bytes);
        match stream {
            StdStream::Out => self.take_out(bytes),
            StdStream::Err => self.err.push(bytes, &mut self.page),
        }
        if self.page.chars() > self.limit as u64 {
            self.spill();
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        // Any text within the limit fits, whatever its characters; more is control sequences.
        let room = self.limit.saturating_mul(4);
        if let Raw::Memory(kept) = &self.raw
            && kept.len().saturating_add(bytes.len()) > room
        {
            self.spill();
        }
        match &mut self.raw {
            Raw::Memory(kept) => kept.extend_from_slice(bytes),
            Raw::File(file) => file.write(bytes),
            Raw::Lost(_) => {}
        }
    }

    /// Moves the bytes from memory to a file.
    fn spill(&mut self) {
        if let Raw::Memory(kept) = &mut self.raw {
            let kept = mem::take(kept);
            self.raw = match self.spool.create(&self.tool_use_id) {
                Ok(mut file) => {
                    file.write(&kept);
                    Raw::File(file)
                }
                Err(error) => Raw::Lost(error.to_string()),
            };
        }
    }

    fn take_out(&mut self, bytes: &[u8]) {
        match &mut self.picture {
            Picture::None => self.out.push(bytes, &mut self.page),
            Picture::TooLarge => {}
            Picture::Undecided(beginning) => {
                beginning.extend_from_slice(bytes);
                match image::judge(beginning) {
                    Beginning::Unknown => {}
                    Beginning::Text => {
                        let beginning = mem::take(beginning);
                        self.picture = Picture::None;
                        self.out.push(&beginning, &mut self.page);
                    }
                    Beginning::Image => self.picture = collect(mem::take(beginning)),
                }
            }
            Picture::Collecting(collected) => {
                collected.extend_from_slice(bytes);
                self.picture = collect(mem::take(collected));
            }
        }
    }

    fn finish(mut self) -> Captured {
        let mut image = None;
        let mut has_large_image = false;
        match mem::replace(&mut self.picture, Picture::None) {
            Picture::None => {}
            Picture::TooLarge => has_large_image = true,
            Picture::Undecided(bytes) => self.out.push(&bytes, &mut self.page),
            Picture::Collecting(bytes) => {
                image = image::read(&bytes);
                if image.as_ref().is_some_and(|image| image.data.len() > image::MAX_BASE64) {
                    image = None;
                    has_large_image = true;
                } else if image.is_none() {
                    self.out.push(&bytes, &mut self.page);
                }
            }
        }
        self.out.finish(&mut self.page);
        self.err.finish(&mut self.page);
        let page = mem::replace(&mut self.page, Page::new(0, 0));
        let text = page.finish();
        let is_cut = text.chars() > self.limit as u64;
        if is_cut || has_large_image {
            self.spill();
        }
        Captured { text, image, has_large_image, counts: self.counts, raw: self.raw, is_cut }
    }
}

fn collect(bytes: Vec<u8>) -> Picture {
    if bytes.len() > image::MAX_OUTPUT { Picture::TooLarge } else { Picture::Collecting(bytes) }
}

impl Raw {
    /// Removes the file, if there is one.
    pub(super) fn discard(self) {
        match self {
            Self::File(file) => file.discard(),
            Self::Memory(_) | Self::Lost(_) => {}
        }
    }
}

impl fmt::Debug for Capture {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Capture").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
