//! An agent with its conversation, and a run of it as a stream of events.

use std::fmt;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::{FutureExt as _, Stream};
use innerve_pipeline::HookEventName;
use innerve_protocol::{ContentBlock, Message};
use innerve_tool::port::SubagentSpawner;
use innerve_tool::{CancellationToken, ToolPool};
use serde_json::json;
use tokio::sync::{Mutex, mpsc};

use crate::agents::AgentDefinition;
use crate::conversation::Conversation;
use crate::hooks::object;
use crate::looping::Looping;
use crate::subagent::Spawner;
use crate::{AgentEvent, LogError, Seat, SessionEnv, Terminal, TerminalReason, Transcript};

/// Events that wait for a slow receiver before the loop waits too.
const EVENT_BUFFER: usize = 256;

/// An agent with its conversation. [`Agent::run`] does one task; runs of one agent follow each other.
pub struct Agent {
    env: Arc<SessionEnv>,
    conversation: Arc<Mutex<Conversation>>,
    only: Option<&'static AgentDefinition>,
}

impl Agent {
    /// An agent with a new conversation.
    pub fn start(env: SessionEnv) -> Result<Self, LogError> {
        let conversation = Conversation::start(&env)?;
        Ok(Self {
            env: Arc::new(env),
            conversation: Arc::new(Mutex::new(conversation)),
            only: None,
        })
    }

    /// An agent that goes on from a log.
    pub fn resume(env: SessionEnv, transcript: Transcript) -> Result<Self, LogError> {
        let conversation = Conversation::resume(&env, transcript)?;
        Ok(Self {
            env: Arc::new(env),
            conversation: Arc::new(Mutex::new(conversation)),
            only: None,
        })
    }

    /// A sub-agent of a type.
    pub(crate) fn typed(
        env: SessionEnv,
        definition: &'static AgentDefinition,
    ) -> Result<Self, LogError> {
        Ok(Self { only: Some(definition), ..Self::start(env)? })
    }

    /// Does one task: a stream of events that ends with [`AgentEvent::Ended`]. It works whether or not the events are
    /// read as fast as they come; dropping the stream stops it.
    ///
    /// Must be called within a tokio runtime.
    pub fn run(&self, prompt: Vec<ContentBlock>) -> Run {
        let (sender, events) = mpsc::channel(EVENT_BUFFER);
        let cancellation = self.env.cancellation.child_token();
        let env = Arc::clone(&self.env);
        let conversation = Arc::clone(&self.conversation);
        let token = cancellation.clone();
        let only = self.only;
        tokio::spawn(async move {
            let mut conversation = conversation.lock_owned().await;
            let pool = assemble(&env, only, &sender);
            let events = sender.clone();
            let mut looping = Looping::new(&env, &mut conversation, sender, token, pool);
            let driven = AssertUnwindSafe(looping.drive(prompt)).catch_unwind().await;
            let terminal = driven.unwrap_or_else(|payload| {
                // The payload may hold secrets: it is dropped unseen.
                drop(payload);
                let message = "internal error; the run was abandoned".to_owned();
                Terminal { reason: TerminalReason::ModelError, message }
            });
            let summary = looping.end(terminal).await;
            // Whoever has read the end may open the log.
            drop(looping);
            drop(conversation);
            let _gone = events.send(AgentEvent::Ended(Box::new(summary))).await;
        });
        Run { events, cancellation, is_over: false }
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
        self.conversation.lock().await.messages.clone()
    }
}

fn assemble(
    env: &Arc<SessionEnv>,
    only: Option<&'static AgentDefinition>,
    events: &mpsc::Sender<AgentEvent>,
) -> ToolPool {
    let spawner: Arc<dyn SubagentSpawner> = Arc::new(Spawner::new(Arc::clone(env), events.clone()));
    let seat = Seat {
        agent_id: env.agent_id.clone(),
        depth: env.depth,
        spawner,
        tasks: Arc::clone(&env.tasks),
    };
    let policy = innerve_pipeline::PolicySource::current(env.policy.as_ref());
    let pool = ToolPool::assemble(env.tools.tools(&seat), |name| policy.rules.removes_tool(name));
    match only {
        Some(definition) => {
            pool.narrowed(|tool| definition.has(tool, env.depth < crate::subagent::MAX_DEPTH))
        }
        None => pool,
    }
}

/// A run that is under way: a stream of its events.
#[derive(Debug)]
pub struct Run {
    events: mpsc::Receiver<AgentEvent>,
    cancellation: CancellationToken,
    /// Work in the background may go on and hold the other end.
    is_over: bool,
}

impl Run {
    /// Stops the run; the events still end with [`AgentEvent::Ended`], and the conversation can go on.
    pub fn cancel(&self) {
        self.cancellation.cancel();
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
