//! `cargo xtask bench loop`: what the agent loop costs per turn, from its first turn to its thousandth.

mod server;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use xshell::Shell;

use super::{Figure, Measured, median};
use crate::Result;
use crate::workspace::Workspace;

use server::{Seen, Server, Wire};

/// Turns of the long run.
const TURNS: usize = 1_000;
/// Turns whose median stands for one.
const WINDOW: usize = 40;
/// How often the program is started to see its first request.
const STARTS: usize = 21;
/// The most milliseconds from starting the program to its first request.
const FIRST_REQUEST: f64 = 30.0;
/// The most milliseconds from the end of a response to the next request, the tool's own work included.
const TURN: f64 = 2.0;
/// The most by which a late turn may take longer than an early one, in milliseconds.
const GROWTH: f64 = 0.25;
/// The most kilobytes of the first request: instructions and tools.
const REQUEST: f64 = 16.0;
/// The most megabytes of memory after all turns.
const MEMORY: f64 = 40.0;

/// Runs the program against a server that plays a model.
pub(super) fn measure(shell: &Shell, workspace: &Workspace) -> Result<Measured> {
    let program = workspace.release_program();
    let place = shell.create_temp_dir()?;
    let mut starts = Vec::with_capacity(STARTS);
    let mut first_bytes = 0;
    for _ in 0..STARTS {
        let (begun, seen) = play(&program, place.path(), Wire::Anthropic, 0)?;
        let first = seen.first().ok_or("the program sent no request")?;
        starts.push(first.begins.saturating_duration_since(begun));
        first_bytes = first.bytes;
    }
    let seen = play_all(&program, place.path(), Wire::Anthropic)?;
    let other = play_all(&program, place.path(), Wire::OpenAi)?;
    let (one, hundred, thousand) =
        (turn(&seen, 1)?, turn(&seen, 100)?, turn(&seen, TURNS - WINDOW)?);
    let (early, late) = (at(&seen, 100)?, at(&seen, TURNS)?);
    let history = kilobytes(late.bytes) - kilobytes(early.bytes);
    let memory = kilobytes(late.memory) - kilobytes(early.memory);
    Ok(Measured::Figures(vec![
        Figure::new("loop: start to the first request", millis(median(starts)), "ms")
            .at_most(FIRST_REQUEST),
        Figure::new("loop: the first request", kilobytes(first_bytes), "kB").at_most(REQUEST),
        Figure::new("loop: a turn, about turn 1", one, "ms").at_most(TURN),
        Figure::new("loop: a turn, about turn 100", hundred, "ms").at_most(TURN),
        Figure::new("loop: a turn, about turn 1,000", thousand, "ms").at_most(TURN),
        Figure::new("loop: turn 1,000 above turn 1", thousand - one, "ms").at_most(GROWTH),
        Figure::new(
            "loop: the same with a server of OpenAI's kind",
            turn(&other, TURNS - WINDOW)?,
            "ms",
        )
        .at_most(TURN),
        Figure::new("loop: the request of turn 1,000", kilobytes(late.bytes), "kB"),
        Figure::new("loop: its first byte to its last", millis(late.lasts), "ms"),
        Figure::new("loop: memory at turn 100", kilobytes(early.memory) / 1e3, "MB"),
        Figure::new("loop: memory at turn 1,000", kilobytes(late.memory) / 1e3, "MB")
            .at_most(MEMORY),
        Figure::new("loop: memory grown per history grown", memory / history, "x"),
    ]))
}

/// Runs the long task.
fn play_all(program: &Path, place: &Path, wire: Wire) -> Result<Vec<Seen>> {
    let (_, seen) = play(program, place, wire, TURNS)?;
    if seen.len() != TURNS + 1 {
        return Err(format!("{} requests came instead of {}", seen.len(), TURNS + 1).into());
    }
    Ok(seen)
}

/// Runs one task of so many turns, each of which reads a small file; gives when it was started and its requests.
fn play(program: &Path, place: &Path, wire: Wire, turns: usize) -> Result<(Instant, Vec<Seen>)> {
    let project = place.join("project");
    fs::create_dir_all(&project)?;
    let file = project.join("notes.txt");
    let lines: Vec<String> = (1..=12).map(|line| format!("line {line} of a small file")).collect();
    fs::write(&file, lines.join("\n"))?;
    let server = Server::start(wire, turns, &file)?;
    let (key, address) = match wire {
        Wire::Anthropic => ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
        Wire::OpenAi => ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    };
    let mut command = Command::new(program);
    command
        .args(["run", "Read the notes.", "--output", "json", "--model", "claude-sonnet-4-5"])
        .current_dir(&project)
        .env("HOME", place)
        .env("XDG_STATE_HOME", place.join("state"))
        .env("XDG_CONFIG_HOME", place.join("config"))
        .env_remove("ANTHROPIC_API_KEY")
        .env_remove("ANTHROPIC_BASE_URL")
        .env(key, "none")
        .env(address, server.address())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let begun = Instant::now();
    let child = command.spawn()?;
    server.watch(child.id());
    let output = child.wait_with_output()?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(format!("innerve run ended with {}: {words}", output.status).into());
    }
    Ok((begun, server.stop()))
}

/// The median milliseconds between a response and the next request, over the turns from this one on.
fn turn(seen: &[Seen], first: usize) -> Result<f64> {
    let window = seen.get(first..first + WINDOW).ok_or("there are too few turns")?;
    Ok(millis(median(window.iter().map(|seen| seen.gap).collect())))
}

fn at(seen: &[Seen], turn: usize) -> Result<&Seen> {
    Ok(seen.get(turn).ok_or("there are too few turns")?)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn kilobytes(bytes: usize) -> f64 {
    f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)) / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_the_median_of_its_window() {
        let seen = |millis| Seen { gap: Duration::from_millis(millis), ..Seen::default() };
        let all: Vec<Seen> = (0..100).map(|number| seen(number % 7)).collect();
        assert!((turn(&all, 1).unwrap() - 3.0).abs() < 1e-9);
        assert!(turn(&all, 90).is_err());
    }
}
