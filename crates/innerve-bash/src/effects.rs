//! What a command does to the world: [`Class`], one [`Effect`] and a set of them.

/// How much is known about a command, ordered from harmless to unknown; the class of a whole is the maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Has no effect of its own (`echo`, `true`).
    Neutral,
    /// Only reads.
    ReadOnly,
    /// Known to write, delete, change state or run known programs.
    Write,
    /// Not known, hence everything is possible.
    Unknown,
}

impl Class {
    /// The stable lower-case name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Neutral => "neutral",
            Self::ReadOnly => "read_only",
            Self::Write => "write",
            Self::Unknown => "unknown",
        }
    }
}

/// One kind of effect on the world outside the shell.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct EffectSet(u16);

impl EffectSet {
    /// No effect.
    pub const NONE: Self = Self(0);

    /// The set that holds just `effects`.
    pub const fn of(effects: &[Effect]) -> Self {
        let mut bits = 0;
        let mut rest = effects;
        while let [first, tail @ ..] = rest {
            bits |= first.bit();
            rest = tail;
        }
        Self(bits)
    }

    /// Whether `effect` is in the set.
    pub const fn contains(self, effect: Effect) -> bool {
        self.0 & effect.bit() != 0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
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
