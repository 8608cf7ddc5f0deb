//! Sockets of programs outside that would do there what a command asks them to, and which of them settings open.

use std::path::{Path, PathBuf};

use innerve_builtins::sandbox::SandboxProfile;
use innerve_permission::Layer;

use super::paths::located;
use super::{flags, is_of_project};

/// Where such sockets are.
const SERVICES: &[&str] = &[
    // Programs of Windows, under WSL.
    "/run/WSL",
    "/run/avahi-daemon",
    "/run/buildkit",
    "/run/containerd",
    "/run/crio",
    "/run/cups",
    "/run/dbus",
    "/run/docker.sock",
    "/run/host-services",
    "/run/k3s",
    "/run/libvirt",
    // It looks up names for others, as does the resolver of systemd: a way out for whoever asks for the right ones.
    "/run/nscd",
    "/run/pcscd",
    "/run/podman",
    "/run/screen",
    "/run/snapd.socket",
    "/run/systemd/private",
    "/run/systemd/resolve/io.systemd.Resolve",
    "/run/systemd/resolve/io.systemd.Resolve.Monitor",
    "/run/tailscale",
    "/run/user",
    "/tmp/.X11-unix",
    "/tmp/screens",
    "/tmp/uscreens",
    "/var/lib/incus/unix.socket",
    "/var/lib/lxd/unix.socket",
    "/var/snap/lxd/common/lxd/unix.socket",
];
/// Below the home directory.
const OWN_SERVICES: &[&str] =
    &[".1password", ".bitwarden-ssh-agent.sock", ".docker/desktop", ".docker/run", ".screen"];
/// How the folders begin, among the temporary files, in which terminals and editors take commands; a user's number follows.
const TEMPORARY: &[&str] = &["tmux-", "emacs"];
/// Variables that name a socket, perhaps as a `unix:` address: agents of keys, terminals, editors, containers.
const VARIABLES: &[&str] = &[
    "CONTAINER_HOST",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_HOST",
    "NVIM",
    "NVIM_LISTEN_ADDRESS",
    "SSH_AUTH_SOCK",
    "TMUX",
    "VSCODE_GIT_IPC_HANDLE",
    "VSCODE_IPC_HOOK_CLI",
    "WSL_INTEROP",
];

/// The services that commands may talk to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sockets {
    /// All of them.
    All,
    /// Those of these sockets, or in these directories.
    These(Vec<PathBuf>),
}

impl Sockets {
    /// What the layers, highest first, open.
    pub(super) fn of(ordered: &[Layer], home: &Path) -> Self {
        let may = |layer: &Layer| layer.trusted || !is_of_project(layer);
        let all = "/sandbox/network/allowAllUnixSockets";
        let said = ordered
            .iter()
            .filter(|layer| may(layer))
            .find_map(|layer| layer.value.pointer(all)?.as_bool());
        if said == Some(true) {
            return Self::All;
        }
        let named = flags(ordered, "/sandbox/network/allowUnixSockets");
        let paths = named
            .filter(|(layer, _)| may(layer))
            .map(|(layer, entry)| real(&located(layer, entry, home)));
        Self::These(paths.collect())
    }

    /// Hides the services that are not open, and leaves open in them what is.
    pub(super) fn apply(&self, profile: &mut SandboxProfile, home: &Path) {
        let Self::These(open) = self else { return };
        for service in services(home, |name| std::env::var(name).ok()) {
            let place = real(&service);
            if open.iter().any(|open| place.starts_with(open))
                || profile.allow_read.contains(&service)
            {
                continue;
            }
            // An exception that leads anywhere else would open more than a service.
            profile.allow_read.extend(open.iter().filter(|open| open.starts_with(&place)).cloned());
            profile.deny_read.push(service);
        }
    }
}

/// The services that may be there.
fn services(home: &Path, variable: impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let mut services: Vec<PathBuf> = SERVICES.iter().map(PathBuf::from).collect();
    services.extend(OWN_SERVICES.iter().map(|name| home.join(name)));
    let mut temporary = vec![PathBuf::from("/tmp"), std::env::temp_dir()];
    temporary.extend(variable("TMUX_TMPDIR").map(PathBuf::from));
    temporary.dedup();
    for entry in temporary.iter().filter_map(|folder| folder.read_dir().ok()).flatten().flatten() {
        let begin =
            |name: &&&str| entry.file_name().to_str().is_some_and(|own| own.starts_with(**name));
        if let Some(begin) = TEMPORARY.iter().find(begin)
            && let Some(owner) = owner_of_folder(&entry.path())
            // A command can make folders of any name, but not somebody else's: there are only so many of them.
            && entry.file_name().to_str() == Some(&format!("{begin}{owner}"))
        {
            services.push(entry.path());
        }
    }
    let named = VARIABLES.iter().filter_map(|name| variable(name));
    services.extend(named.filter_map(|value| socket_in(&value)).filter(|path| is_socket(path)));
    services
}

/// The path that a variable names: as it is, before what terminals put behind a comma, or of a `unix:` address.
fn socket_in(value: &str) -> Option<PathBuf> {
    let address = ["unix://", "unix:path="].iter().find_map(|start| value.strip_prefix(start));
    let path = address.unwrap_or(value).split([',', ';']).next()?;
    path.starts_with('/').then(|| PathBuf::from(path))
}

#[cfg(unix)]
fn owner_of_folder(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    path.symlink_metadata().ok().filter(std::fs::Metadata::is_dir).map(|meta| meta.uid())
}

