//! The `NotebookEdit` tool: replaces, inserts or deletes one cell of a Jupyter notebook.

mod document;

use std::path::{Path, PathBuf};
use std::time::Duration;

use innerve_permission::facts::{self, Place};
use innerve_permission::{CallFacts, Preview};
use innerve_protocol::ToolResultContent;
use innerve_tool::{CallContext, Tool, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::{CHANGE_TIMEOUT, Change, FileAccess};
use crate::diff::Diff;
use crate::edit::{EditTool, MatchKind, Plan};
use crate::text::Document;
use crate::{code, paths};

use document::Notebook;

/// A larger notebook is not edited.
const MAX_BYTES: u64 = 100 << 20;

/// Changes one cell of a notebook that was read, and keeps every other byte of the file.
#[derive(Clone, Debug)]
pub struct NotebookEditTool {
    edit: EditTool,
}

/// What the model gives to [`NotebookEditTool`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotebookEditInput {
    /// Absolute path of the notebook
    pub notebook_path: String,
    /// The cell; for insert the one before it, or none
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell_id: Option<String>,
    /// Its whole source
    #[serde(default)]
    pub new_source: String,
    /// Needed to insert
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell_type: Option<CellType>,
    /// What to do
    #[serde(default)]
    pub edit_mode: CellEdit,
}

/// The kind of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline, transform = crate::schema::plain_enum)]
pub enum CellType {
    /// Code.
    Code,
    /// Text.
    Markdown,
}

/// What becomes of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline, transform = crate::schema::plain_enum)]
pub enum CellEdit {
    /// It gets another source.
    #[default]
    Replace,
    /// It is put in.
    Insert,
    /// It is taken out.
    Delete,
}

/// What [`NotebookEditTool`] did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct NotebookEditOutput {
    /// The notebook.
    pub notebook_path: PathBuf,
    /// The cell.
    pub cell_id: String,
    /// What became of it.
    pub edit_mode: CellEdit,
    /// What has changed in the file.
    pub diff: Diff,
}

impl CellType {
    fn word(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Markdown => "markdown",
        }
    }
}

impl NotebookEditTool {
    /// Edits through `access`; a notebook that has changed since it was read is refused.
    pub fn new(access: FileAccess) -> Self {
        Self { edit: EditTool::new(access) }
    }

    /// Makes all checks and computes the new content; gives also the cell's name.
    async fn plan(
        &self,
        path: &Path,
        input: &NotebookEditInput,
        cwd: &Path,
    ) -> Result<(Plan, String), ToolError> {
        // A notebook is never made here, so that there is content or an error.
        let before = self.edit.current(path, false, cwd).await?.unwrap_or_default();
        if before.len() as u64 > MAX_BYTES {
            let message = format!(
                "`{}` has {} bytes; notebooks of at most {MAX_BYTES} are edited: clear its outputs first",
                path.display(),
                before.len()
            );
            return Err(ToolError::new(code::TOO_LARGE, message));
        }
        let document = Document::new(before);
        self.edit.check_read(path, document.raw())?;
        let ((range, new), name) = change(&document.text, input).map_err(|error| {
            let message = format!("`{}` was not changed: {}", path.display(), error.message());
            ToolError::new(error.code(), message)
        })?;
        let ending = document.line_ending(&(0..document.text.len()));
        let changes = [(range, ending.apply(&new))];
        Ok((Plan::splice(document, &changes, MatchKind::Exact), name))
    }
}

/// The change of the notebook's text, and the name of the cell.
fn change(text: &str, input: &NotebookEditInput) -> Result<(document::Change, String), ToolError> {
    let notebook = Notebook::parse(text)?;
    let cell = input.cell_id.as_deref().map(|id| notebook.find(id)).transpose()?;
    let source = crate::text::with_line_feeds(&input.new_source);
    match (input.edit_mode, cell) {
        (CellEdit::Insert, after) => {
            let kind = input.cell_type.ok_or_else(no_type)?;
            Ok(notebook.insert(after, &source, kind))
        }
        (CellEdit::Replace, Some(number)) => {
            Ok((notebook.replace(number, &source, input.cell_type), notebook.name(number)))
        }
        (CellEdit::Delete, Some(number)) => Ok((notebook.delete(number), notebook.name(number))),
        (CellEdit::Replace | CellEdit::Delete, None) => Err(no_cell()),
    }
}

