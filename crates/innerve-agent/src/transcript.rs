//! Reads a session log back into a conversation that an API takes, whatever the process died of.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use innerve_budget::ReplacementRecord;
use innerve_protocol::{ContentBlock, Message, Role, ToolResult, ToolUse, ToolUseId};

use crate::conversation::append;
use crate::deferral::referenced;
use crate::{LogError, Record};

/// A line of more bytes is not read into memory.
const MAX_LINE: u64 = 64 * 1024 * 1024;

/// A session as its log tells it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Transcript {
    /// The session's id; empty if the log has no first line.
    pub session_id: String,
    /// The directory it started in; empty if the log has no first line.
    pub cwd: PathBuf,
    /// The model it started with.
    pub model: String,
    /// When it started, in seconds since 1970.
    pub started: u64,
    /// The session whose conversation it began with.
    pub forked_from: Option<String>,
    /// Whether it only coordinates others.
    pub coordinator: bool,
    /// How many tasks a person has given.
    pub turns: u64,
    /// What a person wrote, without what hooks and others added to it.
    pub words: Vec<String>,
    /// The conversation, with every tool use answered.
    pub messages: Vec<Message>,
    /// Results that were replaced for good.
    pub replacements: Vec<ReplacementRecord>,
    /// Tool uses that had started and not ended: whether they took effect is not known.
    pub interrupted: Vec<ToolUse>,
    /// The deferred tools that were ever found, whatever has become of what found them.
    pub(crate) found: BTreeSet<String>,
    /// The messages at the end of the conversation that the log does not hold: they answer what was left open.
    pub(crate) mended: Vec<Message>,
    /// Work in the background that ended with the process, by id.
    pub(crate) lost: Vec<String>,
}

/// What the model is told of a call that has no result.
fn unfinished(tool_use: &ToolUse, started: bool) -> ToolResult {
    let name = &tool_use.name;
    let text = if started {
        format!(
            "The session ended while this call of {name} ran. It may have had effects; check before you run it again."
        )
    } else {
        format!("The session ended before this call of {name} started; nothing was run.")
    };
    ToolResult::error(tool_use.id.clone(), text)
}

/// A line that could not be read; it stays in the file and is skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quarantined {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
}

impl Transcript {
    /// Reads a log. Lines that cannot be read are skipped and told.
    pub fn load(path: &Path) -> Result<(Self, Vec<Quarantined>), LogError> {
        let io = |source| LogError::Io { action: "read", path: path.to_path_buf(), source };
        let mut reader = BufReader::new(File::open(path).map_err(io)?);
        let mut loader = Loader::default();
        let mut quarantined = Vec::new();
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let read = reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).map_err(io)?;
            if read == 0 {
                break;
            }
            if read as u64 == MAX_LINE && line.last() != Some(&b'\n') {
                reader.skip_until(b'\n').map_err(io)?;
                let problem = format!("it has more than {MAX_LINE} bytes");
                quarantined.push(Quarantined { line: number, problem });
                continue;
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            match serde_json::from_slice::<Record>(&line) {
                Ok(record) => loader.take(record),
                Err(error) => {
                    quarantined.push(Quarantined { line: number, problem: error.to_string() });
                }
            }
        }
        Ok((loader.finish(), quarantined))
    }
}

#[derive(Default)]
struct Loader {
    transcript: Transcript,
    /// Calls that started and whose message has not come.
    started: Vec<ToolUse>,
    ended: Vec<ToolResult>,
    ever_started: HashSet<ToolUseId>,
    /// Work in the background that goes on, by id, with its description.
    working: BTreeMap<String, String>,
    /// What the model is to be told of work that has ended.
    news: Vec<String>,
}

