//! The command table: one row per program or subcommand, with the options that are known and what operands are.

mod files;
mod git;
mod readers;
mod tools;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::judge::{Dynamic, Parsed};
use crate::{Class, Effect};

/// What the operands of a program are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operands {
    /// Not paths.
    Text,
    /// Paths whose metadata is read.
    LookAt,
    /// Paths that are read.
    Read,
    /// A pattern, unless an option gives it, then paths that are read.
    PatternThenRead,
    /// Paths that are created or changed.
    Write,
    /// A script, then paths that are read.
    ScriptThenRead,
    /// A script, unless an option gives it, then paths that are changed.
    ScriptThenWrite,
    /// A mode or an owner, then paths that are changed.
    ModeThenWrite,
    /// Paths that are removed.
    Delete,
    /// Paths that are read, then one that is written.
    Copy,
    /// Paths that are read and removed, then one that is written.
    Move,
    /// Paths that are pointed to, then one that is written.
    Link,
}

/// A program or subcommand, in one of its forms.
#[derive(Debug)]
pub(crate) struct Program {
    /// Its names; a subcommand is written behind its program.
    pub(crate) names: &'static [&'static str],
    /// The class when all options are on the list.
    pub(crate) class: Class,
    /// The effects, files aside.
    pub(crate) effects: &'static [Effect],
    /// Whether these are all effects.
    pub(crate) complete: bool,
    /// The options that are known, in the form that [`Parsed::parse`] reads; `*` for any.
    pub(crate) options: &'static str,
    /// What operands are.
    pub(crate) operands: Operands,
    /// Whether words that are not known can harm.
    pub(crate) dynamic: Dynamic,
    /// A last word on options and operands together.
    pub(crate) check: Option<fn(&Parsed<'_>) -> bool>,
}

impl Program {
    /// A program none of whose options writes or executes, and that only reads.
    const fn reads(names: &'static [&'static str], options: &'static str) -> Self {
        Self {
            names,
            class: Class::ReadOnly,
            effects: &[Effect::Read],
            complete: true,
            options,
            operands: Operands::Read,
            dynamic: Dynamic::Harmless,
            check: None,
        }
    }

    /// A program that writes; its options are those listed.
    const fn writes(
        names: &'static [&'static str],
        options: &'static str,
        operands: Operands,
    ) -> Self {
        Self {
            names,
            class: Class::Write,
            effects: &[],
            complete: true,
            options,
            operands,
            dynamic: Dynamic::Harmless,
            check: None,
        }
    }

    /// A program that is known to have `effects`, whatever its options; there may be more.
    const fn acts(names: &'static [&'static str], effects: &'static [Effect]) -> Self {
        Self {
            names,
            class: Class::Write,
            effects,
            complete: false,
            options: "*",
            operands: Operands::Text,
            dynamic: Dynamic::Harmless,
            check: None,
        }
    }

    /// With operands of another kind.
    const fn with(mut self, operands: Operands) -> Self {
        self.operands = operands;
        self
    }

    /// With other effects.
    const fn effects(mut self, effects: &'static [Effect]) -> Self {
        self.effects = effects;
        self
    }

    /// The program has options that write or execute, so words that are not known are doubtful.
    const fn careful(mut self) -> Self {
        self.dynamic = Dynamic::Doubtful;
        self
    }

    /// With a last word on options and operands.
    const fn check(mut self, check: fn(&Parsed<'_>) -> bool) -> Self {
        self.check = Some(check);
        self
    }

    /// Of another class.
    const fn class(mut self, class: Class) -> Self {
        self.class = class;
        self
    }

    /// Without any effect of its own.
    const fn neutral(mut self) -> Self {
        self.class = Class::Neutral;
        self.effects = &[];
        self.operands = Operands::Text;
        self
    }
}

static TABLE: LazyLock<HashMap<&'static str, Vec<&'static Program>>> = LazyLock::new(|| {
    let mut table: HashMap<&'static str, Vec<&'static Program>> = HashMap::new();
    for rows in [readers::ROWS, files::ROWS, git::ROWS, tools::ROWS] {
        for row in rows {
            for name in row.names {
                table.entry(name).or_default().push(row);
            }
        }
    }
    table
});

/// The rows of a program or subcommand, in the order in which they are tried.
pub(crate) fn programs(name: &str) -> &'static [&'static Program] {
    TABLE.get(name).map_or(&[], Vec::as_slice)
}

/// The options before the subcommand of a program that has subcommands.
pub(crate) fn group(name: &str) -> Option<&'static str> {
    tools::GROUPS.iter().find(|(group, _)| *group == name).map(|(_, globals)| *globals)
}

/// Whether the table knows `name` as a program.
pub(crate) fn is_known(name: &str) -> bool {
    group(name).is_some() || TABLE.contains_key(name) || tools::VERSIONED.contains(&name)
}

/// Whether `option` alone makes a program print its version or help and nothing else.
pub(crate) fn only_prints(name: &str, option: &str) -> bool {
    let known = !programs(name).is_empty() || tools::VERSIONED.contains(&name);
    match option {
        "--version" => known,
        "--help" => known && name != "git",
        "-v" => matches!(name, "node" | "npm" | "yarn" | "pnpm"),
        "-V" => matches!(name, "python" | "python3" | "pip" | "pip3" | "cargo" | "rustc"),
        _ => false,
    }
}

/// Whether a program acts on none of the variables that the shell may set for it.
pub(crate) fn ignores_environment(name: &str) -> bool {
    files::IGNORE_ENVIRONMENT.contains(&name)
}
