//! The port to where full results are kept, and a store in memory.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use innerve_protocol::ToolUseId;
use serde::de::IgnoredAny;
use thiserror::Error;

/// Keeps full results where the model can read them.
pub trait ResultStore: Send + Sync {
    /// Saves the content and returns the absolute path by which it can be read.
    ///
    /// The path must not depend on anything but the session, the id and the content, and a file that exists is never
    /// overwritten: saving the same content again returns the same path, saving other content under the same id returns
    /// another one. An id may be any text; it must not lead out of the store
    /// ([`ToolUseId::is_plain`] says when it is safe as a name).
    fn save(&self, id: &ToolUseId, content: StoredContent<'_>) -> Result<PathBuf, StoreError>;
}

/// The full result, to be written as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredContent<'a> {
    /// Plain text.
    Text(&'a str),
    /// Text that is one JSON object or array.
    Json(&'a str),
}

/// Why a result was not saved.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file could not be written.
    #[error("cannot write `{}`: {source}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The store takes no more.
    #[error("the result has {bytes} bytes, and there is room for {room}")]
    Full {
        /// Bytes of the result.
        bytes: u64,
        /// Bytes that the store would still take.
        room: u64,
    },
}

impl StoreError {
    /// A stable word for the kind of error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Write { .. } => "result_store_write",
            Self::Full { .. } => "result_store_full",
        }
    }
}

impl<'a> StoredContent<'a> {
    /// Sees whether the text is JSON.
    pub fn of(text: &'a str) -> Self {
        let may_be_json = text.trim_start().starts_with(['{', '[']);
        if may_be_json && serde_json::from_str::<IgnoredAny>(text).is_ok() {
            Self::Json(text)
        } else {
            Self::Text(text)
        }
    }

    /// The text.
    pub fn as_str(self) -> &'a str {
        match self {
            Self::Text(text) | Self::Json(text) => text,
        }
    }

    /// The extension of the file's name, without a dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Text(_) => "txt",
            Self::Json(_) => "json",
        }
    }
}

/// Keeps results in memory, under names like those of files; for tests, and for hosts without a disk.
#[derive(Debug)]
pub struct MemoryStore {
    room: u64,
    files: Mutex<BTreeMap<PathBuf, String>>,
}

impl MemoryStore {
    /// An empty store that takes `room` bytes in all.
    pub fn new(room: u64) -> Self {
        Self { room, files: Mutex::default() }
    }

    /// What was saved under this path.
    pub fn get(&self, path: &Path) -> Option<String> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }

    /// How many results were saved.
    pub fn len(&self) -> usize {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether nothing was saved.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl ResultStore for MemoryStore {
    fn save(&self, id: &ToolUseId, content: StoredContent<'_>) -> Result<PathBuf, StoreError> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let name = if id.is_plain() { id.as_str() } else { "result" };
        let mut number = 1_usize;
        let path = loop {
            let suffix = if number == 1 { String::new() } else { format!("-{number}") };
            let path = PathBuf::from(format!("/results/{name}{suffix}.{}", content.extension()));
            match files.get(&path) {
                None => break path,
                Some(saved) if saved == content.as_str() => return Ok(path),
                Some(_) => number += 1,
            }
        };
        let used: u64 = files.values().map(|file| file.len() as u64).sum();
        let (bytes, room) = (content.as_str().len() as u64, self.room.saturating_sub(used));
        if bytes > room {
            return Err(StoreError::Full { bytes, room });
        }
        files.insert(path.clone(), content.as_str().to_owned());
        Ok(path)
    }
}
