//! How a tool use looks in an editor: title, kind, places, and what it would change.

use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema::{
    Diff, ToolCallContent, ToolCallLocation, ToolCallUpdateFields, ToolKind,
};
use innerve_permission::Preview;
use serde_json::Value;

/// A title of more characters is cut.
const MAX_TITLE: usize = 200;

/// Title, kind and places of a call.
pub(crate) fn fields(tool: &str, input: &Value, cwd: &Path) -> ToolCallUpdateFields {
    ToolCallUpdateFields::new()
        .title(title(tool, input, cwd))
        .kind(kind(tool))
        .locations(locations(tool, input, cwd))
}

/// What a call is about, in one line; files below `cwd` as they are seen from there.
pub(crate) fn title(tool: &str, input: &Value, cwd: &Path) -> String {
    let subject = match tool {
        "Bash" | "Monitor" => word(input, "command"),
        "Read" | "Edit" | "Write" => word(input, "file_path").map(|path| below(path, cwd)),
        "NotebookEdit" => word(input, "notebook_path").map(|path| below(path, cwd)),
        "Glob" | "Grep" => word(input, "pattern"),
        "WebFetch" => word(input, "url"),
        "WebSearch" | "ToolSearch" => word(input, "query"),
        "Agent" => word(input, "description"),
        _ => None,
    };
    let text = match (tool, subject) {
        ("Bash", Some(command)) => format!("`{}`", command.replace('`', "'")),
        (_, Some(subject)) => format!("{tool} {subject}"),
        ("ExitPlanMode", None) => "Ready to leave plan mode?".to_owned(),
        (_, None) => tool.to_owned(),
    };
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MAX_TITLE {
        return line;
    }
    let mut cut: String = line.chars().take(MAX_TITLE).collect();
    cut.push('…');
    if tool == "Bash" {
        cut.push('`');
    }
    cut
}

/// The kind by which an editor chooses an icon.
pub(crate) fn kind(tool: &str) -> ToolKind {
    match tool {
        "Read" => ToolKind::Read,
        "Edit" | "Write" | "NotebookEdit" => ToolKind::Edit,
        "Glob" | "Grep" | "ToolSearch" => ToolKind::Search,
        "Bash" | "Monitor" => ToolKind::Execute,
        "WebFetch" | "WebSearch" => ToolKind::Fetch,
        "Agent" | "TodoWrite" => ToolKind::Think,
        "EnterPlanMode" | "ExitPlanMode" => ToolKind::SwitchMode,
        _ => ToolKind::Other,
    }
}

/// The files that a call is about, as absolute paths: the protocol wants them so, and models do not always write them so.
fn locations(tool: &str, input: &Value, cwd: &Path) -> Vec<ToolCallLocation> {
    let field = match tool {
        "Read" | "Edit" | "Write" => "file_path",
        "NotebookEdit" => "notebook_path",
        "Glob" | "Grep" => "path",
        _ => return Vec::new(),
    };
    let Some(path) = absolute(input, field, cwd) else { return Vec::new() };
    let line = input.get("offset").and_then(Value::as_u64).and_then(|line| line.try_into().ok());
    vec![ToolCallLocation::new(path).line(line.filter(|_: &u32| tool == "Read"))]
}

