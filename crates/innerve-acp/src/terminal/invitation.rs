//! A socket for one relay, which proves by a word that it is the one the editor was asked to start.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;

use crate::frame::{self, Frame};

/// The longest path of a socket, in bytes (unix(7): 108 with the final zero; macOS has 104).
const MAX_SOCKET: usize = 100;
/// How long whoever connects may take to say the word.
const PATIENCE: Duration = Duration::from_secs(1);
/// The longest word that is read, in bytes.
const MAX_WORD: usize = 256;

/// The socket; gone when this is dropped, so that a relay which comes later starts nothing.
///
/// It lies in a folder that no other user can enter. The word keeps out what this user's commands could run meanwhile:
/// it stands in the environment of the relay, which a sandbox hides from them.
pub(super) struct Invitation {
    listener: UnixListener,
    word: String,
    socket: String,
    program: String,
    /// Removed with all that is in it.
    _folder: TempDir,
}

impl Invitation {
    pub(super) fn new(program: &Path) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("innerve-").permissions(fs::Permissions::from_mode(0o700));
        let mut folder = builder.tempdir()?;
        let socket = |folder: &TempDir| plain(&folder.path().join("relay"));
        let fits = socket(&folder).filter(|path| path.len() <= MAX_SOCKET);
        let socket = if let Some(socket) = fits {
            socket
        } else {
            folder = builder.tempdir_in("/tmp")?;
            socket(&folder).ok_or(io::ErrorKind::InvalidFilename)?
        };
        let program = if let Some(program) = plain(program) {
            program
        } else {
            // Some editors hand the words to a shell, others do not: no quoting suits both.
            let link = folder.path().join("innerve");
            symlink(program, &link)?;
            plain(&link).ok_or(io::ErrorKind::InvalidFilename)?
        };
        let listener = UnixListener::bind(&socket)?;
        Ok(Self { listener, word: random_word()?, socket, program, _folder: folder })
    }

    /// The path of the socket.
    pub(super) fn socket(&self) -> &str {
        &self.socket
    }

    /// What the relay must say.
    pub(super) fn word(&self) -> &str {
        &self.word
    }

    /// The program, by a path that is the same to a shell.
    pub(super) fn program(&self) -> &str {
        &self.program
    }

    /// Waits for the relay.
    pub(super) async fn accept(&self) -> io::Result<UnixStream> {
        loop {
            let (mut stream, _) = self.listener.accept().await?;
            if let Ok(Ok(Some(Frame::Hello(word)))) =
                timeout(PATIENCE, frame::read(&mut stream, MAX_WORD)).await
                && blake3::hash(&word) == blake3::hash(self.word.as_bytes())
            {
                return Ok(stream);
            }
        }
    }
}

/// A path that needs no quoting in a shell.
fn plain(path: &Path) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+');
    path.to_str().filter(|path| path.chars().all(is_plain)).map(str::to_owned)
}

/// 128 bits that nobody can guess, in hexadecimal.
fn random_word() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    async fn say(invitation: &Invitation, bytes: &[u8]) -> UnixStream {
        let mut stream = UnixStream::connect(invitation.socket()).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        stream
    }

    #[tokio::test]
    async fn i2_only_who_knows_the_word_is_let_in() {
        let invitation = Invitation::new(Path::new("/bin/sh")).unwrap();
        let hello = |word: &str| Frame::Hello(word.as_bytes().to_vec()).encode().unwrap();
        let (silent, mut strangers) = (say(&invitation, b"").await, Vec::new());
        for bytes in [hello(""), hello("guess"), b"h\0\0\0\x20half".to_vec(), b"GET /".to_vec()] {
            strangers.push(say(&invitation, &bytes).await);
        }
        strangers.pop().unwrap().shutdown().await.unwrap();
        let right = tokio::spawn({
            let (socket, hello) = (invitation.socket().to_owned(), hello(invitation.word()));
            async move {
                let mut stream = UnixStream::connect(socket).await.unwrap();
                stream.write_all(&hello).await.unwrap();
                tokio::io::AsyncReadExt::read_u8(&mut stream).await.unwrap()
            }
        });
        invitation.accept().await.unwrap().write_u8(7).await.unwrap();
        assert_eq!(right.await.unwrap(), 7);
        drop(silent);
    }

    #[tokio::test]
    async fn no_other_user_can_enter_and_nothing_is_left() {
        let invitation = Invitation::new(Path::new("/opt/my tools/innerve")).unwrap();
        let folder = Path::new(invitation.socket()).parent().unwrap().to_owned();
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(invitation.program(), folder.join("innerve").to_str().unwrap());
        assert_eq!(
            fs::read_link(invitation.program()).unwrap(),
            Path::new("/opt/my tools/innerve")
        );
        assert_ne!(invitation.word(), Invitation::new(Path::new("/a")).unwrap().word());
        drop(invitation);
        assert!(!folder.exists());
    }
}
