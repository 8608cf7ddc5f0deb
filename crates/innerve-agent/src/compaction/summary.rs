//! Asks the model for a summary of its conversation.

use innerve_model::{ErrorClass, ModelError};
use innerve_protocol::{
    ContentBlock, Message, Request, Role, SharedMessage, StopReason, ToolChoice,
};

use super::{Uncompacted, shrink::shrink};
use crate::AgentEvent;
use crate::aside::{Asking, Step};
use crate::event::CompactionTrigger;
use crate::looping::Looping;
use crate::window::Window;

/// Output tokens of a summary at most.
const MAX_TOKENS: u32 = 20_000;

/// What the model is asked.
const TASK: &str = "\
This conversation is about to be replaced by a summary, and you will go on working from nothing but that summary. Write it \
now; call no tool. Leave out nothing that is needed to go on without asking again, and nothing else in. Under these headings:

1. Task: everything the user asked for, in their own words where the wording matters, and every constraint they gave since.
2. Decisions: what was decided, and why; what was tried and given up.
3. Files: each file that matters, with its path, what is in it that matters, and exactly what was changed.
4. Commands: what was run and what came of it; which checks pass and which do not.
5. Problems: errors that came up and how they were solved, and what the user corrected.
6. Now: what was being done at this very moment, in detail, and the next step.
7. Open: what is left to do.";

/// The first words of a conversation that was compacted.
pub(crate) fn introduced(summary: &str) -> String {
    format!(
        "[The conversation so far was too long and was replaced by this summary, which you wrote.]\n\n{summary}\n\n\
         [Go on from here as if nothing had happened; do not mention the summary.]"
    )
}

impl Looping<'_> {
    /// Has the model sum up the conversation. What does not fit even for that is made smaller first.
    pub(super) async fn summarize(
        &mut self,
        trigger: CompactionTrigger,
        instructions: &str,
    ) -> Result<String, Uncompacted> {
        if self.conversation.messages().is_empty() {
            return Err(Uncompacted::Failed("there is nothing to compact".to_owned()));
        }
        let limit = Window::of(&self.capabilities()).compact_at;
        let mut messages = self.conversation.messages().to_vec();
        // What the provider did not take it will not take with one more question.
        let mut is_shrunk = trigger == CompactionTrigger::Reactive;
        if is_shrunk {
            shrink(&mut messages, limit / 4 * 3);
        }
        loop {
            let request = self.summary_request(messages.clone(), instructions);
            match self.read_text(request).await {
                Ok(text) if text.trim().is_empty() => {
                    return Err(Uncompacted::Failed("the model wrote no summary".to_owned()));
                }
                Ok(text) => return Ok(text.trim().to_owned()),
                Err(Unread::Failed(error))
                    if error.class() == ErrorClass::Overflow && !is_shrunk =>
                {
                    is_shrunk = true;
                    shrink(&mut messages, limit / 2);
                }
                Err(Unread::Failed(error)) => return Err(Uncompacted::Failed(error.to_string())),
                Err(Unread::Refused) => {
                    return Err(Uncompacted::Failed("the model refused to sum it up".to_owned()));
                }
                Err(Unread::Interrupted) => return Err(Uncompacted::Interrupted),
            }
        }
    }

    /// The same beginning as that of every other request, so that what is cached is read.
    fn summary_request(&self, mut messages: Vec<SharedMessage>, instructions: &str) -> Request {
        let mut task = TASK.to_owned();
        if !instructions.trim().is_empty() {
            task.push_str(&format!("\n\nThe user says about the summary: {}", instructions.trim()));
        }
        let task = ContentBlock::text(task);
        match messages.last_mut() {
            Some(last) if last.role == Role::User => last.make_mut().content.push(task),
            Some(_) | None => messages.push(Message::new(Role::User, vec![task]).into()),
        }
        let mut request = self.request(messages, MAX_TOKENS);
        if !request.tools.is_empty() {
            request.tool_choice = Some(ToolChoice::None);
        }
        request
    }

    async fn read_text(&self, request: Request) -> Result<String, Unread> {
        let mut asking = Asking::new(&*self.env.model, request, &self.env.spending);
        loop {
            let step = self.cancellation.run_until_cancelled(asking.next()).await;
            match step.ok_or(Unread::Interrupted)?.map_err(Unread::Failed)? {
                Step::Retrying(notice) => self.tell(AgentEvent::Retrying(notice)).await,
                Step::Answered(answer) if answer.reason == StopReason::Refusal => {
                    return Err(Unread::Refused);
                }
                Step::Answered(answer) => return Ok(answer.texts().collect::<Vec<_>>().join("\n")),
            }
        }
    }
}

/// Why no summary came.
enum Unread {
    Interrupted,
    Refused,
    Failed(ModelError),
}
