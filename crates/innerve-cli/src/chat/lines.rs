//! The conversation line by line, for terminals that cannot be drawn on.

use std::io::{self, Write as _};
use std::sync::Arc;

use super::talk::Talk;
use crate::args::OutputFormat;
use crate::converse::follow;
use crate::exit::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::output::{BOLD, DIM, note};
use crate::terminal::Keyboard;

/// Talks until the input ends or `/exit`.
pub(super) async fn talk(mut talk: Talk, keyboard: &Arc<Keyboard>) -> Result<Exit, Failure> {
    note(&format!(
        "{BOLD}innerve{BOLD:#} {DIM}{}; /exit or Ctrl-D ends, Ctrl-C stops an answer{DIM:#}",
        talk.model()
    ));
    let mut interrupts = Interrupts::listen()?;
    loop {
        ask_for_line().map_err(|error| Failure::new(format!("standard error failed: {error}")))?;
        let Some(line) = next_line(keyboard, &mut interrupts).await else { break };
        match line.trim() {
            "" => {}
            "/exit" | "/quit" => break,
            task => {
                talk.look().await;
                let run = talk.say(task);
                let (Some(mut run), Some(reload)) = (run, talk.reload.as_mut()) else { break };
                // How one answer ended does not end the conversation.
                let _exit = follow(&mut run, OutputFormat::Text, &mut interrupts, reload).await?;
            }
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
