//! `innerve completions`: completion scripts and the manual page, written from the command line's own description.

use std::error::Error;
use std::io::{self, Write as _};

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;

use crate::args::{Arguments, CompletionsArguments, Page};
use crate::exit::{Exit, Failure};
use crate::output::broken_pipe_is_success;

/// Prints the script or the page.
pub(crate) fn completions(arguments: &CompletionsArguments) -> Result<Exit, Failure> {
    let mut command = for_people(&Arguments::command());
    let mut text = Vec::new();
    match arguments.shell {
        Page::Completions(shell) => {
            clap_complete::generate(shell, &mut command, "innerve", &mut text);
        }
        Page::Manual => text = manual(command)?.into_bytes(),
    }
    broken_pipe_is_success(io::stdout().write_all(&text))
}

/// The command line without the verbs that are for innerve's own use.
fn for_people(command: &Command) -> Command {
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    Command::new("innerve")
        .version(env!("CARGO_PKG_VERSION"))
        .args(command.get_arguments())
        .subcommands(verbs)
        .about(command.get_about().cloned().unwrap_or_default())
        .after_help(command.get_after_help().cloned().unwrap_or_default())
}

/// One page for all verbs, with a section for each: it names none of the pages of their own that there would be otherwise.
fn manual(command: Command) -> Result<String, Failure> {
    let failed = |error: &dyn Error| Failure::new(format!("the page cannot be written: {error}"));
    let verbs: Vec<String> =
        command.get_subcommands().map(|verb| verb.get_name().replace('-', "\\-")).collect();
    let mut sections = String::new();
    for verb in command.get_subcommands() {
        add_section(&mut sections, "innerve", verb).map_err(|error| failed(&error))?;
    }
    let mut page = Vec::new();
    Man::new(command).render(&mut page).map_err(|error| failed(&error))?;
    let mut page = String::from_utf8(page).map_err(|error| failed(&error))?;
    page.push_str(&sections);
    // By this name people know such a section.
    page = page.replace(".SH EXTRA\n", ".SH NOTES\n").replace(".SS EXTRA\n", ".SS NOTES\n");
    for verb in verbs.iter().map(String::as_str).chain(["help"]) {
        page = page.replace(&format!("innerve\\-{verb}(1)"), &format!("innerve {verb}"));
    }
    Ok(page)
}

/// What a verb has of its own, and then each of its verbs.
fn add_section(page: &mut String, above: &str, verb: &Command) -> io::Result<()> {
    let name = format!("{above} {}", verb.get_name());
    let man = Man::new(verb.clone().bin_name(name.clone()));
    let mut section = Vec::new();
    man.render_description_section(&mut section)?;
    man.render_synopsis_section(&mut section)?;
    man.render_options_section(&mut section)?;
    if verb.get_after_help().is_some() {
        man.render_extra_section(&mut section)?;
    }
    let section = String::from_utf8_lossy(&section);
    let heading = name.to_uppercase();
    page.push_str(&format!(".SH \"{heading}\"\n"));
    // The page as a whole begins with what `.ie` and `.el` say.
    for line in
        section.lines().filter(|line| !line.starts_with(".ie ") && !line.starts_with(".el "))
    {
        match line.strip_prefix(".SH ") {
            // The heading says what it is.
            Some("DESCRIPTION") => {}
            Some(part) => page.push_str(&format!(".SS {part}\n")),
            None => page.push_str(&format!("{line}\n")),
        }
    }
    verb.get_subcommands().try_for_each(|verb| add_section(page, &name, verb))
}
