//! Continued lines that glue: bash deletes a backslash before a newline before it splits words, so `gr\⏎ep` is `grep`.
//!
//! Where that may not be so (in quotes, comments and here-documents) nothing is joined, and such lines are refused later.

use crate::Span;

/// A text with its continued lines joined.
#[derive(Debug)]
pub(crate) struct Joined {
    pub(crate) text: String,
    /// The offsets in `text` at which a backslash and a newline stood.
    places: Vec<usize>,
}

/// Joins the lines of a text in which every backslash continues a line, if a word or operator may depend on it.
pub(crate) fn join(text: &str) -> Option<Joined> {
    let mut pieces = text.split("\\\n");
    let first = pieces.next()?;
    let glues = text
        .match_indices("\\\n")
        .any(|(at, _)| !text.get(..at).is_some_and(|before| before.ends_with([' ', '\t', '\n'])));
    if !glues {
        return None;
    }
    let mut joined = first.to_owned();
    let mut places = Vec::new();
    for piece in pieces {
        places.push(joined.len());
        joined.push_str(piece);
    }
    let is_plain = !joined.contains(['\\', '\'', '"', '`', '$', '#']) && !joined.contains("<<");
    is_plain.then_some(Joined { text: joined, places })
}

impl Joined {
    /// Where a part of the joined text stood.
    pub(crate) fn original(&self, span: Span) -> Span {
        let before = |end: usize| self.places.partition_point(|place| *place < end);
        let until = |start: usize| self.places.partition_point(|place| *place <= start);
        let end = span.end + 2 * before(span.end);
        Span { start: (span.start + 2 * until(span.start)).min(end), end }
    }
}
