//! Builds the built-in tools of each agent on the real disk and real processes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use innerve_agent::{RemoteTools, Seat, Spending, Tasks, ToolFactory};
use innerve_builtins::bash::{BashOptions, Confinement};
use innerve_builtins::edit::StaleEdits;
use innerve_builtins::host::{DiskSpool, HostClock, HostProcesses, MemoryLedger};
use innerve_builtins::tool_search::ToolSearchTool;
use innerve_builtins::worktree::GitWorktrees;
use innerve_builtins::{FileAccess, Hidden, Host, builtins};
use innerve_mcp::Servers;
use innerve_pipeline::PolicySource;
use innerve_tool::port::{
    AgentType, CatalogEntry, ChangeJournal, FileLedger, FileSystem, ProcessRunner, SmallModel,
    SubagentError, SubagentOutcome, SubagentRequest, SubagentSpawner, TaskRegistry, ToolCatalog,
    WebSearcher,
};
use innerve_tool::{BoxFuture, CallContext, ToolSources, erase};

use super::ledger::Assumed;
use super::servers::pending;
use super::web;
use crate::provider::Chosen;

/// How long a search waits for servers that are starting.
const SEARCH_PATIENCE: Duration = Duration::from_secs(20);

/// Whether files must be read before they are edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// What each agent has read is kept.
    Tracked,
    /// Whoever makes the call has seen the files. There is no session either that could wait for work in the background.
    Assumed,
}

/// Makes what starts the commands of one agent, and ends with it what they leave behind.
pub(super) type Processes = Arc<dyn Fn() -> Arc<dyn ProcessRunner> + Send + Sync>;

/// Processes of this machine.
pub(super) fn of_this_machine() -> Processes {
    Arc::new(|| Arc::new(HostProcesses::new()))
}

/// The sandbox around commands: that of the main conversation, and what makes one for an agent with another policy.
pub(super) struct Confinements {
    pub(super) main: Arc<dyn Confinement>,
    pub(super) by_policy: Box<ConfinementOf>,
}

type ConfinementOf = dyn Fn(Arc<dyn PolicySource>) -> Arc<dyn Confinement> + Send + Sync;

impl Confinements {
    /// The sandbox of the agent in this seat.
    fn of(&self, seat: &Seat) -> Arc<dyn Confinement> {
        match (&seat.agent_id, &seat.policy) {
            (Some(_), Some(policy)) => (self.by_policy)(Arc::clone(policy)),
            (None, _) | (_, None) => Arc::clone(&self.main),
        }
    }
}

/// Builds the built-in tools.
pub(super) struct BuiltinTools {
    results: PathBuf,
    reading: Reading,
    /// Shared by all agents, so that no two write one file at the same time.
    files: FileAccess,
    processes: Processes,
    /// What the main conversation has read. Its tools are built anew for each task, and it has read the files all the same.
    ledger: Arc<MemoryLedger>,
    small_model: Option<Arc<dyn SmallModel>>,
    searcher: Option<Arc<dyn WebSearcher>>,
    confinement: Option<Confinements>,
    /// Where the shell's own files are made, if not in the usual place.
    scratch: Option<PathBuf>,
    servers: Option<Arc<Servers>>,
}

impl BuiltinTools {
    pub(super) fn new(
        results: PathBuf,
        reading: Reading,
        files: Arc<dyn FileSystem>,
        hidden: Option<Hidden>,
    ) -> Self {
        let mut files = FileAccess::new(files, Arc::new(MemoryLedger::new()));
        if let Some(hidden) = hidden {
            files = files.with_hidden(hidden);
        }
        Self {
            results,
            reading,
            files,
            processes: of_this_machine(),
            ledger: Arc::default(),
            small_model: None,
            searcher: web::configured(),
            confinement: None,
            scratch: None,
            servers: None,
        }
    }

    /// Notes what files were before they are changed.
    pub(super) fn with_journal(mut self, journal: Arc<dyn ChangeJournal>) -> Self {
        self.files = self.files.with_journal(journal);
        self
    }

    /// Has commands started by what this makes.
    pub(super) fn with_processes(mut self, processes: Processes) -> Self {
        self.processes = processes;
        self
    }

    /// Runs commands in a sandbox.
    pub(super) fn with_confinement(
        mut self,
        confinement: Option<Confinements>,
        scratch: Option<PathBuf>,
    ) -> Self {
        self.scratch = scratch.filter(|_| confinement.is_some());
        self.confinement = confinement;
        self
    }

    /// Lets the model of a session answer questions about pages, and its provider search the web.
    pub(super) fn with_model(mut self, chosen: &Chosen, spending: &Arc<Spending>) -> Self {
        self.small_model = web::small_model(chosen, spending);
        self.searcher = web::searcher(chosen, spending, self.searcher);
        self
    }

    /// Adds the tools of MCP servers, and a search among them.
    pub(super) fn with_servers(mut self, servers: Option<Arc<Servers>>) -> Self {
        self.servers = servers;
        self
    }

    /// Waits until no server is starting for the first time, at most so long.
    pub(super) async fn servers_settled(&self, limit: Duration) {
        if let Some(servers) = &self.servers {
            servers.settled(limit).await;
        }
    }

    /// What the agent in this seat has read.
    fn ledger(&self, seat: &Seat) -> Arc<dyn FileLedger> {
        match (self.reading, &seat.agent_id) {
            (Reading::Tracked, None) => Arc::clone(&self.ledger) as _,
            // A sub-agent does one task.
            (Reading::Tracked, Some(_)) => Arc::new(MemoryLedger::new()),
            (Reading::Assumed, _) => Arc::new(Assumed),
        }
    }

