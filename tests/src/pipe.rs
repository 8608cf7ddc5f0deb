//! What a program writes into a pipe, collected while it runs.

use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::PATIENCE;

/// What came out of a pipe so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collected {
    state: Arc<(Mutex<Output>, Condvar)>,
}

#[derive(Debug, Default)]
struct Output {
    bytes: Vec<u8>,
    ended: bool,
}

impl Collected {
    pub(crate) fn from(pipe: impl Read + Send + 'static, at_most: Option<u64>) -> Self {
        let collected = Self::default();
        let state = Arc::clone(&collected.state);
        thread::spawn(move || {
            let mut pipe = pipe.take(at_most.unwrap_or(u64::MAX));
            let mut buffer = [0; 64 * 1024];
            loop {
                let count = pipe.read(&mut buffer).unwrap_or(0);
                let mut output = state.0.lock().unwrap_or_else(PoisonError::into_inner);
                output.bytes.extend_from_slice(&buffer[..count]);
                output.ended = count == 0;
                state.1.notify_all();
                if count == 0 {
                    return;
                }
            }
        });
        collected
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner).bytes.clone()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    /// Looks at the text whenever more has come, until it shows what is wanted.
    pub(crate) fn wait<T>(&self, wanted: impl Fn(&str) -> Option<T>) -> Option<T> {
        let deadline = Instant::now() + PATIENCE;
        let mut output = self.state.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let found = wanted(&String::from_utf8_lossy(&output.bytes));
            let left = deadline.saturating_duration_since(Instant::now());
            if found.is_some() || output.ended || left.is_zero() {
                return found;
            }
            let waited = self.state.1.wait_timeout(output, left);
            output = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(crate) fn wait_for_end(&self) {
        let deadline = Instant::now() + Duration::from_secs(5);
        let mut output = self.state.0.lock().unwrap_or_else(PoisonError::into_inner);
        while !output.ended && Instant::now() < deadline {
            let waited = self.state.1.wait_timeout(output, Duration::from_millis(100));
            output = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
