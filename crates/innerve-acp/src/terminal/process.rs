//! A command in an editor's terminal, seen from the agent: what the relay tells of it, and what ends it.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use innerve_tool::port::{ExitStatus, OutputSink, RunningProcess};
use innerve_tool::{BoxFuture, CancellationToken};
use tokio::io::{AsyncRead, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use super::{Life, Terminal};
use crate::frame::{self, Frame, MAX_PIECE};

/// How long the relay may take to end a group: it asks for two seconds, then forces for one. Who cancelled a call does not
/// wait for much longer.
const ASKED: Duration = Duration::from_secs(4);
/// How long the editor may take to end the relay.
const FORCED: Duration = Duration::from_secs(3);
/// By what a command counts as killed whose relay is gone: by what ends one that cannot say so any more.
const KILLED: ExitStatus = ExitStatus::Signal(9);

/// Has the relay start the command, and waits until it has.
pub(super) async fn start(
    mut stream: UnixStream,
    order: &[u8],
    output: Arc<dyn OutputSink>,
    terminal: Arc<Terminal>,
    life: Arc<Life>,
) -> io::Result<Box<dyn RunningProcess>> {
    stream.write_all(order).await?;
    let (started, starting) = oneshot::channel();
    let (ended, ending) = watch::channel(None);
    let mut process = EditorProcess {
        id: None,
        ended: ending,
        kill: CancellationToken::new(),
        cut: life.0.child_token(),
        terminal: Arc::clone(&terminal),
        is_over: false,
        _life: life,
    };
    let told = Told { output: Some(output), started: Some(started), ended };
    tokio::spawn(follow(stream, told, process.kill.clone(), process.cut.clone(), terminal));
    match starting.await {
        Ok(Ok(id)) => {
            process.id = id;
            Ok(Box::new(process))
        }
        Ok(Err(error)) => Err(error),
        Err(_) => Err(io::Error::new(
            io::ErrorKind::ConnectionAborted,
            "the editor's terminal ended before the command ran",
        )),
    }
}

/// Stays with the relay to its end, which comes when nothing of the command runs any more.
async fn follow(
    stream: UnixStream,
    mut told: Told,
    kill: CancellationToken,
    cut: CancellationToken,
    terminal: Arc<Terminal>,
) {
    let (mut from, mut to) = stream.into_split();
    let is_cut = {
        let mut listening = pin!(told.listen(&mut from));
        let mut is_killed = false;
        loop {
            tokio::select! {
                () = &mut listening => break false,
                () = cut.cancelled() => break true,
                () = kill.cancelled(), if !is_killed => {
                    is_killed = true;
                    if let Ok(bytes) = Frame::Kill.encode() {
                        // A relay that is gone has told so by now.
                        let _gone = to.write_all(&bytes).await;
                    }
                }
            }
        }
    };
    drop(told);
    // The relay takes it for the end of the agent.
    drop(to);
    if is_cut {
        // The relay can end more than the editor, who would only end the relay.
        let _slow = timeout(ASKED, tokio::io::copy(&mut from, &mut tokio::io::sink())).await;
    }
    drop(from);
    terminal.ended().await;
}

/// What is made of the relay's words.
struct Told {
    /// Dropped when the command has ended: what comes later is of its background.
    output: Option<Arc<dyn OutputSink>>,
    started: Option<oneshot::Sender<io::Result<Option<u32>>>>,
    ended: watch::Sender<Option<ExitStatus>>,
}

impl Told {
    async fn listen(&mut self, from: &mut (impl AsyncRead + Unpin)) {
        // What is no frame ends it as the end of the connection does.
        while let Ok(Some(frame)) = frame::read(from, MAX_PIECE).await {
            match frame {
                Frame::Output(stream, bytes) => {
                    if let Some(output) = &self.output {
                        output.write(stream, &bytes);
                    }
                }
                Frame::Started(id) => self.has_started(Ok(id)),
                Frame::Failed(code, words) => {
                    let error = code.map(io::Error::from_raw_os_error);
                    self.has_started(Err(error.unwrap_or_else(|| io::Error::other(words))));
                }
                Frame::Ended(status) => self.has_ended(status),
                Frame::Hello(_) | Frame::Order(_) | Frame::Kill => break,
            }
        }
        self.has_ended(KILLED);
    }

    fn has_started(&mut self, how: io::Result<Option<u32>>) {
        if let Some(started) = self.started.take() {
            // Nobody waits for it where the call was given up.
            let _given_up = started.send(how);
        }
    }

    fn has_ended(&mut self, status: ExitStatus) {
        self.output = None;
        self.started = None;
        self.ended.send_if_modified(|ended| ended.replace(ended.unwrap_or(status)).is_none());
    }
}

struct EditorProcess {
    id: Option<u32>,
    ended: watch::Receiver<Option<ExitStatus>>,
    /// Asks the relay to end the command.
    kill: CancellationToken,
    /// Leaves the relay, which then ends all that still runs.
    cut: CancellationToken,
    terminal: Arc<Terminal>,
    /// Whether it has ended; otherwise dropping ends it.
    is_over: bool,
    _life: Arc<Life>,
}

impl EditorProcess {
    async fn end(&mut self) -> io::Result<ExitStatus> {
        let ended = self.ended.wait_for(Option::is_some).await.ok().and_then(|ended| *ended);
        let status = ended.ok_or_else(|| io::Error::other("the agent ends"))?;
        self.is_over = true;
        self.id = None;
        Ok(status)
    }
}

impl RunningProcess for EditorProcess {
    fn id(&self) -> Option<u32> {
        self.id
    }

    fn wait(&mut self) -> BoxFuture<'_, io::Result<ExitStatus>> {
        Box::pin(self.end())
    }

    fn kill(&mut self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move {
            self.kill.cancel();
            if let Ok(ended) = timeout(ASKED, self.end()).await {
                return ended.map(|_| ());
            }
            let terminal = Arc::clone(&self.terminal);
            let forced = async {
                terminal.kill().await;
                self.end().await
            };
            match timeout(FORCED, forced).await {
                Ok(ended) => ended.map(|_| ()),
                Err(_) => Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the command in the editor's terminal does not end",
                )),
            }
        })
    }
}

