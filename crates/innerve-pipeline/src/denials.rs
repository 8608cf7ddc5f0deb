//! How often a classifier has refused: after a few refusals in a row a person is asked again.

use std::sync::atomic::{AtomicU32, Ordering};

/// Refusals in a row after which a person is asked (Claude Code documentation, "auto mode").
const IN_A_ROW: u32 = 3;
/// Refusals in a session after which a person is asked (Claude Code documentation, "auto mode").
const IN_TOTAL: u32 = 20;

/// Counts refusals of the classifier; shared with sub-agents that run in the foreground.
#[derive(Debug, Default)]
pub struct Denials {
    in_a_row: AtomicU32,
    total: AtomicU32,
}

impl Denials {
    /// Counts a refusal.
    pub fn refused(&self) {
        self.in_a_row.fetch_add(1, Ordering::Relaxed);
        self.total.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a call that ran.
    pub fn allowed(&self) {
        self.in_a_row.store(0, Ordering::Relaxed);
    }

    /// Whether a person should be asked in place of the classifier. The total starts anew when it fires.
    pub fn exhausted(&self) -> bool {
        if self.total.load(Ordering::Relaxed) >= IN_TOTAL {
            self.total.store(0, Ordering::Relaxed);
            return true;
        }
        self.in_a_row.load(Ordering::Relaxed) >= IN_A_ROW
    }
}
