//! One task of a session: starts or goes on with an agent, prints what it does, says how it ended.

use std::io;
use std::time::Duration;

use innerve_agent::{Agent, AgentEvent, PastSession, Run, TerminalReason};
use innerve_protocol::ContentBlock;

use crate::args::{OutputFormat, SessionArguments};
use crate::exit::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::output::{JsonEvents, TextEvents, complain, warn};
use crate::provider::Chosen;
use crate::sessions;
use crate::wire::{Reload, Watch, Workplace};

/// What is to be done.
pub(crate) struct Task {
    /// What a person wrote.
    pub(crate) prompt: String,
    /// What they piped in beside it.
    pub(crate) piped: Option<String>,
}

impl Task {
    /// A task without anything beside it.
    pub(crate) fn new(prompt: impl Into<String>) -> Self {
        Self { prompt: prompt.into(), piped: None }
    }
}

/// Does one task in a workplace and prints it.
pub(crate) async fn converse(
    workplace: Workplace,
    chosen: Chosen,
    task: Task,
    session: &SessionArguments,
    output: OutputFormat,
) -> Result<Exit, Failure> {
    for warning in &workplace.warnings {
        warn(warning);
    }
    let resumed = resumed(&workplace, session)?;
    let id = resumed.as_ref().map(PastSession::id);
    let env = workplace.session(chosen, session, id.as_deref(), Watch::Nothing)?;
    let agent = match resumed {
        None => Agent::start(env),
        Some(past) => Agent::resume(env, past),
    }?;
    let mut reload = workplace.reload(agent.env(), &session.agent.policy);
    let mut interrupts = Interrupts::listen()?;
    let mut run = agent.run_with(
        vec![ContentBlock::text(task.prompt)],
        task.piped.into_iter().map(ContentBlock::text).collect(),
    );
    let exit = follow(&mut run, output, &mut interrupts, &mut reload).await;
    for notice in agent.close("other").await {
        warn(&notice);
    }
    workplace.end_servers().await;
    workplace.close();
    match workplace.fatal() {
        Some(failure) => Err(failure),
        None => exit,
    }
}

/// The session to go on with, taken before anything of it is read.
pub(crate) fn resumed(
    workplace: &Workplace,
    session: &SessionArguments,
) -> Result<Option<PastSession>, Failure> {
    let sessions = &workplace.sessions;
    let folder = match (&session.resume, session.continue_latest) {
        (Some(id), _) => sessions::find(sessions, id)?,
        (None, true) => sessions::latest(sessions)?,
        (None, false) if session.fork => {
            return Err(Failure::usage(
                "--fork copies a session: say which by --continue or --resume",
            ));
        }
        (None, false) => return Ok(None),
    };
    let past = sessions::take(&folder)?;
    for tool_use in &past.transcript().interrupted {
        warn(&format!("the session ended while {} ran; it may have had effects", tool_use.name));
    }
    if !session.fork {
        return Ok(Some(past));
    }
    let id = sessions::fork_of(&past, sessions)?;
    sessions::take(&sessions.join(id)).map(Some)
}

/// How often settings files are looked at while a task runs.
const LOOKS: Duration = Duration::from_secs(1);

/// Prints events until the run ends, and lets changed settings count. The first interrupt stops the run in good order, the second one at once.
pub(crate) async fn follow(
    run: &mut Run,
    output: OutputFormat,
    interrupts: &mut Interrupts,
    reload: &mut Reload,
) -> Result<Exit, Failure> {
    let mut looks = tokio::time::interval(LOOKS);
    let mut text = TextEvents::new();
    let json = JsonEvents { every_event: output == OutputFormat::StreamJson };
    let mut exit = Exit::Failure;
    let mut interrupted = false;
    loop {
        let event = tokio::select! {
            event = run.next() => event,
            _ = looks.tick() => {
                reload.look().await;
                continue;
            }
            () = interrupts.next() => {
                if interrupted {
                    return Ok(Exit::Interrupted);
                }
                interrupted = true;
                warn("stopping; press Ctrl-C again to quit at once");
                run.cancel();
                continue;
            }
        };
        let Some(event) = event else { break };
        if matches!(event, AgentEvent::User(_)) {
            // A turn is over, and another begins.
            reload.look().await;
        }
        let shown = match output {
            OutputFormat::Text => text.show(&event),
            OutputFormat::Json | OutputFormat::StreamJson => json.show(&event),
        };
        if let Err(error) = shown {
            run.cancel();
            if error.kind() != io::ErrorKind::BrokenPipe {
                return Err(Failure::new(format!("standard output failed: {error}")));
            }
        }
        if let AgentEvent::Ended(summary) = event {
            if output != OutputFormat::Text && !summary.terminal.message.is_empty() {
                complain(&summary.terminal.message);
            }
            exit = exit_of(summary.terminal.reason);
            break;
        }
    }
    Ok(exit)
}

fn exit_of(reason: TerminalReason) -> Exit {
    match reason {
        TerminalReason::Completed => Exit::Success,
        TerminalReason::AbortedStreaming | TerminalReason::AbortedTools => Exit::Interrupted,
        TerminalReason::MaxTurns
        | TerminalReason::BlockingLimit
        | TerminalReason::StopHookPrevented
        | TerminalReason::HookStopped
        | TerminalReason::BudgetExceeded
        | TerminalReason::DeniedByUser
        | TerminalReason::Refused => Exit::Stopped,
        TerminalReason::PromptTooLong
        | TerminalReason::ImageError
        | TerminalReason::ModelError
        | TerminalReason::SessionError => Exit::Failure,
    }
}
