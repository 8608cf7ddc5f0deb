//! `cargo xtask bench peers`: innerve beside other agents that are installed, each driven without a person against the
//! same model that plays a script.

mod agent;
mod memory;
mod script;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use xshell::Shell;

use super::server::{Seen, Server};
use super::{Figure, Measured, millis};
use crate::Result;
use crate::workspace::Workspace;

use agent::Agent;
use memory::Watch;
use script::Script;

/// How often an agent is started for its first request and its turns, after a first time that does not count.
const STARTS: usize = 7;
/// Turns of each of these runs: so few that no agent takes the task for a loop.
const TURNS: usize = 20;
/// A run that takes longer has failed.
const LIMIT: Duration = Duration::from_secs(150);

/// What is compared: a name, a unit, and how innerve may stand beside the best of the others, as a ratio.
const MEASURES: [(&str, &str, Option<f64>); 7] = [
    ("to the first request", "ms", Some(1.0)),
    ("a turn of one command", "ms", Some(1.0)),
    ("memory", "MB", Some(1.0)),
    // innerve keeps all of the output on disk; the quickest of the others throws most of it away.
    ("a command that writes 200 MB", "ms", Some(1.5)),
    ("memory meanwhile", "MB", Some(1.0)),
    ("a command that leaves a child behind", "ms", None),
    ("4 reading commands of 1 s at once", "ms", Some(1.1)),
];

/// Samples by measure.
type Samples = BTreeMap<&'static str, Vec<f64>>;

/// Measures innerve and whichever of the others is on the `PATH`.
pub(super) fn measure(shell: &Shell, workspace: &Workspace) -> Result<Measured> {
    let mut agents = vec![(Agent::Innerve, workspace.release_program())];
    agents.extend(Agent::OTHERS.into_iter().filter_map(|agent| Some((agent, agent.find()?))));
    if agents.len() == 1 {
        let names: Vec<&str> = Agent::OTHERS.into_iter().map(Agent::program).collect();
        return Ok(Measured::Skipped(format!("none of {} is on the PATH", names.join(", "))));
    }
    let place = shell.create_temp_dir()?;
    let mut all: Vec<(Agent, Samples)> = Vec::new();
    for (agent, program) in agents {
        eprintln!("{}: {}", agent.program(), version(&program));
        let bench = Bench { agent, program, place: place.path().join(agent.program()) };
        match bench.measure() {
            Ok(samples) => all.push((agent, samples)),
            Err(error) if agent == Agent::Innerve => return Err(error),
            Err(error) => eprintln!("{} is left out: {error}", agent.program()),
        }
    }
    Ok(Measured::Figures(figures(&all)))
}

/// A row for each measure and agent, then innerve beside the best of the others.
fn figures(all: &[(Agent, Samples)]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (measure, unit, bound) in MEASURES {
        let row = |agent: &Agent, samples: &Samples| {
            let samples = samples.get(measure).cloned().unwrap_or_default();
            (
                *agent,
                Figure::median(format!("peers: {measure}, {}", agent.program()), samples, unit),
            )
        };
        let rows: Vec<_> = all.iter().map(|(agent, samples)| row(agent, samples)).collect();
        let (own, others): (Vec<_>, Vec<_>) =
            rows.iter().partition(|(agent, _)| *agent == Agent::Innerve);
        let best = others.iter().map(|(_, figure)| figure.value).min_by(f64::total_cmp);
        let ratio = own.first().zip(best).map(|((_, own), best)| own.value / best);
        figures.extend(rows.iter().map(|(_, figure)| figure.clone()));
        if let (Some(ratio), Some(bound)) = (ratio, bound) {
            let name = format!("peers: {measure}, innerve beside the best other");
            figures.push(Figure::new(name, ratio, "x").at_most(bound));
        }
    }
    figures
}

/// One agent, a place for its files and one for its work.
struct Bench {
    agent: Agent,
    program: PathBuf,
    place: PathBuf,
}

