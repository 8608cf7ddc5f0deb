//! Finds the text that an edit means: exactly, then whatever the style of quotes, then whatever blanks end its lines.

use std::ops::Range;

use serde::Serialize;

use crate::text::Squeezed;

/// How a text was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MatchKind {
    /// Character by character.
    Exact,
    /// Curly quotes were taken for straight ones, or the other way round.
    Quotes,
    /// Blanks at the ends of lines were not compared.
    TrailingBlanks,
}

/// Where a text was found; places in the text with line feeds.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) kind: MatchKind,
    /// In order; they overlap only if `overlap`. Empty if nothing was found.
    pub(super) spans: Vec<Range<usize>>,
    /// Whether two matches overlap, so that it is not clear what is meant.
    pub(super) overlap: bool,
}

/// Looks for `old` in `view`; both end their lines with line feeds.
pub(super) fn locate(view: &str, old: &str) -> Found {
    let exact = occurrences(view, old);
    if !exact.0.is_empty() {
        return Found { kind: MatchKind::Exact, spans: exact.0, overlap: exact.1 };
    }
    for (kind, found) in [
        (MatchKind::Quotes, by_quotes(view, old)),
        (MatchKind::TrailingBlanks, by_trailing_blanks(view, old)),
    ] {
        if !found.0.is_empty() {
            return Found { kind, spans: found.0, overlap: found.1 };
        }
    }
    Found { kind: MatchKind::Exact, spans: Vec::new(), overlap: false }
}

/// All occurrences that do not overlap one before, and whether others do.
fn occurrences(text: &str, wanted: &str) -> (Vec<Range<usize>>, bool) {
    if wanted.is_empty() {
        return (Vec::new(), false);
    }
    let spans: Vec<Range<usize>> =
        text.match_indices(wanted).map(|(start, found)| start..start + found.len()).collect();
    let step = wanted.chars().next().map_or(1, char::len_utf8);
    let overlap = spans.iter().any(|span| {
        // Enough to hold one more occurrence that begins inside this one.
        let end = span.end + wanted.len() - step;
        let end = text.len().min(end);
        let end = (end..=text.len()).find(|end| text.is_char_boundary(*end)).unwrap_or(text.len());
        text.get(span.start + step..end).is_some_and(|rest| {
            rest.find(wanted).is_some_and(|at| span.start + step + at < span.end)
        })
    });
    (spans, overlap)
}

fn by_quotes(view: &str, old: &str) -> (Vec<Range<usize>>, bool) {
    if !view.chars().chain(old.chars()).any(|character| straight(character) != character) {
        return (Vec::new(), false);
    }
    let straightened = Squeezed::new(view.split_inclusive(is_curly).flat_map(|piece| {
        let (kept, curly) = match piece.char_indices().next_back() {
            Some((at, last)) if is_curly(last) => (piece.get(..at).unwrap_or_default(), Some(last)),
            Some(_) | None => (piece, None),
        };
        let quote = curly.map(|curly| (straight_text(curly), curly.len_utf8()));
        std::iter::once((kept, kept.len())).chain(quote)
    }));
    let wanted: String = old.chars().map(straight).collect();
    let (spans, overlap) = occurrences(&straightened.text, &wanted);
    let spans = spans
        .into_iter()
        .map(|span| straightened.after(span.start)..straightened.after(span.end))
        .collect();
    (spans, overlap)
}

fn by_trailing_blanks(view: &str, old: &str) -> (Vec<Range<usize>>, bool) {
    let wanted: String = without_trailing_blanks(old).map(|(kept, _)| kept).collect();
    if wanted.trim().is_empty() {
        return (Vec::new(), false);
    }
    let ends_in_blanks = old.ends_with([' ', '\t']);
    let begins_in_blanks =
        old.split('\n').next().is_some_and(|first| !first.is_empty() && first.trim().is_empty());
    let trimmed = Squeezed::new(without_trailing_blanks(view));
    let (spans, overlap) = occurrences(&trimmed.text, &wanted);
    let spans = spans
        .into_iter()
        .filter(|span| {
            // Blanks at the end of what is wanted say that the line ends there.
            let next = trimmed.text.get(span.end..).and_then(|rest| rest.chars().next());
            !ends_in_blanks || next.is_none_or(|next| next == '\n')
        })
        .map(|span| {
            let start = if begins_in_blanks {
                trimmed.before(span.start)
            } else {
                trimmed.after(span.start)
            };
            let end =
                if ends_in_blanks { trimmed.after(span.end) } else { trimmed.before(span.end) };
            start..end
        })
        .collect();
    (spans, overlap)
}

