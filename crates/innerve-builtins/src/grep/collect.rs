//! Takes what a searcher finds in one file.

use std::io;

use grep_matcher::Matcher as _;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

use super::OutputMode;
use super::query::{Lines, Query};
use crate::search::Limits;

/// Longer lines are elided to this many characters around their first match.
const MAX_COLUMNS: usize = 500;
/// Characters that are shown before a match far inside a long line.
const LEAD: usize = 100;
/// Parts of one line that are kept where only these are shown.
const MAX_PARTS: usize = 100_000;

/// A line of a file.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) text: String,
    /// The match that it belongs to, counted from 0 within the file; `None` for context.
    pub(super) of_match: Option<usize>,
}

/// What was found in one file.
pub(super) struct Collect<'a> {
    query: &'a Query,
    limits: &'a Limits,
    /// Matches whose lines are kept, and bytes of lines that are kept.
    max_matches: usize,
    max_bytes: usize,
    pub(super) lines: Vec<Line>,
    pub(super) bytes: usize,
    pub(super) matches: usize,
    /// The last line of the last match that was kept.
    last_kept: u64,
    pub(super) is_binary: bool,
}

impl<'a> Collect<'a> {
    /// Keeps lines of so many matches; the rest is counted.
    pub(super) fn new(
        query: &'a Query,
        limits: &'a Limits,
        max_matches: usize,
        max_bytes: usize,
    ) -> Self {
        Self {
            query,
            limits,
            max_matches,
            max_bytes,
            lines: Vec::new(),
            bytes: 0,
            matches: 0,
            last_kept: 0,
            is_binary: false,
        }
    }

    fn keeps_more(&self) -> bool {
        self.query.mode == OutputMode::Content
            && self.matches < self.max_matches
            && self.bytes < self.max_bytes
    }

    fn keep(&mut self, number: u64, line: &[u8], of_match: Option<usize>) {
        if self.bytes >= self.max_bytes {
            return;
        }
        let text = self.elided(line);
        self.bytes += text.len() + size_of::<Line>();
        self.lines.push(Line { number, text, of_match });
    }

    fn elided(&self, line: &[u8]) -> String {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // Most lines are short; bytes are never fewer than characters.
        if line.len() <= MAX_COLUMNS {
            return String::from_utf8_lossy(line).into_owned();
        }
        let found = self.query.matcher.find(line).ok().flatten().map_or(0, |found| found.start());
        let before = String::from_utf8_lossy(line.get(..found).unwrap_or_default());
        let lead = before.chars().count();
        let skipped = if lead > MAX_COLUMNS - LEAD { lead - LEAD } else { 0 };
        // Four bytes per character at most: a line of any length costs no more than this.
        let start: usize = before.chars().take(skipped).map(char::len_utf8).sum();
        let rest = line.get(start.min(found)..).unwrap_or_default();
        let window = rest.get(..4 * MAX_COLUMNS + 4).unwrap_or(rest);
        let shown: String = String::from_utf8_lossy(window).chars().take(MAX_COLUMNS).collect();
        let front = if skipped > 0 { "… " } else { "" };
        let back = if shown.len() < rest.len() { " …" } else { "" };
        format!("{front}{shown}{back}")
    }
}

impl Sink for Collect<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let number = found.line_number().unwrap_or(0);
        match self.query.mode {
            OutputMode::FilesWithMatches => {
                self.matches = 1;
                return Ok(false);
            }
            OutputMode::Count => {
                let mut count = 1;
                if self.query.lines == Lines::Spanned {
                    count = 0;
                    let each = |_| {
                        count += 1;
                        true
                    };
                    self.query.matcher.find_iter(found.bytes(), each).map_err(io::Error::other)?;
                }
                self.matches += count.max(1);
            }
            OutputMode::Content if self.query.only_matching => {
                let bytes = found.bytes();
                let mut places = Vec::new();
                let mut count = 0;
                let room = self.max_matches.saturating_sub(self.matches).min(MAX_PARTS);
                let each = |place: grep_matcher::Match| {
                    if !place.is_empty() {
                        count += 1;
                        if places.len() < room {
                            places.push(place);
                        }
                    }
                    true
                };
                self.query.matcher.find_iter(bytes, each).map_err(io::Error::other)?;
                let mut passed = 0;
                let mut line = number;
                for (index, place) in (self.matches..).zip(places) {
                    if self.bytes >= self.max_bytes {
                        break;
                    }
                    let between = bytes.get(passed..place.start()).unwrap_or_default();
                    line += between.iter().map(|byte| u64::from(*byte == b'\n')).sum::<u64>();
                    passed = place.start();
                    let text = bytes.get(place.start()..place.end()).unwrap_or_default();
                    for (number, text) in (line..).zip(text.split(|byte| *byte == b'\n')) {
                        self.keep(number, text, Some(index));
                    }
                }
                self.matches += count;
            }
            OutputMode::Content => {
                if self.keeps_more() {
                    for (number, line) in (number..).zip(found.lines()) {
                        self.keep(number, line, Some(self.matches));
                        self.last_kept = number;
                    }
                } else if number <= self.last_kept + self.query.after as u64 && self.last_kept > 0 {
                    // The context of the last match that is shown may hold others.
                    for (number, line) in (number..).zip(found.lines()) {
                        self.keep(number, line, None);
                    }
                }
                self.matches += 1;
            }
        }
        Ok(!self.limits.is_over())
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let number = context.line_number().unwrap_or(0);
        let follows = self.last_kept > 0 && number <= self.last_kept + self.query.after as u64;
        if follows || self.keeps_more() {
            self.keep(number, context.bytes(), None);
        }
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.is_binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}
