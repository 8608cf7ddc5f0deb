//! Where each command of a text runs: `cd` followed, as far as it is certain to have happened.

use std::path::PathBuf;

use innerve_bash::{Command, Context};

use super::analyzed::destination;
use crate::facts::{Part, Place};

/// The directory as the commands change it, once for the text itself and once for what runs in subshells.
pub(super) struct Walk<'a> {
    text: &'a str,
    place: Place<'a>,
    top: Option<PathBuf>,
    /// The directory inside subshells.
    inner: Option<PathBuf>,
    /// Directories that an earlier command makes.
    made: Vec<PathBuf>,
    /// Whether the last `cd` may have failed, so that only what is joined to it by `&&` runs where it leads.
    conditional: bool,
    /// Whether a directory was entered that the analyzer cannot follow.
    diverged: bool,
    /// Where the last command ended.
    end: usize,
}

impl<'a> Walk<'a> {
    pub(super) fn new(text: &'a str, place: Place<'a>) -> Self {
        let top = Some(place.cwd.to_path_buf());
        let inner = top.clone();
        Self {
            text,
            place,
            top,
            inner,
            made: Vec::new(),
            conditional: false,
            diverged: false,
            end: 0,
        }
    }

    /// The directory in which the next command runs.
    pub(super) fn enter(&mut self, command: &Command) -> Option<PathBuf> {
        if self.conditional && command.span.start >= self.end && !self.is_joined(command.span.start)
        {
            self.top = None;
            self.inner = None;
            self.conditional = false;
        }
        self.end = self.end.max(command.span.end);
        if is_isolated(command) { self.inner.clone() } else { self.top.clone() }
    }

    /// Whether the output of another command is the input of the one that starts at `start`.
    pub(super) fn is_piped(&self, start: usize) -> bool {
        let before = self.text.get(..start).unwrap_or_default().trim_end();
        before.ends_with("|&") || (before.ends_with('|') && !before.ends_with("||"))
    }

    /// Takes note of what the command does to the directory.
    pub(super) fn leave(&mut self, command: &Command, part: &Part) {
        match command.name() {
            Some("mkdir") => {
                self.made
                    .extend(part.targets.iter().filter_map(|target| target.path()?.path.clone()));
            }
            Some("cd" | "pushd" | "popd") => {
                self.diverged |= command.argv.iter().any(|word| word.literal().is_none())
                    || command.argv.len() == 1;
                let to = self.destination(command, part);
                if !is_isolated(command) {
                    self.top.clone_from(&to);
                }
                self.inner = to;
            }
            Some(_) | None => {}
        }
    }

    /// Whether the analyzer has lost the directory on the way.
    pub(super) fn diverged(&self) -> bool {
        self.diverged
    }

    /// Where a `cd` leads; `None` if that is not certain.
    fn destination(&mut self, command: &Command, part: &Part) -> Option<PathBuf> {
        // In a loop, a branch or a function nobody knows whether and how often it happens.
        if !is_isolated(command) && command.context != Context::Top {
            return None;
        }
        let (given, real) = destination(part)?;
        let exists = self.made.contains(&given) || self.place.disk.resolve(&given).exists;
        if !exists && part.cwd.as_ref() != Some(&real) {
            self.conditional = true;
        }
        Some(real)
    }

    /// Whether the command that starts at `start` runs only when the one before it succeeded.
    fn is_joined(&self, start: usize) -> bool {
        let gap = self.text.get(self.end..start).unwrap_or(";");
        let joins = gap.replace("&&", "");
        !joins.contains([';', '\n', '&']) && !joins.contains("||")
    }
}

/// Whether the command runs in a shell of its own, so that its `cd` ends with it.
fn is_isolated(command: &Command) -> bool {
    match command.context {
        Context::Substitution | Context::Subshell | Context::Background => true,
        Context::Top | Context::Function | Context::Loop | Context::Condition => false,
    }
}
