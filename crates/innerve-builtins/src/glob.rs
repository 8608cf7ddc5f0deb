//! The Glob tool: files by name, newest first.

use std::cmp::Reverse;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use globset::{GlobBuilder, GlobMatcher};
use ignore::WalkState;
use innerve_permission::facts::{self, Place};
use innerve_permission::{CallFacts, Preview};
use innerve_protocol::ToolResultContent;
use innerve_tool::{CallContext, InterruptBehavior, Tool, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::Hidden;
use crate::search::{Best, IgnoreFiles, Limits, PATIENCE, walk};
use crate::{code, paths};

/// Files that are listed.
const MAX_FILES: usize = 100;

/// Finds files by name.
#[derive(Clone, Default)]
pub struct GlobTool {
    hidden: Option<Hidden>,
}

/// What the model gives to [`GlobTool`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GlobInput {
    /// Such as `*.rs` (in any directory) or `src/**/*.{ts,tsx}`
    pub pattern: String,
    /// Directory to search (default: the current one)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// What [`GlobTool`] found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GlobOutput {
    /// The files, newest first, relative to the current directory where they lie in it.
    pub filenames: Vec<String>,
    /// How many files match, those that are not listed included.
    pub num_files: usize,
    /// Whether files are not listed.
    pub truncated: bool,
    /// Whether the search was ended early, so that there may be more.
    pub incomplete: bool,
}

impl GlobTool {
    /// Leaves out files that `hidden` names.
    pub fn new(hidden: Option<Hidden>) -> Self {
        Self { hidden }
    }
}

/// Whether a pattern may leave the directory that it is searched in.
fn leads_away(pattern: &str) -> bool {
    pattern.starts_with(['/', '~']) || pattern.split('/').any(|part| part == "..")
}

/// Where a search begins and what it looks for.
struct Search {
    base: PathBuf,
    /// The directory that `base` must not leave through a link: only this one was judged.
    judged: Option<PathBuf>,
    matcher: GlobMatcher,
    hidden: Option<Hidden>,
    cwd: PathBuf,
}

/// The directory that the literal start of a pattern leads to, and the rest of the pattern.
fn split<P>(input: &GlobInput, context: &CallContext<P>) -> Result<(PathBuf, String), ToolError> {
    if input.pattern.contains('\0') {
        return Err(ToolError::invalid("the pattern holds a NUL byte; give it without"));
    }
    let pattern = input.pattern.trim_start_matches("./");
    if pattern.is_empty() {
        return Err(ToolError::invalid("the pattern is empty; `**/*` finds all files"));
    }
    let base = paths::or_cwd(input.path.as_deref(), context)?;
    // `./*.rs` means this directory only.
    if !input.pattern.contains('/') {
        return Ok((base, format!("**/{pattern}")));
    }
    let is_literal = |part: &str| !part.contains(['*', '?', '[', '{', '\\']);
    let parts: Vec<&str> = pattern.split('/').collect();
    let literal = parts.iter().take_while(|part| is_literal(part)).count().min(parts.len() - 1);
    let (start, rest) = parts.split_at_checked(literal).unwrap_or_default();
    let start = if start == [""] { "/".to_owned() } else { start.join("/") };
    Ok((paths::absolute(&start, &base, &context.session.home), rest.join("/")))
}

impl Search {
    fn new<P>(
        input: &GlobInput,
        hidden: Option<Hidden>,
        context: &CallContext<P>,
    ) -> Result<Self, ToolError> {
        let (base, rest) = split(input, context)?;
        let matcher = GlobBuilder::new(&rest)
            .literal_separator(true)
            .build()
            .map_err(|error| {
                let message = format!("the pattern cannot be used: {}", error.kind());
                ToolError::new(code::PATTERN, message)
            })?
            .compile_matcher();
        let judged = if leads_away(&input.pattern) {
            None
        } else {
            Some(paths::or_cwd(input.path.as_deref(), context)?)
        };
        Ok(Self { base, judged, matcher, hidden, cwd: context.cwd.clone() })
    }

