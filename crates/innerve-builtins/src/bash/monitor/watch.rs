//! One watch from its beginning to its end: tells what comes, and ends by itself, by its time, by a flood or by whoever
//! stops it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use innerve_tool::port::{Clock, ExitStatus, RunningProcess, TaskId, TaskRegistry, TaskState};
use innerve_tool::{BoxFuture, CancellationToken};

use super::super::{Lease, background, exit};
use super::lines::Lines;

/// What comes within this time is told together.
const BATCH: Duration = Duration::from_millis(200);
/// Lines in a minute; more are a flood.
pub(super) const MAX_MINUTE_LINES: usize = 600;

pub(super) struct Watch {
    pub(super) id: TaskId,
    pub(super) tasks: Arc<dyn TaskRegistry>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) stop: CancellationToken,
    pub(super) lines: Arc<Lines>,
    pub(super) limit: Option<Duration>,
}

/// Why a watch is over.
pub(super) enum End {
    Exit(io::Result<ExitStatus>),
    Stopped,
    TimedOut(Duration),
    Flood,
    /// The server has said goodbye.
    #[cfg(feature = "websocket")]
    Closed,
    /// The connection ended otherwise: how, in words.
    #[cfg(feature = "websocket")]
    Broken(String),
}

impl Watch {
    /// Watches a command.
    pub(super) async fn command(
        self,
        mut process: Box<dyn RunningProcess>,
        lease: Option<Box<dyn Lease>>,
    ) {
        let mut told = Told::new(&*self.clock);
        let exit = Box::pin(async { End::Exit(process.wait().await) });
        let end = self.watch(exit, &mut told, Telling::Joined).await;
        if !matches!(end, End::Exit(_)) {
            // What does not end now is forced to when it is dropped.
            drop(process.kill().await);
        }
        drop(process);
        let refused = background::told(lease.as_deref());
        drop(lease);
        self.end(end, told, Telling::Joined, &refused);
    }

    /// Watches messages; `source` puts them into the lines and ends with the connection.
    #[cfg(feature = "websocket")]
    pub(super) async fn messages(self, source: BoxFuture<'static, End>) {
        let mut told = Told::new(&*self.clock);
        let end = self.watch(source, &mut told, Telling::OneByOne).await;
        self.end(end, told, Telling::OneByOne, "");
    }

    fn end(self, end: End, mut told: Told, telling: Telling, refused: &str) {
        if !matches!(end, End::Flood) {
            let (lines, _) = self.lines.take(true);
            told.lines += lines.len();
            self.tell(&lines, telling);
        }
        self.lines.close(true);
        let seen = match telling {
            Telling::Joined => format!("{} lines", told.lines),
            #[cfg(feature = "websocket")]
            Telling::OneByOne => format!("{} messages", told.lines),
        };
        let state = match end {
            End::Exit(Ok(ExitStatus::Code(0))) => {
                TaskState::Completed(format!("exit code 0 after {seen}{refused}"))
            }
            End::Exit(Ok(ExitStatus::Code(code))) => {
                TaskState::Failed(format!("exit code {code} after {seen}{refused}"))
            }
            End::Exit(Ok(ExitStatus::Signal(signal))) => {
                TaskState::Failed(exit::killed_by(signal) + refused)
            }
            End::Exit(Err(error)) => TaskState::Failed(error.to_string()),
            End::Stopped => TaskState::Killed,
            End::TimedOut(limit) => TaskState::Completed(format!(
                "its time of {} was over after {seen}{refused}",
                exit::spoken(limit)
            )),
            End::Flood => TaskState::Failed(flood(telling).to_owned()),
            #[cfg(feature = "websocket")]
            End::Closed => {
                TaskState::Completed(format!("the server closed the connection after {seen}"))
            }
            #[cfg(feature = "websocket")]
            End::Broken(how) => TaskState::Failed(format!("{how}, after {seen}")),
        };
        self.tasks.update(&self.id, state);
    }

    async fn watch(
        &self,
        mut ending: BoxFuture<'_, End>,
        told: &mut Told,
        telling: Telling,
    ) -> End {
        let mut timer: BoxFuture<'static, ()> = match self.limit {
            Some(limit) => self.clock.sleep(limit),
            None => Box::pin(std::future::pending()),
        };
        let mut batch: Option<BoxFuture<'static, ()>> = None;
        loop {
            let is_quiet = batch.is_none();
            let due = async {
                match &mut batch {
                    Some(wait) => wait.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                end = &mut ending => return end,
                () = self.stop.cancelled() => return End::Stopped,
                () = &mut timer => return End::TimedOut(self.limit.unwrap_or_default()),
                () = due => {
                    batch = None;
                    let (lines, is_flood) = self.lines.take(false);
                    let is_flood = told.is_flood(lines.len(), &*self.clock) || is_flood;
                    self.tell(&lines, telling);
                    if is_flood {
                        return End::Flood;
                    }
                }
                () = self.lines.news.notified(), if is_quiet => batch = Some(self.clock.sleep(BATCH)),
            }
        }
    }

    fn tell(&self, lines: &[String], telling: Telling) {
        match telling {
            Telling::Joined if lines.is_empty() => {}
            Telling::Joined => self.tasks.report(&self.id, lines.join("\n")),
            #[cfg(feature = "websocket")]
            Telling::OneByOne => {
                for line in lines {
                    self.tasks.report(&self.id, line.clone());
                }
            }
        }
    }
}

/// How what comes together is told.
#[derive(Clone, Copy)]
enum Telling {
    /// As one event.
    Joined,
    /// Each is an event.
    #[cfg(feature = "websocket")]
    OneByOne,
}

fn flood(telling: Telling) -> &'static str {
    match telling {
        Telling::Joined => {
            "it was stopped, since it printed too many lines; watch again with a command that prints only what matters (grep \
             --line-buffered)"
        }
        #[cfg(feature = "websocket")]
        Telling::OneByOne => {
            "it was stopped, since too many messages came; watch a stream that has less to say, or a command that filters it"
        }
    }
}

/// How much was told.
struct Told {
    minute: std::time::Instant,
    in_minute: usize,
    lines: usize,
}

impl Told {
    fn new(clock: &dyn Clock) -> Self {
        Self { minute: clock.instant(), in_minute: 0, lines: 0 }
    }

    fn is_flood(&mut self, lines: usize, clock: &dyn Clock) -> bool {
        let now = clock.instant();
        if now.saturating_duration_since(self.minute) >= Duration::from_mins(1) {
            self.minute = now;
            self.in_minute = 0;
        }
        self.lines += lines;
        self.in_minute += lines;
        self.in_minute > MAX_MINUTE_LINES
    }
}
