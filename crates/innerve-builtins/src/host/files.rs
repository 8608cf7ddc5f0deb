//! The real disk: nothing but regular files is opened, and a write replaces a file in one step or not at all.

use std::fs::{self, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use innerve_tool::BoxFuture;
use innerve_tool::port::{
    DirEntry, FileKind, FileMetadata, FileReader, FileSystem, WriteCondition,
};
use rustix::fs::{Access, Gid, Mode, OFlags, Uid};
use tempfile::NamedTempFile;

/// Links are followed this far by hand.
const MAX_LINKS: usize = 40;

/// The files of this machine.
///
/// A write keeps the permissions and, where the system lets it, the owner of the file it replaces; it breaks hard links
/// and does not keep extended attributes.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostFiles;

impl FileSystem for HostFiles {
    fn metadata<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<FileMetadata>> {
        let path = path.to_path_buf();
        Box::pin(blocking(move || Ok(meta(&fs::metadata(path)?))))
    }

    fn open<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Box<dyn FileReader>>> {
        let path = path.to_path_buf();
        Box::pin(blocking(move || {
            let reader: Box<dyn FileReader> = Box::new(DiskReader { file: Some(open(&path)?) });
            Ok(reader)
        }))
    }

    fn list<'a>(
        &'a self,
        path: &'a Path,
        max: usize,
    ) -> BoxFuture<'a, io::Result<(Vec<DirEntry>, bool)>> {
        let path = path.to_path_buf();
        Box::pin(blocking(move || list(&path, max)))
    }

    fn write<'a>(
        &'a self,
        path: &'a Path,
        content: &'a [u8],
        condition: WriteCondition,
    ) -> BoxFuture<'a, io::Result<()>> {
        let (path, content) = (path.to_path_buf(), content.to_vec());
        Box::pin(blocking(move || write(&path, &content, &condition)))
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(_) => Err(io::Error::other("the program is shutting down")),
    }
}

struct DiskReader {
    // Taken while a read runs elsewhere; a dropped read loses it, which ends the reader.
    file: Option<File>,
}

impl FileReader for DiskReader {
    fn read(&mut self, max: usize) -> BoxFuture<'_, io::Result<Vec<u8>>> {
        Box::pin(async move {
            let Some(mut file) = self.file.take() else {
                return Err(io::Error::other("an earlier read was abandoned"));
            };
            let (file, result) = blocking(move || {
                let mut piece = vec![0; max];
                let result = read_full(&mut file, &mut piece).map(|length| {
                    piece.truncate(length);
                    piece
                });
                Ok((file, result))
            })
            .await?;
            self.file = Some(file);
            result
        })
    }
}

/// Fills `piece` unless the file ends.
fn read_full(file: &mut File, piece: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while let Some(rest) = piece.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

fn meta(found: &fs::Metadata) -> FileMetadata {
    let kind = if found.is_file() {
        FileKind::File
    } else if found.is_dir() {
        FileKind::Directory
    } else {
        FileKind::Special
    };
    FileMetadata { kind, len: found.len(), modified: found.modified().ok() }
}

/// Opens a regular file; the flags keep a FIFO that appeared meanwhile from blocking.
fn open(path: &Path) -> io::Result<File> {
    regular(&fs::metadata(path)?)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    regular(&file.metadata()?)?;
    Ok(file)
}

fn regular(found: &fs::Metadata) -> io::Result<()> {
    match meta(found).kind {
        FileKind::File => Ok(()),
        FileKind::Directory => Err(io::ErrorKind::IsADirectory.into()),
        FileKind::Special => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is a device, FIFO or socket, not a regular file",
        )),
    }
}

fn list(path: &Path, max: usize) -> io::Result<(Vec<DirEntry>, bool)> {
    // The names that come first are kept, whatever order the disk gives them in.
    let mut names = std::collections::BTreeMap::new();
    let mut more = false;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        names.insert(name, entry.file_type().ok());
        if names.len() > max {
            names.pop_last();
            more = true;
        }
    }
    let entries = names
        .into_iter()
        .map(|(name, kind)| {
            let is_directory = match kind {
                Some(kind) if !kind.is_symlink() => kind.is_dir(),
                Some(_) | None => path.join(&name).is_dir(),
            };
            DirEntry { name, is_directory }
        })
        .collect();
    Ok((entries, more))
}

fn write(path: &Path, content: &[u8], condition: &WriteCondition) -> io::Result<()> {
    let target = target(path)?;
    let directory = target.parent().ok_or(io::ErrorKind::IsADirectory)?;
    let existing = match fs::metadata(&target) {
        Ok(found) => {
            regular(&found)?;
            // The rename below would also replace a file that nobody may write to.
            rustix::fs::access(&target, Access::WRITE_OK)?;
            Some(found)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(directory)?;
            None
        }
        Err(error) => return Err(error),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".innerve-").suffix(".tmp");
    // Only a mode given at creation is narrowed by the umask.
    let mode = existing.as_ref().map_or(0o666, |_| 0o600);
    let mut temporary = builder.permissions(Permissions::from_mode(mode)).tempfile_in(directory)?;
    temporary.write_all(content)?;
    if let Some(existing) = &existing {
        keep_owner(&temporary, existing)?;
        // After the owner: a change of owner clears the set-id bits.
        temporary.as_file().set_permissions(existing.permissions())?;
    }
    temporary.as_file().sync_all()?;
    match condition {
        WriteCondition::New => {
            temporary.persist_noclobber(&target).map_err(|failed| failed.error)?;
        }
        WriteCondition::Unchanged(hash) => {
            if hash_of(&target)?.as_deref() != Some(hash.as_str()) {
                return Err(io::Error::new(
                    io::ErrorKind::StaleNetworkFileHandle,
                    "the file has changed meanwhile",
                ));
            }
            temporary.persist(&target).map_err(|failed| failed.error)?;
        }
    }
    // The content is in place; that the directory could not be flushed is no failure of the write.
    drop(File::open(directory).and_then(|directory| directory.sync_all()));
    Ok(())
}

/// The file that a path leads to, even if the last link points at nothing yet.
fn target(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => {
                let link = fs::read_link(&path)?;
                path = match path.parent() {
                    Some(parent) => parent.join(link),
                    None => link,
                };
            }
            Ok(_) | Err(_) => return Ok(path),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "too many symbolic links"))
}

/// Gives the new file the owner of the old one. Someone who may not is no owner: then the new file is theirs.
fn keep_owner(temporary: &NamedTempFile, existing: &fs::Metadata) -> io::Result<()> {
    let own = temporary.as_file().metadata()?;
    if (own.uid(), own.gid()) == (existing.uid(), existing.gid()) {
        return Ok(());
    }
    let (owner, group) = (Uid::from_raw(existing.uid()), Gid::from_raw(existing.gid()));
    match rustix::fs::fchown(temporary.as_file(), Some(owner), Some(group)) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::PERM) => {
            // The group alone is often possible, and is what shared directories rely on.
            match rustix::fs::fchown(temporary.as_file(), None, Some(group)) {
                Ok(()) | Err(rustix::io::Errno::PERM) => Ok(()),
                Err(error) => Err(error.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}

fn hash_of(path: &Path) -> io::Result<Option<String>> {
    let mut file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut hasher = blake3::Hasher::new();
    let mut piece = vec![0; 256 * 1024];
    loop {
        let length = read_full(&mut file, &mut piece)?;
        if length == 0 {
            return Ok(Some(hasher.finalize().to_hex().to_string()));
        }
        hasher.update(piece.get(..length).unwrap_or_default());
    }
}
