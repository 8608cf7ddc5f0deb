//! What stands at the lower end of the screen.

use std::io;

use innerve_pipeline::PolicySource as _;

use super::super::screen::{Live, Screen, cut, fold, width};
use super::Ui;
use crate::output::{BOLD, DIM, YELLOW, plain};

/// Rows of an unfinished line that are shown.
const MAX_UNFINISHED: usize = 4;
/// Characters of a line of the prompt that are shown before the cursor, and behind it.
const MAX_LINE: usize = 2_000;
/// Lines on each side of what a search has found.
const FOUND: usize = 3;
/// What a search says of its keys.
const SEARCHING: &str = "Enter sends · Esc edits · Ctrl-R older · Ctrl-S newer · Ctrl-G cancels";
/// What a page says when a question came meanwhile.
const ASKED: &str = "a question waits · q closes this page";

impl Ui {
    /// Draws what has come and what is there now.
    pub(super) fn draw(&mut self) -> io::Result<()> {
        let (_, rows) = Screen::size();
        let room = Screen::width();
        if let Some((pager, _)) = &mut self.page {
            let notice = if self.open.is_some() { ASKED } else { "" };
            return self.screen.cover(&pager.view(room, usize::from(rows), notice));
        }
        let live = self.live(room, usize::from(rows));
        let above = std::mem::take(&mut self.above);
        self.screen.draw(&above, &live)
    }

    fn live(&self, room: usize, rows: usize) -> Live {
        let mut lines = Vec::new();
        let most = room * MAX_UNFINISHED;
        let text = self.markdown.waiting(most).into_iter().chain(self.markdown.unfinished(most));
        lines.extend(text.flat_map(|line| fold(&line, room)));
        match (&self.open, &self.run) {
            (Some(open), _) => {
                lines.extend(open.dialogue.asks().iter().flat_map(|line| fold(line, room)));
            }
            (None, Some(work)) => lines.extend(work.lines(room)),
            (None, None) => {}
        }
        if self.open.is_none() && !self.waiting.is_empty() {
            lines.push(cut(&format!("{YELLOW}?{YELLOW:#} a question comes when you pause"), room));
        }
        let choices = self.choices.iter().map(|line| format!("{DIM}{}{DIM:#}", plain(line)));
        lines.extend(choices.flat_map(|line| fold(&line, room)));
        let first = lines.len();
        let mark = self.mark(room);
        let most = if self.editor.search().is_some() { FOUND } else { (rows / 3).max(1) };
        let (text, (row, column)) = window(&mark, self.editor.before(), self.editor.after(), most);
        lines.extend(text);
        lines.push(cut(&self.foot(), room));
        Live { lines, cursor: (first + row, column) }
    }

    /// What stands before the text: `>`, or what is looked for.
    fn mark(&self, room: usize) -> String {
        let Some((wanted, has_failed)) = self.editor.search() else {
            return format!("{BOLD}> {BOLD:#}");
        };
        let wanted = ending(&shown(wanted), (room / 3).max(4));
        let word = if has_failed { "not found" } else { "search" };
        format!("{YELLOW}({word}) '{wanted}':{YELLOW:#} ")
    }

