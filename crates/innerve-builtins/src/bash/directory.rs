//! Where the session goes after a command.

use std::fs;
use std::path::{Path, PathBuf};

use innerve_tool::SessionView;

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
