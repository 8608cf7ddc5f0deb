//! A sub-agent that is a copy of its parent: the same instructions, tools and conversation, byte for byte, so that what
//! the provider has cached for the parent is read for the copy too.

use std::sync::{Mutex, PoisonError};

use innerve_protocol::SharedMessage;

/// The type of sub-agent that is a copy.
pub(crate) const FORK: &str = "fork";

/// What a copy is told besides its task.
const DIRECTIVE: &str = "\
[You are a copy of this conversation and do one part of its work. The original goes on by itself and sees only your last \
message: end with what it needs to know. Start no copy of your own. Your part:]";

/// The conversation as it was sent last, for copies of it.
#[derive(Debug, Default)]
pub(crate) struct Sent(Mutex<Vec<SharedMessage>>);

impl Sent {
    /// Keeps what is sent now.
    pub(crate) fn set(&self, messages: &[SharedMessage]) {
        messages.clone_into(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// What was sent last.
    pub(crate) fn get(&self) -> Vec<SharedMessage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The task of a copy.
pub(crate) fn directed(task: &str) -> String {
    format!("{DIRECTIVE}\n\n{task}")
}
