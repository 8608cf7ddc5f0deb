//! The arguments of `bwrap` (bubblewrap manual page): everything read-only, then what may be changed, then exceptions.

use std::io;
use std::path::{Path, PathBuf};

use super::hidden::HiddenPlaces;
use super::proxy::SOCKET;
use super::{Launch, Launcher, Network, SandboxProfile, Way, not_text};

/// Where a command finds what leads to its proxy: a place that each sandbox makes anew, below nothing that could be hidden.
const WAY: &str = "/dev/innerve";

/// What of `/proc` is the machine's and no process's (`proc(5)`).
const MACHINE: &[&str] = &[
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/proc/acpi",
    "/proc/fs",
    "/proc/scsi",
    "/proc/tty",
    "/proc/mtrr",
    "/proc/driver",
];

/// What is done to a path; of several about one path the last counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mount<'a> {
    Readable,
    Writable,
    ReadOnly,
    Replaced(&'a Path),
    Hidden,
}

/// The arguments up to the command.
pub(super) fn arguments(profile: &SandboxProfile, cwd: &Path) -> io::Result<Vec<String>> {
    let root = Path::new("/");
    let all = if profile.write.iter().any(|path| path == root) { "--bind" } else { "--ro-bind" };
    let mut args: Vec<String> =
        ["--die-with-parent", "--unshare-pid", "--unshare-ipc", all, "/", "/"]
            .map(str::to_owned)
            .to_vec();
    args.extend(["--dev", "/dev", "--proc", "/proc"].map(str::to_owned));
    // A new `/proc` takes writes from root, whatever rights it has lost, and some of its files act on the whole machine.
    for name in MACHINE {
        args.extend(["--ro-bind-try", name, name].map(str::to_owned));
    }
    args.extend(capabilities(is_root()));
    if profile.network != Network::Open {
        args.push("--unshare-net".to_owned());
    }
    let hidden = HiddenPlaces::new(&profile.deny_read, &profile.allow_read);
    let mut last = Vec::new();
    for (path, mount) in mounts(profile, &hidden) {
        let name = path.to_str().ok_or_else(|| unnameable(&path))?.to_owned();
        let exists = path.exists();
        match mount {
            // It is there already.
            Mount::Writable if path == root => {}
            Mount::Writable if exists => args.extend(["--bind".to_owned(), name.clone(), name]),
            Mount::Readable | Mount::ReadOnly if exists => {
                args.extend(["--ro-bind".to_owned(), name.clone(), name]);
            }
            Mount::Replaced(other) if exists => {
                let other = other.to_str().ok_or_else(|| unnameable(other))?.to_owned();
                args.extend(["--ro-bind".to_owned(), other, name]);
            }
            // What is not there must not be made either: an empty folder stands in for it, where one can be made.
            Mount::ReadOnly if may_be_made(&path, profile) => {
                args.extend(["--tmpfs".to_owned(), name.clone()]);
                last.extend(["--remount-ro".to_owned(), name]);
            }
            // What is mounted in it needs a place there, so that it is closed at the end.
            Mount::Hidden if path.is_dir() => {
                args.extend(["--tmpfs".to_owned(), name.clone()]);
                last.extend(["--remount-ro".to_owned(), name]);
            }
            Mount::Hidden if exists => {
                args.extend(["--ro-bind".to_owned(), "/dev/null".to_owned(), name]);
            }
            Mount::Readable
            | Mount::Writable
            | Mount::ReadOnly
            | Mount::Replaced(_)
            | Mount::Hidden => {}
        }
    }
    args.append(&mut last);
    let cwd = cwd.to_str().ok_or_else(|| not_text("the directory"))?;
    args.extend(["--chdir".to_owned(), cwd.to_owned()]);
    Ok(args)
}

/// What a command may do beyond its user: nothing. The superuser, whom bubblewrap leaves everything by default, could take
/// mounts away again; it keeps what works on others' files needs, as in a container, but not the right to open a file by
/// its number.
fn capabilities(is_root: bool) -> Vec<String> {
    let kept: &[&str] =
        if is_root { &["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID"] } else { &[] };
    let mut args = vec!["--cap-drop".to_owned(), "ALL".to_owned()];
    args.extend(kept.iter().flat_map(|name| ["--cap-add".to_owned(), (*name).to_owned()]));
    args
}

