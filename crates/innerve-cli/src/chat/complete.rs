//! What Tab completes: slash commands, and paths behind `@`.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;

use super::commands::COMMANDS;

/// Entries of a folder that are looked at.
const MAX_ENTRIES: usize = 20_000;
/// Files that are found below the directory at most.
const MAX_FOUND: usize = 100;
/// Choices that are shown.
const MAX_CHOICES: usize = 8;

/// How the word before the cursor may go on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Completion {
    /// How many bytes before the cursor are replaced.
    pub(super) replaces: usize,
    /// What all choices begin with.
    pub(super) common: String,
    /// The choices, sorted.
    pub(super) choices: Vec<String>,
}

impl Completion {
    /// The choices in a line.
    pub(super) fn listed(&self) -> String {
        let mut line =
            self.choices.iter().take(MAX_CHOICES).cloned().collect::<Vec<_>>().join("  ");
        if let Some(more) = self.choices.len().checked_sub(MAX_CHOICES).filter(|more| *more > 0) {
            line.push_str(&format!("  and {more} more"));
        }
        line
    }
}

/// Completes the end of what was typed.
pub(super) fn complete(before: &str, cwd: &Path) -> Completion {
    if let Some(word) = before.strip_prefix('/').filter(|word| !word.contains(char::is_whitespace))
    {
        let names = COMMANDS.iter().map(|command| command.name.to_owned());
        return among(word, names.filter(|name| name.starts_with(word)).collect());
    }
    let start = before.rfind(char::is_whitespace).map_or(0, |at| {
        at + before.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
    });
    match before.get(start..).and_then(|word| word.strip_prefix('@')) {
        Some(path) => {
            let found = among(path, paths(path, cwd));
            if found.choices.is_empty() && !path.is_empty() { anywhere(path, cwd) } else { found }
        }
        None => Completion::default(),
    }
}

fn among(word: &str, mut choices: Vec<String>) -> Completion {
    choices.sort();
    let mut common = choices.first().cloned().unwrap_or_default();
    for choice in &choices {
        let shared: usize = common
            .chars()
            .zip(choice.chars())
            .take_while(|(one, other)| one == other)
            .map(|(letter, _)| letter.len_utf8())
            .sum();
        common.truncate(shared);
    }
    Completion { replaces: word.len(), common, choices }
}

/// The files anywhere below the directory whose paths hold these words in this order, whatever their case; those that
/// lie highest come first.
fn anywhere(words: &str, cwd: &Path) -> Completion {
    let wanted = words.to_lowercase();
    let mut found = Vec::new();
    let mut folders = VecDeque::from([String::new()]);
    let mut left = MAX_ENTRIES;
    while let Some(folder) = folders.pop_front() {
        let place = cwd.join(&folder);
        // What a build leaves behind says so (Cache Directory Tagging Specification).
        if left == 0 || place.join("CACHEDIR.TAG").exists() {
            continue;
        }
        let mut entries: Vec<_> =
            fs::read_dir(place).into_iter().flatten().flatten().take(left).collect();
        left -= entries.len();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = format!("{folder}{name}");
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && !name.starts_with('.') && name != "node_modules" {
                folders.push_back(format!("{path}/"));
            } else if !is_folder && path.to_lowercase().contains(&wanted) {
                found.push(path);
            }
        }
    }
    found.truncate(MAX_FOUND);
    let common = match found.as_slice() {
        [only] => only.clone(),
        _ => words.to_owned(),
    };
    Completion { replaces: words.len(), common, choices: found }
}

/// The entries that begin so; folders end in a slash, hidden ones only come when they are asked for.
fn paths(begun: &str, cwd: &Path) -> Vec<String> {
    let (folder, name) =
        begun.rsplit_once('/').map_or(("", begun), |(folder, name)| (folder, name));
    let prefix = if begun.contains('/') { format!("{folder}/") } else { String::new() };
    let place = if prefix == "/" { Path::new("/").to_path_buf() } else { cwd.join(folder) };
    let entries = fs::read_dir(place).into_iter().flatten().flatten().take(MAX_ENTRIES);
    entries
        .filter_map(|entry| {
            let found = entry.file_name().into_string().ok()?;
            let wanted =
                found.starts_with(name) && (name.starts_with('.') || !found.starts_with('.'));
            let slash = if entry.path().is_dir() { "/" } else { "" };
            wanted.then(|| format!("{prefix}{found}{slash}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, common: &str, choices: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("src/main")).unwrap();
        for file in ["src/main.rs", "src/map.rs", "README.md", ".env", "größe.txt"] {
            fs::write(folder.path().join(file), "").unwrap();
        }
        let found = complete(before, folder.path());
        assert_eq!(
            (found.common.as_str(), found.choices),
            (common, choices.iter().map(|choice| (*choice).to_owned()).collect())
        );
    }

    #[test]
    fn paths_are_completed_behind_an_at_sign() {
        check("look at @src/ma", "src/ma", &["src/main.rs", "src/main/", "src/map.rs"]);
        check("@R", "README.md", &["README.md"]);
        check("x\u{3000}@grö", "größe.txt", &["größe.txt"]);
        check("@.e", ".env", &[".env"]);
        check("mail me@R", "", &[]);
        check("@nothing/here", "nothing/here", &[]);
    }

    #[test]
    fn what_begins_nowhere_here_is_looked_for_below() {
        check("see @main.r", "src/main.rs", &["src/main.rs"]);
        check("@MAP", "src/map.rs", &["src/map.rs"]);
        check("@.rs", ".rs", &["src/main.rs", "src/map.rs"]);
        check("@", "", &["README.md", "größe.txt", "src/"]);
    }

    #[test]
    fn commands_are_completed_at_the_beginning() {
        check("/hel", "help", &["help"]);
        check("/c", "c", &["clear", "compact", "cost"]);
        check("say /hel", "", &[]);
        check("/compact the", "", &[]);
    }
}
