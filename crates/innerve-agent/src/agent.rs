//! An agent with its conversation, and a run of it as a stream of events.

use std::fmt;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use futures_util::{FutureExt as _, Stream};
use innerve_pipeline::{HookEventName, PolicySource};
use innerve_protocol::{ContentBlock, Message, SharedMessage};
use innerve_tool::CancellationToken;
use innerve_tool::port::{SubagentSpawner, ToolCatalog};
use serde_json::json;
use tokio::sync::{Mutex, mpsc};
use tracing::Instrument as _;

use crate::agents::{AgentDefinition, OF_COORDINATOR};
use crate::catalog::{Keep, PoolCatalog};
use crate::conversation::Conversation;
use crate::fork::Sent;
use crate::hooks::object;
use crate::inbox::Inbox;
use crate::looping::Looping;
use crate::subagent::{Parent, Spawner};
use crate::task_list::ToldList;
use crate::{
    AgentEvent, LogError, PastSession, Seat, SessionEnv, Terminal, TerminalReason, telemetry,
};

/// Events that wait for a slow receiver before the loop waits too.
const EVENT_BUFFER: usize = 256;

/// An agent with its conversation. [`Agent::run`] does one task; runs of one agent follow each other.
pub struct Agent {
    env: Arc<SessionEnv>,
    conversation: Arc<Mutex<Conversation>>,
    only: Option<Arc<AgentDefinition>>,
    /// A copy starts no copies.
    is_fork: bool,
}

impl Agent {
    /// An agent with a new conversation.
    pub fn start(env: SessionEnv) -> Result<Self, LogError> {
        let conversation = Conversation::start(&env)?;
        Ok(Self {
            env: Arc::new(env),
            conversation: Arc::new(Mutex::new(conversation)),
            only: None,
            is_fork: false,
        })
    }

    /// An agent that goes on with a past session. What its log does not hold yet is written to it, and nothing else.
    ///
    /// A session that only coordinates goes on so.
    pub fn resume(mut env: SessionEnv, past: PastSession) -> Result<Self, LogError> {
        if past.transcript().coordinator {
            Arc::make_mut(&mut env.config).coordinator = true;
        }
        let conversation = Conversation::resume(&env, past)?;
        Ok(Self {
            env: Arc::new(env),
            conversation: Arc::new(Mutex::new(conversation)),
            only: None,
            is_fork: false,
        })
    }

    /// A sub-agent of a type.
    pub(crate) fn typed(
        env: SessionEnv,
        definition: Arc<AgentDefinition>,
    ) -> Result<Self, LogError> {
        Ok(Self { only: Some(definition), ..Self::start(env)? })
    }

    /// A copy of an agent of this type, with the conversation as it was sent last.
    pub(crate) fn fork(
        env: SessionEnv,
        only: Option<Arc<AgentDefinition>>,
        messages: Vec<SharedMessage>,
    ) -> Result<Self, LogError> {
        let conversation = Conversation::fork(&env, messages)?;
        Ok(Self {
            env: Arc::new(env),
            conversation: Arc::new(Mutex::new(conversation)),
            only,
            is_fork: true,
        })
    }

    /// Does one task: a stream of events that ends with [`AgentEvent::Ended`]. It works whether or not the events are
    /// read as fast as they come; dropping the stream stops it.
    ///
    /// Must be called within a tokio runtime.
    pub fn run(&self, prompt: Vec<ContentBlock>) -> Run {
        self.run_with(prompt, Vec::new())
    }

    /// As [`Agent::run`], with content that a person attached and did not write (a file, what was piped in): the model
    /// gets it after the prompt, and a classifier does not take it for the person's words.
    pub fn run_with(&self, prompt: Vec<ContentBlock>, attached: Vec<ContentBlock>) -> Run {
        self.spawn(Task::Prompt { prompt, attached })
    }

    /// Compacts the conversation: a summary by the model takes its place. `instructions` may say what it should keep.
    ///
    /// Must be called within a tokio runtime.
    pub fn compact(&self, instructions: impl Into<String>) -> Run {
        self.spawn(Task::Compact(instructions.into()))
    }

