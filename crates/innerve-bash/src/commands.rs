//! The command table: one row per program or subcommand and form of it, with the options that are known, what operands are,
//! and examples that must and must not be judged by the row.

mod archives;
pub(crate) mod builtins;
mod files;
mod git;
mod metadata;
mod packages;
mod remote;
mod search;
mod system;
mod text;
pub(crate) mod wrappers;

#[cfg(test)]
mod page;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use crate::judge::{Dynamic, Options, Parsed};
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
    /// A word that says what to do, a script, then paths that are read.
    VerbAndScriptThenRead,
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
    /// `if=` and a path that is read, `of=` and one that is written.
    InOut,
}

/// What people and tests are told about a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Examples {
    /// What makes the program write or run something, or is refused.
    pub(crate) note: &'static str,
    /// Commands that the row judges.
    pub(crate) matching: &'static [&'static str],
    /// Commands that it does not.
    pub(crate) others: &'static [&'static str],
}

impl Examples {
    pub(crate) const NONE: Self = Self { note: "", matching: &[], others: &[] };
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
    /// The options that are known, in the form that [`Options::new`] reads.
    pub(crate) options: &'static str,
    /// Whether long options may be shortened.
    pub(crate) abbreviates: bool,
    /// What operands are.
    pub(crate) operands: Operands,
    /// Whether words that are not known can harm.
    pub(crate) dynamic: Dynamic,
    /// A last word on options and operands together.
    pub(crate) check: Option<fn(&Parsed<'_>) -> bool>,
    pub(crate) examples: Examples,
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
            abbreviates: false,
            operands: Operands::Read,
            dynamic: Dynamic::Harmless,
            check: None,
            examples: Examples::NONE,
        }
    }

    /// A program that writes; its options are those listed.
    const fn writes(
        names: &'static [&'static str],
        options: &'static str,
        operands: Operands,
    ) -> Self {
        let mut program = Self::reads(names, options);
        program.class = Class::Write;
        program.effects = &[];
        program.operands = operands;
        program
    }

    /// A program that is known to have `effects`, whatever its options; there may be more.
    const fn acts(names: &'static [&'static str], effects: &'static [Effect]) -> Self {
        let mut program = Self::writes(names, "*", Operands::Text);
        program.effects = effects;
        program.complete = false;
        program
    }

    /// A program that may do anything, `effects` at least.
    const fn unknown(names: &'static [&'static str], effects: &'static [Effect]) -> Self {
        let mut program = Self::acts(names, effects);
        program.class = Class::Unknown;
        program
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

    /// There may be more effects.
    const fn incomplete(mut self) -> Self {
        self.complete = false;
        self
    }

    /// The program takes options as the GNU programs do: long ones may be shortened.
    const fn gnu(mut self) -> Self {
        self.abbreviates = true;
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

    /// Without any effect of its own; operands are no paths.
    const fn neutral(mut self) -> Self {
        self.operands = Operands::Text;
        self.only_operands()
    }

    /// Without any effect but what it does to its operands.
    const fn only_operands(mut self) -> Self {
        self.class = Class::Neutral;
        self.effects = &[];
        self
    }

    /// What makes it write or run something, for people.
    const fn note(mut self, note: &'static str) -> Self {
        self.examples.note = note;
        self
    }

    /// Commands that the row judges, and commands that it does not.
    const fn examples(
        mut self,
        matching: &'static [&'static str],
        others: &'static [&'static str],
    ) -> Self {
        self.examples.matching = matching;
        self.examples.others = others;
        self
    }
}

/// A program with subcommands.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) name: &'static str,
    /// The options that may stand before a subcommand.
    pub(crate) options: &'static str,
}

/// The rows by kind of program.
static SECTIONS: &[(&str, &[Program])] = &[
    ("Text", text::ROWS),
    ("Search", search::ROWS),
    ("Names and metadata of files", metadata::ROWS),
    ("Files", files::ROWS),
    ("Archives and compiled files", archives::ROWS),
    ("git", git::ROWS),
    ("The system", system::ROWS),
    ("Packages, builds and interpreters", packages::ROWS),
    ("Other machines", remote::ROWS),
];

