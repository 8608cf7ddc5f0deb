//! Reads bash and never runs it: every command, argv, redirection and effect, or [`Analysis::Opaque`].
//!
//! [`analyze`] is the way in. Its answer is either the complete list of simple commands that bash would run, or
//! `Opaque` with the reason: what is not understood is never called safe. This crate does no I/O and runs nothing;
//! it does not decide what is allowed either (`innerve-permission` does).

#[cfg(feature = "analyzer")]
mod analysis;
#[cfg(feature = "analyzer")]
mod command;
#[cfg(feature = "analyzer")]
mod effects;
#[cfg(feature = "analyzer")]
mod opaque;
#[cfg(feature = "analyzer")]
mod word;

#[cfg(feature = "analyzer")]
mod commands;
#[cfg(feature = "analyzer")]
mod continuation;
#[cfg(feature = "analyzer")]
mod directory;
#[cfg(feature = "analyzer")]
mod judge;
#[cfg(feature = "analyzer")]
mod raw;
#[cfg(feature = "analyzer")]
mod read;
#[cfg(feature = "analyzer")]
mod second;
mod secrets;
#[cfg(feature = "analyzer")]
mod tree;
#[cfg(feature = "analyzer")]
mod variables;

#[cfg(feature = "analyzer")]
pub use analysis::{Analysis, Commands, Opaque};
#[cfg(feature = "analyzer")]
pub use command::{Assignment, Command, Context, Redirection, RedirectionKind, Span};
#[cfg(feature = "analyzer")]
pub use effects::{Class, Effect, EffectSet};
#[cfg(feature = "analyzer")]
pub use opaque::{OpaqueCode, OpaqueReason};
pub use secrets::is_secret_path;
#[cfg(feature = "analyzer")]
pub use word::{DynamicWord, Word, WordPart};

/// Lists every command that bash would run for `command`, or says why it cannot.
///
/// Relative paths are reported as written.
#[cfg(feature = "analyzer")]
pub fn analyze(command: &str) -> Analysis {
    analyze_in(command, None)
}

/// As [`analyze`], with the directory that the command starts in (an absolute path), so that `cd` can be followed.
#[cfg(feature = "analyzer")]
pub fn analyze_in(command: &str, cwd: Option<&str>) -> Analysis {
    match continuation::join(command) {
        None => read_whole(command, cwd),
        Some(joined) => read_whole(&joined.text, cwd).moved(|span| joined.original(span)),
    }
}

#[cfg(feature = "analyzer")]
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
#[cfg(all(doctest, feature = "analyzer"))]
struct Readme;
