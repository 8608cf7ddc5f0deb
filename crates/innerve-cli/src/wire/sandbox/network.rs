//! What commands in the sandbox reach: hosts, a person's own proxies, and sockets of services.

use std::path::{Path, PathBuf};

use innerve_builtins::sandbox::{Egress, Network, Proxies, Proxy, SandboxProfile};
use innerve_permission::{Layer, NetworkPolicy, Ruleset};
use serde_json::Value;

use super::injection::Injection;
use super::{flags, is_of_project};

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
/// Settings that are known and do nothing here; what they would do.
const UNSUPPORTED: &[(&str, &str)] = &[(
    "/sandbox/enableWeakerNestedSandbox",
    "a sandbox that sees the processes outside of it could be left through them; give the container the right to make \
         namespaces instead",
)];

/// What settings say of the network.
#[derive(Clone, Debug)]
pub(super) struct Reach {
    policy: NetworkPolicy,
    http_proxy: Option<u16>,
    socks_proxy: Option<u16>,
    sockets: Sockets,
    proxies: Proxies,
    injection: Option<Injection>,
}

/// The services that commands may talk to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Sockets {
    All,
    These(Vec<PathBuf>),
}

impl Reach {
    /// What the layers say, and what of it is odd; `policy` is what they say of hosts.
    pub(super) fn of(
        layers: &[Layer],
        policy: NetworkPolicy,
        home: &Path,
        state: &Path,
    ) -> (Self, Vec<String>) {
        let mut warnings = Vec::new();
        for (pointer, why) in UNSUPPORTED {
            let values = layers.iter().filter_map(|layer| layer.value.pointer(pointer));
            if values.into_iter().any(|value| !matches!(value, Value::Null | Value::Bool(false))) {
                warnings.push(format!("`{}` is not supported: {why}", setting(pointer)));
            }
        }
        let mut port = |pointer| own_port(layers, pointer, &mut warnings);
        let http_proxy = port("/sandbox/network/httpProxyPort");
        let socks_proxy = port("/sandbox/network/socksProxyPort");
        let reach = Self {
            policy,
            http_proxy,
            socks_proxy,
            sockets: Sockets::of(layers, home),
            proxies: Proxies::new(state.join("network")),
            injection: None,
        };
        (reach, warnings)
    }

    /// Has masked credentials put into requests.
    pub(super) fn with_injection(mut self, injection: Injection) -> Self {
        self.proxies = self.proxies.with_interception(injection.interception());
        self.injection = Some(injection);
        self
    }

    /// What commands that reach something have in their environment, beside the way to the proxy.
    pub(super) fn variables(&self) -> impl Iterator<Item = (String, String)> {
        self.injection.iter().flat_map(Injection::variables)
    }

    /// Whether settings name something beyond the sandbox's own loopback.
    pub(super) fn is_closed(&self) -> bool {
        self.egress(&Ruleset::default()).is_closed()
    }

    fn egress(&self, rules: &Ruleset) -> Egress {
        Egress {
            policy: self.policy.clone().with_rules(rules),
            http_proxy: self.http_proxy,
            socks_proxy: self.socks_proxy,
        }
    }

    /// What is reached, in words; `None` if nothing is.
    pub(super) fn words(&self, rules: &Ruleset) -> Option<String> {
        const SHOWN: usize = 8;
        let egress = self.egress(rules);
        let mut reached: Vec<String> =
            egress.policy.allowed().take(SHOWN).map(str::to_owned).collect();
        let more = egress.policy.allowed().count().saturating_sub(SHOWN);
        if more > 0 {
            reached.push(format!("{more} more"));
        }
        if egress.policy.is_closed() {
            reached.clear();
        }
        for (kind, port) in [("HTTP", egress.http_proxy), ("SOCKS", egress.socks_proxy)] {
            reached.extend(
                port.map(|port| format!("what the {kind} proxy at port {port} lets through")),
            );
        }
        (!reached.is_empty()).then(|| reached.join(", "))
    }

    /// Puts into a profile what one command reaches, by these rules too; the proxy runs as long as it is kept.
    pub(super) fn grant(
        &self,
        profile: &mut SandboxProfile,
        rules: &Ruleset,
    ) -> std::io::Result<Option<Proxy>> {
        self.sockets.apply(&mut profile.deny_read, &mut profile.allow_read);
        // The ways of other commands.
        profile.deny_read.push(self.proxies.folder()?.to_owned());
        let egress = self.egress(rules);
        if egress.is_closed() {
            return Ok(None);
        }
        let proxy = self.proxies.start(egress)?;
        profile.network = Network::Through(proxy.folder().to_owned());
        Ok(Some(proxy))
    }

    /// Puts into a profile what a command without a network reaches.
    pub(super) fn withhold(&self, profile: &mut SandboxProfile) {
        self.sockets.apply(&mut profile.deny_read, &mut profile.allow_read);
    }
}

impl Sockets {
    fn of(layers: &[Layer], home: &Path) -> Self {
        let loosening = || layers.iter().filter(|layer| layer.trusted || !is_of_project(layer));
        let all = "/sandbox/network/allowAllUnixSockets";
        // The highest layer that says it and may.
        let said = loosening().find_map(|layer| layer.value.pointer(all)?.as_bool());
        if said == Some(true) {
            return Self::All;
        }
        let named = flags(layers, "/sandbox/network/allowUnixSockets")
            .filter(|(layer, _)| layer.trusted || !is_of_project(layer));
        let paths = named.map(|(layer, entry)| match entry.strip_prefix("~/") {
            Some(rest) => home.join(rest),
            None => layer.root.join(entry),
        });
        Self::These(paths.map(|path| path.canonicalize().unwrap_or(path)).collect())
    }

    /// Hides the services that are not allowed, and leaves open in them what is.
    fn apply(&self, deny_read: &mut Vec<PathBuf>, allow_read: &mut Vec<PathBuf>) {
        let Self::These(allowed) = self else { return };
        let agent = std::env::var_os("SSH_AUTH_SOCK").map(PathBuf::from);
        let services = SERVICES.iter().map(PathBuf::from).chain(agent);
        let is_open = |service: &PathBuf| {
            let real = service.canonicalize().unwrap_or_else(|_| service.clone());
            allow_read.contains(service) || allowed.iter().any(|path| real.starts_with(path))
        };
        deny_read.extend(services.filter(|service| !is_open(service)));
        allow_read.extend(allowed.iter().cloned());
    }
}

/// The port of a person's own proxy; a project's files name none before they are trusted.
fn own_port(layers: &[Layer], pointer: &str, warnings: &mut Vec<String>) -> Option<u16> {
    let mut said = layers
        .iter()
        .filter(|layer| layer.trusted || !is_of_project(layer))
        .filter_map(|layer| layer.value.pointer(pointer))
        .filter(|value| !value.is_null());
    let value = said.next()?;
    let port = value.as_u64().and_then(|port| u16::try_from(port).ok()).filter(|port| *port != 0);
    if port.is_none() {
        warnings.push(format!("`{}` is left out: it is no port", setting(pointer)));
    }
    port
}

fn setting(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}
