//! Where a command ends: told by an EXIT trap, so that the command itself stays the whole text given to `bash -c`.
//!
//! The trap is set by a file that bash reads before the command (`BASH_ENV`). The alternatives are worse: text put
//! around the command is no longer what was analysed, `eval` changes error messages and positional parameters, and the
//! directory of a process that has ended cannot be read from `/proc`. What the trap costs: a command that sets its own
//! EXIT trap, ends in `exec` or dies of SIGKILL does not tell where it ended, and then the session stays where it was.
//! It sees one more line in the output of `trap`. Exit codes, signals and subshells are not affected.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use innerve_tool::SessionView;
use tempfile::TempDir;

/// The longest path that is taken from a command, in bytes (`PATH_MAX` of Linux).
const MAX_PATH: u64 = 4096;

/// A place where a command leaves the directory that it ended in; gone when dropped.
#[derive(Debug)]
pub(super) struct EndDirectory {
    folder: TempDir,
    start: String,
}

impl EndDirectory {
    /// Makes the place in `scratch`, readable by the user alone. `None` if it cannot be made: then the directory is
    /// not followed.
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
        fs::write(&start, format!("unset BASH_ENV\ntrap '{trap}' EXIT\n")).ok()?;
        Some(Self { folder, start })
    }

    /// The variable that makes bash tell.
    pub(super) fn variable(&self) -> (String, String) {
        ("BASH_ENV".to_owned(), self.start.clone())
    }

    /// The directory the command ended in, links resolved; `None` if it did not tell or the directory is gone.
    pub(super) fn read(&self) -> Option<PathBuf> {
        let file = self.folder.path().join("end");
        if fs::metadata(&file).ok()?.len() > MAX_PATH {
            return None;
        }
        let bytes = fs::read(file).ok()?;
        let path = to_path(bytes.strip_suffix(b"\n")?).ok()?;
        (path.is_absolute() && path.is_dir()).then_some(path)
    }
}

#[cfg(unix)]
fn to_path(bytes: &[u8]) -> io::Result<PathBuf> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    Ok(PathBuf::from(OsStr::from_bytes(bytes)))
}

#[cfg(not(unix))]
fn to_path(bytes: &[u8]) -> io::Result<PathBuf> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(PathBuf::from(text))
}

/// What becomes of the session's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// It stays.
    Stay,
    /// It moves here.
    Move(PathBuf),
    /// The command left the working directories: back to the one the session started in.
    Reset,
}

/// Decides where the session goes after a command that began in `cwd` and ended in `end` (links resolved).
pub(super) fn next(cwd: &Path, end: &Path, session: &SessionView) -> Next {
    if fs::canonicalize(cwd).is_ok_and(|cwd| cwd == end) {
        return Next::Stay;
    }
    let roots = std::iter::once(&session.original_cwd).chain(&session.additional_directories);
    for root in roots {
        // The path is given below the root as the session names it, since rules are written in those words.
        if let Ok(real) = fs::canonicalize(root)
            && let Ok(below) = end.strip_prefix(&real)
        {
            let is_root = below.as_os_str().is_empty();
            return Next::Move(if is_root { root.clone() } else { root.join(below) });
        }
    }
    Next::Reset
}
