//! What the analyzer says, against what bash does.
//!
//! Real bash runs commands in a directory of stub programs that only write down how they were called ([`jail`]); whatever it
//! executed and wrote must be covered by the analysis ([`compare`]), unless that is `Opaque`. The commands are written by
//! hand ([`cases`]) or drawn from a grammar and damaged a little ([`generate`]).
//!
//! This binary is its own test harness, because it is also the stub program: each name in the jail is a link to it.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test harness reports on its streams"
)]

#[cfg(unix)]
mod cases;
#[cfg(unix)]
mod compare;
#[cfg(unix)]
mod generate;
#[cfg(unix)]
mod harmless;
#[cfg(unix)]
mod harness;
#[cfg(unix)]
mod hunt;
#[cfg(unix)]
mod jail;
#[cfg(unix)]
mod stub;

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    stub::answer().unwrap_or_else(|| harness::run(&hunt::tests()))
}

#[cfg(not(unix))]
fn main() {
    println!("skipped: the oracle needs bash on a Unix system");
}
