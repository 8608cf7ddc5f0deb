//! `innerve run`: one task, then exit.

use std::io::{self, IsTerminal as _, Read as _};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use crate::args::RunArguments;
use crate::converse::{Task, converse};
use crate::exit::{Exit, Failure};
use crate::output::note;
use crate::wire::Workplace;
use crate::{provider, tour};

/// Bytes of text on standard input at most.
const MAX_PIPED: usize = 10 * 1024 * 1024;
/// After this time a person is told that standard input is waited for; the tour does not wait longer.
const SILENCE: Duration = Duration::from_secs(2);

/// Runs the verb.
pub(crate) async fn run(arguments: RunArguments) -> Result<Exit, Failure> {
    let chosen = provider::choose(&arguments.session.agent.model)?;
    let task = task(&arguments, chosen.is_some())?;
    let resumes = arguments.session.continue_latest || arguments.session.resume.is_some();
    let (chosen, task) = match (chosen, task) {
        (Some(chosen), Some(task)) => (chosen, task),
        (Some(chosen), None) if arguments.session.agent.model.replay.is_some() => {
            (chosen, Task::new("Play the recording."))
        }
        (Some(chosen), None) if resumes => (chosen, Task::new("Go on where you stopped.")),
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
    let mut workplace = Workplace::find(&arguments.session.agent.policy)?;
    if let Some(name) = &arguments.permission_prompt_tool {
        workplace.set_prompt_tool(name)?;
    }
    converse(workplace, chosen, task, &arguments.session, arguments.output).await
}

/// The task: the argument, and what is piped in; alone, that is the task.
fn task(arguments: &RunArguments, connected: bool) -> Result<Option<Task>, Failure> {
    let piped = if !io::stdin().is_terminal() && is_piped() {
        piped(arguments.prompt.is_some() || connected)?
    } else {
        String::new()
    };
    let piped = piped.trim();
    let task = match (&arguments.prompt, piped.is_empty()) {
        (Some(prompt), true) => Task::new(prompt),
        (Some(prompt), false) => Task { prompt: prompt.clone(), piped: Some(piped.to_owned()) },
        (None, false) => Task::new(piped),
        (None, true) => return Ok(None),
    };
    if task.prompt.trim().is_empty() {
        return Err(Failure::usage("the task is empty; say what to do: innerve run \"your task\""));
    }
    Ok(Some(task))
}

/// All of standard input. A pipe that somebody forgot to close is waited for where its text is `needed`, but not in silence.
fn piped(needed: bool) -> Result<String, Failure> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = io::stdin().take(MAX_PIPED as u64 + 1).read_to_string(&mut text);
        // Nobody waits any more where the tour has begun.
        let _late = sender.send(read.map(|_| text));
    });
    let read = match receiver.recv_timeout(SILENCE) {
        Err(RecvTimeoutError::Timeout) if needed => {
            note(
                "waiting for standard input to end; start with </dev/null if it has nothing to say",
            );
            receiver.recv().map_err(|_| RecvTimeoutError::Disconnected)
        }
        read => read,
    };
    let text = match read {
        Ok(read) => read.map_err(|error| {
            Failure::new(format!("standard input cannot be read as text: {error}"))
        })?,
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => String::new(),
    };
    if text.len() > MAX_PIPED {
        return Err(Failure::usage(format!(
            "standard input holds more than {} MiB; write it to a file and name that in the task",
            MAX_PIPED >> 20
        )));
    }
    Ok(text)
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
