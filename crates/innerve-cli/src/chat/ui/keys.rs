//! What keys do beside writing.

use std::io;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use innerve_permission::PermissionMode;
use innerve_pipeline::{Answer, PolicySource as _};

use super::super::complete::{MAX_CHOICES, complete};
use super::super::editor::Edit;
use super::super::screen::Screen;
use super::{Flow, Ui};
use crate::output::{BOLD, DIM, plain};

/// Characters of a result that Ctrl-O shows.
const MAX_SHOWN: usize = 64 * 1024;
/// What a first Ctrl-C on an empty line says.
const AGAIN: &str = "Ctrl-C again ends the chat";

impl Ui {
    #[expect(clippy::wildcard_enum_match_arm, reason = "all other keys are the editor's")]
    pub(super) async fn key(&mut self, key: KeyEvent) -> io::Result<Flow> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let hint = std::mem::take(&mut self.hint);
        match key.code {
            KeyCode::Char('c') if control => return Ok(self.interrupt(hint)),
            KeyCode::Char('d') if control && self.editor.text().is_empty() => return Ok(Flow::End),
            KeyCode::Char('l') if control => self.screen.clear()?,
            KeyCode::Char('o') if control => self.expand(),
            KeyCode::Char('z') if control => self.suspend()?,
            KeyCode::Esc => self.escape(),
            KeyCode::BackTab => self.next_mode(),
            KeyCode::Tab if self.open.is_none() => self.complete(),
            _ => {
                self.choices.clear();
                match self.editor.key(key) {
                    Edit::Sent(text) => return self.sent(text).await,
                    Edit::Changed | Edit::Unknown => {}
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
        if self.run.is_some() {
            self.stop();
        } else if !self.editor.text().is_empty() {
            self.editor.take();
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

    /// The last result in full.
    fn expand(&mut self) {
        let Some(report) = &self.last else {
            self.hint = "there is no result to show";
            return;
        };
        self.above.push(format!("{BOLD}{}{BOLD:#} {DIM}in full{DIM:#}", plain(&report.tool)));
        let text: String = report.text.chars().take(MAX_SHOWN).collect();
        self.above.extend(plain(&text).lines().map(|line| format!("  {line}")));
        if text.len() < report.text.len() {
            self.above
                .push(format!("{DIM}  … {} bytes more{DIM:#}", report.text.len() - text.len()));
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
            many => {
                self.editor.complete(found.replaces, &found.common);
                self.choices = many.iter().take(MAX_CHOICES).cloned().collect();
                if many.len() > MAX_CHOICES {
                    self.choices.push(format!("and {} more", many.len() - MAX_CHOICES));
                }
            }
        }
    }

    /// Hands the terminal to the shell until it gives it back.
    #[cfg(unix)]
    fn suspend(&mut self) -> io::Result<()> {
        self.screen.close()?;
        let own = rustix::process::getpid();
        rustix::process::kill_process(own, rustix::process::Signal::TSTP)?;
        self.screen = Screen::open()?;
        Ok(())
    }

    #[cfg(not(unix))]
    fn suspend(&mut self) -> io::Result<()> {
        self.hint = "this system cannot suspend a program";
        Ok(())
    }
}
