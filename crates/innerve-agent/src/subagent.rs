//! Starts sub-agents: the loop's side of the Agent tool.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use innerve_pipeline::HookEventName;
use innerve_protocol::{AgentId, ContentBlock, ToolUseId, Usage};
use innerve_tool::port::{
    AgentType, Isolation, SubagentError, SubagentOutcome, SubagentRequest, SubagentSpawner,
    TaskKind, TaskState,
};
use innerve_tool::{BoxFuture, CallContext, ProgressEvent};
use serde_json::json;
use tokio::sync::mpsc;

use crate::agents::{AGENTS, AgentDefinition, DEFAULT_AGENT, agent_types};
use crate::hooks::object;
use crate::session::ChildSeat;
use crate::{Agent, AgentConfig, AgentEvent, RunSummary, SessionEnv, TerminalReason, telemetry};

/// How deep sub-agents may nest below the main conversation (Claude Code documentation, "sub-agents").
pub(crate) const MAX_DEPTH: u32 = 3;
/// How many may run at once in a session (Claude Code documentation, "sub-agents").
const MAX_RUNNING: usize = 20;

/// Starts the sub-agents of one agent.
pub(crate) struct Spawner {
    parent: Arc<SessionEnv>,
    events: mpsc::Sender<AgentEvent>,
}

impl Spawner {
    pub(crate) fn new(parent: Arc<SessionEnv>, events: mpsc::Sender<AgentEvent>) -> Self {
        Self { parent, events }
    }

    async fn run(
        &self,
        request: SubagentRequest,
        context: CallContext,
    ) -> Result<SubagentOutcome, SubagentError> {
        let seat = Running::take(&self.parent)?;
        let definition = find(request.agent_type.as_deref())?;
        let cwd = directory(&request.isolation, &context)?;
        let agent_id = AgentId::new(format!("a{}", (self.parent.new_id)()));
        let config = AgentConfig {
            model: request.model.clone().unwrap_or_else(|| self.parent.config.model.clone()),
            agent_type: Some(definition.name.to_owned()),
            system: instructions(definition, &self.parent.config.system, &cwd),
            ..(*self.parent.config).clone()
        };
        let cancellation = if request.background {
            self.parent.cancellation.child_token()
        } else {
            context.cancellation.child_token()
        };
        let env = self.parent.child(ChildSeat {
            agent_id: agent_id.clone(),
            cwd,
            mode: request.mode,
            config,
            cancellation: cancellation.clone(),
            background: request.background,
        });
        let agent = Agent::typed(env, definition)
            .map_err(|error| SubagentError::Failed(error.to_string()))?;
        let mut prompt = Vec::new();
        let fields = object(json!({ "agent_id": agent_id, "agent_type": definition.name }));
        let (heard, notices) = self.parent.hear(HookEventName::SubagentStart, fields).await;
        for notice in notices {
            let _dropped = self.events.try_send(AgentEvent::Warning(notice));
        }
        prompt.extend(heard.context.into_iter().chain([request.prompt]).map(ContentBlock::text));
        let work = Work { agent, agent_id: agent_id.clone(), kind: definition.name, prompt, seat };
        if !request.background {
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
                Ok(SubagentOutcome::Completed { text, .. }) => TaskState::Completed(text),
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
        agent_types()
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
}

impl Work {
    /// Works to the end, telling the parent's person what it does.
    async fn finish(
        self,
        events: &mpsc::Sender<AgentEvent>,
        parent: &ToolUseId,
    ) -> Result<SubagentOutcome, SubagentError> {
        let Self { agent, agent_id, kind, prompt, seat } = self;
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
        drop(seat);
        let summary =
            summary.ok_or_else(|| SubagentError::Failed("it ended without a word".to_owned()))?;
        telemetry::subagent_completed(kind, &summary, began.elapsed());
        conclude(summary, agent_id, tool_uses, began, usage)
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

fn find(name: Option<&str>) -> Result<&'static AgentDefinition, SubagentError> {
    let name = name.unwrap_or(DEFAULT_AGENT);
    AgentDefinition::find(name).ok_or_else(|| SubagentError::UnknownType {
        name: name.to_owned(),
        available: AGENTS.iter().map(|agent| agent.name.to_owned()).collect(),
    })
}

fn directory(isolation: &Isolation, context: &CallContext) -> Result<PathBuf, SubagentError> {
    match isolation {
        Isolation::None => Ok(context.cwd.clone()),
        Isolation::Directory(path) if path.is_absolute() => Ok(path.clone()),
        Isolation::Directory(path) => {
            Err(SubagentError::Unsupported(format!("`{}` is not an absolute path", path.display())))
        }
        Isolation::Worktree => Err(SubagentError::Unsupported(
            "a worktree of its own is not available here; leave `isolation` out".to_owned(),
        )),
    }
}

/// The agent's own instructions; what the main conversation was told of the place stays.
fn instructions(
    definition: &AgentDefinition,
    parent: &[String],
    cwd: &std::path::Path,
) -> Vec<String> {
    let mut system = vec![definition.prompt.to_owned()];
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
