//! What a change did to a file, as hunks for people and a numbered snippet for the model.

use std::time::Duration;

use serde::Serialize;
use similar::{DiffTag, TextDiff};

use crate::text::{Document, cut_line};

/// Lines of context around a change.
const CONTEXT: usize = 4;
/// A diff of more lines is abbreviated.
const MAX_DIFF_LINES: usize = 2_000;
/// A snippet of more lines is abbreviated.
const MAX_SNIPPET_LINES: usize = 60;
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
        let before = Document::new(before.to_vec()).text;
        let after = Document::new(after.to_vec()).text;
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
                    hunk.old_start = first + old_range.start + 1;
                    hunk.new_start = first + new_range.start + 1;
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

    #[test]
    fn a_new_file_is_one_hunk() {
        let diff = Diff::between(b"", b"a\nb");
        assert_eq!(diff.hunks.len(), 1);
        assert_eq!(diff.hunks[0].lines, ["+a", "+b"]);
        assert_eq!(Diff::between(b"a", b"a"), Diff::default());
    }
}
