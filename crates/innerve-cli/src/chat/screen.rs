//! The lower end of the terminal: what is being written stays there, what is done scrolls up above it.
//!
//! Nothing of the screen above is ever touched again, so that scrolling back, copying and SSH work as with any program.
//! Of what stays, only the rows that have changed are written, all of them at once, so that nothing flickers.

mod rows;

use std::io::{self, Write as _};

use anstream::ColorChoice;
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::style::{Attribute, SetAttribute};
use crossterm::terminal::{
    self, BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen,
};
use crossterm::{cursor, queue};
use rows::{Laid, beginning, layout};
pub(super) use rows::{cut, fold, width, wrap};

/// The columns and rows that are assumed where the terminal does not say.
const UNKNOWN_SIZE: (u16, u16) = (80, 24);
/// What a tab is written as: how far one goes depends on where the terminal thinks it stands.
const TAB: &str = "    ";

/// Begins a line that stays as it is, such as code: the terminal itself breaks it, so that it can be copied. It cannot come
/// from anybody's text, as that is made plain first.
pub(super) const VERBATIM: char = '\0';

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
    reflows: bool,
    holds: Holds,
    /// The live part as it was drawn last, and the columns that the terminal had then.
    drawn: Laid,
    columns: u16,
}

/// What of the terminal the chat holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    Nothing,
    /// Its lower end.
    Conversation,
    /// All of it, for a page that covers the conversation.
    Page,
}

impl Screen {
    /// Takes the terminal: keys come one by one, and pastes as a whole.
    pub(super) fn open() -> io::Result<Self> {
        let choice = anstream::AutoStream::choice(&io::stdout());
        let mut screen = Self {
            colours: choice != ColorChoice::Never,
            reflows: reflows(),
            holds: Holds::Nothing,
            drawn: Laid::default(),
            columns: 0,
        };
        screen.take()?;
        Ok(screen)
    }

    /// Takes the terminal again, in whatever state somebody else has left it.
    pub(super) fn take(&mut self) -> io::Result<()> {
        // It is remembered whether this was done, but not that somebody has undone it.
        terminal::disable_raw_mode()?;
        terminal::enable_raw_mode()?;
        self.holds = Holds::Conversation;
        self.drawn = Laid::default();
        let mut out = Vec::new();
        queue!(out, EnableBracketedPaste)?;
        out.push(b'\r');
        put(&out)
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
        let (columns, height) = Self::size();
        let laid = layout(&untabbed(live), Self::width(), usize::from(height));
        let is_same_width = columns == self.columns;
        if above.is_empty() && is_same_width && laid == self.drawn && self.holds != Holds::Page {
            return Ok(());
        }
        let mut out = Vec::new();
        queue!(out, BeginSynchronizedUpdate)?;
        self.uncover(&mut out)?;
        self.to_top(&mut out, columns)?;
        if !is_same_width {
            // A terminal that has broken a row joins its parts again when there is room, whatever stands there by then.
            queue!(out, Clear(ClearType::FromCursorDown))?;
        }
        for line in above.iter().flat_map(|line| line.split('\n')) {
            if let Some(code) = line.strip_prefix(VERBATIM) {
                // A tab does not wipe out what it passes over.
                queue!(out, Clear(ClearType::FromCursorDown))?;
                self.write(&mut out, code)?;
                out.extend_from_slice(b"\r\n");
                continue;
            }
            for row in fold(&line.replace('\t', TAB), Self::width()) {
                self.write_row(&mut out, &row)?;
                out.extend_from_slice(b"\r\n");
            }
        }
        let keeps = above.is_empty() && is_same_width;
        let last = laid.rows.len().saturating_sub(1);
        for (index, row) in laid.rows.iter().enumerate() {
            if !(keeps && self.drawn.rows.get(index) == Some(row)) {
                self.write_row(&mut out, row)?;
            }
            if index < last {
                out.extend_from_slice(b"\r\n");
            }
        }
        if !keeps || self.drawn.rows.len() > laid.rows.len() {
            // From the end of the last row, whatever was or was not written of it.
            let end = laid.rows.last().map_or(0, |row| width(row));
            queue!(out, cursor::MoveToColumn(u16::try_from(end).unwrap_or(0)))?;
            queue!(out, Clear(ClearType::FromCursorDown))?;
        }
        let up = u16::try_from(last - laid.cursor.0.min(last)).unwrap_or(0);
        if up > 0 {
            queue!(out, cursor::MoveUp(up))?;
        }
        self.place_cursor(&mut out, &laid)?;
        queue!(out, EndSynchronizedUpdate)?;
        self.drawn = laid;
        self.columns = columns;
        put(&out)
    }

    /// Covers the conversation with a page, which [`Self::draw`] takes away again.
    pub(super) fn cover(&mut self, rows: &[String]) -> io::Result<()> {
        let mut out = Vec::new();
        queue!(out, BeginSynchronizedUpdate)?;
        if self.holds != Holds::Page {
            queue!(out, EnterAlternateScreen, cursor::Hide)?;
            self.holds = Holds::Page;
        }
        queue!(out, cursor::MoveTo(0, 0))?;
        for (index, row) in rows.iter().enumerate() {
            if index > 0 {
                out.extend_from_slice(b"\r\n");
            }
            self.write_row(&mut out, row)?;
        }
        queue!(out, Clear(ClearType::FromCursorDown), EndSynchronizedUpdate)?;
        put(&out)
    }

