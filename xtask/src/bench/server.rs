//! HTTP in front of the model: what came when, and how large.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::Result;

/// What plays the model.
pub(super) trait Script: Send + Sync + 'static {
    /// The response to a request. `number` is that of the request among those that count, from 1.
    fn response(&self, number: usize, request: &Request) -> Response;

    /// Whether a request counts: some programs ask for a title beside their task.
    fn counts(&self, _request: &Request) -> bool {
        true
    }
}

/// A request as a script sees it.
#[derive(Debug, Default)]
pub(super) struct Request {
    /// Where it went, without the query.
    pub(super) path: String,
    pub(super) body: Vec<u8>,
}

/// What is sent back.
pub(super) enum Response {
    /// Server-sent events.
    Stream(Vec<Piece>),
    /// A document.
    Json(serde_json::Value),
}

/// A part of a streamed response.
pub(super) struct Piece {
    /// How long after the one before.
    pub(super) after: Duration,
    pub(super) text: String,
}

impl Piece {
    /// A part that comes without a pause.
    pub(super) fn at_once(text: String) -> Self {
        Self { after: Duration::ZERO, text }
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// When its first byte came.
    pub(super) begins: Instant,
    /// From the last byte of the response before it to its first byte.
    pub(super) gap: Duration,
    /// From the first byte of the response before it to its first byte.
    pub(super) round: Duration,
    /// From its first byte to its last.
    pub(super) lasts: Duration,
    /// Bytes of its body.
    pub(super) bytes: usize,
    /// Bytes that the program had in memory then.
    pub(super) memory: usize,
}

impl Default for Seen {
    fn default() -> Self {
        Self {
            begins: Instant::now(),
            gap: Duration::ZERO,
            round: Duration::ZERO,
            lasts: Duration::ZERO,
            bytes: 0,
            memory: 0,
        }
    }
}

/// A server on this machine; it ends when it is dropped.
pub(super) struct Server {
    address: String,
    shared: Arc<Shared>,
}

struct Shared {
    script: Box<dyn Script>,
    process: AtomicU32,
    stopped: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    seen: Vec<Seen>,
    /// When the last response began and ended.
    answered: Option<(Instant, Instant)>,
}

impl Server {
    /// Plays a model by this script.
    pub(super) fn start(script: impl Script) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = format!("http://{}", listener.local_addr()?);
        let shared = Arc::new(Shared {
            script: Box::new(script),
            process: AtomicU32::new(0),
            stopped: AtomicBool::new(false),
            state: Mutex::default(),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if accepting.stopped.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&accepting);
                // A connection that ends in an error is one that the program has closed.
                thread::spawn(move || drop(shared.serve(&stream)));
            }
        });
        Ok(Self { address, shared })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// The process whose memory is looked at.
    pub(super) fn watch(&self, process: u32) {
        self.shared.process.store(process, Ordering::SeqCst);
    }

    /// The requests that came.
    pub(super) fn seen(self) -> Vec<Seen> {
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut state.seen)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections.
        drop(TcpStream::connect(self.address.trim_start_matches("http://")));
    }
}

impl Shared {
    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::with_capacity(256 * 1024, stream);
        loop {
            if reader.fill_buf()?.is_empty() {
                return Ok(());
            }
            let begins = Instant::now();
            let request = read_request(&mut reader)?;
            let lasts = begins.elapsed();
            if !self.script.counts(&request) {
                respond(stream, self.script.response(0, &request))?;
                continue;
            }
            let memory = resident(self.process.load(Ordering::SeqCst));
            let number = {
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                let [round, gap] = state.answered.map_or([Duration::ZERO; 2], |(began, ended)| {
                    [began, ended].map(|then| begins.saturating_duration_since(then))
                });
                let bytes = request.body.len();
                state.seen.push(Seen { begins, gap, round, lasts, bytes, memory });
                state.seen.len()
            };
            let began = Instant::now();
            respond(stream, self.script.response(number, &request))?;
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.answered = Some((began, Instant::now()));
        }
    }
}

fn respond(mut stream: &TcpStream, response: Response) -> io::Result<()> {
    match response {
        Response::Stream(pieces) => write_stream(stream, &pieces),
        Response::Json(document) => {
            let body = document.to_string();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length";
            stream.write_all(format!("{head}: {}\r\n\r\n{body}", body.len()).as_bytes())
        }
    }
}

/// Each piece at its time; what comes without a pause goes out in one write, as from a server that has it all.
fn write_stream(mut stream: &TcpStream, pieces: &[Piece]) -> io::Result<()> {
    let mut out = String::from(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
    );
    for piece in pieces {
        if !piece.after.is_zero() {
            stream.write_all(out.as_bytes())?;
            out.clear();
            thread::sleep(piece.after);
        }
        out.push_str(&format!("{:x}\r\n{}\r\n", piece.text.len(), piece.text));
    }
    out.push_str("0\r\n\r\n");
    stream.write_all(out.as_bytes())
}

fn read_request(reader: &mut BufReader<&TcpStream>) -> io::Result<Request> {
    let mut request = Request::default();
    let first = read_line(reader)?;
    let target = first.split(' ').nth(1).unwrap_or_default();
    target.split('?').next().unwrap_or_default().clone_into(&mut request.path);
    let (mut length, mut is_chunked) = (0, false);
    loop {
        let line = read_line(reader)?;
        if line.is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else { continue };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
        is_chunked |= name.eq_ignore_ascii_case("transfer-encoding") && value.contains("chunked");
    }
    if !is_chunked {
        reader.by_ref().take(length).read_to_end(&mut request.body)?;
        return Ok(request);
    }
    loop {
        let line = read_line(reader)?;
        let size = u64::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
        reader.by_ref().take(size).read_to_end(&mut request.body)?;
        read_line(reader)?;
        if size == 0 {
            return Ok(request);
        }
    }
}

fn read_line(reader: &mut BufReader<&TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end().to_owned())
}

/// The bytes that a process has in memory (Linux, `proc_pid_status(5)`); 0 where that cannot be told.
fn resident(process: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok());
    number.unwrap_or(0) * 1024
}
