//! The Edit tool: replaces a piece of text and keeps every other byte of the file.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use innerve_permission::facts::{self, Place};
use innerve_permission::{CallFacts, Preview};
use innerve_protocol::ToolResultContent;
use innerve_tool::port::ReadRecord;
use innerve_tool::{CallContext, Tool, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::{CHANGE_TIMEOUT, Change, FileAccess, content_hash, regular, stale};
use crate::diff::Diff;
use crate::text::{Document, count_lines};
use crate::{code, paths};

mod change;
mod locate;
#[cfg(feature = "multi-edit")]
mod multi;

pub use locate::MatchKind;
#[cfg(feature = "multi-edit")]
pub use multi::{EditStep, MultiEditInput, MultiEditOutput, MultiEditTool};

/// A larger file is not edited.
const MAX_BYTES: u64 = 1 << 30;

/// Replaces a piece of text in a file, or makes a new file.
#[derive(Clone, Debug)]
pub struct EditTool {
    pub(crate) access: FileAccess,
    stale: StaleEdits,
}

/// What becomes of an edit of a file that has changed since it was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StaleEdits {
    /// It is refused.
    #[default]
    Refuse,
    /// It is made where the text to replace still occurs exactly once, as after the run of a formatter.
    WhereUnique,
}

/// What the model gives to [`EditTool`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditInput {
    /// Absolute path of the file
    pub file_path: String,
    /// Text to replace, without line numbers; empty to make a new file
    pub old_string: String,
    /// Text to put in its place
    pub new_string: String,
    /// Replace every occurrence
    #[serde(default)]
    pub replace_all: bool,
}

/// What [`EditTool`] did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EditOutput {
    /// The file.
    pub file_path: PathBuf,
    /// Whether it was made.
    pub created: bool,
    /// How many places were changed.
    pub replacements: usize,
    /// How the text was found.
    pub matched: MatchKind,
    /// What has changed.
    pub diff: Diff,
}

/// What an edit will do.
pub(crate) struct Plan {
    pub(crate) change: Change,
    pub(crate) replacements: usize,
    pub(crate) matched: MatchKind,
}

impl EditTool {
    /// Edits through `access`; files that have changed since they were read are refused.
    pub fn new(access: FileAccess) -> Self {
        Self { access, stale: StaleEdits::Refuse }
    }

    /// Chooses what becomes of edits of files that have changed.
    #[must_use]
    pub fn with_stale_edits(mut self, stale: StaleEdits) -> Self {
        self.stale = stale;
        self
    }

    /// Makes all checks in their order, and computes the new content.
    async fn plan(&self, path: &Path, input: &EditInput, cwd: &Path) -> Result<Plan, ToolError> {
        let before = self.current(path, input.old_string.is_empty(), cwd).await?;
        let Some(before) = before else {
            return Ok(Plan::creation(None, input));
        };
        let document = Document::new(before);
        if input.old_string.is_empty() {
            if !document.text.trim().is_empty() {
                let message = format!(
                    "`{}` exists and is not empty; give the text to replace in old_string, or use Write to replace all of it",
                    path.display()
                );
                return Err(ToolError::new(code::EXISTS, message));
            }
            return Ok(Plan::creation(Some(document), input));
        }
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb")) {
            let message = format!("`{}` is a notebook; use NotebookEdit", path.display());
            return Err(ToolError::invalid(message));
        }
        let is_stale = self.check_read(path, document.raw())?;
        let plan = Plan::replacement(document, input, path);
        match (is_stale, plan) {
            (false, plan) => plan,
            (true, Ok(plan)) if plan.replacements == 1 => Ok(plan),
            (true, Ok(_) | Err(_)) => Err(stale(path)),
        }
    }

    /// The content of the file; `None` if there is none and one may be made.
    pub(crate) async fn current(
        &self,
        path: &Path,
        may_create: bool,
        cwd: &Path,
    ) -> Result<Option<Vec<u8>>, ToolError> {
        let files = self.access.files.as_ref();
        let broken = |error: io::Error| {
            ToolError::io(&format!("`{}` cannot be read", path.display()), &error)
        };
        let meta = match files.metadata(path).await {
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if may_create {
                    return Ok(None);
                }
                let hidden = self.access.hidden.as_ref();
                return Err(paths::Siblings::find(files, path, hidden).await.error(path, cwd));
            }
            Err(error) => return Err(broken(error)),
        };
        regular(path, meta.kind)?;
        let too_large = |bytes: &str| {
            let message = format!(
                "`{}` has {bytes} bytes; at most {MAX_BYTES} can be edited: use a stream editor such as sed",
                path.display()
            );
            ToolError::new(code::TOO_LARGE, message)
        };
        if meta.len > MAX_BYTES {
            return Err(too_large(&meta.len.to_string()));
        }
        match files.read(path, MAX_BYTES).await {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Err(too_large("too many")),
            Err(error) => Err(broken(error)),
        }
    }

    /// Whether the file has changed since it was read, where that may be forgiven.
    pub(crate) fn check_read(&self, path: &Path, content: &[u8]) -> Result<bool, ToolError> {
        let not_read = |what: &str| {
            Err(ToolError::new(code::NOT_READ, format!("`{}` {what}", path.display())))
        };
        let Some(record) = self.access.ledger.get(path) else {
            return not_read("has not been read yet; read it first, then repeat the edit");
        };
        if record.partial {
            return not_read(
                "has been read only in part; read the lines that the edit changes with offset and limit, then repeat it",
            );
        }
        match (record.content_hash == content_hash(content), self.stale) {
            (true, _) => Ok(false),
            (false, StaleEdits::WhereUnique) => Ok(true),
            (false, StaleEdits::Refuse) => Err(stale(path)),
        }
    }

    async fn edit(
        &self,
        input: EditInput,
        approved: Option<Preview>,
        context: CallContext<()>,
    ) -> Result<EditOutput, ToolError> {
        check_input(&input)?;
        let path = paths::checked(&input.file_path, &context)?;
        let _lock = self.access.lock(&path).await;
        let plan = match approved {
            Some(preview) => Plan::approved(preview, &input, &path)?,
            None => self.plan(&path, &input, &context.cwd).await?,
        };
        self.carry_out(path, plan, &context).await
    }

    /// Writes what was planned; the caller holds the lock.
    pub(crate) async fn carry_out(
        &self,
        path: PathBuf,
        plan: Plan,
        context: &CallContext<()>,
    ) -> Result<EditOutput, ToolError> {
        let Plan { change, replacements, matched } = plan;
        let diff = Diff::between(change.before.as_deref().unwrap_or_default(), &change.after);
        let created = change.before.is_none();
        let lines = lines_known(self.access.ledger.get(&path), &change);
        let mut record = self.access.make(&path, &context.tool_use_id, change).await?;
        record.lines = lines;
        self.access.ledger.record(&path, record);
        Ok(EditOutput { file_path: path, created, replacements, matched, diff })
    }
}