    fn uncover(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        if self.holds == Holds::Page {
            self.holds = Holds::Conversation;
            queue!(out, LeaveAlternateScreen, cursor::Show)?;
        }
        Ok(())
    }

    /// Moves everything that is shown up out of sight; scrolling back still finds it.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        let (columns, rows) = Self::size();
        let mut out = Vec::new();
        self.to_top(&mut out, columns)?;
        queue!(out, Clear(ClearType::FromCursorDown), cursor::MoveTo(0, rows.saturating_sub(1)))?;
        out.extend(std::iter::repeat_n(b'\n', usize::from(rows)));
        queue!(out, cursor::MoveTo(0, 0))?;
        self.drawn = Laid::default();
        put(&out)
    }

    /// Gives the terminal back as it was, with the cursor below everything.
    pub(super) fn close(&mut self) -> io::Result<()> {
        if self.holds == Holds::Nothing {
            return Ok(());
        }
        let mut out = Vec::new();
        self.uncover(&mut out)?;
        self.holds = Holds::Nothing;
        self.to_top(&mut out, Self::size().0)?;
        queue!(out, Clear(ClearType::FromCursorDown), DisableBracketedPaste)?;
        self.drawn = Laid::default();
        let put = put(&out);
        terminal::disable_raw_mode()?;
        put
    }

    /// Goes to the beginning of the live part.
    fn to_top(&self, out: &mut Vec<u8>, columns: u16) -> io::Result<()> {
        let up = self.above_cursor(columns);
        if up > 0 {
            queue!(out, cursor::MoveUp(u16::try_from(up).unwrap_or(u16::MAX)))?;
        }
        out.push(b'\r');
        Ok(())
    }

    /// Rows of the live part above the cursor's, now that the terminal has so many columns. Where it got narrower, most
    /// terminals have broken the rows that they showed.
    fn above_cursor(&self, columns: u16) -> usize {
        let (row, column) = self.drawn.cursor;
        if columns >= self.columns || !self.reflows {
            return row;
        }
        let columns = usize::from(columns).max(1);
        let rows = self.drawn.rows.iter().take(row).map(|row| wrap(row, columns).len());
        rows.sum::<usize>() + column / columns
    }

    /// Puts the cursor where the next character appears, so that input methods show their choices there. Terminals do not
    /// agree on how wide some characters are: behind any of them the terminal itself says where that is.
    fn place_cursor(&self, out: &mut Vec<u8>, laid: &Laid) -> io::Result<()> {
        let (row, column) = laid.cursor;
        let before = laid.rows.get(row).map_or("", |row| beginning(row, column));
        if before.is_ascii() {
            return queue!(out, cursor::MoveToColumn(u16::try_from(column).unwrap_or(0)));
        }
        out.push(b'\r');
        self.write(out, before)
    }

    fn write(&self, out: &mut Vec<u8>, text: &str) -> io::Result<()> {
        if !self.colours {
            out.extend_from_slice(anstream::adapter::strip_str(text).to_string().as_bytes());
            return Ok(());
        }
        out.extend_from_slice(text.as_bytes());
        // A style that was cut off with its row must not go on behind it.
        queue!(out, SetAttribute(Attribute::Reset))
    }

    fn write_row(&self, out: &mut Vec<u8>, row: &str) -> io::Result<()> {
        self.write(out, row)?;
        queue!(out, Clear(ClearType::UntilNewLine))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing back.
        let _gone = self.close();
    }
}

/// Hands it to the terminal in one piece.
fn put(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Whether the terminal breaks the rows that it shows anew when it gets narrower. Most do; these two say who they are.
fn reflows() -> bool {
    std::env::var_os("XTERM_VERSION").is_none()
        && std::env::var_os("TERM").is_none_or(|term| term != "linux")
}

fn untabbed(live: &Live) -> Live {
    Live {
        lines: live.lines.iter().map(|line| line.replace('\t', TAB)).collect(),
        cursor: live.cursor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows above the cursor on a terminal of 80 columns that now has so many.
    #[track_caller]
    fn check(reflows: bool, columns: u16, expected: usize) {
        let rows = vec!["a".repeat(79), "日".repeat(20), "> text".to_owned(), "foot".to_owned()];
        let drawn = Laid { rows, cursor: (2, 6) };
        let screen = Screen { colours: true, reflows, holds: Holds::Nothing, drawn, columns: 80 };
        assert_eq!(screen.above_cursor(columns), expected, "{columns} columns");
    }

    #[test]
    fn rows_that_a_narrower_terminal_has_broken_are_counted() {
        check(true, 80, 2);
        check(true, 120, 2);
        check(true, 40, 3);
        // 79 columns make 4 rows, and 20 characters of two columns make 2.
        check(true, 20, 6);
        check(true, 5, 16 + 10 + 1);
        check(false, 20, 2);
    }
}
