//! The terminal that a relay runs in: a copy of the output for the person, which never holds the command up.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd as _;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How much waits for a terminal that is slow, in bytes; of more, the oldest is left out.
const WAITING: usize = 1024 * 1024;

/// Standard output, unbuffered.
pub(super) fn terminal() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// A terminal that is written to by a thread of its own.
pub(super) struct Screen(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Vec<u8>>,
    /// How much that is, in bytes.
    held: usize,
    /// How much was left out before it, in bytes.
    left_out: u64,
    is_closed: bool,
    /// Whether nothing is written any more.
    is_over: bool,
}

impl Screen {
    pub(super) fn new(terminal: impl Write + Send + 'static) -> io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let writer = Arc::clone(&shared);
        thread::Builder::new().name("terminal".to_owned()).spawn(move || writer.work(terminal))?;
        Ok(Self(shared))
    }

    /// Takes bytes for the terminal; never waits for it.
    pub(super) fn write(&self, bytes: &[u8]) {
        let mut state = self.0.lock();
        if state.is_over || state.is_closed {
            return;
        }
        state.held = state.held.saturating_add(bytes.len());
        state.waiting.push_back(bytes.to_vec());
        while state.held > WAITING
            && let Some(oldest) = state.waiting.pop_front()
        {
            state.held = state.held.saturating_sub(oldest.len());
            state.left_out = state.left_out.saturating_add(oldest.len() as u64);
        }
        self.0.changed.notify_all();
    }

    /// Takes no more, and waits until all is written, but not longer than this.
    pub(super) fn finish(&self, patience: Duration) {
        let mut state = self.0.lock();
        state.is_closed = true;
        self.0.changed.notify_all();
        let waited = self.0.changed.wait_timeout_while(state, patience, |state| !state.is_over);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what comes until it is closed, or the terminal is.
    fn work(&self, mut terminal: impl Write) {
        while let Some(bytes) = self.next() {
            if terminal.write_all(&bytes).and_then(|()| terminal.flush()).is_err() {
                break;
            }
        }
        let mut state = self.lock();
        state.is_over = true;
        state.waiting.clear();
        self.changed.notify_all();
    }

    /// What to write next; `None` when there will be nothing.
    fn next(&self) -> Option<Vec<u8>> {
        let is_idle =
            |state: &mut State| state.waiting.is_empty() && state.left_out == 0 && !state.is_closed;
        let waited = self.changed.wait_while(self.lock(), is_idle);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        let left_out = std::mem::take(&mut state.left_out);
        if left_out > 0 {
            let notice = format!("\n[{left_out} bytes are left out here: the terminal is slow]\n");
            return Some(notice.into_bytes());
        }
        let bytes = state.waiting.pop_front()?;
        state.held = state.held.saturating_sub(bytes.len());
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    const LONG: Duration = Duration::from_secs(10);

    /// A terminal that shows what is written, one piece each time it may.
    struct Slow {
        shown: Arc<Mutex<Vec<u8>>>,
        may: Receiver<()>,
        begins: Sender<()>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.begins.send(()).ok();
            // Without the other end it is as fast as can be.
            self.may.recv().ok();
            self.shown.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Broken;

    impl Write for Broken {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn i8_a_terminal_that_does_not_read_holds_nothing_up_and_ends_with_the_newest() {
        let shown = Arc::<Mutex<Vec<u8>>>::default();
        let ((allow, may), (begins, begun)) = (channel(), channel());
        let screen = Screen::new(Slow { shown: Arc::clone(&shown), may, begins }).unwrap();
        screen.write(b"first\n");
        begun.recv().unwrap();
        for number in 0..100_u8 {
            screen.write(&vec![number; 64 * 1024]);
        }
        assert!(screen.0.lock().held <= WAITING);
        screen.finish(Duration::from_millis(10));
        assert_eq!(*shown.lock().unwrap(), b"", "it still does not read");
        drop(allow);
        screen.finish(LONG);
        let shown = shown.lock().unwrap();
        let left_out = 84 * 64 * 1024;
        let head = format!("first\n\n[{left_out} bytes are left out here: the terminal is slow]\n");
        assert!(shown.starts_with(head.as_bytes()), "{:?}", String::from_utf8_lossy(&shown[..99]));
        assert_eq!(shown.len(), head.len() + WAITING);
        assert_eq!(shown[head.len()], 84);
        assert_eq!(shown.last(), Some(&99));
    }

    #[test]
    fn a_terminal_that_is_gone_takes_no_memory() {
        let screen = Screen::new(Broken).unwrap();
        screen.write(b"a");
        screen.finish(LONG);
        screen.write(b"b");
        assert!(screen.0.lock().waiting.is_empty());
    }
}
