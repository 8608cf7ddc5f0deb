//! Atomic writing: a file is replaced as a whole or left as it was, and writers wait for one another.

use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use innerve_permission::PathFacts as _;
use tempfile::NamedTempFile;

use crate::{DiskPaths, SettingsError};

/// So often another writer is waited for, and so long each time.
const TRIES: u32 = 250;
const PAUSE: Duration = Duration::from_millis(20);

/// A file that is about to be read, changed and replaced; other writers wait until it is dropped.
///
/// What is locked is the file's directory: the file itself is another one after each change.
#[derive(Debug)]
pub(crate) struct Exclusive {
    path: PathBuf,
    /// The file that a link leads to.
    target: PathBuf,
    _lock: Option<File>,
}

impl Exclusive {
    /// Makes the file's directory, for its owner alone, and waits for others who change a file in it.
    pub(crate) fn wait(path: &Path) -> Result<Self, SettingsError> {
        let failed = |source| SettingsError::Write { path: path.to_path_buf(), source };
        // A link may lead to what is not there yet.
        let target = std::path::absolute(path).ok().and_then(|path| DiskPaths.resolve(&path).real);
        let target = target.ok_or_else(|| failed(io::Error::other("its links cannot be told")))?;
        let directory =
            target.parent().ok_or_else(|| failed(io::Error::other("it has no directory")))?;
        create_private(directory).map_err(failed)?;
        let lock = lock(directory).map_err(failed)?;
        Ok(Self { path: path.to_path_buf(), target, _lock: lock })
    }

    /// Replaces the file's content. Its permissions and owner stay; a new file is its owner's alone.
    pub(crate) fn replace(&self, content: &str) -> Result<(), SettingsError> {
        write(&self.target, content)
            .map_err(|source| SettingsError::Write { path: self.path.clone(), source })
    }
}

/// Locks a directory; `None` where there are no such locks.
fn lock(directory: &Path) -> io::Result<Option<File>> {
    let Ok(file) = File::open(directory) else { return Ok(None) };
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
            Err(TryLockError::Error(_)) => return Ok(None),
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "another program keeps changing it"))
}

fn write(target: &Path, content: &str) -> io::Result<()> {
    let directory = target.parent().ok_or_else(|| io::Error::other("it has no directory"))?;
    let before = match fs::metadata(target) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if before.as_ref().is_some_and(|metadata| metadata.permissions().readonly()) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
    }
    // A temporary file is created for its owner alone.
    let mut file = NamedTempFile::new_in(directory)?;
    file.write_all(content.as_bytes())?;
    if let Some(before) = before {
        keep_owner(file.path(), &before);
        file.as_file().set_permissions(before.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(target)?;
    Ok(())
}

/// Gives a file to the owner of the one that it replaces, as far as the system lets it: what an administrator saves for a user
/// stays the user's.
#[cfg(unix)]
fn keep_owner(file: &Path, before: &Metadata) {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let is_same =
        |metadata: Metadata| (metadata.uid(), metadata.gid()) == (before.uid(), before.gid());
    if !fs::metadata(file).is_ok_and(is_same) {
        let _not_allowed = chown(file, Some(before.uid()), Some(before.gid()));
    }
}

/// Owners are not looked at here.
#[cfg(not(unix))]
fn keep_owner(_file: &Path, _before: &Metadata) {}

/// Creates a directory and those above it, for their owner alone.
pub(crate) fn create_private(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}
