//! What hooks do: run a command, send a request, call a tool, ask a model or an agent.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use innerve_pipeline::HookOutcome;
use tokio::time::timeout;
use tracing::Instrument as _;

use crate::answer::Reader;
use crate::hooks::{Firing, Hooks};
use crate::process::{self, Request};
use crate::settings::{
    Action, AgentAction, CommandAction, HttpAction, McpToolAction, PromptAction, Shell,
};
use crate::telemetry::Trouble;
use crate::{Answer, HookSession, PortError, Question, ToolRequest, input, prompt_for};

/// Rounds of tool uses that the agent of a hook has at most (Claude Code, "Hooks reference").
const AGENT_TURNS: u32 = 50;

impl Hooks {
    /// Does what the hook is for, within its time.
    pub(crate) async fn act(&self, firing: Firing<'_>) -> HookOutcome {
        match &firing.hook.entry.action {
            Action::Command(command) => self.command(command, &firing).await,
            Action::Http(request) => self.request(request, &firing).await,
            Action::McpTool(tool) => self.tool(tool, &firing).await,
            Action::Prompt(prompt) => self.prompt(prompt, &firing).await,
            Action::Agent(agent) => self.agent(agent, &firing).await,
        }
    }

    async fn command(&self, command: &CommandAction, firing: &Firing<'_>) -> HookOutcome {
        let (program, args) = self.words(command);
        let mut told = firing.told.to_string().into_bytes();
        told.push(b'\n');
        let request = Request {
            program,
            args,
            cwd: self.session.directory(&firing.event.cwd),
            environment: self.session.command_environment(),
            input: told,
            limit: firing.limit,
        };
        if command.in_background || command.wakes {
            return self.send_to_background(request, command.wakes, &firing.reader);
        }
        match process::run(request).await {
            Ok(finished) => firing.reader.command(&finished),
            Err(failure) => firing.reader.failed(failure.trouble(), failure),
        }
    }

    /// The program and its arguments.
    fn words(&self, command: &CommandAction) -> (String, Vec<String>) {
        if let Some(args) = &command.args {
            let fill = |text: &String| self.session.fill(text);
            return (fill(&command.command), args.iter().map(fill).collect());
        }
        // A shell fills in the variables itself, and knows how to quote what they hold.
        let line = command.command.clone();
        match command.shell {
            None => ("sh".to_owned(), vec!["-c".to_owned(), line]),
            Some(Shell::Bash) => ("bash".to_owned(), vec!["-c".to_owned(), line]),
            Some(Shell::Powershell) => {
                let options = ["-NoProfile", "-NonInteractive", "-Command"].map(str::to_owned);
                let line = HookSession::for_powershell(&line);
                ("pwsh".to_owned(), options.into_iter().chain([line]).collect())
            }
        }
    }

    fn send_to_background(&self, request: Request, wakes: bool, reader: &Reader) -> HookOutcome {
        let background = Arc::clone(&self.background);
        let Some(place) = background.place() else {
            let why = "was not started: too many hooks run in the background";
            return reader.failed(Trouble::TooMany, why);
        };
        let reader = reader.clone();
        let work = async move {
            let (outcome, wakes) = match process::run(request).await {
                Ok(finished) => reader.late(&finished, wakes),
                Err(failure) => (reader.failed(failure.trouble(), failure), false),
            };
            background.say(outcome, wakes);
            drop(place);
        };
        tokio::spawn(work.in_current_span());
        HookOutcome::default()
    }

    #[cfg(feature = "http")]
    async fn request(&self, request: &HttpAction, firing: &Firing<'_>) -> HookOutcome {
        let sent = self.http.post(request, firing.told.to_string(), &self.session);
        match timeout(firing.limit, sent).await {
            Ok(Ok(body)) => firing.reader.body(&body),
            Ok(Err(failure)) => firing.reader.failed(failure.trouble(), failure),
            Err(_) => too_late(firing),
        }
    }

    #[cfg(not(feature = "http"))]
    #[expect(clippy::unused_async, reason = "with the feature it waits for the network")]
    async fn request(&self, _: &HttpAction, firing: &Firing<'_>) -> HookOutcome {
        let why = "did not run: HTTP hooks are not built into this program";
        firing.reader.failed(Trouble::Absent, why)
    }

    async fn tool(&self, tool: &McpToolAction, firing: &Firing<'_>) -> HookOutcome {
        let Some(tools) = &self.tools else { return absent(firing, "MCP servers") };
        let input = input::fill(&tool.input.clone().into(), firing.told);
        let request = ToolRequest { server: &tool.server, tool: &tool.tool, input: &input };
        match timeout(firing.limit, tools.call(request)).await {
            Ok(Ok(text)) => firing.reader.text(&text),
            Ok(Err(error)) => did_not_work(firing, &error),
            Err(_) => too_late(firing),
        }
    }

    async fn prompt(&self, action: &PromptAction, firing: &Firing<'_>) -> HookOutcome {
        let Some(judge) = &self.judge else { return absent(firing, "model for hooks") };
        let prompt = prompt_for(&action.prompt, firing.told);
        let question = Question {
            event: firing.reader.event,
            prompt: &prompt,
            model: action.model.as_deref(),
        };
        ask(judge.judge(question), firing, !action.continue_on_block).await
    }

    async fn agent(&self, action: &AgentAction, firing: &Firing<'_>) -> HookOutcome {
        let Some(agents) = &self.agents else { return absent(firing, "agents for hooks") };
        let prompt = prompt_for(&action.prompt, firing.told);
        let question = Question {
            event: firing.reader.event,
            prompt: &prompt,
            model: action.model.as_deref(),
        };
        ask(agents.run(question, AGENT_TURNS), firing, false).await
    }
}

async fn ask(
    asked: BoxFuture<'_, Result<Answer, PortError>>,
    firing: &Firing<'_>,
    no_ends_the_turn: bool,
) -> HookOutcome {
    match timeout(firing.limit, asked).await {
        Ok(Ok(answer)) => firing.reader.answer(answer, no_ends_the_turn),
        Ok(Err(error)) => did_not_work(firing, &error),
        Err(_) => too_late(firing),
    }
}

fn did_not_work(firing: &Firing<'_>, error: &PortError) -> HookOutcome {
    firing.reader.failed(Trouble::Answer, format!("did not work: {error}"))
}

fn too_late(firing: &Firing<'_>) -> HookOutcome {
    firing.reader.failed(Trouble::Timeout, format!("did not end within {:?}", firing.limit))
}

fn absent(firing: &Firing<'_>, what: &str) -> HookOutcome {
    firing.reader.failed(Trouble::Absent, format!("did not run: this program has no {what}"))
}
