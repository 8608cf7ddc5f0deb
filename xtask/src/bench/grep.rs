//! `cargo xtask bench grep`: the Grep tool beside ripgrep on the same tree, with warm and cold caches.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use xshell::{Shell, cmd};

use super::{Figure, Measured, millis};
use crate::Result;
use crate::workspace::Workspace;

/// How much longer than ripgrep the Grep tool may take.
const BOUND: f64 = 1.1;
/// The files of the tree.
const FILES: u64 = 20_000;
/// How often each program runs, in turn.
const ROUNDS: usize = 21;
/// One file of so many holds a match.
const RARITY: u64 = 40;
const PATTERN: &str = r"needle_\d+";

/// Makes a tree and searches it with both programs.
pub(super) fn measure(shell: &Shell, workspace: &Workspace) -> Result<Measured> {
    if cmd!(shell, "rg --version").quiet().ignore_stdout().ignore_stderr().run().is_err() {
        return Ok(Measured::Skipped("rg is not installed".to_owned()));
    }
    let program = workspace.release_program();
    let directory = shell.create_temp_dir()?;
    let (tree, empty) = (directory.path().join("tree"), directory.path().join("empty"));
    fs::create_dir_all(&empty)?;
    make_tree(&tree)?;
    let mut figures = compare(&program, &tree, &empty, Caches::Warm)?;
    // Only root can empty the cache of files.
    if forget_files().is_ok() {
        figures.extend(compare(&program, &tree, &empty, Caches::Cold)?);
    }
    Ok(Measured::Figures(figures))
}

/// Whether the files were read before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Caches {
    Warm,
    Cold,
}

/// Runs both in turn; what the program takes besides searching is measured in an empty directory and left out.
fn compare(program: &Path, tree: &Path, empty: &Path, caches: Caches) -> Result<Vec<Figure>> {
    let (mut ours, mut theirs, mut start) = (Vec::new(), Vec::new(), Vec::new());
    let (name, rounds) = match caches {
        Caches::Warm => ("warm", ROUNDS),
        Caches::Cold => ("cold", 7),
    };
    for _ in 0..rounds {
        for (times, place, is_ours) in
            [(&mut theirs, tree, false), (&mut ours, tree, true), (&mut start, empty, true)]
        {
            if caches == Caches::Cold {
                forget_files()?;
            }
            times.push(millis(if is_ours { call_grep(program, place)? } else { rg(place)? }));
        }
    }
    // Round by round, so that a slow moment of the machine weighs on both sides of a ratio.
    let ratios = ours.iter().zip(&start).zip(&theirs);
    let ratios = ratios.map(|((ours, start), theirs)| (ours - start).max(0.0) / theirs).collect();
    let row = |what, samples, unit| Figure::median(format!("grep: {name}, {what}"), samples, unit);
    Ok(vec![
        row("rg", theirs, "ms"),
        row("`innerve call Grep`", ours, "ms"),
        row("of that, beside searching", start, "ms"),
        row("searching beside rg", ratios, "x").at_most(BOUND),
    ])
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
