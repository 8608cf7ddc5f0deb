//! `innerve run`: one task, then exit.

use std::io::{self, IsTerminal as _, Read as _};

use innerve_agent::{Agent, AgentEvent, Run, TerminalReason, Transcript};
use innerve_protocol::ContentBlock;

use crate::args::{OutputFormat, RunArguments, SessionArguments};
use crate::exit::{Exit, Failure};
use crate::output::{JsonEvents, TextEvents, warn};
use crate::provider::{self, Chosen};
use crate::wire::{Watch, Workplace};
use crate::{sessions, tour};

/// Text on standard input that is taken at most.
const MAX_PIPED: u64 = 10 * 1024 * 1024;

/// Runs the verb.
pub(crate) async fn run(arguments: RunArguments) -> Result<Exit, Failure> {
    let chosen = provider::choose(&arguments.session.model)?;
    let prompt = prompt(&arguments)?;
    let resumes = arguments.session.continue_latest || arguments.session.resume.is_some();
    let (chosen, prompt) = match (chosen, prompt) {
        (Some(chosen), Some(prompt)) => (chosen, prompt),
        (Some(chosen), None) if arguments.session.model.replay.is_some() => {
            (chosen, "Play the recording.".to_owned())
        }
        (Some(chosen), None) if resumes => (chosen, "Go on where you stopped.".to_owned()),
        (Some(_), None) => {
            return Err(Failure::usage("there is no task; say it: innerve run \"your task\""));
        }
        (None, None) if !resumes => return tour::play(&arguments).await,
        (None, _) => {
            return Err(Failure::usage(
                "no model is connected. Set ANTHROPIC_API_KEY, or OPENAI_BASE_URL (and OPENAI_API_KEY) with --model NAME; \
                 or play the tour: innerve run",
            ));
        }
    };
    let workplace = Workplace::find(&arguments.session.policy)?;
    converse(workplace, chosen, prompt, &arguments.session, arguments.output).await
}

/// The task: the argument, and what is piped in.
fn prompt(arguments: &RunArguments) -> Result<Option<String>, Failure> {
    let mut piped = String::new();
    if !io::stdin().is_terminal() && is_piped() {
        io::stdin().take(MAX_PIPED).read_to_string(&mut piped).map_err(|error| {
            Failure::new(format!("standard input cannot be read as text: {error}"))
        })?;
    }
    let piped = piped.trim();
    let prompt = match (&arguments.prompt, piped.is_empty()) {
        (Some(prompt), true) => prompt.clone(),
        (Some(prompt), false) => format!("{prompt}\n\n{piped}"),
        (None, false) => piped.to_owned(),
        (None, true) => return Ok(None),
    };
    if prompt.trim().is_empty() {
        return Err(Failure::usage("the task is empty; say what to do: innerve run \"your task\""));
    }
    Ok(Some(prompt))
}

/// Whether standard input is a pipe or a file with something to say; `/dev/null` is not.
fn is_piped() -> bool {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd as _;
        use std::os::unix::fs::FileTypeExt as _;
        let Ok(file) = io::stdin().as_fd().try_clone_to_owned().map(std::fs::File::from) else {
            return false;
        };
        file.metadata().is_ok_and(|meta| {
            let kind = meta.file_type();
            kind.is_fifo() || kind.is_file() || kind.is_socket()
        })
    }
    #[cfg(not(unix))]
    true
}

/// Does one task in a workplace and prints it.
pub(crate) async fn converse(
    workplace: Workplace,
    chosen: Chosen,
    prompt: String,
    session: &SessionArguments,
    output: OutputFormat,
) -> Result<Exit, Failure> {
    for warning in &workplace.warnings {
        warn(warning);
    }
    let resumed = resumed(&workplace, session)?;
    let id = resumed.as_ref().map(|transcript| transcript.session_id.clone());
    let env = workplace.session(chosen, session, id.as_deref(), Watch::Nothing);
    let agent = match resumed {
        None => Agent::start(env),
        Some(transcript) => Agent::resume(env, transcript),
    }
    .map_err(|error| Failure::new(error.to_string()))?;
    let mut run = agent.run(vec![ContentBlock::text(prompt)]);
    let exit = follow(&mut run, output).await;
    workplace.close();
    exit
}

fn resumed(
    workplace: &Workplace,
    session: &SessionArguments,
) -> Result<Option<Transcript>, Failure> {
    let folder = match (&session.resume, session.continue_latest) {
        (Some(id), _) => sessions::find(&workplace.sessions, id)?,
        (None, true) => sessions::latest(&workplace.sessions)?,
        (None, false) => return Ok(None),
    };
    let (transcript, quarantined) = Transcript::load(&folder.join("log.jsonl"))
        .map_err(|error| Failure::new(error.to_string()))?;
    for line in quarantined {
        warn(&format!(
            "line {} of the session's log cannot be read and is left out: {}",
            line.line, line.problem
        ));
    }
    for tool_use in &transcript.interrupted {
        warn(&format!("the session ended while {} ran; it may have had effects", tool_use.name));
    }
    Ok(Some(transcript))
}

/// Prints events until the run ends. The first Ctrl-C stops the run in good order, the second one at once.
pub(crate) async fn follow(run: &mut Run, output: OutputFormat) -> Result<Exit, Failure> {
    let mut text = TextEvents::new();
    let json = JsonEvents { every_event: output == OutputFormat::StreamJson };
    let mut exit = Exit::Failure;
    let mut interrupted = false;
    loop {
        let event = tokio::select! {
            event = run.next() => event,
            _ = tokio::signal::ctrl_c() => {
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
                crate::output::complain(&summary.terminal.message);
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
