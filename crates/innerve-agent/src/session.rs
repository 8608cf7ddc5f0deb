//! What an agent's tools and its loop are built from, and what a sub-agent gets of it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use innerve_model::Model;
use innerve_permission::PermissionMode;
use innerve_pipeline::{Denials, Pipeline, PolicySource};
use innerve_protocol::{AgentId, SessionId};
use innerve_tool::port::{SubagentSpawner, TaskListStore, TaskRegistry, ToolCatalog, Worktrees};
use innerve_tool::{BoxFuture, CancellationToken, ToolSources};

use crate::task_list::Sayings;
use crate::{
    AgentClassifier, AgentConfig, Journal, RemoteTools, SharedPolicy, Spending, TaskListFile, Tasks,
};

/// Builds the tools of one agent: each agent gets fresh ones, so that what it has read is its own.
pub trait ToolFactory: Send + Sync {
    /// The tools for the agent in this seat.
    fn tools(&self, seat: &Seat) -> ToolSources;

    /// The tools of servers as they are now, in place of those that [`Self::tools`] gave; asked for before each request.
    /// `None` where there are no servers.
    fn remote(&self) -> Option<RemoteTools> {
        None
    }

    /// Waits until no server is still starting; only for a bounded time.
    fn settled(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// The servers that may still bring tools, or that have failed, a sentence each.
    fn pending(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Who the tools are for.
#[derive(Clone)]
pub struct Seat {
    /// The sub-agent; `None` for the main conversation.
    pub agent_id: Option<AgentId>,
    /// How deep below the main conversation it is.
    pub depth: u32,
    /// Starts its sub-agents.
    pub spawner: Arc<dyn SubagentSpawner>,
    /// Keeps account of background work.
    pub tasks: Arc<dyn TaskRegistry>,
    /// The list of things to do, if the session keeps one; the same for all agents of it.
    pub task_list: Option<Arc<dyn TaskListStore>>,
    /// The agent's tools, for a search among them.
    pub catalog: Arc<dyn ToolCatalog>,
    /// What its calls are judged by; `None` outside of any conversation.
    pub policy: Option<Arc<dyn PolicySource>>,
}

impl fmt::Debug for Seat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Seat")
            .field("agent_id", &self.agent_id)
            .field("depth", &self.depth)
            .finish_non_exhaustive()
    }
}

/// Everything that lasts as long as an agent. No tool sees it: tools get ports.
#[non_exhaustive]
pub struct SessionEnv {
    /// The session.
    pub session_id: SessionId,
    /// The sub-agent; `None` for the main conversation.
    pub agent_id: Option<AgentId>,
    /// How deep below the main conversation it is.
    pub depth: u32,
    /// The session's folder, which holds logs and large results.
    pub folder: PathBuf,
    /// Settings of the run.
    pub config: Arc<AgentConfig>,
    /// Who answers.
    pub model: Arc<dyn Model>,
    /// Runs tool uses.
    pub pipeline: Pipeline,
    /// The policy.
    pub policy: Arc<SharedPolicy>,
    /// Builds tools.
    pub tools: Arc<dyn ToolFactory>,
    /// Background work.
    pub tasks: Arc<dyn TaskRegistry>,
    /// The list of things to do that an agent shares with its sub-agents; `None` where each agent keeps its own by
    /// itself.
    pub task_list: Option<Arc<TaskListFile>>,
    /// What hooks said of tasks of that list.
    pub(crate) sayings: Sayings,
    /// Gives sub-agents git worktrees of their own.
    pub worktrees: Option<Arc<dyn Worktrees>>,
    /// Keeps what files were before they were changed; told of each turn, so that it can be undone.
    pub journal: Option<Arc<Journal>>,
    /// Judges in place of a person, in the modes that want it; `None` if there is none.
    pub classifier: Option<AgentClassifier>,
    /// Refusals of the classifier.
    pub denials: Arc<Denials>,
    /// What it has cost.
    pub spending: Arc<Spending>,
    /// Sub-agents that run at the moment, in the whole session.
    pub running_agents: Arc<AtomicUsize>,
    /// Ends everything that belongs to the session.
    pub cancellation: CancellationToken,
    /// Makes ids: random ones, or a fixed sequence in tests.
    pub new_id: Arc<dyn Fn() -> String + Send + Sync>,
}

/// What sets a sub-agent apart from its parent.
pub(crate) struct ChildSeat {
    pub(crate) agent_id: AgentId,
    pub(crate) cwd: PathBuf,
    /// The modes that are asked for; each counts only where it tightens.
    pub(crate) modes: [Option<PermissionMode>; 2],
    pub(crate) config: AgentConfig,
    pub(crate) cancellation: CancellationToken,
    /// In the background it counts its own refusals, since nobody watches it.
    pub(crate) background: bool,
}

impl SessionEnv {
    /// A main conversation whose log is kept in `folder`, without what is optional; fields can be set afterwards.
    pub fn new(
        session_id: SessionId,
        folder: impl Into<PathBuf>,
        config: AgentConfig,
        model: Arc<dyn Model>,
        pipeline: Pipeline,
        policy: Arc<SharedPolicy>,
        tools: Arc<dyn ToolFactory>,
    ) -> Self {
        Self {
            session_id,
            agent_id: None,
            depth: 0,
            folder: folder.into(),
            config: Arc::new(config),
            model,
            pipeline,
            policy,
            tools,
            tasks: Arc::new(Tasks::default()),
            task_list: None,
            sayings: Sayings::default(),
            worktrees: None,
            journal: None,
            classifier: None,
            denials: Arc::default(),
            spending: Arc::default(),
            running_agents: Arc::default(),
            cancellation: CancellationToken::new(),
            new_id: Arc::new(random_id),
        }
    }

