//! The other tools: mostly one line each.

use innerve_tool::show::{AnyTool, Row, RowKind, Show, Shown};
use serde_json::Value;

use super::{count, number, quiet, size, text};

/// Rows of a list that are shown.
const MAX_ROWS: usize = 20;

pub(super) struct Reads;
pub(super) struct Names;
pub(super) struct Agents;
pub(super) struct Questions;
pub(super) struct Plans;
pub(super) struct Todos;
pub(super) struct Pages;
pub(super) struct Hits;

impl Show for Reads {
    fn call(&self, input: &Value) -> String {
        let path = text(input, "file_path");
        match (
            number(input, "offset"),
            number(input, "limit"),
            input.get("pages").and_then(Value::as_str),
        ) {
            (_, _, Some(pages)) => format!("{path}, pages {pages}"),
            (None, None, None) => path.to_owned(),
            (offset, Some(limit), None) => {
                let first = offset.unwrap_or(1);
                format!("{path}, lines {first}–{}", first.saturating_add(limit).saturating_sub(1))
            }
            (Some(offset), None, None) => format!("{path}, from line {offset}"),
        }
    }

    fn result(&self, data: &Value, words: &str) -> Shown {
        let list =
            |field: &str| data.get(field).and_then(Value::as_array).map_or(0, Vec::len) as u64;
        Shown::line(match text(data, "type") {
            "text" => count(number(data, "numLines").unwrap_or_default(), "line"),
            "unchanged" => "as it was shown before".to_owned(),
            "notebook" => count(number(data, "totalCells").unwrap_or_default(), "cell"),
            "image" => {
                format!(
                    "{}, {}",
                    text(data, "mediaType"),
                    size(number(data, "originalSize").unwrap_or_default())
                )
            }
            "pdf" => count(number(data, "totalPages").unwrap_or_default(), "page"),
            "directory" => count(list("entries"), "name"),
            _ => count(words.lines().count() as u64, "line"),
        })
    }
}

impl Show for Names {
    fn result(&self, data: &Value, words: &str) -> Shown {
        match number(data, "numFiles") {
            Some(files) if files > 0 => Shown::line(count(files, "file")),
            Some(_) | None => AnyTool.result(data, words),
        }
    }
}

impl Show for Agents {
    fn call(&self, input: &Value) -> String {
        let kind = text(input, "subagent_type");
        let task = text(input, "description");
        if kind.is_empty() { task.to_owned() } else { format!("{kind}: {task}") }
    }
}

impl Show for Questions {
    fn call(&self, input: &Value) -> String {
        let questions = input.get("questions").and_then(Value::as_array);
        let first = questions.and_then(|questions| questions.first());
        let more = questions.map_or(0, |questions| questions.len().saturating_sub(1));
        let first = first.map(|question| text(question, "question")).unwrap_or_default();
        if more == 0 { first.to_owned() } else { format!("{first} (and {more} more)") }
    }
}

impl Show for Plans {
    fn call(&self, input: &Value) -> String {
        let plan = text(input, "plan");
        plan.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned()
    }
}

impl Show for Todos {
    fn call(&self, input: &Value) -> String {
        let todos = input.get("todos").and_then(Value::as_array).map_or(0, Vec::len);
        count(todos as u64, "task")
    }

    fn result(&self, data: &Value, words: &str) -> Shown {
        let list = ["todos", "newTodos"]
            .iter()
            .find_map(|field| data.get(field).and_then(Value::as_array));
        let Some(todos) = list else { return AnyTool.result(data, words) };
        progress(todos, |todo| text(todo, "content").to_owned())
    }
}

/// A list of what is to be done: how much of it is, and a row for each with a mark.
pub(super) fn progress(list: &[Value], words: impl Fn(&Value) -> String) -> Shown {
    let done = list.iter().filter(|task| text(task, "status") == "completed").count();
    let rows = list.iter().map(|task| {
        let (mark, kind) = match text(task, "status") {
            "completed" => ("☒", RowKind::Quiet),
            "in_progress" => ("▸", RowKind::Plain),
            _ => ("☐", RowKind::Plain),
        };
        Row::new(kind, format!("{mark} {}", words(task)))
    });
    Shown::line(format!("{done} of {} done", list.len())).with(rows, MAX_ROWS)
}

impl Show for Pages {
    fn result(&self, data: &Value, words: &str) -> Shown {
        if let Some(to) = data.get("movedTo").and_then(Value::as_str) {
            return Shown::line(format!("moved to {to}"));
        }
        let Some(bytes) = number(data, "bytes") else { return AnyTool.result(data, words) };
        let cached = if data.get("cached").and_then(Value::as_bool) == Some(true) {
            ", kept from before"
        } else {
            ""
        };
        let title = text(data, "title");
        let gap = if title.is_empty() { "" } else { ", " };
        Shown::line(format!("{title}{gap}{}{cached}", size(bytes)))
    }
}

impl Show for Hits {
    fn result(&self, data: &Value, words: &str) -> Shown {
        let Some(hits) = data.get("hits").and_then(Value::as_array) else {
            return AnyTool.result(data, words);
        };
        let rows =
            hits.iter().map(|hit| quiet(&format!("{} – {}", text(hit, "title"), text(hit, "url"))));
        Shown::line(count(hits.len() as u64, "page")).with(rows, MAX_ROWS)
    }
}
