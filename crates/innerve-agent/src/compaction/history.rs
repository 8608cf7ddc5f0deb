//! How compacting has gone so far in a conversation, which says whether it is worth another try.

use std::time::Duration;

use tokio::time::Instant;

/// Compactions that may fail in a row before none is tried any more.
const MAX_FAILURES: u32 = 3;
/// Times in a row that the conversation may fill up again right after a compaction.
pub(super) const MAX_REFILLS: u32 = 3;
/// A compaction after so few rounds is right after the one before.
const REFILL_ROUNDS: u32 = 2;
/// After this time the provider has forgotten what it cached (Anthropic Messages API, "prompt caching").
const IDLE: Duration = Duration::from_hours(1);

/// How compacting has gone so far in a conversation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Compactions {
    failures: u32,
    refills: u32,
    /// Rounds since the last one; `None` if there was none.
    rounds: Option<u32>,
    /// When the provider was last heard.
    heard: Option<Instant>,
}

impl Compactions {
    /// A round of tools is over.
    pub(crate) fn round(&mut self) {
        self.rounds = self.rounds.map(|rounds| rounds.saturating_add(1));
    }

    /// The provider answered.
    pub(crate) fn heard(&mut self) {
        self.heard = Some(Instant::now());
    }

    /// Whether the provider has forgotten what it cached.
    pub(super) fn is_cold(&self) -> bool {
        self.heard.is_some_and(|heard| heard.elapsed() > IDLE)
    }

    /// Whether it has not failed too often.
    pub(super) fn is_worth_a_try(&self) -> bool {
        self.failures < MAX_FAILURES
    }

    /// Notes that the conversation is full; `false` if it is so again and again right after it was compacted.
    pub(super) fn refill(&mut self) -> bool {
        let is_refill = self.rounds.is_some_and(|rounds| rounds <= REFILL_ROUNDS);
        self.refills = if is_refill { self.refills + 1 } else { 0 };
        self.refills < MAX_REFILLS
    }

    /// The conversation was compacted.
    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
        self.rounds = Some(0);
    }

    /// It was not.
    pub(super) fn failed(&mut self) {
        self.failures = self.failures.saturating_add(1);
    }
}
