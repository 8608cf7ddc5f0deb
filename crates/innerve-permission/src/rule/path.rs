//! Path patterns: gitignore-like, with an anchor that the first characters choose.

use std::path::{Path, PathBuf};

use globset::{Glob, GlobBuilder};

use super::pattern::intersects;
use crate::paths::{lexical, windows};
use crate::{Behavior, Place};

/// Where a path pattern starts. It never matches outside.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Anchor {
    /// `//p`: the root of the file system.
    Root,
    /// `~/p`: the user's home.
    Home,
    /// `/p`: the directory of the settings that hold the rule.
    Settings(PathBuf),
    /// `p` and `./p`: the current directory.
    Cwd,
}

/// A path pattern relative to its anchor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathPattern {
    pub(crate) anchor: Anchor,
    /// Matches the named file or directory itself; `None` when that is the anchor.
    pub(crate) itself: Option<Glob>,
    /// Matches all beneath it.
    pub(crate) beneath: Glob,
    /// Whether it was written `dir/**`, so that an allow speaks of what is beneath only.
    pub(crate) open: bool,
    /// The pattern text relative to the anchor.
    text: String,
    /// Whether the text may match at any depth.
    any_depth: bool,
}

/// File systems that fold case get rules that fold case too: a deny must not be escaped by spelling. Windows is seen to by
/// [`PathPattern::on_windows`].
const FOLDS_CASE: bool = cfg!(target_os = "macos");

impl PathPattern {
    /// Compiles the specifier of a path rule; the error says what is wrong with it and what to write instead.
    pub(crate) fn new(spec: &str, behavior: Behavior, root: &Path) -> Result<Self, String> {
        // These two beginnings are only ever written on Windows.
        let is_of_windows = windows::drive_prefix(spec).is_some() || spec.starts_with("~\\");
        let converted = is_of_windows.then(|| windows::pattern(spec));
        let spec = converted.as_deref().unwrap_or(spec);
        if spec.starts_with('!') {
            return Err(
                "starts with `!`; exceptions are not supported, write the paths that are meant"
                    .to_owned(),
            );
        }
        if let Some(group) =
            ["!(", "@(", "+(", "?(", "*("].iter().find(|group| spec.contains(**group))
        {
            return Err(format!(
                "uses the extended glob `{group}…)`, which is not supported; write one rule for each case"
            ));
        }
        let (anchor, rest, anchored) = if let Some(rest) = spec.strip_prefix("//") {
            (Anchor::Root, rest, true)
        } else if let Some(rest) = spec.strip_prefix('/') {
            (Anchor::Settings(root.to_path_buf()), rest, true)
        } else if let Some(rest) = spec.strip_prefix("~/") {
            (Anchor::Home, rest, true)
        } else if spec == "~" {
            (Anchor::Home, "", true)
        } else if spec.starts_with('~') {
            return Err("names another user's home; write the absolute path with `//`".to_owned());
        } else if let Some(rest) = spec.strip_prefix("./") {
            (Anchor::Cwd, rest, true)
        } else {
            (Anchor::Cwd, spec, false)
        };
        let text = tidy(rest)?;
        // `dir/` means the directory with all beneath it.
        let text = text.strip_suffix('/').map_or(text.clone(), |dir| format!("{dir}/**"));
        let directory = text.strip_suffix("/**");
        let any_depth = !anchored
            && match directory {
                // A lone `dir/**` is anchored for an allow, and found at any depth by a deny or an ask.
                Some(dir) => !dir.contains('/') && behavior != Behavior::Allow,
                None => !text.contains('/'),
            };
        Self::compile(anchor, text, any_depth, behavior)
    }

    /// The pattern as Windows compares it: backslashes separate, and case does not count.
    pub(crate) fn on_windows(&self, behavior: Behavior) -> Self {
        let text = windows::pattern(&self.text).to_lowercase();
        let any_depth = self.any_depth && {
            let directory = text.strip_suffix("/**");
            !directory.unwrap_or(&text).contains('/')
        };
        let mut folded = Self::compile(self.anchor.clone(), text, any_depth, behavior)
            .unwrap_or_else(|_| self.clone());
        folded.itself = folded.itself.map(|glob| without_case(&glob));
        folded.beneath = without_case(&folded.beneath);
        folded
    }

