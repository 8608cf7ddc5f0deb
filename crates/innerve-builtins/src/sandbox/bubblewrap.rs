//! The arguments of `bwrap` (bubblewrap manual page): everything read-only, then what may be changed, then exceptions.

use std::io;
use std::path::{Path, PathBuf};

use super::{SandboxProfile, not_text};

/// What is done to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mount {
    Writable,
    ReadOnly,
    Hidden,
}

/// The arguments up to the command.
pub(super) fn arguments(profile: &SandboxProfile, cwd: &Path) -> io::Result<Vec<String>> {
    let mut args: Vec<String> =
        ["--die-with-parent", "--unshare-pid", "--unshare-ipc", "--ro-bind", "/", "/"]
            .map(str::to_owned)
            .to_vec();
    args.extend(["--dev", "/dev", "--proc", "/proc"].map(str::to_owned));
    if !profile.network {
        args.push("--unshare-net".to_owned());
    }
    let mut mounts: Vec<(PathBuf, Mount)> = Vec::new();
    for (paths, mount) in [
        (&profile.write, Mount::Writable),
        (&profile.deny_write, Mount::ReadOnly),
        (&profile.deny_read, Mount::Hidden),
    ] {
        mounts.extend(paths.iter().map(|path| (real(path), mount)));
    }
    // A directory above an exception could be moved away and another one put in its place, unless it is mounted itself.
    let roots: Vec<PathBuf> = profile.write.iter().map(|path| real(path)).collect();
    let exceptions: Vec<PathBuf> = mounts
        .iter()
        .filter(|(_, mount)| *mount != Mount::Writable)
        .map(|(path, _)| path.clone())
        .collect();
    for exception in &exceptions {
        if !roots.iter().any(|root| exception.starts_with(root)) {
            continue;
        }
        let is_between = |path: &&Path| !roots.iter().chain(&exceptions).any(|known| known == path);
        let between = exception.ancestors().skip(1).take_while(is_between);
        mounts.extend(between.map(|path| (path.to_owned(), Mount::Writable)));
    }
    // What lies deeper comes later; of one path the strictest word counts.
    mounts.sort_by_key(|(path, mount)| (path.components().count(), path.clone(), *mount));
    mounts.dedup();
    for (path, mount) in mounts {
        let name = path.to_str().ok_or_else(|| not_text("a path of the sandbox"))?.to_owned();
        let exists = path.exists();
        match mount {
            Mount::Writable if exists => args.extend(["--bind".to_owned(), name.clone(), name]),
            Mount::ReadOnly if exists => args.extend(["--ro-bind".to_owned(), name.clone(), name]),
            // What is not there must not be made either: an empty folder stands in for it, where one can be made.
            Mount::ReadOnly if may_be_made(&path, profile) => {
                args.extend(["--tmpfs".to_owned(), name.clone(), "--remount-ro".to_owned(), name]);
            }
            Mount::Hidden if path.is_dir() => {
                args.extend(["--tmpfs".to_owned(), name.clone(), "--remount-ro".to_owned(), name]);
            }
            Mount::Hidden if exists => {
                args.extend(["--ro-bind".to_owned(), "/dev/null".to_owned(), name]);
            }
            Mount::Writable | Mount::ReadOnly | Mount::Hidden => {}
        }
    }
    let cwd = cwd.to_str().ok_or_else(|| not_text("the directory"))?;
    args.extend(["--chdir".to_owned(), cwd.to_owned()]);
    Ok(args)
}

/// The path with links resolved, as far as it exists: a mount on a link would miss what it leads to.
fn real(path: &Path) -> PathBuf {
    crate::paths::real(path)
}

/// Whether a command could make this path, so that it must be taken.
fn may_be_made(path: &Path, profile: &SandboxProfile) -> bool {
    path.parent().is_some_and(Path::is_dir)
        && profile.write.iter().any(|root| path.starts_with(real(root)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deeper_paths_come_later_and_exceptions_after_what_they_are_exceptions_of() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("work/.git/hooks")).unwrap();
        std::fs::write(root.join("secret"), "x").unwrap();
        let profile = SandboxProfile {
            write: vec![root.join("work"), root.join("work/.innerve/worktrees/a")],
            deny_write: vec![root.join("work/.git/hooks"), root.join("work/.innerve")],
            deny_read: vec![root.join("secret"), root.join("nothing")],
            network: false,
        };
        let args =
            arguments(&profile, &root).unwrap().join(" ").replace(root.to_str().unwrap(), "R");
        assert_eq!(
            args,
            "--die-with-parent --unshare-pid --unshare-ipc --ro-bind / / --dev /dev --proc /proc --unshare-net \
             --ro-bind /dev/null R/secret --bind R/work R/work --bind R/work/.git R/work/.git --tmpfs R/work/.innerve \
             --remount-ro R/work/.innerve --ro-bind R/work/.git/hooks R/work/.git/hooks --chdir R"
        );
        let open = SandboxProfile { network: true, ..SandboxProfile::default() };
        assert!(!arguments(&open, &root).unwrap().contains(&"--unshare-net".to_owned()));
    }
}
