//! What the analyzer says of whole texts.

mod attacks;
mod classes;
mod commands;
mod everyday;
mod invariants;
mod opaque;
mod opaque_page;
mod paths;
mod properties;

use innerve_bash::{Analysis, Command, Word};

/// The words of a command joined by `|`, dynamic ones as `*`.
fn argv(command: &Command) -> String {
    let words: Vec<&str> = command
        .argv
        .iter()
        .map(|word| match word {
            Word::Literal(text) => text.as_str(),
            Word::Dynamic(_) => "*",
        })
        .collect();
    words.join("|")
}

/// The argv of every command that was found.
fn argvs(analysis: &Analysis) -> Vec<String> {
    analysis.commands().iter().map(argv).collect()
}
