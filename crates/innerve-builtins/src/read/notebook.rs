//! Shows a Jupyter notebook by its cells, with what they have put out.

use std::path::Path;

use serde_json::Value;

/// A longer output of one cell is named, not shown.
const MAX_OUTPUT_CHARS: usize = 10_000;

/// The cells as text.
pub(super) struct Cells {
    pub(super) text: String,
    /// How many cells the notebook has.
    pub(super) total: usize,
    /// How many of them, from the first, are in `text`.
    pub(super) shown: usize,
}

/// The cells of a notebook, as many whole ones as fit into `max_bytes`; `None` if the text is no notebook.
pub(super) fn cells(text: &str, path: &Path, max_bytes: usize) -> Option<Cells> {
    let notebook: Value = serde_json::from_str(text).ok()?;
    let list = notebook.get("cells")?.as_array()?;
    let mut cells = Cells { text: String::new(), total: list.len(), shown: 0 };
    for (number, cell) in list.iter().enumerate() {
        let shown = show(cell, number, path);
        if cells.text.len() + shown.len() > max_bytes {
            break;
        }
        cells.text.push_str(&shown);
        cells.shown += 1;
    }
    Some(cells)
}

fn show(cell: &Value, number: usize, path: &Path) -> String {
    let word = |field: &str| cell.get(field).and_then(Value::as_str);
    // The same names as NotebookEdit takes.
    let id = word("id").map_or_else(|| format!("cell-{number}"), str::to_owned);
    let kind = word("cell_type").unwrap_or("code");
    let source = cell.get("source").map(joined).unwrap_or_default();
    let mut text = format!("<cell id=\"{id}\" type=\"{kind}\">\n{}\n</cell>\n", source.trim_end());
    let outputs = cell.get("outputs").and_then(Value::as_array);
    let outputs: Vec<String> = outputs.into_iter().flatten().filter_map(output).collect();
    let output = outputs.join("\n");
    let length = output.chars().count();
    if length > MAX_OUTPUT_CHARS {
        text.push_str(&format!(
            "<output>[{length} characters; to see them: jq '.cells[{number}].outputs' '{}']</output>\n",
            path.display()
        ));
    } else if !output.is_empty() {
        text.push_str(&format!("<output>\n{}\n</output>\n", output.trim_end()));
    }
    text
}

/// What one output of a cell shows (Jupyter's nbformat, "code cell outputs").
fn output(output: &Value) -> Option<String> {
    match output.get("output_type")?.as_str()? {
        "stream" => output.get("text").map(joined),
        "error" => {
            let word = |field: &str| output.get(field).and_then(Value::as_str).unwrap_or_default();
            let lines = output.get("traceback").and_then(Value::as_array);
            let lines: Vec<&str> = lines.into_iter().flatten().filter_map(Value::as_str).collect();
            let trace = without_colors(&lines.join("\n"));
            Some(format!("{}: {}\n{trace}", word("ename"), word("evalue")))
        }
        _ => {
            let data = output.get("data")?.as_object()?;
            let images = data.iter().filter(|(kind, _)| kind.starts_with("image/"));
            let mut parts: Vec<String> = images
                .map(|(kind, image)| format!("[{kind}, {} bytes]", joined(image).len() / 4 * 3))
                .collect();
            match data.get("text/plain") {
                Some(text) => parts.insert(0, joined(text)),
                None if parts.is_empty() => {
                    parts.extend(data.keys().map(|kind| format!("[{kind}]")));
                }
                None => {}
            }
            Some(parts.join("\n"))
        }
    }
}

/// Text that is written as one string or as a list of lines.
fn joined(text: &Value) -> String {
    match text {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// Takes out the sequences `ESC [ … letter` that color a traceback.
fn without_colors(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let rest = piece.trim_start_matches(|c: char| matches!(c, '0'..='?'));
        let mut rest = rest.chars();
        rest.next();
        plain.push_str(rest.as_str());
    }
    plain
}
