//! The relay: what an editor's terminal runs, so that a command there is a process like any other of the agent.
//!
//! It is told by the agent what to run, starts it by the processes of this machine, and gives everything that it writes
//! to the agent, and a copy to the terminal. It ends the command when the agent says so or is gone, and when the
//! terminal is closed, ended or interrupted. Should it be killed itself, what watches over its processes ends them.

mod screen;

use std::ffi::OsString;
use std::future::pending;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use innerve_tool::CancellationToken;
use innerve_tool::port::{ExitStatus, OutputSink, ProcessRunner, StdStream};
use tokio::io::{AsyncRead, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::block_in_place;
use tokio::time::timeout;

use crate::AcpError;
use crate::frame::{self, Frame, MAX_ORDER, MAX_PIECE};
use screen::Screen;

/// The variable that an editor's terminal gives the [relay](relay()), with the word that lets it in.
pub const RELAY_WORD: &str = "INNERVE_RELAY_WORD";
/// How long the agent may take for each step until it has said what to run.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the terminal and the agent are waited for at the end, if they do not read.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How many pieces wait for an agent that is slow; then the command waits.
const WAITING: usize = 16;

/// Runs the one command that the agent behind `socket` has for an editor's terminal, and returns its exit code (128 and
/// the number, if a signal ended it).
///
/// This is for a program that an editor starts with what [`Launch`](crate::Launch) says, and that does nothing else:
/// `word` is the value of [`RELAY_WORD`] in its environment, `runner` makes the processes of this
/// machine for an environment that they inherit. Must not be called within an async runtime; takes the signals of the
/// process to itself.
///
/// # Errors
/// No agent has a command for this socket and word, or the command could not be started or waited for.
pub fn relay<R: ProcessRunner>(
    socket: &Path,
    word: &str,
    runner: impl FnOnce(Vec<(OsString, OsString)>) -> R,
) -> Result<i32, AcpError> {
    let failed = |error: io::Error| AcpError::Relay(error.to_string());
    let runtime = Runtime::new().map_err(failed)?;
    let screen = Arc::new(Screen::new(screen::terminal().map_err(failed)?).map_err(failed)?);
    let ended = runtime.block_on(work(socket, word, runner, &screen));
    screen.finish(LAST_WORDS);
    runtime.shutdown_background();
    match ended.map_err(failed)? {
        ExitStatus::Code(code) => Ok(code),
        ExitStatus::Signal(number) => Ok(number.saturating_add(128)),
    }
}

async fn work<R: ProcessRunner>(
    socket: &Path,
    word: &str,
    runner: impl FnOnce(Vec<(OsString, OsString)>) -> R,
    screen: &Arc<Screen>,
) -> io::Result<ExitStatus> {
    // Before there is anything that they could leave behind.
    let mut signals = Signals::listen()?;
    let (mut from, mut to) =
        UnixStream::connect(socket).await.map_err(|error| unwanted(&error))?.into_split();
    to.write_all(&Frame::Hello(word.as_bytes().to_vec()).encode()?).await?;
    let order = timeout(PATIENCE, frame::read(&mut from, MAX_ORDER)).await;
    let Ok(Ok(Some(Frame::Order(order)))) = order else {
        return Err(unwanted(&io::ErrorKind::ConnectionAborted.into()));
    };
    let (request, inherited) = order.into_parts();

    let unwanted = CancellationToken::new();
    tokio::spawn(listen(from, unwanted.clone()));
    let (frames, waiting) = mpsc::channel(WAITING);
    let mut told = tokio::spawn(tell(to, waiting));

    let runner = runner(inherited);
    let output = Both { frames: frames.clone(), screen: Arc::clone(screen) };
    let mut process = match runner.spawn(request, Arc::new(output)).await {
        Ok(process) => process,
        Err(error) => {
            screen.write(format!("{error}\n").as_bytes());
            let failed = Frame::Failed(error.raw_os_error(), error.to_string());
            // An agent that is gone needs no answer, here and below.
            let _gone = frames.send(failed).await;
            drop(frames);
            let _slow = timeout(LAST_WORDS, told).await;
            return Err(error);
        }
    };
    let _gone = frames.send(Frame::Started(process.id())).await;
    let exit = tokio::select! {
        status = process.wait() => Some(status?),
        () = unwanted.cancelled() => None,
        () = signals.next() => None,
    };
    let status = if let Some(status) = exit {
        status
    } else {
        process.kill().await?;
        process.wait().await?
    };
    drop(process);
    let ended = async {
        let _gone = frames.send(Frame::Ended(status)).await;
        // What the command has left in its background goes on for as long as the agent is there.
        runner.all_ended().await;
    };
    tokio::select! {
        // An agent that wanted the end is told of it.
        biased;
        () = ended => {}
        () = unwanted.cancelled() => {}
        () = signals.next() => {}
    }
    drop((frames, runner));
    let _slow = timeout(LAST_WORDS, &mut told).await;
    Ok(status)
}

/// What is said where nobody has a command for this terminal.
fn unwanted(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("no agent has a command for this terminal: {error}"))
}

/// Reads until the agent wants the command to end, or is gone.
async fn listen(mut from: impl AsyncRead + Unpin, unwanted: CancellationToken) {
    // The first frame can only be that wish, and whatever else comes counts as one.
    let _wish = frame::read(&mut from, MAX_PIECE).await;
    unwanted.cancel();
}

/// Writes to the agent what there is to tell.
async fn tell(mut to: OwnedWriteHalf, mut waiting: mpsc::Receiver<Frame>) {
    while let Some(frame) = waiting.recv().await {
        let Ok(bytes) = frame.encode() else { return };
        if to.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

/// The agent, who gets everything, and the terminal, which must not hold anything up.
struct Both {
    frames: mpsc::Sender<Frame>,
    screen: Arc<Screen>,
}

impl OutputSink for Both {
    fn write(&self, stream: StdStream, bytes: &[u8]) {
        self.screen.write(bytes);
        for piece in bytes.chunks(MAX_PIECE) {
            let frame = Frame::Output(stream, piece.to_vec());
            if let Err(mpsc::error::TrySendError::Full(frame)) = self.frames.try_send(frame) {
                // The command waits for the agent, as it would for whoever reads a pipe.
                let _gone = block_in_place(|| self.frames.blocking_send(frame));
            }
        }
    }
}

/// What an editor or a person at its terminal ends a program by.
struct Signals {
    ending: [Signal; 4],
    /// Stopped, the relay could end nothing any more.
    _stopping: Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        let stop = SignalKind::from_raw(rustix::process::Signal::TSTP.as_raw());
        let kinds = [
            SignalKind::hangup(),
            SignalKind::interrupt(),
            SignalKind::quit(),
            SignalKind::terminate(),
        ];
        let [hangup, interrupt, quit, terminate] = kinds.map(signal);
        Ok(Self { ending: [hangup?, interrupt?, quit?, terminate?], _stopping: signal(stop)? })
    }

    /// Waits for the next one.
    async fn next(&mut self) {
        let [hangup, interrupt, quit, terminate] = &mut self.ending;
        let came = tokio::select! {
            came = hangup.recv() => came,
            came = interrupt.recv() => came,
            came = quit.recv() => came,
            came = terminate.recv() => came,
        };
        if came.is_none() {
            pending::<()>().await;
        }
    }
}
