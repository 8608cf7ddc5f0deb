//! One run: requests, responses and tools, until there is a reason to end.

use std::sync::Arc;

use innerve_model::{ErrorClass, ModelError};
use innerve_permission::Reason;
use innerve_pipeline::{Outcome, PolicySource, Settled, StopRequest, Turn};
use innerve_protocol::{ContentBlock, Message, Role, StopReason, ToolUse};
use innerve_tool::{
    CancellationToken, Lookup, ProgressEvent, ProgressSink, ResultLimit, SessionChange, ToolPool,
};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::conversation::Conversation;
use crate::executor::{Ended, Executor};
use crate::response::Response;
use crate::{
    AgentEvent, LogError, Record, ResultFiles, RunSummary, SessionEnv, Terminal, TerminalReason,
    ToolReport, Transition, request,
};

/// Requests that ask the model to go on after a cut response, in a row.
const MAX_RECOVERIES: u32 = 3;
/// Times that a paused turn is sent back, in a row.
const MAX_PAUSES: u32 = 10;

/// One run: what its steps share.
pub(crate) struct Looping<'a> {
    pub(crate) env: &'a Arc<SessionEnv>,
    pub(crate) conversation: &'a mut Conversation,
    pub(crate) cancellation: CancellationToken,
    events: mpsc::Sender<AgentEvent>,
    pool: ToolPool,
    denials: Vec<(ToolUse, Reason)>,
    turns: u32,
}

/// What an iteration starts from; made anew each time, never patched.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    max_tokens: Option<u32>,
    recoveries: u32,
    pauses: u32,
}

/// How an iteration ends.
enum Next {
    Continue(State, Transition),
    End(Terminal),
}

impl<'a> Looping<'a> {
    pub(crate) fn new(
        env: &'a Arc<SessionEnv>,
        conversation: &'a mut Conversation,
        events: mpsc::Sender<AgentEvent>,
        cancellation: CancellationToken,
        pool: ToolPool,
    ) -> Self {
        Self { env, conversation, cancellation, events, pool, denials: Vec::new(), turns: 0 }
    }
}

