//! HTTP in front of the model: what came when, and how large.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::model::{Piece, Task, Wire};
use crate::Result;

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

/// A server on this machine.
pub(super) struct Server {
    address: String,
    shared: Arc<Shared>,
}

struct Shared {
    wire: Wire,
    task: Task,
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
    /// Plays a model that gives the program this task.
    pub(super) fn start(wire: Wire, task: Task) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = format!("http://{}", listener.local_addr()?);
        let shared = Arc::new(Shared {
            wire,
            task,
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

    /// Ends the server and gives the requests that came.
    pub(super) fn stop(self) -> Vec<Seen> {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections.
        drop(TcpStream::connect(self.address.trim_start_matches("http://")));
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut state.seen)
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
            let bytes = read_request(&mut reader)?;
            let lasts = begins.elapsed();
            let memory = resident(self.process.load(Ordering::SeqCst));
            let number = {
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                let [round, gap] = state.answered.map_or([Duration::ZERO; 2], |(began, ended)| {
                    [began, ended].map(|then| begins.saturating_duration_since(then))
                });
                state.seen.push(Seen { begins, gap, round, lasts, bytes, memory });
                state.seen.len()
            };
            let began = Instant::now();
            respond(stream, &self.task.response(self.wire, number))?;
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.answered = Some((began, Instant::now()));
        }
    }
}

/// Each piece at its time; what comes without a pause goes out in one write, as from a server that has it all.
fn respond(mut stream: &TcpStream, pieces: &[Piece]) -> io::Result<()> {
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

/// Reads one request and gives the bytes of its body.
fn read_request(reader: &mut BufReader<&TcpStream>) -> io::Result<usize> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    let mut left = reader.by_ref().take(u64::try_from(length).map_err(io::Error::other)?);
    io::copy(&mut left, &mut io::sink())?;
    Ok(length)
}

/// The bytes that a process has in memory (Linux, `proc_pid_status(5)`); 0 where that cannot be told.
fn resident(process: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok());
    number.unwrap_or(0) * 1024
}
