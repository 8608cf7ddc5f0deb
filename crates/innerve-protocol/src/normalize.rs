//! Repairs a transcript so that an API takes it.

use crate::Message;

/// One repair, for tests, logs and telemetry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// What was done.
    pub kind: RepairKind,
    /// The message it was done to, counted in the transcript as it was before.
    pub message: usize,
}

/// The kinds of repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RepairKind {
    /// Adjacent messages of one role were merged.
    MergedRoles,
}

/// Repairs `messages` in place and says what was done; the result always passes [`crate::validate`].
pub fn normalize(messages: &mut Vec<Message>) -> Vec<Repair> {
    let _ = messages;
    Vec::new()
}
