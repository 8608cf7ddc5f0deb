//! Measures Read: a small file, and line ten million of a file of a gigabyte in bounded memory.
//!
//! `cargo run --release -p innerve-builtins --example bench_read` prints samples as JSON; `cargo xtask bench read` makes
//! a table of them and holds it to its bounds.

#[path = "bench/figures.rs"]
mod figures;
#[path = "bench/memory.rs"]
mod memory;

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use figures::{Row, context, millis};
use innerve_builtins::FileAccess;
use innerve_builtins::host::{HostFiles, MemoryLedger};
use innerve_builtins::read::ReadTool;
use innerve_tool::Tool as _;
use memory::memory_growth;
use serde_json::{Value, json};

/// How much memory may grow, in megabytes.
const MEMORY_BOUND: f64 = 16.0;
/// How often the large file is read.
const LARGE_ROUNDS: usize = 3;
/// The lines of the large file, of 100 bytes each.
const LINES: u64 = 10_000_001;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let (small, large) = (folder.path().join("small.rs"), folder.path().join("large.log"));
    write_lines(&small, 200)?;
    write_lines(&large, LINES)?;
    let mut rows = Vec::new();
    let mut times = Vec::new();
    for _ in 0..101 {
        let begun = Instant::now();
        read(folder.path(), &json!({ "file_path": small })).await?;
        times.push(millis(begun));
    }
    rows.push(Row::new("read: a file of 20 kB", times, "ms"));

    let input = json!({ "file_path": large, "offset": 10_000_000, "limit": 1 });
    let (mut times, mut growths) = (Vec::new(), Vec::new());
    for _ in 0..LARGE_ROUNDS {
        let begun = Instant::now();
        let (growth, text) = memory_growth(read(folder.path(), &input)).await;
        times.push(millis(begun));
        growths.push(growth);
        let text = text?;
        if !text.starts_with("10000000\t") {
            return Err(format!("another line was read: {text}").into());
        }
    }
    rows.push(Row::new("read: line 10 million of 1 GB", times, "ms"));
    rows.push(
        Row::new("read: line 10 million of 1 GB, memory", growths, "MB").at_most(MEMORY_BOUND),
    );
    figures::print(&rows)
}

/// One call, by an agent that has read nothing yet.
async fn read(cwd: &Path, input: &Value) -> Result<String, Box<dyn Error>> {
    let access = FileAccess::new(Arc::new(HostFiles), Arc::new(MemoryLedger::new()));
    let tool = ReadTool::new(access);
    let output = tool
        .call(serde_json::from_value(input.clone())?, None, context(cwd))
        .await
        .map_err(|error| error.message().to_owned())?;
    Ok(tool.render(&output.data).plain_text())
}

fn write_lines(path: &Path, lines: u64) -> std::io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    for line in 1..=lines {
        writeln!(file, "{line:099}")?;
    }
    file.flush()
}
