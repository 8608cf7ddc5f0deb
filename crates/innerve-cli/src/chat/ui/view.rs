//! What stands at the lower end of the screen.

use std::io;
use std::time::Duration;

use innerve_pipeline::PolicySource as _;
use innerve_protocol::ToolUse;
use serde_json::Value;

use super::super::screen::{Live, Screen, cut, fold, width};
use super::{Ui, Work};
use crate::output::{BOLD, DIM, YELLOW, headline, plain};

/// A run of less time shows none.
const SHORT: Duration = Duration::from_secs(1);
/// Rows of an unfinished line that are shown.
const MAX_UNFINISHED: usize = 4;

impl Ui {
    /// Draws what has come and what is there now.
    pub(super) fn draw(&mut self) -> io::Result<()> {
        let live = self.live(Screen::width());
        let above = std::mem::take(&mut self.above);
        self.screen.draw(&above, &live)
    }

    fn live(&self, room: usize) -> Live {
        let mut lines = Vec::new();
        if let Some(unfinished) = self.markdown.unfinished() {
            lines.extend(fold(&tail(&unfinished, room * MAX_UNFINISHED), room));
        }
        match (&self.open, &self.run) {
            (Some(open), _) => {
                lines.extend(open.dialogue.asks().iter().flat_map(|line| fold(line, room)));
            }
            (None, Some(work)) => lines.push(cut(&working(work), room)),
            (None, None) => {}
        }
        if !self.choices.is_empty() {
            lines.push(format!("{DIM}{}{DIM:#}", plain(&self.choices.join("  "))));
        }
        let first = lines.len();
        let before = shown(self.editor.before());
        let row = before.matches('\n').count();
        let column = before.rsplit('\n').next().map_or(0, width);
        for (index, line) in shown(self.editor.text()).split('\n').enumerate() {
            let mark = if index == 0 { format!("{BOLD}> {BOLD:#}") } else { "  ".to_owned() };
            lines.push(format!("{mark}{line}"));
        }
        lines.push(cut(&self.foot(), room));
        Live { lines, cursor: (first + row, column + 2) }
    }

    /// Mode, model and cost, and what the last key has to say.
    fn foot(&self) -> String {
        if !self.hint.is_empty() {
            return format!("{YELLOW}{}{YELLOW:#}", self.hint);
        }
        let Some(env) = self.talk.env() else { return String::new() };
        let mut foot =
            format!("{} · {}", env.policy.current().mode.name(), plain(self.talk.model()));
        let usage = env.spending.usage();
        let tokens = usage.total_input() + usage.output_tokens.unwrap_or(0);
        if tokens > 0 {
            foot.push_str(&format!(" · {} tokens", short(tokens)));
        }
        match env.spending.dollars() {
            Some(dollars) if dollars >= 0.01 => foot.push_str(&format!(" · ${dollars:.2}")),
            Some(dollars) if dollars > 0.0 => foot.push_str(" · under $0.01"),
            Some(_) | None => {}
        }
        format!("{DIM}{foot}{DIM:#}")
    }
}

/// What is being done, and since when.
fn working(work: &Work) -> String {
    let elapsed = work.since.elapsed();
    let time = if elapsed < SHORT { String::new() } else { format!(" {}", clock(elapsed)) };
    let end = if work.is_stopping { "stopping" } else { "Esc stops" };
    format!("{YELLOW}●{YELLOW:#} {}{DIM}{time} · {end}{DIM:#}", plain(&work.doing))
}

/// A call in a few words.
pub(super) fn call(tool_use: &ToolUse) -> String {
    let fields = ["command", "file_path", "pattern", "url", "query", "description"];
    let subject = fields.iter().find_map(|field| tool_use.input.get(field).and_then(Value::as_str));
    match subject {
        Some(subject) => format!("{} {}", tool_use.name, headline(subject, 80)),
        None => tool_use.name.clone(),
    }
}

/// Text as it can stand in a row: no control characters, tabs as blanks.
fn shown(text: &str) -> String {
    plain(text).replace('\t', "    ")
}

/// The end of a long text.
fn tail(text: &str, columns: usize) -> String {
    let mut rest = text;
    while width(rest) > columns {
        let half = rest.len() / 2;
        let Some(at) = rest.char_indices().map(|(at, _)| at).find(|at| *at >= half.max(1)) else {
            break;
        };
        rest = rest.get(at..).unwrap_or_default();
    }
    if rest.len() == text.len() { text.to_owned() } else { format!("…{rest}") }
}

fn clock(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    if seconds < 60 {
        format!("{seconds} s")
    } else {
        format!("{} min {} s", seconds / 60, seconds % 60)
    }
}

/// A count in few digits.
pub(in crate::chat) fn short(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_times_are_short() {
        assert_eq!(
            [short(0), short(999), short(1_234), short(2_560_000)],
            ["0", "999", "1.2k", "2.5M"]
        );
        assert_eq!(clock(Duration::from_secs(59)), "59 s");
        assert_eq!(clock(Duration::from_secs(125)), "2 min 5 s");
    }

    #[test]
    fn the_end_of_a_long_line_is_what_is_shown() {
        assert_eq!(tail("short", 10), "short");
        let long = "ä日".repeat(1_000);
        let end = tail(&long, 20);
        assert!(width(&end) <= 21 && end.starts_with('…') && end.ends_with("ä日"), "{end}");
    }
}
