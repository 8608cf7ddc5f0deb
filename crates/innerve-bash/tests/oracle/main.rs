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

#[cfg(target_os = "linux")]
mod cases;
#[cfg(target_os = "linux")]
mod compare;
#[cfg(target_os = "linux")]
mod generate;
#[cfg(target_os = "linux")]
mod harmless;
#[cfg(target_os = "linux")]
mod harness;
#[cfg(target_os = "linux")]
mod hunt;
#[cfg(target_os = "linux")]
mod jail;
#[cfg(target_os = "linux")]
mod stub;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    stub::answer().unwrap_or_else(|| harness::run(&hunt::tests()))
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: the oracle runs on Linux only");
}
