//! Asks a person at the terminal: what would run, why it is asked, which rule would spare the question.

mod answers;
mod dialogue;

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use innerve_pipeline::{Answer, ApprovalRequest, Approver};
use innerve_tool::{BoxFuture, CancellationToken};
use tokio::sync::{Mutex, mpsc};

use crate::output::{DIM, note};
pub(crate) use dialogue::{Dialogue, Heard};

/// Why nobody can be asked any more.
const GONE: &str = "the terminal was closed";

/// The terminal that a person types at, read by one thread for the whole process.
pub(crate) struct Keyboard {
    terminal: File,
    /// Begun with the first question: what is typed before belongs to whoever reads the terminal next, and a program in the
    /// background that has nothing to ask must not be stopped for reading.
    lines: Mutex<Option<mpsc::UnboundedReceiver<String>>>,
}

/// Asks at the terminal. The pipeline puts one question at a time.
pub(crate) struct AtTerminal {
    keyboard: Arc<Keyboard>,
}

impl Keyboard {
    /// The terminal, if a person sits at it: standard input, or the controlling terminal when standard input is a pipe.
    pub(crate) fn open() -> Option<Arc<Self>> {
        static OPENED: StdMutex<Option<Arc<Keyboard>>> = StdMutex::new(None);
        if !io::stderr().is_terminal() {
            return None;
        }
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        if opened.is_none() {
            *opened = Some(Arc::new(Self { terminal: terminal()?, lines: Mutex::new(None) }));
        }
        opened.clone()
    }

    /// The next line; `None` when the terminal is gone.
    pub(crate) async fn line(&self) -> Option<String> {
        let mut lines = self.lines.lock().await;
        if lines.is_none() {
            *lines = Some(read_lines(self.terminal.try_clone().ok()?));
        }
        lines.as_mut()?.recv().await
    }

    /// Forgets what was typed so far: it was not meant as an answer to what is asked next.
    async fn forget(&self) {
        let mut lines = self.lines.lock().await;
        // What nobody has read yet. A terminal that cannot do this still asks.
        #[cfg(unix)]
        let _done =
            rustix::termios::tcflush(&self.terminal, rustix::termios::QueueSelector::IFlush);
        while lines.as_mut().is_some_and(|lines| lines.try_recv().is_ok()) {}
    }
}

#[cfg(unix)]
fn terminal() -> Option<File> {
    use std::os::fd::AsFd as _;
    if io::stdin().is_terminal() {
        io::stdin().as_fd().try_clone_to_owned().ok().map(File::from)
    } else {
        File::open("/dev/tty").ok()
    }
}

#[cfg(not(unix))]
fn terminal() -> Option<File> {
    File::open("CONIN$").ok()
}

fn read_lines(terminal: File) -> mpsc::UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in BufReader::new(terminal).lines() {
            let Ok(line) = line else { break };
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

impl AtTerminal {
    pub(crate) fn new(keyboard: Arc<Keyboard>) -> Self {
        Self { keyboard }
    }

    async fn question(&self, request: ApprovalRequest, cancellation: &CancellationToken) -> Answer {
        let mut dialogue = match Dialogue::begin(request) {
            Ok(dialogue) => dialogue,
            Err(answer) => return answer,
        };
        for line in dialogue.opening() {
            note(&line);
        }
        self.keyboard.forget().await;
        loop {
            for line in dialogue.asks() {
                note(&line);
            }
            let line = tokio::select! {
                line = self.keyboard.line() => line,
                () = cancellation.cancelled() => {
                    note(&format!("  {DIM}needs no answer any more{DIM:#}"));
                    return Answer::Interrupted;
                }
            };
            let Some(line) = line else {
                return Answer::Unavailable(GONE.to_owned());
            };
            match dialogue.hear(&line) {
                Heard::Answer(answer) => return answer,
                Heard::Next => self.keyboard.forget().await,
                Heard::Again(problem) => note(problem),
            }
        }
    }
}

impl Approver for AtTerminal {
    fn ask(
        &self,
        request: ApprovalRequest,
        cancellation: CancellationToken,
    ) -> BoxFuture<'_, Answer> {
        Box::pin(async move { self.question(request, &cancellation).await })
    }
}
