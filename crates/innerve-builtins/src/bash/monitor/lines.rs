//! What a watch has seen and not told yet, in bounds.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use innerve_tool::port::{OutputSink, SpoolFile, StdStream};
use tokio::sync::Notify;

use super::super::plain;
#[cfg(feature = "websocket")]
use crate::web::is_invisible;

/// Lines in one event; more are a flood, which ends the watch.
const MAX_BATCH_LINES: usize = 200;
/// How much of a line is told, in bytes; of a message, in characters.
const MAX_LINE: usize = 2_000;

/// What was seen and nobody has been told of yet.
pub(super) struct Lines {
    state: Mutex<State>,
    pub(super) news: Notify,
}

struct State {
    file: Option<Box<dyn SpoolFile>>,
    /// The line that has not ended.
    open: Vec<u8>,
    ended: Vec<String>,
    /// Lines that were dropped since more came at once than is told.
    dropped: usize,
}

impl Lines {
    pub(super) fn new(file: Box<dyn SpoolFile>) -> Self {
        let state = State { file: Some(file), open: Vec::new(), ended: Vec::new(), dropped: 0 };
        Self { state: Mutex::new(state), news: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has ended since the last time; whether it was a flood.
    pub(super) fn take(&self, with_open: bool) -> (Vec<String>, bool) {
        let mut state = self.state();
        if with_open && !state.open.is_empty() {
            state.end_line();
        }
        let dropped = std::mem::take(&mut state.dropped);
        (std::mem::take(&mut state.ended), dropped > 0)
    }

    /// Takes a message, which is an event of its own; whether there are too many to be told.
    #[cfg(feature = "websocket")]
    pub(super) fn message(&self, text: &str) -> bool {
        let mut state = self.state();
        if let Some(file) = &mut state.file {
            file.write(text.as_bytes());
            file.write(b"\n");
        }
        let told = visible(text);
        let told = match told.char_indices().nth(MAX_LINE) {
            None => told,
            Some((end, _)) => {
                let beginning = told.get(..end).unwrap_or_default();
                format!("{beginning}… [{} bytes; all of it is in the output file]", text.len())
            }
        };
        state.put(told);
        self.news.notify_one();
        state.dropped > 0
    }

    /// The file with all of it, while it is written.
    pub(super) fn path(&self) -> Option<PathBuf> {
        self.state().file.as_ref().map(|file| file.path())
    }

    /// Takes no more; the file stays or goes.
    pub(super) fn close(&self, is_kept: bool) {
        if let Some(file) = self.state().file.take() {
            if is_kept {
                // The task names the file; a reader of it finds out.
                drop(file.keep());
            } else {
                file.discard();
            }
        }
    }
}

/// What a stranger says, without what nobody sees.
#[cfg(feature = "websocket")]
pub(super) fn visible(text: &str) -> String {
    let text: String = plain(text.as_bytes()).chars().filter(|it| !is_invisible(*it)).collect();
    text.trim_end().to_owned()
}

impl State {
    fn end_line(&mut self) {
        let line = plain(&std::mem::take(&mut self.open));
        let line = line.trim_end();
        if !line.is_empty() {
            self.put(line.to_owned());
        }
    }

    fn put(&mut self, line: String) {
        if self.ended.len() < MAX_BATCH_LINES {
            self.ended.push(line);
        } else {
            self.dropped += 1;
        }
    }
}

impl OutputSink for Lines {
    fn write(&self, stream: StdStream, bytes: &[u8]) {
        let mut state = self.state();
        if let Some(file) = &mut state.file {
            file.write(bytes);
        }
        if stream == StdStream::Err {
            return;
        }
        for (index, piece) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if index > 0 {
                state.end_line();
            }
            let room = MAX_LINE.saturating_sub(state.open.len());
            state.open.extend_from_slice(piece.get(..room).unwrap_or(piece));
        }
        if !state.ended.is_empty() || state.dropped > 0 {
            self.news.notify_one();
        }
    }
}
