//! Reads tool uses out of session logs and transcripts, line by line.

use std::collections::HashSet;
use std::collections::VecDeque;
use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::jsonl::{Line, next_line};

/// Bytes of a line at most; longer ones are skipped.
const MAX_LINE: u64 = 64 * 1024 * 1024;

/// A tool use of the past.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Past {
    pub(super) tool: String,
    pub(super) input: Value,
    /// The directory that its session started in, if the transcript tells.
    pub(super) start: Option<PathBuf>,
    /// The directory that it was made in.
    pub(super) cwd: Option<PathBuf>,
}

/// The tool uses that were read already: a log holds one in several records, and a session that goes on repeats them.
pub(super) type Seen = HashSet<u64>;

/// A transcript that is being read.
pub(super) struct Transcript<'a> {
    reader: BufReader<File>,
    line: Vec<u8>,
    pending: VecDeque<Past>,
    seen: &'a mut Seen,
    start: Option<PathBuf>,
    /// Lines that are no JSON, or too long.
    pub(super) skipped: usize,
}

impl<'a> Transcript<'a> {
    pub(super) fn open(file: &Path, seen: &'a mut Seen) -> io::Result<Self> {
        // Looked at before it is opened: opening a pipe would wait for somebody to write.
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let reader = BufReader::new(File::open(file)?);
        let (line, pending) = (Vec::new(), VecDeque::new());
        Ok(Self { reader, line, pending, seen, start: None, skipped: 0 })
    }

    /// The next tool use; a file that cannot be read further ends here.
    pub(super) fn next(&mut self) -> Option<Past> {
        loop {
            if let Some(past) = self.pending.pop_front() {
                return Some(past);
            }
            match next_line(&mut self.reader, &mut self.line, MAX_LINE) {
                Ok(Some(Line::Whole)) if self.line.trim_ascii().is_empty() => {}
                Ok(Some(Line::Whole)) => match serde_json::from_slice::<Value>(&self.line) {
                    Ok(record) => self.take(&record),
                    Err(_) => self.skipped += 1,
                },
                Ok(Some(Line::TooLong)) => self.skipped += 1,
                Ok(None) => return None,
                Err(_) => {
                    self.skipped += 1;
                    return None;
                }
            }
        }
    }

    fn take(&mut self, record: &Value) {
        let cwd = record.get("cwd").and_then(Value::as_str).map(PathBuf::from);
        let cwd = cwd.filter(|cwd| cwd.is_absolute());
        // The first directory that is told is where the session started.
        if self.start.is_none() {
            self.start.clone_from(&cwd);
        }
        for tool_use in tool_uses(record) {
            let name = tool_use.get("name").and_then(Value::as_str);
            let (Some(name), Some(input)) = (name, tool_use.get("input")) else { continue };
            let id = tool_use.get("id").and_then(Value::as_str).unwrap_or_default();
            let mut hasher = DefaultHasher::new();
            (id, name, input.to_string()).hash(&mut hasher);
            if !id.is_empty() && !self.seen.insert(hasher.finish()) {
                continue;
            }
            self.pending.push_back(Past {
                tool: name.to_owned(),
                input: input.clone(),
                start: self.start.clone(),
                cwd: cwd.clone(),
            });
        }
    }
}

/// The tool uses of a record: of innerve's own log (a tool that started, a message, a whole history), or of a line of a
/// Claude Code transcript, whose `message` has the same form.
fn tool_uses(record: &Value) -> Vec<&Value> {
    let started = record.get("tool_use");
    let message = record.get("message");
    let history = record.get("messages").and_then(Value::as_array);
    let blocks = message
        .into_iter()
        .chain(history.into_iter().flatten())
        .filter_map(|message| message.get("content")?.as_array())
        .flatten()
        .filter(|block| block.get("type").and_then(Value::as_str) == Some("tool_use"));
    started.into_iter().chain(blocks).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(lines: &[Value]) -> Vec<Past> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log.jsonl");
        let text: Vec<String> = lines.iter().map(Value::to_string).collect();
        std::fs::write(&file, text.join("\n")).unwrap();
        let mut seen = Seen::default();
        let mut transcript = Transcript::open(&file, &mut seen).unwrap();
        std::iter::from_fn(|| transcript.next()).collect()
    }

    fn tool_use(id: &str, command: &str) -> Value {
        json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}})
    }

    #[test]
    fn a_tool_use_in_several_records_of_a_log_counts_once() {
        let message = json!({"role": "assistant", "content": [
            {"type": "text", "text": "x"}, tool_use("a", "ls"), tool_use("b", "make"),
        ]});
        let past = read(&[
            json!({"type": "session", "version": 1, "id": "s", "cwd": "/repo", "model": "m", "started": 1}),
            json!({"type": "tool_started", "tool_use": {"id": "a", "name": "Bash", "input": {"command": "ls"}}}),
            json!({"type": "message", "message": message}),
            json!({"type": "history", "messages": [message]}),
        ]);
        let commands: Vec<&str> =
            past.iter().map(|past| past.input.get("command").unwrap().as_str().unwrap()).collect();
        assert_eq!(commands, ["ls", "make"]);
        assert!(past.iter().all(|past| past.start.as_deref() == Some(Path::new("/repo"))));
    }

    #[test]
    fn a_transcript_tells_the_directory_of_each_line() {
        let line = |cwd: &str, content: Value| json!({"type": "assistant", "cwd": cwd, "message": {"role": "assistant", "content": content}});
        let past = read(&[
            json!({"type": "summary", "summary": "x"}),
            json!({"type": "user", "cwd": "/repo", "message": {"role": "user", "content": "hello"}}),
            line("/repo/sub", json!([tool_use("a", "ls")])),
            line(
                "relative",
                json!([tool_use("b", "ls"), {"type": "tool_use", "id": "c", "name": "X"}]),
            ),
        ]);
        let places: Vec<(Option<&Path>, Option<&Path>)> =
            past.iter().map(|past| (past.start.as_deref(), past.cwd.as_deref())).collect();
        let repo = Some(Path::new("/repo"));
        assert_eq!(places, [(repo, Some(Path::new("/repo/sub"))), (repo, None)]);
    }
}
