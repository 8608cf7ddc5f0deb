//! The session log: append-only JSON lines, written before a side effect starts and after it ends.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use innerve_budget::ReplacementRecord;
use innerve_protocol::{Message, ToolResult, ToolUse};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// One line of a session log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Record {
    /// The first line.
    Session {
        /// The format; this crate writes 1.
        version: u32,
        /// The session's id.
        id: String,
        /// The directory it started in.
        cwd: PathBuf,
        /// The model.
        model: String,
        /// When it started, in seconds since 1970.
        started: u64,
    },
    /// A message was added to the conversation.
    Message {
        /// The message.
        message: Message,
    },
    /// A tool is about to run. The message that holds the tool use comes later.
    ToolStarted {
        /// The tool use.
        tool_use: ToolUse,
    },
    /// A tool has ended. The message that holds the result comes later.
    ToolEnded {
        /// The result.
        result: ToolResult,
    },
    /// The history was repaired or compacted: it is this now.
    History {
        /// The whole history.
        messages: Vec<Message>,
    },
    /// A result was replaced to keep the conversation within its budget, for good.
    ContentReplacement {
        /// The decision.
        record: ReplacementRecord,
    },
    /// A run ended.
    Ended {
        /// Why.
        reason: String,
    },
    /// A kind that this version does not know.
    #[serde(other)]
    Unknown,
}

/// Writes a session log. One writer per file; every line is handed to the operating system before the call returns.
#[derive(Debug)]
pub struct SessionLog {
    path: PathBuf,
    file: Mutex<File>,
}

/// Why a session log cannot be written or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LogError {
    /// The operating system refused.
    #[error("the session log {} cannot be {action}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Another process writes it.
    #[error("the session log {} is in use by another innerve; end that one or fork the session", .0.display())]
    InUse(PathBuf),
}

impl LogError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } => "session:io",
            Self::InUse(_) => "session:in_use",
        }
    }
}

impl SessionLog {
    /// Opens a log for appending and takes it for this process; parents are made, private to the user.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        let io = |action| move |source| LogError::Io { action, path: path.to_path_buf(), source };
        if let Some(parent) = path.parent() {
            create_private_dir(parent).map_err(io("created"))?;
        }
        let file = private_options().append(true).create(true).open(path).map_err(io("opened"))?;
        if file.try_lock().is_err() {
            return Err(LogError::InUse(path.to_path_buf()));
        }
        let log = Self { path: path.to_path_buf(), file: Mutex::new(file) };
        log.end_half_line().map_err(io("repaired"))?;
        Ok(log)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a line.
    pub fn append(&self, record: &Record) -> Result<(), LogError> {
        let io = |source| LogError::Io { action: "written", path: self.path.clone(), source };
        let mut line = serde_json::to_vec(record).map_err(|error| io(io::Error::other(error)))?;
        line.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&line).map_err(io)
    }

    /// A process that was killed may have left half a line: a line feed keeps it apart from what follows.
    fn end_half_line(&self) -> io::Result<()> {
        use std::io::{Read as _, Seek as _, SeekFrom};
        let mut last = [b'\n'];
        let mut reader = File::open(&self.path)?;
        if reader.seek(SeekFrom::End(0))? == 0 {
            return Ok(());
        }
        reader.seek(SeekFrom::End(-1))?;
        reader.read_exact(&mut last)?;
        if last == [b'\n'] {
            return Ok(());
        }
        self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(b"\n")
    }
}

/// Makes a directory, and its parents, that only the user can read.
pub(crate) fn create_private_dir(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(path)
}

/// Opens files that only the user can read.
pub(crate) fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
}
