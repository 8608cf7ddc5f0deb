//! The list of things to do of a session, in a file of its folder: `tasks.json`, private to the user.
//!
//! The file is replaced as a whole with each change, before the change is told to anybody, so that a process that is
//! killed leaves the list as it was told last. What the entries look like is the business of the tools; this module
//! reads them only to carry what is open over a compaction.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use innerve_tool::port::TaskListStore;
use innerve_tool::without_reminders;
use serde_json::Value;

use crate::log::create_private_dir;

mod told;

pub(crate) use told::{Said, Sayings, ToldList};

/// A file of more bytes is none that was written here.
const MAX_BYTES: u64 = 8 << 20;
/// Tasks that are carried over a compaction.
const MAX_CARRIED: usize = 100;

/// Keeps the list of a session; one for all its agents.
#[derive(Debug)]
pub struct TaskListFile {
    path: PathBuf,
    /// Read with the first use.
    list: Mutex<Option<Value>>,
}

impl TaskListFile {
    /// The list in a session's folder; nothing is written before the first task.
    pub fn new(folder: &Path) -> Self {
        Self { path: file_in(folder), list: Mutex::default() }
    }

    /// Whether the session in this folder has ever kept such a list.
    pub fn is_kept_in(folder: &Path) -> bool {
        file_in(folder).is_file()
    }

    /// What is open, a line each; `None` if nothing is, or if the list cannot be read.
    pub(crate) fn open(&self) -> Option<Vec<String>> {
        let mut lines = Vec::new();
        let read = self.change(&mut |list| {
            lines = open_lines(list);
            None
        });
        (read.is_ok() && !lines.is_empty()).then_some(lines)
    }
}

impl TaskListStore for TaskListFile {
    fn change(&self, change: &mut dyn FnMut(&Value) -> Option<Value>) -> io::Result<()> {
        let mut kept = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let list = match kept.take() {
            Some(list) => list,
            None => read(&self.path)?,
        };
        let changed = change(&list);
        let written = changed.as_ref().map_or(Ok(()), |list| write(&self.path, list));
        *kept = Some(if written.is_ok() { changed.unwrap_or(list) } else { list });
        written
    }
}

/// Gives another session's folder the same list, if there is one. A list that cannot be read is empty there, and the
/// reason is given.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<Option<io::Error>> {
    match read(&file_in(from)) {
        Ok(Value::Null) => Ok(None),
        Ok(list) => write(&file_in(to), &list).map(|()| None),
        Err(problem) => write(&file_in(to), &Value::Null).map(|()| Some(problem)),
    }
}

fn file_in(folder: &Path) -> PathBuf {
    folder.join("tasks.json")
}

fn read(path: &Path) -> io::Result<Value> {
    // A pipe would be waited for without end.
    if path.metadata().is_ok_and(|it| !it.is_file()) {
        return Err(named(path, &io::Error::other("it is no file")));
    }
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Value::Null),
        Err(error) => return Err(named(path, &error)),
    };
    let mut text = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut text).map_err(|error| named(path, &error))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(named(path, &io::Error::other(format!("it has more than {MAX_BYTES} bytes"))));
    }
    serde_json::from_slice(&text).map_err(|error| named(path, &error.into()))
}

/// The list is there as a whole or as it was.
fn write(path: &Path, list: &Value) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    create_private_dir(folder)?;
    let mut text = serde_json::to_vec(list)?;
    text.push(b'\n');
    let mut file = tempfile::Builder::new().prefix(".tasks-").tempfile_in(folder)?;
    file.write_all(&text)?;
    file.persist(path).map_err(|failed| named(path, &failed.error))?;
    Ok(())
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn open_lines(list: &Value) -> Vec<String> {
    let tasks = list.get("tasks").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let open: Vec<&Value> =
        tasks.iter().filter(|task| word(task, "status") != "completed").collect();
    let line = |task: &&Value| {
        let owner = match word(task, "owner") {
            "" => String::new(),
            owner => format!(" ({owner})"),
        };
        let (id, status, subject) = (word(task, "id"), word(task, "status"), word(task, "subject"));
        // Any agent may have written it, after any page that it read.
        without_reminders(&format!("- #{id} {status}: {subject}{owner}"))
    };
    let mut lines: Vec<String> = open.iter().take(MAX_CARRIED).map(line).collect();
    if let Some(more) = open.len().checked_sub(MAX_CARRIED).filter(|more| *more > 0) {
        lines.push(format!("- {more} more: TaskList tells them"));
    }
    lines
}

fn word<'a>(task: &'a Value, field: &str) -> &'a str {
    task.get(field).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
