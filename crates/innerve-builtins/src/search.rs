//! What Grep and Glob share: the walk over a directory, its end, and the page of results that is kept.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use ignore::{DirEntry, WalkBuilder};
use innerve_tool::{CancellationToken, ToolError, code};

use crate::access::Hidden;

/// How long a search may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// More threads find nothing sooner.
const MAX_THREADS: usize = 12;
/// What version control keeps for itself is never searched.
const VERSION_CONTROL: &[&str] = &[".git", ".svn", ".hg", ".bzr", ".jj", ".sl"];

/// Ends a search that takes too long or is not wanted any more.
#[derive(Debug)]
pub(crate) struct Limits {
    deadline: Instant,
    cancellation: CancellationToken,
    state: AtomicU8,
}

const RUNNING: u8 = 0;
const TIMED_OUT: u8 = 1;
const CANCELLED: u8 = 2;

impl Limits {
    pub(crate) fn new(patience: Duration, cancellation: CancellationToken) -> Self {
        Self { deadline: Instant::now() + patience, cancellation, state: AtomicU8::new(RUNNING) }
    }

    /// Whether the search must end now.
    pub(crate) fn is_over(&self) -> bool {
        if self.state.load(Ordering::Relaxed) != RUNNING {
            return true;
        }
        let state = if self.cancellation.is_cancelled() {
            CANCELLED
        } else if Instant::now() >= self.deadline {
            TIMED_OUT
        } else {
            return false;
        };
        self.state.store(state, Ordering::Relaxed);
        true
    }

    pub(crate) fn timed_out(&self) -> bool {
        self.state.load(Ordering::Relaxed) == TIMED_OUT
    }

    /// The error of a search that was ended before it found anything.
    pub(crate) fn error(&self) -> Option<ToolError> {
        match self.state.load(Ordering::Relaxed) {
            CANCELLED => Some(ToolError::interrupted()),
            TIMED_OUT => Some(ToolError::new(
                code::TIMED_OUT,
                format!(
                    "nothing was found in {} seconds, and the search was ended; search in a smaller directory",
                    PATIENCE.as_secs()
                ),
            )),
            _ => None,
        }
    }
}

/// Runs a search on a thread where it may block; does not wait for it once it is cancelled.
pub(crate) async fn blocking<T: Send + 'static>(
    cancellation: &CancellationToken,
    search: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    match cancellation.run_until_cancelled(tokio::task::spawn_blocking(search)).await {
        Some(Ok(result)) => result,
        Some(Err(_)) => Err(ToolError::new(code::FAILED, "the search broke off")),
        None => Err(ToolError::interrupted()),
    }
}

/// Whether the rules of ignore files count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IgnoreFiles {
    Obey,
    Disregard,
}

/// A walk over everything below `root` but version control's own directories and what is hidden by a rule.
pub(crate) fn walk(root: &Path, ignore_files: IgnoreFiles, hidden: Option<Hidden>) -> WalkBuilder {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut builder = WalkBuilder::new(root);
    builder
        .standard_filters(ignore_files == IgnoreFiles::Obey)
        .hidden(false)
        .threads(threads.min(MAX_THREADS))
        .filter_entry(move |entry| {
            !is_version_control(entry)
                && !hidden.as_ref().is_some_and(|hidden| hidden(entry.path()))
        });
    builder
}

fn is_version_control(entry: &DirEntry) -> bool {
    entry.depth() > 0 && VERSION_CONTROL.iter().any(|name| entry.file_name() == *name)
}

/// Keeps the results that come first, whatever order they are found in, within bounds.
#[derive(Debug)]
pub(crate) struct Best<K, V> {
    kept: BTreeMap<K, (V, usize, usize)>,
    units: usize,
    bytes: usize,
    max_units: usize,
    max_bytes: usize,
}

impl<K: Ord, V> Best<K, V> {
    pub(crate) fn new(max_units: usize, max_bytes: usize) -> Self {
        Self { kept: BTreeMap::new(), units: 0, bytes: 0, max_units, max_bytes }
    }

    /// Whether a result with this key would be kept.
    pub(crate) fn has_room_for(&self, key: &K) -> bool {
        let is_full = self.units >= self.max_units || self.bytes >= self.max_bytes;
        !is_full || self.kept.last_key_value().is_none_or(|(last, _)| key < last)
    }

    /// Takes a result of so many units; drops those that come last and are beyond the bounds.
    pub(crate) fn insert(&mut self, key: K, value: V, units: usize, bytes: usize) {
        self.units += units;
        self.bytes += bytes;
        self.kept.insert(key, (value, units, bytes));
        while let Some(last) = self.kept.last_entry() {
            let (_, units, bytes) = last.get();
            let enough =
                self.units - units >= self.max_units || self.bytes - bytes >= self.max_bytes;
            if !enough {
                break;
            }
            self.units -= units;
            self.bytes -= bytes;
            last.remove();
        }
    }

    /// The results in order.
    pub(crate) fn into_sorted(self) -> impl Iterator<Item = (K, V)> {
        self.kept.into_iter().map(|(key, (value, ..))| (key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_ends_with_its_time_or_its_call() {
        let cancellation = CancellationToken::new();
        let limits = Limits::new(PATIENCE, cancellation.clone());
        assert!(!limits.is_over() && limits.error().is_none());
        cancellation.cancel();
        assert!(limits.is_over() && !limits.timed_out());
        assert_eq!(limits.error().map(|error| error.code()), Some(code::INTERRUPTED));
        let limits = Limits::new(Duration::ZERO, CancellationToken::new());
        assert!(limits.is_over() && limits.timed_out());
        assert_eq!(limits.error().map(|error| error.code()), Some(code::TIMED_OUT));
    }

    #[test]
    fn the_first_results_are_kept_in_any_order() {
        for keys in [[1, 2, 3, 4, 5], [5, 4, 3, 2, 1], [3, 5, 1, 4, 2]] {
            let mut best = Best::new(4, 1_000);
            for key in keys {
                if best.has_room_for(&key) {
                    best.insert(key, (), 2, 10);
                }
            }
            assert_eq!(best.into_sorted().map(|(key, ())| key).collect::<Vec<_>>(), [1, 2]);
        }
        let mut best = Best::new(usize::MAX, 25);
        for key in 0..10 {
            best.insert(key, (), 1, 10);
        }
        assert_eq!(best.into_sorted().count(), 3);
    }
}
