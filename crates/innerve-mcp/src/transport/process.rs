//! A server's process: in a session of its own, ended with all that it started.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::time::{sleep, timeout};

#[cfg(unix)]
use crate::watchdog::Watchdog;

/// How long a server may take to end once its input has ended, and once more when it is asked to.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often it is looked whether anything of the group is left.
const POLL: Duration = Duration::from_millis(10);

/// Names of variables that hold secrets: a server gets those that its configuration names and no others.
const SECRET_PARTS: &[&str] = &["KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL"];
/// Beginnings of the names of variables that are about this program's own model.
const OWN: &[&str] = &["ANTHROPIC_", "OPENAI_", "INNERVE_"];

/// A running server. Dropping it ends it and all that it started.
pub(crate) struct Process {
    child: Box<dyn ChildWrapper>,
    group: Option<i32>,
    is_over: bool,
    #[cfg(unix)]
    watchdog: Option<Watchdog>,
}

/// The pipes of a server.
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

impl Process {
    /// Starts a server.
    pub(crate) fn start<'a>(
        command: &str,
        args: &[String],
        env: impl IntoIterator<Item = (&'a String, &'a String)>,
        inherited: &[(OsString, OsString)],
        cwd: &Path,
    ) -> io::Result<(Self, Pipes)> {
        let mut wrapped = CommandWrap::with_new(command, |command| {
            command
                .args(args)
                .current_dir(cwd)
                .env_clear()
                .envs(inherited.iter().filter(|(name, _)| is_handed_on(name)).cloned())
                .envs(env)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
        });
        #[cfg(unix)]
        wrapped.wrap(process_wrap::tokio::ProcessSession);
        wrapped.wrap(KillOnDrop);
        let mut child = wrapped.spawn()?;
        let missing = || io::Error::other("the server has no pipes");
        let pipes = Pipes {
            stdin: child.stdin().take().ok_or_else(missing)?,
            stdout: child.stdout().take().ok_or_else(missing)?,
            stderr: child.stderr().take().ok_or_else(missing)?,
        };
        let leader = child.id();
        let process = Self {
            child,
            group: leader.and_then(|id| i32::try_from(id).ok()),
            is_over: false,
            // Without a shell the server still ends with its input.
            #[cfg(unix)]
            watchdog: leader.and_then(|id| Watchdog::over(id).ok()),
        };
        Ok((process, pipes))
    }

    /// How the server ended, if it did within this time.
    pub(crate) async fn ended(&mut self, limit: Duration) -> Option<ExitStatus> {
        timeout(limit, self.child.wait()).await.ok()?.ok()
    }

    /// Ends the server: its input has ended already, so it is waited for, then asked, then forced; and what it left with it.
    pub(crate) async fn end(&mut self) {
        if self.is_over {
            return;
        }
        if self.ended(PATIENCE).await.is_none() {
            self.signal(false);
            let _late = self.ended(PATIENCE).await;
        }
        if self.signal(false) {
            let patience = timeout(PATIENCE, async {
                while self.signal_exists() {
                    sleep(POLL).await;
                }
            });
            if patience.await.is_err() {
                self.signal(true);
            }
        }
        let _late = self.ended(PATIENCE).await;
        self.over();
    }

    fn over(&mut self) {
        self.is_over = true;
        #[cfg(unix)]
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.release();
        }
    }

    /// Signals the whole group; says whether there was anybody left.
    #[cfg(unix)]
    fn signal(&mut self, force: bool) -> bool {
        use rustix::process::{Pid, Signal, kill_process_group};
        let signal = if force { Signal::KILL } else { Signal::TERM };
        self.group
            .and_then(Pid::from_raw)
            .is_some_and(|group| kill_process_group(group, signal).is_ok())
    }

    #[cfg(unix)]
    fn signal_exists(&self) -> bool {
        use rustix::process::{Pid, test_kill_process_group};
        self.group
            .and_then(Pid::from_raw)
            .is_some_and(|group| test_kill_process_group(group).is_ok())
    }

    #[cfg(not(unix))]
    fn signal(&mut self, _force: bool) -> bool {
        self.child.start_kill().is_ok()
    }

    #[cfg(not(unix))]
    fn signal_exists(&self) -> bool {
        false
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.is_over {
            self.signal(true);
            self.over();
        }
    }
}

/// Whether a server inherits a variable.
fn is_handed_on(name: &OsString) -> bool {
    let Some(name) = name.to_str() else { return false };
    let upper = name.to_ascii_uppercase();
    !OWN.iter().any(|prefix| upper.starts_with(prefix))
        && !SECRET_PARTS.iter().any(|part| upper.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_the_environment_are_not_handed_on() {
        for name in [
            "ANTHROPIC_BASE_URL",
            "GITHUB_TOKEN",
            "aws_secret_access_key",
            "PGPASSWORD",
            "OPENAI_API_KEY",
        ] {
            assert!(!is_handed_on(&name.into()), "{name}");
        }
        for name in ["PATH", "HOME", "LANG", "HTTPS_PROXY", "NODE_EXTRA_CA_CERTS"] {
            assert!(is_handed_on(&name.into()), "{name}");
        }
    }
}
