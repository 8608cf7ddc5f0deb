//! What the engine must know of the disk, behind a port.

pub(crate) mod lexical;
pub(crate) mod windows;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Answers questions about paths; the real one lives in `innerve-settings`, tests use a table.
///
/// Every method must answer for paths that do not exist; an error of the disk is answered as the stricter case.
pub trait PathFacts: Send + Sync {
    /// Resolves all symbolic links of an absolute path; for a path that does not exist, those of its nearest existing
    /// ancestor, with the rest appended.
    fn resolve(&self, path: &Path) -> ResolvedPath;

    /// Whether `path` lies in the same working tree as `cwd` and is no repository of its own.
    fn same_working_tree(&self, cwd: &Path, path: &Path) -> bool;

    /// The programs that the git configuration of the repository around `cwd` would run for a read (`core.fsmonitor`,
    /// external diff, textconv, filters, pager, aliases, hooks path); empty if none, or if there is no repository.
    fn git_programs(&self, cwd: &Path) -> Vec<String>;

    /// Whether `path` may be a directory, so that a search of it reads more than one file; in doubt it may.
    fn may_be_directory(&self, _path: &Path) -> bool {
        true
    }

    /// What lies in `directory`, links in its path followed: nothing if there is no such directory; `None` if it cannot be
    /// told, or if it is more than `most` entries.
    ///
    /// It tells to which links a pattern of a shell command may lead. Where it is not known, patterns may lead anywhere, and
    /// are asked about as soon as some rule about paths is stricter than an allow.
    fn entries(&self, _directory: &Path, _most: usize) -> Option<Vec<Entry>> {
        None
    }

    /// How paths are written on this disk.
    fn style(&self) -> PathStyle {
        PathStyle::HOST
    }
}

/// A path with its links resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedPath {
    /// The path that is reached, or `None` if it cannot be told (a loop, no permission): treat as unknown.
    pub real: Option<PathBuf>,
    /// Whether something is there.
    pub exists: bool,
}

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: OsString,
    /// Whether it is a symbolic link, wherever that leads.
    pub is_link: bool,
    /// Whether it is a directory, and no link to one.
    pub is_directory: bool,
}

/// How paths are written and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathStyle {
    /// `/dir/file`; names differ by case.
    Posix,
    /// `C:\dir\file`, `C:/dir/file` or `/c/dir/file`; names do not differ by case.
    ///
    /// Spellings that programs read differently (network and device paths, streams, short names) are asked about.
    Windows,
}

impl PathStyle {
    /// The style of the system that this was compiled for.
    pub const HOST: Self = if cfg!(windows) { Self::Windows } else { Self::Posix };
}

impl Default for PathStyle {
    fn default() -> Self {
        Self::HOST
    }
}

/// No disk at all: no links, nothing exists, and git is not trusted.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDisk;

impl PathFacts for NoDisk {
    fn resolve(&self, path: &Path) -> ResolvedPath {
        ResolvedPath { real: Some(path.to_path_buf()), exists: false }
    }

    fn same_working_tree(&self, cwd: &Path, path: &Path) -> bool {
        path.starts_with(cwd)
    }

    fn git_programs(&self, _cwd: &Path) -> Vec<String> {
        Vec::new()
    }

    fn entries(&self, _directory: &Path, _most: usize) -> Option<Vec<Entry>> {
        Some(Vec::new())
    }
}
