//! A disk that is a table, written in a block of the Markdown file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use innerve_permission::{Entry, PathFacts, PathStyle, ResolvedPath};

/// Links, directories and repositories; nothing else is there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    links: BTreeMap<PathBuf, PathBuf>,
    existing: Vec<PathBuf>,
    repositories: Vec<PathBuf>,
    git_programs: Vec<String>,
    files: Vec<PathBuf>,
    unlisted: Vec<PathBuf>,
    style: PathStyle,
}

impl Disk {
    /// Adds what one line of a `disk` block says; the error is the line.
    pub(crate) fn add(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [from, "->", to] => {
                self.links.insert(PathBuf::from(from), PathBuf::from(to));
            }
            ["windows"] => self.style = PathStyle::Windows,
            [path, "file"] => {
                self.existing.push(PathBuf::from(path));
                self.files.push(PathBuf::from(path));
            }
            [path, "unlisted"] => {
                self.existing.push(PathBuf::from(path));
                self.unlisted.push(PathBuf::from(path));
            }
            ["git", "runs", program] => self.git_programs.push((*program).to_owned()),
            [path, "repository"] => {
                self.existing.push(PathBuf::from(path));
                self.repositories.push(PathBuf::from(path));
            }
            [path] => self.existing.push(PathBuf::from(path)),
            _ => return Err(format!("`{line}` says nothing about a disk")),
        }
        Ok(())
    }
}

impl PathFacts for Disk {
    fn resolve(&self, path: &Path) -> ResolvedPath {
        let mut real = path.to_path_buf();
        for (link, target) in &self.links {
            if let Ok(rest) = path.strip_prefix(link) {
                real = target.join(rest);
            }
        }
        // Joining an empty rest leaves a trailing slash.
        let real: PathBuf = real.components().collect();
        ResolvedPath { real: Some(real), exists: self.existing.iter().any(|known| known == path) }
    }

    fn same_working_tree(&self, cwd: &Path, path: &Path) -> bool {
        path.starts_with(cwd)
            && !self.repositories.iter().any(|root| root != cwd && path.starts_with(root))
    }

    fn git_programs(&self, _cwd: &Path) -> Vec<String> {
        self.git_programs.clone()
    }

    fn may_be_directory(&self, path: &Path) -> bool {
        !self.files.iter().any(|file| file == path)
    }

    fn entries(&self, directory: &Path, _most: usize) -> Option<Vec<Entry>> {
        if self.unlisted.iter().any(|unlisted| unlisted == directory) {
            return None;
        }
        // What lies deeper says that there is a directory on the way.
        let known = self.existing.iter().chain(self.links.keys());
        let names: BTreeSet<_> = known
            .filter_map(|path| Some(path.strip_prefix(directory).ok()?.iter().next()?.to_owned()))
            .collect();
        let entry = |name| {
            let path = directory.join(&name);
            let is_link = self.links.contains_key(&path);
            let is_directory = !is_link && !self.files.contains(&path);
            Entry { name, is_link, is_directory }
        };
        Some(names.into_iter().map(entry).collect())
    }

    fn style(&self) -> PathStyle {
        self.style
    }
}
