//! The calls of one response: how many there are, and whether more may come.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::select;
use innerve_tool::CancellationToken;

/// Counts the calls of a response while it still comes in.
///
/// A hook can put a call off only if the response has no other (Claude Code, "Hooks reference", `defer`).
#[derive(Debug, Default)]
pub struct Batch {
    calls: AtomicUsize,
    several: CancellationToken,
    complete: CancellationToken,
}

impl Batch {
    /// One call and no more.
    pub fn single() -> Self {
        let batch = Self::default();
        batch.add();
        batch.complete();
        batch
    }

    /// A call came in.
    pub fn add(&self) {
        if self.calls.fetch_add(1, Ordering::SeqCst) > 0 {
            self.several.cancel();
        }
    }

    /// No more will come.
    pub fn complete(&self) {
        self.complete.cancel();
    }

    /// Whether there is one call only; waits until that is known.
    pub(crate) async fn is_single(&self) -> bool {
        select(pin!(self.several.cancelled()), pin!(self.complete.cancelled())).await;
        !self.several.is_cancelled()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn whether_a_call_is_alone_is_known_when_another_comes_or_none_can() {
        let batch = Batch::default();
        batch.add();
        assert_eq!(batch.is_single().now_or_never(), None);
        batch.complete();
        assert_eq!(batch.is_single().now_or_never(), Some(true));

        let batch = Batch::default();
        batch.add();
        batch.add();
        assert_eq!(batch.is_single().now_or_never(), Some(false));
        batch.complete();
        assert_eq!(batch.is_single().now_or_never(), Some(false));
        assert_eq!(Batch::single().is_single().now_or_never(), Some(true));
    }
}
