//! The queue of questions of a session: one is asked at a time, in the order in which they came up.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use innerve_tool::CancellationToken;

/// The questions that wait; whose place is first may ask. Shared by a pipeline and its clones, and so by all agents of
/// a session.
#[derive(Debug, Default)]
pub(crate) struct Questions(Mutex<Line>);

#[derive(Debug, Default)]
struct Line {
    places: VecDeque<(u64, CancellationToken)>,
    last: u64,
}

/// A place in the queue; given up when it is dropped, wherever it is by then.
pub(crate) struct Place<'a> {
    questions: &'a Questions,
    number: u64,
    /// A signal that is given once; a token is the only one at hand that needs no runtime.
    called: CancellationToken,
}

impl Questions {
    /// Takes the last place.
    pub(crate) fn queue(&self) -> Place<'_> {
        let called = CancellationToken::new();
        let mut line = self.lock();
        line.last += 1;
        let number = line.last;
        line.places.push_back((number, called.clone()));
        line.call_first();
        Place { questions: self, number, called }
    }

    fn lock(&self) -> MutexGuard<'_, Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    fn call_first(&self) {
        if let Some((_, called)) = self.places.front() {
            called.cancel();
        }
    }
}

impl Place<'_> {
    /// Ends when the place is the first one.
    pub(crate) async fn called(&self) {
        self.called.cancelled().await;
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut line = self.questions.lock();
        line.places.retain(|(number, _)| *number != self.number);
        line.call_first();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn is_called(place: &Place<'_>) -> bool {
        place.called().now_or_never().is_some()
    }

    #[test]
    fn the_first_is_called_and_whoever_leaves_lets_the_next_one_in() {
        let questions = Questions::default();
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
