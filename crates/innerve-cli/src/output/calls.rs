//! How tool uses look at a terminal: one drawing of what the rendering trait says, for `innerve run` and for the chat.

use std::time::Duration;

use anstyle::Style;
use innerve_agent::ToolReport;
use innerve_builtins::show;
use innerve_pipeline::Outcome;
use innerve_protocol::ToolUse;
use innerve_tool::show::{Row, RowKind, Shown, is_persisted};
use serde_json::Value;

use super::{BOLD, DIM, GREEN, RED, YELLOW, headline, plain};

/// Characters of the line about a call.
const CALL: usize = 100;
/// Characters of a row below it.
const ROW: usize = 120;
/// Characters of a row that names the file of a result.
const PLACE: usize = 400;
/// A call of less time shows none.
const SHORT: Duration = Duration::from_millis(500);

/// A call that begins.
pub(crate) fn started(mark: &str, tool_use: &ToolUse) -> String {
    format!("{mark} {}", call(&tool_use.name, &tool_use.input))
}

/// A call in one line.
pub(crate) fn call(tool: &str, input: &Value) -> String {
    let about = headline(&show::of(tool).call(input), CALL);
    format!("{BOLD}{}{BOLD:#} {about}", plain(tool))
}

/// How far a running call is.
pub(crate) fn progress(tool: &str, data: &Value) -> Option<Vec<String>> {
    let shown = show::of(tool).progress(data)?;
    let mut lines = vec![format!("{DIM}{}{DIM:#}", headline(&shown.headline, CALL))];
    lines.extend(below(&shown, ROW));
    Some(lines)
}

/// How a call ended; `named` says which one it was, where several ran side by side.
pub(crate) fn ended(report: &ToolReport, named: bool) -> Vec<String> {
    let look = show::of(&report.tool);
    let name =
        if named { format!("{}: ", call(&report.tool, &report.input)) } else { String::new() };
    let time = if report.elapsed >= SHORT {
        format!(" {DIM}{:.1} s{DIM:#}", report.elapsed.as_secs_f64())
    } else {
        String::new()
    };
    let (first, shown) = match &report.outcome {
        Outcome::Succeeded => {
            let shown = look.result(&report.data, &report.text);
            (format!("{GREEN}✓{GREEN:#} {name}{}{time}", headline(&shown.headline, 90)), shown)
        }
        Outcome::Failed => {
            let shown = look.error(unwrapped(&report.text));
            (format!("{RED}✗{RED:#} {name}{}{time}", headline(&shown.headline, 110)), shown)
        }
        Outcome::Refused(reason) => {
            let shown = look.refusal(&reason.message);
            (format!("{YELLOW}⊘ {name}denied:{YELLOW:#} {}", plain(&shown.headline)), shown)
        }
        Outcome::Deferred => (format!("{YELLOW}⊘ {name}deferred{YELLOW:#}"), Shown::default()),
        Outcome::Interrupted => {
            (format!("{YELLOW}⊘ {name}interrupted{YELLOW:#}"), Shown::default())
        }
    };
    let mut lines = vec![format!("  {first}")];
    let width = if is_persisted(&report.text) { PLACE } else { ROW };
    lines.extend(below(&shown, width).into_iter().map(|line| format!("    {line}")));
    lines
}

/// What came of a call of a past session, of which only the text is left; `named` as in [`ended`].
pub(crate) fn past(tool_use: &ToolUse, text: &str, failed: bool, named: bool) -> Vec<String> {
    let look = show::of(&tool_use.name);
    let (mark, shown) = if failed {
        (format!("{RED}✗{RED:#}"), look.error(unwrapped(text)))
    } else {
        (format!("{GREEN}✓{GREEN:#}"), look.result(&Value::Null, text))
    };
    let name = named.then(|| format!("{}: ", call(&tool_use.name, &tool_use.input)));
    let name = name.unwrap_or_default();
    let mut lines = vec![format!("  {mark} {name}{}", headline(&shown.headline, CALL))];
    let width = if is_persisted(text) { PLACE } else { ROW };
    lines.extend(below(&shown, width).into_iter().map(|line| format!("    {line}")));
    lines
}

