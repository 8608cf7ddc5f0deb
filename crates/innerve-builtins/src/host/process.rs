//! Real processes: each in a session of its own, both pipes drained at once, ended with all that they started.

mod family;
#[cfg(unix)]
mod watchdog;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use innerve_tool::port::{
    ExitStatus, OutputSink, ProcessRequest, ProcessRunner, RunningProcess, StdStream,
};
use innerve_tool::{BoxFuture, CancellationToken};
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use family::Family;

/// How much is read from a pipe at once; a pipe of Linux holds as much.
const PIECE: usize = 64 * 1024;
/// How long a pipe must be quiet after the process has ended before it counts as drained.
const QUIET: Duration = Duration::from_millis(100);
/// How long late output is taken at most, when something in the background goes on writing.
const LATE: Duration = Duration::from_millis(500);
/// How long a group may take to end after it was asked to.
const ASKED: Duration = Duration::from_secs(2);
/// How long the system may take to end a group that was forced to.
const FORCED: Duration = Duration::from_secs(1);
/// How often a group is looked for while it ends.
const POLL: Duration = Duration::from_millis(10);
/// The search path when the inherited one has no absolute entry.
const FALLBACK_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Starts processes of this machine; needs a tokio runtime with timer and I/O enabled.
///
/// Every process leads a session of its own (`setsid(2)`), so that it has no terminal to read from and a signal reaches
/// all that it starts. Relative entries of the inherited `PATH` are left out: with them the directory of a project
/// would decide what `ls` means.
///
/// What a process leaves in its background when it ends by itself goes on and its output is dropped, as in any shell;
/// but it does not outlive this value, its clones and the processes started with it. The same holds for the processes
/// themselves, also when this program is killed (`kill -9`): a small shell that waits for the end of a pipe asks all
/// that runs in their sessions to end, and forces it after two seconds. By the variable `INNERVE_COMMAND` it knows a command
/// that has only just begun. What has made a session of its own (`setsid`, daemons) and is not a child of a running
/// process is left alone.
///
/// A process that is killed, or dropped before it has ended, takes its whole group with it; on Linux also children
/// that made a group or session of their own, as long as a process of the family is their parent.
#[derive(Clone, Default)]
pub struct HostProcesses {
    environment: Option<Vec<(OsString, OsString)>>,
    #[cfg(unix)]
    watchdog: Arc<watchdog::Watchdog>,
}

impl HostProcesses {
    /// Processes inherit the environment of this process.
    pub fn new() -> Self {
        Self::default()
    }

    /// Processes inherit these variables instead of those of this process.
    pub fn with_environment(environment: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self { environment: Some(environment.into_iter().collect()), ..Self::default() }
    }

    fn start(
        &self,
        request: &ProcessRequest,
        output: &Arc<dyn OutputSink>,
    ) -> io::Result<Box<dyn RunningProcess>> {
        let inherited = self.environment.clone().unwrap_or_else(|| env::vars_os().collect());
        let mut command = CommandWrap::with_new(&request.program, |command| {
            command
                .args(&request.args)
                .current_dir(&request.cwd)
                .env_clear()
                .envs(inherit(inherited, &request.env_remove))
                .envs(request.env.iter().map(|(name, value)| (name, value)))
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
        });
        #[cfg(unix)]
        command.wrap(process_wrap::tokio::ProcessSession);
        command.wrap(KillOnDrop);
        #[cfg(unix)]
        let mark = self.watchdog.begin();
        #[cfg(unix)]
        command.command_mut().env(watchdog::MARK, mark.to_string());
        let spawned = command.spawn();
        #[cfg(unix)]
        self.watchdog.began(mark, spawned.as_ref().ok().and_then(|child| child.id()));
        let mut child = spawned?;

        let leader = child.id();
        let family = Family::of(leader);
        let ended = CancellationToken::new();
        // Nothing is ever sent: the channel closes when the sink gets no more.
        let (working, drained) = mpsc::channel(1);
        let pipes = Pipes::new(child.stdout().take(), child.stderr().take());
        let reader = tokio::spawn(drain(pipes, Arc::clone(output), ended.clone(), working));
        Ok(Box::new(HostProcess {
            child,
            family,
            ended,
            drained,
            reader,
            status: None,
            over: false,
            #[cfg(unix)]
            watched: leader.map(|leader| (leader, Arc::clone(&self.watchdog))),
        }))
    }
}

