//! What Tab completes: slash commands, and paths behind `@`.

use std::fs;
use std::path::Path;

use super::commands::COMMANDS;

/// Entries of a folder that are looked at.
const MAX_ENTRIES: usize = 20_000;
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
        Some(path) => among(path, paths(path, cwd)),
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
        check("@nothing/here", "", &[]);
    }

    #[test]
    fn commands_are_completed_at_the_beginning() {
        check("/hel", "help", &["help"]);
        check("/c", "c", &["clear", "compact", "cost"]);
        check("say /hel", "", &[]);
        check("/compact the", "", &[]);
    }
}
