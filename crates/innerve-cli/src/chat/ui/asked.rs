//! Questions on the screen: which one is open, what answers it, and what becomes of the text that was being written.

use std::time::Duration;

use innerve_pipeline::{Answer, ApprovalRequest};
use innerve_protocol::ToolUseId;

use super::super::asking::{Asked, Reply};
use super::super::editor::Edit;
use super::super::input::{self, Input};
use super::super::results::input_lines;
use super::Ui;
use crate::output::{DIM, plain};
use crate::terminal::{Dialogue, Heard};
use crossterm::event::{Event, KeyEventKind};

/// How long a person must pause before a question interrupts what they write.
const TYPING: Duration = Duration::from_secs(1);

/// The question that a person sees.
pub(super) struct Open {
    pub(super) dialogue: Dialogue,
    reply: Reply,
    id: ToolUseId,
    /// What it is about, in full.
    pub(super) about: Vec<String>,
    /// What was being written when the question came.
    pub(super) draft: String,
}

impl Ui {
    /// Opens the next question that still needs an answer.
    pub(super) fn ask_next(&mut self) {
        if self.open.as_ref().is_some_and(|open| open.reply.is_withdrawn()) {
            self.above.push(format!("{DIM}  the question was withdrawn{DIM:#}"));
            self.close_question();
        }
        while self.open.is_none() && !self.is_typing() {
            let Some(Asked { request, reply }) = self.waiting.pop_front() else { return };
            if reply.is_withdrawn() {
                continue;
            }
            self.end_text();
            let about = about(&request);
            let id = request.tool_use_id.clone();
            match Dialogue::begin(request) {
                Err(answer) => reply.answer(answer),
                Ok(dialogue) => {
                    self.above.extend(dialogue.opening());
                    self.finish_draft();
                    let draft = self.editor.take();
                    self.open = Some(Open { dialogue, reply, id, about, draft });
                }
            }
        }
    }

    /// Whether a text is being written right now: a question in the middle of it would get the rest as its answer.
    fn is_typing(&self) -> bool {
        let is_busy = !self.editor.text().is_empty() || self.editor.search().is_some();
        is_busy && self.typed.elapsed() < TYPING
    }

    /// What was typed before a question was seen does not answer it: it belongs to the text that was being written.
    fn finish_draft(&mut self) {
        while let Ok(input) = self.input.try_recv() {
            let Input::Event(event) = input else {
                input::wake();
                continue;
            };
            match event {
                Event::Paste(text) => self.editor.paste(&text),
                Event::Key(key) if key.kind != KeyEventKind::Release => {
                    if let Edit::Sent(text) = self.editor.key(key) {
                        self.editor.set(text);
                    }
                }
                Event::Key(_)
                | Event::Mouse(_)
                | Event::Resize(..)
                | Event::FocusGained
                | Event::FocusLost => {}
            }
        }
    }

    pub(super) fn answer(&mut self, text: &str) {
        let Some(open) = &mut self.open else { return };
        match open.dialogue.hear(text) {
            Heard::Again(problem) => self.above.push(problem.to_owned()),
            // What was typed already was not meant for a question that nobody has seen.
            Heard::Next => {
                while let Ok(input) = self.input.try_recv() {
                    if matches!(input, Input::Unread) {
                        input::wake();
                    }
                }
            }
            Heard::Answer(answer) => self.close_question_with(answer, text),
        }
    }

    pub(super) fn close_question_with(&mut self, answer: Answer, text: &str) {
        self.above.push(format!("  {DIM}{}{DIM:#}", plain(text)));
        if let Some(open) = &self.open
            && matches!(answer, Answer::Deny { .. })
        {
            self.denied.push(open.id.clone());
        }
        if let Some(reply) = self.close_question() {
            reply.answer(answer);
        }
    }

    /// Puts back what was being written; gives where the answer goes.
    fn close_question(&mut self) -> Option<Reply> {
        let open = self.open.take()?;
        if let Some(work) = &mut self.run {
            work.answered(&open.id);
        }
        self.editor.set(open.draft);
        Some(open.reply)
    }
}

/// All that would be done.
fn about(request: &ApprovalRequest) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(preview) = &request.preview {
        lines.push(plain(&preview.path.display().to_string()));
        let before = preview.before.as_deref().unwrap_or_default();
        let diff = innerve_builtins::Diff::between(before, &preview.after);
        lines.extend(crate::output::all_diff_lines(&diff));
        lines.push(String::new());
    }
    lines.extend(input_lines(&request.input));
    lines
}
