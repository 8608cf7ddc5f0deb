//! Styled texts in rows: how wide they are, where they break, and which rows of the live part fit the terminal.

use unicode_width::UnicodeWidthChar as _;

use super::Live;

/// Ends all styles (ECMA-48, "select graphic rendition").
const RESET: &str = "\u{1b}[0m";

/// What stands before the words of a line: the marks of Markdown's lists and quotations, and of
/// what the chat shows itself.
const MARKS: [&str; 14] =
    ["-", "*", "+", "•", ">", "●", "·", "?", "✓", "✗", "⊘", "[y]", "[s]", "[a]"];
/// Characters of a number of a list.
const MAX_MARK: usize = 4;

/// The rows of the live part, and the row and column of the cursor.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Laid {
    pub(super) rows: Vec<String>,
    pub(super) cursor: (usize, usize),
}

/// Breaks the lines at this width. What is higher than the terminal keeps the rows around the cursor.
pub(super) fn layout(live: &Live, width: usize, rows: usize) -> Laid {
    let (line, column) = live.cursor;
    let mut laid = Laid { rows: Vec::new(), cursor: (0, 0) };
    for (index, text) in live.lines.iter().enumerate() {
        let start = laid.rows.len();
        let broken = wrap(text, width);
        if index == line {
            laid.cursor = place(&broken, start, column);
        }
        laid.rows.extend(broken);
    }
    let room = rows.saturating_sub(1).max(1);
    if laid.rows.len() > room {
        let first = (laid.cursor.0 + 1).saturating_sub(room);
        let first = first.max(laid.rows.len() - room).min(laid.cursor.0);
        laid.rows = laid.rows.split_off(first);
        laid.rows.truncate(room);
        laid.cursor.0 -= first;
    }
    laid
}

/// The row and column of a place in a broken line.
fn place(rows: &[String], start: usize, column: usize) -> (usize, usize) {
    let mut left = column;
    for (index, row) in rows.iter().enumerate() {
        let width = width(row);
        if left < width || index + 1 == rows.len() {
            return (start + index, left.min(width));
        }
        left -= width;
    }
    (start, 0)
}

/// The columns that a styled text takes.
pub(in crate::chat) fn width(text: &str) -> usize {
    pieces(text).map(|piece| piece.1).sum()
}

/// The beginning of a row that takes so many columns.
pub(super) fn beginning(row: &str, columns: usize) -> &str {
    let mut used = 0;
    let mut end = 0;
    for (piece, width) in pieces(row) {
        if used + width > columns {
            break;
        }
        used += width;
        end += piece.len();
    }
    row.get(..end).unwrap_or(row)
}

/// A styled text in rows of at most `width` columns; a style goes on in the next row.
pub(in crate::chat) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    let mut used = 0;
    for (piece, columns) in pieces(text) {
        if used + columns > width && used > 0 {
            rows.push(String::new());
            used = 0;
        }
        if let Some(row) = rows.last_mut() {
            row.push_str(piece);
        }
        used += columns;
    }
    each_with_its_style(rows)
}

/// A styled text in rows of at most `width` columns, broken between words where that is possible; further rows are
/// indented as the words of the first one.
pub(in crate::chat) fn fold(text: &str, width: usize) -> Vec<String> {
    let begins = beginning_of_words(text);
    let indent = if begins < width / 2 { " ".repeat(begins) } else { String::new() };
    let mut rows = vec![String::new()];
    let mut used = 0;
    let mut rest = text;
    while !rest.is_empty() {
        // Blanks, and the word behind them.
        let word = rest.find(|letter| letter != ' ').unwrap_or(rest.len());
        let behind = rest.get(word..).and_then(|rest| rest.find(' '));
        let (piece, after) =
            rest.split_at_checked(behind.map_or(rest.len(), |at| word + at)).unwrap_or((rest, ""));
        rest = after;
        let mut piece = piece;
        if used > indent.len() && used + self::width(piece) > width {
            rows.push(indent.clone());
            used = indent.len();
            piece = piece.trim_start_matches(' ');
        }
        // A word that is wider than the screen is broken anywhere.
        for (letter, columns) in pieces(piece) {
            if used + columns > width && used > indent.len() {
                rows.push(indent.clone());
                used = indent.len();
            }
            used += columns;
            if let Some(row) = rows.last_mut() {
                row.push_str(letter);
            }
        }
    }
    each_with_its_style(rows)
}

/// The column in which the words of a line begin, behind blanks and the mark of an item, a quotation, a call or a question.
fn beginning_of_words(text: &str) -> usize {
    let mut letters = pieces(text).filter(|(piece, _)| !piece.starts_with('\u{1b}')).peekable();
    let mut blanks = 0;
    while letters.next_if(|(piece, _)| *piece == " ").is_some() {
        blanks += 1;
    }
    let mark: String = letters
        .map(|(piece, _)| piece)
        .take_while(|piece| *piece != " ")
        .take(MAX_MARK + 1)
        .collect();
    let digits = mark.trim_end_matches(['.', ')']);
    let is_number =
        digits.len() + 1 == mark.len() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_mark = MARKS.contains(&mark.as_str()) || (is_number && !digits.is_empty());
    if is_mark && width(&mark) < width(text) { blanks + width(&mark) + 1 } else { blanks }
}

