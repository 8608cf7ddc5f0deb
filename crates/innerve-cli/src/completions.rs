//! `innerve completions`: completion scripts and the manual page, written from the command line's own description.

use std::io::{self, Write as _};

use clap::CommandFactory as _;

use crate::args::{Arguments, CompletionsArguments, Page};
use crate::exit::{Exit, Failure};
use crate::output::broken_pipe_is_success;

/// Prints the script or the page.
pub(crate) fn completions(arguments: &CompletionsArguments) -> Result<Exit, Failure> {
    let mut command = Arguments::command();
    let mut text = Vec::new();
    match arguments.shell {
        Page::Completions(shell) => {
            clap_complete::generate(shell, &mut command, "innerve", &mut text);
        }
        Page::Manual => clap_mangen::Man::new(command)
            .render(&mut text)
            .map_err(|error| Failure::new(format!("the page cannot be written: {error}")))?,
    }
    broken_pipe_is_success(io::stdout().write_all(&text))
}
