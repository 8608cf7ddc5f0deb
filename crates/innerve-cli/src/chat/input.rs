//! Keys and pastes, read by a thread for as long as the terminal gives any.

use std::io;
use std::time::Duration;

use crossterm::event::{self, Event};
use tokio::sync::mpsc::{self, UnboundedReceiver};

/// How long nothing must come until it is looked whether something was forgotten.
const SETTLED: Duration = Duration::from_millis(20);

/// What the thread tells.
#[derive(Debug)]
pub(super) enum Input {
    Event(Event),
    /// There are keys that nobody was woken up for: [`wake`] has them read.
    Unread,
}

/// Begins to read.
///
/// The reader below waits for changes alone. Keys that come together with a new size of the window, or more of them at once
/// than its buffer takes, would lie there until the next key is pressed.
pub(super) fn read() -> UnboundedReceiver<Input> {
    let (sender, inputs) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        loop {
            match event::poll(SETTLED) {
                Ok(true) => {}
                Ok(false) if !is_unread() => {}
                Ok(false) => {
                    if sender.send(Input::Unread).is_err() {
                        return;
                    }
                }
                Err(_) => return,
            }
            let Ok(event) = event::read() else { return };
            if sender.send(Input::Event(event)).is_err() {
                return;
            }
        }
    });
    inputs
}

/// Whether the terminal holds keys that were not read.
#[cfg(unix)]
fn is_unread() -> bool {
    rustix::io::ioctl_fionread(io::stdin()).is_ok_and(|bytes| bytes > 0)
}

/// Sets the terminal to what it is set to, upon which it wakes up whoever waits for it.
#[cfg(unix)]
pub(super) fn wake() {
    use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
    // A terminal that is gone has nobody to wake up.
    let _gone = tcgetattr(io::stdin())
        .and_then(|settings| tcsetattr(io::stdin(), OptionalActions::Now, &settings));
}

#[cfg(not(unix))]
fn is_unread() -> bool {
    false
}

#[cfg(not(unix))]
pub(super) fn wake() {}
