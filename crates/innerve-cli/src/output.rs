//! Everything that is printed: answers on standard output, all else on standard error.

pub(crate) mod calls;
mod events;
mod plain;
mod screen;

use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};
use innerve_builtins::Diff;
use innerve_permission::LinkOutcome;
use serde::Serialize;
use serde_json::{Value, json};

use crate::exit::{Exit, Failure};

pub(crate) use events::{JsonEvents, TextEvents, tell_end};
pub(crate) use plain::plain;
pub(crate) use screen::Diverted;

/// Lines of a diff that are shown at most.
const MAX_DIFF_LINES: usize = 60;

pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const RED: Style = AnsiColor::Red.on_default();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();

/// Prints an error.
pub(crate) fn complain(message: &str) {
    styled(RED, "error", message);
}

/// Prints a warning.
pub(crate) fn warn(message: &str) {
    styled(YELLOW, "warning", message);
}

/// Prints a line on standard error as it is; styles in it vanish where they are not wanted.
pub(crate) fn note(line: &str) {
    if screen::takes(line) {
        return;
    }
    // Where standard error is gone, nobody can be told so.
    let _gone = writeln!(anstream::stderr(), "{line}");
}

fn styled(style: Style, word: &str, message: &str) {
    note(&format!("{style}{word}:{style:#} {}", plain(message)));
}

/// The first line of a text, cut to `width` characters.
pub(crate) fn headline(text: &str, width: usize) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = plain(lines.next().unwrap_or_default().trim_end());
    let more = lines.next().is_some();
    let mut line: String = first.chars().take(width).collect();
    if more || first.chars().count() > width {
        line.push('…');
    }
    line
}

/// A change of a file, for people; of a long one the beginning.
pub(crate) fn diff_lines(diff: &Diff) -> Vec<String> {
    let mut lines = all_diff_lines(diff);
    if lines.len() > MAX_DIFF_LINES {
        let left = lines.len() - MAX_DIFF_LINES;
        lines.truncate(MAX_DIFF_LINES);
        lines.push(format!("{DIM}… {left} more lines{DIM:#}"));
    }
    lines
}

/// A change of a file with all its lines.
pub(crate) fn all_diff_lines(diff: &Diff) -> Vec<String> {
    let mut lines = Vec::new();
    for hunk in &diff.hunks {
        lines.push(format!(
            "{DIM}@@ -{},{} +{},{} @@{DIM:#}",
            hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines
        ));
        for line in &hunk.lines {
            let style = match line.chars().next() {
                Some('+') => GREEN,
                Some('-') => RED,
                Some(_) | None => Style::new(),
            };
            lines.push(format!("{style}{}{style:#}", plain(line.trim_end_matches('\n'))));
        }
    }
    lines
}

/// Prints a line on standard output.
pub(crate) fn print_line(line: &str) -> io::Result<()> {
    writeln!(anstream::stdout(), "{line}")
}

/// Prints one JSON object on a line of its own on standard output.
pub(crate) fn print_json(value: &impl Serialize) -> io::Result<()> {
    let mut output = io::stdout().lock();
    serde_json::to_writer(&mut output, value)?;
    output.write_all(b"\n")?;
    output.flush()
}

/// The answer to a line that cannot be read; its `id` is given back if there is one.
pub(crate) fn line_error(line: &[u8], problem: &str) -> Value {
    let id = serde_json::from_slice::<Value>(line).ok().and_then(|value| value.get("id").cloned());
    json!({ "id": id, "error": problem })
}

/// A reader that has seen enough is no failure.
pub(crate) fn broken_pipe_is_success(printed: io::Result<()>) -> Result<Exit, Failure> {
    match printed {
        Ok(()) => Ok(Exit::Success),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Success),
        Err(error) => Err(Failure::new(format!("standard input or output failed: {error}"))),
    }
}

/// The name of an outcome in traces.
pub(crate) fn outcome_name(outcome: LinkOutcome) -> &'static str {
    match outcome {
        LinkOutcome::None => "–",
        LinkOutcome::Allow => "allow",
        LinkOutcome::Ask => "ask",
        LinkOutcome::Deny => "deny",
        LinkOutcome::Classify => "classify",
        LinkOutcome::Defer => "defer",
    }
}
