//! Starts sub-agents: the loop's side of the Agent tool.

mod place;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use innerve_pipeline::HookEventName;
use innerve_protocol::{AgentId, ContentBlock, ToolUseId, Usage};
use innerve_tool::port::{
    AgentType, SubagentError, SubagentOutcome, SubagentRequest, SubagentSpawner, TaskKind,
    TaskState,
};
use innerve_tool::{BoxFuture, CallContext, ProgressEvent};
use serde_json::json;
use tokio::sync::mpsc;

use crate::agents::{AgentDefinition, AgentTypes, DEFAULT_AGENT, public_name};
use crate::fork::{FORK, Sent, directed};
use crate::hooks::object;
use crate::session::ChildSeat;
use crate::{Agent, AgentConfig, AgentEvent, RunSummary, SessionEnv, TerminalReason, telemetry};
use place::{OwnWorktree, directory};

/// How deep sub-agents may nest below the main conversation (Claude Code documentation, "sub-agents").
pub(crate) const MAX_DEPTH: u32 = 3;
/// How many may run at once in a session (Claude Code documentation, "sub-agents").
const MAX_RUNNING: usize = 20;

/// An agent that starts others.
pub(crate) struct Parent {
    pub(crate) env: Arc<SessionEnv>,
    /// Its type, if it is a sub-agent.
    pub(crate) only: Option<Arc<AgentDefinition>>,
    /// Whether it is a copy itself.
    pub(crate) is_fork: bool,
    /// Its conversation as it was sent last.
    pub(crate) sent: Arc<Sent>,
    pub(crate) events: mpsc::Sender<AgentEvent>,
}

/// Starts the sub-agents of one agent.
pub(crate) struct Spawner {
    parent: Arc<SessionEnv>,
    only: Option<Arc<AgentDefinition>>,
    is_fork: bool,
    sent: Arc<Sent>,
    events: mpsc::Sender<AgentEvent>,
}

impl Spawner {
    pub(crate) fn new(parent: Parent) -> Self {
        let Parent { env, only, is_fork, sent, events } = parent;
        Self { parent: env, only, is_fork, sent, events }
    }

    async fn run(
        &self,
        request: SubagentRequest,
        context: CallContext,
    ) -> Result<SubagentOutcome, SubagentError> {
        let seat = Running::take(&self.parent)?;
        let definition = find(&self.parent.config.agents, request.agent_type.as_deref())?;
        let is_fork = definition.name == FORK;
        let coordinated = self.parent.config.coordinator && self.parent.agent_id.is_none();
        if is_fork && coordinated {
            let text = "a coordinator starts no copies of itself; use another type".to_owned();
            return Err(SubagentError::Unsupported(text));
        }
        if definition.tools.as_ref().is_some_and(Vec::is_empty) {
            let text = format!("agents of type `{}` are given no tools", definition.name);
            return Err(SubagentError::Unsupported(text));
        }
        // What works side by side works in the background, where nobody watches it.
        let background = request.background || definition.background || coordinated;
        if is_fork && self.is_fork {
            let text = "a copy starts no copies; do this yourself, or use another type".to_owned();
            return Err(SubagentError::Unsupported(text));
        }
        let agent_id = AgentId::new(format!("a{}", (self.parent.new_id)()));
        let worktree =
            OwnWorktree::make(&request.isolation, &self.parent, &context, &agent_id).await?;
        let cwd = match &worktree {
            Some(own) => own.path.clone(),
            None => directory(&request.isolation, &context)?,
        };
        let config = AgentConfig {
            // A copy has all that its parent has, or nothing that is cached would be read.
            model: request
                .model
                .clone()
                .or_else(|| definition.model.clone())
                .filter(|_| !is_fork)
                .unwrap_or_else(|| self.parent.config.model.clone()),
            agent_type: Some(definition.name.clone()),
            max_turns: definition.max_turns.or(self.parent.config.max_turns),
            coordinator: false,
            system: if is_fork {
                self.parent.config.system.clone()
            } else {
                instructions(&definition, &self.parent.config.system, &cwd)
            },
            ..(*self.parent.config).clone()
        };
        let cancellation = if background {
            self.parent.cancellation.child_token()
        } else {
            context.cancellation.child_token()
        };
        let env = self.parent.child(ChildSeat {
            agent_id: agent_id.clone(),
            cwd,
            modes: [definition.mode, request.mode],
            config,
            cancellation: cancellation.clone(),
            background,
        });
        let agent = if is_fork {
            Agent::fork(env, self.only.clone(), self.sent.get())
        } else {
            Agent::typed(env, narrowed(&definition, background))
        };
        let agent = agent.map_err(|error| SubagentError::Failed(error.to_string()))?;
        let task = if is_fork { directed(&request.prompt) } else { request.prompt };
        let mut prompt = Vec::new();
        let fields = object(json!({ "agent_id": agent_id, "agent_type": definition.name }));
        let (heard, notices) = self.parent.hear(HookEventName::SubagentStart, fields).await;
        for notice in notices {
            let _dropped = self.events.try_send(AgentEvent::Warning(notice));
        }
        prompt.extend(heard.context.into_iter().chain([task]).map(ContentBlock::text));
        let kind = public_name(&definition.name);
        let work = Work { agent, agent_id: agent_id.clone(), kind, prompt, seat, worktree };
        if !background {
            return work.finish(&self.events, &context.tool_use_id).await;
        }
        let task_id = self
            .parent
            .tasks
            .register(TaskKind::Agent, &request.description, None, cancellation)
            .map_err(|error| SubagentError::Unsupported(error.to_string()))?;
        let (tasks, id) = (Arc::clone(&self.parent.tasks), task_id.clone());
        let (events, parent) = (self.events.clone(), context.tool_use_id.clone());
        tokio::spawn(async move {
            let state = match work.finish(&events, &parent).await {
                Ok(SubagentOutcome::Completed { text, note: None, .. }) => {
                    TaskState::Completed(text)
                }
                Ok(SubagentOutcome::Completed { text, note: Some(note), .. }) => {
                    TaskState::Completed(format!("{text}\n\n[Note: {note}]"))
                }
                Ok(SubagentOutcome::Launched { .. }) => TaskState::Completed(String::new()),
                Err(SubagentError::Interrupted) => TaskState::Killed,
                Err(error) => TaskState::Failed(error.to_string()),
            };
            tasks.update(&id, state);
        });
        Ok(SubagentOutcome::Launched { agent_id, task_id })
    }
}

