//! What of a git repository decides which programs git runs, so that no command may change it.

use std::fs;
use std::path::{Path, PathBuf};

/// Directories that are looked through for repositories of submodules, at most.
const MAX_DIRECTORIES: usize = 2_000;

/// What decides of the repository of a working directory.
///
/// Git does not only run what hooks and settings name: a file that says where they are counts as much as they do.
#[derive(Debug, Default)]
pub(super) struct Repository {
    /// What must stay as it is.
    pub(super) kept: Vec<PathBuf>,
    /// Files that are not there, and lead git elsewhere as soon as they are.
    pub(super) absent: Vec<PathBuf>,
}

impl Repository {
    pub(super) fn of(root: &Path) -> Self {
        let mut found = Self::default();
        let git = root.join(".git");
        if git.is_file() {
            // The directory of a linked worktree or of a submodule: it names the repository.
            found.kept.push(git);
            return found;
        }
        if !git.is_dir() {
            return found;
        }
        let is_split = is_split(&git);
        found.add_leads(&git, is_split);
        found.kept.extend(named(root, &git));
        for entry in fs::read_dir(git.join("worktrees")).into_iter().flatten().flatten() {
            found.add_leads(&entry.path(), is_split);
        }
        let mut open = vec![git.join("modules")];
        let mut seen = 0;
        while let Some(directory) = open.pop() {
            seen += 1;
            if seen > MAX_DIRECTORIES {
                break;
            }
            if directory.join("HEAD").is_file() {
                found.add_leads(&directory, self::is_split(&directory));
                found.kept.extend(["config", "hooks"].map(|name| directory.join(name)));
                found.kept.extend(checkout(&directory).map(|checkout| checkout.join(".git")));
                open.push(directory.join("modules"));
                continue;
            }
            let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
            let is_folder =
                |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
            open.extend(entries.filter(is_folder).map(|entry| entry.path()));
        }
        found.kept.retain(|path| path.exists());
        found
    }

    /// Adds what leads from a directory of git's to settings in other places.
    fn add_leads(&mut self, directory: &Path, is_split: bool) {
        for (name, is_read) in [("commondir", true), ("config.worktree", is_split)] {
            let path = directory.join(name);
            if fs::symlink_metadata(&path).is_ok() {
                self.kept.push(path);
            } else if is_read {
                self.absent.push(path);
            }
        }
    }
}

/// Whether git reads settings of single worktrees there; where it does not, a file of them may be the person's beginning.
fn is_split(repository: &Path) -> bool {
    settings(repository, "worktreeConfig").iter().any(|value| value != "false")
}

/// What the settings of the repository name in the working directory: where hooks are (`core.hooksPath`, from the working
/// directory), and more settings (`include.path`, from the directory of these).
fn named(root: &Path, git: &Path) -> Vec<PathBuf> {
    let Ok(real) = root.canonicalize() else { return Vec::new() };
    let hooks = settings(git, "hooksPath").into_iter().map(|path| root.join(path));
    let more = settings(git, "path").into_iter().map(|path| git.join(path));
    let places = hooks.chain(more).filter_map(|path| path.canonicalize().ok());
    // All of the directory is where commands work.
    places.filter(|place| *place != real && place.starts_with(&real)).collect()
}

/// Where a submodule is checked out, as its repository says (`core.worktree`).
fn checkout(repository: &Path) -> Option<PathBuf> {
    let place = settings(repository, "worktree").into_iter().next()?;
    repository.join(place).canonicalize().ok()
}

/// The values of a setting by its name without a section, which is enough for names that only one kind of section has.
fn settings(repository: &Path, wanted: &str) -> Vec<String> {
    let config = fs::read_to_string(repository.join("config")).unwrap_or_default();
    let entries = config.lines().filter_map(|line| line.split_once('='));
    let wanted = entries.filter(|(name, _)| name.trim().eq_ignore_ascii_case(wanted));
    wanted.map(|(_, value)| value.trim().trim_matches('"').to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn what_leads_git_elsewhere_decides_too() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let git = root.join(".git");
        write(&git.join("worktrees/w/commondir"), "../..\n");
        let module = git.join("modules/group/sub");
        write(&module.join("HEAD"), "ref: refs/heads/main\n");
        write(&module.join("config"), "[core]\n\tworktree = ../../../../group/sub\n");
        write(&module.join("hooks/x"), "");
        write(&module.join("modules/inner/HEAD"), "");
        write(&module.join("modules/inner/config"), "");
        write(&root.join("group/sub/.git"), "gitdir: ../../.git/modules/group/sub\n");
        write(
            &git.join("config"),
            "[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ../shared.ini\n",
        );
        write(&root.join("tools/hooks/pre-commit"), "");
        write(&root.join("shared.ini"), "");
        let found = Repository::of(&root);
        assert!(found.absent.contains(&git.join("commondir")), "{found:?}");
        assert!(found.absent.contains(&module.join("commondir")), "{found:?}");
        let may_be_begun = git.join("config.worktree");
        assert!(!found.absent.contains(&may_be_begun), "git does not read it: {found:?}");
        let mut found = found.kept;
        found.sort_unstable();
        let mut expected = [
            git.join("modules/group/sub/config"),
            git.join("modules/group/sub/hooks"),
            git.join("modules/group/sub/modules/inner/config"),
            git.join("worktrees/w/commondir"),
            root.join("group/sub/.git"),
            root.join("tools/hooks"),
            root.join("shared.ini"),
        ];
        expected.sort_unstable();
        assert_eq!(found, expected);

        let linked = root.join("linked");
        write(&linked.join(".git"), "gitdir: /elsewhere\n");
        assert_eq!(Repository::of(&linked).kept, [linked.join(".git")]);
        let none = Repository::of(&root.join("group"));
        assert!(none.kept.is_empty() && none.absent.is_empty());
        write(
            &git.join("config"),
            "[core]\n\thooksPath = .\n[extensions]\n\tworktreeConfig = true\n",
        );
        assert!(Repository::of(&root).absent.contains(&may_be_begun));
        assert!(!Repository::of(&root).kept.contains(&root), "work goes on");
    }
}
