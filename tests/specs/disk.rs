//! A disk that is a table, written in a block of the Markdown file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use innerve_permission::{PathFacts, PathStyle, ResolvedPath};

/// Links, directories and repositories; nothing else is there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    links: BTreeMap<PathBuf, PathBuf>,
    existing: Vec<PathBuf>,
    repositories: Vec<PathBuf>,
    git_programs: Vec<String>,
    files: Vec<PathBuf>,
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

    fn style(&self) -> PathStyle {
        self.style
    }
}
