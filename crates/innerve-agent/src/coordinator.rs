//! A main conversation that only coordinates: when it has no more to say, it waits for the sub-agents that do its work.

use std::time::Duration;

use innerve_protocol::{Message, Role};
use innerve_tool::port::{TaskKind, TaskState};

use crate::looping::{Looping, Next, State, end};
use crate::{AgentEvent, LogError, TerminalReason, Transition};

/// How often it is looked whether a sub-agent has ended.
const LOOKS: Duration = Duration::from_millis(50);

impl Looping<'_> {
    /// Waits until a sub-agent has ended and tells the model what came of it; `None` if none works.
    pub(crate) async fn hear_workers(&mut self) -> Result<Option<Next>, LogError> {
        if !self.env.config.coordinator || self.env.agent_id.is_some() {
            return Ok(None);
        }
        loop {
            let news = self.task_news();
            if !news.is_empty() {
                let message = Message::new(Role::User, news);
                self.conversation.push(message.clone())?;
                self.tell(AgentEvent::User(message)).await;
                return Ok(Some(Next::Continue(State::default(), Transition::WorkersReported)));
            }
            let works = self
                .env
                .tasks
                .list()
                .into_iter()
                .any(|task| task.kind == TaskKind::Agent && task.state == TaskState::Running);
            // A person who has written meanwhile is not kept waiting.
            if !works || !self.inbox.is_empty() {
                return Ok(None);
            }
            let cancellation = self.cancellation.clone();
            tokio::select! {
                biased;
                () = cancellation.cancelled() => {
                    let why = "stopped by the user while sub-agents worked";
                    return Ok(Some(end(TerminalReason::AbortedTools, why)));
                }
                () = tokio::time::sleep(LOOKS) => {}
            }
        }
    }
}
