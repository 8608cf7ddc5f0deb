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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_in_a_row_are_enough_until_something_is_allowed() {
        let denials = Denials::default();
        for refused in [false, false, false, true] {
            assert_eq!(denials.exhausted(), refused);
            denials.refused();
        }
        assert!(denials.exhausted(), "it stays so");
        denials.allowed();
        assert!(!denials.exhausted());
    }

    #[test]
    fn twenty_in_all_are_enough_once_whatever_was_allowed_between_them() {
        let denials = Denials::default();
        for _ in 0..20 {
            assert!(!denials.exhausted());
            denials.refused();
            denials.allowed();
        }
        assert!(denials.exhausted());
        assert!(!denials.exhausted(), "the total starts anew when it has fired");
    }
}
