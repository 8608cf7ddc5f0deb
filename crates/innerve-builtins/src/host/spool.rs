//! Output that goes straight to disk: one private file per tool use, up to a cap.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use innerve_protocol::ToolUseId;
use innerve_tool::port::{OutputSpool, SpoolFile};

/// How much of one output is kept on disk unless told otherwise: 64 MiB.
pub const DEFAULT_SPOOL_CAP: u64 = 64 * 1024 * 1024;

/// The longest id that is used as a file name as it is, in bytes.
const MAX_NAME: usize = 64;
/// How often a name that is taken gets another number.
const MAX_ATTEMPTS: u32 = 100;

/// Puts each output into `<directory>/<tool use id>.txt`, readable by the user alone.
///
/// The directory is made when the first output needs it. A file that exists is never overwritten: the new one gets a
/// number behind its name.
#[derive(Clone, Debug)]
pub struct DiskSpool {
    directory: PathBuf,
    cap: u64,
}

impl DiskSpool {
    /// A spool in `directory` (absolute) with the default cap of 64 MiB for each file.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), cap: DEFAULT_SPOOL_CAP }
    }

    /// Keeps at most `cap` bytes of each output.
    #[must_use]
    pub fn with_cap(mut self, cap: u64) -> Self {
        self.cap = cap;
        self
    }

    /// Where the files are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

impl OutputSpool for DiskSpool {
    fn create(&self, tool_use_id: &ToolUseId) -> io::Result<Box<dyn SpoolFile>> {
        create_private_directory(&self.directory)?;
        let name = file_name(tool_use_id.as_str());
        for attempt in 1..=MAX_ATTEMPTS {
            let path = self.directory.join(if attempt == 1 {
                format!("{name}.txt")
            } else {
                format!("{name}-{attempt}.txt")
            });
            match create_private_file(&path) {
                Ok(file) => {
                    let file = Some(file);
                    return Ok(Box::new(DiskFile { path, file, cap: self.cap, given: 0, kept: 0 }));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("too many files named {name}")))
    }
}

/// A file name for an id: the id itself when it is plain, else its plain characters and a hash of the whole, so that
/// two ids never share a name and none leaves the directory.
fn file_name(id: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !id.is_empty() && id.len() <= MAX_NAME && id.chars().all(is_plain) {
        return id.to_owned();
    }
    let mut name: String =
        id.chars().take(MAX_NAME).map(|c| if is_plain(c) { c } else { '_' }).collect();
    let hash = blake3::hash(id.as_bytes()).to_hex();
    name.push('-');
    name.extend(hash.chars().take(16));
    name
}

fn create_private_directory(directory: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(directory)
}

fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)
}

#[derive(Debug)]
struct DiskFile {
    path: PathBuf,
    /// `None` after an error: what comes later would leave a hole in the middle.
    file: Option<File>,
    cap: u64,
    given: u64,
    kept: u64,
}

impl SpoolFile for DiskFile {
    fn write(&mut self, bytes: &[u8]) {
        self.given = self.given.saturating_add(bytes.len() as u64);
        let room = usize::try_from(self.cap.saturating_sub(self.kept)).unwrap_or(usize::MAX);
        let mut rest = bytes.get(..room).unwrap_or(bytes);
        let Some(file) = &mut self.file else { return };
        while !rest.is_empty() {
            match file.write(rest) {
                Ok(written) if written > 0 => {
                    self.kept = self.kept.saturating_add(written as u64);
                    rest = rest.get(written..).unwrap_or_default();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The disk is full, or gone: `counts` tells how far it went.
                Ok(_) | Err(_) => {
                    self.file = None;
                    return;
                }
            }
        }
    }

    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    fn counts(&self) -> (u64, u64) {
        (self.given, self.kept)
    }

    fn discard(mut self: Box<Self>) {
        self.file = None;
        // Nobody is told of this file; if it cannot be removed, it goes with the session's directory.
        drop(fs::remove_file(&self.path));
    }

    fn keep(self: Box<Self>) -> io::Result<()> {
        if self.kept == 0 && self.given > 0 {
            return Err(io::Error::other(format!(
                "nothing could be written to {}",
                self.path.display()
            )));
        }
        Ok(())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_by_the_counts_and_never_by_a_panic() {
        // Every write to this device fails with "no space left" (full(4)).
        let path = PathBuf::from("/dev/full");
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        let mut file = Box::new(DiskFile { path, file: Some(file), cap: 100, given: 0, kept: 0 });
        file.write(b"one");
        file.write(b"two");
        assert_eq!(file.counts(), (6, 0));
        assert!(file.keep().is_err());
    }
}
