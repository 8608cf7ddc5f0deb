//! The lower end of the terminal: what is being written stays there, what is done scrolls up above it.
//!
//! Nothing of the screen above is ever touched again, so that scrolling back, copying and SSH work as with any program.

use std::io::{self, Write as _};

use anstream::ColorChoice;
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::terminal::{self, BeginSynchronizedUpdate, EndSynchronizedUpdate};
use crossterm::{cursor, execute, queue};
use unicode_width::UnicodeWidthChar as _;

/// The columns and rows that are assumed where the terminal does not say.
const UNKNOWN_SIZE: (u16, u16) = (80, 24);

/// The lines that are drawn anew each time.
#[derive(Debug, Default)]
pub(super) struct Live {
    /// Styled, without line ends.
    pub(super) lines: Vec<String>,
    /// The line that the cursor stands in, and how many columns of it are before the cursor.
    pub(super) cursor: (usize, usize),
}

/// The terminal while the chat has it.
#[derive(Debug)]
pub(super) struct Screen {
    colours: bool,
    /// Rows of the live part above the cursor's.
    above_cursor: u16,
}

impl Screen {
    /// Takes the terminal: keys come one by one, and pastes as a whole.
    pub(super) fn open() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        let choice = anstream::AutoStream::choice(&io::stdout());
        let screen = Self { colours: choice != ColorChoice::Never, above_cursor: 0 };
        execute!(io::stdout(), EnableBracketedPaste)?;
        Ok(screen)
    }

    /// Columns and rows.
    pub(super) fn size() -> (u16, u16) {
        match terminal::size() {
            Ok((columns, rows)) if columns > 0 && rows > 0 => (columns, rows),
            Ok(_) | Err(_) => UNKNOWN_SIZE,
        }
    }

    /// The columns that are written to. The last one stays free: terminals differ in what they do when it is filled.
    pub(super) fn width() -> usize {
        usize::from(Self::size().0).saturating_sub(1).max(1)
    }

    /// Puts lines above the live part and draws it again.
    pub(super) fn draw(&mut self, above: &[String], live: &Live) -> io::Result<()> {
        let (_, rows) = Self::size();
        let mut out = io::stdout().lock();
        queue!(out, BeginSynchronizedUpdate)?;
        self.erase(&mut out)?;
        for line in above {
            for row in line.split('\n').flat_map(|line| fold(line, Self::width())) {
                write!(out, "{}\r\n", self.shown(&row))?;
            }
        }
        let laid = layout(live, Self::width(), usize::from(rows));
        let last = laid.rows.len().saturating_sub(1);
        for (index, row) in laid.rows.iter().enumerate() {
            write!(out, "{}", self.shown(row))?;
            if index < last {
                out.write_all(b"\r\n")?;
            }
        }
        let up = u16::try_from(last - laid.cursor.0.min(last)).unwrap_or(0);
        if up > 0 {
            queue!(out, cursor::MoveUp(up))?;
        }
        queue!(out, cursor::MoveToColumn(u16::try_from(laid.cursor.1).unwrap_or(0)))?;
        queue!(out, EndSynchronizedUpdate)?;
        out.flush()?;
        self.above_cursor = u16::try_from(laid.cursor.0).unwrap_or(0);
        Ok(())
    }

    /// Clears everything that is shown and above it.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        self.above_cursor = 0;
        execute!(
            io::stdout(),
            terminal::Clear(terminal::ClearType::Purge),
            terminal::Clear(terminal::ClearType::All),
            cursor::MoveTo(0, 0)
        )
    }

    /// Gives the terminal back as it was, with the cursor below everything.
    pub(super) fn close(&mut self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        self.erase(&mut out)?;
        self.above_cursor = 0;
        queue!(out, DisableBracketedPaste)?;
        out.flush()?;
        drop(out);
        terminal::disable_raw_mode()
    }

    fn erase(&self, out: &mut impl io::Write) -> io::Result<()> {
        if self.above_cursor > 0 {
            queue!(out, cursor::MoveUp(self.above_cursor))?;
        }
        out.write_all(b"\r")?;
        queue!(out, terminal::Clear(terminal::ClearType::FromCursorDown))
    }

    fn shown(&self, line: &str) -> String {
        if self.colours { line.to_owned() } else { anstream::adapter::strip_str(line).to_string() }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing back.
        let _gone = self.close();
    }
}

/// The rows of the live part, and the row and column of the cursor.
#[derive(Debug, PartialEq, Eq)]
struct Laid {
    rows: Vec<String>,
    cursor: (usize, usize),
}

/// Breaks the lines at this width. What is higher than the terminal keeps the rows around the cursor.
fn layout(live: &Live, width: usize, rows: usize) -> Laid {
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
pub(super) fn width(text: &str) -> usize {
    pieces(text).map(|piece| piece.1).sum()
}

/// A styled text in rows of at most `width` columns; a style goes on in the next row.
fn wrap(text: &str, width: usize) -> Vec<String> {
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
    rows
}

/// A styled text in rows of at most `width` columns, broken between words where that is possible; further rows are
/// indented as the first one.
pub(super) fn fold(text: &str, width: usize) -> Vec<String> {
    let blanks = text.len() - text.trim_start_matches(' ').len();
    let indent = if blanks < width / 2 { " ".repeat(blanks) } else { String::new() };
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
        if used > 0 && used + self::width(piece) > width {
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
    rows
}

/// Cuts a styled text to so many columns, with a sign that something is missing.
pub(super) fn cut(text: &str, width: usize) -> String {
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
        assert_eq!(fold("  - a list item of words", 12), ["  - a list", "  item of", "  words"]);
        assert_eq!(fold("  verylongword", 8), ["  verylo", "  ngword"]);
        assert_eq!(fold("", 5), [""]);
        let bold = format!("one {BOLD}two three{BOLD:#}");
        assert_eq!(fold(&bold, 8), [format!("one {BOLD}two"), format!("three{BOLD:#}")]);
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
