//! Tables: read line by line as they stream, shown in columns once they are complete.
//!
//! What a table is, is said in GitHub Flavored Markdown, "Tables". Two things differ, for text that is read on a terminal: a
//! line without a pipe ends a table, and of a row with too many cells nothing is dropped.

mod layout;

use layout::{Layout, Side};

/// Rows, and bytes of them, that wait for the end of their table. A longer one is shown in pieces.
const MAX_WAITING: (usize, usize) = (1_000, 256 * 1024);

/// A table that has begun.
#[derive(Debug)]
pub(super) struct Table {
    /// Blanks before it, as in a list.
    indent: usize,
    header: Vec<String>,
    sides: Vec<Side>,
    /// The rows that were not shown yet, and their bytes.
    waiting: Vec<Vec<String>>,
    bytes: usize,
    count: usize,
    /// How the rows before these were shown, and on what width.
    shown: Option<(usize, Layout)>,
}

impl Table {
    /// Whether the line can be the first one of a table.
    pub(super) fn may_begin(line: &str) -> bool {
        let line = line.trim_start();
        line.contains('|') && !line.starts_with(['#', '>']) && super::fence(line).is_none()
    }

    /// The table that these two lines begin, if they do.
    pub(super) fn begin(first: &str, second: &str) -> Option<Self> {
        let sides = sides(second)?;
        let header = [false, true].map(|in_code| split(first, in_code));
        let header = header.into_iter().find(|cells| cells.len() == sides.len())?;
        let indent = first.len() - first.trim_start_matches(' ').len();
        Some(Self { indent, header, sides, waiting: Vec::new(), bytes: 0, count: 0, shown: None })
    }

    /// Takes the line if it is a row.
    pub(super) fn takes(&mut self, line: &str) -> bool {
        let is_row = Self::may_begin(line);
        if is_row {
            self.waiting.push(cells(line, self.sides.len()));
            self.bytes += line.len();
            self.count += 1;
        }
        is_row
    }

    /// What of it has to be shown before its end.
    pub(super) fn overflow(&mut self, room: usize) -> Vec<String> {
        let (rows, bytes) = MAX_WAITING;
        if self.waiting.len() < rows && self.bytes < bytes {
            return Vec::new();
        }
        self.end(room)
    }

    /// The lines that show it, or the rest of it, in so many columns of the screen.
    pub(super) fn end(&mut self, room: usize) -> Vec<String> {
        let rows = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        let indent = if self.indent < room / 2 { self.indent } else { 0 };
        if rows.is_empty() && self.shown.is_some() {
            return Vec::new();
        }
        let shown = self.shown.take().filter(|(width, _)| *width == room);
        let (_, layout) =
            self.shown.insert(shown.unwrap_or_else(|| (room, Layout::new(indent, room))));
        layout.show(&self.header, &self.sides, &rows)
    }

    /// How far it is.
    pub(super) fn progress(&self) -> String {
        match self.count {
            1 => "a table, 1 row so far".to_owned(),
            count => format!("a table, {count} rows so far"),
        }
    }
}

/// The sides that the line under a header tells the columns to keep to.
fn sides(line: &str) -> Option<Vec<Side>> {
    if !line.contains('|') || !line.chars().all(|letter| "|-: \t".contains(letter)) {
        return None;
    }
    let sides = split(line, false).iter().map(|cell| side(cell)).collect::<Option<Vec<Side>>>();
    sides.filter(|sides| !sides.is_empty())
}

fn side(cell: &str) -> Option<Side> {
    let left = cell.starts_with(':');
    let line = cell.strip_prefix(':').unwrap_or(cell);
    let right = line.ends_with(':');
    let line = line.strip_suffix(':').unwrap_or(line);
    let is_line = !line.is_empty() && line.bytes().all(|byte| byte == b'-');
    is_line.then_some(match (left, right) {
        (true, true) => Side::Middle,
        (false, true) => Side::Right,
        (_, false) => Side::Left,
    })
}

/// The cells of a row, so many at most. Pipes that stand in code belong to it where there would be too many cells otherwise;
/// what is still too much goes into the last cell.
fn cells(line: &str, most: usize) -> Vec<String> {
    let cells = split(line, false);
    if cells.len() <= most {
        return cells;
    }
    let mut cells = split(line, true);
    if cells.len() > most {
        let rest = cells.split_off(most.saturating_sub(1));
        cells.push(rest.join(" | "));
    }
    cells
}

/// The cells of a line, with the escapes of pipes resolved.
fn split(line: &str, in_code: bool) -> Vec<String> {
    let line = line.trim();
    let mut cells = vec![String::new()];
    // The end of the code that is being read.
    let mut code = 0;
    let mut ends_by_pipe = false;
    let mut letters = line.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        ends_by_pipe = letter == '|' && at >= code;
        if ends_by_pipe {
            cells.push(String::new());
            continue;
        }
        if in_code && letter == '`' && at >= code {
            code = code_end(line, at);
        }
        let is_escape = letter == '\\' && letters.next_if(|(_, letter)| *letter == '|').is_some();
        if let Some(cell) = cells.last_mut() {
            cell.push(if is_escape { '|' } else { letter });
        }
    }
    if ends_by_pipe {
        cells.pop();
    }
    if line.starts_with('|') && !cells.is_empty() {
        cells.remove(0);
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// The end of the code that begins here; where nothing closes it, the end of the marks.
fn code_end(line: &str, start: usize) -> usize {
    let rest = line.get(start..).unwrap_or_default();
    let count = rest.len() - rest.trim_start_matches('`').len();
    let mut at = count;
    while let Some(next) = rest.get(at..).and_then(|rest| rest.find('`')) {
        at += next;
        let run = rest.get(at..).map_or(1, |rest| rest.len() - rest.trim_start_matches('`').len());
        at += run;
        if run == count {
            return start + at;
        }
    }
    start + count
}

#[cfg(test)]
mod tests;
