//! Rows of cells as lines: side by side where they fit the screen, broken within their columns where they do not, and where
//! even that would not be readable, cell by cell under each other.

use super::super::inline;
use crate::chat::screen::{fold, width};
use crate::output::{BOLD, DIM};

/// What stands between two columns, blanks aside, and in the line under the header.
const BETWEEN: &str = "│";
const CROSSING: &str = "─┼─";
/// The columns of the screen that both take.
const GAP: usize = 3;
/// The columns of the screen that a column which is made narrower keeps.
const LEAST: usize = 10;
/// The longest word that stays whole in it, in columns of the screen.
const MAX_WORD: usize = 20;
/// What stands between two rows whose cells are shown under each other.
const RULE: &str = "───";
/// Blanks before what goes on with a cell of such a row.
const HANGING: usize = 2;

/// The side that a column's cells keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Middle,
    Right,
}

/// How the rows of a table are shown.
#[derive(Debug)]
pub(super) struct Layout {
    indent: usize,
    room: usize,
    wanted: Vec<Wanted>,
    form: Form,
    /// Whether the last row took several lines; `None` before the first one.
    was_high: Option<bool>,
}

#[derive(Debug)]
enum Form {
    /// Nothing was shown yet.
    Open,
    /// Columns of this width.
    Columns(Vec<(usize, Side)>),
    /// A cell a line, behind the header of its column.
    List(Vec<String>),
}

/// What a cell shows.
#[derive(Debug)]
struct Cell {
    /// Styled.
    lines: Vec<String>,
    /// The columns of the screen that it takes, and its longest word.
    width: usize,
    word: usize,
}

impl Layout {
    /// The layout of a table with nothing in it, so far from the left edge of a screen of so many columns.
    pub(super) fn new(indent: usize, room: usize) -> Self {
        Self {
            indent,
            room: room.saturating_sub(indent).max(1),
            wanted: Vec::new(),
            form: Form::Open,
            was_high: None,
        }
    }

    /// The lines of these rows, which come behind the rows before; where the columns have to become wider for them, they begin
    /// with the header.
    pub(super) fn show(
        &mut self,
        header: &[String],
        sides: &[Side],
        rows: &[Vec<String>],
    ) -> Vec<String> {
        let header: Vec<Cell> = header.iter().map(|text| Cell::read(text).bold()).collect();
        let rows: Vec<Vec<Cell>> =
            rows.iter().map(|row| row.iter().map(|text| Cell::read(text)).collect()).collect();
        if self.wanted.is_empty() {
            self.wanted = header.iter().map(Wanted::by).collect();
        }
        for row in &rows {
            for (wanted, cell) in self.wanted.iter_mut().zip(row) {
                wanted.grow(cell);
            }
        }
        let Some(widths) = widths(&self.wanted, self.room) else {
            if !matches!(self.form, Form::List(_)) {
                let names = header.into_iter().map(|cell| cell.lines.join(" ")).collect();
                self.form = Form::List(names);
            }
            return if rows.is_empty() { self.names() } else { self.lines(&rows) };
        };
        let columns: Vec<(usize, Side)> = widths.into_iter().zip(sides.iter().copied()).collect();
        let mut lines = Vec::new();
        if !matches!(&self.form, Form::Columns(shown) if *shown == columns) {
            self.form = Form::Columns(columns);
            self.was_high = None;
            lines = self.lines(&[header]);
            lines.push(self.rule());
            self.was_high = None;
        }
        lines.extend(self.lines(&rows));
        lines
    }

    fn lines(&mut self, rows: &[Vec<Cell>]) -> Vec<String> {
        let mut lines = Vec::new();
        for row in rows {
            let own = match &self.form {
                Form::Columns(columns) => in_columns(columns, row, self.indent),
                Form::List(names) => in_list(names, row, self.indent, self.room),
                Form::Open => Vec::new(),
            };
            // Which line belongs to which row is clear as long as each has one.
            let is_high = own.len() > 1 || matches!(self.form, Form::List(_));
            if self.was_high.is_some_and(|was_high| was_high || is_high) {
                lines.push(self.rule());
            }
            self.was_high = Some(is_high);
            lines.extend(own);
        }
        lines
    }

