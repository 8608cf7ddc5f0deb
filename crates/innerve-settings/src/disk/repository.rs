//! Git repositories: where they start, and where their own files lie.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A repository that git would find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repository {
    /// The directory that holds `.git`, or the repository itself if it is bare.
    pub(crate) root: PathBuf,
    /// Its own directory, such as `.git`.
    pub(crate) git: PathBuf,
    /// The directory that it shares with other worktrees; the same as `git` for a plain one.
    pub(crate) common: PathBuf,
}

/// The repository that git finds from `directory` upward. `Err` when something is there that cannot be read.
pub(crate) fn find(directory: &Path) -> Result<Option<Repository>, String> {
    for root in directory.ancestors() {
        let entry = root.join(".git");
        if let Ok(metadata) = fs::metadata(&entry) {
            let git = if metadata.is_dir() { entry } else { linked(&entry)? };
            let common = common(&git)?;
            return Ok(Some(Repository { root: root.to_path_buf(), git, common }));
        }
        // Git also takes a directory for a repository that only looks like the inside of one.
        if looks_bare(root) {
            let git = root.to_path_buf();
            return Ok(Some(Repository { root: git.clone(), common: git.clone(), git }));
        }
    }
    Ok(None)
}

/// The root of the repository around `directory`; a broken one counts as one of its own.
pub(crate) fn root(directory: &Path) -> Option<PathBuf> {
    match find(directory) {
        Ok(repository) => repository.map(|repository| repository.root),
        Err(_) => Some(directory.to_path_buf()),
    }
}

/// The root of the main checkout of the repository around `directory`; `None` outside, and in a bare one.
pub(crate) fn main_checkout(directory: &Path) -> Option<PathBuf> {
    let repository = find(directory).ok()??;
    if repository.git == repository.common {
        // A submodule's files lie elsewhere, and a bare repository has no checkout.
        let is_plain = repository.root.join(".git").exists();
        return is_plain.then_some(repository.root);
    }
    let named_git = repository.common.file_name().is_some_and(|name| name == ".git");
    repository.common.parent().filter(|_| named_git).map(Path::to_path_buf)
}

/// Adds a pattern to the excludes of the repository around `directory`, unless it stands there; nothing to do outside.
pub(crate) fn exclude(directory: &Path, pattern: &str) -> io::Result<()> {
    let Ok(Some(repository)) = find(directory) else { return Ok(()) };
    let file = repository.common.join("info/exclude");
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    if text.lines().any(|line| line.trim() == pattern) {
        return Ok(());
    }
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let start = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let mut file = OpenOptions::new().append(true).create(true).open(&file)?;
    file.write_all(format!("{start}{pattern}\n").as_bytes())
}

/// The directory that a `.git` file names.
fn linked(file: &Path) -> Result<PathBuf, String> {
    let odd = || format!("an odd `{}`", file.display());
    let text = fs::read_to_string(file).map_err(|_| odd())?;
    let target = text
        .strip_prefix("gitdir:")
        .map(str::trim)
        .filter(|target| !target.is_empty())
        .ok_or_else(odd)?;
    let directory = file.parent().unwrap_or(Path::new("/")).join(target);
    directory.canonicalize().map_err(|_| odd())
}

/// The directory that worktrees share.
fn common(git: &Path) -> Result<PathBuf, String> {
    let file = git.join("commondir");
    match fs::read_to_string(&file) {
        Ok(text) => {
            let directory = git.join(text.trim_end_matches(['\n', '\r']));
            directory.canonicalize().map_err(|_| format!("an odd `{}`", file.display()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(git.to_path_buf()),
        Err(_) => Err(format!("an unreadable `{}`", file.display())),
    }
}

fn looks_bare(directory: &Path) -> bool {
    directory.join("HEAD").symlink_metadata().is_ok()
        && directory.join("objects").is_dir()
        && directory.join("refs").is_dir()
}