/// An error without the tags that tell a model that it has called a tool wrongly.
fn unwrapped(text: &str) -> &str {
    let inner = text.strip_prefix("<tool_use_error>");
    inner.and_then(|inner| inner.strip_suffix("</tool_use_error>")).unwrap_or(text)
}

/// The rows below a headline.
fn below(shown: &Shown, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = shown.rows.iter().map(|row| drawn(row, width)).collect();
    if shown.left_out > 0 {
        let lines_word = if shown.left_out == 1 { "line" } else { "lines" };
        lines.push(format!("{DIM}… {} more {lines_word}{DIM:#}", shown.left_out));
    }
    lines
}

fn drawn(row: &Row, width: usize) -> String {
    let style = match row.kind {
        RowKind::Plain => Style::new(),
        RowKind::Quiet | RowKind::Place => DIM,
        RowKind::Added => GREEN,
        RowKind::Removed => RED,
        RowKind::Warning => YELLOW,
    };
    format!("{style}{}{style:#}", headline(&row.text, width))
}

#[cfg(test)]
mod tests {
    use innerve_protocol::ToolUseId;
    use serde_json::json;

    use super::*;

    fn report(tool: &str, outcome: Outcome, text: &str) -> ToolReport {
        ToolReport {
            tool_use_id: ToolUseId::new("call_1"),
            tool: tool.to_owned(),
            input: json!({ "command": "make" }),
            outcome,
            code: None,
            text: text.to_owned(),
            data: Value::Null,
            elapsed: Duration::from_millis(1_250),
        }
    }

    #[track_caller]
    fn check(lines: &[String], expected: &[&str]) {
        let plain: Vec<String> =
            lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect();
        assert_eq!(plain, expected);
    }

    #[test]
    fn each_moment_of_a_call_is_drawn_as_its_tool_shows_it() {
        check(&[call("Bash", &json!({ "command": "make\nmore" }))], &["Bash make…"]);
        let data = json!({ "tail": "b\n", "lines": 2, "bytes": 4, "elapsed_ms": 3_000 });
        check(&progress("Bash", &data).unwrap(), &["2 lines: b"]);
        assert_eq!(progress("Read", &json!({})), None);
        let long = "1\n2\n3\n4\n5\n6";
        check(
            &ended(&report("Bash", Outcome::Succeeded, long), false),
            &[
                "  ✓ 6 lines 1.2 s",
                "    1",
                "    2",
                "    3",
                "    4",
                "    5",
                "    … 1 more line",
            ],
        );
        check(
            &ended(&report("Bash", Outcome::Failed, "Exit code 2\nno"), true),
            &["  ✗ Bash make: Exit code 2 1.2 s", "    no"],
        );
        let wrong = "<tool_use_error>`a` has not been read yet</tool_use_error>";
        check(
            &ended(&report("Edit", Outcome::Failed, wrong), false),
            &["  ✗ `a` has not been read yet 1.2 s"],
        );
        check(
            &ended(&report("Bash", Outcome::Interrupted, ""), true),
            &["  ⊘ Bash make: interrupted"],
        );
    }

    #[test]
    fn what_would_command_the_terminal_is_written_out() {
        let shown = call("Bash\u{1b}[2J", &json!({ "command": "echo \u{1b}]0;x\u{7}" }));
        check(&[shown], &["Bash\\u{1b}[2J echo \\u{1b}]0;x\\u{7}"]);
        let lines = ended(&report("Bash", Outcome::Failed, "a\u{1b}[31m\nb\u{202e}"), false);
        check(&lines, &["  ✗ a\\u{1b}[31m 1.2 s", "    b\\u{202e}"]);
    }
}
