//! Builds the built-in tools of each agent on the real disk and real processes.

use std::path::PathBuf;
use std::sync::Arc;

use innerve_agent::{Seat, Tasks, ToolFactory};
use innerve_builtins::bash::BashOptions;
use innerve_builtins::edit::StaleEdits;
use innerve_builtins::host::{DiskSpool, HostClock, HostFiles, HostProcesses, MemoryLedger};
use innerve_builtins::{FileAccess, Hidden, Host, builtins};
use innerve_tool::port::{
    AgentType, FileLedger, SubagentError, SubagentOutcome, SubagentRequest, SubagentSpawner,
    TaskRegistry,
};
use innerve_tool::{BoxFuture, CallContext, Pool};

use super::ledger::Assumed;

/// Whether files must be read before they are edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// What each agent has read is kept.
    Tracked,
    /// Whoever makes the call has seen the files.
    Assumed,
}

/// Builds the built-in tools.
pub(super) struct BuiltinTools {
    results: PathBuf,
    reading: Reading,
    /// Shared by all agents, so that no two write one file at the same time.
    files: FileAccess,
}

impl BuiltinTools {
    pub(super) fn new(results: PathBuf, reading: Reading, hidden: Option<Hidden>) -> Self {
        let mut files = FileAccess::new(Arc::new(HostFiles), Arc::new(MemoryLedger::new()));
        if let Some(hidden) = hidden {
            files = files.with_hidden(hidden);
        }
        Self { results, reading, files }
    }

    /// The tools of a call outside any conversation.
    pub(super) fn pool_without_agents(&self, tasks: &Arc<Tasks>) -> Pool {
        let spawner = Arc::new(NoAgents);
        self.tools(&Seat {
            agent_id: None,
            depth: 0,
            spawner,
            tasks: Arc::clone(tasks) as Arc<dyn TaskRegistry>,
        })
    }
}

impl ToolFactory for BuiltinTools {
    fn tools(&self, seat: &Seat) -> Pool {
        let ledger: Arc<dyn FileLedger> = match self.reading {
            Reading::Tracked => Arc::new(MemoryLedger::new()),
            Reading::Assumed => Arc::new(Assumed),
        };
        let host = Host {
            files: self.files.for_agent(ledger),
            processes: Arc::new(HostProcesses::new()),
            spool: Arc::new(DiskSpool::new(self.results.clone())),
            clock: Arc::new(HostClock),
            tasks: Some(Arc::clone(&seat.tasks)),
            spawner: Some(Arc::clone(&seat.spawner)),
            bash: BashOptions::default(),
            stale_edits: StaleEdits::Refuse,
        };
        // The names and schemas of the built-in tools are fixed, and a test builds them.
        Pool { builtins: builtins(&host).unwrap_or_default(), mcp: Vec::new() }
    }
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
    use super::*;

    #[test]
    fn every_built_in_tool_is_built() {
        let tools = BuiltinTools::new(PathBuf::from("/nonexistent"), Reading::Tracked, None);
        let mut names: Vec<String> = tools
            .pool_without_agents(&Arc::default())
            .builtins
            .iter()
            .map(|tool| tool.name().to_owned())
            .collect();
        names.sort();
        assert_eq!(
            names,
            [
                "Agent",
                "AskUserQuestion",
                "Bash",
                "Edit",
                "EnterPlanMode",
                "ExitPlanMode",
                "Glob",
                "Grep",
                "NotebookEdit",
                "Read",
                "TaskOutput",
                "TaskStop",
                "TodoWrite",
                "Write"
            ]
        );
    }
}
