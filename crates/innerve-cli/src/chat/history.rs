//! The texts that were sent, kept for the next time.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::private;

/// Bytes of the file that are read; older texts are forgotten.
const MAX_READ: u64 = 1024 * 1024;
/// Bytes of a text that is kept: a longer one, such as a pasted log, would push out all others.
const MAX_KEPT: usize = 64 * 1024;
/// Texts that are given back.
const MAX_TEXTS: usize = 1_000;

/// The file; one JSON string a line, so that a text of several lines stays one.
#[derive(Debug)]
pub(super) struct History {
    path: PathBuf,
}

impl History {
    /// The history in this folder.
    pub(super) fn in_folder(folder: &Path) -> Self {
        Self { path: folder.join("history.jsonl") }
    }

    /// The texts, the oldest first; a file that cannot be read is an empty one.
    pub(super) fn load(&self) -> Vec<String> {
        let mut texts: Vec<String> = self
            .tail()
            .unwrap_or_default()
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        texts.drain(..texts.len().saturating_sub(MAX_TEXTS));
        texts
    }

    fn tail(&self) -> io::Result<String> {
        use std::io::Seek as _;
        let mut file = fs::File::open(&self.path)?;
        let start = file.metadata()?.len().saturating_sub(MAX_READ);
        file.seek(io::SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(MAX_READ).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Adds a text. That it cannot be kept is no reason to stop.
    pub(super) fn add(&self, text: &str) {
        if text.len() > MAX_KEPT {
            return;
        }
        let _lost = self.append(text);
    }

    fn append(&self, text: &str) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            private::make_folder(folder)?;
        }
        let mut line = serde_json::to_vec(text)?;
        line.push(b'\n');
        private::append_to(&self.path)?.write_all(&line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_in_order_and_broken_lines_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let history = History::in_folder(&folder.path().join("state"));
        assert!(history.load().is_empty());
        history.add("one");
        fs::write(&history.path, b"\"one\"\n\xff\xfe\n{half").unwrap();
        history.add("lost with the half line");
        history.add("two\nlines");
        history.add(&"x".repeat(MAX_KEPT + 1));
        assert_eq!(history.load(), ["one", "two\nlines"]);
    }

    #[cfg(unix)]
    #[test]
    fn only_its_owner_reads_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let history = History::in_folder(folder.path());
        history.add("secret plans");
        let mode = fs::metadata(&history.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
