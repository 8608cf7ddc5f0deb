//! Which tools are offered: of the two lists of what is to be done, a model gets one.

use std::path::Path;
use std::sync::Arc;

use innerve_agent::{TaskListFile, ToolFactory as _};
use innerve_tool::{ToolPool, ToolSources};

use super::Workplace;
use super::tools::{BuiltinTools, Reading};
use crate::args::ListKind;
use crate::provider::Chosen;

impl Workplace {
    /// Every tool that a session can have, for checking inputs.
    pub(crate) fn pool_for_show(&self) -> ToolPool {
        let mut pool = self.offered(ListKind::Own, None);
        for tool in self.offered(ListKind::Shared, None).builtins {
            if pool.builtins.iter().all(|other| other.name() != tool.name()) {
                pool.builtins.push(tool);
            }
        }
        self.assembled(pool)
    }

    /// The tools as a session with a list of this kind offers them to a model, if it is known which.
    pub(crate) fn pool_offering(&self, list: ListKind, chosen: Option<&Chosen>) -> ToolPool {
        self.assembled(self.offered(list, chosen))
    }

    fn assembled(&self, pool: ToolSources) -> ToolPool {
        ToolPool::assemble(pool, |name| self.policy.rules.removes_tool(name))
    }

    fn offered(&self, list: ListKind, chosen: Option<&Chosen>) -> ToolSources {
        let policy = Arc::new(self.policy.clone());
        let folder = self.sessions.join("none");
        let mut tools = self.tools(folder.clone(), Reading::Tracked, policy);
        if let Some(chosen) = chosen {
            tools = tools.with_model(chosen, &Arc::default());
        }
        let mut seat = BuiltinTools::seat_without_agents(&self.tasks);
        seat.task_list = task_list(Some(list), &folder).map(|list| list as _);
        tools.tools(&seat)
    }
}

/// The list that the agents of the session in this folder share, if they do. One that goes on keeps the list that it has.
pub(super) fn task_list(asked: Option<ListKind>, folder: &Path) -> Option<Arc<TaskListFile>> {
    let is_shared = match asked {
        Some(kind) => kind == ListKind::Shared,
        None => TaskListFile::is_kept_in(folder),
    };
    is_shared.then(|| Arc::new(TaskListFile::new(folder)))
}
