//! `cargo xtask bench`: the Grep tool against ripgrep on the same tree; the shell analyzer and the permission engine.

mod analyze;
mod check;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use xshell::{Shell, cmd};

use crate::Result;
use crate::cargo::plain;
use crate::steps::{Done, Steps};
use crate::workspace::Workspace;

pub(crate) use analyze::analyze;
pub(crate) use check::check;

/// How much longer than ripgrep the Grep tool may take.
const BOUND: f64 = 1.1;
/// The files of the tree.
const FILES: u64 = 20_000;
/// How often each program runs; the medians are compared.
const ROUNDS: usize = 21;
/// One file of so many holds a match.
const RARITY: u64 = 40;
const PATTERN: &str = r"needle_\d+";

/// Builds the program, makes a tree, and measures.
pub(crate) fn grep(shell: &Shell, workspace: &Workspace, steps: &mut Steps) {
    if cmd!(shell, "rg --version").quiet().ignore_stdout().ignore_stderr().run().is_err() {
        return steps.run("bench grep", || Ok(Done::Skipped("rg is not installed".to_owned())));
    }
    steps.run("bench grep: build", || {
        plain(cmd!(shell, "cargo build --release --package innerve-cli --bin innerve")).run()?;
        Ok(Done::Passed)
    });
    let program = workspace.target.join("release").join("innerve");
    let Ok(directory) = shell.create_temp_dir() else {
        return steps.run("bench grep", || Err("no temporary directory can be made".into()));
    };
    let (tree, empty) = (directory.path().join("tree"), directory.path().join("empty"));
    steps.run("bench grep: tree", || {
        fs::create_dir_all(&empty)?;
        make_tree(&tree)?;
        Ok(Done::Passed)
    });
    for cold in [false, true] {
        let name = if cold { "bench grep: cold" } else { "bench grep: warm" };
        steps.run(name, || {
            if cold && forget_files().is_err() {
                return Ok(Done::Skipped("only root can empty the cache of files".to_owned()));
            }
            measure(&program, &tree, &empty, cold)
        });
    }
}

/// Runs both in turn; what the program takes besides searching is measured in an empty directory and left out.
fn measure(program: &Path, tree: &Path, empty: &Path, cold: bool) -> Result<Done> {
    let (mut ours, mut theirs, mut start) = (Vec::new(), Vec::new(), Vec::new());
    let rounds = if cold { 5 } else { ROUNDS };
    for _ in 0..rounds {
        for (times, place, is_ours) in
            [(&mut theirs, tree, false), (&mut ours, tree, true), (&mut start, empty, true)]
        {
            if cold {
                forget_files()?;
            }
            times.push(if is_ours { call_grep(program, place)? } else { rg(place)? });
        }
    }
    let (ours, theirs, start) = (median(ours), median(theirs), median(start));
    let ratio = ours.saturating_sub(start).as_secs_f64() / theirs.as_secs_f64();
    println!(
        "rg {theirs:.1?}; innerve call Grep {ours:.1?}, of which {start:.1?} in an empty directory; ratio {ratio:.2}"
    );
    if ratio > BOUND {
        return Err(
            format!("the Grep tool takes {ratio:.2} of rg's time; the bound is {BOUND}").into()
        );
    }
    Ok(Done::Passed)
}

fn rg(tree: &Path) -> Result<Duration> {
    timed(Command::new("rg").args(["--hidden", "--files-with-matches", PATTERN]).arg(tree))
}

fn call_grep(program: &Path, tree: &Path) -> Result<Duration> {
    let input = serde_json::json!({ "pattern": PATTERN, "head_limit": 0 }).to_string();
    timed(Command::new(program).args(["call", "Grep", &input]).current_dir(tree))
}

fn timed(command: &mut Command) -> Result<Duration> {
    let begun = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    let took = begun.elapsed();
    if !status.success() && command.get_program() != "rg" {
        return Err(format!("{} ended with {status}", command.get_program().display()).into());
    }
    Ok(took)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Empties the kernel's cache of files (Linux, `proc_sys_vm(5)`).
fn forget_files() -> Result {
    fs::write("/proc/sys/vm/drop_caches", "3")?;
    Ok(())
}

/// Source-like files of a few kilobytes, the same every time.
fn make_tree(root: &Path) -> Result {
    const WORDS: [&str; 8] =
        ["alpha", "value", "index", "result", "error", "match", "stream", "buffer"];
    let mut state: u64 = 7;
    let mut next = |below: u64| {
        // Knuth's constants (MMIX).
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for number in 0..FILES {
        let directory = root.join(format!("d{}", number / 1_000)).join(format!("s{}", number / 50));
        if number % 50 == 0 {
            fs::create_dir_all(&directory)?;
        }
        let mut text = String::new();
        let lines = 40 + next(160);
        for line in 0..lines {
            if number % RARITY == 0 && line == lines / 2 {
                text.push_str(&format!("needle_{number}\n"));
            }
            for _ in 0..8 {
                let word = usize::try_from(next(8)).unwrap_or_default();
                text.push_str(WORDS.get(word).unwrap_or(&"word"));
                text.push(' ');
            }
            text.push('\n');
        }
        fs::write(directory.join(format!("f{number}.rs")), text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_the_times_counts() {
        let times = [5, 1, 9, 2, 3].map(Duration::from_millis).to_vec();
        assert_eq!(median(times), Duration::from_millis(3));
    }
}
