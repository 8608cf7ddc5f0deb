//! What commands in the sandbox may read and change.

use std::path::{Path, PathBuf};

use innerve_builtins::sandbox::SandboxProfile;
use innerve_permission::{Layer, Policy};
use innerve_tool::port::ProcessRequest;

use super::{flags, is_of_project};

/// What in a working directory decides what runs outside of the sandbox later.
const DECIDING: &[&str] = &[".innerve", ".claude", ".mcp.json", ".git/hooks", ".git/config"];
/// What holds secrets, below the home directory.
const SECRETS: &[&str] =
    &[".ssh", ".aws", ".gnupg", ".kube/config", ".config/gh", ".netrc", ".git-credentials"];

/// Sockets of services that would do outside what a command asks them to.
const SERVICES: &[&str] = &[
    "/run/containerd",
    "/run/dbus",
    "/run/docker.sock",
    "/run/podman",
    "/run/snapd.socket",
    "/run/systemd/private",
    "/run/user",
];

/// What settings say of paths.
#[derive(Clone, Debug, Default)]
pub(super) struct Paths {
    write: Vec<PathBuf>,
    deny_write: Vec<PathBuf>,
    read: Vec<PathBuf>,
    deny_read: Vec<PathBuf>,
}

impl Paths {
    pub(super) fn of(layers: &[Layer], home: &Path) -> Self {
        let list = |pointer: &'static str, loosens: bool| {
            let pointers = flags(layers, pointer);
            pointers
                .filter(|(layer, _)| !loosens || layer.trusted || !is_of_project(layer))
                .map(|(layer, entry)| match entry.strip_prefix("~/") {
                    Some(rest) => home.join(rest),
                    None if entry == "~" => home.to_owned(),
                    None => layer.root.join(entry),
                })
                .collect()
        };
        Self {
            write: list("/sandbox/filesystem/allowWrite", true),
            deny_write: list("/sandbox/filesystem/denyWrite", false),
            read: list("/sandbox/filesystem/allowRead", true),
            deny_read: list("/sandbox/filesystem/denyRead", false),
        }
    }

    /// What a command of an agent with this policy may do with files; without the network.
    pub(super) fn profile(
        &self,
        policy: &Policy,
        request: &ProcessRequest,
        own: &[PathBuf],
    ) -> SandboxProfile {
        let mut roots = vec![policy.original_cwd.clone()];
        roots.extend(policy.additional_directories.iter().cloned());
        let mut deny_write = own.to_vec();
        deny_write.extend(self.deny_write.iter().cloned());
        for root in &roots {
            deny_write.extend(DECIDING.iter().map(|name| root.join(name)).filter(|path| {
                // A file that is not there cannot be kept from being made without making it.
                path.exists() || path.extension().is_none()
            }));
            deny_write
                .retain(|path| !path.starts_with(root.join(".git")) || root.join(".git").is_dir());
        }
        let mut write = roots.clone();
        // A worktree below `.innerve` is a place to work in.
        write.push(policy.cwd.clone());
        write.push(std::env::temp_dir());
        write.extend(self.write.iter().cloned());
        // What the shell reads first is read by commands outside, too.
        let script = request
            .env
            .iter()
            .find(|(name, _)| name == "BASH_ENV")
            .map(|(_, value)| PathBuf::from(value));
        if let Some(script) = script {
            write.extend(script.parent().map(Path::to_owned));
            deny_write.push(script);
        }
        let mut deny_read = self.deny_read.clone();
        if policy.ask_secret_reads {
            deny_read.extend(SECRETS.iter().map(|name| policy.home.join(name)));
        }
        deny_read.extend(SERVICES.iter().map(PathBuf::from));
        deny_read.extend(std::env::var_os("SSH_AUTH_SOCK").map(PathBuf::from));
        deny_read.retain(|path| !self.read.contains(path));
        SandboxProfile { write, deny_write, deny_read, network: false }
    }
}

#[cfg(test)]
mod tests {
    use innerve_permission::RuleSource;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_project_may_write_counts_only_when_it_is_trusted() {
        let lists = json!({ "sandbox": { "filesystem": { "allowWrite": ["~/x", "/y", "z"], "denyRead": ["~/.k"] } } });
        let mut layer = Layer::new(RuleSource::Project, "/repo", lists);
        layer.trusted = false;
        let paths = Paths::of(std::slice::from_ref(&layer), Path::new("/home/u"));
        assert!(paths.write.is_empty());
        assert_eq!(paths.deny_read, [Path::new("/home/u/.k")]);
        layer.trusted = true;
        let paths = Paths::of(&[layer], Path::new("/home/u"));
        assert_eq!(paths.write, [Path::new("/home/u/x"), Path::new("/y"), Path::new("/repo/z")]);
    }
}
