//! While a chat draws the terminal, whatever anybody prints goes through it.
//!
//! There is one terminal, so there is one place in the process that knows who draws it.

use std::sync::{Mutex, PoisonError};

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

static SCREEN: Mutex<Option<UnboundedSender<String>>> = Mutex::new(None);

/// Lines go to a screen until this is dropped.
#[derive(Debug)]
pub(crate) struct Diverted(());

impl Diverted {
    /// Begins to take the lines, and gives where they come out.
    pub(crate) fn begin() -> (Self, UnboundedReceiver<String>) {
        let (sender, lines) = mpsc::unbounded_channel();
        *SCREEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        (Self(()), lines)
    }
}

impl Drop for Diverted {
    fn drop(&mut self) {
        *SCREEN.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Hands a line to the screen, if there is one.
pub(super) fn takes(line: &str) -> bool {
    let screen = SCREEN.lock().unwrap_or_else(PoisonError::into_inner);
    screen.as_ref().is_some_and(|screen| screen.send(line.to_owned()).is_ok())
}