    fn run(&self, limits: &Limits) -> Result<GlobOutput, ToolError> {
        let found = match self.base.metadata() {
            Ok(found) => found,
            Err(error) => {
                let what = format!("`{}` cannot be searched", self.base.display());
                return Err(ToolError::io(&what, &error));
            }
        };
        let stays = |judged: &PathBuf| paths::real(&self.base).starts_with(paths::real(judged));
        if !self.judged.as_ref().is_none_or(stays) {
            let message = format!(
                "`{}` is reached through a symbolic link; give the directory as path",
                self.base.display()
            );
            return Err(ToolError::invalid(message));
        }
        if !found.is_dir() {
            let message = format!("`{}` is not a directory", self.base.display());
            return Err(ToolError::invalid(message));
        }
        let best = Mutex::new((Best::new(MAX_FILES, usize::MAX), 0));
        walk(&self.base, IgnoreFiles::Disregard, self.hidden.clone()).build_parallel().run(|| {
            Box::new(|entry| {
                if limits.is_over() {
                    return WalkState::Quit;
                }
                let Ok(entry) = entry else { return WalkState::Continue };
                let inside = entry.path().strip_prefix(&self.base).unwrap_or_else(|_| entry.path());
                if entry.file_type().is_some_and(|kind| kind.is_dir())
                    || !self.matcher.is_match(inside)
                {
                    return WalkState::Continue;
                }
                // Links are followed: a link to a file is a file.
                if let Ok(meta) = entry.path().metadata()
                    && meta.is_file()
                {
                    let modified = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                    let mut best = best.lock().unwrap_or_else(PoisonError::into_inner);
                    best.0.insert((Reverse(modified), entry.into_path()), (), 1, 0);
                    best.1 += 1;
                }
                WalkState::Continue
            })
        });
        let (best, num_files) = best.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = limits.error().filter(|_| num_files == 0 || !limits.timed_out()) {
            return Err(error);
        }
        let filenames: Vec<String> =
            best.into_sorted().map(|((_, path), ())| paths::shown(&path, &self.cwd)).collect();
        Ok(GlobOutput {
            truncated: filenames.len() < num_files,
            filenames,
            num_files,
            incomplete: limits.timed_out(),
        })
    }
}

impl std::fmt::Debug for GlobTool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("GlobTool").field("hidden", &self.hidden.is_some()).finish()
    }
}

impl Tool for GlobTool {
    type Input = GlobInput;
    type Output = GlobOutput;
    type Progress = ();

    fn name(&self) -> &'static str {
        "Glob"
    }

    fn description(&self) -> String {
        "Finds files by a glob pattern, newest first, at most 100. Files that .gitignore names are found too.".to_owned()
    }

    async fn call(
        &self,
        input: GlobInput,
        _approved: Option<Preview>,
        context: CallContext<()>,
    ) -> Result<ToolOutput<GlobOutput>, ToolError> {
        let search = Search::new(&input, self.hidden.clone(), &context)?;
        let limits = Arc::new(Limits::new(PATIENCE, context.cancellation.clone()));
        crate::search::blocking(&context.cancellation, move || search.run(&limits))
            .await
            .map(ToolOutput::new)
    }

    fn render(&self, output: &GlobOutput) -> ToolResultContent {
        if output.filenames.is_empty() {
            return "No files found".into();
        }
        let mut text = output.filenames.join("\n");
        if output.truncated {
            text.push_str(&format!(
                "\n(the newest {} of {} files; a narrower pattern or path shows others)",
                output.filenames.len(),
                output.num_files
            ));
        }
        if output.incomplete {
            text.push_str("\n(the search took too long and was ended; there may be more files)");
        }
        text.into()
    }

    async fn validate(&self, input: &GlobInput, context: &CallContext) -> Result<(), ToolError> {
        Search::new(input, None, context).map(drop)
    }

    /// Moves what a pattern says of its directory into `path`, so that this directory is what is judged.
    fn prepare(&self, input: &mut Value, context: &CallContext) {
        let Ok(given) = GlobInput::deserialize(&*input) else { return };
        if !leads_away(&given.pattern) {
            paths::prepare_field(input, "path", context);
            return;
        }
        if let Ok((base, rest)) = split(&given, context)
            && let (Some(base), Some(object)) = (base.to_str(), input.as_object_mut())
        {
            object.insert("path".to_owned(), Value::from(base));
            // A pattern without a slash would match in any directory.
            let rest = if rest.contains('/') { rest } else { format!("./{rest}") };
            object.insert("pattern".to_owned(), Value::from(rest));
        }
    }

    fn facts(&self, input: &Value, _context: &CallContext, place: Place<'_>) -> CallFacts {
        facts::from_call_or_strict(self.name(), input, place)
    }

    fn is_concurrency_safe(&self, _input: &GlobInput) -> bool {
        true
    }

    fn is_read_only(&self, _input: &GlobInput) -> bool {
        true
    }

    fn interrupt_behavior(&self) -> InterruptBehavior {
        InterruptBehavior::Cancel
    }

    fn classifier_input(&self, input: &GlobInput) -> String {
        match &input.path {
            Some(path) => format!("{} in {path}", input.pattern),
            None => input.pattern.clone(),
        }
    }

    fn timeout(&self, _input: &GlobInput) -> Option<Duration> {
        // The search ends by itself before; this is for a file system that does not answer.
        Some(PATIENCE + Duration::from_secs(10))
    }
}
