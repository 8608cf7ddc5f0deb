//! Measures Bash: a call that does nothing beyond the shell itself, and an output of a gigabyte in bounded memory.
//!
//! `cargo run --release -p innerve-builtins --example bench_bash` prints samples as JSON; `cargo xtask bench bash flood`
//! makes a table of them and holds it to its bounds.

#[path = "bench/figures.rs"]
mod figures;
#[path = "bench/memory.rs"]
mod memory;

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use figures::{Row, context, millis};
use innerve_builtins::bash::{BashInput, BashOptions, BashOutput, BashTool};
use innerve_builtins::host::{DiskSpool, HostClock, HostProcesses};
use innerve_tool::Tool as _;
use memory::memory_growth;

/// How much memory may grow, in megabytes.
const MEMORY_BOUND: f64 = 8.0;
/// How much longer than the shell itself a call may take, in milliseconds.
const CALL_BOUND: f64 = 2.0;
/// How often the call is made.
const ROUNDS: usize = 101;
/// How often the gigabyte is written.
const FLOODS: usize = 3;
const GIGABYTE: u64 = 1_000_000_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let options = BashOptions::default();
    let tool = BashTool::new(
        Arc::new(HostProcesses::new()),
        Arc::new(DiskSpool::new(folder.path().join("spool"))),
        Arc::new(HostClock),
        options.clone(),
    );
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        call(&tool, folder.path(), "true").await?;
        ours.push(millis(begun));
        let begun = Instant::now();
        Command::new(&options.shell)
            .args(["--noprofile", "--norc", "-c", "true"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        bare.push(millis(begun));
    }
    let beyond = ours.iter().zip(&bare).map(|(ours, bare)| ours - bare).collect();
    let mut rows = vec![
        Row::new("bash: `true` in the shell itself", bare, "ms"),
        Row::new("bash: `true` as a call, beyond the shell", beyond, "ms").at_most(CALL_BOUND),
    ];

    let command = format!("yes | head -c {GIGABYTE}");
    let (mut times, mut growths) = (Vec::new(), Vec::new());
    for _ in 0..FLOODS {
        let begun = Instant::now();
        let (growth, output) = memory_growth(call(&tool, folder.path(), &command)).await;
        times.push(millis(begun));
        growths.push(growth);
        let output = output?;
        if output.bytes != GIGABYTE {
            return Err(format!("{} bytes were counted", output.bytes).into());
        }
    }
    rows.push(Row::new("flood: 1 GB of output", times, "ms"));
    rows.push(Row::new("flood: 1 GB of output, memory", growths, "MB").at_most(MEMORY_BOUND));
    figures::print(&rows)
}

async fn call(tool: &BashTool, cwd: &Path, command: &str) -> Result<BashOutput, Box<dyn Error>> {
    let input = BashInput { command: command.to_owned(), ..BashInput::default() };
    let output = tool.call(input, None, context(cwd)).await;
    Ok(output.map_err(|error| error.message().to_owned())?.data)
}
