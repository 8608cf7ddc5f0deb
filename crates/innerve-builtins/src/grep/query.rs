//! What a search means: the pattern, the files it covers and the form of its answer.

use std::path::{Path, PathBuf};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::{Types, TypesBuilder};
use innerve_permission::facts;
use innerve_tool::{CallContext, ToolError};

use super::{GrepInput, OutputMode};
use crate::access::Hidden;
use crate::{code, paths};

/// Results on one page when the model says nothing of it.
const DEFAULT_PAGE: usize = 250;
/// A pattern that needs more memory than this is refused.
const MAX_PATTERN_MEMORY: usize = 10 << 20;
/// Memory for the states of a pattern that are made as they are needed, per thread.
const MAX_STATE_MEMORY: usize = 64 << 20;
/// Lines of context on each side.
const MAX_CONTEXT: usize = 1_000;

/// A search that is ready to run.
pub(super) struct Query {
    pub(super) matcher: RegexMatcher,
    pub(super) root: PathBuf,
    pub(super) cwd: PathBuf,
    pub(super) globs: Option<Override>,
    pub(super) types: Option<Types>,
    pub(super) hidden: Option<Hidden>,
    /// Whether the path or the glob names likely secrets, so that these were asked about.
    pub(super) names_secrets: bool,
    pub(super) mode: OutputMode,
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) line_numbers: bool,
    pub(super) only_matching: bool,
    pub(super) lines: Lines,
    pub(super) offset: usize,
    /// Results on the page; `None` is all of them.
    pub(super) limit: Option<usize>,
}

impl Query {
    pub(super) fn new<P>(
        input: &GrepInput,
        hidden: Option<Hidden>,
        context: &CallContext<P>,
    ) -> Result<Self, ToolError> {
        let root = paths::or_cwd(input.path.as_deref(), context)?;
        let around = input.context.or(input.around);
        let lines = |own: Option<usize>| around.or(own).unwrap_or(0).min(MAX_CONTEXT);
        let only_matching = input.only_matching.unwrap_or(false);
        let shows_context = input.output_mode == OutputMode::Content && !only_matching;
        let names_secrets = facts::is_secret_path(&root.to_string_lossy())
            || facts::secrets_among(input.glob.as_deref().unwrap_or_default()).next().is_some();
        Ok(Self {
            matcher: matcher(input)?,
            globs: globs(input, &root)?,
            types: types(input)?,
            root,
            cwd: context.cwd.clone(),
            hidden,
            names_secrets,
            mode: input.output_mode,
            before: if shows_context { lines(input.before) } else { 0 },
            after: if shows_context { lines(input.after) } else { 0 },
            line_numbers: input.line_numbers.unwrap_or(true),
            only_matching,
            lines: Lines::of(input),
            offset: input.offset.unwrap_or(0),
            limit: Some(input.head_limit.unwrap_or(DEFAULT_PAGE)).filter(|limit| *limit > 0),
        })
    }
}

fn refused(message: String) -> ToolError {
    ToolError::new(code::PATTERN, message)
}

fn matcher(input: &GrepInput) -> Result<RegexMatcher, ToolError> {
    let lines = Lines::of(input);
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(input.ignore_case.unwrap_or(false))
        .multi_line(true)
        .dot_matches_new_line(lines == Lines::Spanned)
        .size_limit(MAX_PATTERN_MEMORY)
        .dfa_size_limit(MAX_STATE_MEMORY);
    match lines {
        Lines::Lf => drop(builder.line_terminator(Some(b'\n'))),
        Lines::CrLf => drop(builder.crlf(true)),
        Lines::Spanned => {}
    }
    builder.build(&input.pattern).map_err(|error| {
        let mut message = format!("the pattern cannot be used: {error}");
        if lines != Lines::Spanned && input.pattern.contains("\\n") {
            message.push_str("; set multiline to match across lines");
        } else {
            message.push_str("; escape characters that are meant as they are, as in `\\(`");
        }
        refused(message)
    })
}

/// What a line is to a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lines {
    /// Text that ends in a line feed; a match lies within it.
    Lf,
    /// As `Lf`, but an end of line in the pattern also matches before CRLF; slower.
    CrLf,
    /// Nothing: a match may span several.
    Spanned,
}

impl Lines {
    fn of(input: &GrepInput) -> Self {
        if input.multiline.unwrap_or(false) {
            Self::Spanned
        } else if input.pattern.contains('$') {
            Self::CrLf
        } else {
            Self::Lf
        }
    }
}

fn types(input: &GrepInput) -> Result<Option<Types>, ToolError> {
    let Some(name) = input.file_type.as_deref().filter(|name| !name.is_empty()) else {
        return Ok(None);
    };
    let types = TypesBuilder::new().add_defaults().select(name).build();
    types.map(Some).map_err(|error| {
        refused(format!("{error}: use one of ripgrep's file types (rust, py, js, …) or a glob such as `*.{name}`"))
    })
}

fn globs(input: &GrepInput, root: &Path) -> Result<Option<Override>, ToolError> {
    let Some(glob) = input.glob.as_deref() else {
        return Ok(None);
    };
    let globs = split(glob);
    if globs.is_empty() {
        return Ok(None);
    }
    let base = if root.is_dir() { root } else { root.parent().unwrap_or(root) };
    let mut builder = OverrideBuilder::new(base);
    for glob in globs {
        builder
            .add(glob.trim_start_matches("./"))
            .map_err(|error| refused(format!("the glob cannot be used: {error}")))?;
    }
    builder.build().map(Some).map_err(|error| refused(format!("the glob cannot be used: {error}")))
}

/// Several globs in one text: parted by blanks and commas outside braces.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    text.split(|character: char| {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (character == ',' || character.is_whitespace())
    })
    .filter(|glob| !glob.is_empty())
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_parted_outside_braces() {
        assert_eq!(split("*.ts *.{js,jsx},!x"), ["*.ts", "*.{js,jsx}", "!x"]);
        assert_eq!(split(" , "), [""; 0]);
    }
}
