//! Markdown as it streams: each line is styled as soon as it is complete, and never again. Only the rows of a table wait for
//! its end: the last one may be the widest.

mod table;

use anstyle::{AnsiColor, Style};

use super::screen::VERBATIM;
use crate::output::{BOLD, DIM, plain};
use table::Table;

const CODE: Style = AnsiColor::Cyan.on_default();
const ITALIC: Style = Style::new().italic();
const BOTH: Style = BOLD.italic();

/// Of what can be escaped, the marks that mean something here.
const ESCAPES: [&str; 3] = ["\\`", "\\*", "\\_"];

/// A text that is being written.
#[derive(Debug, Default)]
pub(super) struct Markdown {
    /// The line that is not complete.
    line: String,
    /// The fence that opened a block of code, of so many of this character.
    fence: Option<(char, usize)>,
    waiting: Waiting,
}

/// Lines that are complete and wait for more.
#[derive(Debug, Default)]
enum Waiting {
    #[default]
    Nothing,
    /// The next line tells whether a table begins with this one.
    Header(String),
    Table(Table),
}

impl Markdown {
    /// Takes the next words and gives the lines that they complete, for a screen of so many columns.
    pub(super) fn push(&mut self, words: &str, room: usize) -> Vec<String> {
        let mut lines = Vec::new();
        for piece in words.split_inclusive('\n') {
            self.line.push_str(piece);
            if piece.ends_with('\n') {
                let line = std::mem::take(&mut self.line);
                self.take(plain(line.trim_end_matches(['\n', '\r'])), room, &mut lines);
            }
        }
        lines
    }

    /// Takes a complete line.
    fn take(&mut self, line: String, room: usize, out: &mut Vec<String>) {
        match std::mem::take(&mut self.waiting) {
            Waiting::Nothing => {}
            Waiting::Header(first) => match Table::begin(&first, &line) {
                Some(table) => {
                    self.waiting = Waiting::Table(table);
                    return;
                }
                None => out.push(self.styled(&first)),
            },
            Waiting::Table(mut table) => {
                if table.takes(&line) {
                    out.extend(table.overflow(room));
                    self.waiting = Waiting::Table(table);
                    return;
                }
                out.extend(table.end(room));
            }
        }
        if self.fence.is_none() && Table::may_begin(&line) {
            self.waiting = Waiting::Header(line);
        } else {
            out.push(self.styled(&line));
        }
    }

    /// What is waited with, in short.
    pub(super) fn waiting(&self, most: usize) -> Option<String> {
        match &self.waiting {
            Waiting::Nothing => None,
            Waiting::Header(line) => Some(inline(&end(line, most))),
            Waiting::Table(table) => Some(format!("{DIM}{}{DIM:#}", table.progress())),
        }
    }

    /// The line that is not complete, as it looks so far; of a long one the end, of so many characters.
    pub(super) fn unfinished(&self, most: usize) -> Option<String> {
        if self.line.is_empty() {
            return None;
        }
        let line = plain(&end(&self.line, most));
        Some(if self.fence.is_some() { format!("{CODE}{line}{CODE:#}") } else { inline(&line) })
    }

    /// Ends the text and gives what was left of it.
    pub(super) fn finish(&mut self, room: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take(plain(&line), room, &mut lines);
        }
        match std::mem::take(&mut self.waiting) {
            Waiting::Nothing => {}
            Waiting::Header(line) => lines.push(self.styled(&line)),
            Waiting::Table(mut table) => lines.extend(table.end(room)),
        }
        self.fence = None;
        lines
    }

    fn styled(&mut self, line: &str) -> String {
        let trimmed = line.trim_start();
        if let Some((letter, count)) = fence(trimmed) {
            match self.fence {
                None => {
                    self.fence = Some((letter, count));
                    return format!("{DIM}{line}{DIM:#}");
                }
                // Only as long a fence of the same kind, and nothing behind it, closes a block (CommonMark, 4.5).
                Some((open, length))
                    if open == letter && count >= length && trimmed.trim_end().len() == count =>
                {
                    self.fence = None;
                    return format!("{DIM}{line}{DIM:#}");
                }
                Some(_) => {}
            }
        }
        if self.fence.is_some() {
            return format!("{VERBATIM}{CODE}{line}{CODE:#}");
        }
        let hashes = trimmed.chars().take_while(|letter| *letter == '#').count();
        if (1..=6).contains(&hashes) && trimmed.chars().nth(hashes) == Some(' ') {
            return format!("{BOLD}{line}{BOLD:#}");
        }
        if trimmed.starts_with("> ") {
            return format!("{DIM}{line}{DIM:#}");
        }
        inline(line)
    }
}

/// The last characters of a line, so many at most.
fn end(line: &str, most: usize) -> String {
    let start = line.char_indices().rev().nth(most).map_or(0, |(at, _)| at);
    let dots = if start > 0 { "…" } else { "" };
    format!("{dots}{}", line.get(start..).unwrap_or_default())
}

fn fence(line: &str) -> Option<(char, usize)> {
    ['`', '~'].into_iter().find_map(|letter| {
        let count = line.chars().take_while(|other| *other == letter).count();
        (count >= 3).then_some((letter, count))
    })
}

