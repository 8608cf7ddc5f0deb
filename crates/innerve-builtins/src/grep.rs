//! The Grep tool: searches the contents of files with ripgrep's engine.

use std::sync::Arc;
use std::time::Duration;

use innerve_permission::facts::{self, Place};
use innerve_permission::{CallFacts, Preview};
use innerve_protocol::ToolResultContent;
use innerve_tool::{CallContext, InterruptBehavior, Tool, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::Hidden;
use crate::paths;
use crate::search::{Limits, PATIENCE};

mod collect;
mod page;
mod query;
mod run;

use query::Query;

/// Searches the contents of files.
#[derive(Clone, Default)]
pub struct GrepTool {
    hidden: Option<Hidden>,
}

/// What the model gives to [`GrepTool`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrepInput {
    /// Regular expression (Rust syntax)
    pub pattern: String,
    /// File or directory (default: the current one)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Only these files, such as `*.{ts,tsx}`; `!` excludes
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glob: Option<String>,
    /// Only this type of file, such as rust, py, js
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub file_type: Option<String>,
    /// What is shown
    #[serde(default)]
    pub output_mode: OutputMode,
    /// Lines after each match
    #[serde(default, rename = "-A", skip_serializing_if = "Option::is_none")]
    pub after: Option<usize>,
    /// Lines before each match
    #[serde(default, rename = "-B", skip_serializing_if = "Option::is_none")]
    pub before: Option<usize>,
    /// Same as context
    #[serde(default, rename = "-C", skip_serializing_if = "Option::is_none")]
    pub around: Option<usize>,
    /// Lines on both sides of each match
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<usize>,
    /// Line numbers (default true)
    #[serde(default, rename = "-n", skip_serializing_if = "Option::is_none")]
    pub line_numbers: Option<bool>,
    /// Ignore case
    #[serde(default, rename = "-i", skip_serializing_if = "Option::is_none")]
    pub ignore_case: Option<bool>,
    /// Only the matching parts of lines
    #[serde(default, rename = "-o", skip_serializing_if = "Option::is_none")]
    pub only_matching: Option<bool>,
    /// Let matches span lines, and `.` match a line end
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiline: Option<bool>,
    /// Results per page (default 250; 0: all)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_limit: Option<usize>,
    /// Results to skip
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<usize>,
}

/// What a search shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = crate::schema::plain_enum)]
pub enum OutputMode {
    /// The files that hold a match.
    #[default]
    FilesWithMatches,
    /// The lines that match.
    Content,
    /// How many matches each file has.
    Count,
}

/// What [`GrepTool`] found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GrepOutput {
    /// What is shown.
    pub mode: OutputMode,
    /// Where was searched.
    pub path: String,
    /// How many files hold a match, those of other pages included.
    pub num_files: usize,
    /// How many matches there are in all; not counted where only files are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_matches: Option<usize>,
    /// The files of this page.
    pub filenames: Vec<String>,
    /// The lines of this page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// How many results are on this page: matches, or files where files are listed or counted.
    pub shown: usize,
    /// How many results there are.
    pub total: usize,
    /// The limit, if it cut something off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied_limit: Option<usize>,
    /// The offset, if it is not 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied_offset: Option<usize>,
    /// What else must be known: files that could not be searched, a search that was ended early.
    pub notes: Vec<String>,
}

impl GrepTool {
    /// Leaves out files that `hidden` names.
    pub fn new(hidden: Option<Hidden>) -> Self {
        Self { hidden }
    }
}

impl std::fmt::Debug for GrepTool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("GrepTool").field("hidden", &self.hidden.is_some()).finish()
    }
}

impl Tool for GrepTool {
    type Input = GrepInput;
    type Output = GrepOutput;
    type Progress = ();

    fn name(&self) -> &'static str {
        "Grep"
    }

    fn description(&self) -> String {
        "Searches file contents with ripgrep's engine. Hidden files are searched; files that .gitignore names, binary \
         files and version control's own are not. Use it instead of grep or rg in Bash."
            .to_owned()
    }

    async fn call(
        &self,
        input: GrepInput,
        _approved: Option<Preview>,
        context: CallContext<()>,
    ) -> Result<ToolOutput<GrepOutput>, ToolError> {
        let query = Query::new(&input, self.hidden.clone(), &context)?;
        let limits = Arc::new(Limits::new(PATIENCE, context.cancellation.clone()));
        crate::search::blocking(&context.cancellation, move || run::run(&query, &limits))
            .await
            .map(ToolOutput::new)
    }

    fn render(&self, output: &GrepOutput) -> ToolResultContent {
        page::words(output).into()
    }

    async fn validate(&self, input: &GrepInput, context: &CallContext) -> Result<(), ToolError> {
        Query::new(input, None, context).map(drop)
    }

    fn prepare(&self, input: &mut Value, context: &CallContext) {
        paths::prepare_field(input, "path", context);
    }

    fn facts(&self, input: &Value, _context: &CallContext, place: Place<'_>) -> CallFacts {
        facts::from_call_or_strict(self.name(), input, place)
    }

    fn is_concurrency_safe(&self, _input: &GrepInput) -> bool {
        true
    }

    fn is_read_only(&self, _input: &GrepInput) -> bool {
        true
    }

    fn interrupt_behavior(&self) -> InterruptBehavior {
        InterruptBehavior::Cancel
    }

    fn classifier_input(&self, input: &GrepInput) -> String {
        match &input.path {
            Some(path) => format!("{} in {path}", input.pattern),
            None => input.pattern.clone(),
        }
    }

    fn accepts_text_scalars(&self) -> bool {
        true
    }

    fn timeout(&self, _input: &GrepInput) -> Option<Duration> {
        // The search ends by itself before; this is for a file system that does not answer.
        Some(PATIENCE + Duration::from_secs(10))
    }
}
