//! The `MultiEdit` tool: several edits of one file, all or none.

use std::path::{Path, PathBuf};
use std::time::Duration;

use innerve_permission::facts::{self, Place};
use innerve_permission::{CallFacts, Preview};
use innerve_protocol::ToolResultContent;
use innerve_tool::{CallContext, Tool, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{EditInput, EditTool, MatchKind, Plan};
use crate::access::{CHANGE_TIMEOUT, Change, FileAccess};
use crate::diff::Diff;
use crate::paths;
use crate::text::Document;

/// How many edits one call may hold.
const MAX_EDITS: usize = 500;

/// Makes several edits of one file, one after the other: all of them or none.
#[derive(Clone, Debug)]
pub struct MultiEditTool {
    edit: EditTool,
}

/// What the model gives to [`MultiEditTool`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MultiEditInput {
    /// Absolute path of the file
    pub file_path: String,
    /// The edits; each sees what those before it made
    pub edits: Vec<EditStep>,
}

/// One edit of a [`MultiEditInput`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline, transform = crate::schema::undescribed)]
pub struct EditStep {
    /// As for Edit
    pub old_string: String,
    /// As for Edit
    pub new_string: String,
    /// As for Edit
    #[serde(default)]
    pub replace_all: bool,
}

/// What [`MultiEditTool`] did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct MultiEditOutput {
    /// The file.
    pub file_path: PathBuf,
    /// Whether it was made.
    pub created: bool,
    /// How many edits were made.
    pub edits: usize,
    /// What has changed.
    pub diff: Diff,
}

impl MultiEditTool {
    /// Edits through `access`; a file that has changed since it was read is refused.
    pub fn new(access: FileAccess) -> Self {
        Self { edit: EditTool::new(access) }
    }

    /// Makes all checks and all edits, in memory.
    async fn plan(
        &self,
        path: &Path,
        input: &MultiEditInput,
        cwd: &Path,
    ) -> Result<Plan, ToolError> {
        let mut plan: Option<Plan> = None;
        for (number, step) in (1..).zip(&input.edits) {
            let edit = step.on(&input.file_path);
            let next = match plan.take() {
                None => self.edit.plan(path, &edit, cwd).await,
                Some(done) => {
                    let Change { before, after } = done.change;
                    Plan::replacement(Document::new(after), &edit, path).map(|mut next| {
                        next.change.before = before;
                        next
                    })
                }
            };
            plan = Some(next.map_err(|error| at(number, input, &error))?);
        }
        plan.ok_or_else(no_edits)
    }

    fn check(input: &MultiEditInput) -> Result<(), ToolError> {
        if input.edits.is_empty() {
            return Err(no_edits());
        }
        if input.edits.len() > MAX_EDITS {
            let message =
                format!("{} edits are too many; at most {MAX_EDITS} fit", input.edits.len());
            return Err(ToolError::invalid(message));
        }
        for (number, step) in (1..).zip(&input.edits) {
            let checked = if step.old_string.is_empty() && number > 1 {
                Err(ToolError::invalid(
                    "an empty old_string makes a new file, which only the first edit can",
                ))
            } else {
                super::check_input(&step.on(&input.file_path))
            };
            checked.map_err(|error| at(number, input, &error))?;
        }
        Ok(())
    }
}

impl EditStep {
    fn on(&self, file_path: &str) -> EditInput {
        EditInput {
            file_path: file_path.to_owned(),
            old_string: self.old_string.clone(),
            new_string: self.new_string.clone(),
            replace_all: self.replace_all,
        }
    }
}

fn no_edits() -> ToolError {
    ToolError::invalid("there are no edits; give one at least")
}

fn at(number: usize, input: &MultiEditInput, error: &ToolError) -> ToolError {
    let message = format!(
        "edit {number} of {} cannot be made, so none was: {}",
        input.edits.len(),
        error.message()
    );
    ToolError::new(error.code(), message)
}

impl Tool for MultiEditTool {
    type Input = MultiEditInput;
    type Output = MultiEditOutput;
    type Progress = ();

    fn name(&self) -> &'static str {
        "MultiEdit"
    }

    fn description(&self) -> String {
        "Makes several edits of one file, as Edit does, in order: all or none.".to_owned()
    }

    async fn call(
        &self,
        input: MultiEditInput,
        approval: Option<Preview>,
        context: CallContext<()>,
    ) -> Result<ToolOutput<MultiEditOutput>, ToolError> {
        Self::check(&input)?;
        let path = paths::checked(&input.file_path, &context)?;
        let _lock = self.edit.access.lock(&path).await;
        let plan = match approval {
            Some(preview) => {
                let change = Change::approved(preview, &path)?;
                Plan { change, replacements: 0, matched: MatchKind::Exact }
            }
            None => self.plan(&path, &input, &context.cwd).await?,
        };
        let done = self.edit.carry_out(path, plan, &context).await?;
        Ok(ToolOutput::new(MultiEditOutput {
            file_path: done.file_path,
            created: done.created,
            edits: input.edits.len(),
            diff: done.diff,
        }))
    }

    fn render(&self, output: &MultiEditOutput) -> ToolResultContent {
        let path = output.file_path.display();
        if output.created {
            return format!("Created `{path}`.").into();
        }
        let edits = output.edits;
        format!("Made {edits} edits of `{path}`. It now reads:\n{}", output.diff.snippet()).into()
    }

    async fn validate(
        &self,
        input: &MultiEditInput,
        context: &CallContext,
    ) -> Result<(), ToolError> {
        Self::check(input)?;
        let path = paths::checked(&input.file_path, context)?;
        if self.edit.access.is_hidden(&path) {
            // A refusal is coming, and it must not tell anything of the content.
            return Ok(());
        }
        self.plan(&path, input, &context.cwd).await.map(drop)
    }

    fn prepare(&self, input: &mut Value, context: &CallContext) {
        paths::prepare_field(input, "file_path", context);
    }

    fn facts(&self, input: &Value, _context: &CallContext, place: Place<'_>) -> CallFacts {
        facts::from_call_or_strict(self.name(), input, place)
    }

    async fn preview(
        &self,
        input: &MultiEditInput,
        context: &CallContext,
    ) -> Result<Option<Preview>, ToolError> {
        Self::check(input)?;
        let path = paths::checked(&input.file_path, context)?;
        let plan = self.plan(&path, input, &context.cwd).await?;
        Ok(Some(plan.change.preview(path)))
    }

    fn search_hint(&self) -> &'static str {
        "several changes of one file at once"
    }

    fn classifier_input(&self, input: &MultiEditInput) -> String {
        let new: Vec<&str> = input.edits.iter().map(|step| step.new_string.as_str()).collect();
        format!("{}: {}", input.file_path, new.join("\n"))
    }

    fn accepts_text_scalars(&self) -> bool {
        true
    }

    fn timeout(&self, _input: &MultiEditInput) -> Option<Duration> {
        Some(CHANGE_TIMEOUT)
    }
}
