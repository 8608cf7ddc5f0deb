//! What an undo would do to each file, and why it leaves some alone.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::{Before, Cause, Entry, Journal, UndoError, hash_of};

/// A file of more bytes was changed by someone else: the tools make none.
const MAX_NOW: u64 = 1 << 30;

/// What is to be undone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UndoTarget {
    /// The last turn that changed files and is not undone.
    #[default]
    LastTurn,
    /// This turn.
    Turn(u64),
    /// The last undo.
    LastUndo,
}

/// What an undo would do.
#[derive(Debug)]
#[non_exhaustive]
pub struct UndoPlan {
    /// The turn whose changes are taken back, or, for the undo of an undo, made again.
    pub turn: u64,
    /// The files, sorted by path; those that are as they were before are not among them.
    pub files: Vec<FilePlan>,
    pub(crate) cause: Cause,
    pub(crate) reverts: Cause,
}

/// What an undo would do to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilePlan {
    /// The file, absolute, links resolved.
    pub path: PathBuf,
    /// What becomes of it.
    pub undoing: UndoAction,
    pub(crate) then: Before,
    pub(crate) now: Option<String>,
    /// Directories that were made for it, innermost first.
    pub(crate) made: Vec<PathBuf>,
}

/// What becomes of one file in an undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoAction {
    /// It gets its old content.
    Restore,
    /// It is gone, and is made again.
    Recreate,
    /// It was made, and is removed.
    Remove,
    /// It is left alone, for this reason.
    Leave(String),
}

impl UndoPlan {
    /// Finds out what an undo would do; nothing is changed.
    pub fn make(journal: &Journal, of: UndoTarget) -> Result<Self, UndoError> {
        let entries = journal.entries().map_err(UndoError::Journal)?;
        let history = History::of(&entries);
        let reverts = match of {
            UndoTarget::Turn(turn) => Cause::Turn(turn),
            UndoTarget::LastTurn => history.last(false).ok_or(UndoError::NothingToUndo)?,
            UndoTarget::LastUndo => history.last(true).ok_or(UndoError::NothingToRedo)?,
        };
        if !history.order.contains(&reverts) {
            let turn = history.turn_of(reverts);
            return Err(UndoError::NoSuchTurn { turn, changed: history.turns() });
        }
        let mut by_path: BTreeMap<&Path, Vec<&Entry>> = BTreeMap::new();
        for entry in &entries {
            by_path.entry(&entry.path).or_default().push(entry);
        }
        let files = by_path
            .into_iter()
            .filter_map(|(path, entries)| file_plan(path, &entries, reverts, &history))
            .collect();
        let undos = history.order.iter().filter(|cause| matches!(cause, Cause::Undo(_))).count();
        let cause = Cause::Undo(undos as u64 + 1);
        Ok(Self { turn: history.turn_of(reverts), files, cause, reverts })
    }
}

impl FilePlan {
    /// The content that it has, and the one that it will have; empty where there is no file.
    pub fn contents(&self, journal: &Journal) -> io::Result<(Vec<u8>, Vec<u8>)> {
        let now = match &self.now {
            Some(_) => fs::read(&self.path)?,
            None => Vec::new(),
        };
        Ok((now, self.then(journal)?.unwrap_or_default()))
    }

    /// The content that it will have.
    pub(crate) fn then(&self, journal: &Journal) -> io::Result<Option<Vec<u8>>> {
        let Some(hash) = self.then.hash() else { return Ok(None) };
        let content = fs::read(journal.kept_file(hash))?;
        if hash_of(&content) == hash {
            Ok(Some(content))
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidData, "the kept content is spoilt"))
        }
    }
}

/// What has changed files, in order, and what took it back.
struct History {
    order: Vec<Cause>,
    reverted_by: HashMap<Cause, Vec<Cause>>,
    reverts: HashMap<Cause, Cause>,
}

impl History {
    fn of(entries: &[Entry]) -> Self {
        let mut history =
            Self { order: Vec::new(), reverted_by: HashMap::new(), reverts: HashMap::new() };
        for entry in entries {
            if !history.order.contains(&entry.cause) {
                history.order.push(entry.cause);
            }
            // Only what came before can be taken back, so that this ends whatever the file says.
            if let Some(reverts) =
                entry.reverts.filter(|it| history.place(*it) < history.place(entry.cause))
                && history.reverts.insert(entry.cause, reverts).is_none()
            {
                history.reverted_by.entry(reverts).or_default().push(entry.cause);
            }
        }
        history
    }

    fn place(&self, cause: Cause) -> usize {
        self.order.iter().position(|it| *it == cause).unwrap_or(usize::MAX)
    }

    fn is_reverted(&self, cause: Cause) -> bool {
        let by = self.reverted_by.get(&cause);
        by.is_some_and(|by| by.iter().any(|undo| !self.is_reverted(*undo)))
    }

    /// The last turn that stands, or the last undo that does.
    fn last(&self, undo: bool) -> Option<Cause> {
        let is_wanted = |cause: &&Cause| match (undo, cause) {
            (false, Cause::Turn(_)) => true,
            (true, Cause::Undo(_)) => {
                matches!(self.reverts.get(*cause), Some(Cause::Turn(_)))
            }
            (false, Cause::Undo(_)) | (true, Cause::Turn(_)) => false,
        };
        self.order.iter().rev().filter(is_wanted).find(|cause| !self.is_reverted(**cause)).copied()
    }

