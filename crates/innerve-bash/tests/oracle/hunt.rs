//! The tests: commands by hand, by fixed and by fresh seed, and the hunt for as long as one likes.

use std::env;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use innerve_bash::{Analysis, analyze};

use crate::cases::{EVERYDAY, NASTY};
use crate::compare::missed;
use crate::generate;
use crate::harmless::is_harmless;
use crate::harness::{Outcome, Passed, Test};
use crate::jail::{self, Jail};

/// The hunt of an ordinary test run; a slow machine does not get through all of it.
const ORDINARY: Until = Until { accepted: 1_000, after: Duration::from_secs(50) };
/// The seed that never changes.
const FIXED_SEED: u64 = 20_260;
/// Runs spent on making a counterexample smaller.
const MINIMISING_RUNS: usize = 600;
/// How many run at the same time.
const WORKERS: usize = 2;

/// How long to hunt, in seconds: only then is there a test for it.
const SECONDS: &str = "INNERVE_FUZZ_SECONDS";
/// The seed of the test with a fresh seed, and of the hunt.
const SEED: &str = "INNERVE_FUZZ_SEED";

pub(crate) fn tests() -> Vec<Test> {
    let mut tests: Vec<Test> = vec![
        ("what_an_analysis_lacks_is_noticed", what_an_analysis_lacks_is_noticed),
        ("nasty_commands_hide_nothing", nasty_commands_hide_nothing),
        ("everyday_commands_are_understood", everyday_commands_are_understood),
        ("a_thousand_commands_of_the_fixed_seed_are_covered", fixed_seed),
        ("a_thousand_commands_of_a_fresh_seed_are_covered", fresh_seed),
    ];
    if env::var_os(SECONDS).is_some() {
        tests.push(("commands_are_covered_for_as_long_as_asked", as_long_as_asked));
    }
    tests
}

/// Gives the bash, or skips the test.
fn with_bash(test: impl FnOnce(&Path) -> Outcome) -> Outcome {
    match jail::bash() {
        Ok(bash) => test(&bash),
        Err(reason) => Ok(Passed::Skipped(reason)),
    }
}

fn what_an_analysis_lacks_is_noticed() -> Outcome {
    with_bash(|bash| {
        let mut jail = Jail::new(bash)?;
        let text = "c1 a 'b c' \"$HOME\" && cd d && env X=1 c2 > o; : e";
        let observed = jail.observe(text)?;
        let analysis = analyze(text);
        let commands = analysis.commands();
        let all = missed(commands, &observed);
        if !all.is_empty() || commands.len() != 5 {
            return Err(format!("{text}: {all:?}, {commands:?}").into());
        }
        for (index, command) in commands.iter().enumerate() {
            let mut fewer = commands.to_vec();
            fewer.remove(index);
            // `cd` stays in the shell and leaves no trace.
            if command.name() != Some("cd") && missed(&fewer, &observed).is_empty() {
                return Err(format!("nobody misses `{}`", command.text()).into());
            }
            let mut other = commands.to_vec();
            if let Some(command) = other.get_mut(index) {
                command.argv.push(innerve_bash::Word::Literal("more".to_owned()));
            }
            if command.name() != Some("cd") && missed(&other, &observed).is_empty() {
                return Err(format!("a wrong word of `{}` passes", command.text()).into());
            }
        }
        let mut silent = commands.to_vec();
        for command in &mut silent {
            command.writes.clear();
        }
        if missed(&silent, &observed) != ["bash wrote \"d/o\""] {
            return Err("nobody misses a write".into());
        }
        Ok(Passed::Ran(String::new()))
    })
}

fn nasty_commands_hide_nothing() -> Outcome {
    with_bash(|bash| {
        let mut jail = Jail::new(bash)?;
        let mut complaints = String::new();
        for (text, hidden) in NASTY {
            let observed = jail.observe(text)?;
            let shown = hidden.strip_prefix('>').map_or_else(
                || observed.executed.iter().any(|words| words.join("|") == *hidden),
                |path| observed.written.contains(path),
            );
            if !shown {
                writeln!(complaints, "{text:?}: bash did not do {hidden:?}, but {observed:?}")?;
            }
            if let Analysis::Commands(commands) = analyze(text) {
                for miss in missed(commands.as_slice(), &observed) {
                    writeln!(complaints, "{text:?}: {miss}")?;
                }
            }
        }
        if complaints.is_empty() {
            Ok(Passed::Ran(format!("{} commands", NASTY.len())))
        } else {
            Err(complaints.into())
        }
    })
}

