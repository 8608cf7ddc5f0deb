//! A past session that this process has taken, to go on with it, to copy it, or to undo what it changed.

use std::fmt;
use std::io;
use std::path::Path;

use innerve_protocol::Message;

use crate::log::seconds_now;
use crate::task_list;
use crate::{LogError, Quarantined, Record, SessionLog, Transcript};

/// A past session that this process has taken: nobody else writes its log, so that what was read of it stays all there is.
pub struct PastSession {
    pub(crate) log: SessionLog,
    pub(crate) transcript: Transcript,
    quarantined: Vec<Quarantined>,
}

impl PastSession {
    /// Takes the log in a session's folder and reads it; an error if another process has it.
    pub fn take(folder: &Path) -> Result<Self, LogError> {
        let path = log_in(folder);
        let log = SessionLog::reopen(&path)?;
        // Only now, as whoever had the log before may have written until it was ours.
        let (transcript, quarantined) = Transcript::load(&path)?;
        Ok(Self { log, transcript, quarantined })
    }

    /// Its id: the name of its folder, which holds whatever the log has lost.
    pub fn id(&self) -> String {
        let folder = self.log.path().parent().and_then(Path::file_name).unwrap_or_default();
        folder.to_string_lossy().into_owned()
    }

    /// The session as its log tells it.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// The lines of the log that could not be read and were left out.
    pub fn quarantined(&self) -> &[Quarantined] {
        &self.quarantined
    }

    /// Tells the model something before the session goes on.
    pub fn note(&mut self, text: impl Into<String>) -> Result<(), LogError> {
        self.settle()?;
        let message = Message::user(text);
        self.log.append(&Record::Message { message: message.clone() })?;
        crate::conversation::append(&mut self.transcript.messages, message);
        Ok(())
    }

    /// Writes what the log lacks, so that what was left open is answered once and for all.
    pub(crate) fn settle(&mut self) -> Result<(), LogError> {
        for message in std::mem::take(&mut self.transcript.mended) {
            self.log.append(&Record::Message { message })?;
        }
        for id in std::mem::take(&mut self.transcript.lost) {
            self.log.append(&Record::TaskEnded { id, news: String::new() })?;
        }
        Ok(())
    }

    /// Begins another session with this one's conversation, what was decided about its results, and its list of things to
    /// do. Where that list cannot be read, the other session's is empty, and the reason is given, which names the file.
    pub fn fork(&self, folder: &Path, id: &str) -> Result<Option<io::Error>, LogError> {
        let problem = match self.log.path().parent() {
            Some(from) => task_list::copy(from, folder).map_err(|source| LogError::Io {
                action: "begun with a copy of the list of tasks",
                path: log_in(folder),
                source,
            })?,
            None => None,
        };
        copy(&self.transcript, folder, id)?;
        Ok(problem)
    }
}

/// Begins a session in `folder` with the conversation of another, which may be under way.
pub(crate) fn copy(transcript: &Transcript, folder: &Path, id: &str) -> Result<(), LogError> {
    let log = SessionLog::open(&log_in(folder))?;
    log.append(&Record::Session {
        version: 1,
        id: id.to_owned(),
        cwd: transcript.cwd.clone(),
        model: transcript.model.clone(),
        started: seconds_now(),
        forked_from: Some(transcript.session_id.clone()),
        coordinator: transcript.coordinator,
    })?;
    for text in transcript.words.iter().cloned() {
        log.append(&Record::Words { text })?;
    }
    for record in transcript.replacements.iter().cloned() {
        log.append(&Record::ContentReplacement { record })?;
    }
    log.append(&Record::History { messages: transcript.messages.clone() })
}

/// The log of the main conversation in a session's folder.
pub(crate) fn log_in(folder: &Path) -> std::path::PathBuf {
    folder.join("log.jsonl")
}

impl fmt::Debug for PastSession {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PastSession")
            .field("log", &self.log)
            .field("session_id", &self.transcript.session_id)
            .finish_non_exhaustive()
    }
}
