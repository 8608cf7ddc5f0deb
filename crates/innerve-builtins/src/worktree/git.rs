//! Runs git for the worktree tools, so that nothing that a repository names is run by it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use innerve_tool::port::{Clock, ExitStatus, OutputSink, ProcessRequest, ProcessRunner, StdStream};
use innerve_tool::{CancellationToken, ToolError, code as tool_code};

use crate::code;

/// How long git may take; a checkout of a large repository takes its time.
const TIME_LIMIT: Duration = Duration::from_mins(5);
/// How much of its output is kept, in bytes.
const MAX_OUTPUT: usize = 256 * 1024;
/// Programs of the repository that would run by themselves.
const SETTINGS: &[&str] =
    &["core.hooksPath=/dev/null", "core.fsmonitor=false", "advice.detachedHead=false"];

/// git in a process of its own.
#[derive(Clone)]
pub(super) struct Git {
    pub(super) processes: Arc<dyn ProcessRunner>,
    pub(super) clock: Arc<dyn Clock>,
}

/// A working tree of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Worktree {
    pub(super) path: PathBuf,
    pub(super) branch: Option<String>,
}

impl Git {
    /// What git prints; its words are the error when it fails.
    pub(super) async fn run(
        &self,
        directory: &Path,
        arguments: &[&str],
        cancellation: &CancellationToken,
    ) -> Result<String, ToolError> {
        let mut args = vec!["--no-pager".to_owned()];
        args.extend(SETTINGS.iter().flat_map(|setting| ["-c".to_owned(), (*setting).to_owned()]));
        args.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        let request = ProcessRequest {
            program: "git".into(),
            args,
            cwd: directory.to_owned(),
            env: [("GIT_TERMINAL_PROMPT", "0"), ("LC_ALL", "C")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
            // They would lead to another repository, or make git run programs.
            env_remove: ["GIT_*"].map(str::to_owned).to_vec(),
            tool_use: None,
        };
        let output = Arc::new(Collected::default());
        let what = "git cannot be started";
        let mut process = self
            .processes
            .spawn(request, Arc::<Collected>::clone(&output) as _)
            .await
            .map_err(|error| ToolError::io(what, &error))?;
        let ended = tokio::select! {
            biased;
            status = process.wait() => Some(status),
            () = cancellation.cancelled() => None,
            () = self.clock.sleep(TIME_LIMIT) => None,
        };
        match ended {
            Some(Ok(ExitStatus::Code(0))) => Ok(output.text(StdStream::Out)),
            Some(Ok(ExitStatus::Code(_) | ExitStatus::Signal(_))) => {
                let words = output.text(StdStream::Err);
                Err(ToolError::new(code::WORKTREE, format!("git failed: {}", words.trim())))
            }
            Some(Err(error)) => Err(ToolError::io(what, &error)),
            None => {
                drop(process.kill().await);
                if cancellation.is_cancelled() {
                    return Err(ToolError::interrupted());
                }
                Err(ToolError::new(tool_code::TIMED_OUT, "git did not end in time"))
            }
        }
    }

    /// The root of the working tree that a directory lies in.
    pub(super) async fn top(
        &self,
        directory: &Path,
        cancellation: &CancellationToken,
    ) -> Result<PathBuf, ToolError> {
        let printed = self.run(directory, &["rev-parse", "--show-toplevel"], cancellation).await;
        let top = printed.map_err(|error| {
            if error.code() != code::WORKTREE {
                return error;
            }
            ToolError::new(
                code::WORKTREE,
                format!(
                    "`{}` is not in a git repository, so that it has no worktrees",
                    directory.display()
                ),
            )
        })?;
        Ok(PathBuf::from(top.trim_end_matches('\n')))
    }

    /// All working trees of the repository, the main one first.
    pub(super) async fn worktrees(
        &self,
        directory: &Path,
        cancellation: &CancellationToken,
    ) -> Result<Vec<Worktree>, ToolError> {
        let printed =
            self.run(directory, &["worktree", "list", "--porcelain", "-z"], cancellation).await?;
        let mut trees: Vec<Worktree> = Vec::new();
        for line in printed.split('\0') {
            if let Some(path) = line.strip_prefix("worktree ") {
                trees.push(Worktree { path: path.into(), branch: None });
            } else if let Some(branch) = line.strip_prefix("branch ")
                && let Some(tree) = trees.last_mut()
            {
                tree.branch = Some(branch.trim_start_matches("refs/heads/").to_owned());
            }
        }
        Ok(trees)
    }
}

/// Keeps both streams apart.
#[derive(Default)]
struct Collected(Mutex<[Vec<u8>; 2]>);

impl Collected {
    fn text(&self, stream: StdStream) -> String {
        let streams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let [out, err] = &*streams;
        String::from_utf8_lossy(if stream == StdStream::Out { out } else { err }).into_owned()
    }
}

impl OutputSink for Collected {
    fn write(&self, stream: StdStream, bytes: &[u8]) {
        let mut streams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let [out, err] = &mut *streams;
        let kept = if stream == StdStream::Out { out } else { err };
        let room = MAX_OUTPUT.saturating_sub(kept.len());
        kept.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }
}