impl Loader {
    fn take(&mut self, record: Record) {
        match record {
            // A log that was begun anew: what was before is another conversation.
            Record::Session { version: _, id, cwd, model, started, forked_from, coordinator } => {
                *self = Self::default();
                self.transcript.session_id = id;
                self.transcript.cwd = cwd;
                self.transcript.model = model;
                self.transcript.started = started;
                self.transcript.forked_from = forked_from;
                self.transcript.coordinator = coordinator;
            }
            Record::Turn { number, .. } => {
                self.transcript.turns = self.transcript.turns.max(number);
            }
            Record::Words { text } => self.transcript.words.push(text),
            Record::Message { message } => {
                self.transcript.found.extend(referenced([&message]));
                self.settle(std::slice::from_ref(&message));
                append(&mut self.transcript.messages, message);
            }
            Record::ToolStarted { tool_use } => {
                self.ever_started.insert(tool_use.id.clone());
                self.started.push(tool_use);
            }
            Record::ToolEnded { result } => self.ended.push(result),
            Record::History { messages } => {
                self.transcript.found.extend(referenced(&messages));
                self.settle(&messages);
                self.transcript.messages = messages;
            }
            Record::TaskStarted { id, description } => {
                self.working.insert(id, description);
            }
            Record::TaskEnded { id, news } => {
                self.working.remove(&id);
                self.news.extend(Some(news).filter(|news| !news.is_empty()));
            }
            Record::ContentReplacement { record } => self.transcript.replacements.push(record),
            Record::Ended { .. } | Record::Unknown => {}
        }
    }

    /// Calls and results that are in messages need no message of their own.
    fn settle(&mut self, messages: &[Message]) {
        let uses: HashSet<&ToolUseId> =
            messages.iter().flat_map(Message::tool_uses).map(|tool_use| &tool_use.id).collect();
        self.started.retain(|tool_use| !uses.contains(&tool_use.id));
        let texts = || messages.iter().flat_map(|it| &it.content).filter_map(ContentBlock::as_text);
        self.news.retain(|news| !texts().any(|text| text == news));
        let content = messages.iter().flat_map(|message| &message.content);
        let answered: HashSet<&ToolUseId> = content
            .filter_map(ContentBlock::as_tool_result)
            .map(|result| &result.tool_use_id)
            .collect();
        self.ended.retain(|result| !answered.contains(&result.tool_use_id));
    }

    /// Completes the tail: calls without a message get one, calls without a result get the one that had arrived, or
    /// a result that says that nobody knows.
    fn finish(mut self) -> Transcript {
        // A call may have started after its message was written.
        let messages = std::mem::take(&mut self.transcript.messages);
        self.settle(&messages);
        self.transcript.messages = messages;
        if !self.started.is_empty() {
            let content = self.started.drain(..).map(ContentBlock::ToolUse).collect();
            self.mend(Message::new(Role::Assistant, content));
        }
        let unanswered: Vec<ToolUse> = match self.transcript.messages.last() {
            Some(last) if last.role == Role::Assistant => last.tool_uses().cloned().collect(),
            Some(_) | None => Vec::new(),
        };
        let mut results = Vec::new();
        for tool_use in unanswered {
            if let Some(index) =
                self.ended.iter().position(|result| result.tool_use_id == tool_use.id)
            {
                results.push(ContentBlock::ToolResult(self.ended.swap_remove(index)));
            } else {
                let started = self.ever_started.contains(&tool_use.id);
                results.push(ContentBlock::ToolResult(unfinished(&tool_use, started)));
                if started {
                    self.transcript.interrupted.push(tool_use);
                }
            }
        }
        self.transcript.lost = self.working.keys().cloned().collect();
        let lost = self.working.iter().map(|(id, description)| {
            format!("[The session ended while background task {id} ({description}) ran, and the task with it. It may have had effects.]")
        });
        results.extend(self.news.drain(..).chain(lost).map(ContentBlock::text));
        if !results.is_empty() {
            self.mend(Message::new(Role::User, results));
        }
        self.transcript
    }

    fn mend(&mut self, message: Message) {
        self.transcript.mended.push(message.clone());
        append(&mut self.transcript.messages, message);
    }
}
