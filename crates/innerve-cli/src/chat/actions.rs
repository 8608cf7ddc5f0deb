//! What the slash commands do.

use std::io;

use innerve_permission::PermissionMode;
use innerve_pipeline::PolicySource as _;

use super::commands::{Action, COMMANDS, KEYS};
use super::ui::{Flow, Ui, short};
use crate::exit::Failure;
use crate::output::{BOLD, DIM, complain, headline, note, plain};
use crate::sessions;
use crate::wire::date_and_time;

/// Earlier sessions that `/resume` lists.
const MANY_SESSIONS: usize = 15;

impl Ui {
    /// Does what a command asks for.
    pub(super) async fn act(&mut self, action: Action, behind: &str) -> io::Result<Flow> {
        let done = match action {
            Action::Exit => return Ok(Flow::End),
            Action::Help
            | Action::Permissions
            | Action::Tools
            | Action::Agents
            | Action::Mcp
            | Action::Cost => {
                self.list(action);
                Ok(())
            }
            Action::Mode => self.mode(behind),
            Action::Model => self.model(behind).await,
            Action::Clear => self.clear().await,
            Action::Resume => self.resume(behind).await,
            Action::Undo => self.undo(behind).await,
            Action::Compact => {
                if !self.is_busy() {
                    let run = self.talk.compact(behind);
                    self.begin(run);
                }
                Ok(())
            }
        };
        if let Err(failure) = done {
            complain(&failure.message);
        }
        Ok(Flow::On)
    }

    /// Shows what is there.
    fn list(&self, action: Action) {
        match action {
            Action::Help => help(),
            Action::Permissions => self.permissions(),
            Action::Tools => self.tools(),
            Action::Agents => self.agents(),
            Action::Mcp => self.mcp(),
            Action::Cost => self.cost(),
            Action::Clear
            | Action::Compact
            | Action::Exit
            | Action::Mode
            | Action::Model
            | Action::Resume
            | Action::Undo => {}
        }
    }

    fn mode(&self, name: &str) -> Result<(), Failure> {
        let Some(env) = self.talk.env() else { return Ok(()) };
        if name.is_empty() {
            note(&format!("the mode is {BOLD}{}{BOLD:#}", env.policy.current().mode.name()));
            return Ok(());
        }
        let mode: PermissionMode = name
            .parse()
            .map_err(|error: innerve_permission::UnknownMode| Failure::usage(error.to_string()))?;
        if mode == PermissionMode::BypassPermissions && !env.policy.current().bypass_available {
            return Err(Failure::usage(
                "this mode is only there when the chat was started for it: innerve --permission-mode bypassPermissions",
            ));
        }
        if mode == PermissionMode::Auto && env.classifier.is_none() {
            return Err(Failure::usage("there is no classifier here, which mode auto needs"));
        }
        env.policy.set_mode(mode);
        Ok(())
    }

    async fn model(&mut self, name: &str) -> Result<(), Failure> {
        if name.is_empty() {
            note(&format!("the model is {BOLD}{}{BOLD:#}", plain(self.talk.model())));
            return Ok(());
        }
        if self.is_busy() {
            return Ok(());
        }
        self.talk.switch_model(name).await?;
        note(&format!("{} answers from now on", plain(name)));
        Ok(())
    }

    fn permissions(&self) {
        let Some(env) = self.talk.env() else { return };
        let policy = env.policy.current();
        note(&format!("mode {BOLD}{}{BOLD:#}", policy.mode.name()));
        let mut count = 0;
        for rule in policy.rules.rules() {
            let origin = rule.origin();
            let place = match (&origin.file, origin.line) {
                (Some(file), Some(line)) => format!("{}:{line}", file.display()),
                (Some(file), None) => file.display().to_string(),
                (None, _) => origin.source.name().to_owned(),
            };
            let behavior = rule.behavior().name();
            note(&format!("  {behavior:<5} {}  {DIM}{}{DIM:#}", plain(rule.text()), plain(&place)));
            count += 1;
        }
        if count == 0 {
            note("  no rules; what only reads runs, and the rest is asked about");
        }
    }