impl SubagentSpawner for Spawner {
    fn agent_types(&self) -> Vec<AgentType> {
        self.parent.config.agents.shown()
    }

    fn spawn(
        &self,
        request: SubagentRequest,
        context: CallContext,
    ) -> BoxFuture<'_, Result<SubagentOutcome, SubagentError>> {
        Box::pin(self.run(request, context))
    }
}

/// A sub-agent that is ready to work.
struct Work {
    agent: Agent,
    agent_id: AgentId,
    kind: &'static str,
    prompt: Vec<ContentBlock>,
    seat: Running,
    worktree: Option<OwnWorktree>,
}

impl Work {
    /// Works to the end, telling the parent's person what it does.
    async fn finish(
        self,
        events: &mpsc::Sender<AgentEvent>,
        parent: &ToolUseId,
    ) -> Result<SubagentOutcome, SubagentError> {
        let Self { agent, agent_id, kind, prompt, seat, worktree } = self;
        let began = Instant::now();
        let mut tool_uses = 0;
        let mut usage = Usage::default();
        let before = agent.env().spending.usage();
        let mut run = agent.run(prompt);
        let mut summary = None;
        while let Some(event) = run.next().await {
            if matches!(event, AgentEvent::ToolStarted(_)) {
                tool_uses += 1;
            }
            if let AgentEvent::Ended(ended) = event {
                usage = since(&before, &ended.usage);
                summary = Some(*ended);
                break;
            }
            if let Some(progress) = retell(event, parent) {
                let _dropped = events.try_send(AgentEvent::Progress(progress));
            }
        }
        // Whatever came of it.
        let kept = match worktree {
            Some(worktree) => worktree.clear().await,
            None => None,
        };
        drop(seat);
        let summary =
            summary.ok_or_else(|| SubagentError::Failed("it ended without a word".to_owned()))?;
        telemetry::subagent_completed(kind, &summary, began.elapsed());
        let mut outcome = conclude(summary, agent_id, tool_uses, began, usage)?;
        if let (Some(kept), SubagentOutcome::Completed { note, .. }) = (kept, &mut outcome) {
            *note = Some(note.take().into_iter().chain([kept]).collect::<Vec<_>>().join("; "));
        }
        Ok(outcome)
    }
}

fn conclude(
    summary: RunSummary,
    agent_id: AgentId,
    tool_uses: u32,
    began: Instant,
    usage: Usage,
) -> Result<SubagentOutcome, SubagentError> {
    let RunSummary { terminal, result, .. } = summary;
    let note = match terminal.reason {
        TerminalReason::Completed if terminal.message.is_empty() => None,
        TerminalReason::AbortedStreaming | TerminalReason::AbortedTools => {
            return Err(SubagentError::Interrupted);
        }
        TerminalReason::Completed
        | TerminalReason::MaxTurns
        | TerminalReason::DeniedByUser
        | TerminalReason::HookStopped
        | TerminalReason::StopHookPrevented
        | TerminalReason::BudgetExceeded
        | TerminalReason::Refused => Some(terminal.message),
        TerminalReason::ModelError
        | TerminalReason::PromptTooLong
        | TerminalReason::ImageError
        | TerminalReason::BlockingLimit
        | TerminalReason::SessionError => {
            if result.is_empty() {
                return Err(SubagentError::Failed(terminal.message));
            }
            Some(format!("it was cut off: {}", terminal.message))
        }
    };
    Ok(SubagentOutcome::Completed {
        agent_id,
        text: result,
        note,
        tool_uses,
        duration: began.elapsed(),
        usage,
    })
}

