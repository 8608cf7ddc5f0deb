//! The disk as the permission engine sees it.

mod git_config;
pub(crate) mod repository;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use innerve_permission::{Entry, PathFacts, ResolvedPath};

/// More links on the way to one file are taken for a loop.
const MAX_LINKS: usize = 40;

/// The real disk.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskPaths;

impl PathFacts for DiskPaths {
    fn resolve(&self, path: &Path) -> ResolvedPath {
        follow(path).unwrap_or(ResolvedPath { real: None, exists: false })
    }

    fn same_working_tree(&self, cwd: &Path, path: &Path) -> bool {
        let (Some(cwd), Some(path)) = (self.resolve(cwd).real, self.resolve(path).real) else {
            return false;
        };
        match repository::root(&cwd) {
            Some(root) => repository::root(&path) == Some(root),
            // Without a repository git reads none, as long as there is none at the other place either.
            None => path.starts_with(&cwd) && repository::root(&path).is_none(),
        }
    }

    fn git_programs(&self, cwd: &Path) -> Vec<String> {
        match self.resolve(cwd).real {
            Some(real) => git_config::programs(&real),
            None => vec!["an unreadable directory".to_owned()],
        }
    }

    fn may_be_directory(&self, path: &Path) -> bool {
        // What is not there may be made before the command runs.
        fs::metadata(path).map_or(true, |metadata| metadata.is_dir())
    }

    fn entries(&self, directory: &Path, most: usize) -> Option<Vec<Entry>> {
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            // What is no directory holds nothing.
            Err(error) if crate::load::is_absent(&error) => return Some(Vec::new()),
            Err(_) => return None,
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.ok()?;
            let kind = entry.file_type().ok()?;
            if found.len() == most {
                return None;
            }
            found.push(Entry {
                name: entry.file_name(),
                is_link: kind.is_symlink(),
                is_directory: kind.is_dir(),
            });
        }
        Some(found)
    }
}

/// Follows every link of an absolute path, as the kernel does; what does not exist is kept as it is written.
fn follow(path: &Path) -> io::Result<ResolvedPath> {
    let mut pending: VecDeque<OsString> = names(path);
    let mut real = PathBuf::from("/");
    let mut links = 0;
    let mut exists = true;
    while let Some(name) = pending.pop_front() {
        if name == ".." {
            real.pop();
            continue;
        }
        real.push(&name);
        if !exists {
            continue;
        }
        match fs::symlink_metadata(&real) {
            Ok(metadata) if metadata.is_symlink() => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(io::Error::other("too many links"));
                }
                let target = fs::read_link(&real)?;
                real.pop();
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                let mut rest = names(&target);
                rest.append(&mut pending);
                pending = rest;
            }
            Ok(_) => {}
            Err(error) if crate::load::is_absent(&error) => exists = false,
            Err(error) => return Err(error),
        }
    }
    Ok(ResolvedPath { real: Some(real), exists })
}

/// The names of a path in order, `..` among them.
fn names(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some(OsString::from("..")),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        })
        .collect()
}
