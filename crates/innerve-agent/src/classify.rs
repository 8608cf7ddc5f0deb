//! The classifier of mode `auto`: a second look at an action, by a model that sees nothing of what the agent has read.
//!
//! A fast stage answers by one word and is biased to flag; only what it flags is reasoned about. Both are told what the
//! person wrote, what the agent did and what it is about to do, never a tool's result or the agent's own prose: whoever
//! steers the agent by a text that it reads cannot speak to the classifier (Anthropic Engineering, "Claude Code auto
//! mode"). Whatever is not a clear verdict is none.

mod history;
mod prompt;
mod rules;
mod verdict;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use innerve_model::Model;
use innerve_pipeline::{Classifier, ClassifierRequest, ClassifierVerdict};
use innerve_protocol::{CacheControl, ContentBlock, StopReason, SystemBlock, ToolUse};
use innerve_tool::{BoxFuture, ToolPool};
use tokio::task::JoinHandle;

use crate::aside::{self, Asking};
use crate::looping::Looping;
use crate::{LogError, Record, Spending};
use history::History;
pub use rules::AutoModeRules;
use verdict::{Fast, Reasoned};

/// How long one stage may take.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Characters of an action at most: a longer one is not judged by a part of it.
const ACTION_CHARS: usize = 60_000;
/// Output tokens of the fast stage; more than a word, for models that think before they speak.
const FAST_TOKENS: u32 = 512;
/// Output tokens of the stage that reasons.
const REASONED_TOKENS: u32 = 4_096;

/// A classifier of two stages, for one session. Each agent asks it with the history of its own.
pub struct TwoStage {
    model: Arc<dyn Model>,
    name: String,
    instructions: String,
    timeout: Duration,
    spending: Arc<Spending>,
}

impl TwoStage {
    /// A classifier that asks the model of this name; what it costs is added to `spending`.
    pub fn new(
        model: Arc<dyn Model>,
        name: impl Into<String>,
        rules: &AutoModeRules,
        spending: Arc<Spending>,
    ) -> Self {
        let instructions = prompt::instructions(rules);
        Self { model, name: name.into(), instructions, timeout: TIMEOUT, spending }
    }

    /// Sets how long one stage may take. Default: 60 seconds.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    async fn judge(&self, lines: String) -> ClassifierVerdict {
        let fast = match self.say(&lines, prompt::FAST, FAST_TOKENS).await {
            Ok(text) => verdict::fast(&text),
            Err(why) => return ClassifierVerdict::Unavailable(why),
        };
        match fast {
            Fast::Allow => return ClassifierVerdict::Allow,
            Fast::Flag => {}
        }
        match self.say(&lines, prompt::REASONED, REASONED_TOKENS).await {
            Ok(text) => match verdict::reasoned(&text) {
                Some(Reasoned::Allow) => ClassifierVerdict::Allow,
                Some(Reasoned::Block(reason)) => ClassifierVerdict::Block(reason),
                None => ClassifierVerdict::Unavailable("its answer was no verdict".to_owned()),
            },
            Err(why) => ClassifierVerdict::Unavailable(why),
        }
    }

    /// One answer of the model, in full; an error says why there is none, in words of our own.
    async fn say(&self, lines: &str, question: &str, tokens: u32) -> Result<String, String> {
        let answer = tokio::time::timeout(self.timeout, self.answer(lines, question, tokens));
        answer.await.unwrap_or_else(|_| Err(format!("it did not answer within {:?}", self.timeout)))
    }

    async fn answer(&self, lines: &str, question: &str, tokens: u32) -> Result<String, String> {
        let capabilities = self.model.capabilities(&self.name);
        let mut system = SystemBlock::new(self.instructions.as_str());
        system.cache_control = capabilities.cache_control.then(CacheControl::ephemeral);
        let content = vec![ContentBlock::text(lines), ContentBlock::text(question)];
        let request = aside::request(&*self.model, &self.name, system, content, tokens);
        let answer = Asking::new(&*self.model, request, &self.spending).answer().await;
        let answer = answer.map_err(|error| format!("no answer ({})", error.class().code()))?;
        match answer.reason {
            StopReason::EndTurn | StopReason::StopSequence => Ok(answer.texts().collect()),
            StopReason::Refusal => Err("it refused to answer".to_owned()),
            StopReason::MaxTokens
            | StopReason::ModelContextWindowExceeded
            | StopReason::ToolUse
            | StopReason::PauseTurn
            | StopReason::Other(_) => Err("its answer was not complete".to_owned()),
        }
    }
}

