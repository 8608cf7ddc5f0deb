//! The journal of changes: what files were before a tool changed them, so that a turn can be undone.
//!
//! `changes.jsonl` in the session's folder holds a line per change, written before the change is made; `before/` holds
//! the old contents, each once, by their hash. All of it is private to the user.

mod plan;
mod undo;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use innerve_protocol::ToolUseId;
use innerve_tool::port::{ChangeJournal, FileChange};
use serde::{Deserialize, Serialize};

use crate::log::{create_private_dir, private_options, seconds_now};

pub use plan::{FilePlan, UndoAction, UndoPlan, UndoTarget};
pub use undo::{UndoError, Undone};

/// An old content of more bytes is not kept.
const MAX_FILE: u64 = 64 << 20;
/// Bytes of old contents that one session keeps.
const MAX_KEPT: u64 = 1 << 30;
/// A line of more bytes is none that this journal has written.
const MAX_LINE: u64 = 1 << 20;

/// Keeps what files were before they were changed, in a session's folder.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    turn: u64,
    /// What is kept already, and how many bytes it has; found out with the first change.
    kept: Option<(HashSet<String>, u64)>,
    file: Option<File>,
}

/// One change, as a line of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) cause: Cause,
    /// What an undo takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reverts: Option<Cause>,
    /// The call that made the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tool_use_id: Option<ToolUseId>,
    /// When, in seconds since 1970.
    pub(crate) at: u64,
    /// Absolute, links resolved.
    pub(crate) path: PathBuf,
    pub(crate) before: Before,
    /// A hash of the content afterwards; `None` if there is no file.
    pub(crate) after: Option<String>,
    /// Directories that were made for it, innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) made: Vec<PathBuf>,
}

/// What changed a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cause {
    /// Tools, in this turn of the session.
    Turn(u64),
    /// An undo, by its number.
    Undo(u64),
}

/// A file before a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(crate) enum Before {
    /// There was none.
    Absent,
    /// It had this content.
    File {
        hash: String,
        bytes: u64,
        /// Its permission bits.
        mode: Option<u32>,
        /// Whether the content is kept; not beyond the limits.
        kept: bool,
    },
}

impl Before {
    pub(crate) fn hash(&self) -> Option<&str> {
        match self {
            Self::Absent => None,
            Self::File { hash, .. } => Some(hash),
        }
    }
}

impl Journal {
    /// A journal in a session's folder; nothing is written before the first change.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), state: Mutex::default() }
    }

    /// What changes from now on belongs to this turn of the session.
    pub fn begin_turn(&self, number: u64) {
        self.state().turn = number;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn kept_file(&self, hash: &str) -> PathBuf {
        self.folder.join("before").join(hash)
    }

    /// All entries; lines that cannot be read are left out.
    pub(crate) fn entries(&self) -> io::Result<Vec<Entry>> {
        let file = match File::open(self.folder.join("changes.jsonl")) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut reader = BufReader::new(file);
        let (mut entries, mut line) = (Vec::new(), Vec::new());
        loop {
            line.clear();
            if reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
                return Ok(entries);
            }
            entries.extend(serde_json::from_slice::<Entry>(&line));
        }
    }

    /// Notes a change that is about to be made.
    pub(crate) fn note(
        &self,
        cause: Option<Cause>,
        reverts: Option<Cause>,
        change: FileChange,
        after: Option<String>,
    ) -> io::Result<()> {
        let FileChange { tool_use_id, path, before, after_hash: _ } = change;
        let mut state = self.state();
        let before = match before {
            None => Before::Absent,
            Some(content) => self.keep(&mut state, &path, &content)?,
        };
        let entry = Entry {
            cause: cause.unwrap_or(Cause::Turn(state.turn)),
            reverts,
            tool_use_id: Some(tool_use_id).filter(|_| reverts.is_none()),
            at: seconds_now(),
            made: missing_parents(&path),
            path,
            before,
            after,
        };
        let mut line = serde_json::to_vec(&entry).map_err(io::Error::other)?;
        line.push(b'\n');
        if state.file.is_none() {
            state.file = Some(self.open()?);
        }
        match state.file.as_mut().map(|file| file.write_all(&line)) {
            Some(Err(error)) => {
                // The next one starts on a line of its own.
                state.file = None;
                Err(error)
            }
            Some(Ok(())) | None => Ok(()),
        }
    }

    fn open(&self) -> io::Result<File> {
        create_private_dir(&self.folder)?;
        let path = self.folder.join("changes.jsonl");
        let mut file = private_options().append(true).create(true).open(path)?;
        // An empty line is skipped; half a line is kept apart.
        if file.metadata()?.len() > 0 {
            file.write_all(b"\n")?;
        }
        Ok(file)
    }

    /// Keeps an old content, unless it is there already or there is no more room.
    fn keep(&self, state: &mut State, path: &Path, content: &[u8]) -> io::Result<Before> {
        let (hash, bytes) = (hash_of(content), content.len() as u64);
        let kept = state.kept.get_or_insert_with(|| self.survey());
        let mut is_kept = kept.0.contains(&hash);
        if !is_kept && bytes <= MAX_FILE && kept.1.saturating_add(bytes) <= MAX_KEPT {
            self.write(&hash, content)?;
            kept.0.insert(hash.clone());
            kept.1 += bytes;
            is_kept = true;
        }
        Ok(Before::File { hash, bytes, mode: mode_of(path), kept: is_kept })
    }

    fn survey(&self) -> (HashSet<String>, u64) {
        let mut kept = (HashSet::new(), 0);
        for entry in fs::read_dir(self.folder.join("before")).into_iter().flatten().flatten() {
            if let (Ok(name), Ok(meta)) = (entry.file_name().into_string(), entry.metadata()) {
                kept.0.insert(name);
                kept.1 += meta.len();
            }
        }
        kept
    }

    /// A content is there as a whole or not at all.
    fn write(&self, hash: &str, content: &[u8]) -> io::Result<()> {
        let folder = self.folder.join("before");
        create_private_dir(&folder)?;
        let mut file = tempfile::Builder::new().prefix(".half-").tempfile_in(&folder)?;
        file.write_all(content)?;
        file.persist(folder.join(hash)).map_err(|failed| failed.error)?;
        Ok(())
    }
}

impl ChangeJournal for Journal {
    fn record(&self, change: FileChange) -> io::Result<()> {
        let after = Some(change.after_hash.clone());
        self.note(None, None, change, after)
    }
}

/// The hash of the file tools: BLAKE3 in hexadecimal.
pub(crate) fn hash_of(content: &[u8]) -> String {
    blake3::hash(content).to_hex().to_string()
}

fn mode_of(path: &Path) -> Option<u32> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        Some(fs::metadata(path).ok()?.permissions().mode() & 0o7777)
    }
    #[cfg(not(unix))]
    None
}

fn missing_parents(path: &Path) -> Vec<PathBuf> {
    let parents = path.ancestors().skip(1);
    parents
        .take_while(|parent| fs::symlink_metadata(parent).is_err())
        .map(Path::to_path_buf)
        .collect()
}
