//! One run: requests, responses and tools, until there is a reason to end.

use std::sync::Arc;
use std::time::Instant;

use innerve_permission::Reason;
use innerve_pipeline::{PolicySource, Turn};
use innerve_protocol::{
    Capabilities, ContentBlock, Message, Request, Role, SharedMessage, ToolUse, Usage,
};
use innerve_tool::{CancellationToken, Lookup, ProgressEvent, ProgressSink, ResultLimit, ToolPool};
use tokio::sync::mpsc;
use tracing::Instrument as _;

use crate::catalog::PoolCatalog;
use crate::classify::words_of;
use crate::conversation::Conversation;
use crate::executor::Executor;
use crate::fork::Sent;
use crate::inbox::Inbox;
use crate::offer::Offer;
use crate::target::Target;
use crate::{
    AgentEvent, LogError, Record, ResultFiles, RunSummary, SessionEnv, Terminal, TerminalReason,
    Transition, request, telemetry, window,
};

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
    pub(crate) offer: Offer,
    /// What a person writes meanwhile.
    pub(crate) inbox: Arc<Inbox>,
    /// The conversation as it was sent last.
    sent: Arc<Sent>,
    /// Which model answers: 0 the usual one, then those that take over.
    pub(crate) fallback: usize,
    pub(crate) target: Target,
    pub(crate) frame: Option<u64>,
}

/// What an iteration starts from; made anew each time, never patched.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct State {
    pub(crate) max_tokens: Option<u32>,
    pub(crate) recoveries: u32,
    pub(crate) pauses: u32,
    /// Times in a row that hooks kept the run from ending.
    pub(crate) stop_blocks: u32,
    /// Whether old results were cleared because the conversation did not fit.
    pub(crate) drained: bool,
    /// Whether it was compacted, or its images taken out, because the provider did not take it.
    pub(crate) relieved: bool,
    /// Whether less output was asked for because the request did not fit.
    pub(crate) reduced: bool,
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
        catalog: Arc<PoolCatalog>,
        inbox: Arc<Inbox>,
        sent: Arc<Sent>,
    ) -> Self {
        // What a sub-agent uses was asked for by an agent, not by a person.
        let wanted = env.config.token_target.filter(|_| env.agent_id.is_none());
        Self {
            env,
            conversation,
            cancellation,
            denials: Vec::new(),
            turns: 0,
            result: String::new(),
            events,
            offer: Offer::new(catalog),
            inbox,
            sent,
            fallback: 0,
            target: Target::new(wanted),
            frame: None,
        }
    }
}

