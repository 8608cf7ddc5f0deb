//! Carries an undo out, file by file, each noted before it is changed.

use std::fs;
use std::io;
use std::path::Path;

use innerve_protocol::ToolUseId;
use innerve_tool::port::{FileChange, FileSystem, WriteCondition};
use thiserror::Error;

use super::plan::FilePlan;
use super::{Before, Journal, UndoAction, UndoPlan, hash_of};

/// What became of one file.
#[derive(Debug)]
#[non_exhaustive]
pub struct Undone {
    /// What was planned.
    pub file: FilePlan,
    /// Why it was not done although it was planned.
    pub problem: Option<io::Error>,
}

impl Undone {
    /// Whether the file is as it was before.
    pub fn is_done(&self) -> bool {
        self.problem.is_none() && !matches!(self.file.undoing, UndoAction::Leave(_))
    }
}

/// Why nothing can be undone.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UndoError {
    /// The journal cannot be read.
    #[error("the journal of changes cannot be read: {0}")]
    Journal(io::Error),
    /// No turn is left that changed files.
    #[error("there is nothing to undo: no turn of this session changed files, or all are undone")]
    NothingToUndo,
    /// No undo is left.
    #[error("there is no undo to take back")]
    NothingToRedo,
    /// This turn changed no files; others did.
    #[error("turn {turn} of this session changed no files{}", others(.changed))]
    NoSuchTurn {
        /// The turn that was asked for.
        turn: u64,
        /// The turns that changed files.
        changed: Vec<u64>,
    },
}

impl UndoError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Journal(_) => "undo:journal",
            Self::NothingToUndo => "undo:nothing",
            Self::NothingToRedo => "undo:nothing_to_redo",
            Self::NoSuchTurn { .. } => "undo:no_such_turn",
        }
    }
}

fn others(turns: &[u64]) -> String {
    if turns.is_empty() {
        return String::new();
    }
    let turns: Vec<String> = turns.iter().map(u64::to_string).collect();
    format!("; these did: {}", turns.join(", "))
}

impl UndoPlan {
    /// Undoes. Each file is changed in one step, and only if it is still as it was when the plan was made.
    pub async fn carry_out(self, journal: &Journal, files: &dyn FileSystem) -> Vec<Undone> {
        let (cause, reverts) = (self.cause, self.reverts);
        let mut all = Vec::with_capacity(self.files.len());
        for file in self.files {
            let problem = match &file.undoing {
                UndoAction::Leave(_) => None,
                UndoAction::Restore | UndoAction::Recreate | UndoAction::Remove => {
                    let noted = note(journal, &file, cause, reverts);
                    match noted {
                        Ok(then) => change(&file, then, files).await.err(),
                        Err(error) => Some(error),
                    }
                }
            };
            all.push(Undone { file, problem });
        }
        all
    }
}

/// Notes what is about to be changed; gives the content to write.
fn note(
    journal: &Journal,
    file: &FilePlan,
    cause: super::Cause,
    reverts: super::Cause,
) -> io::Result<Option<Vec<u8>>> {
    let then = file.then(journal)?;
    let before = match &file.now {
        None => None,
        Some(hash) => Some(fs::read(&file.path)?).filter(|now| hash_of(now) == *hash),
    };
    if before.is_none() && file.now.is_some() {
        return Err(changed());
    }
    let change = FileChange {
        tool_use_id: ToolUseId::new(""),
        path: file.path.clone(),
        before,
        after_hash: String::new(),
    };
    journal.note(Some(cause), Some(reverts), change, file.then.hash().map(str::to_owned))?;
    Ok(then)
}

async fn change(file: &FilePlan, then: Option<Vec<u8>>, files: &dyn FileSystem) -> io::Result<()> {
    let path = &file.path;
    match (then, &file.now) {
        (Some(then), Some(now)) => {
            files.write(path, &then, WriteCondition::Unchanged(now.clone())).await
        }
        (Some(then), None) => {
            files.write(path, &then, WriteCondition::New).await?;
            set_mode(path, &file.then)
        }
        (None, Some(now)) => {
            if hash_of(&fs::read(path)?) != *now {
                return Err(changed());
            }
            fs::remove_file(path)?;
            for directory in &file.made {
                // It stays if it holds anything else.
                let _kept = fs::remove_dir(directory);
            }
            Ok(())
        }
        (None, None) => Ok(()),
    }
}

fn changed() -> io::Error {
    io::Error::new(io::ErrorKind::StaleNetworkFileHandle, "it has changed meanwhile")
}

/// A file that is made again gets the permissions that it had.
fn set_mode(path: &Path, then: &Before) -> io::Result<()> {
    #[cfg(unix)]
    if let Before::File { mode: Some(mode), .. } = then {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(*mode))?;
    }
    #[cfg(not(unix))]
    let _ = (path, then);
    Ok(())
}
