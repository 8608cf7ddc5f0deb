//! Masked credentials that some hosts get all the same: whether settings have TLS end in the proxy for it, and what commands
//! need to know of that.

use std::io;
use std::sync::Arc;

use innerve_builtins::sandbox::{Interception, MaskedCredential, Masking};
use innerve_permission::{HostPattern, Layer};
use serde_json::Value;

use super::credentials::Masked;
use super::is_of_project;
use super::workplace::Workplace;

/// Whether TLS ends in the proxy (Claude Code settings reference, `sandbox.network.tlsTerminate`).
const TERMINATE: &str = "/sandbox/network/tlsTerminate";
/// Whether a credential may be in requests without TLS (the same, `sandbox.credentials.allowPlaintextInject`).
const PLAINTEXT: &str = "/sandbox/credentials/allowPlaintextInject";

/// What puts masked credentials into requests.
#[derive(Clone, Debug)]
pub(super) struct Injection {
    interception: Arc<Interception>,
    /// By which commands find whom to trust.
    variables: Vec<(String, String)>,
}

impl Injection {
    /// What the layers want of these credentials, and what of it is odd; `workplace` holds what commands trust.
    pub(super) fn of(
        layers: &[Layer],
        masked: Vec<Masked>,
        workplace: &Workplace,
    ) -> (Option<Self>, Vec<String>) {
        let mut warnings = Vec::new();
        // A project could have the connections of its commands looked into.
        let own = || layers.iter().filter(|layer| !is_of_project(layer));
        let terminates = own().find_map(|layer| layer.value.pointer(TERMINATE));
        let terminates = match terminates {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::Object(said)) => {
                if said.contains_key("caCertPath") || said.contains_key("caKeyPath") {
                    warnings.push(
                        "`sandbox.network.tlsTerminate` names certificates, which are left alone: each session makes an \
                         authority of its own"
                            .to_owned(),
                    );
                }
                true
            }
            Some(Value::Bool(true) | Value::Number(_) | Value::String(_) | Value::Array(_)) => true,
        };
        if masked.is_empty() {
            return (None, warnings);
        }
        if !terminates {
            warnings.push(
                "no host gets the credentials that `sandbox.credentials` masks: for that, TLS has to end in the sandbox's \
                 proxy, by `\"tlsTerminate\": {}` below `sandbox.network` in your own settings"
                    .to_owned(),
            );
            return (None, warnings);
        }
        let credentials: Vec<MaskedCredential> =
            masked.into_iter().map(|masked| credential(masked, &mut warnings)).collect();
        let said = own().find_map(|layer| layer.value.pointer(PLAINTEXT)?.as_bool());
        let masking = Masking { credentials, allows_plaintext: said == Some(true) };
        match Self::new(masking, workplace) {
            Ok(injection) => (Some(injection), warnings),
            Err(error) => {
                warnings.push(format!("no host gets masked credentials: {error}"));
                (None, warnings)
            }
        }
    }

    fn new(masking: Masking, workplace: &Workplace) -> io::Result<Self> {
        let interception = Interception::new(masking)?;
        let folder = workplace.folder("trusted")?;
        let variables = interception.introduce(&folder, |name| std::env::var(name).ok())?;
        Ok(Self { interception: Arc::new(interception), variables })
    }

    pub(super) fn interception(&self) -> Arc<Interception> {
        Arc::clone(&self.interception)
    }

    /// What commands that reach the proxy have in their environment.
    pub(super) fn variables(&self) -> impl Iterator<Item = (String, String)> {
        self.variables.iter().cloned()
    }
}

/// The credential, for the hosts that are named as they should be.
fn credential(masked: Masked, warnings: &mut Vec<String>) -> MaskedCredential {
    let Masked { placeholder, value, hosts } = masked;
    if hosts.is_empty() {
        warnings.push(
            "a masked credential of `sandbox.credentials` is for no host: name those that may have it in its `injectHosts`"
                .to_owned(),
        );
    }
    let mut patterns = Vec::new();
    for host in hosts {
        match HostPattern::parse(&host) {
            Ok(pattern) => patterns.push(pattern),
            Err(why) => {
                warnings.push(format!("`injectHosts` of `sandbox.credentials`: {why}"));
            }
        }
    }
    MaskedCredential::new(placeholder, &value, patterns)
}

#[cfg(test)]
mod tests {
    use innerve_permission::RuleSource;
    use serde_json::json;

    use super::*;

    /// Whether credentials are put in, and the warnings.
    fn told(source: RuleSource, sandbox: &Value, hosts: &[&str]) -> (bool, Vec<String>) {
        let state = tempfile::tempdir().unwrap();
        let masked = Masked {
            placeholder: "innerve-masked-x".to_owned(),
            value: "v".to_owned(),
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        };
        let layer = Layer::new(source, "/repo", json!({ "sandbox": sandbox }));
        let (injection, warnings) =
            Injection::of(&[layer], vec![masked], &Workplace::below(state.path()));
        (injection.is_some(), warnings)
    }

    #[test]
    fn tls_ends_only_where_the_persons_own_settings_say_so() {
        let on = json!({ "network": { "tlsTerminate": {} } });
        assert_eq!(told(RuleSource::User, &on, &["a.example"]), (true, Vec::new()));
        assert_eq!(told(RuleSource::Policy, &on, &["a.example"]), (true, Vec::new()));
        for off in [
            told(RuleSource::Project, &on, &["a.example"]),
            told(RuleSource::Local, &on, &["a.example"]),
            told(
                RuleSource::User,
                &json!({ "network": { "tlsTerminate": false } }),
                &["a.example"],
            ),
            told(RuleSource::User, &json!({}), &["a.example"]),
        ] {
            let (is_on, warnings) = off;
            assert!(
                !is_on && warnings.len() == 1 && warnings[0].contains("tlsTerminate"),
                "{warnings:?}"
            );
        }
    }

    #[test]
    fn what_reaches_nobody_is_told() {
        let on = json!({ "network": { "tlsTerminate": {} } });
        let (is_on, warnings) = told(RuleSource::User, &on, &[]);
        assert!(
            is_on && warnings.len() == 1 && warnings[0].contains("injectHosts"),
            "{warnings:?}"
        );
        let (_, warnings) = told(RuleSource::User, &on, &["https://a.example/"]);
        assert!(warnings.len() == 1 && warnings[0].contains("https://a.example/"), "{warnings:?}");
        let named =
            json!({ "network": { "tlsTerminate": { "caCertPath": "/x", "caKeyPath": "/y" } } });
        let (is_on, warnings) = told(RuleSource::User, &named, &["a.example"]);
        assert!(is_on && warnings.len() == 1, "{warnings:?}");
    }
}