    fn turn_of(&self, mut cause: Cause) -> u64 {
        loop {
            match cause {
                Cause::Turn(turn) => return turn,
                Cause::Undo(_) => match self.reverts.get(&cause) {
                    Some(reverts) => cause = *reverts,
                    None => return 0,
                },
            }
        }
    }

    fn turns(&self) -> Vec<u64> {
        let turn = |cause: &Cause| match cause {
            Cause::Turn(turn) => Some(*turn),
            Cause::Undo(_) => None,
        };
        self.order.iter().filter_map(turn).collect()
    }
}

/// What to do with a file that these entries, in order, are about; `None` if there is nothing to do.
fn file_plan(
    path: &Path,
    entries: &[&Entry],
    reverts: Cause,
    history: &History,
) -> Option<FilePlan> {
    let now = Now::look(path);
    let mut own: Vec<&Entry> =
        entries.iter().copied().filter(|entry| entry.cause == reverts).collect();
    // What was noted and then not done has changed nothing.
    let mut steps = own.iter().peekable();
    let mut done = Vec::new();
    while let Some(step) = steps.next() {
        let undone = steps.peek().is_some_and(|next| {
            next.before.hash() == step.before.hash() && next.before.hash() != step.after.as_deref()
        });
        if !undone {
            done.push(*step);
        }
    }
    own = done;
    let last = own.last()?;
    if now.is(last.before.hash()) && !now.is(last.after.as_deref()) {
        own.pop();
    }
    let (first, last) = (own.first()?, own.last()?);
    let plan = |undoing| {
        Some(FilePlan {
            path: path.to_path_buf(),
            undoing,
            then: first.before.clone(),
            now: now.hash().map(str::to_owned),
            made: own.iter().flat_map(|entry| entry.made.iter().cloned()).collect(),
        })
    };
    let leave = |why: &str| plan(UndoAction::Leave(why.to_owned()));
    if now.is(first.before.hash()) {
        return None;
    }
    if let Before::File { kept: false, bytes, .. } = &first.before {
        return leave(&format!("its old content of {bytes} bytes was too large to be kept"));
    }
    if own.windows(2).any(|pair| match pair {
        [one, next] => one.after.as_deref() != next.before.hash(),
        _ => false,
    }) {
        return leave("someone else changed it between two changes of that turn");
    }
    match &now {
        Now::Other(what) => return leave(what),
        Now::Absent if last.after.is_some() => {
            return match &first.before {
                // It was made, and somebody has removed it already.
                Before::Absent => None,
                Before::File { .. } => plan(UndoAction::Recreate),
            };
        }
        Now::File(_) | Now::Absent => {}
    }
    if !now.is(last.after.as_deref()) {
        let later = entries.iter().rev().take_while(|entry| !std::ptr::eq(**entry, *last));
        let later = later.copied().find(|entry| now.is(entry.after.as_deref()));
        return leave(&match later.map(|entry| entry.cause) {
            None => "someone else has changed it since".to_owned(),
            Some(Cause::Turn(turn)) => {
                format!("turn {turn} changed it again; undo that turn first")
            }
            Some(undo @ Cause::Undo(_)) => {
                format!("the undo of turn {} changed it again", history.turn_of(undo))
            }
        });
    }
    match (&first.before, &now) {
        (Before::Absent, _) => plan(UndoAction::Remove),
        (Before::File { .. }, Now::Absent) => plan(UndoAction::Recreate),
        (Before::File { .. }, Now::File(_) | Now::Other(_)) => plan(UndoAction::Restore),
    }
}

/// What is at a path now.
enum Now {
    Absent,
    File(String),
    Other(String),
}

impl Now {
    fn look(path: &Path) -> Self {
        // A directory on the way that has become a link would lead to another file.
        let parent = path.ancestors().skip(1).find(|parent| parent.exists());
        if parent.is_some_and(|parent| parent.canonicalize().is_ok_and(|real| real != parent)) {
            return Self::Other("its directory has become a link to another place".to_owned());
        }
        let meta = match fs::symlink_metadata(path) {
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::Absent,
            Err(error) => return Self::Other(format!("it cannot be read: {error}")),
        };
        if !meta.is_file() {
            return Self::Other("it is no regular file any more".to_owned());
        }
        match read(path) {
            Ok(content) => Self::File(hash_of(&content)),
            Err(error) => Self::Other(format!("it cannot be read: {error}")),
        }
    }

    fn hash(&self) -> Option<&str> {
        match self {
            Self::File(hash) => Some(hash),
            Self::Absent | Self::Other(_) => None,
        }
    }

    /// Whether the file is this one; `None` for no file.
    fn is(&self, hash: Option<&str>) -> bool {
        match self {
            Self::File(now) => hash == Some(now),
            Self::Absent => hash.is_none(),
            Self::Other(_) => false,
        }
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(path)?.take(MAX_NOW).read_to_end(&mut content)?;
    Ok(content)
}
