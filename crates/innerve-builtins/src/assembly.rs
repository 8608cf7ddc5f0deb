//! Puts the tools together from what their host provides.

use std::sync::Arc;

use innerve_tool::port::{
    Clock, OutputSpool, ProcessRunner, SmallModel, SubagentSpawner, TaskListStore, TaskRegistry,
    WebSearcher,
};
use innerve_tool::{DefinitionError, DynTool, erase};

use crate::FileAccess;
use crate::agent::AgentTool;
#[cfg(feature = "monitor")]
use crate::bash::MonitorTool;
use crate::bash::{BashOptions, BashTool, Confinement};
#[cfg(feature = "multi-edit")]
use crate::edit::MultiEditTool;
use crate::edit::{EditTool, StaleEdits};
use crate::glob::GlobTool;
use crate::grep::GrepTool;
#[cfg(feature = "notebook")]
use crate::notebook::NotebookEditTool;
#[cfg(feature = "plan")]
use crate::plan::{EnterPlanModeTool, ExitPlanModeTool};
#[cfg(feature = "question")]
use crate::question::AskUserQuestionTool;
use crate::read::ReadTool;
#[cfg(feature = "task")]
use crate::task::{TaskOutputTool, TaskStopTool};
#[cfg(feature = "task-list")]
use crate::task_list::{TaskCreateTool, TaskGetTool, TaskListTool, TaskUpdateTool};
#[cfg(feature = "todo")]
use crate::todo::TodoWriteTool;
#[cfg(feature = "web")]
use crate::web::{WebFetchTool, WebSearchTool};
#[cfg(feature = "worktree")]
use crate::worktree::{EnterWorktreeTool, ExitWorktreeTool};
use crate::write::WriteTool;

/// What the built-in tools of one agent need for its whole life.
#[derive(Clone)]
pub struct Host {
    /// Files, and what the agent has read.
    pub files: FileAccess,
    /// Processes.
    pub processes: Arc<dyn ProcessRunner>,
    /// Where long output goes.
    pub spool: Arc<dyn OutputSpool>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Background work; without it nothing runs in the background.
    pub tasks: Option<Arc<dyn TaskRegistry>>,
    /// The list of things to do that all agents of the session share (feature `task-list`): with it there are
    /// `TaskCreate` and its kin, and no `TodoWrite`, so that a model never has two lists for one purpose.
    pub task_list: Option<Arc<dyn TaskListStore>>,
    /// Sub-agents; without it there is no Agent tool.
    pub spawner: Option<Arc<dyn SubagentSpawner>>,
    /// How commands run.
    pub bash: BashOptions,
    /// What becomes of edits of files that have changed since they were read.
    pub stale_edits: StaleEdits,
    /// Who answers questions about pages (feature `web`); without it a page is given as it is.
    pub small_model: Option<Arc<dyn SmallModel>>,
    /// Who searches the web (feature `web`); without it there is no `WebSearch` tool.
    pub searcher: Option<Arc<dyn WebSearcher>>,
    /// The sandbox that commands run in; without it they have the rights of this program.
    pub confinement: Option<Arc<dyn Confinement>>,
}

/// The built-in tools of one agent.
pub fn builtins(host: &Host) -> Result<Vec<Arc<dyn DynTool>>, DefinitionError> {
    let Host {
        files,
        processes,
        spool,
        clock,
        tasks,
        task_list,
        spawner,
        bash,
        stale_edits,
        small_model,
        searcher,
        confinement,
    } = host.clone();
    #[cfg(not(feature = "web"))]
    drop((small_model, searcher));
    #[cfg(not(any(feature = "task-list", feature = "todo")))]
    drop(task_list);
    let shell = || {
        let (processes, spool) = (Arc::clone(&processes), Arc::clone(&spool));
        let shell = BashTool::new(processes, spool, Arc::clone(&clock), bash.clone());
        match &confinement {
            Some(confinement) => shell.with_confinement(Arc::clone(confinement)),
            None => shell,
        }
    };
    let mut commands = shell().with_files(files.clone());
    if let Some(tasks) = &tasks {
        commands = commands.with_tasks(Arc::clone(tasks));
    }
    let mut tools = vec![
        erase(commands)?,
        erase(EditTool::new(files.clone()).with_stale_edits(stale_edits))?,
        erase(GlobTool::new(files.hidden.clone()))?,
        erase(GrepTool::new(files.hidden.clone()))?,
        erase(ReadTool::new(files.clone()))?,
        erase(WriteTool::new(files.clone()))?,
    ];
    #[cfg(feature = "multi-edit")]
    tools.push(erase(MultiEditTool::new(files.clone()))?);
    #[cfg(feature = "notebook")]
    tools.push(erase(NotebookEditTool::new(files))?);
    #[cfg(feature = "plan")]
    tools.extend([erase(EnterPlanModeTool)?, erase(ExitPlanModeTool)?]);
    #[cfg(feature = "question")]
    tools.push(erase(AskUserQuestionTool)?);
    #[cfg(feature = "todo")]
    if !cfg!(feature = "task-list") || task_list.is_none() {
        tools.push(erase(TodoWriteTool::new())?);
    }
    #[cfg(feature = "task-list")]
    if let Some(list) = task_list {
        tools.push(erase(TaskCreateTool::new(Arc::clone(&list)))?);
        tools.push(erase(TaskGetTool::new(Arc::clone(&list)))?);
        tools.push(erase(TaskListTool::new(Arc::clone(&list)))?);
        tools.push(erase(TaskUpdateTool::new(list))?);
    }
    #[cfg(feature = "web")]
    {
        let mut fetch = WebFetchTool::new(Arc::clone(&clock));
        if let Some(model) = small_model {
            fetch = fetch.with_model(model);
        }
        tools.push(erase(fetch)?);
        if let Some(searcher) = searcher {
            tools.push(erase(WebSearchTool::new(searcher))?);
        }
    }
    #[cfg(feature = "task")]
    if let Some(tasks) = tasks {
        #[cfg(feature = "monitor")]
        tools.push(erase(MonitorTool::new(shell(), Arc::clone(&tasks)))?);
        tools.push(erase(TaskOutputTool::new(Arc::clone(&tasks), Arc::clone(&clock)))?);
        tools.push(erase(TaskStopTool::new(tasks))?);
    }
    #[cfg(feature = "worktree")]
    {
        let parts = || (Arc::clone(&processes), Arc::clone(&clock));
        let (runner, time) = parts();
        tools.push(erase(EnterWorktreeTool::new(runner, time))?);
        let (runner, time) = parts();
        tools.push(erase(ExitWorktreeTool::new(runner, time))?);
    }
    if let Some(spawner) = spawner {
        tools.push(erase(AgentTool::new(spawner))?);
    }
    Ok(tools)
}

impl std::fmt::Debug for Host {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Host")
            .field("files", &self.files)
            .field("tasks", &self.tasks.is_some())
            .field("task_list", &self.task_list.is_some())
            .field("spawner", &self.spawner.is_some())
            .field("bash", &self.bash)
            .field("stale_edits", &self.stale_edits)
            .finish_non_exhaustive()
    }
}
