//! `innerve` without a verb: a conversation at the terminal.

mod actions;
mod asking;
mod commands;
mod complete;
mod editor;
mod history;
mod input;
mod lines;
mod markdown;
mod pager;
mod results;
mod screen;
mod talk;
mod trust;
mod ui;

use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use crate::args::{ListKind, SessionArguments};
use crate::converse::resumed;
use crate::exit::{Exit, Failure};
use crate::output::{note, warn};
use crate::provider;
use crate::terminal::Keyboard;
use crate::wire::Workplace;
use asking::OnScreen;
use talk::Talk;
use ui::Ui;

/// What a newcomer reads who has set nothing yet.
const NO_MODEL: &str = "no model is connected. One of these connects one:

  export ANTHROPIC_API_KEY=…                      Anthropic
  export OPENAI_BASE_URL=http://localhost:11434/v1 INNERVE_MODEL=NAME
                                                  any OpenAI-compatible server, such as a local one

Then start innerve again; `innerve doctor` says whether it works.
To see what innerve does without a model: innerve run";

/// Talks until a person ends it.
pub(crate) async fn chat(mut arguments: SessionArguments) -> Result<Exit, Failure> {
    let keyboard = Keyboard::open().filter(|_| io::stdin().is_terminal());
    let Some(keyboard) = keyboard else {
        return Err(Failure::usage(
            "a conversation needs a terminal; for one task use: innerve run \"your task\"",
        ));
    };
    let Some(chosen) = provider::choose(&arguments.agent.model)? else {
        return Err(Failure::usage(NO_MODEL));
    };
    let mut workplace = Workplace::find(&arguments.agent.policy)?;
    if trust::asks(&workplace)? {
        workplace = Workplace::find(&arguments.agent.policy)?;
    }
    for warning in &workplace.warnings {
        warn(warning);
    }
    let past = resumed(&workplace, &arguments)?;
    let said = past.as_ref().map(|past| past.transcript().clone()).unwrap_or_default();
    // A chat is long, is gone on with, and has somebody who watches the list.
    arguments.list.task_list.get_or_insert(ListKind::Shared);
    if !draws() {
        let talk = Talk::begin(workplace, chosen, arguments, past)?;
        actions::recall(&said);
        return lines::talk(talk, &keyboard).await;
    }
    let (approver, questions) = OnScreen::new();
    workplace.ask_by(Arc::new(approver));
    let talk = Talk::begin(workplace, chosen, arguments, past)?;
    let ui = Ui::open(talk, questions)?;
    if !said.messages.is_empty() {
        actions::recall(&said);
        note("");
    }
    ui.run().await
}

/// Whether the terminal can be drawn on.
fn draws() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
    !dumb && io::stdin().is_terminal() && io::stdout().is_terminal()
}