/// Styles code, strong and emphasized words of a line; marks that have no partner stay as they are.
fn inline(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(['`', '*', '_', '\\']) {
        let (before, marked) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(before);
        if marked.starts_with('\\') {
            let escape = ESCAPES.into_iter().find(|escape| marked.starts_with(escape));
            let (escape, after) =
                marked.split_at_checked(escape.map_or(1, str::len)).unwrap_or((marked, ""));
            out.push_str(&unescaped(escape));
            rest = after;
            continue;
        }
        if let Some((mark, style, inner, after)) = span(marked, before.chars().next_back()) {
            let inner =
                if style == CODE { inner.to_owned() } else { unescaped(&inner.replace(mark, "")) };
            out.push_str(&format!("{style}{inner}{style:#}"));
            rest = after;
        } else {
            let run = marked.chars().take_while(|letter| marked.starts_with(*letter)).count();
            let (marks, after) = marked.split_at_checked(run).unwrap_or((marked, ""));
            out.push_str(marks);
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

/// A text whose escaped marks are characters like others.
fn unescaped(text: &str) -> String {
    ESCAPES
        .into_iter()
        .fold(text.to_owned(), |text, escape| text.replace(escape, escape.trim_start_matches('\\')))
}

/// Where marked words end; an escaped mark ends nothing but code.
fn closing(words: &str, mark: &str) -> Option<usize> {
    let mut ends = words.match_indices(mark).map(|(at, _)| at);
    ends.find(|at| mark == "`" || !words.get(..*at).is_some_and(|before| before.ends_with('\\')))
}

/// The marked words at the beginning of a text, and what stands behind them.
fn span(text: &str, before: Option<char>) -> Option<(&'static str, Style, &str, &str)> {
    for (mark, style) in
        [("`", CODE), ("***", BOTH), ("**", BOLD), ("__", BOLD), ("*", ITALIC), ("_", ITALIC)]
    {
        let Some(inner) = text.strip_prefix(mark) else { continue };
        // `__init__` and `a_b_c` are names, `* item` is a list, `2 * 3` a product.
        if mark.starts_with('_') && before.is_some_and(char::is_alphanumeric) {
            return None;
        }
        let end = match closing(inner, mark) {
            None if mark == "***" => continue,
            end => end?,
        };
        let (words, after) = (inner.get(..end)?, inner.get(end + mark.len()..)?);
        if words.is_empty() {
            continue;
        }
        let tight =
            !words.starts_with(char::is_whitespace) && !words.ends_with(char::is_whitespace);
        let ends_a_word =
            !after.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_');
        if mark == "`" || (tight && (ends_a_word || mark.starts_with('*'))) {
            return Some((mark, style, words, after));
        }
        return None;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The styles as marks that can be read.
    fn readable(line: &str) -> String {
        let reset = format!("{BOLD:#}");
        line.replace(VERBATIM, "<v>")
            .replace(&format!("{BOTH}"), "<bi>")
            .replace(&format!("{BOLD}"), "<b>")
            .replace(&format!("{DIM}"), "<d>")
            .replace(&format!("{CODE}"), "<c>")
            .replace(&format!("{ITALIC}"), "<i>")
            .replace(&reset, "</>")
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        // However the words are cut, the lines are the same.
        for size in [1, 3, text.len().max(1)] {
            let mut markdown = Markdown::default();
            let letters: Vec<char> = text.chars().collect();
            let mut lines: Vec<String> = letters
                .chunks(size)
                .flat_map(|piece| markdown.push(&piece.iter().collect::<String>(), 80))
                .collect();
            lines.extend(markdown.finish(80));
            let lines: Vec<String> = lines.iter().map(|line| readable(line)).collect();
            assert_eq!(lines, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn words_are_styled() {
        check("a `b` **c** *d* _e_ __f__", &["a <c>b</> <b>c</> <i>d</> <i>e</> <b>f</>"]);
        check("***d*** *a* ***", &["<bi>d</> <i>a</> ***"]);
        check(r"\*a* \_b_ \`c` d\.e **f\*g** \", &[r"*a* _b_ `c` d\.e <b>f*g</> \"]);
        check(r"`\*` C:\Users\_x", &[r"<c>\*</> C:\Users_x"]);
        check("## Title\ntext", &["<b>## Title</>", "text"]);
        check("> said", &["<d>> said</>"]);
        check("**bold `code` in it**", &["<b>bold `code` in it</>"]);
    }

    #[test]
    fn what_only_looks_like_a_mark_stays() {
        for line in [
            "2 * 3 * 4",
            "* item",
            "snake_case_name",
            "a*b",
            "`open",
            "**",
            "#hash",
            "a__b__c",
            "``",
            "_",
        ] {
            check(line, &[line]);
        }
    }

    #[test]
    fn code_is_left_as_it_is_until_its_own_fence() {
        check(
            "```rust\nlet a = *b; // **x**\n~~~\n``` not yet\n```\n*x*",
            &[
                "<d>```rust</>",
                "<v><c>let a = *b; // **x**</>",
                "<v><c>~~~</>",
                "<v><c>``` not yet</>",
                "<d>```</>",
                "<i>x</>",
            ],
        );
    }

    #[test]
    fn control_characters_of_a_model_do_not_reach_the_terminal() {
        check("a\u{1b}[31mb", &["a\\u{1b}[31mb"]);
    }

    #[test]
    fn an_unfinished_line_is_shown_as_it_is_so_far() {
        let mut markdown = Markdown::default();
        assert!(markdown.push("half **a** li", 80).is_empty());
        assert_eq!(readable(&markdown.unfinished(80).unwrap()), "half <b>a</> li");
        assert_eq!(markdown.push("ne\n", 80).len(), 1);
        assert!(markdown.unfinished(80).is_none() && markdown.finish(80).is_empty());
        markdown.push(&"日 ".repeat(1_000_000), 80);
        let end = markdown.unfinished(20).unwrap();
        assert!(end.starts_with('…') && end.chars().count() <= 22, "{end}");
    }
}
