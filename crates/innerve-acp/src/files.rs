//! Files as an editor has them: unsaved changes are read, edits go through the editor, and the disk does the rest.
//!
//! The protocol knows whole texts only (Agent Client Protocol, "File System"): no bytes, no sizes, no listings, no write
//! that depends on a condition. So what is no plain UTF-8 text, what is large, and what has no folder yet is left to the
//! disk, and the condition of a write is checked against what the editor has right before it is sent.

use std::io;
use std::path::Path;
use std::sync::Arc;

use agent_client_protocol::v1::schema::{ReadTextFileRequest, WriteTextFileRequest};
use innerve_tool::BoxFuture;
use innerve_tool::port::{
    DirEntry, FileKind, FileMetadata, FileReader, FileSystem, WriteCondition,
};

use crate::Editor;

/// A file of more bytes is left to the disk.
const MAX_SHARED: u64 = 8 * 1024 * 1024;
/// What a file must not begin with: the protocol does not say how it would be kept.
const BOM: char = '\u{feff}';

/// The files of an editor, and of the disk behind it.
pub(crate) struct EditorFiles {
    editor: Editor,
    disk: Arc<dyn FileSystem>,
    can_read: bool,
    can_write: bool,
}

impl EditorFiles {
    pub(crate) fn new(
        editor: Editor,
        disk: Arc<dyn FileSystem>,
        can_read: bool,
        can_write: bool,
    ) -> Self {
        Self { editor, disk, can_read, can_write }
    }

    /// The content as the editor has it; `None` if the file is the disk's alone.
    async fn shared(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        let meta = self.disk.metadata(path).await?;
        if meta.kind != FileKind::File || meta.len > MAX_SHARED {
            return Ok(None);
        }
        let content = match self.disk.read(path, MAX_SHARED).await {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(saved) = plain(&content) else { return Ok(None) };
        let Some(shown) = self.shown(path).await else { return Ok(Some(content)) };
        Ok(Some(in_form_of(saved, shown).into_bytes()))
    }

    /// The text that the editor shows; `None` if it has none, as for a file outside of its project.
    async fn shown(&self, path: &Path) -> Option<String> {
        let session = self.editor.session().filter(|_| self.can_read)?;
        let request = ReadTextFileRequest::new(session, path);
        let answer = self.editor.connection().send_request(request).block_task().await;
        let text = answer.ok()?.content;
        (text.len() as u64 <= MAX_SHARED).then_some(text)
    }

    async fn put(&self, path: &Path, text: &str) -> io::Result<()> {
        let Some(session) = self.editor.session() else {
            return Err(io::Error::other("the session is not open yet"));
        };
        let request = WriteTextFileRequest::new(session, path, text);
        let answer = self.editor.connection().send_request(request).block_task().await;
        let refused = |error: agent_client_protocol::Error| {
            io::Error::other(format!("the editor did not write it: {}", error.message))
        };
        answer.map(|_| ()).map_err(refused)
    }

    /// Whether the editor can make this file: only in a folder that is there.
    async fn can_make(&self, path: &Path) -> bool {
        let Some(folder) = path.parent() else { return false };
        self.disk.metadata(folder).await.is_ok_and(|meta| meta.kind == FileKind::Directory)
    }

    async fn write(
        &self,
        path: &Path,
        content: &[u8],
        condition: WriteCondition,
    ) -> io::Result<()> {
        let Some(text) = plain(content).filter(|_| self.can_write) else {
            return self.write_to_disk(path, content, condition).await;
        };
        match &condition {
            WriteCondition::New => match self.disk.metadata(path).await {
                Ok(_) => return Err(io::ErrorKind::AlreadyExists.into()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if !self.can_make(path).await {
                        return self.disk.write(path, content, condition).await;
                    }
                }
                Err(error) => return Err(error),
            },
            WriteCondition::Unchanged(hash) => {
                let Some(now) = self.shared(path).await? else {
                    return self.disk.write(path, content, condition).await;
                };
                unchanged(&now, hash)?;
            }
        }
        self.put(path, text).await
    }

    /// What the editor would lose by it must not be there.
    async fn write_to_disk(
        &self,
        path: &Path,
        content: &[u8],
        condition: WriteCondition,
    ) -> io::Result<()> {
        if let WriteCondition::Unchanged(hash) = &condition
            && let Some(now) = self.shared(path).await?
        {
            unchanged(&now, hash)?;
        }
        self.disk.write(path, content, condition).await
    }
}

impl FileSystem for EditorFiles {
    fn metadata<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<FileMetadata>> {
        self.disk.metadata(path)
    }

