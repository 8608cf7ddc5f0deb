//! `innerve` without a verb: a conversation, line by line.

use std::io::{self, Write as _};
use std::sync::Arc;

use innerve_agent::{Agent, PastSession};
use innerve_protocol::ContentBlock;

use crate::args::{OutputFormat, SessionArguments};
use crate::converse::{follow, resumed};
use crate::exit::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::output::{BOLD, DIM, note, warn};
use crate::provider;
use crate::terminal::Keyboard;
use crate::wire::{Watch, Workplace};

/// Talks until the input ends or `/exit`.
pub(crate) async fn chat(arguments: SessionArguments) -> Result<Exit, Failure> {
    let Some(keyboard) = Keyboard::open() else {
        return Err(Failure::usage(
            "a conversation needs a terminal; for one task use: innerve run \"your task\"",
        ));
    };
    let Some(chosen) = provider::choose(&arguments.model)? else {
        return Err(Failure::usage(
            "no model is connected. Set ANTHROPIC_API_KEY, or OPENAI_BASE_URL with --model NAME; \
             to see what innerve does without one: innerve run",
        ));
    };
    let workplace = Workplace::find(&arguments.policy)?;
    for warning in &workplace.warnings {
        warn(warning);
    }
    note(&format!(
        "{BOLD}innerve{BOLD:#} {DIM}{}; /exit or Ctrl-D ends, Ctrl-C stops an answer{DIM:#}",
        chosen.name
    ));
    let resumed = resumed(&workplace, &arguments)?;
    let id = resumed.as_ref().map(PastSession::id);
    let env = workplace.session(chosen, &arguments, id.as_deref(), Watch::Nothing)?;
    let mut reload = workplace.reload(&env.policy, &arguments.policy);
    let agent = match resumed {
        None => Agent::start(env),
        Some(past) => Agent::resume(env, past),
    }
    .map_err(|error| Failure::new(error.to_string()))?;
    let mut interrupts = Interrupts::listen()?;
    loop {
        ask_for_line().map_err(|error| Failure::new(format!("standard error failed: {error}")))?;
        let Some(line) = next_line(&keyboard, &mut interrupts).await else { break };
        match line.trim() {
            "" => {}
            "/exit" | "/quit" => break,
            task => {
                reload.look();
                let mut run = agent.run(vec![ContentBlock::text(task)]);
                // How one answer ended does not end the conversation.
                let _exit =
                    follow(&mut run, OutputFormat::Text, &mut interrupts, &mut reload).await?;
            }
        }
    }
    for notice in agent.close("prompt_input_exit").await {
        warn(&notice);
    }
    workplace.close();
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
