//! The results that were shown in short, kept so that they can be read in full.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use innerve_agent::ToolReport;
use innerve_budget::saved_in;
use serde_json::Value;

use crate::output::{BOLD, DIM, GREEN, RED, calls, plain};

/// Results that are kept.
const MAX_RESULTS: usize = 100;
/// Bytes of results that are kept, the newest one aside.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of a saved result that are shown.
const MAX_SHOWN: u64 = 8 * 1024 * 1024;

/// A call and what came of it.
#[derive(Debug)]
pub(super) struct Result {
    pub(super) report: ToolReport,
    /// What its sub-agent has done.
    pub(super) steps: Vec<String>,
}

/// The last results, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Results {
    kept: VecDeque<Result>,
    bytes: usize,
}

impl Results {
    /// Keeps one more; the oldest ones make room.
    pub(super) fn keep(&mut self, result: Result) {
        self.bytes += size(&result);
        self.kept.push_back(result);
        while self.kept.len() > MAX_RESULTS || (self.bytes > MAX_BYTES && self.kept.len() > 1) {
            self.bytes -= self.kept.pop_front().as_ref().map_or(0, size);
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    /// The lines of one: the call, its input, and all that came of it.
    pub(super) fn lines(&self, at: usize) -> Vec<String> {
        let Some(Result { report, steps }) = self.kept.get(at) else { return Vec::new() };
        let mut lines = vec![calls::call(&report.tool, &report.input), String::new()];
        lines.extend(input_lines(&report.input));
        lines.push(String::new());
        lines.extend(steps.iter().cloned());
        lines.extend(diff(&report.data));
        lines.extend(plain(&full_text(&report.text)).lines().map(str::to_owned));
        lines
    }
}

fn size(result: &Result) -> usize {
    result.report.text.len()
        + result.report.input.to_string().len()
        + result.steps.iter().map(String::len).sum::<usize>()
}

/// The fields of an input; a text of several lines is shown as such.
pub(super) fn input_lines(input: &Value) -> Vec<String> {
    let Some(fields) = input.as_object() else { return vec![plain(&input.to_string())] };
    let mut lines = Vec::new();
    for (name, value) in fields {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let text = plain(&text);
        let name = plain(name);
        if text.contains('\n') {
            lines.push(format!("{DIM}{name}:{DIM:#}"));
            lines.extend(text.lines().map(|line| format!("  {line}")));
        } else {
            lines.push(format!("{DIM}{name}:{DIM:#} {text}"));
        }
    }
    lines
}

/// All changed places of a file.
fn diff(data: &Value) -> Vec<String> {
    let hunks = data.get("diff").and_then(|diff| diff.get("hunks")).and_then(Value::as_array);
    let mut out = Vec::new();
    for hunk in hunks.into_iter().flatten() {
        out.push(format!("{DIM}…{DIM:#}"));
        let lines = hunk.get("lines").and_then(Value::as_array).into_iter().flatten();
        for line in lines.filter_map(Value::as_str) {
            let shown = plain(line.trim_end_matches('\n'));
            out.push(match line.chars().next() {
                Some('+') => format!("{GREEN}{shown}{GREEN:#}"),
                Some('-') => format!("{RED}{shown}{RED:#}"),
                Some(_) | None => shown,
            });
        }
    }
    if !out.is_empty() {
        out.push(String::new());
    }
    out
}

/// The text, from its file if it was too large for the conversation.
fn full_text(text: &str) -> String {
    let saved = || {
        let path = Path::new(saved_in(text)?);
        // Whatever else has that name is not opened: it could block.
        if !fs::metadata(path).ok()?.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        let file = File::open(path).ok()?;
        let length = file.metadata().ok()?.len();
        file.take(MAX_SHOWN).read_to_end(&mut bytes).ok()?;
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if length > MAX_SHOWN {
            text.push_str(&format!("\n{BOLD}…{BOLD:#} the rest is in {}", path.display()));
        }
        Some(text)
    };
    saved().unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use innerve_pipeline::Outcome;
    use innerve_protocol::ToolUseId;
    use serde_json::json;

    use super::*;

    fn result(text: &str, data: Value) -> Result {
        let report = ToolReport {
            tool_use_id: ToolUseId::new("call_1"),
            tool: "Bash".to_owned(),
            input: json!({ "command": "one\ntwo", "timeout": 5 }),
            outcome: Outcome::Succeeded,
            code: None,
            text: text.to_owned(),
            data,
            elapsed: Duration::ZERO,
        };
        Result { report, steps: Vec::new() }
    }

    fn shown(results: &Results, at: usize) -> Vec<String> {
        let lines = results.lines(at);
        lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect()
    }

    #[test]
    fn a_result_is_shown_with_the_whole_call() {
        let mut results = Results::default();
        let data = json!({ "diff": { "hunks": [{ "lines": [" a\n", "-b\n", "+c\n"] }] } });
        results.keep(result("out\u{1b}[2J\nput", data));
        assert_eq!(
            shown(&results, 0),
            [
                "Bash one…",
                "",
                "command:",
                "  one",
                "  two",
                "timeout: 5",
                "",
                "…",
                " a",
                "-b",
                "+c",
                "",
                "out\\u{1b}[2J",
                "put",
            ]
        );
        assert!(results.lines(1).is_empty());
    }

    #[test]
    fn what_was_put_away_is_read_from_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        fs::write(&path, "all\nof it").unwrap();
        let text = format!(
            "<persisted-output>\nOutput too large (1KB). All of it is in: {}\n\nPreview\n</persisted-output>",
            path.display()
        );
        assert_eq!(full_text(&text), "all\nof it");
        fs::remove_file(&path).unwrap();
        assert_eq!(full_text(&text), text, "a file that is gone");
        let forged = "<persisted-output>\nOutput too large (1KB). All of it is in: /dev/zero\n</persisted-output>";
        assert_eq!(full_text(forged), forged);
    }

    #[test]
    fn old_results_make_room() {
        let mut results = Results::default();
        for _ in 0..10 {
            results.keep(result(&"x".repeat(1024 * 1024), Value::Null));
        }
        assert_eq!(results.len(), 3);
        results.keep(result(&"x".repeat(2 * MAX_BYTES), Value::Null));
        assert_eq!(results.len(), 1, "the newest one stays whatever its size");
        for _ in 0..2 * MAX_RESULTS {
            results.keep(result("x", Value::Null));
        }
        assert_eq!(results.len(), MAX_RESULTS);
    }
}