impl ProcessRunner for HostProcesses {
    fn spawn(
        &self,
        request: ProcessRequest,
        output: Arc<dyn OutputSink>,
    ) -> BoxFuture<'_, io::Result<Box<dyn RunningProcess>>> {
        Box::pin(async move { self.start(&request, &output) })
    }

    #[cfg(unix)]
    fn all_ended(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            while self.watchdog.is_busy() {
                sleep(POLL).await;
            }
        })
    }
}

// The environment may hold secrets.
impl fmt::Debug for HostProcesses {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HostProcesses").finish_non_exhaustive()
    }
}

/// The inherited variables without the removed ones and with the search path made absolute.
fn inherit(
    variables: Vec<(OsString, OsString)>,
    removed: &[String],
) -> impl Iterator<Item = (OsString, OsString)> {
    variables.into_iter().filter(|(name, _)| !is_removed(name, removed)).map(|(name, value)| {
        let value = if name == "PATH" { absolute_entries(&value) } else { value };
        (name, value)
    })
}

fn is_removed(name: &OsStr, removed: &[String]) -> bool {
    removed.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(prefix) => name.as_encoded_bytes().starts_with(prefix.as_bytes()),
        None => name == pattern.as_str(),
    })
}

fn absolute_entries(path: &OsStr) -> OsString {
    let entries: Vec<_> = env::split_paths(path).filter(|entry| entry.is_absolute()).collect();
    match env::join_paths(&entries) {
        Ok(path) if !path.is_empty() => path,
        Ok(_) | Err(_) => FALLBACK_PATH.into(),
    }
}

struct HostProcess {
    child: Box<dyn ChildWrapper>,
    family: Family,
    /// Tells the reader that the process is gone.
    ended: CancellationToken,
    /// Closed once the sink gets no more.
    drained: mpsc::Receiver<()>,
    reader: JoinHandle<()>,
    status: Option<ExitStatus>,
    /// Whether it ended by itself or was killed; otherwise dropping kills.
    over: bool,
    /// Its session, and who ends that with this program.
    #[cfg(unix)]
    watched: Option<(u32, Arc<watchdog::Watchdog>)>,
}

impl HostProcess {
    async fn reap(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        let status = exit_status(self.child.wait().await?);
        self.status = Some(status);
        Ok(status)
    }

    /// Takes what is still in the pipes; the sink gets nothing afterwards.
    async fn settle(&mut self) {
        self.ended.cancel();
        while self.drained.recv().await.is_some() {}
    }

    fn force(&mut self) {
        self.family.force();
        // The one error that can happen is that it is gone already.
        let _gone = self.child.start_kill();
    }

    async fn is_gone_within(&mut self, limit: Duration) -> bool {
        let gone = async {
            self.reap().await?;
            while self.family.is_alive() {
                sleep(POLL).await;
            }
            Ok::<(), io::Error>(())
        };
        matches!(timeout(limit, gone).await, Ok(Ok(())))
    }
}

impl RunningProcess for HostProcess {
    fn id(&self) -> Option<u32> {
        self.child.id()
    }

    fn wait(&mut self) -> BoxFuture<'_, io::Result<ExitStatus>> {
        Box::pin(async move {
            let status = self.reap().await?;
            self.settle().await;
            self.over = true;
            #[cfg(unix)]
            if let Some((session, watchdog)) = self.watched.take() {
                watchdog.keep(session);
            }
            Ok(status)
        })
    }

    fn kill(&mut self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move {
            self.family.ask();
            if !self.is_gone_within(ASKED).await {
                self.force();
                let _gone = self.is_gone_within(FORCED).await;
            }
            self.settle().await;
            if self.status.is_none() {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the process does not end"));
            }
            self.over = true;
            Ok(())
        })
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        if !self.over {
            self.force();
            self.reader.abort();
        }
        #[cfg(unix)]
        if let Some((session, watchdog)) = self.watched.take() {
            watchdog.remove(session);
        }
    }
}

