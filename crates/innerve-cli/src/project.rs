//! The directories whose files speak for a project.

use std::path::Path;

/// The directories from the repository's root down to `cwd`.
///
/// Without a repository only `cwd` itself counts: parents may belong to somebody else.
pub(crate) fn directories(cwd: &Path) -> Vec<&Path> {
    let mut found = Vec::new();
    for directory in cwd.ancestors() {
        found.push(directory);
        if directory.join(".git").exists() {
            found.reverse();
            return found;
        }
    }
    vec![cwd]
}
