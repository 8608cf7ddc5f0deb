//! The facts of shell commands: each simple command with what it touches.

#[cfg(not(feature = "bash"))]
use super::Place;
use super::{CallFacts, Need};

/// Longer commands are not analyzed; deny rules are searched in their text all the same.
#[cfg(feature = "bash")]
const MAX_COMMAND: usize = 10_000;

/// Without the analyzer every command is opaque.
#[cfg(not(feature = "bash"))]
pub(super) fn facts(strict: CallFacts, command: &str, _place: Place<'_>) -> CallFacts {
    opaque(strict, command, "not_analyzed", "the shell analyzer is not built in")
}

#[cfg(feature = "bash")]
pub(super) use analyzed::facts;

fn opaque(mut strict: CallFacts, command: &str, code: &str, message: &str) -> CallFacts {
    strict.need = Need::ByTargets;
    strict.command = Some(command.to_owned());
    strict.opaque = Some((code.to_owned(), message.to_owned()));
    strict
}

#[cfg(feature = "bash")]
mod analyzed;
#[cfg(feature = "bash")]
mod changes;
#[cfg(feature = "bash")]
mod descent;
#[cfg(feature = "bash")]
mod links;
#[cfg(feature = "bash")]
mod walk;

/// The last component of a program's name.
#[cfg(feature = "bash")]
fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
