//! `innerve sessions`: past sessions, found by id, listed, shown, copied, exported and undone.

mod export;
mod list;
mod show;
pub(crate) mod undo;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use innerve_agent::{LogError, PastSession, SessionSummary, Transcript};
use innerve_settings::Locations;
use serde_json::json;

use crate::args::{ExportFormat, OneSessionArguments, SessionsArguments, SessionsVerb};
use crate::exit::{Exit, Failure};
use crate::output::{broken_pipe_is_success, print_json, print_line, warn};
use crate::wire::{new_session_id, sessions_folder};

/// Runs the verb.
pub(crate) async fn sessions(arguments: SessionsArguments) -> Result<Exit, Failure> {
    match arguments.verb {
        SessionsVerb::List(arguments) => list::list(&arguments),
        SessionsVerb::Show(arguments) => show::show(&arguments),
        SessionsVerb::Fork(arguments) => fork(&arguments),
        SessionsVerb::Export(arguments) => {
            let is_json = arguments.json || arguments.format == ExportFormat::Json;
            export::export(arguments.id.as_deref(), is_json)
        }
        SessionsVerb::Undo(arguments) => undo::undo(&arguments).await,
    }
}

fn fork(arguments: &OneSessionArguments) -> Result<Exit, Failure> {
    let folder = named(arguments.id.as_deref())?;
    let past = take(&folder)?;
    let id = fork_of(&past, folder.parent().unwrap_or(&folder))?;
    broken_pipe_is_success(if arguments.json {
        print_json(&json!({ "id": id, "forked_from": past.transcript().session_id }))
    } else {
        print_line(&id)
    })
}

/// Begins a copy of a session among `sessions`; gives its id.
pub(crate) fn fork_of(past: &PastSession, sessions: &Path) -> Result<String, Failure> {
    let id = new_session_id();
    let problem = past.fork(&sessions.join(&id), &id)?;
    if let Some(problem) = problem {
        warn(&format!(
            "the list of tasks could not be copied, so the copy begins with an empty one: {problem}; mend that file and \
             fork once more to have the list"
        ));
    }
    Ok(id)
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Self {
        let mut text = error.to_string();
        // The folder may lack room or rights, and can be another one.
        if let (LogError::Io { .. }, Ok(locations)) = (&error, Locations::from_env()) {
            text.push_str(&format!(
                "; sessions are kept under {}: make it writable, with room in it, or set XDG_STATE_HOME to a folder that is",
                locations.state_dir().display()
            ));
        }
        Self::new(text)
    }
}

/// Takes a session and tells what is wrong with its log.
pub(crate) fn take(folder: &Path) -> Result<PastSession, Failure> {
    let past = PastSession::take(folder)?;
    for line in past.quarantined() {
        warn(&format!(
            "line {} of the session's log cannot be read and is left out: {}",
            line.line, line.problem
        ));
    }
    Ok(past)
}

/// The folder of the session of this id, or of one that begins so, of this directory or else of any other.
fn named(id: Option<&str>) -> Result<PathBuf, Failure> {
    let sessions = sessions_folder()?;
    let Some(id) = id else { return latest(&sessions) };
    match find(&sessions, id) {
        Ok(folder) => Ok(folder),
        Err(failure) => {
            let elsewhere = projects(&sessions).into_iter().filter(|other| *other != sessions);
            let mut found: Vec<PathBuf> =
                elsewhere.filter_map(|other| find(&other, id).ok()).collect();
            match (found.pop(), found.is_empty()) {
                (Some(folder), true) => Ok(folder),
                (Some(_) | None, _) => Err(failure),
            }
        }
    }
}

/// The folders of all directories' sessions.
fn projects(sessions: &Path) -> Vec<PathBuf> {
    let entries = sessions.parent().map(fs::read_dir).into_iter().flatten().flatten().flatten();
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// The folder of a session by its id, or by the beginning of it if no other begins so.
pub(crate) fn find(sessions: &Path, id: &str) -> Result<PathBuf, Failure> {
    let plain = !id.is_empty()
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    let is_session = |folder: &Path| folder.join("log.jsonl").is_file();
    let folder = sessions.join(id);
    if plain && is_session(&folder) {
        return Ok(folder);
    }
    let begins = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(id);
    let mut found: Vec<PathBuf> = fs::read_dir(sessions)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| plain && begins(entry))
        .map(|entry| entry.path())
        .filter(|folder| is_session(folder))
        .collect();
    found.sort();
    match found.as_slice() {
        [folder] => Ok(folder.clone()),
        [] => Err(Failure::new(format!(
            "there is no session `{id}` of this directory; see `innerve sessions list`, or --all for other directories"
        ))),
        [first, second, ..] => {
            let name = |folder: &Path| folder.file_name().unwrap_or_default().display().to_string();
            Err(Failure::usage(format!(
                "{} sessions begin with `{id}`, such as {} and {}; give more of the id",
                found.len(),
                name(first),
                name(second)
            )))
        }
    }
}

/// Sessions with the time of their last use, the last used first.
fn by_last_use(folders: impl IntoIterator<Item = PathBuf>) -> Vec<(SystemTime, PathBuf)> {
    let used = |folder: PathBuf| -> Option<(SystemTime, PathBuf)> {
        let used = fs::metadata(folder.join("log.jsonl")).ok()?.modified().ok()?;
        Some((used, folder))
    };
    let entries = folders.into_iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    let mut found: Vec<_> = entries.flatten().filter_map(|entry| used(entry.path())).collect();
    found.sort_by(|one, other| other.cmp(one));
    found
}

/// The folder of the session that was used last.
pub(crate) fn latest(sessions: &Path) -> Result<PathBuf, Failure> {
    let cwd = std::env::current_dir().ok();
    by_last_use([sessions.to_path_buf()])
        .into_iter()
        .map(|(_, folder)| folder)
        // Other directories' names may have made the same name of the folder.
        .find(|folder| {
            SessionSummary::head(folder).is_ok_and(|head| {
                head.cwd.as_os_str().is_empty() || cwd.as_ref().is_none_or(|cwd| head.cwd == *cwd)
            })
        })
        .ok_or_else(|| Failure::new("there is no earlier session of this directory to go on with"))
}

/// The sessions that were used last.
pub(crate) fn recent(sessions: &Path, limit: usize) -> Vec<SessionSummary> {
    let folders = by_last_use([sessions.to_path_buf()]).into_iter().take(limit);
    folders.filter_map(|(_, folder)| SessionSummary::read(&folder).ok()).collect()
}

/// Reads a session that another process may be writing.
fn read(folder: &Path) -> Result<Transcript, Failure> {
    let (transcript, quarantined) = Transcript::load(&folder.join("log.jsonl"))
        .map_err(|error| Failure::new(error.to_string()))?;
    if !quarantined.is_empty() {
        warn(&format!(
            "{} lines of the session's log cannot be read and are left out",
            quarantined.len()
        ));
    }
    Ok(transcript)
}

/// Whether a person wrote this text of a message; others add to it, such as that something was undone. Where nothing is
/// known of a person's words, as in a sub-agent's session, all of it counts.
fn is_own(transcript: &Transcript, text: &str) -> bool {
    let words = &transcript.words;
    words.is_empty() || words.iter().any(|words| words.contains(text.trim()))
}
