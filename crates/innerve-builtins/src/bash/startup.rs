//! What bash does before and after a command, so that the command itself stays the whole text given to `bash -c`.
//!
//! Before: standard error joins standard output, since of two pipes nobody can tell in which order they were written to.
//! After: an EXIT trap tells where the command ended. Both are set up by a file that bash reads first (`BASH_ENV`).
//!
//! The alternatives are worse: text put around the command is no longer what was analysed, `eval` changes error
//! messages and positional parameters, and the directory of a process that has ended cannot be read from `/proc`. What
//! the trap costs: a command that sets its own EXIT trap, ends in `exec` or dies of SIGKILL does not tell where it
//! ended, and then the session stays where it was. It sees one more line in the output of `trap`. Exit codes, signals
//! and subshells are not affected.

#[cfg(unix)]
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The longest path that is taken from a command, in bytes (`PATH_MAX` of Linux).
const MAX_PATH: u64 = 4096;

/// The file that bash reads first, and the place where a command leaves the directory that it ended in; both are gone
/// when it is dropped.
#[derive(Debug)]
pub(super) struct Startup {
    folder: TempDir,
    start: String,
}

impl Startup {
    /// Makes both in a folder in `scratch`, readable by the user alone. `None` if they cannot be made: then the
    /// directory is not followed, and what was written to the two streams comes in the order in which it is read.
    pub(super) fn prepare(scratch: &Path) -> Option<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("innerve-bash-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(fs::Permissions::from_mode(0o700));
        }
        let folder = builder.tempdir_in(scratch).ok()?;
        let start = folder.path().join("start").to_str()?.to_owned();
        let end = folder.path().join("end").to_str()?.to_owned();
        // Bash expands the value of BASH_ENV, and the trap is read as shell text: neither path may need quoting.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
        if !start.chars().all(is_plain) {
            return None;
        }
        // The file is there before, so that no umask of the command makes it unreadable. The group hides the lines
        // of `set -x`; `>|` works with `set -C`.
        let trap = format!("{{ set +xv; builtin pwd -P; }} 2>/dev/null >|{end}");
        fs::write(&end, "").ok()?;
        fs::write(&start, format!("unset BASH_ENV\nexec 2>&1\ntrap '{trap}' EXIT\n")).ok()?;
        Some(Self { folder, start })
    }

    /// The variable that makes bash read the file.
    pub(super) fn variable(&self) -> (String, String) {
        ("BASH_ENV".to_owned(), self.start.clone())
    }

    /// The directory the command ended in, links resolved; `None` if it did not tell or the directory is gone.
    pub(super) fn end_directory(&self) -> Option<PathBuf> {
        let file = self.folder.path().join("end");
        if fs::metadata(&file).ok()?.len() > MAX_PATH {
            return None;
        }
        let bytes = fs::read(file).ok()?;
        let bytes = bytes.strip_suffix(b"\n")?;
        #[cfg(unix)]
        let path = PathBuf::from(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes));
        #[cfg(not(unix))]
        let path = PathBuf::from(std::str::from_utf8(bytes).ok()?);
        (path.is_absolute() && path.is_dir()).then_some(path)
    }
}