    fn tools(&self) {
        for tool in self.talk.workplace.pool_for_show().tools() {
            let definition = tool.definition();
            let does = headline(&definition.description, 90);
            note(&format!("  {BOLD}{:<14}{BOLD:#} {does}", plain(&definition.name)));
        }
    }

    fn mcp(&self) {
        let statuses = self.talk.workplace.server_statuses();
        for status in &statuses {
            let count = status.tools.len();
            note(&format!(
                "  {BOLD}{}{BOLD:#}  {}, {count} tools",
                plain(&status.name),
                status.state.name()
            ));
            if let Some(problem) = &status.problem {
                let text = format!("{}; {}", problem.text, problem.mend);
                note(&format!("    {DIM}{}{DIM:#}", plain(&text)));
            }
        }
        if statuses.is_empty() {
            note(
                "  no MCP servers; name them in .mcp.json, in `mcpServers` of the settings, or with --mcp-config",
            );
        }
    }

    fn agents(&self) {
        let Some(env) = self.talk.env() else { return };
        for agent in env.config.agents.all() {
            let does = headline(&agent.description, 90);
            note(&format!("  {BOLD}{:<18}{BOLD:#} {does}", plain(&agent.name)));
        }
    }

    fn cost(&self) {
        let Some(env) = self.talk.env() else { return };
        let usage = env.spending.usage();
        let cached = usage.cache_read_input_tokens.unwrap_or(0);
        note(&format!(
            "  {} tokens read, {} of them from the cache; {} written",
            short(usage.total_input()),
            short(cached),
            short(usage.output_tokens.unwrap_or(0))
        ));
        match env.spending.dollars() {
            Some(dollars) => note(&format!("  ${dollars:.4}, sub-agents included")),
            None => note("  the price of this model is not known"),
        }
    }

    async fn clear(&mut self) -> Result<(), Failure> {
        if self.is_busy() {
            return Ok(());
        }
        self.talk.clear().await?;
        note(&format!("{DIM}a new conversation{DIM:#}"));
        Ok(())
    }

    async fn resume(&mut self, id: &str) -> Result<(), Failure> {
        if id.is_empty() {
            let recent = sessions::recent(&self.talk.workplace.sessions, MANY_SESSIONS);
            for summary in &recent {
                let used = date_and_time(summary.last_used);
                let prompt = headline(&summary.first_prompt, 60);
                note(&format!("  {BOLD}{}{BOLD:#}  {used}  {prompt}", summary.id));
            }
            if recent.is_empty() {
                note("  there are no earlier sessions of this directory");
            } else {
                note(&format!(
                    "{DIM}  /resume ID goes on with one; the beginning of the id is enough{DIM:#}"
                ));
            }
            return Ok(());
        }
        if self.is_busy() {
            return Ok(());
        }
        self.talk.resume(id).await?;
        note(&format!("{DIM}back in session {}{DIM:#}", plain(id)));
        Ok(())
    }

    async fn undo(&mut self, word: &str) -> Result<(), Failure> {
        if self.is_busy() {
            return Ok(());
        }
        let Some(folder) = self.talk.folder().map(std::path::Path::to_path_buf) else {
            return Ok(());
        };
        if word != "yes" {
            let changes = sessions::undo::preview(&folder)?;
            if changes == 0 {
                note("nothing would change");
            } else {
                note(&format!("{BOLD}/undo yes{BOLD:#} does it"));
            }
            return Ok(());
        }
        if let Some(text) = sessions::undo::carry_out(&folder).await? {
            self.talk.note(text);
        }
        Ok(())
    }
}

fn help() {
    for command in &COMMANDS {
        let usage = format!("/{} {}", command.name, command.takes);
        note(&format!("  {BOLD}{usage:<16}{BOLD:#} {}", command.does));
    }
    note("");
    for (key, does) in KEYS {
        note(&format!("  {BOLD}{key:<16}{BOLD:#} {does}"));
    }
}