impl Looping<'_> {
    /// Works until there is a reason to end.
    pub(crate) async fn drive(&mut self, prompt: Vec<ContentBlock>) -> Terminal {
        let policy = self.env.policy.current();
        self.tell(AgentEvent::Started {
            session_id: self.env.session_id.clone(),
            model: self.env.config.model.clone(),
            tools: self.pool.names(),
            mode: policy.mode,
            cwd: policy.cwd.clone(),
        })
        .await;
        let mut state = State::default();
        if let Err(error) = self.conversation.push_user(prompt) {
            return session_error(&error);
        }
        loop {
            match self.iterate(state).await {
                Ok(Next::Continue(next, transition)) => {
                    state = next;
                    self.tell(AgentEvent::Continuing(transition)).await;
                }
                Ok(Next::End(terminal)) => return terminal,
                Err(error) => return session_error(&error),
            }
        }
    }

    /// One request, its response, and its tools.
    async fn iterate(&mut self, state: State) -> Result<Next, LogError> {
        if let Some(terminal) = self.over_budget() {
            return Ok(Next::End(terminal));
        }
        self.conversation.repair_and_log()?;
        self.replace_large_results()?;
        let capabilities = self.env.model.capabilities(&self.env.config.model);
        let max_tokens = state.max_tokens.unwrap_or(self.env.config.max_tokens);
        let messages = self.conversation.messages.clone();
        let request =
            request::build(&self.env.config, &capabilities, &self.pool, messages, max_tokens);

        let turn = Arc::new(self.turn());
        let pipeline = Arc::new(self.env.pipeline.clone());
        let mut executor = Executor::new(pipeline, turn, self.env.config.max_concurrency);
        let response = self.respond(request, &mut executor).await?;
        self.env.spending.add(&self.env.config.model, &response.usage);

        if executor.len() > 0 {
            return self.finish_tools(response, executor).await;
        }
        self.finish_text(response, state, capabilities.max_output_tokens)
    }

    /// A response without tool uses: the end, a cut, or a failure.
    fn finish_text(
        &mut self,
        response: Response,
        state: State,
        model_max: u32,
    ) -> Result<Next, LogError> {
        let said_something = response.blocks.iter().any(is_lasting);
        if response.interrupted {
            self.keep(response.blocks)?;
            self.conversation
                .push_user(vec![ContentBlock::text("[The user interrupted the response.]")])?;
            return Ok(end(
                TerminalReason::AbortedStreaming,
                "stopped by the user while the model was writing",
            ));
        }
        if let Some(error) = response.error {
            if said_something
                && error.class() != ErrorClass::Cancelled
                && state.recoveries < MAX_RECOVERIES
            {
                self.keep(response.blocks)?;
                self.ask_to_go_on("The connection broke off in the middle of your response.")?;
                let next = State { recoveries: state.recoveries + 1, ..state };
                return Ok(Next::Continue(next, Transition::TruncatedRecovery));
            }
            self.keep(response.blocks)?;
            return Ok(Next::End(model_failure(&error)));
        }
        let (reason, details) =
            response.stop.unwrap_or((StopReason::EndTurn, serde_json::Map::new()));
        match reason {
            StopReason::MaxTokens | StopReason::ModelContextWindowExceeded => {
                let escalated = self.env.config.escalated_max_tokens.min(model_max);
                let current = state.max_tokens.unwrap_or(self.env.config.max_tokens);
                if reason == StopReason::MaxTokens
                    && state.max_tokens.is_none()
                    && escalated > current
                {
                    let next = State { max_tokens: Some(escalated), ..state };
                    return Ok(Next::Continue(next, Transition::MaxOutputTokensEscalate));
                }
                self.keep(response.blocks)?;
                if state.recoveries < MAX_RECOVERIES && reason == StopReason::MaxTokens {
                    self.ask_to_go_on("You reached the output limit.")?;
                    let next = State { recoveries: state.recoveries + 1, ..state };
                    return Ok(Next::Continue(next, Transition::MaxOutputTokensRecovery));
                }
                Ok(end(TerminalReason::Completed, "the answer was cut at the model's output limit"))
            }
            StopReason::PauseTurn if state.pauses < MAX_PAUSES => {
                self.keep(response.blocks)?;
                let next = State { pauses: state.pauses + 1, ..state };
                Ok(Next::Continue(next, Transition::PauseTurn))
            }
            StopReason::Refusal => {
                self.keep(response.blocks)?;
                let why = details
                    .get("stop_details")
                    .and_then(|details| details.get("explanation"))
                    .and_then(Value::as_str)
                    .unwrap_or("it gave no reason");
                Ok(end(TerminalReason::Refused, format!("the model refused to answer: {why}")))
            }
            StopReason::EndTurn
            | StopReason::ToolUse
            | StopReason::StopSequence
            | StopReason::PauseTurn
            | StopReason::Other(_) => {
                self.keep(response.blocks)?;
                Ok(end(TerminalReason::Completed, ""))
            }
        }
    }

    /// Puts what the model said into the conversation; thinking alone is not said.
    fn keep(&mut self, blocks: Vec<ContentBlock>) -> Result<(), LogError> {
        if !blocks.iter().any(is_lasting) {
            return Ok(());
        }
        self.conversation.push(Message::new(Role::Assistant, blocks))
    }

    fn ask_to_go_on(&mut self, what_happened: &str) -> Result<(), LogError> {
        let text = format!(
            "{what_happened} Go on exactly where you stopped: no apology, no summary. Break what is left into smaller pieces."
        );
        self.conversation.push_user(vec![ContentBlock::text(text)])
    }

    /// A response with tool uses: wait for them, send the results.
    async fn finish_tools(
        &mut self,
        response: Response,
        mut executor: Executor,
    ) -> Result<Next, LogError> {
        if response.interrupted {
            executor.interrupt();
        }
        let message = Message::new(Role::Assistant, response.blocks);
        self.conversation.push(message.clone())?;
        self.tell(AgentEvent::Assistant(message)).await;
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
        if !settled.changes.is_empty() {
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
                // Kept by the tools themselves; nothing of the loop depends on them.
                SessionChange::LoadTools(_) | SessionChange::SetTodos(_) => {}
            }
        }
    }

    /// Keeps the results of each message within the budget; what was decided once stays so.
    fn replace_large_results(&mut self) -> Result<(), LogError> {
        let store = ResultFiles::new(SessionEnv::results_folder(&self.env.folder));
        let pool = &self.pool;
        let bounds_itself = |name: &str| is_self_bounded(pool, name);
        let conversation = &mut *self.conversation;
        let records = conversation.replacements.apply(
            &mut conversation.messages,
            bounds_itself,
            Some(&store),
        );
        for record in records {
            self.conversation.log.append(&Record::ContentReplacement { record })?;
        }
        Ok(())
    }

    fn turn(&self) -> Turn {
        Turn {
            pool: self.pool.clone(),
            policy: Arc::clone(&self.env.policy) as Arc<dyn PolicySource>,
            session_id: self.env.session_id.clone(),
            agent_id: self.env.agent_id.clone(),
            depth: self.env.depth,
            cancellation: self.cancellation.child_token(),
            progress: Arc::new(ProgressToEvents(self.events.clone())),
            denials: Arc::clone(&self.env.denials),
            loaded: Arc::default(),
        }
    }

    fn over_budget(&self) -> Option<Terminal> {
        let limit = self.env.config.max_cost_usd?;
        let spent = self.env.spending.known_dollars();
        (spent >= limit).then(|| Terminal {
            reason: TerminalReason::BudgetExceeded,
            message: format!("the run has cost ${spent:.2}; the limit is ${limit:.2}"),
        })
    }

    pub(crate) async fn tell(&self, event: AgentEvent) {
        // A receiver that is gone has cancelled the run; the loop ends by itself.
        let _gone = self.events.send(event).await;
    }

    /// Closes the run: the log says how it ended, and so does the last event.
    pub(crate) async fn end(&mut self, terminal: Terminal) {
        let repaired = self.conversation.repair_and_log();
        let ended = self
            .conversation
            .log
            .append(&Record::Ended { reason: terminal.reason.name().to_owned() });
        if let Err(error) = repaired.and(ended)
            && terminal.reason != TerminalReason::SessionError
        {
            self.tell(AgentEvent::Warning(error.to_string())).await;
        }
        let summary = RunSummary {
            result: last_words(&self.conversation.messages),
            terminal,
            turns: self.turns,
            usage: self.env.spending.usage(),
            cost_usd: self.env.spending.dollars(),
            session_id: self.env.session_id.clone(),
            permission_denials: std::mem::take(&mut self.denials),
        };
        self.tell(AgentEvent::Ended(Box::new(summary))).await;
    }
}

