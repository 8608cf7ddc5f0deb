//! `innerve rules`: where rules come from, what is wrong with them, and what they decide.

mod cases;
mod lint;
mod list;
mod replay;

use std::path::Path;

use crate::args::{RulesArguments, RulesVerb};
use crate::exit::{Exit, Failure};
use crate::output::plain;

/// Runs the verb.
pub(crate) fn rules(arguments: &RulesArguments) -> Result<Exit, Failure> {
    match &arguments.verb {
        RulesVerb::List(arguments) => list::list(arguments),
        RulesVerb::Lint(arguments) => lint::lint(arguments),
        RulesVerb::Test(arguments) => cases::test(arguments),
        RulesVerb::Replay(arguments) => replay::replay(arguments),
    }
}

/// A file as it is shown: relative to the current directory or to the home where that is shorter.
fn shown(file: &Path, cwd: &Path, home: &Path) -> String {
    let text = match (file.strip_prefix(cwd), file.strip_prefix(home)) {
        (Ok(rest), _) => rest.display().to_string(),
        (Err(_), Ok(rest)) => format!("~/{}", rest.display()),
        (Err(_), Err(_)) => file.display().to_string(),
    };
    plain(&text)
}

/// The place of a rule: file and line, or its source.
fn place(origin: &innerve_permission::Origin, cwd: &Path, home: &Path) -> String {
    match (&origin.file, origin.line) {
        (Some(file), Some(line)) => format!("{}:{line}", shown(file, cwd, home)),
        (Some(file), None) => shown(file, cwd, home),
        (None, _) => format!("{} flags", origin.source.name()),
    }
}

fn current_dir() -> Result<std::path::PathBuf, Failure> {
    std::env::current_dir()
        .map_err(|error| Failure::new(format!("the current directory cannot be read: {error}")))
}
