//! Prints the commands that bash would run for the text given as arguments.
//!
//! `cargo run -p innerve-bash --example commands -- 'git status && rm -rf build'`

use std::io::{self, Write as _};

use innerve_bash::{Effect, analyze};

fn main() -> io::Result<()> {
    let text = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    let analysis = analyze(&text);
    let mut out = io::stdout().lock();
    for command in analysis.commands() {
        let effects: Vec<&str> = command.effects.iter().map(Effect::name).collect();
        writeln!(out, "{:<9}  {}  [{}]", command.class.name(), command.text(), effects.join(" "))?;
    }
    if let Some(reason) = analysis.opaque() {
        writeln!(out, "opaque: {} ({})", reason.message, reason.code.name())?;
    }
    Ok(())
}
