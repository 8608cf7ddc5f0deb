//! The Write tool: makes a file, or replaces all of one that was read.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use innerve_permission::facts::{self, Place};
use innerve_permission::{CallFacts, Preview};
use innerve_protocol::ToolResultContent;
use innerve_tool::{CallContext, Tool, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::{CHANGE_TIMEOUT, Change, FileAccess, content_hash, regular, stale};
use crate::diff::Diff;
use crate::text::{Document, LineEnding, count_lines, with_line_feeds};
use crate::{code, paths};

/// A larger file is not replaced: its old content could not be kept for undo.
const MAX_BYTES: u64 = 1 << 30;

/// Makes or replaces a file.
#[derive(Clone, Debug)]
pub struct WriteTool {
    access: FileAccess,
}

/// What the model gives to [`WriteTool`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteInput {
    /// Absolute path of the file
    pub file_path: String,
    /// The whole new content
    pub content: String,
}

/// What [`WriteTool`] did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct WriteOutput {
    /// The file.
    pub file_path: PathBuf,
    /// Whether it was made.
    pub created: bool,
    /// How many lines it has.
    pub lines: u64,
    /// What has changed; empty for a new file.
    pub diff: Diff,
}

impl WriteTool {
    /// Writes through `access`.
    pub fn new(access: FileAccess) -> Self {
        Self { access }
    }

    /// Makes all checks and gives the content before and after.
    async fn plan(&self, path: &Path, content: &str) -> Result<Change, ToolError> {
        let broken = |error: io::Error| {
            ToolError::io(&format!("`{}` cannot be read", path.display()), &error)
        };
        let meta = match self.access.files.metadata(path).await {
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Change { before: None, after: content.as_bytes().to_vec() });
            }
            Err(error) => return Err(broken(error)),
        };
        regular(path, meta.kind)?;
        // Before the content is read: it may be large, and the answer may be no.
        let Some(record) = self.access.ledger.get(path) else {
            return Err(not_read(path, "exists and has not been read yet; read it first"));
        };
        if record.partial {
            return Err(not_read(path, "has been read only in part; read the rest of it first"));
        }
        let before = self.access.files.read(path, MAX_BYTES).await.map_err(broken)?;
        if record.content_hash != content_hash(&before) {
            return Err(stale(path));
        }
        let document = Document::new(before);
        let total = count_lines(&document.text);
        if record.lines.0 > 1 || record.lines.1 < total {
            let (first, last) = (record.lines.0, record.lines.0 + record.lines.1.max(1) - 1);
            let what = format!(
                "has {total} lines, and only lines {first}–{last} have been read; read the rest, or use Edit"
            );
            return Err(not_read(path, &what));
        }
        let after = match LineEnding::of_most(&document.text) {
            LineEnding::Lf => document.encoding().file(content),
            ending @ LineEnding::CrLf => {
                document.encoding().file(&ending.apply(&with_line_feeds(content)))
            }
        };
        Ok(Change { before: Some(document.into_raw()), after })
    }
}

fn not_read(path: &Path, what: &str) -> ToolError {
    ToolError::new(code::NOT_READ, format!("`{}` {what}", path.display()))
}

impl Tool for WriteTool {
    type Input = WriteInput;
    type Output = WriteOutput;
    type Progress = ();

    fn name(&self) -> &'static str {
        "Write"
    }

    fn description(&self) -> String {
        "Makes a file, with its directories, or replaces all of one that you have read. Prefer Edit for changes. \
         Encoding and line endings of a replaced file are kept."
            .to_owned()
    }

    async fn call(
        &self,
        input: WriteInput,
        approved: Option<Preview>,
        context: CallContext<()>,
    ) -> Result<ToolOutput<WriteOutput>, ToolError> {
        let path = paths::checked(&input.file_path, &context)?;
        let _lock = self.access.lock(&path).await;
        let change = match approved {
            Some(preview) => Change::approved(preview, &path)?,
            None => self.plan(&path, &input.content).await?,
        };
        let created = change.before.is_none();
        let diff = match &change.before {
            Some(before) => Diff::between(before, &change.after),
            None => Diff::default(),
        };
        let lines = count_lines(&input.content);
        let mut record = self.access.make(&path, &context.tool_use_id, change).await?;
        record.lines = (1, lines);
        self.access.ledger.record(&path, record);
        Ok(ToolOutput::new(WriteOutput { file_path: path, created, lines, diff }))
    }

    fn render(&self, output: &WriteOutput) -> ToolResultContent {
        let done = if output.created { "Created" } else { "Updated" };
        let lines = if output.lines == 1 { "line" } else { "lines" };
        format!("{done} `{}` ({} {lines}).", output.file_path.display(), output.lines).into()
    }

    async fn validate(&self, input: &WriteInput, context: &CallContext) -> Result<(), ToolError> {
        let path = paths::checked(&input.file_path, context)?;
        if self.access.is_hidden(&path) {
            // A refusal is coming, and it must not tell anything of the file.
            return Ok(());
        }
        self.plan(&path, &input.content).await.map(drop)
    }

    fn prepare(&self, input: &mut Value, context: &CallContext) {
        paths::prepare_field(input, "file_path", context);
    }

    fn facts(&self, input: &Value, _context: &CallContext, place: Place<'_>) -> CallFacts {
        facts::from_call_or_strict(self.name(), input, place)
    }

    async fn preview(
        &self,
        input: &WriteInput,
        context: &CallContext,
    ) -> Result<Option<Preview>, ToolError> {
        let path = paths::checked(&input.file_path, context)?;
        let change = self.plan(&path, &input.content).await?;
        Ok(Some(change.preview(path)))
    }

    fn classifier_input(&self, input: &WriteInput) -> String {
        format!("{}: {}", input.file_path, input.content)
    }

    fn timeout(&self, _input: &WriteInput) -> Option<Duration> {
        Some(CHANGE_TIMEOUT)
    }
}