impl Drop for EditorProcess {
    fn drop(&mut self) {
        if !self.is_over {
            self.cut.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use innerve_tool::port::StdStream;

    use super::*;

    #[derive(Default)]
    struct Kept(Mutex<Vec<(StdStream, Vec<u8>)>>);

    impl OutputSink for Kept {
        fn write(&self, stream: StdStream, bytes: &[u8]) {
            self.0.lock().unwrap().push((stream, bytes.to_vec()));
        }
    }

    struct Heard {
        output: Vec<(StdStream, Vec<u8>)>,
        started: Option<io::Result<Option<u32>>>,
        ended: Option<ExitStatus>,
    }

    /// What is made of these bytes of a relay.
    async fn hear(mut bytes: &[u8]) -> Heard {
        let kept = Arc::<Kept>::default();
        let (started, mut starting) = oneshot::channel();
        let (ended, ending) = watch::channel(None);
        let output = Some(Arc::<Kept>::clone(&kept) as Arc<dyn OutputSink>);
        Told { output, started: Some(started), ended }.listen(&mut bytes).await;
        let output = kept.0.lock().unwrap().clone();
        Heard { output, started: starting.try_recv().ok(), ended: *ending.borrow() }
    }

    fn bytes(frames: &[Frame]) -> Vec<u8> {
        frames.iter().flat_map(|frame| frame.encode().unwrap()).collect()
    }

    fn out(text: &str) -> Frame {
        Frame::Output(StdStream::Out, text.as_bytes().to_vec())
    }

    #[tokio::test]
    async fn i9_what_comes_before_the_end_is_the_commands_and_nothing_after_it() {
        let code = ExitStatus::Code(3);
        let err = Frame::Output(StdStream::Err, b"\0\xff".to_vec());
        let frames = [out("early"), Frame::Started(Some(7)), err, Frame::Ended(code), out("late")];
        let heard = hear(&bytes(&frames)).await;
        let expected =
            vec![(StdStream::Out, b"early".to_vec()), (StdStream::Err, b"\0\xff".to_vec())];
        assert_eq!(heard.output, expected);
        assert_eq!(heard.started.unwrap().unwrap(), Some(7));
        assert_eq!(heard.ended, Some(code));
        let twice = [Frame::Started(None), Frame::Ended(code), Frame::Ended(KILLED)];
        assert_eq!(hear(&bytes(&twice)).await.ended, Some(code));
    }

    #[tokio::test]
    async fn i2_a_relay_that_is_gone_or_talks_nonsense_counts_as_killed() {
        let begin = bytes(&[Frame::Started(None), out("a")]);
        for rest in [
            &b""[..],
            b"o\0\0",
            b"o\0\0\0\x05abc",
            b"?\0\0\0\0",
            b"k\0\0\0\0",
            b"o\xff\xff\xff\xff",
        ] {
            let heard = hear(&[&begin, rest].concat()).await;
            assert_eq!(heard.ended, Some(KILLED), "{rest:?}");
            assert_eq!(heard.output.len(), 1, "{rest:?}");
        }
        assert!(hear(b"").await.started.is_none(), "nobody knows whether it ran");
    }

    #[tokio::test]
    async fn what_cannot_be_started_is_the_systems_own_error() {
        let heard = hear(&bytes(&[Frame::Failed(Some(2), "gone".to_owned())])).await;
        assert_eq!(heard.started.unwrap().unwrap_err().kind(), io::ErrorKind::NotFound);
        let heard = hear(&bytes(&[Frame::Failed(None, "a NUL".to_owned())])).await;
        assert_eq!(heard.started.unwrap().unwrap_err().to_string(), "a NUL");
    }
}