impl Bench {
    fn measure(&self) -> Result<Samples> {
        let mut samples = Samples::new();
        let mut keep = |measure, value| samples.entry(measure).or_default().push(value);
        for start in 0..=STARTS {
            let ran = self.run(Script::Turns(TURNS))?;
            if ran.seen.len() != TURNS + 1 {
                return Err(
                    format!("{} requests came instead of {}", ran.seen.len(), TURNS + 1).into()
                );
            }
            // The first run sets up what later ones find.
            if start > 0 {
                let first = ran.seen.first().ok_or("no request came")?;
                keep(
                    "to the first request",
                    millis(first.begins.saturating_duration_since(ran.begun)),
                );
                ran.seen
                    .iter()
                    .skip(1)
                    .for_each(|seen| keep("a turn of one command", millis(seen.gap)));
                keep("memory", ran.megabytes);
            }
        }
        let flood = self.run(Script::Flood)?;
        keep("a command that writes 200 MB", millis(last(&flood.seen)?.gap));
        keep("memory meanwhile", flood.megabytes);
        let child = self.run(Script::Child)?;
        keep("a command that leaves a child behind", millis(last(&child.seen)?.gap));
        let together = self.run(Script::Together)?;
        keep("4 reading commands of 1 s at once", millis(last(&together.seen)?.gap));
        Ok(samples)
    }

    fn run(&self, script: Script) -> Result<Ran> {
        let (home, project) = (self.place.join("home"), self.place.join("project"));
        fs::create_dir_all(&home)?;
        fs::create_dir_all(&project)?;
        fs::write(project.join("notes.txt"), "a small file\n")?;
        let server = Server::start(script)?;
        let words = self.place.join("words.txt");
        // One file with one place in it: neither of the two writes over the other.
        let (stdout, stderr) = {
            let file = File::create(&words)?;
            (file.try_clone()?, file)
        };
        let mut command = self.agent.command(&self.program, &home, server.address())?;
        command.current_dir(&project).process_group(0);
        command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
        let begun = Instant::now();
        let mut child = command.spawn()?;
        let watch = Watch::start(child.id());
        let ended = wait(&mut child);
        let megabytes = watch.stop();
        let said = || tail(&fs::read_to_string(&words).unwrap_or_default());
        match ended? {
            None => Err(format!("it did not end within {} s: {}", LIMIT.as_secs(), said()).into()),
            Some(status) if !status.success() => {
                Err(format!("it ended with {status}: {}", said()).into())
            }
            Some(_) => Ok(Ran { begun, seen: server.seen(), megabytes }),
        }
    }
}

/// A run that ended well.
struct Ran {
    begun: Instant,
    seen: Vec<Seen>,
    /// The most that it held in memory at once.
    megabytes: f64,
}

fn last(seen: &[Seen]) -> Result<&Seen> {
    Ok(seen.get(1).ok_or("the result of the command was not sent")?)
}

fn wait(child: &mut Child) -> Result<Option<std::process::ExitStatus>> {
    let begun = Instant::now();
    while begun.elapsed() < LIMIT {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(Duration::from_millis(5));
    }
    // With all that it has started.
    let group = format!("-{}", child.id());
    Command::new("kill").args(["-KILL", "--", &group]).status()?;
    child.wait()?;
    Ok(None)
}

/// What a program says of its version, on one line.
fn version(program: &Path) -> String {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    output.map_or_else(
        |error| error.to_string(),
        |output| tail(&String::from_utf8_lossy(&output.stdout)),
    )
}

/// The end of what an agent said, on one line.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.iter().rev().take(3).rev().copied().collect::<Vec<_>>().join(" / ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn innerve_stands_beside_the_best_of_the_others() {
        let samples = |value| Samples::from([("memory", vec![value])]);
        let all = [
            (Agent::Innerve, samples(20.0)),
            (Agent::Pi, samples(100.0)),
            (Agent::Codex, samples(80.0)),
        ];
        let figures = figures(&all);
        let find = |name: &str| figures.iter().find(|figure| figure.name == name).unwrap();
        assert!((find("peers: memory, codex").value - 80.0).abs() < 1e-9);
        let ratio = find("peers: memory, innerve beside the best other");
        assert!((ratio.value - 0.25).abs() < 1e-9 && ratio.bound == Some(1.0), "{ratio:?}");
    }
}