/// What a call would change, as far as its input tells.
pub(crate) fn intent(tool: &str, input: &Value, cwd: &Path) -> Vec<ToolCallContent> {
    let path = |field: &str| absolute(input, field, cwd);
    match tool {
        "Edit" => {
            let (Some(path), Some(new)) = (path("file_path"), word(input, "new_string")) else {
                return Vec::new();
            };
            let old = word(input, "old_string").filter(|old| !old.is_empty());
            vec![Diff::new(path, new).old_text(old.map(str::to_owned)).into()]
        }
        "Write" => match (path("file_path"), word(input, "content")) {
            (Some(path), Some(content)) => vec![Diff::new(path, content).into()],
            _ => Vec::new(),
        },
        "Bash" | "Monitor" => match word(input, "command") {
            Some(command) => vec![fenced(command).into()],
            None => Vec::new(),
        },
        "ExitPlanMode" => match word(input, "plan") {
            Some(plan) => vec![plan.into()],
            None => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Whether [`intent`] shows all that a call that went well has to show.
pub(crate) fn is_change(tool: &str) -> bool {
    matches!(tool, "Edit" | "Write")
}

/// What a person is asked to approve, byte for byte as far as it is text.
pub(crate) fn preview(preview: &Preview) -> ToolCallContent {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let before = preview.before.as_deref().map(text);
    Diff::new(preview.path.clone(), text(&preview.after)).old_text(before).into()
}

/// What a call gave, for an editor that shows Markdown.
pub(crate) fn result(tool: &str, text: &str) -> Vec<ToolCallContent> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let is_prose = matches!(tool, "Agent" | "WebFetch" | "WebSearch" | "AskUserQuestion");
    vec![if is_prose { text.to_owned().into() } else { fenced(text).into() }]
}

/// A code block, fenced by more backticks than the text has in a row.
fn fenced(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// The path in a field; none that begins in a home, which is for the tool to find.
fn absolute(input: &Value, field: &str, cwd: &Path) -> Option<PathBuf> {
    word(input, field).filter(|path| !path.starts_with('~')).map(|path| cwd.join(path))
}

fn below<'a>(path: &'a str, cwd: &Path) -> &'a str {
    let seen = Path::new(path).strip_prefix(cwd).ok().and_then(Path::to_str);
    seen.filter(|seen| !seen.is_empty()).unwrap_or(path)
}

fn word<'a>(input: &'a Value, field: &str) -> Option<&'a str> {
    input.get(field).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_title_says_what_a_call_is_about_in_one_line() {
        #[track_caller]
        fn check(tool: &str, input: &Value, wanted: &str) {
            assert_eq!(title(tool, input, Path::new("/a")), wanted);
        }
        check("Bash", &json!({ "command": "echo `id`\nls" }), "`echo 'id' ls`");
        check("Read", &json!({ "file_path": "/a/b.rs" }), "Read b.rs");
        check("Read", &json!({ "file_path": "/ab/b.rs" }), "Read /ab/b.rs");
        check("Write", &json!({ "file_path": "b/c.rs" }), "Write b/c.rs");
        check("Read", &json!({ "file_path": "/a" }), "Read /a");
        check("Grep", &json!({ "pattern": "fn main" }), "Grep fn main");
        check("mcp__a__b", &json!({ "file_path": "/x" }), "mcp__a__b");
        check("Edit", &json!(7), "Edit");
        let long = title("Bash", &json!({ "command": "x".repeat(1000) }), Path::new("/"));
        assert_eq!(long.chars().count(), MAX_TITLE + 2);
    }

    #[test]
    fn places_and_diffs_have_absolute_paths_however_the_model_wrote_them() {
        let at = |tool: &str, input: &Value| locations(tool, input, Path::new("/w"));
        let place = at("Read", &json!({ "file_path": "/a", "offset": 7 }));
        assert_eq!(place, [ToolCallLocation::new("/a").line(7)]);
        assert_eq!(at("Read", &json!({ "file_path": "a" })), [ToolCallLocation::new("/w/a")]);
        assert_eq!(at("Read", &json!({ "file_path": "~/a" })), []);
        let edit = json!({ "file_path": "a", "old_string": "x", "new_string": "y" });
        let diff = Diff::new("/w/a", "y").old_text("x".to_owned());
        assert_eq!(intent("Edit", &edit, Path::new("/w")), [diff.into()]);
        assert_eq!(at("Bash", &json!({ "file_path": "/a" })), []);
    }

    #[test]
    fn text_cannot_leave_its_fence() {
        assert_eq!(fenced("a\n"), "```\na\n```");
        assert_eq!(fenced("a ```` b"), "`````\na ```` b\n`````");
        assert_eq!(fenced(""), "```\n\n```");
    }
}