    fn rule(&self) -> String {
        let indent = " ".repeat(self.indent);
        match &self.form {
            Form::Columns(columns) => {
                let parts: Vec<String> =
                    columns.iter().map(|(width, _)| "─".repeat(*width)).collect();
                format!("{indent}{DIM}{}{DIM:#}", parts.join(CROSSING))
            }
            Form::List(_) | Form::Open => {
                let rule: String = RULE.chars().take(self.room).collect();
                format!("{indent}{DIM}{rule}{DIM:#}")
            }
        }
    }

    /// What is left of a table that has no rows and does not fit.
    fn names(&self) -> Vec<String> {
        match &self.form {
            Form::Columns(_) | Form::Open => Vec::new(),
            Form::List(names) => {
                let names = names.iter().flat_map(|name| fold(name, self.room));
                names.map(|name| format!("{}{name}", " ".repeat(self.indent))).collect()
            }
        }
    }
}

impl Cell {
    fn read(text: &str) -> Self {
        let text = text.replace('\t', " ");
        let lines: Vec<String> =
            broken(&text).into_iter().map(|line| inline(line.trim())).collect();
        let width = lines.iter().map(|line| width(line)).max().unwrap_or(0);
        let word = lines.iter().map(|line| longest_word(line)).max().unwrap_or(0);
        Self { lines, width, word }
    }

    fn bold(mut self) -> Self {
        let end = format!("{BOLD:#}");
        for line in self.lines.iter_mut().filter(|line| !line.is_empty()) {
            // What ends a style within it ends all of them.
            *line = format!("{BOLD}{}{BOLD:#}", line.replace(&end, &format!("{end}{BOLD}")));
        }
        self
    }
}

/// The lines of a cell: there is no other way to write several than HTML's.
fn broken(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    let mut from = 0;
    while let Some(at) = rest.get(from..).and_then(|rest| rest.find('<')).map(|at| from + at) {
        let tag = rest.get(at..).unwrap_or_default();
        let end = ["<br>", "<br/>", "<br />"]
            .into_iter()
            .find(|mark| tag.get(..mark.len()).is_some_and(|tag| tag.eq_ignore_ascii_case(mark)));
        match end {
            Some(mark) => {
                lines.push(rest.get(..at).unwrap_or_default());
                rest = rest.get(at + mark.len()..).unwrap_or_default();
                from = 0;
            }
            None => from = at + 1,
        }
    }
    lines.push(rest);
    lines
}

/// The columns of the longest word that should not be broken; wide characters can be everywhere.
fn longest_word(line: &str) -> usize {
    let words = line.split(' ').map(|word| {
        let total = width(word);
        let is_wide = word.chars().any(|letter| width(letter.encode_utf8(&mut [0; 4])) > 1);
        if is_wide { total.min(2) } else { total }
    });
    words.max().unwrap_or(0)
}

/// The columns of the screen that a column would take, and those that it must have.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    width: usize,
    word: usize,
}

impl Wanted {
    fn by(cell: &Cell) -> Self {
        Self { width: cell.width.max(1), word: cell.word }
    }

    fn grow(&mut self, cell: &Cell) {
        self.width = self.width.max(cell.width);
        self.word = self.word.max(cell.word);
    }

    fn least(self) -> usize {
        self.word.clamp(LEAST, MAX_WORD).min(self.width)
    }
}

/// The widths of columns that fit: what is narrow stays as it is, and the wide ones share what is left. `None` if no column
/// could be read then.
fn widths(wanted: &[Wanted], room: usize) -> Option<Vec<usize>> {
    let room = room.checked_sub(GAP * wanted.len().saturating_sub(1))?;
    let at = |level: usize| wanted.iter().map(move |one| level.clamp(one.least(), one.width));
    if at(0).sum::<usize>() > room {
        return None;
    }
    let widest = wanted.iter().map(|one| one.width).max().unwrap_or(0);
    let mut level = 0;
    while level < widest && at(level + 1).sum::<usize>() <= room {
        level += 1;
    }
    let mut widths: Vec<usize> = at(level).collect();
    let mut left = room - widths.iter().sum::<usize>();
    for (width, one) in widths.iter_mut().zip(wanted) {
        if left > 0 && *width == level && *width < one.width {
            *width += 1;
            left -= 1;
        }
    }
    Some(widths)
}

