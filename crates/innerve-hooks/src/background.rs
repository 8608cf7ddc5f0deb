//! Hooks that nobody waits for: how many run, and what they say when they end.

use std::sync::{Arc, Mutex, PoisonError};

use innerve_pipeline::HookOutcome;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// Hooks in the background that run at the same time at most.
const RUNNING: usize = 32;

/// Hooks whose words wait to be heard at most.
const WAITING: usize = 64;

/// What hooks in the background have in common.
#[derive(Debug)]
pub(crate) struct Background {
    places: Arc<Semaphore>,
    said: Mutex<Said>,
    wake: Notify,
}

/// The words of hooks that have ended.
#[derive(Debug, Default)]
struct Said {
    words: Vec<HookOutcome>,
    /// Hooks whose words found no place.
    lost: usize,
}

impl Default for Background {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(RUNNING)),
            said: Mutex::default(),
            wake: Notify::new(),
        }
    }
}

impl Background {
    /// A place to run in; `None` when too many run already.
    pub(crate) fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Keeps what a hook said until it is taken.
    pub(crate) fn say(&self, outcome: HookOutcome, wakes: bool) {
        if outcome != HookOutcome::default() {
            let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
            if said.words.len() < WAITING {
                said.words.push(outcome);
            } else {
                said.lost += 1;
            }
        }
        if wakes {
            self.wake.notify_one();
        }
    }

    pub(crate) fn has_said(&self) -> bool {
        !self.said.lock().unwrap_or_else(PoisonError::into_inner).words.is_empty()
    }

    /// All that was said since it was last taken.
    pub(crate) fn take(&self) -> HookOutcome {
        let said = {
            let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *said)
        };
        let mut heard = said.words.into_iter().fold(HookOutcome::default(), HookOutcome::and);
        if said.lost > 0 {
            heard.messages.push(format!("what {} more background hooks said is lost", said.lost));
        }
        heard
    }

    /// Ends when a hook wants the model to be woken.
    pub(crate) async fn woken(&self) {
        self.wake.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_kept_in_order_and_their_number_is_bounded() {
        let background = Background::default();
        for index in 0..WAITING + 2 {
            let context = vec![index.to_string()];
            background.say(HookOutcome { context, ..HookOutcome::default() }, false);
        }
        background.say(HookOutcome::default(), false);
        let heard = background.take();
        assert_eq!((heard.context.len(), heard.context[1].as_str()), (WAITING, "1"));
        assert_eq!(heard.messages, ["what 2 more background hooks said is lost"]);
        assert!(!background.has_said());
    }

    #[test]
    fn places_are_bounded_and_given_back() {
        let background = Background::default();
        let places: Vec<_> = std::iter::from_fn(|| background.place()).collect();
        assert_eq!(places.len(), RUNNING);
        drop(places);
        assert!(background.place().is_some());
    }
}
