//! Atomic writing: a file is replaced as a whole or left as it was.

use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::SettingsError;

/// Replaces the file's content, through a link if it is one. Its permissions stay; a new file is its owner's alone.
pub(crate) fn replace(path: &Path, content: &str) -> Result<(), SettingsError> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    write(&target, content)
        .map_err(|source| SettingsError::Write { path: path.to_path_buf(), source })
}

fn write(target: &Path, content: &str) -> io::Result<()> {
    let directory = target.parent().ok_or_else(|| io::Error::other("it has no directory"))?;
    create_private(directory)?;
    let permissions = match fs::metadata(target) {
        Ok(metadata) => Some(metadata.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if permissions.as_ref().is_some_and(Permissions::readonly) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
    }
    // A temporary file is created for its owner alone.
    let mut file = NamedTempFile::new_in(directory)?;
    file.write_all(content.as_bytes())?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.as_file().sync_all()?;
    file.persist(target)?;
    Ok(())
}

/// Creates a directory and those above it, for their owner alone.
pub(crate) fn create_private(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}
