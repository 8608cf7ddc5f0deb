//! The conversation line by line, for terminals that cannot be drawn on.

use std::io::{self, Write as _};
use std::sync::Arc;

use super::actions::{NO_CONVERSATION, Next};
use super::commands::{self, Typed};
use super::talk::Talk;
use crate::args::OutputFormat;
use crate::converse::follow;
use crate::exit::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::output::{BOLD, DIM, complain, note, warn};
use crate::terminal::Keyboard;

/// Talks until the input ends or `/exit`.
pub(super) async fn talk(mut talk: Talk, keyboard: &Arc<Keyboard>) -> Result<Exit, Failure> {
    note(&format!(
        "{BOLD}innerve{BOLD:#} {DIM}{}; /help lists commands, Ctrl-D ends, Ctrl-C stops an answer{DIM:#}",
        talk.model()
    ));
    let mut interrupts = Interrupts::listen()?;
    loop {
        ask_for_line().map_err(|error| Failure::new(format!("standard error failed: {error}")))?;
        let Some(line) = next_line(keyboard, &mut interrupts).await else { break };
        if line.trim().is_empty() {
            continue;
        }
        let run = match commands::read(&line) {
            Typed::Known(action, behind) => match talk.act(action, behind).await {
                Ok(Next::Stay) => None,
                Ok(Next::End) => break,
                Ok(Next::Follow(run)) => Some(run),
                Err(failure) => {
                    complain(&failure.message);
                    None
                }
            },
            Typed::Unknown(name) => {
                warn(&format!("there is no command /{name}; /help lists them"));
                None
            }
            Typed::Words => {
                talk.look().await;
                let run = talk.say(&line);
                if run.is_none() {
                    warn(NO_CONVERSATION);
                }
                run
            }
        };
        if let (Some(mut run), Some(reload)) = (run, talk.reload.as_mut()) {
            // How one answer ended does not end the conversation.
            let _exit = follow(&mut run, OutputFormat::Text, &mut interrupts, reload).await?;
        }
    }
    talk.end().await;
    Ok(Exit::Success)
}

async fn next_line(keyboard: &Arc<Keyboard>, interrupts: &mut Interrupts) -> Option<String> {
    tokio::select! {
        line = keyboard.line() => line,
        () = interrupts.next() => None,
    }
}

fn ask_for_line() -> io::Result<()> {
    let mut stderr = anstream::stderr();
    write!(stderr, "{BOLD}> {BOLD:#}")?;
    stderr.flush()
}
