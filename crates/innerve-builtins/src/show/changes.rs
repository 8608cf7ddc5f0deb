//! Changes of files: their diff.

use innerve_tool::show::{Row, RowKind, Show, Shown};
use serde_json::Value;

use super::number;

/// Rows of a diff that are shown.
const MAX_ROWS: usize = 60;

/// Edit, `MultiEdit`, `NotebookEdit` and Write.
pub(super) struct Changes;

impl Show for Changes {
    fn result(&self, data: &Value, words: &str) -> Shown {
        let diff = data.get("diff");
        let hunks = diff.and_then(|diff| diff.get("hunks")).and_then(Value::as_array);
        match (diff, hunks) {
            (Some(diff), Some(hunks)) if !hunks.is_empty() => {
                let lines = |name: &str| number(diff, name).unwrap_or_default();
                Shown::line(format!("+{} −{}", lines("added"), lines("removed")))
                    .with(hunks.iter().flat_map(rows), MAX_ROWS)
            }
            // A new file has no diff: its size tells more.
            _ => Shown::line(words.lines().next().unwrap_or_default()),
        }
    }
}

/// A changed place with its context.
fn rows(hunk: &Value) -> Vec<Row> {
    let at = |name: &str| number(hunk, name).unwrap_or_default();
    let place = format!(
        "@@ -{},{} +{},{} @@",
        at("oldStart"),
        at("oldLines"),
        at("newStart"),
        at("newLines")
    );
    let mut rows = vec![Row::new(RowKind::Place, place)];
    let lines = hunk.get("lines").and_then(Value::as_array).into_iter().flatten();
    rows.extend(lines.filter_map(Value::as_str).map(|line| {
        let kind = match line.chars().next() {
            Some('+') => RowKind::Added,
            Some('-') => RowKind::Removed,
            Some(_) | None => RowKind::Plain,
        };
        Row::new(kind, line.trim_end_matches('\n'))
    }));
    rows
}
