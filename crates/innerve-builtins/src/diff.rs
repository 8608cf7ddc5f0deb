//! What a change did to a file, as hunks for people and a numbered snippet for the model.

use std::time::Duration;

use serde::Serialize;
use similar::{DiffTag, TextDiff};

use crate::text::{Document, Encoding, cut_line, line_feeds};

/// Lines of context around a change.
const CONTEXT: usize = 4;
/// A diff of more lines is abbreviated.
const MAX_DIFF_LINES: usize = 2_000;
/// A snippet of more lines is abbreviated.
const MAX_SNIPPET_LINES: usize = 60;
/// Bytes that are compared together.
const BLOCK: usize = 4_096;
/// Longer lines are cut.
const MAX_LINE_CHARS: usize = 500;
/// After this time the comparison settles for a coarser result.
const PATIENCE: Duration = Duration::from_millis(300);

/// What a change did to a text file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Diff {
    /// The changed places in order.
    pub hunks: Vec<Hunk>,
    /// How many lines were added.
    pub added: u64,
    /// How many lines were removed.
    pub removed: u64,
    /// Whether hunks were left out or lines cut because there are too many.
    pub abbreviated: bool,
}

/// One changed place with its context, as in a unified diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Hunk {
    /// The first line in the old file, from 1.
    pub old_start: usize,
    /// How many lines of the old file it covers.
    pub old_lines: usize,
    /// The first line in the new file, from 1.
    pub new_start: usize,
    /// How many lines of the new file it covers.
    pub new_lines: usize,
    /// The lines, each behind a blank (kept), `-` (removed) or `+` (added).
    pub lines: Vec<String>,
}

impl Diff {
    /// Compares two states of a file; bytes that are not text are shown as U+FFFD.
    pub fn between(before: &[u8], after: &[u8]) -> Self {
        let (skipped, before, after) = differing(before, after);
        let text = |bytes: &[u8]| match skipped {
            0 => Document::new(bytes.to_vec()).text,
            // Only the first bytes of a file are a mark that tells its encoding.
            _ => String::from_utf8_lossy(bytes).into_owned(),
        };
        let (before, after) = (text(before), text(after));
        let old: Vec<&str> = before.split_inclusive('\n').collect();
        let new: Vec<&str> = after.split_inclusive('\n').collect();
        // Only the lines between the first and the last difference are compared: most changes are small.
        let front = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let rest = old.len().min(new.len()) - front;
        let back =
            old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
        let first = front.saturating_sub(CONTEXT);
        let window = |lines: &[&'_ str]| {
            let end = (lines.len() - back + CONTEXT).min(lines.len());
            first..end
        };
        let old = old.get(window(&old)).unwrap_or_default();
        let new = new.get(window(&new)).unwrap_or_default();
        let comparison = TextDiff::configure().timeout(PATIENCE).diff_slices(old, new);

        let mut diff = Self::default();
        let mut shown = 0;
        for group in comparison.grouped_ops(CONTEXT) {
            let mut hunk =
                Hunk { old_start: 0, old_lines: 0, new_start: 0, new_lines: 0, lines: Vec::new() };
            for (index, operation) in group.iter().enumerate() {
                let (tag, old_range, new_range) = operation.as_tag_tuple();
                if index == 0 {
                    hunk.old_start = skipped + first + old_range.start + 1;
                    hunk.new_start = skipped + first + new_range.start + 1;
                }
                hunk.old_lines += old_range.len();
                hunk.new_lines += new_range.len();
                let old = old.get(old_range).unwrap_or_default();
                let new = new.get(new_range).unwrap_or_default();
                let sides: [(char, &[&str]); 2] = match tag {
                    DiffTag::Equal => [(' ', old), (' ', &[])],
                    DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => {
                        [('-', old), ('+', new)]
                    }
                };
                if tag != DiffTag::Equal {
                    diff.removed += old.len() as u64;
                    diff.added += new.len() as u64;
                }
                for (sign, lines) in sides {
                    for line in lines {
                        if shown >= MAX_DIFF_LINES {
                            diff.abbreviated = true;
                            break;
                        }
                        shown += 1;
                        hunk.lines.push(format!("{sign}{}", bare(line)));
                    }
                }
            }
            if !hunk.lines.is_empty() {
                diff.hunks.push(hunk);
            }
        }
        diff
    }

