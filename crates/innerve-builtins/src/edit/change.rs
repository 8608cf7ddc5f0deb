//! Computes the new content of a file from the text that was found.

use std::ops::Range;
use std::path::Path;

use innerve_permission::Preview;
use innerve_tool::ToolError;

use super::locate::{self, Found, MatchKind};
use super::{EditInput, Plan};
use crate::access::Change;
use crate::code;
use crate::text::{Document, Encoding, LineEnding, Squeezed, with_line_feeds};

/// Line numbers told of a text that occurs more than once.
const MAX_PLACES: usize = 10;

impl Plan {
    /// A new file, or new text for one that holds nothing but blanks.
    pub(super) fn creation(existing: Option<Document>, input: &EditInput) -> Self {
        let encoding = existing.as_ref().map_or(Encoding::Utf8, Document::encoding);
        Self {
            change: Change {
                after: encoding.file(&input.new_string),
                before: existing.map(Document::into_raw),
            },
            replacements: 1,
            matched: MatchKind::Exact,
        }
    }

    /// What a person saw and approved; the write itself checks that the file is still what they saw.
    pub(super) fn approved(
        preview: Preview,
        input: &EditInput,
        path: &Path,
    ) -> Result<Self, ToolError> {
        let change = Change::approved(preview, path)?;
        // Only for the words of the result: the bytes are those of the approval.
        let (replacements, matched) = match &change.before {
            Some(before) if !input.old_string.is_empty() => {
                Self::replacement(Document::new(before.clone()), input, path)
                    .map_or((1, MatchKind::Exact), |plan| (plan.replacements, plan.matched))
            }
            Some(_) | None => (1, MatchKind::Exact),
        };
        Ok(Self { change, replacements, matched })
    }

    /// The file with one or all occurrences of the old text replaced.
    pub(super) fn replacement(
        document: Document,
        input: &EditInput,
        path: &Path,
    ) -> Result<Self, ToolError> {
        let view = Squeezed::line_feeds(&document.text);
        let old = with_line_feeds(&input.old_string);
        let new = with_line_feeds(&input.new_string);
        let found = locate::locate(&view.text, &old);
        check_matches(&found, &view.text, input.replace_all, &old, path)?;

        let mut changes = Vec::with_capacity(found.spans.len());
        for span in &found.spans {
            let matched = view.text.get(span.clone()).unwrap_or_default();
            let styled = match found.kind {
                MatchKind::Quotes => locate::in_style_of(matched, &old, &new),
                MatchKind::Exact | MatchKind::TrailingBlanks => new.clone(),
            };
            let span = with_line_end(&view.text, span, &styled);
            let whole = view.before(span.start)..view.before(span.end);
            let ending = document.line_ending(&whole);
            changes.push(narrowed(&view, span, &styled, ending));
        }
        let ranges: Vec<Range<usize>> = changes.iter().map(|(range, _)| range.clone()).collect();
        if document.cannot_splice(&ranges) {
            let message = format!(
                "the text to replace in `{}` holds bytes that are no valid text; choose a piece without them",
                path.display()
            );
            return Err(ToolError::new(code::BINARY, message));
        }
        Ok(Self::splice(document, &changes, found.kind))
    }

    /// Other text in these ranges of a file's text; they are in order and do not overlap.
    pub(crate) fn splice(
        document: Document,
        changes: &[(Range<usize>, String)],
        matched: MatchKind,
    ) -> Self {
        let after = document.splice(changes);
        let change = Change { before: Some(document.into_raw()), after };
        Self { change, replacements: changes.len(), matched }
    }
}

fn check_matches(
    found: &Found,
    view: &str,
    replace_all: bool,
    old: &str,
    path: &Path,
) -> Result<(), ToolError> {
    let path = path.display();
    if found.spans.is_empty() {
        return Err(ToolError::new(
            code::NO_MATCH,
            format!("old_string was not found in `{path}`{}", hint(view, old)),
        ));
    }
    if replace_all {
        if found.kind == MatchKind::Exact {
            return Ok(());
        }
        return Err(ToolError::new(
            code::NO_MATCH,
            format!(
                "old_string was found in `{path}` only by ignoring the style of quotes or blanks at ends of lines; replace_all needs the exact text"
            ),
        ));
    }
    if found.spans.len() == 1 && !found.overlap {
        return Ok(());
    }
    let mut lines: Vec<String> =
        found.spans.iter().take(MAX_PLACES).map(|span| line_of(view, span.start)).collect();
    if found.spans.len() > MAX_PLACES {
        lines.push("…".to_owned());
    }
    let count = if found.overlap {
        format!("{} times and overlaps itself", found.spans.len())
    } else {
        format!("{} times", found.spans.len())
    };
    Err(ToolError::new(
        code::AMBIGUOUS,
        format!(
            "old_string occurs {count} in `{path}` (lines {}); add lines around it until it is unique, or set replace_all",
            lines.join(", ")
        ),
    ))
}

/// Why a text may not have been found.
fn hint(view: &str, old: &str) -> String {
    let numbered = |line: &str| {
        line.split_once('\t').is_some_and(|(number, _)| {
            let number = number.trim_start();
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    if old.lines().all(numbered) {
        return "; it seems to begin its lines with the numbers that Read shows: leave them out"
            .to_owned();
    }
    let first = old.lines().find(|line| !line.trim().is_empty()).map(str::trim).unwrap_or_default();
    let places: Vec<String> = (1_usize..)
        .zip(view.lines())
        .filter(|(_, line)| !first.is_empty() && line.trim() == first)
        .map(|(number, _)| number.to_string())
        .take(3)
        .collect();
    if places.is_empty() {
        "; read the file again and copy the text from it".to_owned()
    } else {
        format!(
            "; its first line is at {}, but indentation or what follows differs: read there again",
            places.join(", ")
        )
    }
}

fn line_of(view: &str, at: usize) -> String {
    let before = view.get(..at).unwrap_or_default();
    (before.matches('\n').count() + 1).to_string()
}

/// When whole lines are removed, the line feed after them goes too.
fn with_line_end(view: &str, span: &Range<usize>, new: &str) -> Range<usize> {
    let matched = view.get(span.clone()).unwrap_or_default();
    let begins_line =
        view.get(..span.start).is_some_and(|before| before.is_empty() || before.ends_with('\n'));
    let is_followed = view.get(span.end..).is_some_and(|after| after.starts_with('\n'));
    let removes_line = new.is_empty() && !matched.ends_with('\n') && begins_line && is_followed;
    span.start..span.end + usize::from(removes_line)
}

/// Leaves out what both texts share at their start and end, so that its bytes, line endings above all, stay as they
/// are. Gives the range in the file's text and what comes there.
fn narrowed(
    view: &Squeezed,
    span: Range<usize>,
    new: &str,
    ending: LineEnding,
) -> (Range<usize>, String) {
    let old = view.text.get(span.clone()).unwrap_or_default();
    let front: usize = old
        .chars()
        .zip(new.chars())
        .take_while(|(a, b)| a == b)
        .map(|(character, _)| character.len_utf8())
        .sum();
    let (old, new) = (old.get(front..).unwrap_or_default(), new.get(front..).unwrap_or_default());
    let back: usize = old
        .chars()
        .rev()
        .zip(new.chars().rev())
        .take_while(|(a, b)| a == b)
        .map(|(character, _)| character.len_utf8())
        .sum();
    let range = view.before(span.start + front)..view.before(span.end - back);
    let new = new.get(..new.len() - back).unwrap_or_default();
    (range, ending.apply(new))
}
