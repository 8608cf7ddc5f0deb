//! Commands: what they are, how far they are, and the beginning of what they printed.

use innerve_tool::show::{AnyTool, Row, RowKind, Show, Shown, is_persisted};
use serde_json::Value;

use super::{count, number, quiet, text};

/// Rows of output that are shown.
const MAX_ROWS: usize = 5;

/// Bash and Monitor.
pub(super) struct Commands;

/// `TaskOutput`.
pub(super) struct TaskOutput;

impl Show for Commands {
    fn call(&self, input: &Value) -> String {
        match input.get("ws") {
            Some(socket) => text(socket, "url").to_owned(),
            None => AnyTool.call(input),
        }
    }

    /// Without the time: a command that is silent says nothing of it, and who draws this knows how long the call has run.
    fn progress(&self, data: &Value) -> Option<Shown> {
        let lines = count(number(data, "lines")?, "line");
        let last = text(data, "tail").lines().rev().find(|line| !line.trim().is_empty());
        Some(Shown::line(match last {
            Some(last) => format!("{lines}: {last}"),
            None => lines,
        }))
    }

    fn result(&self, data: &Value, words: &str) -> Shown {
        if let Some(task) = data.get("background_task_id").and_then(Value::as_str) {
            return Shown::line(format!("goes on as task {task}"));
        }
        if data.get("is_image").and_then(Value::as_bool) == Some(true) {
            return Shown::line("an image");
        }
        let lines = words.lines().count();
        if lines < 2 {
            return Shown::line(words.lines().next().unwrap_or_default());
        }
        // The first line of a result that was put away is the mark of that.
        let skipped = usize::from(is_persisted(words));
        Shown::line(count(lines as u64, "line"))
            .with(words.lines().skip(skipped).map(quiet), MAX_ROWS)
    }

    fn error(&self, words: &str) -> Shown {
        let mut lines = words.lines();
        Shown::line(lines.next().unwrap_or_default()).with(lines.map(quiet), MAX_ROWS)
    }

    fn refusal(&self, reason: &str) -> Shown {
        let mut lines = reason.lines();
        let rows = |line: &str| Row::new(RowKind::Warning, line);
        Shown::line(lines.next().unwrap_or_default()).with(lines.map(rows), MAX_ROWS)
    }
}

impl Show for TaskOutput {
    fn result(&self, _data: &Value, words: &str) -> Shown {
        let mut lines = words.lines();
        Shown::line(lines.next().unwrap_or_default()).with(lines.map(quiet), MAX_ROWS)
    }
}
