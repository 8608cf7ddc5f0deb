//! `innerve acp`: the agent for editors, each session in the directory that the editor names.

use std::sync::Arc;

use innerve_acp::{AcpError, Host, HostedSession, Opening};
use innerve_agent::{Agent, PastSession};
use innerve_builtins::host::HostFiles;
use innerve_tool::BoxFuture;
use serde_json::json;
use tokio::sync::Mutex;

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
        let past = match past {
            Some(id) => Some(sessions::take(&sessions::find(&workplace.sessions, &id)?)?),
            None => None,
        };
        let id = past.as_ref().map(PastSession::id);
        let env = workplace.session(chosen, &arguments, id.as_deref(), Watch::Nothing)?;
        let agent = match past {
            None => Agent::start(env),
            Some(past) => Agent::resume(env, past),
        }
        .map_err(|error| Failure::new(error.to_string()))?;
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
