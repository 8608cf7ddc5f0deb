//! A round of tools: start them, wait for them, send their results, apply what they change.

use innerve_pipeline::{Outcome, Settled, StopRequest};
use innerve_protocol::{ContentBlock, Message, Role};
use innerve_tool::SessionChange;

use crate::executor::{Ended, Executor};
use crate::looping::{Looping, Next, State, end};
use crate::response::Response;
use crate::{AgentEvent, LogError, Record, TerminalReason, ToolReport, Transition};

impl Looping<'_> {
    /// Starts what may start, each call in the log before it runs.
    pub(crate) async fn start_tools(&mut self, executor: &mut Executor) -> Result<(), LogError> {
        for (index, tool_use) in executor.startable() {
            self.conversation.log.append(&Record::ToolStarted { tool_use: tool_use.clone() })?;
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
    ) -> Result<Next, LogError> {
        if response.interrupted {
            executor.interrupt();
        }
        self.keep(response.blocks).await?;
        let interrupted = self.drain(&mut executor).await? || response.interrupted;

        let settled = executor.finish();
        let mut content: Vec<ContentBlock> = Vec::new();
        let mut notes: Vec<ContentBlock> = Vec::new();
        let mut stop = None;
        for call in settled {
            content.push(ContentBlock::ToolResult(call.result));
            notes.extend(call.messages.into_iter().flat_map(|message| message.content));
            stop = stop.or(call.stop);
        }
        content.append(&mut notes);
        content.append(&mut self.task_news());
        if response.error.is_some() {
            content.push(ContentBlock::text(
                "[The connection broke off in the middle of your response; the calls that had arrived were run.]",
            ));
        }
        if interrupted {
            content.push(ContentBlock::text("[The user interrupted while tools were running.]"));
        }
        let message = Message::new(Role::User, content);
        self.conversation.push(message.clone())?;
        self.tell(AgentEvent::User(message)).await;

        self.turns += 1;
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
        Ok(Next::Continue(State::default(), Transition::NextTurn))
    }

    /// Waits for all tools; says whether a person stopped them.
    async fn drain(&mut self, executor: &mut Executor) -> Result<bool, LogError> {
        let mut interrupted = false;
        loop {
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
                Some(ended) = executor.next() => self.ended(executor, &ended).await?,
            }
        }
    }

    /// A call has ended: log it, tell it, let what waited start.
    pub(crate) async fn ended(
        &mut self,
        executor: &mut Executor,
        ended: &Ended,
    ) -> Result<(), LogError> {
        let (Some(settled), Some(tool_use)) =
            (executor.settled(ended.index).cloned(), executor.tool_use(ended.index).cloned())
        else {
            return Ok(());
        };
        self.conversation.log.append(&Record::ToolEnded { result: settled.result.clone() })?;
        if let Outcome::Refused(reason) = &settled.outcome {
            self.denials.push((tool_use.clone(), (**reason).clone()));
        }
        for notice in &settled.notices {
            self.tell(AgentEvent::Warning(notice.clone())).await;
        }
        if settled.changes.iter().any(concerns_the_loop) {
            if executor.ran_alone(ended.index) {
                self.apply(&settled);
            } else {
                // A call that runs beside others must not change what they see.
                let text = format!(
                    "{} ran beside others; its changes to the session were ignored",
                    settled.tool
                );
                self.tell(AgentEvent::Warning(text)).await;
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
            elapsed: ended.elapsed,
        }))
        .await;
        self.start_tools(executor).await
    }

    fn apply(&self, settled: &Settled) {
        for change in &settled.changes {
            match change {
                SessionChange::SetMode(mode) => self.env.policy.set_mode(*mode),
                SessionChange::LeavePlan => self.env.policy.leave_plan(),
                SessionChange::SetCwd(cwd) | SessionChange::SetRoot(cwd) => {
                    self.env.policy.set_cwd(cwd);
                }
                SessionChange::AddDirectories(directories) => {
                    self.env.policy.add_directories(directories);
                }
                SessionChange::LoadTools(_) | SessionChange::SetTodos(_) => {}
            }
        }
    }
}

/// Whether the loop has to do something about a change. What tools keep themselves is none of its business.
fn concerns_the_loop(change: &SessionChange) -> bool {
    match change {
        SessionChange::SetMode(_)
        | SessionChange::LeavePlan
        | SessionChange::SetCwd(_)
        | SessionChange::SetRoot(_)
        | SessionChange::AddDirectories(_) => true,
        SessionChange::LoadTools(_) | SessionChange::SetTodos(_) => false,
    }
}
