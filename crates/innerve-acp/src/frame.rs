//! What agent and relay say to each other about one command: frames of a kind, a length and a content.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;

use innerve_tool::port::{ExitStatus, ProcessRequest, StdStream};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The longest content that a relay sends, in bytes; as much as is read from a pipe at once.
pub(crate) const MAX_PIECE: usize = 64 * 1024;
/// The longest order, in bytes: what a system takes as arguments and environment (Linux: 6 MiB), and how it is written.
pub(crate) const MAX_ORDER: usize = 32 * 1024 * 1024;

/// One thing that is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// The relay is the one that was meant: the word that it was given.
    Hello(Vec<u8>),
    /// The agent wants this to be run.
    Order(Box<Order>),
    /// It runs, with this number if it is known.
    Started(Option<u32>),
    /// It cannot be started: the system's number of the error, if it is one of its own, and the words for it.
    Failed(Option<i32>, String),
    /// What it wrote.
    Output(StdStream, Vec<u8>),
    /// It has ended.
    Ended(ExitStatus),
    /// The agent wants it to end.
    Kill,
}

/// A command with all that it needs.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    program: OsString,
    args: Vec<String>,
    cwd: OsString,
    env: Vec<(String, String)>,
    env_remove: Vec<String>,
    /// What processes of the agent inherit.
    inherited: Vec<(OsString, OsString)>,
}

impl Order {
    pub(crate) fn new(request: &ProcessRequest, inherited: &[(OsString, OsString)]) -> Self {
        Self {
            program: request.program.clone().into_os_string(),
            args: request.args.clone(),
            cwd: request.cwd.clone().into_os_string(),
            env: request.env.clone(),
            env_remove: request.env_remove.clone(),
            inherited: inherited.to_vec(),
        }
    }

    /// What to start, and what it inherits.
    pub(crate) fn into_parts(self) -> (ProcessRequest, Vec<(OsString, OsString)>) {
        let request = ProcessRequest {
            program: PathBuf::from(self.program),
            args: self.args,
            cwd: PathBuf::from(self.cwd),
            env: self.env,
            env_remove: self.env_remove,
            tool_use: None,
        };
        (request, self.inherited)
    }
}

// The environment may hold secrets.
impl fmt::Debug for Order {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Order").field("program", &self.program).finish_non_exhaustive()
    }
}

impl Frame {
    /// The bytes of the frame.
    pub(crate) fn encode(&self) -> io::Result<Vec<u8>> {
        let number = |number: i32| number.to_be_bytes().to_vec();
        let (kind, content) = match self {
            Self::Hello(word) => (b'h', word.clone()),
            Self::Order(order) => (b'r', serde_json::to_vec(order)?),
            Self::Started(id) => (b's', id.map(|id| id.to_be_bytes().to_vec()).unwrap_or_default()),
            Self::Failed(code, words) => {
                let mut content = number(code.unwrap_or_default());
                let room = MAX_PIECE - content.len();
                content.extend(words.bytes().take(room));
                (b'f', content)
            }
            Self::Output(StdStream::Out, bytes) => (b'o', bytes.clone()),
            Self::Output(StdStream::Err, bytes) => (b'e', bytes.clone()),
            Self::Ended(ExitStatus::Code(code)) => (b'x', number(*code)),
            Self::Ended(ExitStatus::Signal(signal)) => (b'y', number(*signal)),
            Self::Kill => (b'k', Vec::new()),
        };
        let limit = if kind == b'r' { MAX_ORDER } else { MAX_PIECE };
        let length = u32::try_from(content.len()).ok().filter(|_| content.len() <= limit);
        let length = length.ok_or(io::ErrorKind::FileTooLarge)?;
        let mut bytes = Vec::with_capacity(5 + content.len());
        bytes.push(kind);
        bytes.extend(length.to_be_bytes());
        bytes.extend(content);
        Ok(bytes)
    }

    fn decode(kind: u8, content: Vec<u8>) -> Option<Self> {
        let number = |content: &[u8]| content.try_into().ok().map(i32::from_be_bytes);
        Some(match kind {
            b'h' => Self::Hello(content),
            b'r' => Self::Order(serde_json::from_slice(&content).ok()?),
            b's' if content.is_empty() => Self::Started(None),
            b's' => Self::Started(Some(u32::from_be_bytes(content.try_into().ok()?))),
            b'f' => {
                let (code, words) = content.split_first_chunk::<4>()?;
                let code = Some(i32::from_be_bytes(*code)).filter(|code| *code != 0);
                Self::Failed(code, String::from_utf8_lossy(words).into_owned())
            }
            b'o' => Self::Output(StdStream::Out, content),
            b'e' => Self::Output(StdStream::Err, content),
            b'x' => Self::Ended(ExitStatus::Code(number(&content)?)),
            b'y' => Self::Ended(ExitStatus::Signal(number(&content)?)),
            b'k' if content.is_empty() => Self::Kill,
            _ => return None,
        })
    }
}

/// Reads a frame of at most `limit` bytes; `None` where the other side has ended between two of them.
pub(crate) async fn read(
    from: &mut (impl AsyncRead + Unpin),
    limit: usize,
) -> io::Result<Option<Frame>> {
    let mut kind = [0];
    if from.read(&mut kind).await? == 0 {
        return Ok(None);
    }
    let [kind] = kind;
    let length = usize::try_from(from.read_u32().await?).unwrap_or(usize::MAX);
    if length > limit {
        return Err(invalid("a frame is too long"));
    }
    let mut content = vec![0; length];
    from.read_exact(&mut content).await?;
    Frame::decode(kind, content).map(Some).ok_or_else(|| invalid("a frame cannot be read"))
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests;
