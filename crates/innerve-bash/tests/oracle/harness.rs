//! A small test harness with the options that `cargo test` and cargo-nextest use.

use std::env;
use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

/// How a test ends well.
#[derive(Debug)]
pub(crate) enum Passed {
    /// It ran; what it has to say, if anything.
    Ran(String),
    /// It could not run; why.
    Skipped(String),
}

pub(crate) type Outcome = Result<Passed, Box<dyn Error>>;

/// A test: its name is a claim.
pub(crate) type Test = (&'static str, fn() -> Outcome);

/// Does what the command line asks for.
pub(crate) fn run(tests: &[Test]) -> ExitCode {
    let mut arguments = env::args().skip(1).peekable();
    let (mut filters, mut skips) = (Vec::new(), Vec::new());
    let (mut list, mut exact, mut ignored) = (false, false, false);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--list" => list = true,
            "--exact" => exact = true,
            "--ignored" => ignored = true,
            "--skip" => skips.extend(arguments.next()),
            "--format" | "--test-threads" | "--color" | "--logfile" => drop(arguments.next()),
            flag if flag.starts_with('-') => {}
            _ => filters.push(argument),
        }
    }
    let matches = |name: &str, filter: &String| {
        if exact { name == filter } else { name.contains(filter.as_str()) }
    };
    let chosen = tests.iter().filter(|(name, _)| {
        let wanted = filters.is_empty() || filters.iter().any(|filter| matches(name, filter));
        // No test is switched off here.
        wanted && !ignored && !skips.iter().any(|skip| matches(name, skip))
    });
    let mut failed = 0;
    for (name, test) in chosen {
        if list {
            println!("{name}: test");
            continue;
        }
        let start = Instant::now();
        let outcome = test();
        let time = start.elapsed().as_secs_f64();
        match outcome {
            Ok(Passed::Ran(note)) => println!("test {name} ... ok ({time:.1} s) {note}"),
            Ok(Passed::Skipped(reason)) => println!("test {name} ... skipped: {reason}"),
            Err(error) => {
                println!("test {name} ... FAILED ({time:.1} s)\n{error}");
                failed += 1;
            }
        }
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
