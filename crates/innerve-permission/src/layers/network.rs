//! What settings say of the network of commands in a sandbox.

use serde_json::Value;

use super::{Layer, SettingsWarning, setting};
use crate::RuleSource;
use crate::network::{Entry, HostPattern, NetworkPolicy};

const ALLOWED: &str = "/sandbox/network/allowedDomains";
const DENIED: &str = "/sandbox/network/deniedDomains";
const MANAGED_ONLY: &str = "/sandbox/network/allowManagedDomainsOnly";

/// The hosts that all layers together allow and deny.
pub(super) fn of(ordered: &[&Layer], warnings: &mut Vec<SettingsWarning>) -> NetworkPolicy {
    let is_managed = |layer: &Layer| layer.source == RuleSource::Policy;
    let managed_only = ordered.iter().any(|layer| is_managed(layer) && layer.flag(MANAGED_ONLY));
    let mut policy = NetworkPolicy { managed_only, ..NetworkPolicy::default() };
    for layer in ordered {
        let (denied, wrong) = entries(layer, DENIED);
        policy.denied.extend(denied);
        for (pointer, problem) in wrong {
            policy.broken = Some(setting(&pointer));
            let why =
                format!("{problem}; commands in the sandbox reach no host until it is mended");
            warnings.push(layer.warning(&pointer, why));
        }
        let (allowed, wrong) = entries(layer, ALLOWED);
        if allowed.is_empty() && wrong.is_empty() {
            continue;
        }
        if managed_only && !is_managed(layer) {
            let why = format!("`{}` is ignored: only managed ones count", setting(ALLOWED));
            warnings.push(layer.warning(ALLOWED, why));
            continue;
        }
        if !layer.may_loosen() {
            warnings.push(layer.until_trusted(ALLOWED));
            continue;
        }
        policy.allowed.extend(allowed);
        for (pointer, problem) in wrong {
            warnings.push(layer.warning(&pointer, format!("{problem}; it is left out")));
        }
    }
    policy
}

/// The entries of a list, and what of it cannot be read: where it stands and what is wrong.
fn entries(layer: &Layer, pointer: &str) -> (Vec<Entry>, Vec<(String, String)>) {
    let (mut entries, mut wrong) = (Vec::new(), Vec::new());
    let list = match layer.value.pointer(pointer) {
        None | Some(Value::Null) => return (entries, wrong),
        Some(Value::Array(list)) => list,
        Some(_) => {
            wrong.push((pointer.to_owned(), format!("`{}` is no list", setting(pointer))));
            return (entries, wrong);
        }
    };
    for (index, value) in list.iter().enumerate() {
        let parsed = match value.as_str() {
            Some(text) => HostPattern::parse(text),
            None => Err(format!("`{value}` is no text")),
        };
        match parsed {
            Ok(pattern) => {
                let name = format!("`{}` of {}", pattern.text(), setting(pointer));
                entries.push(Entry { pattern, name });
            }
            Err(problem) => {
                let problem = format!("an entry of `{}` is broken: {problem}", setting(pointer));
                wrong.push((format!("{pointer}/{index}"), problem));
            }
        }
    }
    (entries, wrong)
}