/// Drains both pipes: into the sink while the process lives and a moment longer, then into nothing, so that a server in
/// the background does not die of a closed pipe.
async fn drain(
    mut pipes: Pipes,
    sink: Arc<dyn OutputSink>,
    ended: CancellationToken,
    working: mpsc::Sender<()>,
) {
    while !ended.is_cancelled() {
        tokio::select! {
            biased;
            piece = pipes.read() => match piece {
                Some((stream, bytes)) => sink.write(stream, bytes),
                None => return,
            },
            () = ended.cancelled() => {}
        }
    }
    let ended_at = Instant::now();
    while ended_at.elapsed() < LATE {
        match timeout(QUIET, pipes.read()).await {
            Ok(Some((stream, bytes))) => sink.write(stream, bytes),
            Ok(None) => return,
            Err(_) => break,
        }
    }
    drop((sink, working));
    while pipes.read().await.is_some() {}
}

/// Both output pipes of a process, as one source of pieces.
struct Pipes {
    out: Option<ChildStdout>,
    err: Option<ChildStderr>,
    /// Which one is asked first: not the one that gave the last piece, so that a flood of one does not starve the other.
    first: StdStream,
    buffer: Vec<u8>,
}

impl Pipes {
    fn new(out: Option<ChildStdout>, err: Option<ChildStderr>) -> Self {
        Self { out, err, first: StdStream::Out, buffer: vec![0; PIECE] }
    }

    /// The next piece of either pipe; `None` when both have ended.
    async fn read(&mut self) -> Option<(StdStream, &[u8])> {
        let Self { out, err, first, buffer } = self;
        let (stream, length) = poll_fn(|context| {
            let order = match first {
                StdStream::Out => [StdStream::Out, StdStream::Err],
                StdStream::Err => [StdStream::Err, StdStream::Out],
            };
            for stream in order {
                let piece = match stream {
                    StdStream::Out => poll_piece(out, buffer, context),
                    StdStream::Err => poll_piece(err, buffer, context),
                };
                if let Poll::Ready(length) = piece {
                    return Poll::Ready(Some((stream, length)));
                }
            }
            if out.is_none() && err.is_none() { Poll::Ready(None) } else { Poll::Pending }
        })
        .await?;
        *first = match stream {
            StdStream::Out => StdStream::Err,
            StdStream::Err => StdStream::Out,
        };
        Some((stream, buffer.get(..length)?))
    }
}

/// Reads one piece; a pipe that has ended or failed is closed and gives nothing.
fn poll_piece(
    pipe: &mut Option<impl AsyncRead + Unpin>,
    buffer: &mut [u8],
    context: &mut Context<'_>,
) -> Poll<usize> {
    let Some(open) = pipe else { return Poll::Pending };
    let mut buffer = ReadBuf::new(buffer);
    match Pin::new(open).poll_read(context, &mut buffer) {
        Poll::Ready(Ok(())) if !buffer.filled().is_empty() => Poll::Ready(buffer.filled().len()),
        Poll::Ready(_) => {
            *pipe = None;
            Poll::Pending
        }
        Poll::Pending => Poll::Pending,
    }
}

#[cfg(unix)]
fn exit_status(status: std::process::ExitStatus) -> ExitStatus {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => ExitStatus::Code(code),
        (None, Some(signal)) => ExitStatus::Signal(signal),
        (None, None) => ExitStatus::Code(-1),
    }
}

#[cfg(not(unix))]
fn exit_status(status: std::process::ExitStatus) -> ExitStatus {
    ExitStatus::Code(status.code().unwrap_or(-1))
}
