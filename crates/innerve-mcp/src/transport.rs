//! Transports: how bytes come from a server and go to it, each message bounded.

pub(crate) mod http;
pub(crate) mod process;
pub(crate) mod stdio;

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The largest message that is taken, in bytes; images and binaries come in base64 inside of one.
pub(crate) const MAX_MESSAGE: usize = 16 * 1024 * 1024;
/// Bytes of what a server says on its standard error that are kept.
const MAX_STDERR: usize = 4 * 1024;

/// What is known of a connection besides its messages, for whoever must say what is wrong with it.
#[derive(Debug, Default)]
pub(crate) struct Health {
    state: Mutex<HealthState>,
    /// Told when something came that is no message.
    pub(crate) garbled: Notify,
}

#[derive(Debug, Default)]
struct HealthState {
    /// Why the connection cannot go on.
    broken: Option<String>,
    /// The last of what the server wrote to its standard error.
    stderr: VecDeque<u8>,
    /// The first line that was no message.
    garbage: Option<String>,
}

impl Health {
    pub(crate) fn broke(&self, why: impl Into<String>) {
        self.state().broken.get_or_insert_with(|| why.into());
    }

    pub(crate) fn broken(&self) -> Option<String> {
        self.state().broken.clone()
    }

    pub(crate) fn take_stderr(&self, bytes: &[u8]) {
        let mut state = self.state();
        state.stderr.extend(bytes);
        let surplus = state.stderr.len().saturating_sub(MAX_STDERR);
        state.stderr.drain(..surplus);
    }

    /// The last line of what the server wrote to its standard error that says something.
    pub(crate) fn stderr(&self) -> Option<String> {
        let mut state = self.state();
        let text = String::from_utf8_lossy(state.stderr.make_contiguous()).into_owned();
        let telling = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
        telling.map(shortened)
    }

    pub(crate) fn take_garbage(&self, line: &[u8]) {
        let text = shortened(&String::from_utf8_lossy(line.get(..200).unwrap_or(line)));
        self.state().garbage.get_or_insert(text);
        self.garbled.notify_one();
    }

    pub(crate) fn garbage(&self) -> Option<String> {
        self.state().garbage.clone()
    }

    fn state(&self) -> MutexGuard<'_, HealthState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a server wrote, for a person: in one line and bounded.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(300).collect()
}