    /// The changed places of the new file with line numbers, for the model.
    pub(crate) fn snippet(&self) -> String {
        let mut snippet = String::new();
        let mut shown = 0;
        for hunk in &self.hunks {
            if !snippet.is_empty() {
                snippet.push_str("…\n");
            }
            let lines = hunk.lines.iter().filter(|line| !line.starts_with('-'));
            for (number, line) in (hunk.new_start..).zip(lines) {
                if shown >= MAX_SNIPPET_LINES {
                    snippet.push_str("… (more changed lines are not shown)\n");
                    return snippet;
                }
                shown += 1;
                let text = line.get(1..).unwrap_or_default();
                snippet.push_str(&format!("{number}\t{text}\n"));
            }
        }
        snippet
    }
}

/// The parts of two files that differ, with whole lines of context, and how many lines come before them: most changes are
/// small, and what is the same need not be taken apart. Only UTF-8 can be cut at any line feed.
fn differing<'a>(before: &'a [u8], after: &'a [u8]) -> (usize, &'a [u8], &'a [u8]) {
    let encoding = Encoding::of(before);
    if encoding != Encoding::of(after) || !encoding.is_utf8() {
        return (0, before, after);
    }
    let front =
        same(before.chunks(BLOCK), after.chunks(BLOCK), |a, b| same_bytes(a.iter(), b.iter()));
    let start = before.get(..front).map_or(0, start_of_context);
    let (old, new) =
        (before.get(start..).unwrap_or_default(), after.get(start..).unwrap_or_default());
    let room = (before.len() - front).min(after.len() - front);
    let tail = |bytes: &'a [u8]| bytes.get(bytes.len() - room..).unwrap_or_default();
    let back = same(tail(before).rchunks(BLOCK), tail(after).rchunks(BLOCK), |a, b| {
        same_bytes(a.iter().rev(), b.iter().rev())
    });
    let kept = old.get(old.len() - back..).map_or(0, end_of_context);
    let cut = |bytes: &'a [u8]| bytes.get(..bytes.len() - (back - kept)).unwrap_or_default();
    let skipped = before.get(..start).unwrap_or_default();
    (line_feeds(skipped), cut(old), cut(new))
}

/// How many bytes two files share, block by block; `within` says how many two blocks share that are not the same.
fn same<'a>(
    a: impl Iterator<Item = &'a [u8]>,
    b: impl Iterator<Item = &'a [u8]>,
    within: impl Fn(&[u8], &[u8]) -> usize,
) -> usize {
    let mut shared = 0;
    for (a, b) in a.zip(b) {
        if a != b {
            return shared + within(a, b);
        }
        shared += a.len();
    }
    shared
}

fn same_bytes<'a>(a: impl Iterator<Item = &'a u8>, b: impl Iterator<Item = &'a u8>) -> usize {
    a.zip(b).take_while(|(a, b)| a == b).count()
}

/// Where the lines begin that are shown before a change at the end of this.
fn start_of_context(before: &[u8]) -> usize {
    let feeds = before.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    feeds.map(|(at, _)| at + 1).nth(CONTEXT).unwrap_or(0)
}

/// Where the lines end that are shown after a change before this.
fn end_of_context(after: &[u8]) -> usize {
    let feeds = after.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    feeds.map(|(at, _)| at + 1).nth(CONTEXT).unwrap_or(after.len())
}

