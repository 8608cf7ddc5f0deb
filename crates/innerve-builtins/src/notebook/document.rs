//! The text of a notebook, of which one cell is changed and every other byte kept (Jupyter's nbformat, version 4).

use std::ops::Range;

use innerve_tool::ToolError;
use serde::{Deserialize, Serialize as _};
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::CellType;

/// How many ids an error names.
const MAX_NAMED: usize = 20;

/// A notebook and where its cells are.
pub(super) struct Notebook<'a> {
    text: &'a str,
    /// The list of cells, brackets included.
    list: Range<usize>,
    cells: Vec<Cell>,
    /// Whether cells must have ids (nbformat 4.5 and later).
    needs_ids: bool,
}

struct Cell {
    place: Range<usize>,
    value: Map<String, Value>,
}

#[derive(Deserialize)]
struct Outline<'a> {
    #[serde(borrow)]
    cells: &'a RawValue,
    nbformat: u64,
    #[serde(default)]
    nbformat_minor: u64,
}

/// One change of a text: what is taken out, and what comes there.
pub(super) type Change = (Range<usize>, String);

impl<'a> Notebook<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, ToolError> {
        let broken = |problem: &dyn std::fmt::Display| {
            ToolError::invalid(format!("it is no notebook of format 4: {problem}"))
        };
        let outline: Outline<'a> = serde_json::from_str(text).map_err(|error| broken(&error))?;
        if outline.nbformat != 4 {
            return Err(broken(&format!("its format is {}", outline.nbformat)));
        }
        let place = |raw: &RawValue| {
            // The raw text is a piece of `text`.
            let start = raw.get().as_ptr().addr().wrapping_sub(text.as_ptr().addr());
            start..start.saturating_add(raw.get().len())
        };
        let raw: Vec<&RawValue> =
            serde_json::from_str(outline.cells.get()).map_err(|error| broken(&error))?;
        let cells = raw
            .into_iter()
            .map(|raw| {
                let value = serde_json::from_str(raw.get()).map_err(|error| broken(&error))?;
                Ok(Cell { place: place(raw), value })
            })
            .collect::<Result<_, ToolError>>()?;
        Ok(Self { text, list: place(outline.cells), cells, needs_ids: outline.nbformat_minor >= 5 })
    }

    /// The number of the cell with this id, or of the one that is called `cell-N` for want of one.
    pub(super) fn find(&self, id: &str) -> Result<usize, ToolError> {
        let by_id = self.cells.iter().position(|cell| cell.id() == Some(id));
        let by_number = || {
            let number: usize = id.strip_prefix("cell-")?.parse().ok()?;
            self.cells.get(number).map(|_| number)
        };
        by_id.or_else(by_number).ok_or_else(|| {
            let names: Vec<String> =
                (0..).zip(&self.cells).take(MAX_NAMED).map(|(n, cell)| cell.name(n)).collect();
            let message = format!("there is no cell `{id}`; the first are {}", names.join(", "));
            ToolError::invalid(message)
        })
    }

    /// What the cell is called.
    pub(super) fn name(&self, number: usize) -> String {
        self.cells.get(number).map_or_else(String::new, |cell| cell.name(number))
    }

    /// Gives a cell another source; what it has put out goes with the old one.
    pub(super) fn replace(&self, number: usize, source: &str, kind: Option<CellType>) -> Change {
        let Some(cell) = self.cells.get(number) else { return (0..0, String::new()) };
        let mut value = cell.value.clone();
        value.insert("source".to_owned(), source_like(value.get("source"), source));
        if let Some(kind) = kind {
            value.insert("cell_type".to_owned(), Value::from(kind.word()));
        }
        if value.get("cell_type").and_then(Value::as_str) == Some(CellType::Code.word()) {
            value.insert("execution_count".to_owned(), Value::Null);
            value.insert("outputs".to_owned(), json!([]));
        } else {
            value.shift_remove("execution_count");
            value.shift_remove("outputs");
        }
        (cell.place.clone(), self.written(&value))
    }

    /// Puts a new cell behind the one with this number, or first; gives the change and what the cell is called.
    pub(super) fn insert(
        &self,
        after: Option<usize>,
        source: &str,
        kind: CellType,
    ) -> (Change, String) {
        let number = after.map_or(0, |after| after + 1);
        let mut value = Map::new();
        value.insert("cell_type".to_owned(), Value::from(kind.word()));
        if kind == CellType::Code {
            value.insert("execution_count".to_owned(), Value::Null);
        }
        let mut name = format!("cell-{number}");
        if self.needs_ids {
            name = self.new_id(number, source);
            value.insert("id".to_owned(), Value::from(name.as_str()));
        }
        value.insert("metadata".to_owned(), json!({}));
        if kind == CellType::Code {
            value.insert("outputs".to_owned(), json!([]));
        }
        let like = self.cells.first().and_then(|cell| cell.value.get("source"));
        value.insert("source".to_owned(), source_like(like, source));
        let cell = self.written(&value);
        let between = format!(",{}", self.gap());
        let change = match (after.and_then(|after| self.cells.get(after)), self.cells.first()) {
            (Some(before), _) => (before.place.end..before.place.end, format!("{between}{cell}")),
            (None, Some(first)) => {
                (first.place.start..first.place.start, format!("{cell}{between}"))
            }
            (None, None) => {
                let end =
                    if self.is_compact() { String::new() } else { format!("\n{}", self.unit()) };
                (self.list.clone(), format!("[{}{cell}{end}]", self.gap()))
            }
        };
        (change, name)
    }

    /// Takes a cell out.
    pub(super) fn delete(&self, number: usize) -> Change {
        let place = |number: usize| self.cells.get(number).map(|cell| cell.place.clone());
        let taken = match (place(number), place(number + 1)) {
            (Some(cell), Some(next)) => Some(cell.start..next.start),
            (Some(cell), None) => {
                let before = number.checked_sub(1).and_then(place);
                before.map(|before| before.end..cell.end)
            }
            (None, _) => Some(0..0),
        };
        match taken {
            Some(range) => (range, String::new()),
            None => (self.list.clone(), "[]".to_owned()),
        }
    }

    fn new_id(&self, number: usize, source: &str) -> String {
        let mut seed = format!("{number} {} {source}", self.cells.len());
        loop {
            let id: String = blake3::hash(seed.as_bytes()).to_hex().chars().take(8).collect();
            if self.cells.iter().all(|cell| cell.id() != Some(id.as_str())) {
                return id;
            }
            seed.push(' ');
        }
    }

    /// The cell as the notebook writes its cells.
    fn written(&self, value: &Map<String, Value>) -> String {
        if self.is_compact() {
            return Value::Object(value.clone()).to_string();
        }
        let unit = self.unit();
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(unit.as_bytes());
        // Writing into memory cannot fail.
        let _done = value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
        // Text in JSON holds no line feed, so that every one ends a line.
        String::from_utf8_lossy(&bytes).replace('\n', &self.gap())
    }

    /// What stands between the start of one line and that of a cell, the line feed included.
    fn gap(&self) -> String {
        if self.is_compact() { String::new() } else { format!("\n{0}{0}", self.unit()) }
    }

    fn is_compact(&self) -> bool {
        !self.text.trim().contains('\n')
    }

    /// One step of indentation: that of the first line inside the outermost braces; Jupyter's is one blank.
    fn unit(&self) -> &str {
        let line = self.text.trim_start().lines().nth(1).unwrap_or_default();
        let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
        line.get(..blanks).filter(|blanks| !blanks.is_empty()).unwrap_or(" ")
    }
}

impl Cell {
    fn id(&self) -> Option<&str> {
        self.value.get("id")?.as_str()
    }

    fn name(&self, number: usize) -> String {
        self.id().map_or_else(|| format!("cell-{number}"), str::to_owned)
    }
}

/// The source as one text where that is what the cell had, else as lines.
fn source_like(old: Option<&Value>, source: &str) -> Value {
    if old.is_some_and(Value::is_string) {
        return Value::from(source);
    }
    source.split_inclusive('\n').map(Value::from).collect()
}
