//! Ends a server's processes when this program is gone and cannot do it: after `kill -9`.
//!
//! A small shell waits on a pipe whose other end this program alone holds, and which the kernel closes with it. A program
//! that stops its server in good order tells the shell so first.

use std::io::{self, PipeWriter, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

/// Waits for a line or the end of the pipe; without the line the group `$1` is asked to end, then forced.
///
/// The outer shell ends at once, so that this program has nobody to wait for in the end.
const SCRIPT: &str = r#"exec 3<&0
(
trap '' HUP INT QUIT TERM PIPE
exec <&3 3<&-
read -r line && exit 0
kill -s TERM -- "-$1" 2>/dev/null || exit 0
sleep 2
kill -s KILL -- "-$1" 2>/dev/null
) &
"#;

/// Watches over the process group of one server.
#[derive(Debug)]
pub(crate) struct Watchdog(PipeWriter);

impl Watchdog {
    /// Starts to watch; the shell is out of reach of the terminal's signals.
    pub(crate) fn over(group: u32) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        Command::new("/bin/sh")
            .args(["-c", SCRIPT, "innerve-watchdog", &group.to_string()])
            .current_dir("/")
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .stdin(Stdio::from(reader))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .status()?;
        Ok(Self(writer))
    }

    /// The server has ended: its number may be another's soon.
    pub(crate) fn release(mut self) {
        // A shell that is gone watches nothing.
        let _gone = self.0.write_all(b"done\n");
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_group_that_nobody_released_is_forced_to_end() {
        // It does not want to, and it has a child.
        let script = "trap '' TERM; sleep 300 & wait; sleep 300";
        let mut command = Command::new("/bin/sh");
        let mut victim = command.args(["-c", script]).process_group(0).spawn().unwrap();
        let watchdog = Watchdog::over(victim.id()).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(victim.try_wait().unwrap(), None);
        drop(watchdog);
        let deadline = Instant::now() + Duration::from_secs(10);
        while victim.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "it still runs");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn a_group_that_was_released_is_left_alone() {
        let mut command = Command::new("/bin/sh");
        let mut other = command.args(["-c", "exec sleep 300"]).process_group(0).spawn().unwrap();
        Watchdog::over(other.id()).unwrap().release();
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(other.try_wait().unwrap(), None);
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