const GROUPS: [&[Group]; 2] = [remote::GROUPS, packages::GROUPS];

/// A row with its options compiled, which is done when they are first needed.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) program: &'static Program,
    options: OnceLock<Options>,
}

impl Row {
    /// The options that are known.
    pub(crate) fn options(&self) -> &Options {
        self.options.get_or_init(|| Options::new(self.program.options))
    }
}

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let programs = SECTIONS.iter().copied().flat_map(|(_, rows)| rows);
    programs.map(|program| Row { program, options: OnceLock::new() }).collect()
});

static TABLE: LazyLock<HashMap<&'static str, Vec<&'static Row>>> = LazyLock::new(|| {
    let mut table: HashMap<&'static str, Vec<&'static Row>> = HashMap::new();
    for row in ROWS.iter() {
        for name in row.program.names {
            table.entry(name).or_default().push(row);
        }
    }
    table
});

static GLOBALS: LazyLock<HashMap<&'static str, Options>> = LazyLock::new(|| {
    GROUPS
        .iter()
        .copied()
        .flatten()
        .map(|group| (group.name, Options::new(group.options)))
        .collect()
});

/// The rows of a program or subcommand, in the order in which they are tried.
pub(crate) fn programs(name: &str) -> &'static [&'static Row] {
    TABLE.get(name).map_or(&[], Vec::as_slice)
}

/// The options before the subcommand of a program that has subcommands.
pub(crate) fn group(name: &str) -> Option<&'static Options> {
    GLOBALS.get(name)
}

/// Whether the table knows `name` as a program.
pub(crate) fn is_known(name: &str) -> bool {
    group(name).is_some()
        || TABLE.contains_key(name)
        || packages::VERSIONED.contains(&name)
        || builtins::builtin(name).is_some()
        || wrappers::wrapper(name).is_some()
}

/// Whether `option` alone makes a program print its version or help and nothing else.
pub(crate) fn only_prints(name: &str, option: &str) -> bool {
    let versioned = packages::VERSIONED.contains(&name);
    let known = versioned
        || programs(name)
            .iter()
            .any(|row| row.program.class <= Class::ReadOnly || row.program.complete);
    match option {
        "--version" | "--help" => known,
        "-h" => matches!(name, "git" | "cargo" | "gh" | "kubectl" | "helm" | "rg" | "fd" | "uv"),
        "-v" => matches!(name, "node" | "npm"),
        "-version" => matches!(name, "java" | "javac"),
        "-V" => {
            matches!(name, "python" | "python3" | "pip" | "pip3" | "cargo" | "rustc" | "rg" | "fd")
        }
        _ => false,
    }
}

/// Whether `--help` behind a subcommand of a program makes it print help and nothing else: not for `git`, which starts a
/// viewer for manuals, nor where the project may take the place of the program.
pub(crate) fn helps(name: &str) -> bool {
    matches!(
        name,
        "docker"
            | "podman"
            | "kubectl"
            | "gh"
            | "helm"
            | "cargo"
            | "npm"
            | "pip"
            | "pip3"
            | "uv"
            | "go"
            | "rustup"
            | "brew"
            | "systemctl"
    )
}

/// Whether a subcommand is one that comes with `cargo`: in place of others the project's configuration may name anything
/// (The Cargo Book, "Configuration", `alias`).
pub(crate) fn is_own_command_of_cargo(name: &str) -> bool {
    matches!(
        name,
        "add"
            | "bench"
            | "build"
            | "check"
            | "clean"
            | "doc"
            | "fetch"
            | "fix"
            | "generate-lockfile"
            | "info"
            | "init"
            | "install"
            | "locate-project"
            | "login"
            | "metadata"
            | "new"
            | "package"
            | "publish"
            | "remove"
            | "run"
            | "rustc"
            | "rustdoc"
            | "search"
            | "test"
            | "tree"
            | "update"
            | "vendor"
            | "version"
            | "yank"
    )
}

/// Whether a program acts on none of the variables that the shell may set for it.
pub(crate) fn ignores_environment(name: &str) -> bool {
    files::IGNORE_ENVIRONMENT.contains(&name)
}