    /// The pattern for the place that the literal beginning of this one leads to, if links lead elsewhere.
    pub(crate) fn through_links(&self, behavior: Behavior, place: Place<'_>) -> Option<Self> {
        let anchor = match &self.anchor {
            Anchor::Root => Path::new("/"),
            Anchor::Home => place.home,
            Anchor::Settings(root) => root,
            Anchor::Cwd => place.cwd,
        };
        let (named, rest) = self.literal_beginning(anchor);
        let real = place.disk.resolve(&named).real?;
        if real == named {
            return None;
        }
        let mut text = escape_glob(&lexical::relative(&real, Path::new("/"))?);
        for segment in rest {
            text.push('/');
            text.push_str(segment);
        }
        Self::compile(Anchor::Root, text, false, behavior).ok()
    }

    /// Whether the pattern speaks of a place in `directory` that it names, when it starts in `anchor`.
    pub(crate) fn lies_beneath(&self, directory: &Path, anchor: &Path) -> bool {
        let (named, _) = self.literal_beginning(anchor);
        !self.any_depth && named != anchor && named.starts_with(directory)
    }

    /// As [`Self::lies_beneath`] for the directories that an absolute glob names.
    pub(crate) fn lies_beneath_glob(&self, given: &str, anchor: &Path) -> bool {
        let (named, _) = self.literal_beginning(anchor);
        let path = named.to_string_lossy();
        let ours: Vec<&str> = path.split('/').filter(|it| !it.is_empty()).collect();
        let theirs: Vec<&str> =
            given.split('/').filter(|it| !it.is_empty() && *it != ".").collect();
        !self.any_depth
            && named != anchor
            && theirs.len() <= ours.len()
            && ours.iter().zip(theirs).all(|(ours, theirs)| may_be_same(ours, true, theirs))
    }

    /// The place that the pattern names when it starts in `anchor`, with all beneath it; `None` if it may match more places
    /// than one.
    pub(crate) fn place(&self, anchor: &Path) -> Option<PathBuf> {
        if self.itself.is_none() {
            return Some(anchor.to_path_buf());
        }
        let (named, rest) = self.literal_beginning(anchor);
        (!self.any_depth && rest.iter().all(|segment| *segment == "**")).then_some(named)
    }

    /// The directory beneath which all matches lie when the pattern starts in `anchor`.
    pub(crate) fn start(&self, anchor: &Path) -> PathBuf {
        if self.any_depth { anchor.to_path_buf() } else { self.literal_beginning(anchor).0 }
    }

    /// The path up to the first segment with a special character, and the segments from there on.
    fn literal_beginning(&self, anchor: &Path) -> (PathBuf, Vec<&str>) {
        let mut named = anchor.to_path_buf();
        let mut segments = self.text.split('/').filter(|segment| !segment.is_empty());
        let mut rest = Vec::new();
        for segment in segments.by_ref() {
            let Some(name) = literal(segment) else {
                rest.push(segment);
                break;
            };
            named.push(name);
        }
        rest.extend(segments);
        (named, rest)
    }

    /// Whether a file somewhere in `directory` may match, when the pattern starts in `anchor`. With `visible`, names that
    /// begin with a dot do not count.
    pub(crate) fn may_lie_in(&self, directory: &Path, anchor: &Path, visible: bool) -> bool {
        let directory = directory.to_string_lossy();
        let names: Vec<&str> = directory.split('/').filter(|name| !name.is_empty()).collect();
        let anchor = anchor.to_string_lossy();
        let ours: Vec<(&str, bool)> = self.segments(&anchor).collect();
        let mut columns = vec![0];
        for (position, (segment, literal)) in ours.iter().enumerate() {
            let rest = ours.get(position..).unwrap_or_default();
            if columns.contains(&names.len())
                && !(visible && rest.iter().any(|(segment, _)| segment.starts_with('.')))
            {
                return true;
            }
            let Some(first) = columns.iter().min().copied() else { return false };
            columns = if !literal && *segment == "**" {
                (first..=names.len()).collect()
            } else {
                let same = |name: &&str| may_be_same(segment, *literal, name);
                columns
                    .iter()
                    .filter(|column| names.get(**column).is_some_and(&same))
                    .map(|column| column + 1)
                    .collect()
            };
        }
        !columns.is_empty()
    }

