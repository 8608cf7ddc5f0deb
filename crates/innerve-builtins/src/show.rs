//! How the built-in tools look to a person, by the name of the tool.

mod changes;
mod commands;
mod others;
mod task_list;

use innerve_tool::show::{AnyTool, Row, RowKind, Show};
use serde_json::Value;

/// Who shows this tool; every tool is shown somehow.
pub fn of(tool: &str) -> &'static dyn Show {
    match tool {
        "Bash" | "Monitor" => &commands::Commands,
        "TaskOutput" | "BashOutput" => &commands::TaskOutput,
        "Edit" | "MultiEdit" | "NotebookEdit" | "Write" => &changes::Changes,
        "Read" => &others::Reads,
        "Glob" => &others::Names,
        "Agent" | "Task" => &others::Agents,
        "AskUserQuestion" => &others::Questions,
        "ExitPlanMode" => &others::Plans,
        "TaskCreate" => &task_list::Created,
        "TaskGet" => &task_list::Details,
        "TaskList" => &task_list::Overview,
        "TaskUpdate" => &task_list::Updated,
        "TodoWrite" => &others::Todos,
        "WebFetch" => &others::Pages,
        "WebSearch" => &others::Hits,
        _ => &AnyTool,
    }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn number(value: &Value, field: &str) -> Option<u64> {
    value.get(field).and_then(Value::as_u64)
}

fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

fn quiet(line: &str) -> Row {
    Row::new(RowKind::Quiet, line)
}

/// Bytes as people read them.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => count(bytes, "byte"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

#[cfg(test)]
mod tests;
