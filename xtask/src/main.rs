//! Automation of the workspace: `cargo xtask ci|test|lint|fuzz|bench|package|release|dist`.
//!
//! One module per verb, one module per check under `lint`. Nothing here is needed to build or to use innerve.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that people run at a terminal"
)]

mod args;
mod bench;
mod cargo;
mod ci;
mod dist;
mod fuzz;
mod lint;
mod package;
mod release;
mod steps;
mod test;
mod workspace;

use std::error::Error;
use std::process::ExitCode;

use xshell::Shell;

use args::Request;
use steps::Steps;
use workspace::Workspace;

/// What a step gives back; the error is only ever shown to a person.
type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let request = match args::parse(&words) {
        Ok(Request::Help(text)) => {
            println!("{text}");
            return ExitCode::SUCCESS;
        }
        Ok(request) => request,
        Err(complaint) => {
            eprintln!("{complaint}\n\n{}", args::USAGE);
            return ExitCode::from(2);
        }
    };
    match run(&request) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the request in the workspace's root; `false` when a step failed.
fn run(request: &Request) -> Result<bool> {
    let shell = Shell::new()?;
    let workspace = Workspace::load(&shell)?;
    shell.change_dir(&workspace.root);
    let mut steps = Steps::default();
    match request {
        Request::Ci => ci::run(&shell, &workspace, &mut steps),
        Request::Lint(mode) => lint::run(&shell, &workspace, *mode, &mut steps),
        Request::Test(options) => test::run(&shell, &workspace, options, &mut steps),
        Request::FuzzBash(hunt) => fuzz::bash(&shell, *hunt, &mut steps),
        Request::FuzzKill(kills) => fuzz::kill(&shell, *kills, &mut steps),
        Request::Bench(options) => bench::run(&shell, &workspace, options, &mut steps),
        Request::Dist => dist::run(&shell, &workspace, &mut steps),
        Request::Package => package::run(&shell, &workspace, &mut steps),
        Request::Release(options) => release::run(&shell, &workspace, options, &mut steps),
        Request::Help(text) => println!("{text}"),
    }
    Ok(steps.report())
}
