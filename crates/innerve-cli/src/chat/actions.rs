//! What the slash commands do.

use innerve_agent::{Run, Transcript};
use innerve_permission::PermissionMode;
use innerve_pipeline::PolicySource as _;
use innerve_protocol::{ContentBlock, Role};

use super::commands::{Action, COMMANDS, KEYS};
use super::markdown::Markdown;
use super::screen::{Screen, fold};
use super::talk::Talk;
use super::ui::short;
use crate::args::ListKind;
use crate::calendar::date_and_time;
use crate::exit::Failure;
use crate::output::{BOLD, DIM, headline, note, plain};
use crate::sessions;

/// Earlier sessions that `/resume` lists.
const MANY_SESSIONS: usize = 15;
/// Lines of an earlier text that are shown when a session is gone back to.
const MAX_RECALLED: usize = 12;
/// Columns of the name of a command or a key, and those that a line about it needs.
const NAME: usize = 16;
const MIN_EXPLAINED: usize = 30;
/// What is said when the last change of conversations failed.
pub(super) const NO_CONVERSATION: &str = "there is no conversation; /clear begins one";

/// What a command leads to.
pub(super) enum Next {
    /// The next text.
    Stay,
    /// The end of the chat.
    End,
    /// A run that was begun.
    Follow(Run),
}

impl Talk {
    /// Does what a command asks for.
    pub(super) async fn act(&mut self, action: Action, behind: &str) -> Result<Next, Failure> {
        match action {
            Action::Exit => return Ok(Next::End),
            Action::Help => help(),
            Action::Permissions => self.permissions(),
            Action::Tools => self.tools(),
            Action::Agents => self.agents(),
            Action::Mcp => self.mcp(),
            Action::Cost => self.cost(),
            Action::Mode => self.mode(behind)?,
            Action::Model => self.change_model(behind).await?,
            Action::Clear => {
                self.clear().await?;
                note(&format!("{DIM}a new conversation{DIM:#}"));
            }
            Action::Resume => self.go_back(behind).await?,
            Action::Undo => self.undo(behind).await?,
            Action::Compact => {
                let run = self.compact(behind).ok_or_else(|| Failure::new(NO_CONVERSATION))?;
                return Ok(Next::Follow(run));
            }
        }
        Ok(Next::Stay)
    }

    fn mode(&self, name: &str) -> Result<(), Failure> {
        let Some(env) = self.env() else { return Ok(()) };
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
        note(&format!("the mode is {BOLD}{}{BOLD:#} now", mode.name()));
        Ok(())
    }

    async fn change_model(&mut self, name: &str) -> Result<(), Failure> {
        if name.is_empty() {
            note(&format!("the model is {BOLD}{}{BOLD:#}", plain(self.model())));
            return Ok(());
        }
        self.switch_model(name).await?;
        note(&format!("{} answers from now on", plain(name)));
        Ok(())
    }

    fn permissions(&self) {
        let Some(env) = self.env() else { return };
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
        let is_shared = self.env().is_some_and(|env| env.task_list.is_some());
        let list = if is_shared { ListKind::Shared } else { ListKind::Own };
        for tool in self.workplace.pool_offering(list, Some(self.chosen())).tools() {
            let definition = tool.definition();
            let name = plain(&definition.name);
            note(&described(&name, 14, &definition.description));
        }
    }

    fn mcp(&self) {
        let statuses = self.workplace.server_statuses();
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
        let Some(env) = self.env() else { return };
        for agent in env.config.agents.all() {
            note(&described(&plain(&agent.name), 18, &agent.description));
        }
    }

    fn cost(&self) {
        let Some(env) = self.env() else { return };
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

    async fn go_back(&mut self, id: &str) -> Result<(), Failure> {
        if id.is_empty() {
            let mut recent = sessions::recent(&self.workplace.sessions, MANY_SESSIONS);
            // One in which nothing was said is nothing to go back to.
            recent.retain(|summary| !summary.first_prompt.is_empty());
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
        let past = self.resume(id).await?;
        recall(&past);
        note(&format!("{DIM}back in session {}{DIM:#}", plain(id)));
        Ok(())
    }

    async fn undo(&mut self, word: &str) -> Result<(), Failure> {
        let Some(folder) = self.folder().map(std::path::Path::to_path_buf) else {
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
            self.note(text);
        }
        Ok(())
    }
}

/// Shows the last exchange of a conversation, so that a person knows where they were.
pub(super) fn recall(past: &Transcript) {
    let said = |role: Role| {
        let mut own = past.messages.iter().rev().filter(|message| message.role == role);
        own.find_map(|message| message.content.iter().rev().find_map(ContentBlock::as_text))
    };
    let cut = |text: &str| first_lines(plain(text.trim()).lines().map(str::to_owned).collect());
    // Messages hold what others added, too: that something was undone, a reminder.
    let own = past.words.last().map(String::as_str);
    if let Some(text) = own.or_else(|| said(Role::User)) {
        note(&format!("{BOLD}> {}{BOLD:#}", cut(text)));
    }
    if let Some(text) = said(Role::Assistant) {
        if super::draws() {
            note(&first_lines(styled(text)));
        } else {
            note(&cut(text));
        }
    }
}

/// A text as the chat shows it.
fn styled(text: &str) -> Vec<String> {
    let mut markdown = Markdown::default();
    let mut lines = markdown.push(text.trim(), Screen::width());
    lines.extend(markdown.finish(Screen::width()));
    lines
}

/// The beginning of a text of many lines.
fn first_lines(mut lines: Vec<String>) -> String {
    let left = lines.len().saturating_sub(MAX_RECALLED);
    lines.truncate(MAX_RECALLED);
    if left > 0 {
        let word = if left == 1 { "line" } else { "lines" };
        lines.push(format!("{DIM}… {left} more {word}{DIM:#}"));
    }
    lines.join("\n")
}

/// A name and what stands for it, in a line of the terminal; on a narrow one in two.
fn described(name: &str, width: usize, description: &str) -> String {
    let columns = Screen::width();
    let room = columns.saturating_sub(name.len().max(width) + 4);
    if room < MIN_EXPLAINED && super::draws() {
        let about = headline(description, columns.saturating_sub(5));
        return format!("  {BOLD}{name}{BOLD:#}\n    {about}");
    }
    format!("  {BOLD}{name:<width$}{BOLD:#} {}", headline(description, room.clamp(20, 120)))
}

fn help() {
    for command in &COMMANDS {
        explain(&command.usage(), command.does);
    }
    if !super::draws() {
        return;
    }
    note("");
    for (key, does) in KEYS {
        explain(key, does);
    }
}

/// A name and what it does; on a narrow screen under each other.
fn explain(name: &str, does: &str) {
    let room = Screen::width().saturating_sub(NAME + 3);
    if !super::draws() {
        note(&format!("  {BOLD}{name:<NAME$}{BOLD:#} {does}"));
    } else if room < MIN_EXPLAINED {
        note(&format!("  {BOLD}{}{BOLD:#}", name.trim_end()));
        note(&format!("    {does}"));
    } else {
        let lines = fold(does, room).join(&format!("\n{}", " ".repeat(NAME + 3)));
        note(&format!("  {BOLD}{name:<NAME$}{BOLD:#} {lines}"));
    }
}
