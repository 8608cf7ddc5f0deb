//! How a tool's calls look to a person: lines with a meaning, which a terminal, an editor or a page draws in its own way.
//!
//! This is apart from [`crate::Tool`], so that no tool knows of terminals, and works on the JSON that hosts keep of a
//! call, so that it serves recorded and forwarded calls too.

use serde_json::Value;

/// Fields of an input that say most, the first of them first.
const TELLING: &[&str] = &[
    "command",
    "file_path",
    "notebook_path",
    "pattern",
    "url",
    "query",
    "description",
    "path",
    "prompt",
    "name",
    "task_id",
];
/// Rows of a text that are shown.
const MAX_ROWS: usize = 5;

/// What is shown of one moment of a call.
///
/// The text comes from models, files and programs: who draws it escapes what would command a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// One line that says the most.
    pub headline: String,
    /// What stands below it.
    pub rows: Vec<Row>,
    /// How many rows more there would be.
    pub left_out: usize,
}

/// A line below a headline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What it is.
    pub kind: RowKind,
    /// The line, without its end.
    pub text: String,
}

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// Text like any other.
    Plain,
    /// Output, and what is of less weight.
    Quiet,
    /// Where the lines below it belong, as in a diff.
    Place,
    /// A line that was added, with its `+`.
    Added,
    /// A line that was removed, with its `-`.
    Removed,
    /// Something to take notice of.
    Warning,
}

impl Shown {
    /// A headline alone.
    pub fn line(headline: impl Into<String>) -> Self {
        Self { headline: headline.into(), ..Self::default() }
    }

    /// The same with the first `max` of these rows.
    #[must_use]
    pub fn with(mut self, rows: impl IntoIterator<Item = Row>, max: usize) -> Self {
        let mut rows = rows.into_iter();
        self.rows.extend(rows.by_ref().take(max));
        self.left_out += rows.count();
        self
    }
}

impl Row {
    /// A row of this kind.
    pub fn new(kind: RowKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }
}

/// Says how a tool's calls look. Every method has a default that suits any tool.
pub trait Show: Send + Sync {
    /// What a call is about, in one line: the command, the file, the pattern.
    fn call(&self, input: &Value) -> String {
        let telling = TELLING.iter().find_map(|field| input.get(field).and_then(Value::as_str));
        match telling {
            Some(text) => text.to_owned(),
            None if input.as_object().is_some_and(serde_json::Map::is_empty) => String::new(),
            None => input.to_string(),
        }
    }

    /// How far a running call is; `None` if there is nothing to say.
    fn progress(&self, data: &Value) -> Option<Shown> {
        let _ = data;
        None
    }

    /// What a successful call gave; `data` is the tool's own output, `text` what the model sees.
    fn result(&self, data: &Value, text: &str) -> Shown {
        let _ = data;
        first_line_of(text)
    }

    /// Why a call failed.
    fn error(&self, text: &str) -> Shown {
        first_line_of(text)
    }

    /// Why a call was not allowed.
    fn refusal(&self, reason: &str) -> Shown {
        Shown::line(reason)
    }
}

/// Shows any tool.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnyTool;

impl Show for AnyTool {}

/// The first line that says something; of a result that was put away also where it is.
fn first_line_of(text: &str) -> Shown {
    let shown = Shown::line(text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default());
    if is_persisted(text) {
        return shown
            .with(text.lines().skip(1).map(|line| Row::new(RowKind::Quiet, line)), MAX_ROWS);
    }
    shown
}

/// Whether a result was too large for the conversation, so that only its beginning and the name of its file are there.
pub fn is_persisted(text: &str) -> bool {
    text.starts_with("<persisted-output>")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn any_tool_is_shown_by_what_tells_most() {
        assert_eq!(AnyTool.call(&json!({ "limit": 3, "file_path": "a.rs" })), "a.rs");
        assert_eq!(AnyTool.call(&json!({ "x": 1 })), "{\"x\":1}");
        assert_eq!(AnyTool.call(&json!({})), "");
        assert_eq!(AnyTool.result(&Value::Null, "\n one\ntwo"), Shown::line(" one"));
        assert_eq!(AnyTool.error("").headline, "");
        assert_eq!(AnyTool.refusal("no").headline, "no");
        let away = AnyTool.result(&Value::Null, "<persisted-output>\na\nb\nc\nd\ne\nf");
        assert_eq!((away.rows.len(), away.left_out), (5, 1));
    }
}
