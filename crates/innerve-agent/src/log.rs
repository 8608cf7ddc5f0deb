//! The session log: append-only JSON lines, written before a side effect starts and after it ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

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
        /// The session whose conversation it began with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forked_from: Option<String>,
        /// Whether it only coordinates others.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        coordinator: bool,
    },
    /// A person gave a task: a turn begins.
    Turn {
        /// Its number, from 1.
        number: u64,
        /// When, in seconds since 1970.
        started: u64,
    },
    /// A person wrote this. The message that holds it comes next, and may hold what others added.
    Words {
        /// The text.
        text: String,
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
    /// Work in the background goes on.
    TaskStarted {
        /// Its id.
        id: String,
        /// A few words for people.
        description: String,
    },
    /// Work in the background has ended. The message that tells the model comes later.
    TaskEnded {
        /// Its id.
        id: String,
        /// What the model is told of it.
        news: String,
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
    writer: Mutex<Writer>,
}

#[derive(Debug)]
struct Writer {
    file: File,
    /// Whether the file may end in half a line: a process was killed, or the disk was full.
    is_torn: bool,
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
    /// Opens a log for appending and takes it for this process; it and its parents are made, private to the user.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        let io = |source| LogError::Io { action: "created", path: path.to_path_buf(), source };
        if let Some(parent) = path.parent() {
            create_private_dir(parent).map_err(io)?;
        }
        Self::take(path, private_options().append(true).create(true))
    }

    /// As [`Self::open`], for a log that must be there.
    pub(crate) fn reopen(path: &Path) -> Result<Self, LogError> {
        Self::take(path, private_options().append(true))
    }

    fn take(path: &Path, options: &OpenOptions) -> Result<Self, LogError> {
        let io = |action| move |source| LogError::Io { action, path: path.to_path_buf(), source };
        let file = options.open(path).map_err(io("opened"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LogError::InUse(path.to_path_buf())),
            Err(TryLockError::Error(source)) => return Err(io("locked")(source)),
        }
        let is_torn = ends_in_half_a_line(path).map_err(io("read"))?;
        Ok(Self { path: path.to_path_buf(), writer: Mutex::new(Writer { file, is_torn }) })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a line.
    pub fn append(&self, record: &Record) -> Result<(), LogError> {
        let io = |source| LogError::Io { action: "written", path: self.path.clone(), source };
        let mut line = Vec::new();
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if writer.is_torn {
            // A line feed keeps the half line apart from what follows.
            line.push(b'\n');
        }
        serde_json::to_writer(&mut line, record).map_err(|error| io(io::Error::other(error)))?;
        line.push(b'\n');
        let written = writer.file.write_all(&line);
        writer.is_torn = written.is_err();
        written.map_err(io)
    }
}

/// Seconds since 1970.
pub(crate) fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn ends_in_half_a_line(path: &Path) -> io::Result<bool> {
    let mut reader = File::open(path)?;
    if reader.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    let mut last = [0];
    reader.seek(SeekFrom::End(-1))?;
    reader.read_exact(&mut last)?;
    Ok(last != [b'\n'])
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