/// Progress is dropped when the receiver is slow: the next one says more.
struct ProgressToEvents(mpsc::Sender<AgentEvent>);

impl ProgressSink for ProgressToEvents {
    fn emit(&self, event: ProgressEvent) {
        let _dropped = self.0.try_send(AgentEvent::Progress(event));
    }
}

fn is_self_bounded(pool: &ToolPool, name: &str) -> bool {
    match pool.find(name) {
        Lookup::Found(tool) => tool.result_limit() == ResultLimit::SelfBounded,
        Lookup::Removed(_) | Lookup::Unknown { .. } => false,
    }
}

/// Whether a block says something by itself: thinking and blank text do not.
fn is_lasting(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Text(text) => !text.text.trim().is_empty(),
        ContentBlock::Thinking(_) | ContentBlock::RedactedThinking(_) => false,
        ContentBlock::Image(_)
        | ContentBlock::ToolUse(_)
        | ContentBlock::ToolResult(_)
        | ContentBlock::ToolReference(_)
        | ContentBlock::Opaque(_) => true,
    }
}

/// The text of the model's last message that has any.
fn last_words(messages: &[Message]) -> String {
    let mut texts = messages
        .iter()
        .rev()
        .filter(|message| message.role == Role::Assistant)
        .map(Message::plain_text)
        .filter(|text| !text.trim().is_empty());
    texts.next().unwrap_or_default()
}

fn end(reason: TerminalReason, message: impl Into<String>) -> Next {
    Next::End(Terminal { reason, message: message.into() })
}

fn session_error(error: &LogError) -> Terminal {
    Terminal { reason: TerminalReason::SessionError, message: error.to_string() }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the model's kinds of error are open-ended")]
fn model_failure(error: &ModelError) -> Terminal {
    let reason = match error.class() {
        ErrorClass::Overflow => TerminalReason::PromptTooLong,
        ErrorClass::Media => TerminalReason::ImageError,
        _ => TerminalReason::ModelError,
    };
    Terminal { reason, message: error.to_string() }
}