/// The lines that the agent knows after its own change: all, if it knew all before or made the file.
fn lines_known(known: Option<ReadRecord>, change: &Change) -> (u64, u64) {
    let (before, total) = (change.before.as_deref().map(count_lines), count_lines(&change.after));
    match (known, before) {
        (Some(record), Some(before)) if record.lines.0 > 1 || record.lines.1 < before => {
            (record.lines.0, record.lines.1.min(total))
        }
        (Some(_) | None, Some(_) | None) => (1, total),
    }
}

fn check_input(input: &EditInput) -> Result<(), ToolError> {
    if input.old_string == input.new_string {
        return Err(ToolError::invalid(
            "old_string and new_string are the same, so there is nothing to change",
        ));
    }
    Ok(())
}

impl Tool for EditTool {
    type Input = EditInput;
    type Output = EditOutput;
    type Progress = ();

    fn name(&self) -> &'static str {
        "Edit"
    }

    fn description(&self) -> String {
        "Replaces text in a file that you have read. old_string must occur exactly once, with its indentation: add lines \
         around it until it is unique, or set replace_all. new_string is taken literally. Encoding and line endings are \
         kept."
            .to_owned()
    }

    async fn call(
        &self,
        input: EditInput,
        approved: Option<Preview>,
        context: CallContext<()>,
    ) -> Result<ToolOutput<EditOutput>, ToolError> {
        self.edit(input, approved, context).await.map(ToolOutput::new)
    }

    fn render(&self, output: &EditOutput) -> ToolResultContent {
        let path = output.file_path.display();
        if output.created {
            return format!("Created `{path}`.").into();
        }
        let how = match output.matched {
            MatchKind::Exact => "",
            MatchKind::Quotes => " The text was found by ignoring the style of its quotes.",
            MatchKind::TrailingBlanks => " The text was found by ignoring blanks at ends of lines.",
        };
        let what = match output.replacements {
            1 => format!("Edited `{path}`.{how}"),
            count => format!("Edited `{path}`: all {count} occurrences were replaced."),
        };
        format!("{what} It now reads:\n{}", output.diff.snippet()).into()
    }

    async fn validate(&self, input: &EditInput, context: &CallContext) -> Result<(), ToolError> {
        check_input(input)?;
        let path = paths::checked(&input.file_path, context)?;
        if self.access.is_hidden(&path) {
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
        input: &EditInput,
        context: &CallContext,
    ) -> Result<Option<Preview>, ToolError> {
        check_input(input)?;
        let path = paths::checked(&input.file_path, context)?;
        let plan = self.plan(&path, input, &context.cwd).await?;
        Ok(Some(plan.change.preview(path)))
    }

    fn classifier_input(&self, input: &EditInput) -> String {
        format!("{}: {}", input.file_path, input.new_string)
    }

    fn accepts_text_scalars(&self) -> bool {
        true
    }

    fn timeout(&self, _input: &EditInput) -> Option<Duration> {
        Some(CHANGE_TIMEOUT)
    }
}