/// A sub-agent's events as progress of the call that started it.
fn retell(event: AgentEvent, parent: &ToolUseId) -> Option<ProgressEvent> {
    let event_for = |tool_use_id: &ToolUseId, data| {
        Some(ProgressEvent {
            tool_use_id: tool_use_id.clone(),
            parent_tool_use_id: Some(parent.clone()),
            data,
        })
    };
    match event {
        AgentEvent::ToolStarted(tool_use) => event_for(
            &tool_use.id,
            json!({ "kind": "tool_started", "tool": tool_use.name, "input": tool_use.input }),
        ),
        AgentEvent::ToolEnded(report) => event_for(
            &report.tool_use_id,
            json!({ "kind": "tool_ended", "tool": report.tool, "code": report.code, "elapsed_ms": u64::try_from(report.elapsed.as_millis()).unwrap_or(u64::MAX) }),
        ),
        AgentEvent::Retrying(notice) => {
            event_for(parent, json!({ "kind": "retrying", "class": notice.class }))
        }
        AgentEvent::Warning(text) => event_for(parent, json!({ "kind": "warning", "text": text })),
        // A grandchild's progress already says which call it belongs to.
        AgentEvent::Progress(progress) => Some(ProgressEvent {
            parent_tool_use_id: progress.parent_tool_use_id.or_else(|| Some(parent.clone())),
            ..progress
        }),
        AgentEvent::Started { .. }
        | AgentEvent::Text(_)
        | AgentEvent::Thinking(_)
        | AgentEvent::Assistant(_)
        | AgentEvent::User(_)
        | AgentEvent::Continuing(_)
        | AgentEvent::Discarded
        | AgentEvent::Compacted(_)
        | AgentEvent::Ended(_) => None,
    }
}

fn find(types: &AgentTypes, name: Option<&str>) -> Result<Arc<AgentDefinition>, SubagentError> {
    let name = name.unwrap_or(DEFAULT_AGENT);
    types.find(name).ok_or_else(|| SubagentError::UnknownType {
        name: name.to_owned(),
        available: types.all().map(|agent| agent.name.clone()).collect(),
    })
}

/// The type of an agent that was started in the background, whatever its type says.
fn narrowed(definition: &Arc<AgentDefinition>, background: bool) -> Arc<AgentDefinition> {
    if definition.background == background {
        return Arc::clone(definition);
    }
    Arc::new(AgentDefinition { background, ..(**definition).clone() })
}

/// The agent's own instructions; what the main conversation was told of the place stays.
fn instructions(
    definition: &AgentDefinition,
    parent: &[String],
    cwd: &std::path::Path,
) -> Vec<String> {
    let mut system = vec![definition.prompt.clone()];
    system.extend(parent.iter().skip(1).cloned());
    system.push(format!("You start in {}.", cwd.display()));
    system
}

fn since(before: &Usage, after: &Usage) -> Usage {
    let less = |after: Option<u64>, before: Option<u64>| {
        after.map(|after| after.saturating_sub(before.unwrap_or(0)))
    };
    Usage {
        input_tokens: less(after.input_tokens, before.input_tokens),
        output_tokens: less(after.output_tokens, before.output_tokens),
        cache_creation_input_tokens: less(
            after.cache_creation_input_tokens,
            before.cache_creation_input_tokens,
        ),
        cache_read_input_tokens: less(
            after.cache_read_input_tokens,
            before.cache_read_input_tokens,
        ),
        ..Usage::default()
    }
}

/// A place among the running sub-agents; given back when it is dropped.
struct Running(Arc<AtomicUsize>);

impl Running {
    fn take(parent: &SessionEnv) -> Result<Self, SubagentError> {
        if parent.depth >= MAX_DEPTH {
            let text = format!("agents nest at most {MAX_DEPTH} deep; do this task yourself");
            return Err(SubagentError::Limit(text));
        }
        if parent.config.max_cost_usd.is_some_and(|limit| parent.spending.known_dollars() >= limit)
        {
            return Err(SubagentError::Limit("the cost limit of this run is reached".to_owned()));
        }
        let place = Self(Arc::clone(&parent.running_agents));
        if place.0.fetch_add(1, Ordering::SeqCst) >= MAX_RUNNING {
            let text =
                format!("{MAX_RUNNING} agents run already; wait for them, do not try again now");
            return Err(SubagentError::Limit(text));
        }
        Ok(place)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl fmt::Debug for Spawner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Spawner").field("parent", &self.parent).finish_non_exhaustive()
    }
}
