//! Watching: whether any file that settings come from has changed since it was last looked at.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use innerve_permission::RuleSource;

use crate::{Flags, Locations};

/// Looks at the files that settings come from, links followed; whoever wants to know asks.
///
/// It costs one look at each file and keeps nothing open. Made *before* the settings are loaded it misses no change.
#[derive(Clone, Debug)]
pub struct Watcher {
    locations: Locations,
    /// The file of `--settings`.
    named: Option<PathBuf>,
    seen: Vec<(PathBuf, Stamp)>,
}

/// A file as it was; the same file changed has another one.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stamp {
    Absent,
    Unreadable,
    There(Vec<u64>),
}

impl Watcher {
    /// Looks at the files now.
    pub fn new(locations: &Locations, flags: &Flags) -> Self {
        let named = flags
            .settings
            .as_deref()
            .filter(|settings| !settings.trim_start().starts_with('{'))
            .map(|settings| locations.cwd.join(settings));
        let mut watcher = Self { locations: locations.clone(), named, seen: Vec::new() };
        watcher.seen = watcher.look();
        watcher
    }

    /// Whether a file has come, gone or changed since the last time this was asked.
    pub fn changed(&mut self) -> bool {
        !self.changes().is_empty()
    }

    /// The files that have come, gone or changed since the last time this was asked, with the scope of each.
    pub fn changes(&mut self) -> Vec<(RuleSource, PathBuf)> {
        let now = self.look();
        let before = std::mem::replace(&mut self.seen, now);
        let is_new = |entry: &&(PathBuf, Stamp)| !before.contains(entry);
        // Folders hold other files from time to time; those that are gone have changed as well.
        let gone =
            before.iter().filter(|(file, _)| !self.seen.iter().any(|(seen, _)| seen == file));
        let changed = self.seen.iter().filter(is_new).chain(gone);
        changed.map(|(file, _)| (self.source(file), file.clone())).collect()
    }

    /// The scope that a file belongs to.
    fn source(&self, file: &Path) -> RuleSource {
        if self.named.as_deref() == Some(file) {
            RuleSource::Cli
        } else if file.starts_with(&self.locations.managed) {
            RuleSource::Policy
        } else if file.ends_with("settings.local.json") {
            RuleSource::Local
        } else if file.starts_with(self.locations.config_dir())
            || file.parent() == Some(&self.locations.home.join(".claude"))
        {
            RuleSource::User
        } else {
            RuleSource::Project
        }
    }

    fn look(&self) -> Vec<(PathBuf, Stamp)> {
        let files = self.locations.files().into_iter().chain(self.named.clone());
        files
            .map(|file| {
                let stamp = match fs::metadata(&file) {
                    Ok(metadata) => Stamp::There(marks(&metadata)),
                    Err(error) if crate::load::is_absent(&error) => Stamp::Absent,
                    Err(_) => Stamp::Unreadable,
                };
                (file, stamp)
            })
            .collect()
    }
}

/// What tells one content of a file from another without reading it; a file that is replaced has another number.
#[cfg(unix)]
fn marks(metadata: &Metadata) -> Vec<u64> {
    use std::os::unix::fs::MetadataExt as _;
    let times = [metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()];
    let times = times.map(i64::cast_unsigned);
    [metadata.dev(), metadata.ino(), metadata.size()].into_iter().chain(times).collect()
}

/// What tells one content of a file from another without reading it.
#[cfg(not(unix))]
fn marks(metadata: &Metadata) -> Vec<u64> {
    let modified = metadata.modified().ok();
    let since = modified.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let since = since.unwrap_or_default();
    vec![metadata.len(), since.as_secs(), u64::from(since.subsec_nanos())]
}
