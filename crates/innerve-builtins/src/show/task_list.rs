//! The list of things to do that agents share.

use innerve_tool::show::{AnyTool, Show, Shown};
use serde_json::Value;

use super::others::progress;
use super::text;

/// Rows of a list are cut by whoever shows them; a field of a call is cut here.
const MAX_FIELD: usize = 60;

pub(super) struct Created;
pub(super) struct Details;
pub(super) struct Overview;
pub(super) struct Updated;

impl Show for Created {
    fn call(&self, input: &Value) -> String {
        text(input, "subject").to_owned()
    }

    fn result(&self, data: &Value, words: &str) -> Shown {
        match data.get("task").map(|task| text(task, "id")) {
            None | Some("") => AnyTool.result(data, words),
            Some(id) => Shown::line(format!("#{id}")),
        }
    }
}

impl Show for Details {
    fn call(&self, input: &Value) -> String {
        number(input)
    }

    fn result(&self, data: &Value, words: &str) -> Shown {
        match data.get("task") {
            None => AnyTool.result(data, words),
            Some(task) => {
                let owner = owner(task);
                Shown::line(format!("{}{owner}, {}", text(task, "subject"), text(task, "status")))
            }
        }
    }
}

impl Show for Overview {
    fn call(&self, _input: &Value) -> String {
        String::new()
    }

    fn result(&self, data: &Value, words: &str) -> Shown {
        match data.get("tasks").and_then(Value::as_array) {
            None => AnyTool.result(data, words),
            Some(tasks) if tasks.is_empty() => Shown::line("no tasks"),
            Some(tasks) => progress(tasks, |task| {
                let waits = ids(task, "blockedBy");
                let waits = if waits.is_empty() { waits } else { format!(", waits for {waits}") };
                format!("#{} {}{}{waits}", text(task, "id"), text(task, "subject"), owner(task))
            }),
        }
    }
}

impl Show for Updated {
    /// What is to be new: `#2 in_progress, owner a1, waits for #1`.
    fn call(&self, input: &Value) -> String {
        let mut news = Vec::new();
        let mut add = |before: &str, words: &str| {
            if !words.is_empty() {
                news.push(format!("{before}{}", cut(words)));
            }
        };
        add("", text(input, "status"));
        add("", text(input, "subject"));
        add("owner ", text(input, "owner"));
        add("waits for ", &ids(input, "addBlockedBy"));
        add("before ", &ids(input, "addBlocks"));
        format!("{} {}", number(input), news.join(", ")).trim_end().to_owned()
    }

    fn result(&self, data: &Value, words: &str) -> Shown {
        let subject = text(data, "subject");
        if subject.is_empty() {
            return AnyTool.result(data, words);
        }
        let free = ids(data, "unblocked");
        let free = if free.is_empty() { free } else { format!("; {free} can begin") };
        Shown::line(format!("{subject}{}, {}{free}", owner(data), text(data, "status")))
    }
}

fn number(input: &Value) -> String {
    format!("#{}", cut(text(input, "taskId").trim_start_matches('#')))
}

fn owner(task: &Value) -> String {
    match text(task, "owner") {
        "" => String::new(),
        owner => format!(" ({owner})"),
    }
}

fn ids(value: &Value, field: &str) -> String {
    let ids = value.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let ids: Vec<String> = ids
        .iter()
        .filter_map(Value::as_str)
        .map(|id| format!("#{}", id.trim_start_matches('#')))
        .collect();
    ids.join(", ")
}

fn cut(words: &str) -> String {
    words.chars().take(MAX_FIELD).collect()
}
