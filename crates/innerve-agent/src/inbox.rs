//! What a person writes while a run is under way.

use std::sync::{Mutex, PoisonError};

use innerve_protocol::ContentBlock;
use tokio::sync::Notify;

/// Messages that wait for the run to take them.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    messages: Mutex<Vec<Vec<ContentBlock>>>,
    arrived: Notify,
}

impl Inbox {
    /// Leaves a message.
    pub(crate) fn put(&self, message: Vec<ContentBlock>) {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).push(message);
        self.arrived.notify_one();
    }

    /// Takes all messages, in order.
    pub(crate) fn take(&self) -> Vec<Vec<ContentBlock>> {
        std::mem::take(&mut *self.messages.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether no message waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Waits until a message arrives.
    pub(crate) async fn arrived(&self) {
        self.arrived.notified().await;
    }
}
