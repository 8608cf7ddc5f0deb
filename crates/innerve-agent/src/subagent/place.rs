//! Where a sub-agent works: the directory of its parent, another one, or a git worktree of its own.

use std::path::PathBuf;
use std::sync::Arc;

use innerve_protocol::AgentId;
use innerve_tool::CallContext;
use innerve_tool::port::{Isolation, SubagentError, Worktrees};

use crate::SessionEnv;

/// Where an agent works that gets no worktree of its own.
pub(super) fn directory(
    isolation: &Isolation,
    context: &CallContext,
) -> Result<PathBuf, SubagentError> {
    match isolation {
        Isolation::None | Isolation::Worktree => Ok(context.cwd.clone()),
        Isolation::Directory(path) if path.is_absolute() => Ok(path.clone()),
        Isolation::Directory(path) => {
            Err(SubagentError::Unsupported(format!("`{}` is not an absolute path", path.display())))
        }
    }
}

/// A git worktree that was made for one agent.
pub(super) struct OwnWorktree {
    worktrees: Arc<dyn Worktrees>,
    pub(super) path: PathBuf,
    /// The directory of its parent.
    near: PathBuf,
}

impl OwnWorktree {
    /// Makes one, if one was asked for.
    pub(super) async fn make(
        isolation: &Isolation,
        parent: &SessionEnv,
        context: &CallContext,
        agent_id: &AgentId,
    ) -> Result<Option<Self>, SubagentError> {
        match isolation {
            Isolation::None | Isolation::Directory(_) => return Ok(None),
            Isolation::Worktree => {}
        }
        let Some(worktrees) = &parent.worktrees else {
            return Err(SubagentError::Unsupported(
                "a worktree of its own is not available here; leave `isolation` out".to_owned(),
            ));
        };
        let name = format!("agent-{agent_id}");
        let made = worktrees.make(&context.cwd, &name).await;
        let path = made.map_err(SubagentError::Unsupported)?;
        let worktrees = Arc::clone(worktrees);
        Ok(Some(Self { worktrees, path, near: context.cwd.clone() }))
    }

    /// Clears it away; gives a note if it holds work and stays.
    pub(super) async fn clear(self) -> Option<String> {
        let is_gone = self.worktrees.clear(&self.path, &self.near).await;
        (!is_gone).then(|| format!("its work is in the worktree {}", self.path.display()))
    }
}
