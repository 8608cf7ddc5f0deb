//! What decides about programs that run outside of the sandbox later: what stays as it is, and what a command must not have
//! made when it ends.

use std::fs;
use std::path::{Path, PathBuf};

use innerve_permission::Policy;

use super::git;

/// What in a working directory decides and is kept from being made, where it is not there and that is possible.
const ABOVE_ALL: &[&str] = &[".innerve", ".claude", ".mcp.json", ".git/hooks", ".git/config"];
/// What is protected, and written by package managers in their everyday work.
const OF_PACKAGES: &[&str] = &[".yarn", ".pnp.cjs", ".pnp.loader.mjs"];

/// What decides in the directories that commands may change.
#[derive(Debug, Default)]
pub(super) struct Deciding {
    /// What commands cannot change.
    pub(super) kept: Vec<PathBuf>,
    pub(super) watch: Watch,
}

impl Deciding {
    /// Adds what decides in a working directory, but for what is `allowed`.
    pub(super) fn add_root(&mut self, root: &Path, allowed: impl Fn(&Path) -> bool) {
        let is_repository = root.join(".git").is_dir();
        for name in ABOVE_ALL {
            let path = root.join(name);
            // A file that is not there cannot be kept from being made without making it.
            let is_kept = path.exists() || path.extension().is_none();
            if is_kept && (is_repository || !name.starts_with(".git/")) {
                self.keep(path);
            }
        }
        for name in names() {
            let path = root.join(name);
            // A directory that stands in for what is not there is left behind.
            if fs::symlink_metadata(&path).is_err() && !self.kept.contains(&path) {
                self.watch.made.push(path);
            }
        }
        self.add_present(root, allowed);
    }

    /// Adds what decides in a directory and is there, but for what is `allowed`.
    pub(super) fn add_present(&mut self, directory: &Path, allowed: impl Fn(&Path) -> bool) {
        let repository = git::Repository::of(directory);
        self.kept.extend(repository.kept);
        self.watch.leads.extend(repository.absent);
        self.note_link(&directory.join(".git"));
        // Git works in its own directory, but for what `ABOVE_ALL` names in it.
        let chosen = names().filter(|name| *name != ".git" && !ABOVE_ALL.contains(name));
        let protected = chosen.map(|name| directory.join(name)).filter(|path| !allowed(path));
        let all = protected.chain(ABOVE_ALL.iter().map(|name| directory.join(name)));
        let present: Vec<PathBuf> =
            all.filter(|path| path.exists() && !self.kept.contains(path)).collect();
        for path in present {
            self.keep(path);
        }
    }

    fn keep(&mut self, path: PathBuf) {
        self.note_link(&path);
        self.kept.push(path);
    }

    /// A link itself cannot be kept, only what it leads to.
    fn note_link(&mut self, path: &Path) {
        if let Ok(target) = path.read_link() {
            self.watch.links.push((path.to_owned(), target));
        }
    }
}

/// What decides directly in a directory.
fn names() -> impl Iterator<Item = &'static str> {
    Policy::protected_names().filter(|name| !OF_PACKAGES.contains(name)).chain([".config/git"])
}

/// What is looked for when a command has ended.
#[derive(Debug, Default)]
pub(in super::super) struct Watch {
    /// What was not there.
    made: Vec<PathBuf>,
    /// Files that were not there, and by which git takes settings from elsewhere; nobody but a command makes them.
    leads: Vec<PathBuf>,
    /// Links, with where they led.
    links: Vec<(PathBuf, PathBuf)>,
}

impl Watch {
    /// Removes what leads git elsewhere, and says what else has come to decide.
    pub(in super::super) fn notes(&self) -> Vec<String> {
        let mut notes = self.remove_leads();
        let made = self.made.iter().filter(|path| fs::symlink_metadata(path).is_ok());
        let changed = self
            .links
            .iter()
            .filter(|(link, target)| link.read_link().ok().as_ref() != Some(target));
        let found: Vec<String> = made
            .chain(changed.map(|(link, _)| link))
            .map(|path| format!("`{}`", path.display()))
            .collect();
        if !found.is_empty() {
            notes.push(format!(
                "made while the command ran, and obeyed by programs outside of the sandbox: {}",
                found.join(", ")
            ));
        }
        notes
    }

    fn remove_leads(&self) -> Vec<String> {
        let found = self.leads.iter().filter(|path| fs::symlink_metadata(path).is_ok());
        found
            .map(|path| {
                let what = format!(
                    "`{}`, made while the command ran, has git take settings from elsewhere",
                    path.display()
                );
                match fs::remove_file(path) {
                    Ok(()) => format!("{what}, and was removed"),
                    Err(error) => format!("{what}, and could not be removed: {error}"),
                }
            })
            .collect()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Where nobody has asked for notes, since the command was given up.
        self.remove_leads();
    }
}
