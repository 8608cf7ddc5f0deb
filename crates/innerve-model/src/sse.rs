//! Splits a byte stream into server-sent events (WHATWG HTML, "Server-sent events").

/// Bytes of one line, and of one event's data, at most: room for a whole file in one tool input.
const LIMIT: usize = 16 * 1024 * 1024;

/// One event: its data lines joined by line feeds; the event's name repeats what is in the data and is not kept.
pub(crate) type Data = String;

/// An event or line is larger than any model's output can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge {
    pub(crate) limit: usize,
}

/// Takes chunks of bytes, however they are cut, and gives events.
#[derive(Debug)]
pub(crate) struct Splitter {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    after_cr: bool,
    first_line: bool,
    limit: usize,
}

/// What a chunk held.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Split {
    pub(crate) events: Vec<Data>,
    /// Whether there was any complete line: a comment is a sign of life, too.
    pub(crate) alive: bool,
}

impl Splitter {
    pub(crate) fn new() -> Self {
        Self::with_limit(LIMIT)
    }

    pub(crate) fn with_limit(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            after_cr: false,
            first_line: true,
            limit,
        }
    }

    /// Takes the next bytes.
    ///
    /// An event that the body's end cuts off before its blank line is dropped, as the standard wants.
    pub(crate) fn push(&mut self, chunk: &[u8]) -> Result<Split, TooLarge> {
        let mut split = Split::default();
        let mut rest = chunk;
        while !rest.is_empty() {
            if self.after_cr {
                self.after_cr = false;
                if let Some(after) = rest.strip_prefix(b"\n") {
                    rest = after;
                    continue;
                }
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (line, after) = rest.split_at(end.unwrap_or(rest.len()));
            if self.line.len() + line.len() > self.limit {
                return Err(TooLarge { limit: self.limit });
            }
            self.line.extend_from_slice(line);
            rest = after;
            if let Some((&end, after)) = after.split_first() {
                self.after_cr = end == b'\r';
                rest = after;
                split.alive = true;
                self.end_line(&mut split.events)?;
            }
        }
        Ok(split)
    }

    fn end_line(&mut self, events: &mut Vec<Data>) -> Result<(), TooLarge> {
        let taken = std::mem::take(&mut self.line);
        let mut line = taken.as_slice();
        if std::mem::take(&mut self.first_line) {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            if std::mem::take(&mut self.has_data) && !data.is_empty() {
                // Whole lines are decoded, so that a character cut by a chunk is intact.
                events.push(String::from_utf8_lossy(&data).into_owned());
            }
        } else if let Some(value) = field(line, b"data") {
            if self.data.len() + value.len() >= self.limit {
                return Err(TooLarge { limit: self.limit });
            }
            if self.has_data {
                self.data.push(b'\n');
            }
            self.has_data = true;
            self.data.extend_from_slice(value);
        }
        // The buffer is used again for the next line.
        self.line = taken;
        self.line.clear();
        Ok(())
    }
}

/// The value of `line` if it is the field `name`: one blank after the colon is not part of it.
fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let rest = line.strip_prefix(name)?;
    if rest.is_empty() {
        return Some(rest);
    }
    let value = rest.strip_prefix(b":")?;
    Some(value.strip_prefix(b" ").unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(body: &[u8], size: usize) -> Vec<Data> {
        let mut splitter = Splitter::new();
        body.chunks(size).flat_map(|chunk| splitter.push(chunk).unwrap().events).collect()
    }

    #[track_caller]
    fn check(body: &str, expected: &[&str]) {
        for size in [1, 2, 3, 7, body.len().max(1)] {
            assert_eq!(split(body.as_bytes(), size), expected, "chunks of {size}");
        }
    }

    #[test]
    fn events_end_at_a_blank_line_whatever_the_line_end() {
        check("data: a\n\ndata: b\n\n", &["a", "b"]);
        check("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]);
        check("data: a\r\rdata: b\r\r", &["a", "b"]);
        check("data: a\r\n\ndata: b\n\r\n", &["a", "b"]);
    }

    #[test]
    fn data_lines_are_joined() {
        check("data: {\"a\":\ndata: 1}\n\n", &["{\"a\":\n1}"]);
        check("data:x\ndata\ndata:  y\n\n", &["x\n\n y"]);
    }

    #[test]
    fn names_ids_comments_and_empty_data_give_no_event() {
        check("event: ping\nid: 7\nretry: 3\n: comment\n\ndata:\n\ndatabase: 1\n\n", &[]);
        check("event: ping\ndata: {\"type\":\"ping\"}\n\n", &["{\"type\":\"ping\"}"]);
    }

    #[test]
    fn a_byte_order_mark_is_skipped_at_the_start_only() {
        check("\u{feff}data: a\n\ndata: \u{feff}\n\n", &["a", "\u{feff}"]);
    }

    #[test]
    fn an_event_without_its_blank_line_is_dropped() {
        check("data: a\n\ndata: b\n", &["a"]);
        check("data: a\n\ndata: b", &["a"]);
    }

    #[test]
    fn a_character_cut_by_a_chunk_is_intact() {
        check("data: grüße 🦀 漢字\n\n", &["grüße 🦀 漢字"]);
    }

    #[test]
    fn endless_lines_and_events_are_refused() {
        let mut splitter = Splitter::with_limit(64);
        let outcome = (0..100).try_for_each(|_| splitter.push(b"data: abcdef").map(drop));
        assert_eq!(outcome, Err(TooLarge { limit: 64 }));
        let mut splitter = Splitter::with_limit(64);
        let outcome = (0..100).try_for_each(|_| splitter.push(b"data: abcdef\n").map(drop));
        assert_eq!(outcome, Err(TooLarge { limit: 64 }));
    }

    #[test]
    fn comments_are_signs_of_life() {
        let mut splitter = Splitter::new();
        assert!(!splitter.push(b": wor").unwrap().alive);
        assert!(splitter.push(b"king\n").unwrap().alive);
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_events(
            body in "(data|event|id|:)?(: ?)?[a-zä🦀\r\n\u{feff}]{0,12}(\r\n|\n|\r){0,3}",
            more in proptest::collection::vec("(data: ?|: )[a-z🦀]{0,9}(\n|\r\n|\r){1,3}", 0..12),
            cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..20),
        ) {
            let body = format!("{body}{}", more.concat());
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
            cuts.push(0);
            cuts.push(body.len());
            cuts.sort_unstable();
            let mut splitter = Splitter::new();
            let mut events = Vec::new();
            for pair in cuts.windows(2) {
                events.extend(splitter.push(&body.as_bytes()[pair[0]..pair[1]]).unwrap().events);
            }
            prop_assert_eq!(events, split(body.as_bytes(), body.len().max(1)));
        }

        #[test]
        fn random_bytes_never_panic(body in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(split(&body, 1), split(&body, body.len().max(1)));
        }
    }
}
