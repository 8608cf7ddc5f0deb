//! Files: reading, atomic writing, what was read, and what was changed.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use innerve_protocol::ToolUseId;

use crate::BoxFuture;

/// Reads and writes files: the real disk, or an editor's open buffers. Paths are absolute.
pub trait FileSystem: Send + Sync {
    /// What is at `path`, links followed, without opening it; a FIFO or device must not block.
    fn metadata<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<FileMetadata>>;

    /// Opens a regular file for reading from its start; anything else is an error, never a hang.
    fn open<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Box<dyn FileReader>>>;

    /// Lists a directory, sorted by name; `max` entries at most, the flag says whether there are more.
    fn list<'a>(
        &'a self,
        path: &'a Path,
        max: usize,
    ) -> BoxFuture<'a, io::Result<(Vec<DirEntry>, bool)>>;

    /// Replaces the whole content in one step, so that a reader sees the old or the new file and a failure leaves the
    /// old one. Links are followed, parents are made, permissions are kept.
    fn write<'a>(
        &'a self,
        path: &'a Path,
        content: &'a [u8],
        condition: WriteCondition,
    ) -> BoxFuture<'a, io::Result<()>>;

    /// The whole content of a regular file of at most `max` bytes; a larger one is an error of kind `FileTooLarge`.
    fn read<'a>(&'a self, path: &'a Path, max: u64) -> BoxFuture<'a, io::Result<Vec<u8>>> {
        Box::pin(async move {
            let mut reader = self.open(path).await?;
            let mut content = Vec::new();
            loop {
                let piece = reader.read(256 * 1024).await?;
                if piece.is_empty() {
                    return Ok(content);
                }
                if (content.len() as u64).saturating_add(piece.len() as u64) > max {
                    let text = format!("larger than {max} bytes");
                    return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
                }
                content.extend_from_slice(&piece);
            }
        })
    }
}

/// An open file.
pub trait FileReader: Send {
    /// The next bytes, `max` at most; empty at the end.
    fn read(&mut self, max: usize) -> BoxFuture<'_, io::Result<Vec<u8>>>;
}

/// What must hold right before a write; otherwise it fails with kind `AlreadyExists` or `StaleNetworkFileHandle`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteCondition {
    /// There must be no such file yet.
    New,
    /// The file must still have the content with this hash, as [`ReadRecord::content_hash`].
    Unchanged(String),
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileMetadata {
    /// Its kind.
    pub kind: FileKind,
    /// Its size in bytes; 0 for what has none.
    pub len: u64,
    /// When it was last changed, if the file system says.
    pub modified: Option<SystemTime>,
}

/// The kind of what is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A FIFO, socket or device: opening it may block or have effects.
    Special,
}

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// Its name, lossily as text.
    pub name: String,
    /// Whether it is a directory, links followed.
    pub is_directory: bool,
}

/// Remembers what an agent has read, so that it edits nothing unseen. One per agent.
pub trait FileLedger: Send + Sync {
    /// What is known of a file.
    fn get(&self, path: &Path) -> Option<ReadRecord>;
    /// Notes a read or an own write; old entries may be dropped to stay within bounds.
    fn record(&self, path: &Path, record: ReadRecord);
    /// Forgets a file.
    fn forget(&self, path: &Path);
}

/// What is known of a file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadRecord {
    /// A hash of the whole content in hexadecimal, also when only a part was read; for a file too large to be hashed,
    /// of the part.
    pub content_hash: String,
    /// When the file was last changed.
    pub modified: Option<SystemTime>,
    /// Its size in bytes.
    pub len: u64,
    /// The lines that were read, from 1: first and count.
    pub lines: (u64, u64),
    /// Whether the reader was given less than it asked for: it has not seen what it believes to have seen.
    pub partial: bool,
}

/// Keeps the state of files before they are changed, so that a turn can be undone.
pub trait ChangeJournal: Send + Sync {
    /// Notes a change before it is made.
    fn record(&self, change: FileChange) -> io::Result<()>;
}

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The call that changes it.
    pub tool_use_id: ToolUseId,
    /// The file, absolute, links resolved.
    pub path: PathBuf,
    /// Its content before; `None` if there was no file.
    pub before: Option<Vec<u8>>,
    /// A hash of the content after.
    pub after_hash: String,
}