/// The classifier in one agent's hands: the same for all agents of a session, with a history for each.
#[derive(Clone)]
pub struct AgentClassifier {
    stages: Arc<TwoStage>,
    history: Arc<History>,
}

impl AgentClassifier {
    /// For a main conversation that begins, or goes on without what was said before.
    pub fn new(stages: TwoStage) -> Self {
        Self { stages: Arc::new(stages), history: Arc::default() }
    }

    /// For a sub-agent: it knows what the person wrote so far, and will know its own task and actions.
    pub(crate) fn child(&self) -> Self {
        Self { stages: Arc::clone(&self.stages), history: Arc::new(self.history.child()) }
    }

    /// A person wrote this.
    pub(crate) fn person(&self, text: &str) {
        self.history.person(text);
    }

    /// Another agent set this task.
    pub(crate) fn task(&self, text: &str) {
        self.history.task(text);
    }

    /// A tool use begins.
    pub(crate) fn action(&self, pool: &ToolPool, tool_use: &ToolUse) {
        self.history.action(pool, tool_use);
    }
}

impl Classifier for AgentClassifier {
    fn start(&self, request: ClassifierRequest) -> BoxFuture<'static, ClassifierVerdict> {
        let chars = request.input.chars().count();
        if chars > ACTION_CHARS {
            let why =
                format!("the action has {chars} characters; at most {ACTION_CHARS} are judged");
            return Box::pin(async { ClassifierVerdict::Unavailable(why) });
        }
        let lines = prompt::lines(&self.history.lines(&request.tool_use_id), &request);
        let stages = Arc::clone(&self.stages);
        let mut work = Work(tokio::spawn(async move { stages.judge(lines).await }));
        Box::pin(async move {
            // What a panic says may hold secrets: it is dropped unseen.
            (&mut work.0).await.unwrap_or_else(|_| {
                ClassifierVerdict::Unavailable("an internal error ended it".to_owned())
            })
        })
    }
}

impl Looping<'_> {
    /// Keeps what a person wrote apart from what others add to it, so that a classifier can tell them apart, also when the
    /// session is resumed. A sub-agent's task was written by an agent.
    pub(crate) fn keep_words(&mut self, words: String) -> Result<(), LogError> {
        let classifier = self.env.classifier.as_ref();
        if self.env.agent_id.is_some() {
            if let Some(classifier) = classifier {
                classifier.task(&words);
            }
            return Ok(());
        }
        if let Some(classifier) = classifier {
            classifier.person(&words);
        }
        if words.is_empty() {
            return Ok(());
        }
        self.conversation.log.append(&Record::Words { text: words })
    }

    /// Tells the classifier what the agent did before the session was resumed.
    pub(crate) fn recall_actions(&self) {
        let Some(classifier) = &self.env.classifier else { return };
        if self.conversation.opened == Some("resume") {
            for tool_use in
                self.conversation.messages().iter().flat_map(|message| message.tool_uses())
            {
                classifier.action(self.offer.pool(), tool_use);
            }
        }
    }
}

/// The text of a prompt.
pub(crate) fn words_of(prompt: &[ContentBlock]) -> String {
    prompt.iter().filter_map(ContentBlock::as_text).collect::<Vec<_>>().join("\n")
}

/// Work that ends when nobody waits for it any more.
struct Work(JoinHandle<ClassifierVerdict>);

impl Drop for Work {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl fmt::Debug for TwoStage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TwoStage").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for AgentClassifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("AgentClassifier")
            .field("stages", &self.stages)
            .finish_non_exhaustive()
    }
}
