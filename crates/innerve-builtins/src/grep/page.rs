//! Cuts the page that was asked for out of what was found, and puts it into words.

use std::fmt::Write as _;
use std::path::Path;

use super::collect::Line;
use super::query::Query;
use super::run::{Tally, plural};
use super::{GrepOutput, OutputMode};
use crate::paths::shown;

pub(super) fn page(query: &Query, tally: Tally, notes: Vec<String>) -> GrepOutput {
    let (files, matches) = (tally.files, tally.matches);
    let total = match query.mode {
        OutputMode::Content => matches,
        OutputMode::FilesWithMatches | OutputMode::Count => files,
    };
    let end = query.limit.map_or(usize::MAX, |limit| query.offset.saturating_add(limit));
    let mut filenames = Vec::new();
    let mut content = String::new();
    let mut place = 0;
    let mut shown_units = 0;
    for ((_, path), (count, lines)) in tally.best.into_sorted() {
        let name = shown(&path, &query.cwd);
        match query.mode {
            OutputMode::FilesWithMatches | OutputMode::Count => {
                if place >= query.offset && place < end {
                    if query.mode == OutputMode::Count {
                        line(&mut content, &format!("{name}:{count}"));
                    }
                    filenames.push(name);
                    shown_units += 1;
                }
                place += 1;
            }
            OutputMode::Content => {
                let kept =
                    lines.iter().filter_map(|line| line.of_match).max().map_or(0, |last| last + 1);
                let first = query.offset.saturating_sub(place).min(kept);
                let last = end.saturating_sub(place).min(kept);
                if first < last {
                    write_matches(&mut content, query, &name, &lines, first, last);
                    shown_units += last - first;
                    filenames.push(name);
                }
                place += count;
            }
        }
    }
    let mut notes = notes;
    if shown_units == 0 && query.offset < total {
        notes.push("So many results cannot be paged through; narrow the search.".to_owned());
    }
    let is_cut = query.offset.saturating_add(shown_units) < total && shown_units > 0;
    GrepOutput {
        mode: query.mode,
        path: shown(Path::new(&query.root), &query.cwd),
        num_files: files,
        num_matches: (query.mode != OutputMode::FilesWithMatches).then_some(matches),
        filenames,
        content: (query.mode != OutputMode::FilesWithMatches).then_some(content),
        shown: shown_units,
        total,
        applied_limit: is_cut.then_some(shown_units),
        applied_offset: (query.offset > 0).then_some(query.offset),
        notes,
    }
}

/// Writes the matches `first..last` of a file with their context, and only theirs.
fn write_matches(
    content: &mut String,
    query: &Query,
    name: &str,
    lines: &[Line],
    first: usize,
    last: usize,
) {
    let is_shown = |line: &Line| line.of_match.is_some_and(|of| of >= first && of < last);
    let begin = lines.iter().find(|line| is_shown(line)).map_or(0, |line| line.number);
    let end = lines.iter().rev().find(|line| is_shown(line)).map_or(0, |line| line.number);
    let from = begin.saturating_sub(query.before as u64);
    let to = end.saturating_add(query.after as u64);
    let has_context = query.before > 0 || query.after > 0;
    let mut previous = None;
    for of_file in lines
        .iter()
        .filter(|line| is_shown(line) || (has_context && line.number >= from && line.number <= to))
    {
        let follows = previous.is_some_and(|previous: u64| of_file.number <= previous + 1);
        if has_context && !follows && !content.is_empty() {
            line(content, "--");
        }
        previous = Some(of_file.number);
        let sign = if is_shown(of_file) { ':' } else { '-' };
        if query.line_numbers {
            line(content, &format!("{name}{sign}{}{sign}{}", of_file.number, of_file.text));
        } else {
            line(content, &format!("{name}{sign}{}", of_file.text));
        }
    }
}

fn line(content: &mut String, text: &str) {
    if !content.is_empty() {
        content.push('\n');
    }
    content.push_str(text);
}

/// The answer for the model: nothing, a page past the end, or a page; an error is none of these.
pub(super) fn words(output: &GrepOutput) -> String {
    let mut text = String::new();
    if output.total == 0 {
        text.push_str(match output.mode {
            OutputMode::FilesWithMatches => "No files found",
            OutputMode::Content | OutputMode::Count => "No matches found",
        });
    } else if output.shown == 0 {
        let what = unit(output.mode);
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "No entries at offset {}: there {} {}",
            output.applied_offset.unwrap_or(0),
            if output.total == 1 { "is" } else { "are" },
            plural(output.total, what)
        );
    } else {
        match (&output.content, output.mode) {
            (Some(content), OutputMode::Count) => {
                let _ = write!(
                    text,
                    "{content}\n\nFound {} total {} across {}.",
                    output.num_matches.unwrap_or(0),
                    if output.num_matches == Some(1) { "occurrence" } else { "occurrences" },
                    plural(output.num_files, "file")
                );
            }
            (Some(content), OutputMode::Content | OutputMode::FilesWithMatches) => {
                text.push_str(content);
            }
            (None, _) => {
                let _ = write!(
                    text,
                    "Found {}\n{}",
                    plural(output.num_files, "file"),
                    output.filenames.join("\n")
                );
            }
        }
        if output.applied_limit.is_some() || output.applied_offset.is_some() {
            let offset = output.applied_offset.unwrap_or(0);
            let (what, last) = (unit(output.mode), offset + output.shown);
            let _ = write!(
                text,
                "\n\n[{} {}–{last} of {}",
                plural_only(what),
                offset + 1,
                output.total
            );
            if output.applied_limit.is_some() {
                let _ = write!(text, "; the next page begins at offset: {last}");
            }
            text.push(']');
        }
    }
    for note in &output.notes {
        let _ = write!(text, "\n({note})");
    }
    text
}

fn unit(mode: OutputMode) -> &'static str {
    match mode {
        OutputMode::Content => "match",
        OutputMode::FilesWithMatches | OutputMode::Count => "file",
    }
}

fn plural_only(what: &str) -> &'static str {
    if what == "match" { "matches" } else { "files" }
}
