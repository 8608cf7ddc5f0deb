//! `ExitWorktree`: brings the session back, and keeps or removes the worktree.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use innerve_permission::facts::Place;
use innerve_permission::{CallFacts, Effect, Need, Preview};
use innerve_protocol::ToolResultContent;
use innerve_tool::port::{Clock, ProcessRunner};
use innerve_tool::{CallContext, CancellationToken, SessionChange, Tool, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::git::{Git, Worktree};
use super::{BRANCH, FOLDER, refuse_agents};
use crate::code;

/// Files and commits that an error names.
const MAX_NAMED: usize = 20;

/// Moves the session back to where it began.
pub struct ExitWorktreeTool {
    git: Git,
}

/// What the model gives to [`ExitWorktreeTool`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExitWorktreeInput {
    /// What becomes of it
    #[schemars(transform = crate::schema::plain_enum)]
    pub action: ExitAction,
    /// Remove it although work in it is lost
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discard_changes: Option<bool>,
}

/// What becomes of the worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ExitAction {
    /// It stays.
    Keep,
    /// It goes, with its branch.
    Remove,
}

/// Where the session is again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ExitWorktreeOutput {
    /// The worktree that was left.
    pub path: PathBuf,
    /// Its branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Whether it was removed.
    pub removed: bool,
    /// The session's directory.
    pub cwd: PathBuf,
}

impl ExitWorktreeTool {
    /// Runs git with `processes`.
    pub fn new(processes: Arc<dyn ProcessRunner>, clock: Arc<dyn Clock>) -> Self {
        Self { git: Git { processes, clock } }
    }

    async fn exit(
        &self,
        input: &ExitWorktreeInput,
        context: &CallContext<()>,
    ) -> Result<ExitWorktreeOutput, ToolError> {
        let stop = &context.cancellation;
        let original = &context.session.original_cwd;
        let here = self.git.top(&context.cwd, stop).await?;
        if here == self.git.top(original, stop).await? {
            return Err(ToolError::invalid(
                "the session is in no worktree that it entered, so that there is none to leave",
            ));
        }
        let trees = self.git.worktrees(original, stop).await?;
        let real = crate::paths::real(&here);
        let (Some(main), Some(tree)) = (
            trees.first(),
            trees.iter().skip(1).find(|tree| crate::paths::real(&tree.path) == real),
        ) else {
            return Err(ToolError::invalid(format!(
                "`{}` is no worktree of the repository that the session began in",
                here.display()
            )));
        };
        let removed = input.action == ExitAction::Remove;
        if removed {
            let is_own = real.starts_with(crate::paths::real(&main.path).join(FOLDER));
            if !is_own {
                return Err(ToolError::invalid(format!(
                    "`{}` was not made by EnterWorktree and is not removed by this tool; leave it with `keep`",
                    here.display()
                )));
            }
            let is_forced = input.discard_changes == Some(true);
            remove(&self.git, tree, is_forced, original, stop).await?;
        }
        Ok(ExitWorktreeOutput {
            path: here,
            branch: tree.branch.clone(),
            removed,
            cwd: original.clone(),
        })
    }
}

/// Removes a worktree and the branch that was made with it.
pub(super) async fn remove(
    git: &Git,
    tree: &Worktree,
    is_forced: bool,
    original: &Path,
    stop: &CancellationToken,
) -> Result<(), ToolError> {
    let own = tree.branch.as_deref().filter(|branch| branch.starts_with(BRANCH));
    if !is_forced {
        refuse_loss(git, tree, own, stop).await?;
    }
    let place = tree.path.display().to_string();
    let mut arguments = vec!["worktree", "remove"];
    if is_forced {
        arguments.push("--force");
    }
    arguments.extend(["--", &place]);
    git.run(original, &arguments, stop).await?;
    if let Some(branch) = own {
        git.run(original, &["branch", "-D", "--", branch], stop).await?;
    }
    Ok(())
}