    /// The segments of the whole pattern when it starts in `anchor`, and whether each is literal.
    fn segments<'a>(&'a self, anchor: &'a str) -> impl Iterator<Item = (&'a str, bool)> {
        let anchored = anchor.split('/').map(|segment| (segment, true));
        let deep = self.any_depth.then_some(("**", false));
        let own = self.text.split('/').map(|segment| (segment, false));
        anchored.chain(deep).chain(own).filter(|(segment, _)| !segment.is_empty())
    }

    /// Whether a file named by the absolute glob `given` may match, when the pattern starts in `directory`.
    pub(crate) fn may_touch(&self, given: &str, directory: &Path) -> bool {
        let directory = directory.to_string_lossy();
        let ours = self.segments(&directory);
        let theirs: Vec<&str> =
            given.split('/').filter(|it| !it.is_empty() && *it != ".").collect();
        // Which beginnings of the glob the pattern so far may stand for.
        let mut reach = vec![false; theirs.len() + 1];
        if let Some(start) = reach.first_mut() {
            *start = true;
        }
        for (segment, literal) in ours {
            let mut next = vec![false; theirs.len() + 1];
            let mut open = false;
            for (column, reached) in reach.iter().enumerate() {
                open |= *reached;
                if !literal && segment == "**" {
                    if let Some(cell) = next.get_mut(column) {
                        *cell = open;
                    }
                } else if *reached
                    && theirs
                        .get(column)
                        .is_some_and(|theirs| may_be_same(segment, literal, theirs))
                    && let Some(cell) = next.get_mut(column + 1)
                {
                    *cell = true;
                }
            }
            reach = next;
        }
        // What is left of the glob lies beneath.
        reach.contains(&true)
    }

    fn compile(
        anchor: Anchor,
        text: String,
        any_depth: bool,
        behavior: Behavior,
    ) -> Result<Self, String> {
        let fold = FOLDS_CASE && behavior != Behavior::Allow;
        let (base, open) = match text.as_str() {
            "" => ("", false),
            "**" => ("", true),
            other => match other.strip_suffix("/**") {
                Some(dir) => (dir, true),
                None => (other, false),
            },
        };
        let deep = if any_depth && !base.starts_with("**/") { "**/" } else { "" };
        let itself = if base.is_empty() || base == "**" {
            None
        } else {
            Some(glob(&format!("{deep}{base}"), fold)?)
        };
        let beneath = if base.is_empty() {
            glob("**", fold)?
        } else {
            glob(&format!("{deep}{base}/**"), fold)?
        };
        Ok(Self { anchor, itself, beneath, open, text, any_depth })
    }
}

/// Escapes what is special in a path pattern.
pub(crate) fn escape_glob(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '!') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// The name that a segment of a pattern stands for; `None` if it may stand for several.
fn literal(segment: &str) -> Option<String> {
    let mut name = String::with_capacity(segment.len());
    let mut characters = segment.chars();
    while let Some(character) = characters.next() {
        match character {
            '*' | '?' | '[' | '{' => return None,
            '\\' => name.push(characters.next()?),
            other => name.push(other),
        }
    }
    Some(name)
}

/// Whether a segment of a pattern and one of a shell's glob may stand for the same name.
///
/// A glob does not name what begins with a dot, unless it begins with one.
pub(crate) fn may_be_same(ours: &str, literal: bool, theirs: &str) -> bool {
    if ours.starts_with('.') && theirs.starts_with(['*', '?', '[']) {
        return false;
    }
    let ours = if literal { ours.chars().map(Some).collect() } else { with_holes(ours) };
    intersects(&ours, &with_holes(theirs))
}

/// The characters of a glob, with `None` for whatever is special.
fn with_holes(glob: &str) -> Vec<Option<char>> {
    let mut characters = glob.chars();
    let mut holes = Vec::new();
    while let Some(character) = characters.next() {
        match character {
            '*' | '?' => holes.push(None),
            '[' | '{' => {
                let close = if character == '[' { ']' } else { '}' };
                characters.by_ref().find(|next| *next == close);
                holes.push(None);
            }
            '\\' => holes.extend(characters.next().map(Some)),
            other => holes.push(Some(other)),
        }
    }
    holes
}

/// The glob without regard to case.
fn without_case(exact: &Glob) -> Glob {
    glob(exact.glob(), true).unwrap_or_else(|_| exact.clone())
}

/// Removes `.` segments and doubled slashes; refuses `..`, which could leave the anchor.
fn tidy(text: &str) -> Result<String, String> {
    let mut kept = Vec::new();
    for segment in text.split('/') {
        match segment {
            "." | "" => {}
            ".." => {
                return Err(
                    "contains `..`; write the path that is meant, absolute with `//`".to_owned()
                );
            }
            other => kept.push(other),
        }
    }
    let mut tidied = kept.join("/");
    if text.ends_with('/') && !tidied.is_empty() {
        tidied.push('/');
    }
    Ok(tidied)
}

fn glob(text: &str, fold: bool) -> Result<Glob, String> {
    GlobBuilder::new(text)
        .literal_separator(true)
        .backslash_escape(true)
        .case_insensitive(fold)
        .build()
        .map_err(|error| {
            format!("is no glob: {}; escape special characters with `\\`", error.kind())
        })
}
