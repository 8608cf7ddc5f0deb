//! The servers of a session: started side by side and without waiting, told apart by name, ended together.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use innerve_pipeline::Approver;
use innerve_tool::{CancellationToken, DynTool};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::config::ServerConfig;
use crate::connect::keep;
use crate::link::{Link, Problem, ServerState};
use crate::tool::LeftOut;

/// Tokens of a result when nothing else is said (Claude Code documentation, "MCP").
const OUTPUT_TOKENS: usize = 25_000;
/// Characters that make a token, roughly.
const CHARS_PER_TOKEN: usize = 4;
/// How long servers may take to end, all together, before they are forced.
const END: Duration = Duration::from_secs(5);

/// What servers get of the session, and what is done with what they give.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// The directory that servers are started in.
    pub cwd: PathBuf,
    /// The directories that servers are told of as roots.
    pub roots: Vec<PathBuf>,
    /// The folder for what a model cannot be shown.
    pub attachments: PathBuf,
    /// Who answers the questions of servers; without one they are told that nobody does.
    pub approver: Option<Arc<dyn Approver>>,
    /// The environment that servers inherit, without what looks like a secret.
    pub environment: Vec<(OsString, OsString)>,
    /// Tokens of a result that go into the conversation; a longer one is saved and shown in part.
    pub output_tokens: usize,
}

impl Options {
    /// Options with nobody to ask and an empty environment.
    pub fn new(cwd: impl Into<PathBuf>, attachments: impl Into<PathBuf>) -> Self {
        let cwd = cwd.into();
        Self {
            roots: vec![cwd.clone()],
            cwd,
            attachments: attachments.into(),
            approver: None,
            environment: Vec::new(),
            output_tokens: OUTPUT_TOKENS,
        }
    }

    pub(crate) fn output_chars(&self) -> usize {
        self.output_tokens.saturating_mul(CHARS_PER_TOKEN)
    }
}

/// The servers of a session. Dropping it ends them.
pub struct Servers {
    links: Vec<Arc<Link>>,
    changes: Arc<Changes>,
    cancellation: CancellationToken,
    tasks: tokio::sync::Mutex<JoinSet<()>>,
}

/// How one server is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerStatus {
    /// Its name.
    pub name: String,
    /// How it is reached: `stdio` or `http`.
    pub transport: &'static str,
    /// How it is.
    pub state: ServerState,
    /// Its tools, by the names that a model calls them.
    pub tools: Vec<String>,
    /// Tools that it offers and that cannot be used.
    pub left_out: Vec<LeftOut>,
    /// What is wrong with it.
    pub problem: Option<Problem>,
    /// The name and version that it gives itself.
    pub version: Option<String>,
    /// What it says of its own use.
    pub instructions: Option<String>,
}

/// Counts the changes of all servers.
#[derive(Default)]
pub(crate) struct Changes {
    generation: AtomicU64,
    happened: Notify,
}

impl Changes {
    pub(crate) fn tools_changed(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.notify();
    }

    pub(crate) fn notify(&self) {
        self.happened.notify_waiters();
    }
}

impl Servers {
    /// Starts the servers and gives back at once; must be called within a tokio runtime.
    pub fn start(configs: Vec<ServerConfig>, options: &Options) -> Self {
        let cancellation = CancellationToken::new();
        let changes = Arc::<Changes>::default();
        let mut tasks = JoinSet::new();
        let options = Arc::new(options.clone());
        let link =
            |config| Link::new(config, &options, Arc::clone(&changes), cancellation.child_token());
        let links: Vec<Arc<Link>> = configs.into_iter().map(link).collect();
        for link in &links {
            tasks.spawn(keep(Arc::clone(link), Arc::clone(&options)));
        }
        Self { links, changes, cancellation, tasks: tokio::sync::Mutex::new(tasks) }
    }

    /// Whether there is any server.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Changes whenever the tools of any server do.
    pub fn generation(&self) -> u64 {
        self.changes.generation.load(Ordering::SeqCst)
    }

    /// The tools of all servers that answer.
    pub fn tools(&self) -> Vec<Arc<dyn DynTool>> {
        self.links.iter().flat_map(|link| link.built().tools).collect()
    }

    /// How each server is, sorted as they were given.
    pub fn statuses(&self) -> Vec<ServerStatus> {
        self.links.iter().map(|link| link.status()).collect()
    }

    /// Waits until no server is starting for the first time and none has said that its tools change without having told
    /// them, at most so long.
    pub async fn settled(&self, limit: Duration) {
        let is_unsettled =
            |link: &Arc<Link>| link.state() == ServerState::Starting || link.relist.is_due();
        let wait = async {
            loop {
                let happened = self.changes.happened.notified();
                tokio::pin!(happened);
                happened.as_mut().enable();
                if !self.links.iter().any(is_unsettled) {
                    return;
                }
                happened.await;
            }
        };
        let _late = timeout(limit, wait).await;
    }

    /// Ends all servers in good order: their input ends, they are asked, they are forced.
    pub async fn close(&self) {
        self.cancellation.cancel();
        let mut tasks = self.tasks.lock().await;
        let all = async { while tasks.join_next().await.is_some() {} };
        let ended = timeout(END, all).await;
        if ended.is_err() {
            tasks.abort_all();
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.cancellation.cancel();
    }
}

impl fmt::Debug for Servers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Servers").field("links", &self.links).finish_non_exhaustive()
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Options")
            .field("cwd", &self.cwd)
            .field("roots", &self.roots)
            .field("output_tokens", &self.output_tokens)
            .finish_non_exhaustive()
    }
}
