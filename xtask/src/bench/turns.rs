//! `cargo xtask bench loop memory start-up`: what the agent loop costs per turn, from the start to its thousandth turn.

mod model;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use xshell::Shell;

use super::server::{Seen, Server};
use super::wire::Wire;
use super::{Figure, Measured, millis, without_wishes};
use crate::Result;
use crate::workspace::Workspace;

use model::{Task, Told};

/// Turns of the long run.
const TURNS: usize = 1_000;
/// Turns that are looked at together; their median stands for one.
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
/// How much longer calls that may run at once may take than the slowest of them.
const TOGETHER: f64 = 1.1;
/// How often they are made.
const TOGETHER_RUNS: usize = 7;
/// The most megabytes of memory after so many turns.
const MEMORY: f64 = 40.0;

/// Starts the program until its first request comes.
pub(super) fn start_up(shell: &Shell, workspace: &Workspace) -> Result<Measured> {
    let program = workspace.release_program();
    let place = shell.create_temp_dir()?;
    let mut starts = Vec::with_capacity(STARTS);
    let mut bytes = 0;
    for _ in 0..STARTS {
        let (begun, seen) =
            play(&program, place.path(), Wire::Messages, |file| Task::Reads { turns: 0, file })?;
        let first = seen.first().ok_or("the program sent no request")?;
        starts.push(millis(first.begins.saturating_duration_since(begun)));
        bytes = first.bytes;
    }
    Ok(Measured::Figures(vec![
        Figure::median("start-up: to the first request", starts, "ms").at_most(FIRST_REQUEST),
        Figure::new("start-up: size of the first request", kilobytes(bytes), "kB").at_most(REQUEST),
    ]))
}

/// Runs the program against a server that plays a model.
pub(super) fn measure(shell: &Shell, workspace: &Workspace) -> Result<Measured> {
    let program = workspace.release_program();
    let place = shell.create_temp_dir()?;
    let seen = play_all(&program, place.path(), Wire::Messages)?;
    let other = play_all(&program, place.path(), Wire::Chat)?;
    let (one, thousand) = (turn(&seen, 1)?, turn(&seen, TURNS - WINDOW)?);
    let growth = one.iter().zip(&thousand).map(|(early, late)| late - early).collect();
    let row = |name, samples| Figure::median(name, samples, "ms");
    let mut figures = vec![
        row("loop: a turn, about turn 1", one).at_most(TURN),
        row("loop: a turn, about turn 100", turn(&seen, 100)?).at_most(TURN),
        row("loop: a turn, about turn 1,000", thousand).at_most(TURN),
        row("loop: turn 1,000 above turn 1", growth).at_most(GROWTH),
        row("loop: turn 1,000, OpenAI's wire", turn(&other, TURNS - WINDOW)?).at_most(TURN),
        Figure::median(
            "loop: 8 calls of 300 ms at once, beside one",
            together(&program, place.path())?,
            "x",
        )
        .at_most(TOGETHER),
        Figure::new("loop: request of turn 1,000, size", kilobytes(at(&seen, TURNS)?.bytes), "kB"),
        row("loop: request of turn 1,000, time to send", vec![millis(at(&seen, TURNS)?.lasts)]),
    ];
    for (turns, bound) in [(100, None), (300, Some(MEMORY)), (TURNS, Some(MEMORY))] {
        let megabytes = kilobytes(at(&seen, turns)?.memory) / 1e3;
        let figure = Figure::new(format!("memory: after {turns} turns"), megabytes, "MB");
        figures.push(Figure { bound, ..figure });
    }
    let (early, late) = (at(&seen, 100)?, at(&seen, TURNS)?);
    let history = kilobytes(late.bytes) - kilobytes(early.bytes);
    let memory = kilobytes(late.memory) - kilobytes(early.memory);
    figures.push(Figure::new("memory: grown, per history grown", memory / history, "x"));
    Ok(Measured::Figures(figures))
}

/// How long the calls of one response take, from its first byte to the next request, beside one that starts last.
fn together(program: &Path, place: &Path) -> Result<Vec<f64>> {
    let slowest = model::APART * u32::try_from(model::CALLS - 1)? + model::CALL;
    let mut ratios = Vec::new();
    for _ in 0..TOGETHER_RUNS {
        let (_, seen) = play(program, place, Wire::Messages, |_| Task::Calls)?;
        ratios.push(at(&seen, 1)?.round.as_secs_f64() / slowest.as_secs_f64());
    }
    Ok(ratios)
}

/// Runs the long task.
fn play_all(program: &Path, place: &Path, wire: Wire) -> Result<Vec<Seen>> {
    let (_, seen) = play(program, place, wire, |file| Task::Reads { turns: TURNS, file })?;
    if seen.len() != TURNS + 1 {
        return Err(format!("{} requests came instead of {}", seen.len(), TURNS + 1).into());
    }
    Ok(seen)
}

/// Runs the program beside a small file; gives when it was started and the requests it sent.
fn play(
    program: &Path,
    place: &Path,
    wire: Wire,
    task: impl FnOnce(PathBuf) -> Task,
) -> Result<(Instant, Vec<Seen>)> {
    let project = place.join("project");
    fs::create_dir_all(&project)?;
    let file = project.join("notes.txt");
    let lines: Vec<String> = (1..=12).map(|line| format!("line {line} of a small file")).collect();
    fs::write(&file, lines.join("\n"))?;
    let server = Server::start(Told { wire, task: task(file) })?;
    let (key, address) = if wire == Wire::Messages {
        ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")
    } else {
        ("OPENAI_API_KEY", "OPENAI_BASE_URL")
    };
    let mut command = Command::new(program);
    without_wishes(&mut command);
    command
        .args(["run", "Read the notes.", "--output", "json", "--model", "claude-sonnet-4-5"])
        .current_dir(&project)
        .env("HOME", place)
        .env("XDG_STATE_HOME", place.join("state"))
        .env("XDG_CONFIG_HOME", place.join("config"))
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
    Ok((begun, server.seen()))
}

/// The milliseconds between a response and the next request, turn by turn from this one on.
fn turn(seen: &[Seen], first: usize) -> Result<Vec<f64>> {
    let window = seen.get(first..first + WINDOW).ok_or("there are too few turns")?;
    Ok(window.iter().map(|seen| millis(seen.gap)).collect())
}

fn at(seen: &[Seen], turn: usize) -> Result<&Seen> {
    Ok(seen.get(turn).ok_or("there are too few turns")?)
}

fn kilobytes(bytes: usize) -> f64 {
    f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)) / 1e3
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_turn_is_looked_at_in_a_window_that_must_be_there() {
        let seen = |number| Seen { gap: Duration::from_millis(number), ..Seen::default() };
        let all: Vec<Seen> = (0..100).map(seen).collect();
        let window = turn(&all, 1).unwrap();
        assert_eq!((window.len(), window.first()), (WINDOW, Some(&1.0)));
        assert!(turn(&all, 90).is_err());
    }
}