impl Looping<'_> {
    /// Works until there is a reason to end.
    pub(crate) async fn drive(
        &mut self,
        prompt: Vec<ContentBlock>,
        attached: Vec<ContentBlock>,
    ) -> Terminal {
        let policy = self.env.policy.current();
        self.tell(AgentEvent::Started {
            session_id: self.env.session_id.clone(),
            model: self.env.config.model.clone(),
            tools: self.offer.pool().names(),
            mode: policy.mode,
            cwd: policy.cwd.clone(),
        })
        .await;
        let mut state = State::default();
        // Without a prompt the conversation goes on from where it is.
        let mut prompt = prompt;
        self.recall_actions();
        if !prompt.is_empty() {
            // Before anybody adds to it.
            telemetry::user_prompt(&prompt);
            let words = words_of(&prompt);
            if self.env.agent_id.is_none() {
                self.target.hear(&words);
            }
            prompt.extend(attached);
            if let Err(why) = self.hear_prompt(&mut prompt).await {
                let message = format!("a hook refused the prompt: {why}");
                return Terminal { reason: TerminalReason::HookStopped, message };
            }
            prompt.extend(self.task_news());
            if let Err(error) =
                self.keep_words(words).and_then(|()| self.conversation.push_user(prompt))
            {
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
        let window = self.capabilities().context_window;
        self.offer.refresh(self.conversation, self.env.config.tool_search, window);
        self.offer.announce(self.conversation, || self.env.tools.pending())?;
        self.settle()?;
        if let Some(terminal) = self.make_room().await? {
            return Ok(Next::End(terminal));
        }
        let max_tokens = state.max_tokens.unwrap_or(self.env.config.max_tokens);
        self.sent.set(self.conversation.messages());
        let request = self.request(self.conversation.messages().to_vec(), max_tokens);

        let turn = Arc::new(self.turn());
        let mut pipeline = self.env.pipeline.clone();
        if let Some(classifier) = self.env.classifier.clone() {
            pipeline = pipeline.with_classifier(Arc::new(classifier));
        }
        let pipeline = Arc::new(pipeline);
        let mut executor = Executor::new(pipeline, turn, &self.env.config);
        let naming = self.env.pipeline.naming();
        let span = telemetry::llm_request(naming, self.model(), max_tokens, request.messages.len());
        let since = Instant::now();
        let response = self.respond(request, &mut executor).instrument(span.clone()).await?;
        executor.complete();
        telemetry::answered(&span, naming, self.model(), &response, since.elapsed());
        self.env.spending.add(self.model(), &response.usage);
        self.target.used(response.usage.output_tokens.unwrap_or(0));
        self.conversation.compactions.heard();

        if executor.len() > 0 {
            return self.finish_tools(response, executor, state).await;
        }
        self.finish_text(response, state).await
    }

    /// Puts what the model said into the conversation; thinking alone is not said.
    pub(crate) async fn keep(
        &mut self,
        mut blocks: Vec<ContentBlock>,
        usage: &Usage,
    ) -> Result<(), LogError> {
        if !blocks.iter().any(is_lasting) {
            return Ok(());
        }
        if self.fallback > 0 {
            blocks.retain(|block| !is_thinking(block));
        }
        let message = Message::new(Role::Assistant, blocks);
        let words = message.plain_text();
        if !words.trim().is_empty() {
            self.result = words;
        }
        self.conversation.push(message.clone())?;
        self.conversation.counted(usage);
        self.tell(AgentEvent::Assistant(message)).await;
        Ok(())
    }

    /// Adds what a person wrote while the model did.
    pub(crate) async fn say(&mut self, content: Vec<ContentBlock>) -> Result<(), LogError> {
        let message = Message::new(Role::User, content.clone());
        self.conversation.push_user(content)?;
        self.tell(AgentEvent::User(message)).await;
        Ok(())
    }

    /// Tells the model something that no person wrote.
    pub(crate) async fn note(&mut self, text: impl Into<String>) -> Result<(), LogError> {
        let message = Message::user(text);
        self.conversation.push(message.clone())?;
        self.tell(AgentEvent::User(message)).await;
        Ok(())
    }

    /// Makes the conversation one that can be sent: repaired, and the results of each message within the budget.
    pub(crate) fn settle(&mut self) -> Result<(), LogError> {
        let store = ResultFiles::new(SessionEnv::results_folder(&self.env.folder));
        let pool = self.offer.pool();
        self.conversation.settle(|name| is_self_bounded(pool, name), &store)
    }

    /// A request with these messages for the model that answers at the moment.
    pub(crate) fn request(&self, messages: Vec<SharedMessage>, max_tokens: u32) -> Request {
        let capabilities = self.capabilities();
        let messages = match self.fallback {
            0 => messages,
            // What another model thought is sealed for that model.
            _ => without_thinking(messages),
        };
        let model = self.model().to_owned();
        let config = &self.env.config;
        request::build(model, config, &capabilities, &self.offer, messages, max_tokens)
    }

    /// The model that answers at the moment.
    pub(crate) fn model(&self) -> &str {
        let config = &self.env.config;
        let other =
            self.fallback.checked_sub(1).and_then(|index| config.fallback_models.get(index));
        other.unwrap_or(&config.model)
    }

    /// What it can take.
    pub(crate) fn capabilities(&self) -> Capabilities {
        self.env.model.capabilities(self.model())
    }

    /// The tokens of instructions and tools, about.
    pub(crate) fn frame(&mut self) -> u64 {
        if let Some(frame) = self.frame {
            return frame;
        }
        let frame = window::frame(&self.request(Vec::new(), 0));
        *self.frame.insert(frame)
    }

    /// What has become of work in the background; sub-agents have other things to do.
    pub(crate) fn task_news(&mut self) -> Vec<ContentBlock> {
        match self.env.agent_id {
            None => {
                let tasks = Arc::clone(&self.env.tasks);
                // What cannot be logged now is found out with the next record.
                let _unlogged = self.conversation.log_tasks(tasks.as_ref());
                self.conversation.task_news(tasks.as_ref())
            }
            Some(_) => Vec::new(),
        }
    }

    pub(crate) fn turn(&self) -> Turn {
        Turn {
            pool: self.offer.pool().clone(),
            policy: Arc::clone(&self.env.policy) as Arc<dyn PolicySource>,
            session_id: self.env.session_id.clone(),
            agent_id: self.env.agent_id.clone(),
            agent_type: self.env.config.agent_type.clone(),
            depth: self.env.depth,
            cancellation: self.cancellation.child_token(),
            progress: Arc::new(ProgressToEvents(self.events.clone())),
            denials: Arc::clone(&self.env.denials),
            loaded: Arc::clone(self.offer.loaded()),
            batch: Arc::default(),
        }
    }

    fn over_budget(&self) -> Option<Terminal> {
        let terminal = |message| Terminal { reason: TerminalReason::BudgetExceeded, message };
        let spent = self.env.spending.known_dollars();
        if let Some(limit) = self.env.config.max_cost_usd
            && spent >= limit
        {
            let text = format!("the run has cost ${spent:.2}; the limit is ${limit:.2}");
            return Some(terminal(text));
        }
        let limit = self.env.config.max_total_tokens?;
        let usage = self.env.spending.usage();
        let used = usage.total_input().saturating_add(usage.output_tokens.unwrap_or(0));
        (used >= limit)
            .then(|| terminal(format!("the run has used {used} tokens; the limit is {limit}")))
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
pub(crate) fn is_lasting(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Text(text) => !text.text.trim().is_empty(),
        ContentBlock::Thinking(_) | ContentBlock::RedactedThinking(_) => false,
        ContentBlock::Image(_)
        | ContentBlock::ToolUse(_)
        | ContentBlock::ToolResult(_)
        | ContentBlock::ToolReference(_)
        | ContentBlock::Unknown(_) => true,
    }
}

pub(crate) fn end(reason: TerminalReason, message: impl Into<String>) -> Next {
    Next::End(Terminal { reason, message: message.into() })
}

fn is_thinking(block: &ContentBlock) -> bool {
    matches!(block, ContentBlock::Thinking(_) | ContentBlock::RedactedThinking(_))
}

fn without_thinking(mut messages: Vec<SharedMessage>) -> Vec<SharedMessage> {
    for message in &mut messages {
        if message.content.iter().any(is_thinking) {
            message.make_mut().content.retain(|block| !is_thinking(block));
        }
    }
    messages.retain(|message| !message.content.is_empty());
    messages
}

fn session_error(error: &LogError) -> Terminal {
    Terminal { reason: TerminalReason::SessionError, message: error.to_string() }
}
