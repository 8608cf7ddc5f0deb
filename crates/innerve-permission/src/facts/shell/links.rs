//! Where globs and searches lead through symbolic links: a rule about a file must not be escaped by a link that a pattern
//! names without naming the file.

use std::path::{Path, PathBuf};

use crate::facts::{PathTarget, Place};
use crate::paths::windows;
use crate::rule::path::may_be_same;
use crate::{Entry, PathStyle};

/// So many entries of directories are looked at for one pattern; what more there is counts as unknown.
const MAX_ENTRIES: usize = 2_000;

/// Stands for every file below a directory, links followed.
const ANY_DEPTH: &str = "**";

/// What a link leads to.
pub(super) struct Beyond {
    pub(super) target: PathTarget,
    /// Whether the link is the very file that the pattern names, so that removing it leaves what it leads to.
    pub(super) is_link: bool,
}

/// What the absolute glob `given` reaches through links, besides what it says itself; empty for other texts.
pub(super) fn behind(given: &str, place: Place<'_>) -> Vec<Beyond> {
    let is_plain = given.starts_with('/') && !given.contains(['$', '`', '…', '(', '{', '\\']);
    if !is_plain {
        // Whatever these stand for, nothing is known of it, which is stricter.
        return Vec::new();
    }
    let mut segments = given.split('/').filter(|it| !it.is_empty() && *it != ".").peekable();
    let mut named = PathBuf::from("/");
    while let Some(segment) = segments.next_if(|segment| !is_glob(segment)) {
        named.push(segment);
    }
    reach(&named, &segments.collect::<Vec<_>>(), place)
}

/// What a search of the directory reaches through the links in it.
pub(super) fn beneath(directory: &Path, place: Place<'_>) -> Vec<Beyond> {
    reach(directory, &[ANY_DEPTH], place)
}

fn reach(directory: &Path, segments: &[&str], place: Place<'_>) -> Vec<Beyond> {
    let mut walk = Walk { place, left: MAX_ENTRIES, found: Vec::new() };
    let mut pending = vec![Step { directory: directory.to_path_buf(), segments, plain: false }];
    let mut told = true;
    while !segments.is_empty()
        && let Some(step) = pending.pop()
    {
        told &= walk.go(step, &mut pending).is_some();
    }
    if !told {
        walk.found.push(Beyond::unknown("…".to_owned()));
    }
    walk.found
}

impl Beyond {
    fn unknown(given: String) -> Self {
        Self { target: PathTarget::unknown(given), is_link: false }
    }
}

/// The path with the place that it leads to.
fn target(path: &Path, place: Place<'_>) -> PathTarget {
    let given = path.to_string_lossy().into_owned();
    match place.disk.style() {
        // A name that is no text must be looked up as it is.
        PathStyle::Posix => {
            let real = place.disk.resolve(path).real;
            PathTarget { given, path: Some(path.to_path_buf()), real }
        }
        PathStyle::Windows => PathTarget::within(&given, None, place),
    }
}

fn is_glob(segment: &str) -> bool {
    segment.contains(['*', '?', '['])
}

/// A directory from which some segments of a pattern are still to go.
struct Step<'s> {
    directory: PathBuf,
    segments: &'s [&'s str],
    /// Whether it is known not to be reached through a link.
    plain: bool,
}

struct Walk<'a> {
    place: Place<'a>,
    /// How many entries may still be looked at.
    left: usize,
    found: Vec<Beyond>,
}

impl Walk<'_> {
    /// Goes one segment further; `None` when it cannot be told where that leads.
    fn go<'s>(&mut self, step: Step<'s>, pending: &mut Vec<Step<'s>>) -> Option<()> {
        let Step { directory, segments, plain } = step;
        let Some((segment, rest)) = segments.split_first() else {
            self.add(&directory, false);
            return Some(());
        };
        if *segment == ".." {
            return None;
        }
        if !is_glob(segment) {
            let directory = directory.join(segment);
            pending.push(Step { directory, segments: rest, plain: false });
            return Some(());
        }
        let directory = if plain { directory } else { self.enter(&directory, segments)? };
        let deep = *segment == ANY_DEPTH;
        if deep && !rest.is_empty() {
            let directory = directory.clone();
            pending.push(Step { directory, segments: rest, plain: true });
        }
        for entry in self.list(&directory)? {
            let name = entry.name.to_string_lossy();
            if !deep && !may_be_same(&name, true, segment) {
                continue;
            }
            let path = directory.join(&entry.name);
            if entry.is_link && (deep || rest.is_empty()) {
                self.add(&path, !deep);
            }
            if deep && entry.is_directory {
                pending.push(Step { directory: path, segments, plain: true });
            } else if !deep && !rest.is_empty() && (entry.is_directory || entry.is_link) {
                let plain = entry.is_directory;
                pending.push(Step { directory: path, segments: rest, plain });
            }
        }
        Some(())
    }

    /// Where the directory really is; what the segments name there is reached too.
    fn enter(&mut self, directory: &Path, segments: &[&str]) -> Option<PathBuf> {
        let real = target(directory, self.place).real?;
        if real != directory {
            let given = format!("{}/{}", real.display(), segments.join("/"));
            self.found.push(Beyond::unknown(given));
        }
        Some(real)
    }

    fn list(&mut self, directory: &Path) -> Option<Vec<Entry>> {
        let disk = self.place.disk;
        let entries = match disk.style() {
            PathStyle::Posix => disk.entries(directory, self.left),
            PathStyle::Windows => disk.entries(&windows::native(directory), self.left),
        }?;
        self.left = self.left.saturating_sub(entries.len() + 1);
        Some(entries)
    }

    /// Adds the path if it leads elsewhere.
    fn add(&mut self, path: &Path, is_link: bool) {
        let target = target(path, self.place);
        if target.real != target.path {
            self.found.push(Beyond { target, is_link });
        }
    }
}
