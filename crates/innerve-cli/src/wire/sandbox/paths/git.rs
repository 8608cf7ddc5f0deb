//! What of a git repository decides which programs git runs, so that no command may change it.

use std::fs;
use std::path::{Path, PathBuf};

/// Directories that are looked through for repositories of submodules, at most.
const MAX_DIRECTORIES: usize = 2_000;

/// The files and folders that are there, for the repository of a working directory.
///
/// Git does not only run what hooks and settings name: a file that says where they are counts as much as they do.
pub(super) fn deciding(root: &Path) -> Vec<PathBuf> {
    let git = root.join(".git");
    if git.is_file() {
        // The directory of a linked worktree or of a submodule: it names the repository.
        return vec![git];
    }
    let mut deciding = vec![git.join("config.worktree")];
    for entry in fs::read_dir(git.join("worktrees")).into_iter().flatten().flatten() {
        deciding.extend(["commondir", "config.worktree"].map(|name| entry.path().join(name)));
    }
    let mut open = vec![git.join("modules")];
    let mut seen = 0;
    while let Some(directory) = open.pop() {
        seen += 1;
        if seen > MAX_DIRECTORIES {
            break;
        }
        if directory.join("HEAD").is_file() {
            let names = ["config", "config.worktree", "hooks"];
            deciding.extend(names.map(|name| directory.join(name)));
            deciding.extend(checkout(&directory).map(|checkout| checkout.join(".git")));
            open.push(directory.join("modules"));
            continue;
        }
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        open.extend(entries.filter(is_folder).map(|entry| entry.path()));
    }
    deciding.retain(|path| path.exists());
    deciding
}

/// Where a submodule is checked out, as its repository says (`core.worktree`).
fn checkout(repository: &Path) -> Option<PathBuf> {
    let config = fs::read_to_string(repository.join("config")).ok()?;
    let place = config.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "worktree").then(|| value.trim().trim_matches('"').to_owned())
    })?;
    repository.join(place).canonicalize().ok()
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
        let mut found = deciding(&root);
        found.sort_unstable();
        let mut expected = [
            git.join("modules/group/sub/config"),
            git.join("modules/group/sub/hooks"),
            git.join("modules/group/sub/modules/inner/config"),
            git.join("worktrees/w/commondir"),
            root.join("group/sub/.git"),
        ];
        expected.sort_unstable();
        assert_eq!(found, expected);

        let linked = root.join("linked");
        write(&linked.join(".git"), "gitdir: /elsewhere\n");
        assert_eq!(deciding(&linked), [linked.join(".git")]);
        assert!(deciding(&root.join("group")).is_empty());
    }
}