    /// Mode, model and cost, and what the last key has to say.
    fn foot(&self) -> String {
        if self.editor.search().is_some() {
            return format!("{DIM}{SEARCHING}{DIM:#}");
        }
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

/// The lines of the prompt around the cursor, so many of them on each side of it, and where the cursor is. However long
/// a paste was, only what is shown costs time.
fn window(mark: &str, before: &str, after: &str, most: usize) -> (Vec<String>, (usize, usize)) {
    let mut above: Vec<&str> = before.rsplit('\n').take(most).collect();
    above.reverse();
    let hidden = before.matches('\n').count() + 1 - above.len();
    let mut lines = Vec::new();
    let begun = |index: usize| if index == 0 { mark } else { "  " };
    if hidden > 0 {
        lines.push(format!("{mark}{DIM}… {} above{DIM:#}", lines_word(hidden)));
    }
    let (last, earlier) = above.split_last().unwrap_or((&"", &[]));
    for line in earlier {
        lines.push(format!("{}{}", begun(lines.len()), head(line)));
    }
    let mut below = after.split('\n');
    let left = tail(last);
    let right = head(below.next().unwrap_or_default());
    let first = begun(lines.len());
    let cursor = (lines.len(), width(first) + width(&left));
    lines.push(format!("{first}{left}{right}"));
    for line in below.by_ref().take(most) {
        lines.push(format!("  {}", head(line)));
    }
    let hidden = below.count();
    if hidden > 0 {
        lines.push(format!("  {DIM}… {} below{DIM:#}", lines_word(hidden)));
    }
    (lines, cursor)
}

/// A number of lines in words.
pub(super) fn lines_word(count: usize) -> String {
    if count == 1 { "1 line".to_owned() } else { format!("{count} lines") }
}

/// The beginning of a line, as it can stand in a row.
fn head(line: &str) -> String {
    let end = line.char_indices().nth(MAX_LINE).map_or(line.len(), |(at, _)| at);
    let dots = if end < line.len() { "…" } else { "" };
    shown(&format!("{}{dots}", line.get(..end).unwrap_or_default()))
}

/// The end of a line, as it can stand in a row.
fn tail(line: &str) -> String {
    let start = line.char_indices().rev().nth(MAX_LINE).map_or(0, |(at, _)| at);
    let dots = if start > 0 { "…" } else { "" };
    shown(&format!("{dots}{}", line.get(start..).unwrap_or_default()))
}

/// The end of a text that takes so many columns.
fn ending(text: &str, columns: usize) -> String {
    let mut used = 0;
    let mut start = text.len();
    for (at, letter) in text.char_indices().rev() {
        used += width(letter.encode_utf8(&mut [0; 4]));
        if used > columns {
            return format!("…{}", text.get(start..).unwrap_or_default());
        }
        start = at;
    }
    text.to_owned()
}

/// Text as it can stand in a row: no control characters, tabs as blanks.
fn shown(text: &str) -> String {
    plain(text).replace('\t', "    ")
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

    #[track_caller]
    fn check(before: &str, after: &str, expected: &[&str], cursor: (usize, usize)) {
        let (lines, place) = window("> ", before, after, 2);
        let lines: Vec<String> =
            lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect();
        assert_eq!(
            (lines.iter().map(String::as_str).collect(), place),
            (expected.to_vec(), cursor)
        );
    }

    #[test]
    fn counts_are_short() {
        assert_eq!(
            [short(0), short(999), short(1_234), short(2_560_000)],
            ["0", "999", "1.2k", "2.5M"]
        );
    }

    #[test]
    fn of_a_long_text_the_lines_around_the_cursor_are_shown() {
        check("", "", &["> "], (0, 2));
        check("one\ntwo", "", &["> one", "  two"], (1, 5));
        check("a\nb\nc\nd", "e\nf", &["> … 2 lines above", "  c", "  de", "  f"], (2, 3));
        check("a", "\nb\nc\nd\ne", &["> a", "  b", "  c", "  … 2 lines below"], (0, 3));
        check("日本", "x", &["> 日本x"], (0, 6));
    }

    #[test]
    fn what_is_looked_for_stands_before_the_text_that_is_found() {
        let mark = "(search) 'b': ";
        let (lines, cursor) = window(mark, "a ", "b", 5);
        assert_eq!((lines, cursor), (vec![format!("{mark}a b")], (0, mark.len() + 2)));
        let (lines, cursor) = window(mark, "one\ntwo\n日", "b\nthree", 1);
        assert_eq!(lines[0], format!("{mark}{DIM}… 2 lines above{DIM:#}"));
        assert_eq!((lines[1].as_str(), lines[2].as_str(), cursor), ("  日b", "  three", (1, 4)));
        assert_eq!([ending("日本語", 4), ending("abc", 3), ending("", 1)], ["…本語", "abc", ""]);
    }

    #[test]
    fn a_line_without_end_is_cut_on_both_sides_of_the_cursor() {
        let long = "ä日".repeat(1_000_000);
        let (lines, cursor) = window("> ", &long, &long, 5);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].len() < 20_000 && cursor.1 > MAX_LINE, "{cursor:?}");
        assert!(lines[0].ends_with('…'));
    }
}
