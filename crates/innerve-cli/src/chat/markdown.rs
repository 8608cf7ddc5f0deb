//! Markdown as it streams: each line is styled as soon as it is complete, and never again.

use anstyle::{AnsiColor, Style};

use super::screen::VERBATIM;
use crate::output::{BOLD, DIM, plain};

const CODE: Style = AnsiColor::Cyan.on_default();
const ITALIC: Style = Style::new().italic();

/// A text that is being written.
#[derive(Debug, Default)]
pub(super) struct Markdown {
    /// The line that is not complete.
    line: String,
    /// The fence that opened a block of code, of so many of this character.
    fence: Option<(char, usize)>,
}

impl Markdown {
    /// Takes the next words and gives the lines that they complete.
    pub(super) fn push(&mut self, words: &str) -> Vec<String> {
        let mut lines = Vec::new();
        for piece in words.split_inclusive('\n') {
            self.line.push_str(piece);
            if piece.ends_with('\n') {
                let line = std::mem::take(&mut self.line);
                lines.push(self.styled(&plain(line.trim_end_matches(['\n', '\r']))));
            }
        }
        lines
    }

    /// The line that is not complete, as it looks so far; of a long one the end, of so many characters.
    pub(super) fn unfinished(&self, most: usize) -> Option<String> {
        if self.line.is_empty() {
            return None;
        }
        let start = self.line.char_indices().rev().nth(most).map_or(0, |(at, _)| at);
        let dots = if start > 0 { "…" } else { "" };
        let line = format!("{dots}{}", plain(self.line.get(start..).unwrap_or_default()));
        Some(if self.fence.is_some() { format!("{CODE}{line}{CODE:#}") } else { inline(&line) })
    }

    /// Ends the text and gives what was left of it.
    pub(super) fn finish(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        let last = (!line.is_empty()).then(|| self.styled(&plain(&line)));
        self.fence = None;
        last
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
    while let Some(at) = rest.find(['`', '*', '_']) {
        let (before, marked) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(before);
        if let Some((mark, style, inner, after)) = span(marked, before.chars().next_back()) {
            let inner = if style == CODE { inner.to_owned() } else { inner.replace(mark, "") };
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

/// The marked words at the beginning of a text, and what stands behind them.
fn span(text: &str, before: Option<char>) -> Option<(&'static str, Style, &str, &str)> {
    for (mark, style) in [("`", CODE), ("**", BOLD), ("__", BOLD), ("*", ITALIC), ("_", ITALIC)] {
        let Some(inner) = text.strip_prefix(mark) else { continue };
        // `__init__` and `a_b_c` are names, `* item` is a list, `2 * 3` a product.
        if mark.starts_with('_') && before.is_some_and(char::is_alphanumeric) {
            return None;
        }
        let end = inner.find(mark)?;
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
                .flat_map(|piece| markdown.push(&piece.iter().collect::<String>()))
                .collect();
            lines.extend(markdown.finish());
            let lines: Vec<String> = lines.iter().map(|line| readable(line)).collect();
            assert_eq!(lines, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn words_are_styled() {
        check("a `b` **c** *d* _e_ __f__", &["a <c>b</> <b>c</> <i>d</> <i>e</> <b>f</>"]);
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
        assert!(markdown.push("half **a** li").is_empty());
        assert_eq!(readable(&markdown.unfinished(80).unwrap()), "half <b>a</> li");
        assert_eq!(markdown.push("ne\n").len(), 1);
        assert!(markdown.unfinished(80).is_none() && markdown.finish().is_none());
        markdown.push(&"日 ".repeat(1_000_000));
        let end = markdown.unfinished(20).unwrap();
        assert!(end.starts_with('…') && end.chars().count() <= 22, "{end}");
    }
}
