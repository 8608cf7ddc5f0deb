//! Worktrees for sub-agents, which are given one and clear it away when nothing in it would be lost.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use innerve_tool::port::{Clock, ProcessRunner, Worktrees};
use innerve_tool::{BoxFuture, CancellationToken, ToolError};

use super::git::Git;
use super::{enter, exit};

/// Makes worktrees by git, below the main working tree.
pub struct GitWorktrees {
    git: Git,
}

impl GitWorktrees {
    /// Runs git with `processes`.
    pub fn new(processes: Arc<dyn ProcessRunner>, clock: Arc<dyn Clock>) -> Self {
        Self { git: Git { processes, clock } }
    }

    async fn made(&self, near: &Path, name: &str) -> Result<PathBuf, ToolError> {
        let stop = CancellationToken::new();
        let here = self.git.top(near, &stop).await?;
        let trees = self.git.worktrees(near, &stop).await?;
        let main = trees.first().map_or(&here, |tree| &tree.path);
        Ok(enter::make(&self.git, main, &here, name, &stop).await?.0)
    }

    async fn cleared(&self, worktree: &Path, near: &Path) -> Result<bool, ToolError> {
        let stop = CancellationToken::new();
        let trees = self.git.worktrees(near, &stop).await?;
        let real = crate::paths::real(worktree);
        let tree = trees.iter().skip(1).find(|tree| crate::paths::real(&tree.path) == real);
        let Some(tree) =
            tree.filter(|_| real.components().any(|part| part.as_os_str() == ".innerve"))
        else {
            return Ok(false);
        };
        exit::remove(&self.git, tree, false, near, &stop).await.map(|()| true)
    }
}

impl Worktrees for GitWorktrees {
    fn make<'a>(&'a self, near: &'a Path, name: &'a str) -> BoxFuture<'a, Result<PathBuf, String>> {
        Box::pin(
            async move { self.made(near, name).await.map_err(|error| error.message().to_owned()) },
        )
    }

    fn clear<'a>(&'a self, worktree: &'a Path, near: &'a Path) -> BoxFuture<'a, bool> {
        Box::pin(async move { self.cleared(worktree, near).await.unwrap_or(false) })
    }
}

impl std::fmt::Debug for GitWorktrees {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("GitWorktrees").finish_non_exhaustive()
    }
}