fn bare(line: &str) -> String {
    let line = line.strip_suffix('\n').unwrap_or(line);
    cut_line(line.strip_suffix('\r').unwrap_or(line), MAX_LINE_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_have_the_line_numbers_of_both_files() {
        let numbers: Vec<String> = (1..=40).map(|number| number.to_string()).collect();
        let before = numbers.join("\n") + "\n";
        let after = before.replace("\n20\n", "\nx\ny\n").replace("\n35\n", "\n");
        let diff = Diff::between(before.as_bytes(), after.as_bytes());
        let places: Vec<_> = diff
            .hunks
            .iter()
            .map(|hunk| (hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines))
            .collect();
        assert_eq!(places, [(16, 9, 16, 10), (31, 9, 32, 8)]);
        assert_eq!((diff.added, diff.removed, diff.abbreviated), (2, 2, false));
        assert!(diff.snippet().contains("19\t19\n20\tx\n21\ty\n22\t21\n"), "{}", diff.snippet());
    }

    proptest::proptest! {
        /// What is left out before the comparison changes nothing of it.
        #[test]
        fn a_diff_of_what_differs_is_that_of_the_files(
            lines in proptest::collection::vec("[ab\u{e9}]{0,2}\r?", 0..40),
            place in 0_usize..40,
            removed in 0_usize..4,
            added in proptest::collection::vec("[abc]{0,2}", 0..4),
            ends in proptest::bool::ANY,
        ) {
            let mut changed = lines.clone();
            let from = place.min(changed.len());
            let to = (from + removed).min(changed.len());
            changed.splice(from..to, added);
            let file = |lines: &[String]| lines.join("\n") + if ends { "\n" } else { "" };
            let (before, after) = (file(&lines), file(&changed));
            let (old, new): (Vec<&str>, Vec<&str>) =
                (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
            let diff = Diff::between(before.as_bytes(), after.as_bytes());
            // The hunks turn the one file into the other.
            let mut rebuilt: Vec<String> = Vec::new();
            let mut at = 0;
            for hunk in &diff.hunks {
                let start = hunk.old_start - 1;
                rebuilt.extend(old[at..start].iter().map(|line| bare(line)));
                proptest::prop_assert_eq!(rebuilt.len() + 1, hunk.new_start);
                let kept = hunk.lines.iter().filter(|line| !line.starts_with('-'));
                rebuilt.extend(kept.map(|line| line.split_at(1).1.to_owned()));
                at = start + hunk.old_lines;
            }
            rebuilt.extend(old[at..].iter().map(|line| bare(line)));
            let wanted: Vec<String> = new.iter().map(|line| bare(line)).collect();
            proptest::prop_assert_eq!(rebuilt, wanted);
        }
    }

    #[test]
    fn a_change_far_down_a_file_is_shown_with_its_lines() {
        let line = |number: usize| format!("line {number} of a long file\n");
        let before: String = (1..=20_000).map(line).collect();
        let after = before.replace("line 15000 of", "LINE 15000 of");
        let diff = Diff::between(before.as_bytes(), after.as_bytes());
        assert_eq!(
            (diff.hunks.len(), diff.hunks[0].old_start, diff.hunks[0].lines.len()),
            (1, 14_996, 10)
        );
        assert!(diff.snippet().contains("15000\tLINE 15000 of"), "{}", diff.snippet());
    }

    #[test]
    fn what_looks_like_a_mark_inside_of_a_file_is_none() {
        for mark in [&b"\xFF\xFE"[..], b"\xFE\xFF", b"\xEF\xBB\xBF"] {
            let before = [b"1\n2\n3\n4\n5\n6\n", mark, b"7\n8\n9\n10\n11\n"].concat();
            let after = [b"1\n2\n3\n4\n5\n6\n", mark, b"7\n8\n9\n10\nX\n"].concat();
            let diff = Diff::between(&before, &after);
            let shown = String::from_utf8_lossy(mark);
            let expected =
                [&format!(" {shown}7"), " 8", " 9", " 10", "-11", "+X"].map(ToOwned::to_owned);
            assert_eq!(diff.hunks[0].lines, expected, "{mark:?}");
        }
    }

    #[test]
    fn a_new_file_is_one_hunk() {
        let diff = Diff::between(b"", b"a\nb");
        assert_eq!(diff.hunks.len(), 1);
        assert_eq!(diff.hunks[0].lines, ["+a", "+b"]);
        assert_eq!(Diff::between(b"a", b"a"), Diff::default());
    }
}
