//! What was shown of files, so that the same lines are not shown twice in a row.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// How many files are remembered.
const MAX_FILES: usize = 100;

/// The first line and the number of lines that were asked for.
type Range = (Option<u64>, Option<u64>);

/// Remembers the last reads of one agent.
///
/// The host may have taken a result out of the conversation since then. So what is answered with "unchanged" once is
/// shown again the next time.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen(Arc<Mutex<VecDeque<(PathBuf, Range, String)>>>);

impl Seen {
    /// Whether the last read of the file showed the same; notes this read.
    pub(super) fn again(&self, path: &Path, range: Range, hash: &str) -> bool {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = seen.iter().position(|(known, ..)| known == path);
        let last = place.and_then(|place| seen.remove(place));
        if last.is_some_and(|(_, known, before)| known == range && before == hash) {
            return true;
        }
        if seen.len() >= MAX_FILES {
            seen.pop_front();
        }
        seen.push_back((path.to_owned(), range, hash.to_owned()));
        false
    }
}
