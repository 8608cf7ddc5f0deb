//! The answer of the analyzer: all commands, or `Opaque`.

use crate::{Class, Command, EffectSet, OpaqueReason, Span};

/// What bash would run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "what is not looked at may do anything"]
pub enum Analysis {
    /// Every simple command that bash may run, outer and inner, in the order in which they stand.
    Commands(Commands),
    /// Not understood: anything may run.
    Opaque(Opaque),
}

/// The commands of a text that was understood in full; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commands(pub(crate) Vec<Command>);

impl Commands {
    /// The commands in the order in which they stand.
    pub fn as_slice(&self) -> &[Command] {
        &self.0
    }
}

/// A text that was not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Opaque {
    /// Why.
    pub reason: OpaqueReason,
    /// What was found all the same: useful for deny rules, never for an allow.
    pub found: Vec<Command>,
}

impl Analysis {
    /// The commands that were found; all of them only for [`Analysis::Commands`].
    pub fn commands(&self) -> &[Command] {
        match self {
            Self::Commands(commands) => commands.as_slice(),
            Self::Opaque(opaque) => &opaque.found,
        }
    }

    /// With every span where `original` says that it stood.
    pub(crate) fn moved(mut self, original: impl Fn(Span) -> Span) -> Self {
        let commands = match &mut self {
            Self::Commands(commands) => &mut commands.0,
            Self::Opaque(opaque) => {
                opaque.reason.span = original(opaque.reason.span);
                &mut opaque.found
            }
        };
        for command in commands {
            command.span = original(command.span);
        }
        self
    }

    /// The reason for not understanding, if so.
    pub fn opaque(&self) -> Option<&OpaqueReason> {
        match self {
            Self::Commands(_) => None,
            Self::Opaque(opaque) => Some(&opaque.reason),
        }
    }

    /// The worst class of the parts; neutral counts as read-only, opaque as unknown.
    pub fn class(&self) -> Class {
        match self {
            Self::Commands(commands) => {
                commands.0.iter().map(|command| command.class).fold(Class::ReadOnly, Class::max)
            }
            Self::Opaque(_) => Class::Unknown,
        }
    }

    /// The union of the effects of the parts that were found.
    pub fn effects(&self) -> EffectSet {
        self.commands().iter().fold(EffectSet::NONE, |all, command| all.union(command.effects))
    }

    /// Whether [`Self::effects`] are all there are.
    pub fn is_complete(&self) -> bool {
        match self {
            Self::Commands(commands) => commands.0.iter().all(|command| command.complete),
            Self::Opaque(_) => false,
        }
    }

    /// Whether the text may run beside other safe tool uses: read-only, and not neutral only.
    pub fn is_concurrency_safe(&self) -> bool {
        self.class() <= Class::ReadOnly
            && self.commands().iter().any(|command| command.class == Class::ReadOnly)
    }
}
