//! What the file tools share: the file system, what was read, the journal of changes, and a lock per file.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use innerve_permission::Preview;
use innerve_protocol::ToolUseId;
use innerve_tool::ToolError;
use innerve_tool::port::{
    ChangeJournal, FileChange, FileKind, FileLedger, FileSystem, ReadRecord, WriteCondition,
};

use crate::code;

/// How long a change of one file may take.
pub(crate) const CHANGE_TIMEOUT: Duration = Duration::from_mins(2);

/// Says which files must not be shown, not even by name: those that a deny rule covers. Paths are absolute.
pub type Hidden = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// What the file tools of one agent share.
///
/// Clones share everything; a sub-agent gets [`Self::for_agent`], so that it has read nothing yet and still never
/// writes a file at the same time as its parent.
#[derive(Clone)]
pub struct FileAccess {
    pub(crate) files: Arc<dyn FileSystem>,
    pub(crate) ledger: Arc<dyn FileLedger>,
    journal: Option<Arc<dyn ChangeJournal>>,
    pub(crate) hidden: Option<Hidden>,
    locks: Arc<FileLocks>,
}

impl FileAccess {
    /// Access without a journal, and with nothing hidden.
    pub fn new(files: Arc<dyn FileSystem>, ledger: Arc<dyn FileLedger>) -> Self {
        Self { files, ledger, journal: None, hidden: None, locks: Arc::default() }
    }

    /// Notes every change in `journal` before it is made.
    #[must_use]
    pub fn with_journal(mut self, journal: Arc<dyn ChangeJournal>) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Leaves files that `hidden` names out of listings, searches and hints.
    #[must_use]
    pub fn with_hidden(mut self, hidden: Hidden) -> Self {
        self.hidden = Some(hidden);
        self
    }

    /// The same files for another agent, with what that agent has read.
    #[must_use]
    pub fn for_agent(&self, ledger: Arc<dyn FileLedger>) -> Self {
        let Self { files, ledger: _, journal, hidden, locks } = self.clone();
        Self { files, ledger, journal, hidden, locks }
    }

    pub(crate) fn is_hidden(&self, path: &Path) -> bool {
        self.hidden.as_ref().is_some_and(|hidden| hidden(path))
    }

    /// Waits until nobody else changes this file.
    pub(crate) async fn lock(&self, path: &Path) -> FileLock {
        let lock = self.locks.of(crate::paths::real(path));
        FileLock(lock.lock_owned().await)
    }

    /// Makes a change of a file, noting it first; gives back what is now known of the file.
    pub(crate) async fn make(
        &self,
        path: &Path,
        tool_use_id: &ToolUseId,
        change: Change,
    ) -> Result<ReadRecord, ToolError> {
        let Change { before, after } = change;
        let condition = match &before {
            Some(before) => WriteCondition::Unchanged(content_hash(before)),
            None => WriteCondition::New,
        };
        let after_hash = content_hash(&after);
        if let Some(journal) = &self.journal {
            let change = FileChange {
                tool_use_id: tool_use_id.clone(),
                path: crate::paths::real(path),
                before,
                after_hash: after_hash.clone(),
            };
            journal.record(change).map_err(|error| {
                let what = format!(
                    "`{}` was not changed: its old content could not be kept for undo",
                    path.display()
                );
                ToolError::io(&what, &error)
            })?;
        }
        if let Err(error) = self.files.write(path, &after, condition).await {
            return Err(not_written(path, &error));
        }
        let modified = self.files.metadata(path).await.ok().and_then(|meta| meta.modified);
        Ok(ReadRecord {
            content_hash: after_hash,
            modified,
            len: after.len() as u64,
            lines: (1, 0),
            partial: false,
        })
    }
}

fn not_written(path: &Path, error: &io::Error) -> ToolError {
    if error.kind() == io::ErrorKind::AlreadyExists {
        let message =
            format!("`{}` has been made by someone else meanwhile; read it first", path.display());
        return ToolError::new(code::EXISTS, message);
    }
    if error.kind() == io::ErrorKind::StaleNetworkFileHandle {
        return stale(path);
    }
    ToolError::io(&format!("`{}` could not be written and is as it was", path.display()), error)
}

pub(crate) fn stale(path: &Path) -> ToolError {
    ToolError::new(
        code::STALE,
        format!(
            "`{}` has changed since it was read (a person or a formatter may have changed it); read it again, then repeat the change",
            path.display()
        ),
    )
}

/// What a file holds before and after it is changed.
#[derive(Debug)]
pub(crate) struct Change {
    /// `None` if there is no such file yet.
    pub(crate) before: Option<Vec<u8>>,
    pub(crate) after: Vec<u8>,
}

impl Change {
    /// What a person saw and approved; the write itself checks that the file is still what they saw.
    pub(crate) fn approved(preview: Preview, path: &Path) -> Result<Self, ToolError> {
        let Preview { path: approved_path, before, after, base_hash } = preview;
        if approved_path != path {
            let message = format!(
                "the approval is for `{}`, not for `{}`",
                approved_path.display(),
                path.display()
            );
            return Err(ToolError::invalid(message));
        }
        let change = Self { before, after };
        if change.base_hash() != base_hash {
            return Err(stale(path));
        }
        Ok(change)
    }

    /// What a person is shown before they approve it.
    pub(crate) fn preview(self, path: PathBuf) -> Preview {
        let base_hash = self.base_hash();
        let Self { before, after } = self;
        Preview { path, before, after, base_hash }
    }

    fn base_hash(&self) -> String {
        self.before.as_deref().map(content_hash).unwrap_or_default()
    }
}

/// Refuses what is no regular file.
pub(crate) fn regular(path: &Path, kind: FileKind) -> Result<(), ToolError> {
    let what = match kind {
        FileKind::File => return Ok(()),
        FileKind::Directory => "is a directory; give the path of a file in it",
        FileKind::Special => "is a device, FIFO or socket, not a regular file",
    };
    Err(ToolError::new(code::NOT_A_FILE, format!("`{}` {what}", path.display())))
}

impl fmt::Debug for FileAccess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("FileAccess")
            .field("journal", &self.journal.is_some())
            .field("hidden", &self.hidden.is_some())
            .finish_non_exhaustive()
    }
}

/// The hash by which the file tools tell contents apart: BLAKE3 in hexadecimal.
pub fn content_hash(content: &[u8]) -> String {
    blake3::hash(content).to_hex().to_string()
}

/// The right to change one file.
#[derive(Debug)]
pub(crate) struct FileLock(
    #[expect(dead_code, reason = "held until it is dropped")] tokio::sync::OwnedMutexGuard<()>,
);

type Lock = tokio::sync::Mutex<()>;

/// One lock per file that is being changed.
#[derive(Debug, Default)]
struct FileLocks(Mutex<HashMap<PathBuf, Weak<Lock>>>);

impl FileLocks {
    fn of(&self, path: PathBuf) -> Arc<Lock> {
        let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = locks.get(&path).and_then(Weak::upgrade) {
            return lock;
        }
        // What nobody holds is forgotten, so that the map stays as small as the number of running changes.
        locks.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::new(Lock::new(()));
        locks.insert(path, Arc::downgrade(&lock));
        lock
    }
}
