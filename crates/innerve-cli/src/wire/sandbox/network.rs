//! What commands in the sandbox reach: hosts, a person's own proxies, and services.

use std::path::{Path, PathBuf};

use innerve_builtins::sandbox::{Egress, Network, Proxies, Proxy, SandboxProfile};
use innerve_permission::{Layer, NetworkPolicy, RuleSource, Ruleset};
use serde_json::Value;

use super::injection::Injection;
use super::is_of_project;
use super::sockets::Sockets;

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
    home: PathBuf,
    proxies: Proxies,
    injection: Option<Injection>,
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
        let mut ordered = layers.to_vec();
        ordered.sort_by_key(|layer| layer.source);
        for (pointer, why) in UNSUPPORTED {
            let values = layers.iter().filter_map(|layer| layer.value.pointer(pointer));
            if values.into_iter().any(|value| !matches!(value, Value::Null | Value::Bool(false))) {
                warnings.push(format!("`{}` is not supported: {why}", setting(pointer)));
            }
        }
        let managed = policy.is_managed();
        let mut port = |pointer| own_port(&ordered, managed, pointer, &mut warnings);
        let http_proxy = port("/sandbox/network/httpProxyPort");
        let socks_proxy = port("/sandbox/network/socksProxyPort");
        let reach = Self {
            policy,
            http_proxy,
            socks_proxy,
            sockets: Sockets::of(&ordered, home),
            home: home.to_owned(),
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
        self.sockets.apply(profile, &self.home);
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
        self.sockets.apply(profile, &self.home);
    }
}

/// The port of a person's own proxy, as the highest layer says; a project's files name none before they are trusted, and
/// nobody but managed settings where those alone say what is reached.
fn own_port(
    ordered: &[Layer],
    managed: bool,
    pointer: &str,
    warnings: &mut Vec<String>,
) -> Option<u16> {
    let mut said = ordered
        .iter()
        .filter(|layer| layer.trusted || !is_of_project(layer))
        .filter(|layer| !managed || layer.source == RuleSource::Policy)
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

#[cfg(test)]
mod tests {
    use innerve_permission::merge;
    use serde_json::json;

    use super::*;

    /// What these layers reach, in words, and the warnings.
    fn reach(layers: &[(RuleSource, bool, Value)]) -> (Option<String>, Vec<String>) {
        let layers: Vec<Layer> = layers
            .iter()
            .map(|(source, trusted, network)| Layer {
                trusted: *trusted,
                ..Layer::new(*source, "/repo", json!({ "sandbox": { "network": network } }))
            })
            .collect();
        let network = merge(&layers).unwrap().network;
        let state = tempfile::tempdir().unwrap();
        let (reach, warnings) = Reach::of(&layers, network, Path::new("/home/u"), state.path());
        let words = reach.words(&Ruleset::default());
        assert_eq!(words.is_none(), reach.is_closed());
        (words, warnings)
    }

    #[test]
    fn a_proxy_of_ones_own_counts_where_it_may() {
        let port = json!({ "httpProxyPort": 8080 });
        let named = Some("what the HTTP proxy at port 8080 lets through".to_owned());
        assert_eq!(reach(&[(RuleSource::User, true, port.clone())]).0, named);
        assert_eq!(reach(&[(RuleSource::Project, true, port.clone())]).0, named);
        assert_eq!(reach(&[(RuleSource::Project, false, port.clone())]).0, None);
        let higher = (RuleSource::Cli, true, json!({ "httpProxyPort": 8080 }));
        let lower = (RuleSource::User, true, json!({ "httpProxyPort": 9090 }));
        assert_eq!(reach(&[lower, higher]).0, named, "the highest layer decides");
        for managed in [json!(true), json!("yes")] {
            let only =
                json!({ "allowManagedDomainsOnly": managed, "allowedDomains": ["a.example"] });
            let layers = [(RuleSource::Policy, true, only), (RuleSource::User, true, port.clone())];
            assert_eq!(reach(&layers).0.as_deref(), Some("a.example"));
        }
        for broken in [json!(0), json!(65536), json!("8080"), json!(-1), json!(1.5)] {
            let settings = json!({ "socksProxyPort": broken });
            let (words, warnings) = reach(&[(RuleSource::User, true, settings)]);
            assert!(words.is_none() && warnings[0].contains("it is no port"), "{broken}");
        }
    }

    #[test]
    fn what_is_reached_is_told_in_short() {
        let many: Vec<String> = (0..10).map(|number| format!("{number}.example")).collect();
        let (words, _) = reach(&[(RuleSource::User, true, json!({ "allowedDomains": many }))]);
        assert!(words.unwrap().ends_with("7.example, 2 more"));
        let closed = json!({ "allowedDomains": ["a.example"], "deniedDomains": ["http://x"] });
        assert_eq!(reach(&[(RuleSource::User, true, closed)]).0, None);
    }
}
