//! Which hosts commands in a sandbox reach: what settings and `WebFetch` rules say of it together, and the judgement of one
//! host.

mod host;

use core::net::IpAddr;

use crate::{Behavior, RuleSource, Ruleset};
pub use host::{Host, HostPattern};

/// Which hosts commands in a sandbox reach; by default none.
///
/// Made by [`crate::merge`] from what settings say below `sandbox.network`; [`NetworkPolicy::with_rules`] adds what rules
/// say. A host is reached when an entry allows it and none denies it; nobody is asked in the middle of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkPolicy {
    pub(crate) allowed: Vec<Entry>,
    pub(crate) denied: Vec<Entry>,
    /// What should deny something and cannot be read, so that everything is denied.
    pub(crate) broken: Option<String>,
    /// Whether managed settings alone allow hosts.
    pub(crate) managed_only: bool,
}

/// A pattern and where it stands, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) pattern: HostPattern,
    pub(crate) name: String,
}

/// How exactly an entry names the host that it allows, from the vaguest.
///
/// What a name resolves to is the choice of whoever answers for it, so that a vague entry should not lead to what is near.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Specificity {
    /// As any host: a lone `*`.
    Any,
    /// By a pattern, such as `*.example.com`.
    Pattern,
    /// By its name.
    Name,
    /// By its address.
    Address,
}

/// A host that may be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHost {
    /// The host in canonical form.
    pub host: Host,
    /// How exactly the best entry that allows it names it.
    pub specificity: Specificity,
}

/// Why a host is not reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostRefusal {
    /// The text is no host in canonical form.
    #[error("it is no host name and no address in its usual form")]
    Malformed,
    /// Nothing allows it.
    #[error("no entry of sandbox.network.allowedDomains names it")]
    NotAllowed,
    /// An entry denies it.
    #[error("{0} denies it")]
    Denied(String),
    /// An entry that should deny something cannot be read.
    #[error("{0} is broken, and what it should deny is not known")]
    Broken(String),
}

impl HostRefusal {
    /// A stable name of the kind of refusal, for machines.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Malformed => "host_malformed",
            Self::NotAllowed => "host_not_allowed",
            Self::Denied(_) => "host_denied",
            Self::Broken(_) => "host_rule_broken",
        }
    }
}

impl NetworkPolicy {
    /// This policy with what the `WebFetch(domain:…)` rules allow and deny.
    ///
    /// A rule about every call of `WebFetch` speaks of the tool and not of hosts, and an ask rule has no say: in the middle
    /// of a command nobody can be asked.
    #[must_use]
    pub fn with_rules(mut self, rules: &Ruleset) -> Self {
        for rule in rules.rules().iter().filter(|rule| rule.tool() == "WebFetch") {
            let pattern = match rule.domain() {
                Some(domain) => HostPattern::parse(domain.text()),
                // It is read as a rule about every call.
                None if rule.is_blanket() && rule.text().contains("domain:") => {
                    Ok(HostPattern::any())
                }
                None => continue,
            };
            let name = format!("the {} rule `{rule}`", rule.behavior().name());
            let is_allowed = !self.managed_only || rule.origin().source == RuleSource::Policy;
            match (rule.behavior(), pattern) {
                (Behavior::Deny, Ok(pattern)) => self.denied.push(Entry { pattern, name }),
                (Behavior::Deny, Err(_)) => self.broken = Some(name),
                (Behavior::Allow, Ok(pattern)) if is_allowed => {
                    self.allowed.push(Entry { pattern, name });
                }
                (Behavior::Allow | Behavior::Ask, _) => {}
            }
        }
        self
    }

    /// Whether managed settings alone say what may be reached.
    pub fn is_managed(&self) -> bool {
        self.managed_only
    }

    /// Whether no host at all may be reached.
    pub fn is_closed(&self) -> bool {
        self.allowed.is_empty() || self.broken.is_some()
    }

    /// The entries that allow hosts, as they were written.
    pub fn allowed(&self) -> impl Iterator<Item = &str> {
        self.allowed.iter().map(|entry| entry.pattern.text())
    }

    /// Whether a command may reach `host` at `port`, `host` being what it asked for byte for byte.
    pub fn judge(&self, host: &str, port: u16) -> Result<AllowedHost, HostRefusal> {
        let host = Host::parse(host).ok_or(HostRefusal::Malformed)?;
        if let Some(name) = &self.broken {
            return Err(HostRefusal::Broken(name.clone()));
        }
        if let Some(entry) = self.denied.iter().find(|entry| entry.pattern.covers(&host, port)) {
            return Err(HostRefusal::Denied(entry.name.clone()));
        }
        let best = self.allowed.iter().filter_map(|entry| entry.pattern.allows(&host, port)).max();
        let specificity = best.ok_or(HostRefusal::NotAllowed)?;
        Ok(AllowedHost { host, specificity })
    }

    /// The entry that denies this address, whatever name led to it.
    pub fn denies_address(&self, address: IpAddr, port: u16) -> Option<&str> {
        let host = Host::Address(address.to_canonical());
        let entry = self.denied.iter().find(|entry| entry.pattern.covers(&host, port))?;
        Some(&entry.name)
    }
}

#[cfg(test)]
mod tests;
