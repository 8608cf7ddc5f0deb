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
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::TempDir;

/// The longest path that is taken from a command, in bytes (`PATH_MAX` of Linux).
const MAX_PATH: u64 = 4096;
/// The variable that tells the file where to write the last directory to.
pub(super) const END_VARIABLE: &str = "INNERVE_END_FILE";
/// What bash reads first. The command sees neither variable. The trap sees to it that no umask, no `set -C` and no
/// `set -x` of the command gets in its way.
const SCRIPT: &str = "\
unset BASH_ENV
exec 2>&1
case ${INNERVE_END_FILE-} in
/*) trap \"{ umask 077; set +xv; builtin pwd -P >|$INNERVE_END_FILE; } 2>/dev/null\" EXIT ;;
esac
unset INNERVE_END_FILE
";

/// The folder with the file that bash reads first; made when it is needed, gone with the tool.
#[derive(Debug)]
pub(super) struct Startup {
    scratch: PathBuf,
    folder: Mutex<Option<Arc<Folder>>>,
}

#[derive(Debug)]
struct Folder {
    directory: TempDir,
    script: String,
    calls: AtomicU64,
}

/// One call's share of the folder; the file that it may have written goes when this is dropped.
#[derive(Debug)]
pub(super) struct Started {
    folder: Arc<Folder>,
    end: String,
}

impl Startup {
    /// The folder will be made in `scratch`.
    pub(super) fn new(scratch: PathBuf) -> Self {
        Self { scratch, folder: Mutex::new(None) }
    }

    /// Readies the folder for one call. `None` if there cannot be one: then the directory is not followed, and what was
    /// written to the two streams comes in the order in which it is read.
    pub(super) fn begin(&self) -> Option<Started> {
        let mut kept = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody may have tidied up in the meantime.
        let folder = match kept.take().filter(|folder| Path::new(&folder.script).is_file()) {
            Some(folder) => folder,
            None => Arc::new(Folder::make(&self.scratch)?),
        };
        *kept = Some(Arc::clone(&folder));
        let call = folder.calls.fetch_add(1, Ordering::Relaxed);
        let end = folder.directory.path().join(format!("end-{call}")).to_str()?.to_owned();
        Some(Started { folder, end })
    }
}

impl Folder {
    fn make(scratch: &Path) -> Option<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("innerve-bash-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(fs::Permissions::from_mode(0o700));
        }
        let directory = builder.tempdir_in(scratch).ok()?;
        let script = directory.path().join("start").to_str()?.to_owned();
        // Bash expands the value of BASH_ENV, and the trap is read as shell text: no path may need quoting.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
        if !script.chars().all(is_plain) {
            return None;
        }
        fs::write(&script, SCRIPT).ok()?;
        Some(Self { directory, script, calls: AtomicU64::new(0) })
    }
}

impl Started {
    /// The variables that make bash read the file, and tell where the command ends.
    pub(super) fn followed(&self) -> Vec<(String, String)> {
        let mut variables = self.unfollowed();
        variables.push((END_VARIABLE.to_owned(), self.end.clone()));
        variables
    }

    /// The variable that makes bash read the file alone.
    pub(super) fn unfollowed(&self) -> Vec<(String, String)> {
        vec![("BASH_ENV".to_owned(), self.folder.script.clone())]
    }

    /// The directory the command ended in, links resolved; `None` if it did not tell or the directory is gone.
    pub(super) fn end_directory(&self) -> Option<PathBuf> {
        if fs::metadata(&self.end).ok()?.len() > MAX_PATH {
            return None;
        }
        let bytes = fs::read(&self.end).ok()?;
        let bytes = bytes.strip_suffix(b"\n")?;
        #[cfg(unix)]
        let path = PathBuf::from(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes));
        #[cfg(not(unix))]
        let path = PathBuf::from(std::str::from_utf8(bytes).ok()?);
        (path.is_absolute() && path.is_dir()).then_some(path)
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // There is one only if the command told where it ended.
        drop(fs::remove_file(&self.end));
    }
}
