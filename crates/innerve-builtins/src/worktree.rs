//! The worktree tools: `EnterWorktree` moves the session into a git worktree of its own, `ExitWorktree` brings it back.

mod enter;
mod exit;
mod git;
mod own;

pub use enter::{EnterWorktreeInput, EnterWorktreeOutput, EnterWorktreeTool};
pub use exit::{ExitAction, ExitWorktreeInput, ExitWorktreeOutput, ExitWorktreeTool};
pub use own::GitWorktrees;

use innerve_tool::{CallContext, ToolError};

/// Where worktrees are made, below the main working tree.
const FOLDER: &str = ".innerve/worktrees";
/// What the branches of worktrees begin with.
const BRANCH: &str = "worktree-";

/// The session's place is a matter of the main conversation.
fn refuse_agents(tool: &str, context: &CallContext) -> Result<(), ToolError> {
    if context.session.agent_id.is_none() {
        return Ok(());
    }
    Err(ToolError::invalid(format!(
        "a sub-agent cannot use {tool}; whoever starts it can give it a worktree of its own (isolation: worktree)"
    )))
}
