//! What a list of past sessions shows of each, read in bounded memory however long its log is.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use innerve_protocol::Role;
use serde::Serialize;

use crate::Record;
use crate::past::log_in;

/// Bytes of a line that are looked at to tell its kind.
const HEAD: u64 = 64;
/// A first message of more bytes is not read.
const MAX_MESSAGE: u64 = 1 << 20;
/// Characters of the first prompt that are kept.
const MAX_PROMPT: usize = 500;

/// What a list shows of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SessionSummary {
    /// Its id.
    pub id: String,
    /// The directory it started in.
    pub cwd: PathBuf,
    /// The model it started with.
    pub model: String,
    /// When it started, in seconds since 1970.
    pub started: u64,
    /// When its log was last written, in seconds since 1970.
    pub last_used: u64,
    /// What it was first asked to do, cut if it is long.
    pub first_prompt: String,
    /// How many tasks a person has given.
    pub turns: u64,
    /// The session whose conversation it began with.
    pub forked_from: Option<String>,
    /// The size of its log in bytes.
    pub bytes: u64,
    /// Its folder.
    #[serde(skip)]
    pub folder: PathBuf,
}

impl SessionSummary {
    /// Reads the summary of the session in a folder.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let path = log_in(folder);
        let meta = fs::metadata(&path)?;
        let mut summary = Self::head(folder)?;
        summary.bytes = meta.len();
        summary.last_used = seconds(meta.modified().ok());
        let mut reader = BufReader::with_capacity(256 * 1024, File::open(path)?);
        let (mut turns, mut ends) = (0, 0);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = reader.by_ref().take(HEAD).read_until(b'\n', &mut line)?;
            if read == 0 {
                break;
            }
            turns += u64::from(line.starts_with(br#"{"type":"turn""#));
            ends += u64::from(line.starts_with(br#"{"type":"ended""#));
            let is_message = line.starts_with(br#"{"type":"message""#)
                || line.starts_with(br#"{"type":"history""#);
            if line.last() == Some(&b'\n') {
                continue;
            }
            if is_message && summary.first_prompt.is_empty() {
                let rest = reader.by_ref().take(MAX_MESSAGE).read_until(b'\n', &mut line)?;
                summary.first_prompt = prompt(&line);
                if rest > 0 && line.last() == Some(&b'\n') {
                    continue;
                }
            }
            reader.skip_until(b'\n')?;
        }
        // Logs of the first version do not tell where a turn begins.
        summary.turns = if turns > 0 { turns } else { ends };
        Ok(summary)
    }

    /// Reads the first line only: id, directory, model and start.
    pub fn head(folder: &Path) -> io::Result<Self> {
        let mut line = Vec::new();
        let file = File::open(log_in(folder))?;
        BufReader::new(file).take(MAX_MESSAGE).read_until(b'\n', &mut line)?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut summary = Self {
            id: name,
            cwd: PathBuf::new(),
            model: String::new(),
            started: 0,
            last_used: 0,
            first_prompt: String::new(),
            turns: 0,
            forked_from: None,
            bytes: 0,
            folder: folder.to_path_buf(),
        };
        if let Ok(Record::Session { cwd, model, started, forked_from, .. }) =
            serde_json::from_slice::<Record>(&line)
        {
            summary.cwd = cwd;
            summary.model = model;
            summary.started = started;
            summary.forked_from = forked_from;
        }
        Ok(summary)
    }
}

/// The text of the first message of a person in a record; empty if it cannot be read.
fn prompt(line: &[u8]) -> String {
    let record = serde_json::from_slice::<Record>(line).ok();
    let messages = if let Some(Record::Message { message }) = record {
        vec![message]
    } else if let Some(Record::History { messages }) = record {
        messages
    } else {
        Vec::new()
    };
    let first = messages.iter().find(|message| message.role == Role::User);
    first.map(|message| message.plain_text().chars().take(MAX_PROMPT).collect()).unwrap_or_default()
}

fn seconds(time: Option<SystemTime>) -> u64 {
    time.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok())
        .map_or(0, |since| since.as_secs())
}
