//! Reads bash and never runs it: every command, argv, redirection and effect, or [`Analysis::Opaque`].
//!
//! [`analyze`] is the way in. Its answer is either the complete list of simple commands that bash would run, or
//! `Opaque` with the reason: what is not understood is never called safe. This crate does no I/O and runs nothing;
//! it does not decide what is allowed either (`innerve-permission` does).

mod analysis;
mod command;
mod effects;
mod opaque;
mod word;

mod commands;
mod continuation;
mod directory;
mod judge;
mod raw;
mod read;
mod second;
mod secrets;
mod tree;
mod variables;

pub use analysis::{Analysis, Commands, Opaque};
pub use command::{Assignment, Command, Context, Redirection, RedirectionKind, Span};
pub use effects::{Class, Effect, Effects};
pub use opaque::{OpaqueCode, OpaqueReason};
pub use word::{DynamicWord, Word, WordPart};

/// Lists every command that bash would run for `command`, or says why it cannot.
///
/// Relative paths are reported as written.
pub fn analyze(command: &str) -> Analysis {
    analyze_in(command, None)
}

/// As [`analyze`], with the directory that the command starts in (an absolute path), so that `cd` can be followed.
pub fn analyze_in(command: &str, cwd: Option<&str>) -> Analysis {
    match continuation::join(command) {
        None => read_whole(command, cwd),
        Some(joined) => read_whole(&joined.text, cwd).moved(|span| joined.original(span)),
    }
}

fn read_whole(text: &str, cwd: Option<&str>) -> Analysis {
    let mut findings = read::Findings::default();
    read::Reader::new(&mut findings, text, cwd).read(read::Scope::top());
    if let Some(values) = findings.values.corrected() {
        findings = read::Findings::default();
        findings.values = values;
        read::Reader::new(&mut findings, text, cwd).read(read::Scope::top());
    }
    let commands = judge::settle(findings.found);
    match findings.refusal {
        None => Analysis::Commands(Commands(commands)),
        Some(reason) => Analysis::Opaque(Opaque { reason, found: commands }),
    }
}

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