    fn spawn(&self, task: Task) -> Run {
        let (sender, events) = mpsc::channel(EVENT_BUFFER);
        let cancellation = self.env.cancellation.child_token();
        let env = Arc::clone(&self.env);
        let conversation = Arc::clone(&self.conversation);
        let token = cancellation.clone();
        let (only, is_fork) = (self.only.clone(), self.is_fork);
        let inbox = Arc::new(Inbox::default());
        let messages = Arc::clone(&inbox);
        let span = telemetry::interaction(&env);
        let work = async move {
            let since = Instant::now();
            let mut conversation = conversation.lock_owned().await;
            let sent = Arc::new(Sent::default());
            let parent = Parent {
                env: Arc::clone(&env),
                only,
                is_fork,
                sent: Arc::clone(&sent),
                events: sender.clone(),
            };
            let catalog = assemble(parent);
            let events = sender.clone();
            let mut looping =
                Looping::new(&env, &mut conversation, sender, token, catalog, messages, sent);
            let driven = AssertUnwindSafe(task.work(&mut looping)).catch_unwind().await;
            let terminal = driven.unwrap_or_else(|payload| {
                // The payload may hold secrets: it is dropped unseen.
                drop(payload);
                telemetry::internal_error();
                let message = "internal error; the run was abandoned".to_owned();
                Terminal { reason: TerminalReason::ModelError, message }
            });
            let summary = looping.end(terminal).await;
            telemetry::ended(&summary, since.elapsed());
            // Whoever has read the end may open the log.
            drop(looping);
            drop(conversation);
            let _gone = events.send(AgentEvent::Ended(Box::new(summary))).await;
        };
        tokio::spawn(work.instrument(span));
        Run { events, cancellation, inbox, is_over: false }
    }

    /// Tells hooks that the session ends, and why (`clear`, `prompt_input_exit`, `other`); gives their texts for the
    /// person.
    pub async fn close(&self, reason: &str) -> Vec<String> {
        let fields = object(json!({ "reason": reason }));
        self.env.hear(HookEventName::SessionEnd, fields).await.1
    }

    /// What the agent is built from.
    pub fn env(&self) -> &Arc<SessionEnv> {
        &self.env
    }

    /// The conversation so far. Waits for a run that is under way.
    pub async fn messages(&self) -> Vec<Message> {
        let conversation = self.conversation.lock().await;
        conversation.messages().iter().map(|message| (**message).clone()).collect()
    }
}

/// What a run is for.
enum Task {
    Prompt { prompt: Vec<ContentBlock>, attached: Vec<ContentBlock> },
    Compact(String),
}

impl Task {
    async fn work(self, looping: &mut Looping<'_>) -> Terminal {
        match self {
            Self::Prompt { prompt, attached } => looping.drive(prompt, attached).await,
            Self::Compact(instructions) => looping.compact_only(&instructions).await,
        }
    }
}

fn assemble(parent: Parent) -> Arc<PoolCatalog> {
    let (env, only) = (Arc::clone(&parent.env), parent.only.clone());
    let spawner: Arc<dyn SubagentSpawner> = Arc::new(Spawner::new(parent));
    let may_spawn = env.depth < crate::subagent::MAX_DEPTH;
    let keep: Keep = match only {
        Some(definition) => Box::new(move |tool| definition.has(tool, may_spawn)),
        None if env.config.coordinator => Box::new(|tool| OF_COORDINATOR.contains(&tool.name())),
        None => Box::new(|_| true),
    };
    let catalog = Arc::new(PoolCatalog::new(Arc::clone(&env.tools), Arc::clone(&env.policy), keep));
    let seat = Seat {
        agent_id: env.agent_id.clone(),
        depth: env.depth,
        spawner,
        tasks: Arc::clone(&env.tasks),
        task_list: ToldList::of(&env),
        catalog: Arc::clone(&catalog) as Arc<dyn ToolCatalog>,
        policy: Some(Arc::clone(&env.policy) as Arc<dyn PolicySource>),
    };
    catalog.begin(env.tools.tools(&seat));
    catalog
}

/// A run that is under way: a stream of its events.
#[derive(Debug)]
pub struct Run {
    events: mpsc::Receiver<AgentEvent>,
    cancellation: CancellationToken,
    inbox: Arc<Inbox>,
    /// Work in the background may go on and hold the other end.
    is_over: bool,
}

impl Run {
    /// Stops the run; the events still end with [`AgentEvent::Ended`], and the conversation can go on.
    pub fn cancel(&self) {
        self.cancellation.cancel();
    }

    /// Says something to the model while it works. It gets it with the next tool results, or once it is done; running
    /// tools that can be called again at no cost are ended for it, and all others are waited for.
    pub fn submit(&self, message: Vec<ContentBlock>) {
        self.inbox.put(message);
    }

    /// What was submitted and came too late: the run was over, or was stopped.
    pub fn take_unsent(&self) -> Vec<Vec<ContentBlock>> {
        self.inbox.take()
    }

    /// Stops the run when it is cancelled; for signal handlers.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancellation
    }

    /// The next event; `None` after the last one.
    pub async fn next(&mut self) -> Option<AgentEvent> {
        poll_fn(|context| self.poll_event(context)).await
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let event = self.events.poll_recv(context);
        if let Poll::Ready(Some(AgentEvent::Ended(_)) | None) = event {
            self.is_over = true;
            self.events.close();
        }
        event
    }
}

impl Stream for Run {
    type Item = AgentEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        self.poll_event(context)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.cancellation.cancel();
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Agent").field("env", &self.env).finish_non_exhaustive()
    }
}