fn everyday_commands_are_understood() -> Outcome {
    with_bash(|bash| {
        let mut jail = Jail::new(bash)?;
        let mut complaints = String::new();
        for text in EVERYDAY {
            let analysis = analyze(text);
            if let Some(reason) = analysis.opaque() {
                writeln!(complaints, "{text:?} is refused: {}", reason.message)?;
            }
            let observed = jail.observe(text)?;
            if observed.executed.is_empty() {
                writeln!(complaints, "{text:?}: bash ran nothing")?;
            }
            for miss in missed(analysis.commands(), &observed) {
                writeln!(complaints, "{text:?}: {miss}")?;
            }
        }
        if complaints.is_empty() {
            Ok(Passed::Ran(format!("{} commands", EVERYDAY.len())))
        } else {
            Err(complaints.into())
        }
    })
}

fn fixed_seed() -> Outcome {
    with_bash(|bash| hunt(bash, FIXED_SEED, ORDINARY))
}

fn fresh_seed() -> Outcome {
    with_bash(|bash| hunt(bash, seed()?, ORDINARY))
}

fn as_long_as_asked() -> Outcome {
    with_bash(|bash| {
        let seconds = env::var(SECONDS)?.parse().map_err(|error| format!("{SECONDS}: {error}"))?;
        hunt(bash, seed()?, Until { accepted: u64::MAX, after: Duration::from_secs(seconds) })
    })
}

/// The seed from the environment, or one of this moment.
fn seed() -> Result<u64, String> {
    if let Ok(seed) = env::var(SEED) {
        return seed.parse().map_err(|error| format!("{SEED}={seed}: {error}"));
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(u64::from(since.subsec_nanos()) ^ since.as_secs())
}

/// When a hunt ends, whichever comes first.
#[derive(Clone, Copy)]
struct Until {
    /// After so many commands that the analyzer claims to understand.
    accepted: u64,
    after: Duration,
}

/// Draws commands of `seed`, and has bash run those that the analyzer claims to understand.
fn hunt(bash: &Path, seed: u64, until: Until) -> Outcome {
    let start = Instant::now();
    let (drawn, accepted, over) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let complaint = Mutex::new(None);
    let work = || -> std::io::Result<()> {
        let mut jail = Jail::new(bash)?;
        while !over.load(Ordering::Relaxed) {
            let number = drawn.fetch_add(1, Ordering::Relaxed);
            let text = generate::command(seed, number);
            if let Analysis::Commands(commands) = analyze(&text) {
                accepted.fetch_add(1, Ordering::Relaxed);
                let observed = jail.observe(&text)?;
                let misses = missed(commands.as_slice(), &observed);
                if !misses.is_empty() {
                    over.store(true, Ordering::Relaxed);
                    let least = minimised(&text, &mut jail)?;
                    let told = format!(
                        "seed {seed}, command {number}: {misses:?}\n  {text:?}\nat least:\n  {least:?}\n  {:?}\n\
                         {SEED}={seed} finds it again; it belongs into tests/oracle/cases.rs",
                        analyze(&least)
                            .commands()
                            .iter()
                            .map(innerve_bash::Command::text)
                            .collect::<Vec<_>>()
                    );
                    if let Ok(mut complaint) = complaint.lock() {
                        complaint.get_or_insert(told);
                    }
                }
            }
            if accepted.load(Ordering::Relaxed) >= until.accepted || start.elapsed() >= until.after
            {
                over.store(true, Ordering::Relaxed);
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| {
            worker.join().unwrap_or_else(|_| Err(std::io::Error::other("a worker panicked")))
        })
    })?;
    let (drawn, accepted) = (drawn.into_inner(), accepted.into_inner());
    if let Some(told) = complaint.into_inner().ok().flatten() {
        return Err(told.into());
    }
    if accepted * 5 < drawn {
        // Else refusing everything would pass.
        return Err(
            format!("seed {seed}: only {accepted} of {drawn} commands are understood").into()
        );
    }
    let seconds = start.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate to be read by people")]
    let rate = drawn as f64 / seconds;
    Ok(Passed::Ran(format!(
        "seed {seed}: {drawn} commands, {accepted} of them understood and run, none missed ({rate:.0} per second)"
    )))
}

/// Takes parts out of `text` as long as bash still does what the analysis does not tell.
fn minimised(text: &str, jail: &mut Jail) -> std::io::Result<String> {
    let mut least: Vec<char> = text.chars().collect();
    let mut runs = 0;
    let mut size = least.len().div_ceil(2);
    while size > 0 && runs < MINIMISING_RUNS {
        let mut at = 0;
        while at < least.len() && runs < MINIMISING_RUNS {
            let end = least.len().min(at + size);
            let candidate: Vec<char> =
                least.iter().take(at).chain(least.iter().skip(end)).copied().collect();
            let shorter: String = candidate.iter().collect();
            let still = match analyze(&shorter) {
                Analysis::Commands(commands) if is_harmless(&shorter) => {
                    runs += 1;
                    !missed(commands.as_slice(), &jail.observe(&shorter)?).is_empty()
                }
                Analysis::Commands(_) | Analysis::Opaque(_) => false,
            };
            if still {
                least = candidate;
            } else {
                at = end;
            }
        }
        size /= 2;
    }
    Ok(least.into_iter().collect())
}
