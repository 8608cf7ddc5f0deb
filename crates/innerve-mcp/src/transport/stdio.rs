//! Standard input and output: one message per line, none larger than a limit, none lost.

use std::io;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader,
};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::Mutex;

use super::process::{Pipes, Process};
use super::{Health, MAX_MESSAGE};

/// Lines that are no message before the server is given up.
const MAX_GARBAGE: usize = 10_000;
/// How much is read at once.
const PIECE: usize = 64 * 1024;

/// A connection to a program that this one started.
pub(crate) struct StdioTransport {
    stdin: Arc<Mutex<Option<ChildStdin>>>,
    lines: Lines<BufReader<ChildStdout>>,
    process: Process,
    health: Arc<Health>,
    garbage: usize,
}

impl StdioTransport {
    pub(crate) fn new(process: Process, pipes: Pipes, health: Arc<Health>) -> Self {
        let Pipes { stdin, stdout, stderr } = pipes;
        tokio::spawn(drain(stderr, Arc::clone(&health)));
        Self {
            stdin: Arc::new(Mutex::new(Some(stdin))),
            lines: Lines::new(BufReader::with_capacity(PIECE, stdout)),
            process,
            health,
            garbage: 0,
        }
    }

    /// Says how the connection ended, for the person.
    async fn explain_end(&mut self) {
        if self.health.broken().is_some() {
            return;
        }
        let status = self.process.ended(std::time::Duration::from_millis(500)).await;
        let how = match status.map(|status| (status, status.code())) {
            Some((_, Some(code))) => format!("it ended with code {code}"),
            Some((status, None)) => format!("it was ended ({status})"),
            None => "it closed its output".to_owned(),
        };
        let said =
            self.health.stderr().map(|line| format!("; it said: {line}")).unwrap_or_default();
        self.health.broke(format!("{how}{said}"));
    }

    fn read(&mut self, line: &[u8]) -> Option<RxJsonRpcMessage<RoleClient>> {
        match serde_json::from_slice(line) {
            Ok(message) => Some(message),
            Err(error) => unreadable(line, &error.to_string()).or_else(|| {
                self.garbage += 1;
                self.health.take_garbage(line);
                None
            }),
        }
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let stdin = Arc::clone(&self.stdin);
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let mut stdin = stdin.lock().await;
            let Some(pipe) = stdin.as_mut() else { return Err(io::ErrorKind::NotConnected.into()) };
            pipe.write_all(&line).await?;
            pipe.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let line = match self.lines.next().await {
                Ok(Some(line)) => line,
                Ok(None) => {
                    self.explain_end().await;
                    return None;
                }
                Err(error) => {
                    self.health.broke(error.to_string());
                    return None;
                }
            };
            if line.trim_ascii().is_empty() {
                continue;
            }
            if let Some(message) = self.read(&line) {
                return Some(message);
            }
            if self.garbage > MAX_GARBAGE {
                self.health.broke("it writes to its standard output what is no message");
                return None;
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        // A write that hangs must not keep the server from being ended.
        if let Ok(mut stdin) = self.stdin.try_lock() {
            drop(stdin.take());
        }
        self.process.end().await;
        Ok(())
    }
}

/// An answer that cannot be read as one is still the answer to a call: it becomes an error, so that nobody waits for more.
fn unreadable(line: &[u8], problem: &str) -> Option<RxJsonRpcMessage<RoleClient>> {
    /// The fields are skipped over whatever they hold, however deep it is.
    #[derive(Deserialize)]
    struct Head {
        id: Option<Value>,
        method: Option<serde::de::IgnoredAny>,
    }
    let head: Head = serde_json::from_slice(line).ok()?;
    let id = head.id.filter(|_| head.method.is_none())?;
    let message = format!("the server's answer cannot be read: {problem}");
    let error =
        json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32603, "message": message } });
    serde_json::from_value(error).ok()
}

/// Keeps the last of what a server writes to its standard error.
async fn drain(mut stderr: ChildStderr, health: Arc<Health>) {
    let mut piece = vec![0; 4 * 1024];
    while let Ok(count) = stderr.read(&mut piece).await {
        if count == 0 {
            return;
        }
        health.take_stderr(piece.get(..count).unwrap_or_default());
    }
}

/// Reads lines; one that is too long is an error, and memory for more than one is never taken.
struct Lines<R> {
    reader: R,
    /// What has come of the next line: kept here, since reading may be given up and begun again.
    line: Vec<u8>,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    fn new(reader: R) -> Self {
        Self { reader, line: Vec::new() }
    }

    async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                // Half a line at the end is no message.
                return Ok(None);
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            self.line.extend_from_slice(available.get(..taken).unwrap_or_default());
            self.reader.consume(taken);
            if self.line.len() > MAX_MESSAGE {
                let text = format!("it sent a message of more than {} MiB", MAX_MESSAGE >> 20);
                return Err(io::Error::other(text));
            }
            if end.is_some() {
                return Ok(Some(std::mem::take(&mut self.line)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(text: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let mut lines = Lines::new(BufReader::with_capacity(7, text));
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.map_err(|error| error.to_string())? {
            all.push(line);
        }
        Ok(all)
    }

    #[tokio::test]
    async fn lines_are_put_together_and_half_a_line_is_none() {
        let lines = all(b"one\n\na much longer line\nhalf").await.unwrap();
        assert_eq!(lines, [&b"one\n"[..], b"\n", b"a much longer line\n"]);
    }

    #[tokio::test]
    async fn i8_a_line_without_end_is_refused() {
        let flood = vec![b'x'; MAX_MESSAGE + 1];
        assert!(all(&flood).await.unwrap_err().contains("16 MiB"));
    }

    #[test]
    fn an_answer_that_cannot_be_read_is_an_error_of_its_call() {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":7,"result":{}1{}}}"#,
            "[".repeat(10_000),
            "]".repeat(10_000)
        );
        let message = unreadable(deep.as_bytes(), "too deep").unwrap();
        let told = serde_json::to_value(message).unwrap();
        assert_eq!((&told["id"], &told["error"]["code"]), (&json!(7), &json!(-32603)));
        assert!(unreadable(br#"{"jsonrpc":"2.0","method":"x"}"#, "").is_none());
        assert!(unreadable(b"Server started", "").is_none());
    }
}
