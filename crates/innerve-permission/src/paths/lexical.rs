//! Paths as text: `.` and `..` removed, `~` expanded, without looking at the disk.

use std::path::{Component, Path, PathBuf};

/// Removes `.` and `..` without following links; `..` at the root stays at the root.
pub(crate) fn collapse(path: &Path) -> PathBuf {
    let mut collapsed = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                collapsed.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                collapsed.push(component);
            }
        }
    }
    collapsed
}

/// Expands `~` and `~/x`; `None` for `~user`, whose home is not known.
pub(crate) fn expand_tilde(given: &str, home: &Path) -> Option<PathBuf> {
    match given.strip_prefix('~') {
        None => Some(PathBuf::from(given)),
        Some("") => Some(home.to_path_buf()),
        Some(rest) => rest.strip_prefix('/').map(|rest| home.join(rest.trim_start_matches('/'))),
    }
}

/// `path` relative to `base` with `/` between components; empty when both are the same place.
pub(crate) fn relative(path: &Path, base: &Path) -> Option<String> {
    let rest = path.strip_prefix(base).ok()?;
    let names: Vec<_> =
        rest.components().map(|component| component.as_os_str().to_string_lossy()).collect();
    Some(names.join("/"))
}
