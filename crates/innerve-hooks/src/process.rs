//! Commands of hooks: each in a session of its own, fed and drained at once, ended with its whole group.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use futures_util::future::join;
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use crate::telemetry::Trouble;
use crate::text;

/// Bytes of the standard output that are kept: enough for the new input of any tool.
pub(crate) const STDOUT: usize = 1 << 20;

/// Bytes of the standard error that are kept: more than is ever shown.
const STDERR: usize = 64 * 1024;

/// How much is read from a pipe at once; a pipe of Linux holds as much.
const PIECE: usize = 64 * 1024;

/// How long output is awaited after the command has ended, since what it left in its background may hold the pipes.
const LATE: Duration = Duration::from_millis(250);

/// How long the system may take to end a group that is killed.
const KILLED: Duration = Duration::from_secs(1);

/// What is run.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    pub(crate) cwd: PathBuf,
    /// All that the command inherits.
    pub(crate) environment: BTreeMap<OsString, OsString>,
    /// What it reads on its standard input.
    pub(crate) input: Vec<u8>,
    pub(crate) limit: Duration,
}

/// A command that ended by itself.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: Status,
    pub(crate) stdout: Captured,
    pub(crate) stderr: Captured,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Code(i32),
    Signal(i32),
}

/// What a command wrote to one stream.
#[derive(Debug, Default)]
pub(crate) struct Captured {
    kept: Vec<u8>,
    /// Bytes beyond what is kept.
    pub(crate) dropped: u64,
}

/// Why there is no outcome of a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("could not be started in `{}`: {cause}", .cwd.display())]
    Start { cwd: PathBuf, cause: io::Error },
    #[error("could not be waited for: {0}")]
    Wait(io::Error),
    #[error("did not end within {0:?} and was killed")]
    Timeout(Duration),
}

impl Failure {
    /// What it is called in telemetry.
    pub(crate) fn trouble(&self) -> Trouble {
        match self {
            Self::Start { .. } => Trouble::Start,
            Self::Wait(_) => Trouble::Io,
            Self::Timeout(_) => Trouble::Timeout,
        }
    }
}

/// Runs a command to its end. Dropping the future kills it with its group, as the timeout does.
pub(crate) async fn run(request: Request) -> Result<Finished, Failure> {
    let Request { program, args, cwd, environment, input, limit } = request;
    let mut command = CommandWrap::with_new(program, |command| {
        command
            .args(args)
            .current_dir(&cwd)
            .env_clear()
            .envs(environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    });
    // A session of its own has no terminal to read from, and a signal reaches all that the command started in it.
    #[cfg(unix)]
    command.wrap(process_wrap::tokio::ProcessSession);
    command.wrap(KillOnDrop);
    let child = command.spawn().map_err(|cause| Failure::Start { cwd, cause })?;
    let mut running = Running { child, over: false };
    let finished = timeout(limit, running.finish(input)).await;
    if let Ok(finished) = finished {
        return finished.map_err(Failure::Wait);
    }
    running.kill().await;
    Err(Failure::Timeout(limit))
}

/// A command that dies with its group unless it has ended.
struct Running {
    child: Box<dyn ChildWrapper>,
    over: bool,
}

impl Running {
    async fn finish(&mut self, input: Vec<u8>) -> io::Result<Finished> {
        let stdin = self.child.stdin().take();
        let pipes = (self.child.stdout().take(), self.child.stderr().take());
        let (mut stdout, mut stderr) = (Captured::default(), Captured::default());
        let feed = async move {
            if let Some(mut stdin) = stdin {
                // A command need not read what it is told.
                let _closed = stdin.write_all(&input).await;
            }
        };
        let drain = join(drain(pipes.0, &mut stdout, STDOUT), drain(pipes.1, &mut stderr, STDERR));
        let mut streams = Box::pin(join(feed, drain));
        let mut drained = false;
        let status = loop {
            tokio::select! {
                biased;
                _ = &mut streams, if !drained => drained = true,
                status = self.child.wait() => break status?,
            }
        };
        self.over = true;
        if !drained {
            let _late = timeout(LATE, &mut streams).await;
        }
        drop(streams);
        Ok(Finished { status: Status::of(status), stdout, stderr })
    }

    async fn kill(&mut self) {
        // The one error that can happen is that it is gone already.
        let _gone = self.child.start_kill();
        self.over = matches!(timeout(KILLED, self.child.wait()).await, Ok(Ok(_)));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.over {
            let _gone = self.child.start_kill();
        }
    }
}

impl Status {
    #[cfg(unix)]
    fn of(status: ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt as _;
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, signal) => Self::Signal(signal.unwrap_or_default()),
        }
    }

    #[cfg(not(unix))]
    fn of(status: ExitStatus) -> Self {
        Self::Code(status.code().unwrap_or(-1))
    }
}

impl Captured {
    /// What was written, unreadable bytes replaced, of bounded length with a note of what is missing.
    pub(crate) fn text(&self, limit: usize) -> String {
        let mut text = text::cut(String::from_utf8_lossy(&self.kept).trim(), limit);
        if self.dropped > 0 {
            text.push_str(&format!("\n[{} more bytes were left out]", self.dropped));
        }
        text
    }

    /// What was kept of it.
    pub(crate) fn whole(&self) -> String {
        String::from_utf8_lossy(&self.kept).into_owned()
    }
}

/// Reads a pipe to its end and keeps the beginning.
async fn drain(pipe: Option<impl AsyncRead + Unpin>, captured: &mut Captured, most: usize) {
    let Some(mut pipe) = pipe else { return };
    let mut piece = vec![0; PIECE];
    while let Ok(length) = pipe.read(&mut piece).await
        && length > 0
    {
        let keep = length.min(most.saturating_sub(captured.kept.len()));
        captured.kept.extend_from_slice(piece.get(..keep).unwrap_or_default());
        captured.dropped += (length - keep) as u64;
    }
}
