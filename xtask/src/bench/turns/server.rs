//! A model that asks for the same tool again and again, behind HTTP (Anthropic Messages API, "streaming"; OpenAI API
//! reference, "Streaming").

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Result;

/// A request as it came.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// When its first byte came.
    pub(super) begins: Instant,
    /// From the last byte of the response before it to its first byte.
    pub(super) gap: Duration,
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
            lasts: Duration::ZERO,
            bytes: 0,
            memory: 0,
        }
    }
}

/// What a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's Chat Completions.
    OpenAi,
}

/// A server on this machine.
pub(super) struct Server {
    address: String,
    shared: Arc<Shared>,
}

struct Shared {
    wire: Wire,
    turns: usize,
    file: PathBuf,
    process: AtomicU32,
    stopped: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    seen: Vec<Seen>,
    answered: Option<Instant>,
}

impl Server {
    /// Asks for `file` to be read in each of so many responses, then says that it is done.
    pub(super) fn start(wire: Wire, turns: usize, file: &Path) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = format!("http://{}", listener.local_addr()?);
        let shared = Arc::new(Shared {
            wire,
            turns,
            file: file.to_path_buf(),
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
                let gap = state
                    .answered
                    .map_or(Duration::ZERO, |answered| begins.saturating_duration_since(answered));
                state.seen.push(Seen { begins, gap, lasts, bytes, memory });
                state.seen.len()
            };
            let response = self.response(number);
            (&mut &*stream).write_all(response.as_bytes())?;
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.answered = Some(Instant::now());
        }
    }

    /// One response in one piece.
    fn response(&self, number: usize) -> String {
        let is_last = number > self.turns;
        let input = json!({ "file_path": self.file, "limit": 1 + number % 12 }).to_string();
        let body = match self.wire {
            Wire::Anthropic => messages(number, &input, is_last),
            Wire::OpenAi => chat(number, &input, is_last),
        };
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
            body.len()
        )
    }
}

fn messages(number: usize, input: &str, is_last: bool) -> String {
    let (block, delta, reason) = if is_last {
        (
            json!({ "type": "text", "text": "" }),
            json!({ "type": "text_delta", "text": "That is all." }),
            "end_turn",
        )
    } else {
        let id = format!("toolu_bench_{number}");
        (
            json!({ "type": "tool_use", "id": id, "name": "Read", "input": {} }),
            json!({ "type": "input_json_delta", "partial_json": input }),
            "tool_use",
        )
    };
    // Few tokens are reported, so that the conversation is never compacted.
    let message = json!({
        "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "bench", "content": [],
        "stop_reason": null, "usage": { "input_tokens": 100, "output_tokens": 1 },
    });
    let events = [
        json!({ "type": "message_start", "message": message }),
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({
            "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": 20 },
        }),
        json!({ "type": "message_stop" }),
    ];
    events.iter().map(event).collect()
}

fn chat(number: usize, input: &str, is_last: bool) -> String {
    let (delta, reason) = if is_last {
        (json!({ "role": "assistant", "content": "That is all." }), "stop")
    } else {
        let function = json!({ "name": "Read", "arguments": input });
        let call = json!({ "index": 0, "id": format!("call_{number}"), "type": "function", "function": function });
        (json!({ "role": "assistant", "tool_calls": [call] }), "tool_calls")
    };
    let chunk = |delta: Value, reason: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        let usage = json!({ "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120 });
        let chunk = json!({ "id": "c", "object": "chat.completion.chunk", "choices": [choice], "usage": usage });
        format!("data: {chunk}\n\n")
    };
    format!("{}{}data: [DONE]\n\n", chunk(delta, None), chunk(json!({}), Some(reason)))
}

fn event(data: &Value) -> String {
    let name = data.get("type").and_then(Value::as_str).unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
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
