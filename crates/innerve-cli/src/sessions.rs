//! Finds past sessions of a directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::exit::Failure;

/// The folder of a session by its id.
pub(crate) fn find(sessions: &Path, id: &str) -> Result<PathBuf, Failure> {
    let plain = !id.is_empty()
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    let folder = sessions.join(id);
    if plain && folder.join("log.jsonl").is_file() {
        return Ok(folder);
    }
    Err(Failure::new(format!(
        "there is no session `{id}` of this directory; sessions are kept in {}",
        sessions.display()
    )))
}

/// The folder of the session that was used last.
pub(crate) fn latest(sessions: &Path) -> Result<PathBuf, Failure> {
    let used = |folder: &Path| -> Option<SystemTime> {
        fs::metadata(folder.join("log.jsonl")).ok()?.modified().ok()
    };
    fs::read_dir(sessions)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter_map(|folder| Some((used(&folder)?, folder)))
        .max()
        .map(|(_, folder)| folder)
        .ok_or_else(|| Failure::new("there is no earlier session of this directory to go on with"))
}
