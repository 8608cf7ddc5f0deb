//! Folders that are there as long as who made them: what a program that was killed left is known by a lock that nobody holds.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use tempfile::TempDir;

/// What is locked in a folder as long as it is in use.
const ALIVE: &str = "alive";

/// A folder that nobody else may enter, gone with this value, or with the next program that looks.
#[derive(Debug)]
pub struct LiveFolder {
    folder: TempDir,
    _alive: File,
}

impl LiveFolder {
    /// Makes one in `parent`, whose name begins so.
    ///
    /// # Errors
    ///
    /// Those of the file system; without locks there, too.
    pub fn new(parent: &Path, prefix: &str) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let folder = builder.prefix(prefix).tempdir_in(parent)?;
        // It has its name when it is locked: before, another program would take it for one that was left.
        let unnamed = folder.path().join("begun");
        let alive = File::create_new(&unnamed)?;
        alive.lock()?;
        fs::rename(unnamed, folder.path().join(ALIVE))?;
        Ok(Self { folder, _alive: alive })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Removes what killed programs have left of such folders in `parent`.
    pub fn tidy(parent: &Path) {
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            // What has none is about to get one.
            let Ok(alive) = File::open(entry.path().join(ALIVE)) else { continue };
            if alive.try_lock().is_ok() {
                // It is tried again next time.
                drop(fs::remove_dir_all(entry.path()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_use_stays_and_what_was_left_goes() {
        let parent = tempfile::tempdir().unwrap();
        let (dead, begun) = (parent.path().join("a-dead"), parent.path().join("a-begun"));
        fs::create_dir_all(dead.join("deep")).unwrap();
        fs::write(dead.join(ALIVE), "").unwrap();
        fs::create_dir(&begun).unwrap();
        let live = LiveFolder::new(parent.path(), "a-").unwrap();
        LiveFolder::tidy(parent.path());
        assert!(!dead.exists() && begun.exists() && live.path().is_dir());
        let path = live.path().to_owned();
        drop(live);
        assert!(!path.exists());
        LiveFolder::tidy(&parent.path().join("missing"));
    }
}
