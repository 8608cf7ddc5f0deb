//! What the end of a command means: benign exit codes, names of signals, and the words of a failure.

use std::time::Duration;

use innerve_bash::{Analysis, Word};

use super::capture::Counts;
use super::text::Window;

/// How long the words of a failure may be, in characters.
const MAX_FAILURE: usize = 10_000;

/// What exit code 1 of `command` says when that is no failure: grep found nothing, diff saw a difference.
///
/// Decided by the simple command that gives the exit code; a text that is not understood in full has none.
pub(super) fn benign(command: &str) -> Option<&'static str> {
    let Analysis::Commands(commands) = innerve_bash::analyze(command) else { return None };
    // Of a wrapper and what it wraps, the wrapped one comes later.
    let last = commands.as_slice().iter().rev().find(|command| command.last)?;
    let words: Vec<Option<&str>> = last.argv.iter().map(Word::literal).collect();
    let (name, arguments) = words.split_first()?;
    match base_name((*name)?) {
        "grep" | "egrep" | "fgrep" | "rg" => Some("no matches found"),
        "find" => Some("some directories were inaccessible"),
        "diff" => Some("files differ"),
        "test" | "[" => Some("condition is false"),
        "git" => match git_subcommand(arguments)? {
            "diff" => Some("files differ"),
            "grep" => Some("no matches found"),
            _ => None,
        },
        _ => None,
    }
}

fn base_name(program: &str) -> &str {
    program.rsplit_once('/').map_or(program, |(_, name)| name)
}

/// The first word after git's own options; `None` if a word is not known.
fn git_subcommand<'a>(arguments: &[Option<&'a str>]) -> Option<&'a str> {
    let mut arguments = arguments.iter();
    loop {
        match (*arguments.next()?)? {
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" => drop(arguments.next()?),
            option if option.starts_with('-') => {}
            name => return Some(name),
        }
    }
}

/// Whether a command whose time is over may go on in the background: one that only waits or that works on a repository
/// may not (it would hold git's locks), nor one that is not understood.
pub(super) fn may_go_on(command: &str) -> bool {
    let Analysis::Commands(commands) = innerve_bash::analyze(command) else { return false };
    let commands = commands.as_slice();
    let name = |command: &innerve_bash::Command| command.name().map(base_name).map(str::to_owned);
    commands.first().is_some_and(|first| name(first).as_deref() != Some("sleep"))
        && commands.iter().all(|command| name(command).as_deref() != Some("git"))
}

/// What to add when a command was ended by a signal that it may have sent to its own shell.
pub(super) fn own_doing(command: &str) -> Option<&'static str> {
    let Analysis::Commands(commands) = innerve_bash::analyze(command) else { return None };
    let matches_itself = commands.as_slice().iter().any(|command| {
        let words: Vec<Option<&str>> = command.argv.iter().map(Word::literal).collect();
        let Some((Some(name), arguments)) = words.split_first() else { return false };
        let takes_lines = |word: &&str| {
            *word == "--full"
                || (word.starts_with('-') && !word.starts_with("--") && word.contains('f'))
        };
        base_name(name) == "pkill" && arguments.iter().flatten().any(takes_lines)
    });
    matches_itself.then_some(
        ": pkill -f looks at whole command lines, and that of the shell which ran it holds the pattern too. Write the \
         pattern so that it does not match itself, as in `pkill -f '[n]ame'`",
    )
}

/// The first line for a command that a signal ended.
pub(super) fn killed_by(signal: i32) -> String {
    let name = match signal {
        1 => " (SIGHUP)",
        2 => " (SIGINT)",
        3 => " (SIGQUIT)",
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        14 => " (SIGALRM)",
        15 => " (SIGTERM)",
        _ => "",
    };
    format!("Killed by signal {signal}{name}")
}

/// A duration as people say it: `2m 0s`, `1.5s`.
pub(super) fn spoken(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds >= 60 {
        format!("{}m {}s", seconds / 60, seconds % 60)
    } else if duration.subsec_millis() == 0 {
        format!("{seconds}s")
    } else {
        format!("{}ms", duration.as_millis())
    }
}

/// The words of a failure: what happened, then the output, its middle left out when it is long, then notes.
pub(super) fn failure(what: &str, text: &Window, counts: Counts, notes: &[String]) -> String {
    let notes: String = notes.iter().flat_map(|note| ["\n", note]).collect();
    let room = MAX_FAILURE
        .saturating_sub(what.chars().count())
        .saturating_sub(notes.chars().count())
        .saturating_sub(1);
    let output = excerpt(text, counts, room);
    let output = output.trim_end_matches('\n');
    if output.is_empty() { format!("{what}{notes}") } else { format!("{what}\n{output}{notes}") }
}

/// The text if it has at most `room` characters; else its counts, its beginning and its end.
fn excerpt(text: &Window, counts: Counts, room: usize) -> String {
    if text.chars() <= room as u64
        && let Some(whole) = text.whole()
    {
        return whole.to_owned();
    }
    let title = format!("[output of {counts}; its middle is left out]\n");
    // The marker has at most 20 digits.
    let half = room.saturating_sub(title.chars().count()).saturating_sub(64) / 2;
    let (first, left_out, last) = text.ends(half, half);
    format!("{title}{first}\n{}\n{last}", truncated(left_out))
}

/// The marker that stands for characters that are left out.
pub(super) fn truncated(chars: u64) -> String {
    format!("... [{chars} characters truncated] ...")
}

#[cfg(test)]
mod tests;