/// The lines without the blanks at their ends, as pieces for [`Squeezed::new`].
fn without_trailing_blanks(text: &str) -> impl Iterator<Item = (&str, usize)> {
    text.split_inclusive('\n').flat_map(|line| {
        let (content, end) = match line.strip_suffix('\n') {
            Some(content) => (content, Some(("\n", 1))),
            None => (line, None),
        };
        let kept = content.trim_end_matches([' ', '\t']);
        std::iter::once((kept, content.len())).chain(end)
    })
}

fn is_curly(character: char) -> bool {
    straight(character) != character
}

fn straight(character: char) -> char {
    match character {
        '‘' | '’' => '\'',
        '“' | '”' => '"',
        other => other,
    }
}

fn straight_text(curly: char) -> &'static str {
    if straight(curly) == '"' { "\"" } else { "'" }
}

/// Writes `new` in the style of quotes that the file has: what it shares with `old` at its start and end is taken from
/// `found`, and quotes in between follow the kind that `found` has.
pub(super) fn in_style_of(found: &str, old: &str, new: &str) -> String {
    let found: Vec<char> = found.chars().collect();
    let old: Vec<char> = old.chars().collect();
    let new: Vec<char> = new.chars().collect();
    let front = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - front;
    let back =
        old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();

    let styles = ['\'', '"'].map(|quote| {
        let curly = found.iter().any(|found| is_curly(*found) && straight(*found) == quote);
        (quote, curly, found.contains(&quote))
    });
    let style = |quote: char| styles.iter().find(|(of, ..)| *of == quote);

    let mut text: String = found.iter().take(front).collect();
    for character in new.get(front..new.len() - back).unwrap_or_default() {
        let plain = straight(*character);
        let styled = match style(plain) {
            Some((_, true, false)) if plain == *character => {
                curled(plain, text.chars().next_back())
            }
            Some((_, false, true)) => plain,
            Some(_) | None => *character,
        };
        text.push(styled);
    }
    text.extend(found.iter().skip(found.len() - back));
    text
}

/// Opens after a blank, a bracket or a dash and at the start of a line; closes elsewhere, as an apostrophe does.
fn curled(quote: char, before: Option<char>) -> char {
    let opens = before.is_none_or(|before| {
        before.is_whitespace()
            || matches!(before, '(' | '[' | '{' | '<' | '—' | '–' | '-' | '“' | '‘')
    });
    match (quote, opens) {
        ('"', true) => '“',
        ('"', false) => '”',
        (_, true) => '‘',
        (_, false) => '’',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(view: &str, old: &str, kind: MatchKind, found: &[&str]) {
        let located = locate(view, old);
        let texts: Vec<&str> =
            located.spans.iter().map(|span| view.get(span.clone()).unwrap()).collect();
        assert_eq!(texts, found);
        if !found.is_empty() {
            assert_eq!(located.kind, kind);
        }
    }

    #[test]
    fn the_strictest_way_that_finds_something_counts() {
        check("a 'b' ‘b’", "'b'", MatchKind::Exact, &["'b'"]);
        check("He said “it’s”.\n", "\"it's\"", MatchKind::Quotes, &["“it’s”"]);
        check("say \"x\"", "“x”", MatchKind::Quotes, &["\"x\""]);
        check("a  \nb\t\nc", "a\nb", MatchKind::TrailingBlanks, &["a  \nb"]);
        check("a\nb\n", "a  \nb", MatchKind::TrailingBlanks, &["a\nb"]);
        check("a \nb  \nc", "a\nb ", MatchKind::TrailingBlanks, &["a \nb  "]);
        check("x  \nfoo", "\nfoo", MatchKind::Exact, &["\nfoo"]);
        check("x  \nfoo \ny", "\nfoo\ny", MatchKind::TrailingBlanks, &["\nfoo \ny"]);
        check("foobar", "foo  ", MatchKind::Exact, &[]);
        check("   \n\n", "  ", MatchKind::Exact, &["  "]);
        check("\n\n", "  ", MatchKind::Exact, &[]);
        check("abc", "", MatchKind::Exact, &[]);
    }

    #[test]
    fn overlapping_matches_are_noticed() {
        assert!(locate("aaa", "aa").overlap);
        assert!(!locate("aaaa b", "aaaa").overlap);
        assert!(locate("ärärä", "ärä").overlap);
        assert!(!locate("ära ära", "ära").overlap);
    }

    #[test]
    fn quotes_follow_the_file() {
        assert_eq!(in_style_of("“a”", "\"a\"", "\"b\""), "“b”");
        assert_eq!(in_style_of("it’s", "it's", "it's \"so\""), "it’s \"so\"");
        assert_eq!(in_style_of("“it’s”", "\"it's\"", "\"don't (\"x\")\""), "“don’t (“x”)”");
        assert_eq!(in_style_of("\"a\"", "“a”", "“b”"), "\"b\"");
    }
}