/// The same rows, each beginning with the styles that are open there: rows are written one by one.
fn each_with_its_style(mut rows: Vec<String>) -> Vec<String> {
    let mut open = String::new();
    for row in &mut rows {
        let before = open.clone();
        for (style, _) in pieces(row).filter(|(piece, _)| piece.starts_with('\u{1b}')) {
            if style == RESET {
                open.clear();
            } else {
                open.push_str(style);
            }
        }
        if !before.is_empty() {
            row.insert_str(0, &before);
        }
    }
    rows
}

/// Cuts a styled text to so many columns, with a sign that something is missing.
pub(in crate::chat) fn cut(text: &str, width: usize) -> String {
    if self::width(text) <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for (piece, columns) in pieces(text) {
        // Styles behind the cut still end what is open.
        if columns > 0 && used + columns + 1 > width {
            if used < width {
                out.push('…');
            }
            used = usize::MAX / 2;
        }
        if columns == 0 || used < width {
            out.push_str(piece);
            used += columns;
        }
    }
    out
}

/// The characters of a text with their columns; an escape sequence is one piece without any.
fn pieces(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = if rest.starts_with("\u{1b}[") {
            // Up to the final byte (ECMA-48, 5.4).
            let end = rest.char_indices().skip(2).find(|(_, letter)| ('@'..='~').contains(letter));
            end.map_or(rest.len(), |(at, letter)| at + letter.len_utf8())
        } else {
            first.len_utf8()
        };
        let (piece, after) = rest.split_at_checked(length)?;
        rest = after;
        let columns = if piece.starts_with('\u{1b}') { 0 } else { columns(first) };
        Some((piece, columns))
    })
}

fn columns(letter: char) -> usize {
    // A tab is written as blanks before it gets here; what has no width is joined to what stands before it.
    letter.width().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{BOLD, RED};

    fn live(lines: &[&str], cursor: (usize, usize)) -> Live {
        Live { lines: lines.iter().map(|line| (*line).to_owned()).collect(), cursor }
    }

    #[test]
    fn styles_take_no_room() {
        let text = format!("{BOLD}ab{BOLD:#}c日{RED}!{RED:#}");
        assert_eq!(width(&text), 6);
        let rows = wrap(&text, 3);
        assert_eq!(rows.len(), 2);
        assert_eq!(width(&rows[0]), 3);
        assert_eq!(rows.concat(), text, "nothing is lost");
        let rows = wrap(&format!("{BOLD}abcdef{BOLD:#}gh"), 3);
        let second = format!("{BOLD}def{BOLD:#}");
        assert_eq!(rows, [format!("{BOLD}abc"), second, "gh".to_owned()], "each has its style");
    }

    #[test]
    fn a_wide_character_is_not_broken() {
        assert_eq!(wrap("ab日c", 3), ["ab", "日c"]);
        assert_eq!(wrap("", 3), [""]);
        assert_eq!(wrap("日", 1), ["日"]);
    }

    #[test]
    fn words_stay_whole_where_they_fit() {
        assert_eq!(fold("one two three", 8), ["one two", "three"]);
        assert_eq!(fold("    indented", 40), ["    indented"]);
        assert_eq!(fold("a verylongword b", 6), ["a", "verylo", "ngword", "b"]);
        assert_eq!(
            fold("  - a list item of words", 12),
            ["  - a list", "    item of", "    words"]
        );
        assert_eq!(fold("10. one two three", 12), ["10. one two", "    three"]);
        assert_eq!(fold("- verylongword", 10), ["- verylong", "  word"]);
        assert_eq!(fold("100000. one two", 12), ["100000. one", "two"]);
        assert_eq!(fold("-1 one two", 8), ["-1 one", "two"]);
        let styled = format!("{BOLD}●{BOLD:#} one two three");
        assert_eq!(fold(&styled, 9), [format!("{BOLD}●{BOLD:#} one two"), "  three".to_owned()]);
        assert_eq!(fold("  verylongword", 8), ["  verylo", "  ngword"]);
        assert_eq!(fold("", 5), [""]);
        let bold = format!("one {BOLD}two three{BOLD:#}");
        assert_eq!(fold(&bold, 8), [format!("one {BOLD}two"), format!("{BOLD}three{BOLD:#}")]);
    }

    #[test]
    fn the_cursor_follows_its_line_over_the_edge() {
        let laid = layout(&live(&["status", "> abcdefgh", "foot"], (1, 10)), 5, 24);
        assert_eq!(laid.rows, ["statu", "s", "> abc", "defgh", "foot"]);
        assert_eq!(laid.cursor, (3, 5));
        let laid = layout(&live(&["> abcdefgh"], (0, 5)), 5, 24);
        assert_eq!(laid.cursor, (1, 0));
        assert_eq!(layout(&live(&["> "], (0, 2)), 5, 24).cursor, (0, 2));
    }

    #[test]
    fn what_is_higher_than_the_terminal_keeps_the_rows_around_the_cursor() {
        let lines: Vec<String> = (0..50).map(|number| number.to_string()).collect();
        let texts: Vec<&str> = lines.iter().map(String::as_str).collect();
        for at in [0, 10, 48, 49] {
            let laid = layout(&live(&texts, (at, 0)), 20, 6);
            assert_eq!(laid.rows.len(), 5);
            assert_eq!(laid.rows[laid.cursor.0], at.to_string());
        }
    }

    #[test]
    fn a_cut_text_says_so_and_closes_its_style() {
        let text = format!("{BOLD}abcdef{BOLD:#}");
        assert_eq!(cut(&text, 6), text);
        assert_eq!(cut(&text, 4), format!("{BOLD}abc…{BOLD:#}"));
        assert_eq!(width(&cut("日本語", 4)), 3);
        assert_eq!(cut("abc", 0), "");
    }
}
