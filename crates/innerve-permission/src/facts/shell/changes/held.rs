//! What already lies in directories that are changed or removed as a whole.

use std::path::{Path, PathBuf};

use super::super::analyzed::Site;
use crate::facts::{MayChange, PathTarget, Target};
use crate::rule::path::may_be_same;
use crate::{Entry, PathStyle};

/// So many entries are looked at for one command. Of more nothing is told, and then only rules that name a place count.
const MAX_ENTRIES: usize = 2_000;

/// The files and directories in what the command removes or changes as a whole.
pub(super) fn of(targets: &[Target], changes: &[MayChange], site: Site<'_>) -> Vec<MayChange> {
    if site.place.disk.style() == PathStyle::Windows {
        return Vec::new();
    }
    let removed = targets.iter().filter_map(|target| match target {
        Target::Delete(path) => Some(path),
        Target::Read(_) | Target::Write(_) | Target::Host(_) | Target::Agent(_) => None,
    });
    let changed = changes.iter().filter_map(|change| match change {
        MayChange::Beneath(path) => Some(path),
        MayChange::File(_) | MayChange::Within(_) | MayChange::Held(_) => None,
    });
    let mut listing = Listing { site, left: MAX_ENTRIES, found: Vec::new() };
    let told = removed.chain(changed).try_for_each(|path| listing.add(path));
    match told {
        Some(()) => listing.found.into_iter().map(held).collect(),
        None => Vec::new(),
    }
}

fn held(path: PathBuf) -> MayChange {
    let given = path.to_string_lossy().into_owned();
    MayChange::Held(PathTarget { given, path: Some(path.clone()), real: Some(path) })
}

struct Listing<'a> {
    site: Site<'a>,
    /// How many entries may still be looked at.
    left: usize,
    found: Vec<PathBuf>,
}

impl Listing<'_> {
    /// Adds what lies in the directory, or in those that a pattern names; `None` if that cannot be told.
    fn add(&mut self, target: &PathTarget) -> Option<()> {
        if let Some(real) = &target.real {
            return self.walk(real.clone());
        }
        let (parent, pattern) = target.given.trim_end_matches('/').rsplit_once('/')?;
        let is_plain = parent.starts_with('/') && !parent.contains(['*', '?', '[', '$', '{', '\\']);
        if !is_plain || pattern.contains(['$', '`', '{', '\\']) {
            return None;
        }
        for entry in self.list(Path::new(parent))? {
            let name = entry.name.to_string_lossy();
            if may_be_same(&name, true, pattern) {
                let path = Path::new(parent).join(&entry.name);
                self.found.push(path.clone());
                if entry.is_directory {
                    self.walk(path)?;
                }
            }
        }
        Some(())
    }

    fn walk(&mut self, directory: PathBuf) -> Option<()> {
        let mut pending = vec![directory];
        while let Some(directory) = pending.pop() {
            for entry in self.list(&directory)? {
                let path = directory.join(&entry.name);
                if entry.is_directory {
                    pending.push(path.clone());
                }
                self.found.push(path);
            }
        }
        Some(())
    }

    fn list(&mut self, directory: &Path) -> Option<Vec<Entry>> {
        let entries = self.site.place.disk.entries(directory, self.left)?;
        self.left = self.left.saturating_sub(entries.len() + 1);
        Some(entries)
    }
}