    /// The tools of a call outside any conversation.
    pub(super) fn pool_without_agents(&self, tasks: &Arc<Tasks>) -> ToolSources {
        self.tools(&Self::seat_without_agents(tasks))
    }

    /// Where no sub-agent can be started.
    pub(super) fn seat_without_agents(tasks: &Arc<Tasks>) -> Seat {
        let spawner = Arc::new(NoAgents);
        let tasks = Arc::clone(tasks) as Arc<dyn TaskRegistry>;
        let catalog = Arc::new(NoCatalog);
        Seat { agent_id: None, depth: 0, spawner, tasks, task_list: None, catalog, policy: None }
    }
}

impl ToolFactory for BuiltinTools {
    fn tools(&self, seat: &Seat) -> ToolSources {
        let tasks = match self.reading {
            Reading::Tracked => Some(Arc::clone(&seat.tasks)),
            Reading::Assumed => None,
        };
        let mut bash = BashOptions::default();
        if let Some(scratch) = &self.scratch {
            bash.scratch.clone_from(scratch);
        }
        let host = Host {
            files: self.files.for_agent(self.ledger(seat)),
            processes: (self.processes)(),
            spool: Arc::new(DiskSpool::new(self.results.clone())),
            clock: Arc::new(HostClock),
            tasks,
            task_list: seat.task_list.clone(),
            spawner: Some(Arc::clone(&seat.spawner)),
            bash,
            stale_edits: StaleEdits::Refuse,
            small_model: self.small_model.clone(),
            searcher: self.searcher.clone(),
            confinement: self.confinement.as_ref().map(|confinements| confinements.of(seat)),
        };
        // The names and schemas of the built-in tools are fixed, and a test builds them.
        let mut builtins = builtins(&host).unwrap_or_default();
        let Some(servers) = &self.servers else { return ToolSources { builtins, mcp: Vec::new() } };
        // Whether it is there depends on the settings alone, never on which server has answered.
        builtins.extend(erase(ToolSearchTool::new(Arc::clone(&seat.catalog))).ok());
        ToolSources { builtins, mcp: servers.tools() }
    }

    fn remote(&self) -> Option<RemoteTools> {
        let servers = self.servers.as_ref()?;
        Some(RemoteTools { generation: servers.generation(), tools: servers.tools() })
    }

    fn settled(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.servers_settled(SEARCH_PATIENCE))
    }

    fn pending(&self) -> Vec<String> {
        self.servers.as_deref().map(pending).unwrap_or_default()
    }
}

/// There is no conversation that tools could be searched for.
struct NoCatalog;

impl ToolCatalog for NoCatalog {
    fn entries(&self) -> Vec<CatalogEntry> {
        Vec::new()
    }
}

/// Makes worktrees for sub-agents.
pub(super) fn worktrees() -> GitWorktrees {
    GitWorktrees::new(Arc::new(HostProcesses::new()), Arc::new(HostClock))
}

/// There is no conversation that a sub-agent could belong to.
pub(super) struct NoAgents;

impl SubagentSpawner for NoAgents {
    fn agent_types(&self) -> Vec<AgentType> {
        Vec::new()
    }

    fn spawn(
        &self,
        _request: SubagentRequest,
        _context: CallContext,
    ) -> BoxFuture<'_, Result<SubagentOutcome, SubagentError>> {
        Box::pin(async {
            let text = "a sub-agent needs a conversation; use `innerve run`";
            Err(SubagentError::Unsupported(text.to_owned()))
        })
    }
}

#[cfg(test)]
mod tests {
    use innerve_builtins::host::HostFiles;
    use innerve_protocol::AgentId;
    use innerve_tool::port::ReadRecord;

    use super::*;

    #[test]
    fn what_the_main_conversation_has_read_lasts_and_is_not_its_sub_agents() {
        let none =
            || BuiltinTools::new(PathBuf::new(), Reading::Tracked, Arc::new(HostFiles), None);
        let tools = none();
        let mut seat = BuiltinTools::seat_without_agents(&Arc::default());
        let (path, record) = (
            std::path::Path::new("/a"),
            ReadRecord {
                content_hash: String::new(),
                modified: None,
                len: 0,
                lines: (1, 0),
                partial: false,
            },
        );
        tools.ledger(&seat).record(path, record);
        assert!(tools.ledger(&seat).get(path).is_some(), "the next task of the conversation");
        seat.agent_id = Some(AgentId::new("a1"));
        assert!(tools.ledger(&seat).get(path).is_none());
        assert!(none().ledger(&seat).get(path).is_none());
    }

    #[test]
    fn every_built_in_tool_is_built() {
        let files = Arc::new(innerve_builtins::host::HostFiles);
        let tools = BuiltinTools::new(PathBuf::from("/nonexistent"), Reading::Tracked, files, None);
        let mut names: Vec<String> = tools
            .pool_without_agents(&Arc::default())
            .builtins
            .iter()
            .map(|tool| tool.name().to_owned())
            .collect();
        names.sort();
        let expected = "Agent AskUserQuestion Bash Edit EnterPlanMode EnterWorktree ExitPlanMode ExitWorktree \
         Glob Grep Monitor NotebookEdit Read TaskOutput TaskStop TodoWrite WebFetch Write";
        assert_eq!(names.join(" "), expected);
    }
}
