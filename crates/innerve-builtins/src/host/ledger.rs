//! What an agent has read, in memory.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use innerve_tool::port::{FileLedger, ReadRecord};
use lru::LruCache;

/// How many files are remembered; the one used longest ago is forgotten first.
const MAX_FILES: NonZeroUsize = NonZeroUsize::MIN.saturating_add(99);

/// Remembers the last hundred files that an agent has read or written. It holds hashes, not contents.
pub struct MemoryLedger(Mutex<LruCache<PathBuf, ReadRecord>>);

impl MemoryLedger {
    /// Nothing is known yet.
    pub fn new() -> Self {
        Self(Mutex::new(LruCache::new(MAX_FILES)))
    }

    fn records(&self) -> MutexGuard<'_, LruCache<PathBuf, ReadRecord>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryLedger {
    fn default() -> Self {
        Self::new()
    }
}

impl FileLedger for MemoryLedger {
    fn get(&self, path: &Path) -> Option<ReadRecord> {
        self.records().get(path).cloned()
    }

    fn record(&self, path: &Path, record: ReadRecord) {
        self.records().put(path.to_path_buf(), record);
    }

    fn forget(&self, path: &Path) {
        self.records().pop(path);
    }
}

impl fmt::Debug for MemoryLedger {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MemoryLedger").field("files", &self.records().len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> ReadRecord {
        ReadRecord {
            content_hash: String::new(),
            modified: None,
            len: 0,
            lines: (1, 0),
            partial: false,
        }
    }

    #[test]
    fn the_file_used_longest_ago_is_forgotten() {
        let ledger = MemoryLedger::new();
        for number in 0..100 {
            ledger.record(Path::new(&format!("/{number}")), record());
        }
        assert!(ledger.get(Path::new("/0")).is_some());
        ledger.record(Path::new("/new"), record());
        assert!(ledger.get(Path::new("/0")).is_some());
        assert!(ledger.get(Path::new("/1")).is_none());
        ledger.forget(Path::new("/0"));
        assert!(ledger.get(Path::new("/0")).is_none());
    }
}
