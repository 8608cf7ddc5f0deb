//! `innerve acp`: the agent for editors, each session in the directory that the editor names.

use std::sync::Arc;

use innerve_acp::{AcpError, Host, HostedSession, Opening};
use innerve_agent::{Agent, PastSession};
use innerve_builtins::host::HostFiles;
#[cfg(unix)]
use innerve_builtins::host::HostProcesses;
use innerve_tool::BoxFuture;
use serde_json::json;
use tokio::sync::Mutex;

#[cfg(unix)]
use crate::args::EditorTerminalArguments;
use crate::args::{AcpArguments, SessionArguments};
use crate::exit::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::output::{plain, warn};
use crate::provider;
use crate::sessions;
use crate::wire::{Reload, Watch, Workplace};

/// What an editor shows when nothing says who should answer.
const NO_MODEL: &str = "no model is connected: set ANTHROPIC_API_KEY, or OPENAI_BASE_URL and INNERVE_MODEL, in the environment \
                        that the editor starts `innerve acp` in; `innerve doctor` says whether it works";

/// Runs the verb.
pub(crate) async fn acp(arguments: AcpArguments) -> Result<Exit, Failure> {
    let AcpArguments { agent } = arguments;
    let host = Arc::new(Program { arguments: SessionArguments { agent, ..Default::default() } });
    let mut interrupts = Interrupts::listen()?;
    tokio::select! {
        served = innerve_acp::serve(host, tokio::io::stdin(), tokio::io::stdout()) => match served {
            Ok(()) => Ok(Exit::Success),
            Err(error) => Err(Failure::new(error.to_string())),
        },
        () = interrupts.next() => Ok(Exit::Interrupted),
    }
}

/// The verb by which an editor's terminal reaches this program.
#[cfg(unix)]
const TERMINAL: &str = "editor-terminal";

/// Runs the verb that an editor's terminal runs.
#[cfg(unix)]
pub(crate) fn terminal(arguments: &EditorTerminalArguments) -> Result<Exit, Failure> {
    let Ok(word) = std::env::var(innerve_acp::RELAY_WORD) else {
        return Err(Failure::usage(
            "`editor-terminal` is what an editor starts for a command of `innerve acp`; to run a command by the agent, use \
             `innerve call`",
        ));
    };
    innerve_acp::relay(&arguments.socket, &word, HostProcesses::with_environment)
        .map(|code| Exit::Command(u8::try_from(code).unwrap_or(1)))
        .map_err(|error| Failure::new(error.to_string()))
}

/// How an editor's terminal starts this program; `None` if it does not know where it is.
#[cfg(unix)]
fn launch() -> Option<innerve_acp::Launch> {
    let program = std::env::current_exe().ok()?;
    let environment = std::env::vars_os().collect();
    Some(innerve_acp::Launch { program, args: vec![TERMINAL.to_owned()], environment })
}

/// This program as the host of an editor's sessions.
struct Program {
    /// What holds for every session.
    arguments: SessionArguments,
}

impl Program {
    fn begin(&self, opening: Opening) -> Result<Hosted, Failure> {
        let Opening { past, cwd, additional_directories, mcp_servers, editor } = opening;
        if !cwd.is_dir() {
            return Err(Failure::new(format!("there is no directory `{}`", cwd.display())));
        }
        let mut arguments = self.arguments.clone();
        arguments.agent.policy.add_dir.extend(additional_directories);
        if !mcp_servers.is_empty() {
            let servers = json!({ "mcpServers": mcp_servers });
            arguments.agent.mcp.mcp_config.push(servers.to_string());
        }
        let chosen =
            provider::choose(&arguments.agent.model)?.ok_or_else(|| Failure::new(NO_MODEL))?;
        let mut workplace = Workplace::find_in(&cwd, &arguments.agent.policy)?;
        for warning in &workplace.warnings {
            warn(warning);
        }
        workplace.ask_by(editor.approver());
        workplace.work_on(editor.files(Arc::new(HostFiles)));
        #[cfg(unix)]
        if let Some(launch) = launch() {
            workplace
                .run_by(move || editor.processes(Arc::new(HostProcesses::new()), launch.clone()));
        }
        let past = match past {
            Some(id) => Some(sessions::take(&sessions::find(&workplace.sessions, &id)?)?),
            None => None,
        };
        let id = past.as_ref().map(PastSession::id);
        let env = workplace.session(chosen, &arguments, id.as_deref(), Watch::Nothing)?;
        let agent = match past {
            None => Agent::start(env),
            Some(past) => Agent::resume(env, past),
        }?;
        let reload = Mutex::new(workplace.reload(agent.env(), &arguments.agent.policy));
        Ok(Hosted { workplace, agent, reload })
    }
}

impl Host for Program {
    fn open(&self, opening: Opening) -> Result<Box<dyn HostedSession>, AcpError> {
        match self.begin(opening) {
            Ok(hosted) => Ok(Box::new(hosted)),
            Err(failure) => Err(AcpError::Opening(failure.message)),
        }
    }

    fn warn(&self, text: &str) {
        warn(&plain(text));
    }
}

/// A session with all that belongs to it.
struct Hosted {
    workplace: Workplace,
    agent: Agent,
    reload: Mutex<Reload>,
}

impl HostedSession for Hosted {
    fn agent(&self) -> &Agent {
        &self.agent
    }

    fn refresh(&self) -> BoxFuture<'_, ()> {
        Box::pin(async { self.reload.lock().await.look().await })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.workplace.end_servers().await;
            self.workplace.close();
        })
    }
}