/// A row side by side.
fn in_columns(columns: &[(usize, Side)], row: &[Cell], indent: usize) -> Vec<String> {
    let folded: Vec<Vec<String>> = columns
        .iter()
        .enumerate()
        .map(|(index, (width, _))| {
            let lines = row.get(index).map_or(&[][..], |cell| &cell.lines);
            lines.iter().flat_map(|line| fold(line, *width)).map(closed).collect()
        })
        .collect();
    let height = folded.iter().map(Vec::len).max().unwrap_or(0).max(1);
    (0..height).map(|line| side_by_side(columns, &folded, line, indent)).collect()
}

fn side_by_side(
    columns: &[(usize, Side)],
    folded: &[Vec<String>],
    line: usize,
    indent: usize,
) -> String {
    let mut out = String::new();
    // Blanks are written when something stands behind them.
    let mut blanks = indent;
    let mut end = indent;
    let mut is_clear = true;
    for (index, ((room, side), lines)) in columns.iter().zip(folded).enumerate() {
        if index > 0 {
            out.push_str(&format!("{}{DIM}{BETWEEN}{DIM:#}", " ".repeat(blanks + 1)));
            blanks = 1;
            end += GAP;
        }
        end += room;
        let text = lines.get(line).map_or("", String::as_str);
        let free = room.saturating_sub(width(text));
        let before = match side {
            Side::Left => 0,
            Side::Middle => free / 2,
            Side::Right => free,
        };
        blanks += before;
        if !text.is_empty() {
            out.push_str(&" ".repeat(blanks));
            out.push_str(text);
            blanks = 0;
        }
        blanks += free - before;
        if !text.is_ascii() && index + 1 < columns.len() {
            // Terminals do not agree on how wide some characters are: for all of them the column ends here.
            out.push_str(&format!("{}\u{1b}[{}G", " ".repeat(blanks), end + 1));
            blanks = 0;
            is_clear = false;
        }
    }
    // What a terminal that draws a character narrower passes over shows nothing of what was there before.
    if is_clear { out } else { format!("\u{1b}[K{out}") }
}

/// A row cell by cell; one without anything in it is left out.
fn in_list(names: &[String], row: &[Cell], indent: usize, room: usize) -> Vec<String> {
    let hanging = if room > 4 * HANGING { HANGING } else { 0 };
    let end = format!("{BOLD:#}");
    let mut out = Vec::new();
    for (name, cell) in names.iter().zip(row) {
        let is_ended = name.strip_suffix(&end).is_some_and(|name| name.ends_with([':', '?']));
        let is_empty = cell.lines.iter().all(String::is_empty);
        let first = cell.lines.first().map_or("", String::as_str);
        let first = match (name.is_empty(), is_empty) {
            (_, true) => continue,
            (true, false) => first.to_owned(),
            (false, false) if is_ended => format!("{name} {first}"),
            (false, false) => format!("{name}{BOLD}:{BOLD:#} {first}"),
        };
        let lines = std::iter::once(first.as_str())
            .chain(cell.lines.iter().skip(1).map(String::as_str))
            .flat_map(|line| fold(line, room - hanging))
            .map(closed);
        out.extend(lines.enumerate().map(|(index, line)| {
            let blanks = if index == 0 { indent } else { indent + hanging };
            format!("{}{line}", " ".repeat(blanks))
        }));
    }
    if out.is_empty() {
        out.push(String::new());
    }
    out
}

/// A row of a broken text whose style does not go on behind it.
fn closed(row: String) -> String {
    if row.contains('\u{1b}') { format!("{row}{BOLD:#}") } else { row }
}
