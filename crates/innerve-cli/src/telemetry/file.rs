//! The file of the local log: for its owner only, and of bounded size.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use tracing_subscriber::fmt::MakeWriter;

use crate::private;

/// Bytes from which on the next program to start begins a new file; the one before is kept.
const FULL: u64 = 8 << 20;

/// Bytes that one program writes at most.
const MOST: u64 = 64 << 20;

/// A log that several programs may add to: each line is one write.
#[derive(Debug)]
pub(super) struct LogFile {
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    file: File,
    left: u64,
}

impl LogFile {
    /// Opens the file to add to it; its folder is made if it is not there.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            private::make_folder(folder)?;
        }
        if fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() >= FULL) {
            let mut before = path.as_os_str().to_owned();
            before.push(".1");
            // Another program may have moved it meanwhile.
            drop(fs::rename(path, before));
        }
        Ok(Self { open: Mutex::new(Open { file: private::append_to(path)?, left: MOST }) })
    }
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(self)
    }
}

/// Writes one line.
#[derive(Debug)]
pub(super) struct Line<'a>(&'a LogFile);

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        let length = line.len() as u64;
        if open.left < length {
            open.left = 0;
        } else {
            open.left -= length;
            // A disk that is full must not disturb the work.
            drop(open.file.write_all(line));
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_is_kept_beside_a_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log/innerve.log");
        LogFile::open(&path).unwrap().make_writer().write_all(b"first\n").unwrap();
        LogFile::open(&path).unwrap().make_writer().write_all(b"second\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "first\nsecond\n");
        fs::OpenOptions::new().append(true).open(&path).unwrap().set_len(FULL).unwrap();
        LogFile::open(&path).unwrap().make_writer().write_all(b"third\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "third\n");
        assert!(path.with_file_name("innerve.log.1").exists());
    }

    #[cfg(unix)]
    #[test]
    fn only_its_owner_reads_the_log() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log/innerve.log");
        drop(LogFile::open(&path).unwrap());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    }

    #[test]
    fn one_program_writes_only_so_much() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.log");
        let log = LogFile::open(&path).unwrap();
        log.open.lock().unwrap().left = 10;
        for line in ["12345\n", "67890\n", "x\n"] {
            log.make_writer().write_all(line.as_bytes()).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "12345\n");
    }
}