fn no_type() -> ToolError {
    ToolError::invalid("a new cell needs a cell_type, code or markdown")
}

fn no_cell() -> ToolError {
    ToolError::invalid("cell_id is missing; say which cell, as Read names it")
}

fn check_input(input: &NotebookEditInput, path: &Path) -> Result<(), ToolError> {
    if !path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb")) {
        let message = format!("`{}` is no notebook (.ipynb); use Edit", path.display());
        return Err(ToolError::invalid(message));
    }
    match (input.edit_mode, &input.cell_id, input.cell_type) {
        (CellEdit::Insert, _, None) => Err(no_type()),
        (CellEdit::Replace | CellEdit::Delete, None, _) => Err(no_cell()),
        (CellEdit::Insert | CellEdit::Replace | CellEdit::Delete, _, _) => Ok(()),
    }
}

impl Tool for NotebookEditTool {
    type Input = NotebookEditInput;
    type Output = NotebookEditOutput;
    type Progress = ();

    fn name(&self) -> &'static str {
        "NotebookEdit"
    }

    fn description(&self) -> String {
        "Replaces, inserts or deletes one cell of a Jupyter notebook that you have read.".to_owned()
    }

    async fn call(
        &self,
        input: NotebookEditInput,
        approval: Option<Preview>,
        context: CallContext<()>,
    ) -> Result<ToolOutput<NotebookEditOutput>, ToolError> {
        let path = paths::checked(&input.notebook_path, &context)?;
        check_input(&input, &path)?;
        let _lock = self.edit.access.lock(&path).await;
        let (plan, cell_id) = match approval {
            Some(preview) => {
                let approved = Change::approved(preview, &path)?;
                let text = Document::new(approved.before.clone().unwrap_or_default()).text;
                let (_, name) = change(&text, &input)?;
                (Plan { change: approved, replacements: 1, matched: MatchKind::Exact }, name)
            }
            None => self.plan(&path, &input, &context.cwd).await?,
        };
        let done = self.edit.carry_out(path, plan, &context).await?;
        Ok(ToolOutput::new(NotebookEditOutput {
            notebook_path: done.file_path,
            cell_id,
            edit_mode: input.edit_mode,
            diff: done.diff,
        }))
    }

    fn render(&self, output: &NotebookEditOutput) -> ToolResultContent {
        let done = match output.edit_mode {
            CellEdit::Replace => "Replaced",
            CellEdit::Insert => "Inserted",
            CellEdit::Delete => "Deleted",
        };
        format!("{done} cell {} of `{}`.", output.cell_id, output.notebook_path.display()).into()
    }

    async fn validate(
        &self,
        input: &NotebookEditInput,
        context: &CallContext,
    ) -> Result<(), ToolError> {
        let path = paths::checked(&input.notebook_path, context)?;
        check_input(input, &path)?;
        if self.edit.access.is_hidden(&path) {
            // A refusal is coming, and it must not tell anything of the content.
            return Ok(());
        }
        self.plan(&path, input, &context.cwd).await.map(drop)
    }

    fn prepare(&self, input: &mut Value, context: &CallContext) {
        paths::prepare_field(input, "notebook_path", context);
    }

    fn facts(&self, input: &Value, _context: &CallContext, place: Place<'_>) -> CallFacts {
        facts::from_call_or_strict(self.name(), input, place)
    }

    async fn preview(
        &self,
        input: &NotebookEditInput,
        context: &CallContext,
    ) -> Result<Option<Preview>, ToolError> {
        let path = paths::checked(&input.notebook_path, context)?;
        let (plan, _) = self.plan(&path, input, &context.cwd).await?;
        Ok(Some(plan.change.preview(path)))
    }

    fn should_defer(&self) -> bool {
        true
    }

    fn search_hint(&self) -> &'static str {
        "change cells of Jupyter notebooks, ipynb"
    }

    fn classifier_input(&self, input: &NotebookEditInput) -> String {
        format!("{}: {}", input.notebook_path, input.new_source)
    }

    fn timeout(&self, _input: &NotebookEditInput) -> Option<Duration> {
        Some(CHANGE_TIMEOUT)
    }
}