    /// What a sub-agent gets. Every field is named, so that a new one makes this function fail to compile until
    /// somebody has decided whether it is shared.
    pub(crate) fn child(&self, seat: ChildSeat) -> Self {
        let Self {
            session_id,
            agent_id: _,
            depth,
            folder,
            config: _,
            model,
            pipeline,
            policy,
            tools,
            tasks,
            task_list,
            sayings: _,
            journal,
            worktrees,
            classifier,
            denials,
            spending,
            running_agents,
            cancellation: _,
            new_id,
        } = self;
        let ChildSeat { agent_id, cwd, modes, config, cancellation, background } = seat;
        let [first, second] = modes;
        Self {
            session_id: session_id.clone(),
            agent_id: Some(agent_id),
            depth: depth + 1,
            folder: folder.clone(),
            config: Arc::new(config),
            model: Arc::clone(model),
            pipeline: pipeline.clone(),
            policy: Arc::new(policy.child(cwd.clone(), first).child(cwd, second)),
            tools: Arc::clone(tools),
            tasks: Arc::clone(tasks),
            // Shared: it is how agents see what is to be done and who does it.
            task_list: task_list.clone(),
            sayings: Sayings::default(),
            journal: journal.clone(),
            worktrees: worktrees.clone(),
            classifier: classifier.as_ref().map(AgentClassifier::child),
            denials: if background { Arc::default() } else { Arc::clone(denials) },
            spending: Arc::clone(spending),
            running_agents: Arc::clone(running_agents),
            cancellation,
            new_id: Arc::clone(new_id),
        }
    }

    /// The log of this agent.
    pub fn log_path(&self) -> PathBuf {
        match &self.agent_id {
            None => self.folder.join("log.jsonl"),
            Some(agent_id) => self.folder.join("agents").join(format!("{agent_id}.jsonl")),
        }
    }

    /// The folder for large results.
    pub fn results_folder(folder: &Path) -> PathBuf {
        folder.join("tool-results")
    }
}

impl fmt::Debug for SessionEnv {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SessionEnv")
            .field("session_id", &self.session_id)
            .field("agent_id", &self.agent_id)
            .field("depth", &self.depth)
            .finish_non_exhaustive()
    }
}

/// A random id of sixteen letters and digits.
pub fn random_id() -> String {
    std::iter::repeat_with(fastrand::alphanumeric).take(16).collect::<String>().to_lowercase()
}
