//! `cargo xtask bench analyze`: the shell analyzer against the bare parse, over a corpus, and as a process.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use xshell::Shell;

use super::{Figure, Measured, example, millis};
use crate::Result;
use crate::workspace::Workspace;

/// The most milliseconds that `innerve analyze COMMAND` may take as a process.
const PROCESS_BOUND: f64 = 10.0;
/// How often the process is started; the median counts.
const ROUNDS: usize = 41;

/// The figures of the library's own measuring program, and the program's time as a process.
pub(super) fn measure(shell: &Shell, workspace: &Workspace) -> Result<Measured> {
    let mut figures = example(shell, "innerve-bash", "bench_analyze")?;
    let times = process(&workspace.release_program())?;
    figures.push(
        Figure::median("analyze: `innerve analyze` as a process", times, "ms")
            .at_most(PROCESS_BOUND),
    );
    Ok(Measured::Figures(figures))
}

/// The milliseconds from starting the program to its end.
fn process(program: &Path) -> Result<Vec<f64>> {
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let status =
            Command::new(program).args(["analyze", "git status"]).stdout(Stdio::null()).status()?;
        times.push(millis(start.elapsed()));
        if !status.success() {
            return Err(format!("`innerve analyze` ended with {status}").into());
        }
    }
    Ok(times)
}
