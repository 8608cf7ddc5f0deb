//! Effects: what a call does to the world, as a set.

use std::fmt;

/// One kind of effect on the world; the shell analyzer's words, owned here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Reads files or system state.
    Read,
    /// Creates or changes files.
    Write,
    /// Removes files.
    Delete,
    /// Runs code that the project holds (build scripts, tests, package scripts).
    ExecProject,
    /// Runs code that is not known.
    ExecUnknown,
    /// Talks to the network.
    Network,
    /// Reads what is likely a secret.
    Secret,
    /// Gains rights (`sudo`).
    Privilege,
    /// Changes processes, services or other system state.
    State,
}

impl Effect {
    /// Every effect, in the order in which sets are printed.
    pub const ALL: [Self; 9] = [
        Self::Read,
        Self::Write,
        Self::Delete,
        Self::ExecProject,
        Self::ExecUnknown,
        Self::Network,
        Self::Secret,
        Self::Privilege,
        Self::State,
    ];

    /// The stable lower-case name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
            Self::ExecProject => "exec_project",
            Self::ExecUnknown => "exec_unknown",
            Self::Network => "network",
            Self::Secret => "secret",
            Self::Privilege => "privilege",
            Self::State => "state",
        }
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// A set of [`Effect`]s.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct EffectSet(u16);

impl EffectSet {
    /// No effect.
    pub const NONE: Self = Self(0);

    /// The set that holds just `effects`.
    pub fn of(effects: &[Effect]) -> Self {
        effects.iter().fold(Self::NONE, |set, effect| set.with(*effect))
    }

    /// Whether `effect` is in the set.
    pub const fn contains(self, effect: Effect) -> bool {
        self.0 & effect.bit() != 0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether every effect of the set is in `other`.
    pub const fn is_subset(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// The union of both sets.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The set with `effect` added.
    #[must_use]
    pub const fn with(self, effect: Effect) -> Self {
        Self(self.0 | effect.bit())
    }

    /// The effects of the set in the order of [`Effect::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Effect> {
        Effect::ALL.into_iter().filter(move |effect| self.contains(*effect))
    }
}

impl fmt::Debug for EffectSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(feature = "bash")]
impl From<innerve_bash::EffectSet> for EffectSet {
    fn from(effects: innerve_bash::EffectSet) -> Self {
        use innerve_bash::Effect as Analyzed;
        effects.iter().fold(Self::NONE, |set, effect| {
            set.with(match effect {
                Analyzed::Read => Effect::Read,
                Analyzed::Write => Effect::Write,
                Analyzed::Delete => Effect::Delete,
                Analyzed::ExecProject => Effect::ExecProject,
                Analyzed::ExecUnknown => Effect::ExecUnknown,
                Analyzed::Network => Effect::Network,
                Analyzed::Secret => Effect::Secret,
                Analyzed::Privilege => Effect::Privilege,
                Analyzed::State => Effect::State,
            })
        })
    }
}
