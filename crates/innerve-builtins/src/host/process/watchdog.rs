//! Ends what this program leaves running, however the program ends.
//!
//! Nothing inside a process can act after `kill -9`, and `PR_SET_PDEATHSIG` reaches only a direct child. So a small
//! shell waits on a pipe whose other end this program alone holds, and which the kernel closes with it. It is told which
//! sessions run; when the pipe ends it asks their processes to end, and two seconds later forces them.
//!
//! What is reached: every process of a session that a command began in, whether the command has ended or not. What has
//! made a session of its own (`setsid`, a daemon) was told to outlive its starter, and does. A command may begin, and even
//! kill this program, before this program has learnt its session: so the shell is told before that a command will bear a
//! certain mark in its environment. Where there is no `/proc` to look for it, such a command is not reached.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, PipeWriter, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::family::is_session_alive;

/// Reads the list of sessions, one line for each state of it, and acts on the last whole line.
///
/// A word that begins with `m` is the mark of a command that was about to begin: by it the session is found. The pipe ends
/// no sooner than the command has begun, as its process holds the pipe too until then.
///
/// Where there is no `/proc`, the groups that bear the sessions' numbers are what can be reached.
///
/// The outer shell ends at once, so that this program has nobody to wait for in the end.
const SCRIPT: &str = r#"exec 3<&0
(
trap '' HUP INT QUIT TERM PIPE
exec <&3 3<&-
list=
while read -r line; do list=$line; done
sessions=
for word in $list; do
  case $word in m*) continue ;; esac
  sessions="$sessions $word"
done
for word in $list; do
  case $word in m*) ;; *) continue ;; esac
  for file in /proc/[0-9]*/environ; do
    grep -Fqs "INNERVE_COMMAND=${word#m}" "$file" || continue
    { read -r line <"${file%environ}stat"; } 2>/dev/null || continue
    set -- ${line##*) }
    sessions="$sessions $4"
  done
done
reach() {
  found=
  if [ -r /proc/self/stat ]; then
    for file in /proc/[0-9]*/stat; do
      { read -r line <"$file"; } 2>/dev/null || continue
      id=${line%% *}
      set -- ${line##*) }
      case $1 in Z|X) continue ;; esac
      case " $sessions " in *" $4 "*) kill -s "$signal" "$id" 2>/dev/null && found=1 ;; esac
    done
  else
    for id in $sessions; do kill -s "$signal" -- -"$id" 2>/dev/null && found=1; done
  fi
}
signal=TERM; reach
for _ in 1 2 3 4 5 6 7 8 9 10; do
  [ -n "$found" ] || exit 0
  sleep 0.2
  signal=0; reach
done
signal=KILL; reach
) &
"#;

/// The variable that holds a command's mark.
pub(super) const MARK: &str = "INNERVE_COMMAND";
/// How often it is looked whether what was left behind still runs: a number must not be used again while it is listed.
const SWEEP: Duration = Duration::from_secs(1);
/// What a pipe takes in one piece or not at all (POSIX: `PIPE_BUF` is 512 at least; Linux has 4096).
const MAX_LINE: usize = if cfg!(target_os = "linux") { 4_000 } else { 500 };

/// Names a command of this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mark(u64);

impl fmt::Display for Mark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The point at the end keeps it from being the beginning of another.
        write!(formatter, "{}.{}.", std::process::id(), self.0)
    }
}

/// Knows which sessions run, and keeps the shell informed that ends them.
#[derive(Default)]
pub(super) struct Watchdog(Mutex<State>);

#[derive(Default)]
struct State {
    sessions: BTreeSet<u32>,
    /// The commands that are about to begin.
    beginning: BTreeSet<Mark>,
    /// The mark that was given last.
    last: u64,
    /// The pipe to the shell; `None` before there was anything to tell.
    pipe: Option<PipeWriter>,
}

impl Watchdog {
    /// A command is about to begin, and must have this in its environment: until it has begun, nobody knows its session.
    pub(super) fn begin(&self) -> Mark {
        let mut state = self.state();
        state.last += 1;
        let mark = Mark(state.last);
        state.beginning.insert(mark);
        state.tell();
        mark
    }

    /// The command of this mark runs in the session with this number, or could not begin.
    pub(super) fn began(&self, mark: Mark, session: Option<u32>) {
        let mut state = self.state();
        state.beginning.remove(&mark);
        state.sessions.extend(session);
        state.tell();
    }

    /// Nothing of this session runs any more, or what does is forced to end.
    pub(super) fn remove(&self, session: u32) {
        let mut state = self.state();
        if state.sessions.remove(&session) {
            state.tell();
        }
    }

    /// The command of this session has ended by itself: what it left behind is watched until it has ended too.
    pub(super) fn keep(self: &Arc<Self>, session: u32) {
        let watchdog = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                let alive = tokio::task::spawn_blocking(move || is_session_alive(session)).await;
                match (alive, watchdog.upgrade()) {
                    (Ok(true), Some(_)) => {}
                    (Ok(false), Some(watchdog)) => return watchdog.remove(session),
                    (Ok(_) | Err(_), None) | (Err(_), Some(_)) => return,
                }
                tokio::time::sleep(SWEEP).await;
            }
        });
    }

    /// Whether anything runs.
    pub(super) fn is_busy(&self) -> bool {
        !self.state().sessions.is_empty()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Tells the list; a shell that is gone is replaced once.
    fn tell(&mut self) {
        let mut line = String::new();
        let marks = self.beginning.iter().map(|mark| format!("m{mark} "));
        for word in marks.chain(self.sessions.iter().map(|session| format!("{session} "))) {
            if line.len() + word.len() < MAX_LINE {
                line.push_str(&word);
            }
        }
        line.push('\n');
        for _ in 0..2 {
            if self.pipe.is_none() {
                // A system without a shell runs no commands either.
                self.pipe = start().ok();
            }
            let Some(pipe) = &mut self.pipe else { return };
            match pipe.write_all(line.as_bytes()) {
                Ok(()) => return,
                // The shell is stopped; the next list it gets is whole again.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.pipe = None,
            }
        }
    }
}

/// Starts the shell, out of reach of the terminal's signals.
fn start() -> io::Result<PipeWriter> {
    let (reader, writer) = io::pipe()?;
    // Whatever becomes of the shell, this program never waits for it.
    rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::NONBLOCK)?;
    Command::new("/bin/sh")
        .args(["-c", SCRIPT, "innerve-watchdog"])
        .current_dir("/")
        .env_clear()
        .env("PATH", super::FALLBACK_PATH)
        .stdin(Stdio::from(reader))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .status()?;
    Ok(writer)
}

impl fmt::Debug for Watchdog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Watchdog").field("sessions", &self.state().sessions).finish()
    }
}
