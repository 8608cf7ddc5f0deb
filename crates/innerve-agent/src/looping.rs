//! One run: requests, responses and tools, until there is a reason to end.

use std::collections::BTreeSet;
use std::sync::Arc;

use innerve_model::{ErrorClass, ModelError};
use innerve_permission::Reason;
use innerve_pipeline::{PolicySource, Turn};
use innerve_protocol::{ContentBlock, Message, Role, StopReason, ToolUse};
use innerve_tool::{CancellationToken, Lookup, ProgressEvent, ProgressSink, ResultLimit, ToolPool};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::conversation::Conversation;
use crate::executor::Executor;
use crate::response::Response;
use crate::{
    AgentEvent, LogError, Record, ResultFiles, RunSummary, SessionEnv, Terminal, TerminalReason,
    Transition, request,
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
    pub(crate) denials: Vec<(ToolUse, Reason)>,
    pub(crate) turns: u32,
    /// The model's last words in this run.
    pub(crate) result: String,
    events: mpsc::Sender<AgentEvent>,
    pool: ToolPool,
    /// The tools whose schemas the model has: all, as none is deferred yet.
    loaded: Arc<BTreeSet<String>>,
}

/// What an iteration starts from; made anew each time, never patched.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct State {
    pub(crate) max_tokens: Option<u32>,
    pub(crate) recoveries: u32,
    pub(crate) pauses: u32,
    /// Times in a row that hooks kept the run from ending.
    pub(crate) stop_blocks: u32,
}

/// How an iteration ends.
pub(crate) enum Next {
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
        let loaded = Arc::new(pool.names().into_iter().collect());
        Self {
            env,
            conversation,
            cancellation,
            denials: Vec::new(),
            turns: 0,
            result: String::new(),
            events,
            pool,
            loaded,
        }
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
        // Without a prompt the conversation goes on from where it is.
        let mut prompt = prompt;
        if !prompt.is_empty() {
            if let Err(why) = self.hear_prompt(&mut prompt).await {
                let message = format!("a hook refused the prompt: {why}");
                return Terminal { reason: TerminalReason::HookStopped, message };
            }
            prompt.extend(self.task_news());
            if let Err(error) = self.conversation.push_user(prompt) {
                return session_error(&error);
            }
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
            return self.finish_tools(response, executor, state).await;
        }
        self.finish_text(response, state, capabilities.max_output_tokens).await
    }

    /// A response without tool uses: the end, a cut, or a failure.
    async fn finish_text(
        &mut self,
        response: Response,
        state: State,
        model_max: u32,
    ) -> Result<Next, LogError> {
        let said_something = response.blocks.iter().any(is_lasting);
        if response.interrupted {
            self.keep(response.blocks).await?;
            self.note("[The user interrupted the response.]").await?;
            return Ok(end(
                TerminalReason::AbortedStreaming,
                "stopped by the user while the model was writing",
            ));
        }
        if let Some(error) = response.error {
            if said_something && error.class().is_transient() && state.recoveries < MAX_RECOVERIES {
                self.keep(response.blocks).await?;
                self.ask_to_go_on("The connection broke off in the middle of your response.")
                    .await?;
                let next = State { recoveries: state.recoveries + 1, ..state };
                return Ok(Next::Continue(next, Transition::TruncatedRecovery));
            }
            self.keep(response.blocks).await?;
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
                self.keep(response.blocks).await?;
                if state.recoveries < MAX_RECOVERIES && reason == StopReason::MaxTokens {
                    self.ask_to_go_on("You reached the output limit.").await?;
                    let next = State { recoveries: state.recoveries + 1, ..state };
                    return Ok(Next::Continue(next, Transition::MaxOutputTokensRecovery));
                }
                Ok(end(TerminalReason::Completed, "the answer was cut at the model's output limit"))
            }
            StopReason::PauseTurn if state.pauses < MAX_PAUSES => {
                self.keep(response.blocks).await?;
                let next = State { pauses: state.pauses + 1, ..state };
                Ok(Next::Continue(next, Transition::PauseTurn))
            }
            StopReason::Refusal => {
                self.keep(response.blocks).await?;
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
                self.keep(response.blocks).await?;
                self.hear_stop(state).await
            }
        }
    }

    /// Puts what the model said into the conversation; thinking alone is not said.
    pub(crate) async fn keep(&mut self, blocks: Vec<ContentBlock>) -> Result<(), LogError> {
        if !blocks.iter().any(is_lasting) {
            return Ok(());
        }
        let message = Message::new(Role::Assistant, blocks);
        let words = message.plain_text();
        if !words.trim().is_empty() {
            self.result = words;
        }
        self.conversation.push(message.clone())?;
        self.tell(AgentEvent::Assistant(message)).await;
        Ok(())
    }

    async fn ask_to_go_on(&mut self, what_happened: &str) -> Result<(), LogError> {
        let text = format!(
            "{what_happened} Go on exactly where you stopped: no apology, no summary. Break what is left into smaller pieces."
        );
        self.note(text).await
    }

    /// Tells the model something that no person wrote.
    pub(crate) async fn note(&mut self, text: impl Into<String>) -> Result<(), LogError> {
        let message = Message::user(text);
        self.conversation.push(message.clone())?;
        self.tell(AgentEvent::User(message)).await;
        Ok(())
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

    /// What has become of work in the background; sub-agents have other things to do.
    pub(crate) fn task_news(&mut self) -> Vec<ContentBlock> {
        match self.env.agent_id {
            None => self.conversation.task_news(self.env.tasks.as_ref()),
            Some(_) => Vec::new(),
        }
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
            loaded: Arc::clone(&self.loaded),
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

    /// Closes the run: the log says how it ended, and so does the summary.
    pub(crate) async fn end(&mut self, terminal: Terminal) -> RunSummary {
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
        RunSummary {
            result: std::mem::take(&mut self.result),
            terminal,
            turns: self.turns,
            usage: self.env.spending.usage(),
            cost_usd: self.env.spending.dollars(),
            session_id: self.env.session_id.clone(),
            permission_denials: std::mem::take(&mut self.denials),
        }
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

pub(crate) fn end(reason: TerminalReason, message: impl Into<String>) -> Next {
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
