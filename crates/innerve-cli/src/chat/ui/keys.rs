//! What keys do beside writing.

use std::io;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use innerve_permission::PermissionMode;
use innerve_pipeline::{Answer, PolicySource as _};

use super::super::commands;
use super::super::complete::complete;
use super::super::editor::Edit;
use super::super::pager::{Pager, Turn};
use super::{Flow, Ui};

/// How long a stop by Ctrl-Z may take to come.
const STOP: Duration = Duration::from_millis(300);
/// What a first Ctrl-C on an empty line says.
const AGAIN: &str = "Ctrl-C again ends the chat";

impl Ui {
    #[expect(clippy::wildcard_enum_match_arm, reason = "all other keys are the editor's")]
    pub(super) async fn key(&mut self, key: KeyEvent) -> io::Result<Flow> {
        if let Some((pager, _)) = &mut self.page {
            let turn = pager.key(key);
            self.turn(turn);
            return Ok(Flow::On);
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let hint = std::mem::take(&mut self.hint);
        if self.editor.search().is_some() {
            self.choices.clear();
            match self.editor.key(key) {
                Edit::Sent(text) => return self.sent(text).await,
                Edit::Changed => return Ok(Flow::On),
                // It ended the search and means something else, too.
                Edit::Unknown => {}
            }
        }
        match key.code {
            KeyCode::Char('c') if control => return Ok(self.interrupt(hint)),
            KeyCode::Char('d') if control && self.editor.text().is_empty() => return Ok(Flow::End),
            KeyCode::Char('l') if control => self.screen.clear()?,
            KeyCode::Char('o') if control => self.expand(),
            KeyCode::Char('z') if control => self.suspend().await?,
            KeyCode::Esc => self.escape(),
            KeyCode::BackTab => self.next_mode(),
            KeyCode::Tab if self.open.is_none() => self.complete(),
            _ => {
                self.choices.clear();
                match self.editor.key(key) {
                    Edit::Sent(text) => return self.sent(text).await,
                    Edit::Changed => self.suggest(),
                    Edit::Unknown => {}
                }
            }
        }
        Ok(Flow::On)
    }

    /// Stops what is nearest: the answer, the text that is being written, and then the chat.
    fn interrupt(&mut self, hint: &str) -> Flow {
        self.choices.clear();
        if self.open.is_some() {
            self.close_question_with(Answer::Deny { comment: None }, "no");
        }
        if self.run.as_ref().is_some_and(|work| !work.is_stopping) {
            self.stop();
        } else if !self.editor.text().is_empty() {
            self.editor.put_aside();
        } else if hint == AGAIN {
            return Flow::End;
        } else {
            self.hint = AGAIN;
        }
        Flow::On
    }

    fn escape(&mut self) {
        if self.open.is_some() {
            self.close_question_with(Answer::Deny { comment: None }, "no");
        } else if self.run.is_some() {
            self.stop();
        }
        self.choices.clear();
    }

    /// Opens a page on what the question is about, or on the last result.
    fn expand(&mut self) {
        if let Some(open) = &self.open {
            let title = "What is asked about".to_owned();
            self.page = Some((Pager::new(title, open.about.clone()), None));
        } else if let Some(last) = self.results.len().checked_sub(1) {
            self.read_result(last);
        } else {
            self.hint = "there is no result to show";
        }
    }

    fn read_result(&mut self, at: usize) {
        let title = format!("Result {} of {}", at + 1, self.results.len());
        self.page = Some((Pager::new(title, self.results.lines(at)), Some(at)));
    }

    /// Leaves a page, or goes to the result before or after it.
    fn turn(&mut self, turn: Turn) {
        let Some((_, at)) = self.page else { return };
        match (turn, at) {
            (Turn::Close, _) => self.page = None,
            (Turn::Back, Some(at)) if at > 0 => self.read_result(at - 1),
            (Turn::On, Some(at)) if at + 1 < self.results.len() => self.read_result(at + 1),
            (Turn::Stay | Turn::Back | Turn::On, _) => {}
        }
    }

    /// Goes to the mode that comes next among those that can be had.
    fn next_mode(&mut self) {
        let Some(env) = self.talk.env() else { return };
        let policy = env.policy.current();
        let mut modes =
            vec![PermissionMode::Default, PermissionMode::AcceptEdits, PermissionMode::Plan];
        if env.classifier.is_some() {
            modes.push(PermissionMode::Auto);
        }
        if policy.bypass_available {
            modes.push(PermissionMode::BypassPermissions);
        }
        let at = modes.iter().position(|mode| *mode == policy.mode);
        let next = at.map_or(0, |at| (at + 1) % modes.len());
        env.policy.set_mode(modes.get(next).copied().unwrap_or_default());
    }

    fn complete(&mut self) {
        let found = complete(self.editor.before(), &self.talk.workplace.policy.cwd);
        match found.choices.as_slice() {
            [] => self.hint = "nothing to complete",
            [only] => {
                let blank = if only.ends_with('/') { "" } else { " " };
                self.editor.complete(found.replaces, &format!("{only}{blank}"));
                self.choices.clear();
            }
            _ => {
                self.editor.complete(found.replaces, &found.common);
                self.choices = vec![found.listed()];
            }
        }
    }

    /// Says which commands begin like what was typed.
    fn suggest(&mut self) {
        if self.open.is_none() {
            self.choices = commands::beginning(self.editor.before());
        }
    }

    /// Hands the terminal to the shell until it gives it back.
    #[cfg(unix)]
    async fn suspend(&mut self) -> io::Result<()> {
        use rustix::process::{Signal, kill_current_process_group};
        self.screen.close()?;
        // As a terminal does it: whoever started this program with it is stopped too.
        kill_current_process_group(Signal::TSTP)?;
        // The stop comes when it comes, and not at all where no shell could end it.
        let _stopped = tokio::time::timeout(STOP, self.continued.next()).await;
        self.screen.take()
    }

    #[cfg(not(unix))]
    async fn suspend(&mut self) -> io::Result<()> {
        self.hint = "this system cannot suspend a program";
        Ok(())
    }
}