/// Refuses when something would be lost, and says what.
async fn refuse_loss(
    git: &Git,
    tree: &Worktree,
    own: Option<&str>,
    stop: &CancellationToken,
) -> Result<(), ToolError> {
    // Of submodules the commits are compared and no more: to look into one is to run what its settings name, and git removes
    // no working tree that has any.
    let look = ["status", "--porcelain", "--untracked-files=all", "--ignore-submodules=dirty"];
    let status = git.run(&tree.path, &look, stop).await?;
    let exclude = format!("--exclude={}", own.unwrap_or_default());
    let mut arguments = vec!["log", "--oneline", "--no-decorate", "--no-color", "HEAD", "--not"];
    if own.is_some() {
        arguments.push(&exclude);
    }
    arguments.extend(["--branches", "--remotes", "--tags"]);
    let commits = git.run(&tree.path, &arguments, stop).await?;
    let mut words = String::new();
    for (what, lines) in
        [("uncommitted files", &status), ("commits that are on no other branch", &commits)]
    {
        let named: Vec<&str> = lines.lines().collect();
        if !named.is_empty() {
            let shown: Vec<&str> = named.iter().copied().take(MAX_NAMED).collect();
            words.push_str(&format!("\n{} {what}:\n  {}", named.len(), shown.join("\n  ")));
        }
    }
    if words.is_empty() {
        return Ok(());
    }
    Err(ToolError::new(
        code::WORKTREE,
        format!(
            "the worktree was not removed, since work in it would be lost; commit and merge it, leave with `keep`, or ask \
                 the user and set `discard_changes`:{words}"
        ),
    ))
}

impl Tool for ExitWorktreeTool {
    type Input = ExitWorktreeInput;
    type Output = ExitWorktreeOutput;
    type Progress = ();

    fn name(&self) -> &'static str {
        "ExitWorktree"
    }

    fn description(&self) -> String {
        "Leaves the worktree that EnterWorktree entered. Removing refuses when work would be lost."
            .to_owned()
    }

    async fn call(
        &self,
        input: ExitWorktreeInput,
        _approved: Option<Preview>,
        context: CallContext<()>,
    ) -> Result<ToolOutput<ExitWorktreeOutput>, ToolError> {
        let mut output = ToolOutput::new(self.exit(&input, &context).await?);
        output.changes.push(SessionChange::SetRoot(output.data.cwd.clone()));
        Ok(output)
    }

    fn render(&self, output: &ExitWorktreeOutput) -> ToolResultContent {
        let branch =
            output.branch.as_deref().map(|branch| format!(", branch {branch}")).unwrap_or_default();
        let what = if output.removed { "was removed" } else { "is kept" };
        format!(
            "The worktree {}{branch} {what}. The session is in {} again.",
            output.path.display(),
            output.cwd.display()
        )
        .into()
    }

    async fn validate(
        &self,
        _input: &ExitWorktreeInput,
        context: &CallContext,
    ) -> Result<(), ToolError> {
        refuse_agents(self.name(), context)
    }

    fn facts(&self, input: &Value, _context: &CallContext, _place: Place<'_>) -> CallFacts {
        let strict = CallFacts::new(self.name(), input.clone());
        if input.get("action").and_then(Value::as_str) == Some("keep") {
            return strict.with_need(Need::Never).with_effects(&[]);
        }
        strict.with_effects(&[Effect::Delete])
    }

    fn is_destructive(&self, input: &ExitWorktreeInput) -> bool {
        input.action == ExitAction::Remove
    }

    fn should_defer(&self) -> bool {
        true
    }

    fn search_hint(&self) -> &'static str {
        "leave or remove a git worktree"
    }

    fn classifier_input(&self, input: &ExitWorktreeInput) -> String {
        let discards =
            if input.discard_changes == Some(true) { ", discarding changes" } else { "" };
        match input.action {
            ExitAction::Keep => "leave the git worktree".to_owned(),
            ExitAction::Remove => format!("remove the git worktree{discards}"),
        }
    }
}

impl fmt::Debug for ExitWorktreeTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ExitWorktreeTool").finish_non_exhaustive()
    }
}