fn is_root() -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        Path::new("/proc/self").metadata().is_ok_and(|meta| meta.uid() == 0)
    }
    #[cfg(not(unix))]
    false
}

/// What is mounted, in this order.
fn mounts<'a>(profile: &'a SandboxProfile, hidden: &HiddenPlaces) -> Vec<(PathBuf, Mount<'a>)> {
    let mut mounts: Vec<(PathBuf, Mount<'_>)> = Vec::new();
    for (paths, mount) in
        [(&profile.write, Mount::Writable), (&profile.deny_write, Mount::ReadOnly)]
    {
        mounts.extend(paths.iter().map(|path| (real(path), mount)));
    }
    let replaced = profile.replace.iter();
    mounts.extend(replaced.map(|(path, other)| (real(path), Mount::Replaced(other))));
    // In what is hidden there is nothing to be done but where it may be read.
    mounts.retain(|(path, _)| !hidden.has(path));
    let is_within_hidden = |path: &Path| path.parent().is_some_and(|parent| hidden.has(parent));
    let kept = hidden.kept().iter().filter(|path| !hidden.has(path) && is_within_hidden(path));
    mounts.extend(kept.map(|path| (path.clone(), Mount::Readable)));
    let outermost = hidden.hidden().iter().filter(|path| !is_within_hidden(path));
    mounts.extend(outermost.map(|path| (path.clone(), Mount::Hidden)));
    // A directory above an exception could be moved away and another one put in its place, unless it is mounted itself.
    let roots: Vec<PathBuf> = profile.write.iter().map(|path| real(path)).collect();
    let is_exception = |mount: Mount<'_>| !matches!(mount, Mount::Readable | Mount::Writable);
    let exceptions: Vec<PathBuf> = mounts
        .iter()
        .filter(|(_, mount)| is_exception(*mount))
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
    mounts
}

/// What stands between those arguments and `--`, the launcher and its order among it, for a command with a way to the
/// proxy of this folder.
pub(super) fn way(folder: &Path, launcher: &Launcher) -> io::Result<Vec<String>> {
    let text =
        |path: &Path| path.to_str().map(str::to_owned).ok_or_else(|| not_text("the network"));
    let (network, program) = (format!("{WAY}/network"), format!("{WAY}/launch"));
    let order = Launch::Bridged(Way {
        socket: Path::new(&network).join(SOCKET),
        arguments: launcher.args.clone(),
    });
    let mut args = vec!["--ro-bind".to_owned(), text(folder)?, network];
    args.extend(["--ro-bind".to_owned(), text(&launcher.program)?, program.clone()]);
    args.extend(["--".to_owned(), program]);
    args.extend(launcher.args.iter().cloned());
    args.push(serde_json::to_string(&order)?);
    Ok(args)
}

/// The path with links resolved, as far as it exists: a mount on a link would miss what it leads to.
fn real(path: &Path) -> PathBuf {
    crate::paths::real(path)
}

fn unnameable(path: &Path) -> io::Error {
    let what = format!("`{}`, which the sandbox must treat apart,", path.display());
    not_text(&what)
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
            ..SandboxProfile::default()
        };
        let args =
            arguments(&profile, &root).unwrap().join(" ").replace(root.to_str().unwrap(), "R");
        let args = args.replace(&capabilities(is_root()).join(" "), "--cap-drop ALL");
        let machine: Vec<String> =
            MACHINE.iter().map(|name| format!("--ro-bind-try {name} {name}")).collect();
        let args = args.replace(&machine.join(" "), "MACHINE");
        assert_eq!(
            args,
            "--die-with-parent --unshare-pid --unshare-ipc --ro-bind / / --dev /dev --proc /proc MACHINE --cap-drop ALL --unshare-net \
             --ro-bind /dev/null R/secret --bind R/work R/work --bind R/work/.git R/work/.git --tmpfs R/work/.innerve \
             --ro-bind R/work/.git/hooks R/work/.git/hooks --remount-ro R/work/.innerve --chdir R"
        );
        let open = SandboxProfile { network: Network::Open, ..SandboxProfile::default() };
        assert!(!arguments(&open, &root).unwrap().contains(&"--unshare-net".to_owned()));
    }
}