    fn open<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Box<dyn FileReader>>> {
        Box::pin(async move {
            match self.shared(path).await? {
                Some(content) => {
                    let reader: Box<dyn FileReader> = Box::new(Whole { content, at: 0 });
                    Ok(reader)
                }
                None => self.disk.open(path).await,
            }
        })
    }

    fn list<'a>(
        &'a self,
        path: &'a Path,
        max: usize,
    ) -> BoxFuture<'a, io::Result<(Vec<DirEntry>, bool)>> {
        self.disk.list(path, max)
    }

    fn write<'a>(
        &'a self,
        path: &'a Path,
        content: &'a [u8],
        condition: WriteCondition,
    ) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(self.write(path, content, condition))
    }
}

/// A content that is there as a whole.
struct Whole {
    content: Vec<u8>,
    at: usize,
}

impl FileReader for Whole {
    fn read(&mut self, max: usize) -> BoxFuture<'_, io::Result<Vec<u8>>> {
        let rest = self.content.get(self.at..).unwrap_or_default();
        let piece = rest.get(..max).unwrap_or(rest).to_vec();
        self.at = self.at.saturating_add(piece.len());
        Box::pin(std::future::ready(Ok(piece)))
    }
}

fn unchanged(now: &[u8], hash: &str) -> io::Result<()> {
    if blake3::hash(now).to_hex().as_str() == hash {
        Ok(())
    } else {
        Err(io::ErrorKind::StaleNetworkFileHandle.into())
    }
}

/// Text that an editor keeps as it is.
fn plain(content: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(content).ok()?;
    (!text.starts_with(BOM) && !text.contains('\0')).then_some(text)
}

/// What an editor shows, with the line ends of the file: editors show line feeds alone, whatever the file has.
fn in_form_of(saved: &str, shown: String) -> String {
    let feeds = saved.matches('\n').count();
    let is_dos = feeds > 0 && saved.matches("\r\n").count() == feeds;
    if is_dos && !shown.contains('\r') {
        return shown.replace('\n', "\r\n");
    }
    if !shown.contains('\r') && saved.replace("\r\n", "\n") == shown {
        // Mixed ends: nothing but these was lost.
        return saved.to_owned();
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i9_line_ends_that_an_editor_does_not_show_are_kept() {
        #[track_caller]
        fn check(saved: &str, shown: &str, wanted: &str) {
            assert_eq!(in_form_of(saved, shown.to_owned()), wanted);
        }
        check("a\nb\n", "a\nc\n", "a\nc\n");
        check("a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n");
        check("a\r\nb\r\n", "a\r\nb\r\n", "a\r\nb\r\n");
        check("a\r\nb\n", "a\nb\n", "a\r\nb\n");
        check("a\r\nb\n", "a\nc\n", "a\nc\n");
        check("", "a\n", "a\n");
    }

    #[test]
    fn what_is_no_plain_text_is_left_to_the_disk() {
        assert_eq!(plain(b"a\n"), Some("a\n"));
        for other in [&b"\xff\xfe"[..], b"\0", b"\xef\xbb\xbfa", b"a\0"] {
            assert_eq!(plain(other), None);
        }
    }

    #[test]
    fn a_content_is_read_in_pieces_to_its_end() {
        let mut reader = Whole { content: b"abcde".to_vec(), at: 0 };
        let mut read = || futures_util::FutureExt::now_or_never(reader.read(2)).unwrap().unwrap();
        assert_eq!(read(), b"ab");
        assert_eq!(read(), b"cd");
        assert_eq!(read(), b"e");
        assert_eq!(read(), b"");
    }
}
