//! Measures Edit beside the least that a safe edit takes: reading the file, writing another one, flushing it to the disk
//! and putting it in the place of the first.
//!
//! `cargo run --release -p innerve-builtins --example bench_edit` prints samples as JSON; `cargo xtask bench edit` makes a
//! table of them and holds it to its bounds.

#[path = "bench/figures.rs"]
mod figures;

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use figures::{Row, context, millis};
use innerve_builtins::FileAccess;
use innerve_builtins::edit::{EditInput, EditTool};
use innerve_builtins::host::{HostFiles, MemoryLedger};
use innerve_builtins::write::{WriteInput, WriteTool};
use innerve_tool::Tool as _;

/// The sizes, how often a file of each is edited, and the most that an edit may take, as a multiple of the floor.
const SIZES: [(&str, u64, usize, f64); 3] =
    [("20 kB", 20_000, 51, 2.5), ("1 MB", 1_000_000, 21, 12.0), ("100 MB", 100_000_000, 3, 12.0)];
/// Edits that are made at once.
const AT_ONCE: u64 = 16;
/// How often.
const AT_ONCE_ROUNDS: usize = 11;
/// The most that they may take, as a multiple of the same one after the other.
const AT_ONCE_BOUND: f64 = 1.25;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let mut rows = Vec::new();
    for (name, bytes, rounds, bound) in SIZES {
        let path = folder.path().join(format!("{bytes}.txt"));
        let tool = Editor::of_a_new_file(&path, bytes).await?;
        let (mut ours, mut floors, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..rounds {
            let begun = Instant::now();
            tool.edit(bytes / LINE / 2, round).await?;
            let took = millis(begun);
            let begun = Instant::now();
            replace_by_its_content(&path)?;
            let floor = millis(begun);
            ours.push(took);
            floors.push(floor);
            ratios.push(took / floor);
        }
        rows.push(Row::new(format!("edit: {name}"), ours, "ms"));
        rows.push(Row::new(format!("edit: {name}, read, written, flushed"), floors, "ms"));
        rows.push(Row::new(format!("edit: {name}, ratio"), ratios, "x").at_most(bound));
    }
    rows.push(at_once(&folder.path().join("shared.txt")).await?);
    figures::print(&rows)
}

/// Edits of different lines of one file: none may be lost, and they may not be in each other's way.
async fn at_once(path: &Path) -> Result<Row, Box<dyn Error>> {
    let tool = Editor::of_a_new_file(path, 20_000).await?;
    let mut ratios = Vec::new();
    for round in 0..AT_ONCE_ROUNDS {
        let begun = Instant::now();
        for line in 0..AT_ONCE {
            tool.edit(line, 2 * round).await?;
        }
        let in_turn = begun.elapsed();
        let begun = Instant::now();
        let edits = (0..AT_ONCE).map(|line| {
            let tool = tool.clone();
            tokio::spawn(async move {
                tool.edit(line, 2 * round + 1).await.map_err(|error| error.to_string())
            })
        });
        for edit in edits.collect::<Vec<_>>() {
            edit.await??;
        }
        ratios.push(begun.elapsed().as_secs_f64() / in_turn.as_secs_f64());
        let text = fs::read_to_string(path)?;
        for line in 0..AT_ONCE {
            let wanted = text_of(line, 2 * round + 2);
            if !text.contains(&wanted) {
                return Err(format!("the edit `{}` is lost", wanted.trim()).into());
            }
        }
    }
    let name = format!("edit: {AT_ONCE} of one file at once, beside in turn");
    Ok(Row::new(name, ratios, "x").at_most(AT_ONCE_BOUND))
}

/// An agent that knows one file.
#[derive(Clone)]
struct Editor {
    tool: EditTool,
    path: Arc<Path>,
}

impl Editor {
    async fn of_a_new_file(path: &Path, bytes: u64) -> Result<Self, Box<dyn Error>> {
        let access = FileAccess::new(Arc::new(HostFiles), Arc::new(MemoryLedger::new()));
        let content = (0..bytes / LINE).map(|line| text_of(line, 0)).collect();
        let input = WriteInput { file_path: path.display().to_string(), content };
        let cwd = path.parent().ok_or("a file without a directory")?;
        let written = WriteTool::new(access.clone()).call(input, None, context(cwd)).await;
        written.map_err(|error| error.message().to_owned())?;
        Ok(Self { tool: EditTool::new(access), path: path.into() })
    }

    /// Gives a line its next content.
    async fn edit(&self, line: u64, round: usize) -> Result<(), Box<dyn Error>> {
        let input = EditInput {
            file_path: self.path.display().to_string(),
            old_string: text_of(line, round),
            new_string: text_of(line, round + 1),
            replace_all: false,
        };
        let cwd = self.path.parent().ok_or("a file without a directory")?;
        let edited = self.tool.call(input, None, context(cwd)).await;
        edited.map_err(|error| error.message().to_owned())?;
        Ok(())
    }
}

/// Bytes of a line.
const LINE: u64 = 50;

/// A line in its nth state.
fn text_of(line: u64, round: usize) -> String {
    format!("line {line:08} in its state {round:04}, and nothing else\n")
}

/// The floor: the same bytes, with what the tool's file system does to be safe, and nothing of what Edit does.
fn replace_by_its_content(path: &Path) -> io::Result<()> {
    let content = fs::read(path)?;
    let directory = path.parent().ok_or(io::ErrorKind::NotFound)?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(&content)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    File::open(directory)?.sync_all()
}
