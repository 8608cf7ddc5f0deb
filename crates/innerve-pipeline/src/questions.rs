//! The queue of questions of a session: one is asked at a time, in the order of the calls.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use innerve_tool::CancellationToken;

/// The calls that may still ask, in order; whose ticket is first may do so. Shared by a pipeline and its clones, and so
/// by all agents of a session.
#[derive(Debug, Default)]
pub(crate) struct Questions(Mutex<Line>);

#[derive(Debug, Default)]
struct Line {
    tickets: VecDeque<(u64, CancellationToken)>,
    last: u64,
}

/// A call's ticket for the queue of questions: it asks after all calls whose tickets were taken before. Given up as soon
/// as the call is decided, and when it is dropped.
#[derive(Debug)]
#[must_use = "it is given up when it is dropped"]
pub struct Ticket {
    questions: Arc<Questions>,
    number: u64,
    /// A signal that is given once; a token is the only one at hand that needs no runtime.
    called: CancellationToken,
}

impl Questions {
    /// Takes the last ticket.
    pub(crate) fn queue(self: &Arc<Self>) -> Ticket {
        let called = CancellationToken::new();
        let mut line = self.lock();
        line.last += 1;
        let number = line.last;
        line.tickets.push_back((number, called.clone()));
        line.call_first();
        Ticket { questions: Arc::clone(self), number, called }
    }

    fn lock(&self) -> MutexGuard<'_, Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    fn call_first(&self) {
        if let Some((_, called)) = self.tickets.front() {
            called.cancel();
        }
    }
}

impl Ticket {
    /// Ends when the ticket is the first one.
    pub(crate) async fn called(&self) {
        self.called.cancelled().await;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut line = self.questions.lock();
        line.tickets.retain(|(number, _)| *number != self.number);
        line.call_first();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn is_called(ticket: &Ticket) -> bool {
        ticket.called().now_or_never().is_some()
    }

    #[test]
    fn the_first_is_called_and_whoever_leaves_lets_the_next_one_in() {
        let questions = Arc::new(Questions::default());
        let first = questions.queue();
        let second = questions.queue();
        let third = questions.queue();
        assert!(is_called(&first) && !is_called(&second) && !is_called(&third));
        drop(second);
        assert!(!is_called(&third), "who gave up waiting lets nobody in");
        drop(first);
        assert!(is_called(&third));
        drop(third);
        assert!(is_called(&questions.queue()));
    }
}
