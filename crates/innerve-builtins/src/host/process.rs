//! Real processes: each in a session of its own, both pipes drained at once, ended with all that they started.

mod family;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use innerve_tool::port::{
    ExitStatus, OutputSink, ProcessRequest, ProcessRunner, RunningProcess, StdStream,
};
use innerve_tool::{BoxFuture, CancellationToken};
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use tokio::io::{AsyncRead, AsyncReadExt as _};
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
/// What a process leaves in its background when it ends by itself goes on and its output is dropped, as in any shell.
/// A process that is killed, or dropped before it has ended, takes its whole group with it; on Linux also children
/// that made a group or session of their own (`setsid`), as long as a process of the family is their parent.
#[derive(Clone, Default)]
pub struct HostProcesses {
    environment: Option<Vec<(OsString, OsString)>>,
}

impl HostProcesses {
    /// Processes inherit the environment of this process.
    pub fn new() -> Self {
        Self::default()
    }

    /// Processes inherit these variables instead of those of this process.
    pub fn with_environment(environment: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self { environment: Some(environment.into_iter().collect()) }
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
        let mut child = command.spawn()?;

        let family = Family::of(child.id());
        let ended = CancellationToken::new();
        let (working, drained) = mpsc::channel(1);
        let mut readers = Vec::new();
        if let Some(pipe) = child.stdout().take() {
            let reader = Reader::new(StdStream::Out, output, &ended, &working);
            readers.push(tokio::spawn(reader.run(pipe)));
        }
        if let Some(pipe) = child.stderr().take() {
            let reader = Reader::new(StdStream::Err, output, &ended, &working);
            readers.push(tokio::spawn(reader.run(pipe)));
        }
        Ok(Box::new(HostProcess {
            child,
            family,
            ended,
            drained,
            readers,
            status: None,
            over: false,
        }))
    }
}

impl ProcessRunner for HostProcesses {
    fn spawn<'a>(
        &'a self,
        request: ProcessRequest,
        output: Arc<dyn OutputSink>,
    ) -> BoxFuture<'a, io::Result<Box<dyn RunningProcess>>> {
        Box::pin(async move { self.start(&request, &output) })
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
    /// Tells the readers that the process is gone.
    ended: CancellationToken,
    /// Closed once no reader writes to the sink any more.
    drained: mpsc::Receiver<()>,
    readers: Vec<JoinHandle<()>>,
    status: Option<ExitStatus>,
    /// Whether it ended by itself or was killed; otherwise dropping kills.
    over: bool,
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
        // Nothing is ever sent: the channel closes when the readers let go of it.
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
            for reader in &self.readers {
                reader.abort();
            }
        }
    }
}

/// Drains one pipe: into the sink while the process lives and a moment longer, then into nothing, so that a server in
/// the background does not die of a closed pipe.
struct Reader {
    stream: StdStream,
    sink: Arc<dyn OutputSink>,
    ended: CancellationToken,
    /// Held until the sink gets no more; nothing is sent.
    _working: mpsc::Sender<()>,
}

impl Reader {
    fn new(
        stream: StdStream,
        sink: &Arc<dyn OutputSink>,
        ended: &CancellationToken,
        working: &mpsc::Sender<()>,
    ) -> Self {
        Self { stream, sink: Arc::clone(sink), ended: ended.clone(), _working: working.clone() }
    }

    async fn run(self, mut pipe: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; PIECE];
        let is_open = self.deliver(&mut pipe, &mut buffer).await;
        drop(self);
        while is_open && matches!(pipe.read(&mut buffer).await, Ok(1..)) {}
    }

    /// Whether the pipe is still open when the sink gets no more.
    async fn deliver(&self, pipe: &mut (impl AsyncRead + Unpin), buffer: &mut [u8]) -> bool {
        while !self.ended.is_cancelled() {
            tokio::select! {
                biased;
                read = pipe.read(buffer) => if !self.take(read, buffer) { return false },
                () = self.ended.cancelled() => {}
            }
        }
        let ended_at = Instant::now();
        while ended_at.elapsed() < LATE {
            match timeout(QUIET, pipe.read(buffer)).await {
                Ok(read) => {
                    if !self.take(read, buffer) {
                        return false;
                    }
                }
                Err(_) => return true,
            }
        }
        true
    }

    /// Gives what was read to the sink; `false` at the end of the pipe.
    fn take(&self, read: io::Result<usize>, buffer: &[u8]) -> bool {
        match read.ok().and_then(|length| buffer.get(..length)) {
            Some(bytes) if !bytes.is_empty() => {
                self.sink.write(self.stream, bytes);
                true
            }
            Some(_) | None => false,
        }
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
