//! What a person who types a call has read: every file, as it is now.

use std::path::Path;

use innerve_builtins::content_hash;
use innerve_tool::port::{FileLedger, ReadRecord};

/// Files of more bytes are not vouched for.
const MAX_BYTES: u64 = 1 << 30;

/// Takes every file as read in full a moment ago.
pub(super) struct Assumed;

impl FileLedger for Assumed {
    fn get(&self, path: &Path) -> Option<ReadRecord> {
        let meta = path.metadata().ok().filter(|meta| meta.is_file() && meta.len() <= MAX_BYTES)?;
        let content = std::fs::read(path).ok()?;
        let lines = content.split(|byte| *byte == b'\n').count() as u64;
        Some(ReadRecord {
            content_hash: content_hash(&content),
            modified: meta.modified().ok(),
            len: content.len() as u64,
            lines: (1, lines),
            partial: false,
        })
    }

    fn record(&self, _path: &Path, _record: ReadRecord) {}

    fn forget(&self, _path: &Path) {}
}
