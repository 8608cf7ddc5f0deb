//! A round of tools: start them, wait for them, send their results, apply what they change.

use std::sync::Arc;

use innerve_model::ErrorClass;
use innerve_pipeline::{HookEventName, Outcome, PolicySource as _, StopRequest};
use innerve_protocol::{ContentBlock, Message, Role, ToolUse};
use innerve_tool::SessionChange;

use crate::classify::words_of;
use crate::executor::Executor;
use crate::hooks::batch_fields;
use crate::looping::{Looping, Next, State, end};
use crate::response::Response;
use crate::{
    AgentEvent, LogError, Record, SharedPolicy, TerminalReason, ToolReport, Transition, telemetry,
};

impl Looping<'_> {
    /// Starts what may start, each call in the log before it runs.
    pub(crate) async fn start_tools(&mut self, executor: &mut Executor) -> Result<(), LogError> {
        for (index, tool_use) in executor.startable() {
            self.conversation.log.append(&Record::ToolStarted { tool_use: tool_use.clone() })?;
            if let Some(classifier) = &self.env.classifier {
                classifier.action(self.offer.pool(), &tool_use);
            }
            self.tell(AgentEvent::ToolStarted(tool_use)).await;
            executor.launch(index);
        }
        Ok(())
    }

    /// A response with tool uses: wait for them, send the results.
    pub(crate) async fn finish_tools(
        &mut self,
        response: Response,
        mut executor: Executor,
        state: State,
    ) -> Result<Next, LogError> {
        if response.interrupted {
            executor.interrupt();
        }
        let calls: Vec<ToolUse> =
            response.blocks.iter().filter_map(ContentBlock::as_tool_use).cloned().collect();
        self.keep(response.blocks, &response.usage).await?;
        let interrupted = self.drain(&mut executor).await? || response.interrupted;

        let settled = executor.finish();
        let batch = batch_fields(&settled, &calls);
        let mut content: Vec<ContentBlock> = Vec::new();
        let mut notes: Vec<ContentBlock> = Vec::new();
        let mut stop = None;
        for call in settled {
            content.push(ContentBlock::ToolResult(call.result));
            notes.extend(call.messages.into_iter().flat_map(|message| message.content));
            stop = stop.or(call.stop);
        }
        content.append(&mut notes);
        stop = stop.or(self.stopped_at_a_task().map(StopRequest::HookStopped));
        if !interrupted {
            let heard = self.hear(HookEventName::PostToolBatch, batch).await;
            content.extend(heard.context.into_iter().map(ContentBlock::text));
            stop = stop.or(heard.stop.or(heard.blocked).map(StopRequest::HookStopped));
        }
        content.append(&mut self.task_news());
        if response.error.is_some() {
            content.push(ContentBlock::text(
                "[The connection broke off in the middle of your response; the calls that had arrived were run.]",
            ));
        }
        if interrupted {
            content.push(ContentBlock::text("[The user interrupted while tools were running.]"));
        } else {
            content.extend(self.submitted().await?);
        }
        let message = Message::new(Role::User, content);
        self.conversation.push(message.clone())?;
        self.tell(AgentEvent::User(message)).await;

        self.turns += 1;
        self.conversation.compactions.round();
        if interrupted {
            return Ok(end(
                TerminalReason::AbortedTools,
                "stopped by the user while tools were running",
            ));
        }
        match stop {
            Some(StopRequest::DeniedByUser) => {
                return Ok(end(
                    TerminalReason::DeniedByUser,
                    "a call was rejected; say how to go on",
                ));
            }
            Some(StopRequest::HookStopped(why)) => {
                return Ok(end(TerminalReason::HookStopped, why));
            }
            Some(StopRequest::Deferred) => {
                return Ok(end(TerminalReason::HookStopped, "a hook deferred a call"));
            }
            None => {}
        }
        if self.env.config.max_turns.is_some_and(|limit| self.turns >= limit) {
            return Ok(end(
                TerminalReason::MaxTurns,
                format!("the limit of {} rounds was reached", self.turns),
            ));
        }
        let is_overloaded =
            response.error.is_some_and(|error| error.class() == ErrorClass::Overloaded);
        if is_overloaded && self.has_fallback() {
            self.switch_model("is overloaded").await;
        }
        // Hooks that keep a run from ending are counted over its rounds, or it might never end.
        let next = State { stop_blocks: state.stop_blocks, ..State::default() };
        Ok(Next::Continue(next, Transition::NextTurn))
    }

    /// Takes what a person wrote meanwhile, as far as hooks let it pass.
    pub(crate) async fn submitted(&mut self) -> Result<Vec<ContentBlock>, LogError> {
        let mut content = Vec::new();
        for mut message in self.inbox.take() {
            let words = words_of(&message);
            match self.hear_prompt(&mut message).await {
                Ok(()) => {
                    self.keep_words(words)?;
                    content.append(&mut message);
                }
                Err(why) => {
                    let text = format!("a hook refused what you wrote: {why}");
                    self.tell(AgentEvent::Warning(text)).await;
                }
            }
        }
        Ok(content)
    }

    /// Waits for all tools; says whether a person stopped them. What a person writes meanwhile ends tools that can be
    /// called again at no cost, and waits for all others.
    async fn drain(&mut self, executor: &mut Executor) -> Result<bool, LogError> {
        let mut interrupted = false;
        let inbox = Arc::clone(&self.inbox);
        loop {
            if !inbox.is_empty() && executor.is_interruptible() {
                executor.make_way();
            }
            self.start_tools(executor).await?;
            if !executor.is_running() {
                return Ok(interrupted);
            }
            let cancellation = self.cancellation.clone();
            tokio::select! {
                biased;
                () = cancellation.cancelled(), if !interrupted => {
                    interrupted = true;
                    executor.interrupt();
                }
                Some(ended) = executor.next() => self.ended(executor, ended).await?,
                () = inbox.arrived() => {}
            }
        }
    }

    /// A call has ended: log it, tell it, let what waited start.
    pub(crate) async fn ended(
        &mut self,
        executor: &mut Executor,
        index: usize,
    ) -> Result<(), LogError> {
        let (Some(settled), Some(tool_use)) =
            (executor.settled(index).cloned(), executor.tool_use(index).cloned())
        else {
            return Ok(());
        };
        if self.env.agent_id.is_none() {
            let tasks = std::sync::Arc::clone(&self.env.tasks);
            self.conversation.log_tasks(tasks.as_ref())?;
        }
        self.conversation.log.append(&Record::ToolEnded { result: settled.result.clone() })?;
        if let Outcome::Refused(reason) = &settled.outcome {
            self.denials.push((tool_use.clone(), (**reason).clone()));
        }
        let of_tasks = self.said_of_tasks();
        for notice in settled.notices.iter().chain(&of_tasks) {
            self.tell(AgentEvent::Warning(notice.clone())).await;
        }
        for index in executor.due() {
            if let Some(changes) = executor.settled(index).map(|settled| settled.changes.clone()) {
                self.apply(&changes).await;
            }
        }
        self.tell(AgentEvent::ToolEnded(ToolReport {
            tool_use_id: tool_use.id,
            tool: settled.tool,
            input: tool_use.input,
            outcome: settled.outcome,
            code: settled.code,
            text: settled.result.content.plain_text(),
            data: settled.data,
            elapsed: settled.elapsed.unwrap_or_default(),
        }))
        .await;
        self.start_tools(executor).await
    }

    fn change_mode(&self, change: impl FnOnce(&SharedPolicy)) {
        let before = self.env.policy.current().mode;
        change(&self.env.policy);
        telemetry::mode_changed(before, self.env.policy.current().mode);
    }

    async fn apply(&mut self, changes: &[SessionChange]) {
        for change in changes {
            match change {
                SessionChange::SetMode(mode) => self.change_mode(|policy| policy.set_mode(*mode)),
                SessionChange::LeavePlan => self.change_mode(SharedPolicy::leave_plan),
                SessionChange::SetCwd(cwd) | SessionChange::SetRoot(cwd) => {
                    let old = self.env.policy.current().cwd.clone();
                    self.env.policy.set_cwd(cwd);
                    self.hear_moved(&old, cwd).await;
                }
                SessionChange::AddDirectories(directories) => {
                    self.env.policy.add_directories(directories);
                }
                // Tools keep these themselves.
                SessionChange::LoadTools(_) | SessionChange::SetTodos(_) => {}
            }
        }
    }
}
