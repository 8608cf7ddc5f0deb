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
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::TempDir;

/// The longest path that is taken from a command, in bytes (`PATH_MAX` of Linux).
const MAX_PATH: u64 = 4096;
/// The variable that tells bash where to write the directory in which a command ended: into a folder that is the call's own,
/// and the only one here that a sandbox has to let it change.
pub const END_VARIABLE: &str = "INNERVE_END_FILE";
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

/// One call's share of the folder, in a folder of its own: what a command does to it reaches no other call. It goes when this
/// is dropped.
#[derive(Debug)]
pub(super) struct Started {
    folder: Arc<Folder>,
    own: PathBuf,
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
        let own = folder.directory.path().join(format!("call-{call}"));
        let end = own.join("end").to_str()?.to_owned();
        // Where something is already, somebody has put it there.
        private().create(&own).ok()?;
        Some(Started { folder, own, end })
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
        // The command could have put anything there: what is no file is neither followed nor waited for.
        let bytes = plain_file(Path::new(&self.end))?;
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
        // What a process that goes on puts there goes with the folder of all.
        drop(fs::remove_dir_all(&self.own));
    }
}

/// Makes folders that nobody else may enter.
fn private() -> fs::DirBuilder {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// The content of a file that is one, and short enough to be a path.
fn plain_file(path: &Path) -> Option<Vec<u8>> {
    let mut options = fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    }
    let file = options.open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_PATH + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= MAX_PATH).then_some(bytes)
}
