//! Reads instruction files (`AGENTS.md`, `CLAUDE.md`) around the working directory.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::project;

/// Bytes of one file that are taken at most.
const MAX_BYTES: u64 = 64 * 1024;
/// The names, in order of preference within one directory.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// The instructions of the user's own directory and of each directory from the repository's root down to `cwd`.
pub(crate) fn collect(config: &Path, cwd: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    found.extend(NAMES.iter().find_map(|name| read(&config.join(name))));
    for directory in project::directories(cwd) {
        found.extend(NAMES.iter().find_map(|name| read(&directory.join(name))));
    }
    found
}

fn read(path: &Path) -> Option<(PathBuf, String)> {
    // A FIFO or device of that name would block.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (!text.trim().is_empty()).then(|| (path.to_path_buf(), text))
}
