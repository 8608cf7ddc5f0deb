//! `EnterWorktree`: makes a worktree, or takes one that there is, and moves the session into it.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use innerve_permission::facts::Place;
use innerve_permission::{CallFacts, Effect, Preview};
use innerve_protocol::ToolResultContent;
use innerve_tool::port::{Clock, ProcessRunner};
use innerve_tool::{CallContext, CancellationToken, SessionChange, Tool, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::git::Git;
use super::{BRANCH, FOLDER, refuse_agents};
use crate::code;

/// The longest name, in characters.
const MAX_NAME: usize = 64;

/// Moves the session into a git worktree below `.innerve/worktrees`.
pub struct EnterWorktreeTool {
    git: Git,
}

/// What the model gives to [`EnterWorktreeTool`].
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnterWorktreeInput {
    /// Name of a new one
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// One there is, in place of a new one
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// Where the session is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EnterWorktreeOutput {
    /// The worktree.
    pub path: PathBuf,
    /// Its branch; `None` for a detached head.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Whether it was made just now.
    pub created: bool,
}

impl EnterWorktreeTool {
    /// Runs git with `processes`.
    pub fn new(processes: Arc<dyn ProcessRunner>, clock: Arc<dyn Clock>) -> Self {
        Self { git: Git { processes, clock } }
    }

    async fn enter(
        &self,
        input: &EnterWorktreeInput,
        context: &CallContext<()>,
    ) -> Result<EnterWorktreeOutput, ToolError> {
        let stop = &context.cancellation;
        let trees = {
            self.git.top(&context.cwd, stop).await?;
            self.git.worktrees(&context.cwd, stop).await?
        };
        let Some(main) = trees.first() else {
            return Err(ToolError::new(code::WORKTREE, "the repository has no working tree"));
        };
        let here = self.git.top(&context.cwd, stop).await?;
        if here != self.git.top(&context.session.original_cwd, stop).await? {
            return Err(ToolError::invalid(format!(
                "the session is in the worktree {} already; leave it with ExitWorktree first",
                here.display()
            )));
        }
        if let Some(given) = &input.path {
            let path = crate::paths::real(&crate::paths::absolute(
                given,
                &context.cwd,
                &context.session.home,
            ));
            let known = trees.iter().find(|tree| crate::paths::real(&tree.path) == path);
            return match known {
                Some(tree) if tree != main => {
                    Ok(EnterWorktreeOutput { path, branch: tree.branch.clone(), created: false })
                }
                Some(_) => Err(ToolError::invalid(
                    "this is the main working tree; there is nothing to enter",
                )),
                None => {
                    let names: Vec<String> =
                        trees.iter().skip(1).map(|tree| tree.path.display().to_string()).collect();
                    let known =
                        if names.is_empty() { "it has none".to_owned() } else { names.join(", ") };
                    Err(ToolError::invalid(format!(
                        "`{}` is no worktree of this repository ({known})",
                        path.display()
                    )))
                }
            };
        }
        let name = input.name.clone().unwrap_or_else(|| own_name(context.tool_use_id.as_str()));
        let (path, branch) = make(&self.git, &main.path, &here, &name, stop).await?;
        Ok(EnterWorktreeOutput { path, branch: Some(branch), created: true })
    }
}

/// Makes a worktree with a branch of its own from the head of the working tree `here`; gives its place and its branch.
pub(super) async fn make(
    git: &Git,
    main: &Path,
    here: &Path,
    name: &str,
    stop: &CancellationToken,
) -> Result<(PathBuf, String), ToolError> {
    let folder = main.join(FOLDER);
    let path = folder.join(name.replace('/', "+"));
    if path.exists() {
        return Err(ToolError::new(
            code::WORKTREE,
            format!(
                "there is a worktree `{name}` already; give another name, or `path`: {}",
                path.display()
            ),
        ));
    }
    ready(&folder).map_err(|error| {
        ToolError::io(&format!("the folder {} cannot be made", folder.display()), &error)
    })?;
    let branch = format!("{BRANCH}{name}");
    let place = path.display().to_string();
    let arguments = ["worktree", "add", "--no-track", "-b", &branch, "--", &place, "HEAD"];
    git.run(here, &arguments, stop).await?;
    Ok((crate::paths::real(&path), branch))
}

/// A name from the id of the call.
fn own_name(id: &str) -> String {
    blake3::hash(id.as_bytes()).to_hex().chars().take(8).collect()
}

/// The folder of all worktrees, which git is told to leave out of the main working tree.
fn ready(folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    let ignore = folder.join(".gitignore");
    if !ignore.exists() {
        fs::write(ignore, "*\n")?;
    }
    Ok(())
}

/// Names that are plain as a folder and as a branch.
fn check_name(name: &str) -> Result<(), ToolError> {
    let plain = |segment: &str| {
        !segment.is_empty()
            && !segment.starts_with(['.', '-'])
            && !segment.ends_with('.')
            && !segment.contains("..")
            && !Path::new(segment).extension().is_some_and(|end| end.eq_ignore_ascii_case("lock"))
            && segment
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-'))
    };
    if name.chars().count() > MAX_NAME || !name.split('/').all(plain) {
        return Err(ToolError::invalid(format!(
            "`{name}` cannot be the name of a worktree: letters, digits, `.`, `_` and `-`, parts divided by `/`, at most \
             {MAX_NAME} characters"
        )));
    }
    Ok(())
}

impl Tool for EnterWorktreeTool {
    type Input = EnterWorktreeInput;
    type Output = EnterWorktreeOutput;
    type Progress = ();

    fn name(&self) -> &'static str {
        "EnterWorktree"
    }

    fn description(&self) -> String {
        "Makes a git worktree with a branch of its own and moves the session there; only when the user asks for a worktree."
            .to_owned()
    }

    async fn call(
        &self,
        input: EnterWorktreeInput,
        _approved: Option<Preview>,
        context: CallContext<()>,
    ) -> Result<ToolOutput<EnterWorktreeOutput>, ToolError> {
        let entered = self.enter(&input, &context).await?;
        let mut output = ToolOutput::new(entered);
        let path = output.data.path.clone();
        if !path.starts_with(crate::paths::real(&context.session.original_cwd)) {
            output.changes.push(SessionChange::AddDirectories(vec![path.clone()]));
        }
        output.changes.push(SessionChange::SetRoot(path));
        Ok(output)
    }

    fn render(&self, output: &EnterWorktreeOutput) -> ToolResultContent {
        let branch = match &output.branch {
            Some(branch) => format!("on branch {branch}"),
            None => "with a detached head".to_owned(),
        };
        let made = if output.created { "Made a worktree" } else { "Entered the worktree" };
        format!(
            "{made} {branch}; the session is in {} now. Files that git does not track are not there.",
            output.path.display()
        )
        .into()
    }

    async fn validate(
        &self,
        input: &EnterWorktreeInput,
        context: &CallContext,
    ) -> Result<(), ToolError> {
        refuse_agents(self.name(), context)?;
        match (&input.name, &input.path) {
            (Some(_), Some(_)) => Err(ToolError::invalid("give `name` or `path`, not both")),
            (Some(name), None) => check_name(name),
            (None, Some(path)) => crate::paths::checked(path, &context.typed::<()>()).map(|_| ()),
            (None, None) => Ok(()),
        }
    }

    fn facts(&self, input: &Value, _context: &CallContext, _place: Place<'_>) -> CallFacts {
        CallFacts::new(self.name(), input.clone()).with_effects(&[Effect::Write, Effect::State])
    }

    fn should_defer(&self) -> bool {
        true
    }

    fn search_hint(&self) -> &'static str {
        "git worktree, work on a copy of the repository"
    }

    fn classifier_input(&self, input: &EnterWorktreeInput) -> String {
        let place = input.name.as_deref().or(input.path.as_deref()).unwrap_or("of its own");
        format!("enter a git worktree {place}")
    }
}

impl fmt::Debug for EnterWorktreeTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("EnterWorktreeTool").finish_non_exhaustive()
    }
}
