//! `innerve sessions undo`: shows what would change, asks, and gives files their old content back.

use std::fmt::Write as _;
use std::path::Path;

use innerve_agent::{FilePlan, Journal, UndoAction, UndoError, UndoPlan, UndoTarget, Undone};
use innerve_builtins::Diff;
use innerve_builtins::host::HostFiles;
use serde_json::{Value, json};

use super::{named, take};
use crate::args::SessionsUndoArguments;
use crate::exit::{Exit, Failure};
use crate::output::{
    BOLD, GREEN, YELLOW, broken_pipe_is_success, diff_lines, note, plain, print_json, print_line,
};
use crate::terminal::Keyboard;

/// Runs the verb.
pub(super) async fn undo(arguments: &SessionsUndoArguments) -> Result<Exit, Failure> {
    let folder = named(arguments.id.as_deref())?;
    // A session that runs would go on with files that it does not know any more.
    let mut past = take(&folder)?;
    let journal = Journal::new(&folder);
    let of = match (arguments.turn, arguments.redo) {
        (Some(turn), _) => UndoTarget::Turn(turn),
        (None, true) => UndoTarget::LastUndo,
        (None, false) => UndoTarget::LastTurn,
    };
    let plan = UndoPlan::make(&journal, of).map_err(|error| failure(&error))?;
    let verb = if arguments.redo { "undo of turn" } else { "turn" };
    if !arguments.json {
        show(&plan, &journal, verb);
    }
    let changes = plan.files.iter().filter(|file| !is_left(file)).count();
    if arguments.dry_run || changes == 0 {
        let left = plan.files.len() - changes;
        let report = Report { turn: plan.turn, dry_run: arguments.dry_run, redo: arguments.redo };
        let rows: Vec<Value> = plan.files.iter().map(|file| row(file, None)).collect();
        return report.end(arguments.json, &rows, 0, left);
    }
    if !arguments.json && !arguments.yes && !agreed(changes).await {
        note("nothing was changed");
        return Ok(Exit::Failure);
    }
    let turn = plan.turn;
    let all = plan.carry_out(&journal, &HostFiles).await;
    tell_problems(&all);
    let what = if arguments.redo { "made them again" } else { "undid them" };
    if let Some(text) = for_the_model(turn, what, &all) {
        past.note(text)?;
    }
    let rows: Vec<Value> =
        all.iter().map(|undone| row(&undone.file, undone.problem.as_ref())).collect();
    let report = Report { turn, dry_run: false, redo: arguments.redo };
    let done = all.iter().filter(|undone| undone.is_done()).count();
    report.end(arguments.json, &rows, done, all.len() - done)
}

/// Shows what an undo of the session's last turn would change; gives the number of files.
pub(crate) fn preview(folder: &Path) -> Result<usize, Failure> {
    let journal = Journal::new(folder);
    let plan = UndoPlan::make(&journal, UndoTarget::LastTurn).map_err(|error| failure(&error))?;
    show(&plan, &journal, "turn");
    Ok(plan.files.iter().filter(|file| !is_left(file)).count())
}

/// Undoes the session's last turn; gives what the model should know of it.
pub(crate) async fn carry_out(folder: &Path) -> Result<Option<String>, Failure> {
    let journal = Journal::new(folder);
    let plan = UndoPlan::make(&journal, UndoTarget::LastTurn).map_err(|error| failure(&error))?;
    let turn = plan.turn;
    let all = plan.carry_out(&journal, &HostFiles).await;
    tell_problems(&all);
    let done = all.iter().filter(|undone| undone.is_done()).count();
    note(&format!("{done} of {} files changed", all.len()));
    Ok(for_the_model(turn, "undid them", &all))
}

fn tell_problems(all: &[Undone]) {
    for undone in all {
        if let Some(problem) = &undone.problem {
            note(&left(&undone.file, &problem.to_string()));
        }
    }
}

/// What the model should know; nothing if no file was changed.
fn for_the_model(turn: u64, what: &str, all: &[Undone]) -> Option<String> {
    let done = all.iter().filter(|undone| undone.is_done());
    let files: Vec<String> =
        done.map(|undone| format!("`{}`", undone.file.path.display())).collect();
    (!files.is_empty()).then(|| {
        format!(
            "[The user looked at the changes of turn {turn} and {what}: {}. Read these files again before you rely on them.]",
            files.join(", ")
        )
    })
}

fn failure(error: &UndoError) -> Failure {
    Failure::new(error.to_string())
}

fn is_left(file: &FilePlan) -> bool {
    matches!(file.undoing, UndoAction::Leave(_))
}

/// Shows what would change.
fn show(plan: &UndoPlan, journal: &Journal, verb: &str) {
    note(&format!("{BOLD}undo of {verb} {}{BOLD:#}", plan.turn));
    for file in &plan.files {
        let path = plain(&file.path.display().to_string());
        let (word, style) = match &file.undoing {
            UndoAction::Leave(why) => {
                note(&left(file, why));
                continue;
            }
            UndoAction::Restore => ("restores", GREEN),
            UndoAction::Recreate => ("makes again", GREEN),
            UndoAction::Remove => ("removes", YELLOW),
        };
        let mut text = format!("{style}{word}{style:#} {path}");
        match file.contents(journal) {
            Ok((now, then)) => {
                for line in diff_lines(&Diff::between(&now, &then)) {
                    // Writing to a string cannot fail.
                    let _ = write!(text, "\n    {line}");
                }
            }
            Err(error) => {
                let _ = write!(text, "\n    its content cannot be read: {error}");
            }
        }
        note(&text);
    }
}

fn left(file: &FilePlan, why: &str) -> String {
    let path = plain(&file.path.display().to_string());
    format!("{YELLOW}leaves alone{YELLOW:#} {path}: {}", plain(why))
}

/// Asks a person, if one is there.
async fn agreed(changes: usize) -> bool {
    let Some(keyboard) = Keyboard::open() else { return true };
    let files = if changes == 1 { "this file" } else { "these files" };
    note(&format!("{BOLD}Change {files}? [y/N]{BOLD:#}"));
    let answer = keyboard.line().await.unwrap_or_default();
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

fn row(file: &FilePlan, problem: Option<&std::io::Error>) -> Value {
    let (action, why) = match &file.undoing {
        UndoAction::Leave(why) => ("leave", Some(why.clone())),
        UndoAction::Restore => ("restore", None),
        UndoAction::Recreate => ("recreate", None),
        UndoAction::Remove => ("remove", None),
    };
    let reason = why.or_else(|| problem.map(ToString::to_string));
    json!({ "path": file.path.display().to_string(), "action": action, "reason": reason })
}

struct Report {
    turn: u64,
    dry_run: bool,
    redo: bool,
}

impl Report {
    fn end(
        &self,
        as_json: bool,
        files: &[Value],
        done: usize,
        left: usize,
    ) -> Result<Exit, Failure> {
        let Self { turn, dry_run, redo } = self;
        let count = files.len();
        let printed = if as_json {
            print_json(&json!({ "turn": turn, "redo": redo, "dry_run": dry_run, "files": files }))
        } else if *dry_run {
            print_line(&format!("{} of {count} files would change", count - left))
        } else if count == 0 {
            print_line("all files are as they were before that turn")
        } else {
            print_line(&format!("{done} of {count} files changed"))
        };
        let exit = broken_pipe_is_success(printed)?;
        Ok(if left > 0 { Exit::Failure } else { exit })
    }
}