#[cfg(not(unix))]
fn owner_of_folder(_path: &Path) -> Option<u32> {
    None
}

#[cfg(unix)]
fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    path.metadata().is_ok_and(|meta| meta.file_type().is_socket())
}

#[cfg(not(unix))]
fn is_socket(_path: &Path) -> bool {
    false
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;
    use std::os::unix::net::UnixListener;

    use innerve_permission::RuleSource;
    use serde_json::{Value, json};

    use super::*;

    fn layer(source: RuleSource, network: &Value) -> Layer {
        Layer::new(source, "/repo", json!({ "sandbox": { "network": network } }))
    }

    #[test]
    fn only_what_counts_opens_services() {
        let all = json!({ "allowAllUnixSockets": true });
        let some = json!({ "allowUnixSockets": ["/x/a.sock", "~/b.sock", "c"] });
        let mut project = layer(RuleSource::Project, &all);
        let home = Path::new("/home/u");
        assert_eq!(Sockets::of(std::slice::from_ref(&project), home), Sockets::All);
        project.trusted = false;
        let closed = Sockets::These(Vec::new());
        assert_eq!(Sockets::of(std::slice::from_ref(&project), home), closed);
        let paths = ["/x/a.sock", "/home/u/b.sock", "/repo/c"].map(PathBuf::from);
        let user = layer(RuleSource::User, &some);
        assert_eq!(Sockets::of(&[project, user], home), Sockets::These(paths.to_vec()));
        let layers = [
            layer(RuleSource::Policy, &json!({ "allowAllUnixSockets": false })),
            layer(RuleSource::User, &all),
        ];
        assert_eq!(Sockets::of(&layers, home), closed, "the highest layer decides");
    }

    #[test]
    fn a_service_within_a_hidden_place_is_opened_alone() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().canonicalize().unwrap();
        let folder = home.join(".docker/run");
        std::fs::create_dir_all(&folder).unwrap();
        let mut profile = SandboxProfile::default();
        let open = vec![folder.join("docker.sock"), home.join(".ssh/agent")];
        Sockets::These(open.clone()).apply(&mut profile, &home);
        assert!(profile.deny_read.contains(&folder));
        assert_eq!(profile.allow_read, open[..1], "nothing else is taken out of what is hidden");
        let mut profile = SandboxProfile::default();
        Sockets::These(vec![folder.clone()]).apply(&mut profile, &home);
        assert!(!profile.deny_read.contains(&folder) && profile.allow_read.is_empty());
        let mut profile = SandboxProfile::default();
        Sockets::All.apply(&mut profile, &home);
        assert_eq!(profile, SandboxProfile::default());
    }

    #[test]
    fn what_resolves_names_or_runs_programs_elsewhere_is_hidden_and_its_files_are_not() {
        let mut profile = SandboxProfile::default();
        Sockets::These(Vec::new()).apply(&mut profile, Path::new("/home/u"));
        let hides =
            |path: &str| profile.deny_read.iter().any(|hidden| Path::new(path).starts_with(hidden));
        for socket in [
            "/run/systemd/resolve/io.systemd.Resolve",
            "/run/nscd/socket",
            "/run/avahi-daemon/socket",
            "/run/WSL/8_interop",
            "/home/u/.1password/agent.sock",
            "/home/u/.bitwarden-ssh-agent.sock",
        ] {
            assert!(hides(socket), "{socket}");
        }
        for file in ["/run/systemd/resolve/stub-resolv.conf", "/home/u/.bashrc"] {
            assert!(!hides(file), "{file}");
        }
        let place = tempfile::tempdir().unwrap();
        let socket = place.path().join("1_interop");
        let _listener = UnixListener::bind(&socket).unwrap();
        let named = |name: &str| (name == "WSL_INTEROP").then(|| socket.display().to_string());
        assert!(services(Path::new("/home/u"), named).contains(&socket));
    }

    #[test]
    fn variables_name_sockets_in_many_ways() {
        let place = tempfile::tempdir().unwrap();
        let socket = place.path().join("s");
        let _listener = UnixListener::bind(&socket).unwrap();
        let path = socket.to_str().unwrap();
        for value in [
            path.to_owned(),
            format!("{path},1234,0"),
            format!("unix://{path}"),
            format!("unix:path={path},guid=00;unix:path=/other"),
        ] {
            let found =
                services(Path::new("/home/u"), |name| (name == "TMUX").then(|| value.clone()));
            assert!(found.contains(&socket), "{value}");
        }
        for value in ["tcp://127.0.0.1:1", "s", "", "unix:abstract=/x"] {
            assert_eq!(socket_in(value), None, "{value}");
        }
        // Where a terminal takes commands, and what only looks so.
        let owner = place.path().metadata().unwrap().uid();
        for name in [format!("tmux-{owner}"), "tmux-x".to_owned(), format!("tmux-{owner}0")] {
            std::fs::create_dir(place.path().join(name)).unwrap();
        }
        let folder = place.path().display().to_string();
        let found =
            services(Path::new("/home/u"), |name| (name == "TMUX_TMPDIR").then(|| folder.clone()));
        let theirs: Vec<_> = found.iter().filter(|path| path.starts_with(place.path())).collect();
        assert_eq!(theirs, [&place.path().join(format!("tmux-{owner}"))]);
        // A variable that names something else hides nothing.
        let found = services(Path::new("/home/u"), |_| Some(place.path().display().to_string()));
        assert!(!found.contains(&place.path().to_owned()));
    }
}
