//! One simple command: argv, assignments, redirections, where it stands and what it does.

use crate::variables::{self, VariableKind};
use crate::{Class, EffectSet, Word};

/// Byte offsets into the analyzed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// A simple command that bash may run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Command {
    /// Where it stands in the text; for text inside a quoted `sh -c` argument, the span of that argument.
    pub span: Span,
    /// The words; empty for a command of assignments or redirections only.
    pub argv: Vec<Word>,
    /// `NAME=value` words before the name.
    pub assignments: Vec<Assignment>,
    /// Redirections of this command and of the compounds around it.
    pub redirections: Vec<Redirection>,
    /// Where it stands.
    pub context: Context,
    /// The wrappers it was peeled out of, outermost first (`["timeout"]` for the `rm` of `timeout 5 rm x`).
    pub unwrapped_from: Vec<String>,
    /// Whether it gives the exit code of the whole text, if that is known.
    pub last: bool,
    /// How much is known of it.
    pub class: Class,
    /// What it does; a lower bound when [`Self::complete`] is false.
    pub effects: EffectSet,
    /// Whether [`Self::effects`] are all there are.
    pub complete: bool,
    /// Files read: operands and redirections, relative ones joined to the simulated directory; `None` if dynamic.
    pub reads: Vec<Option<String>>,
    /// Files written, in the same form; `/dev/null` and descriptors are left out.
    pub writes: Vec<Option<String>>,
    /// Files removed, in the same form.
    pub deletes: Vec<Option<String>>,
}

impl Command {
    /// The program's name as written, when it is statically known.
    pub fn name(&self) -> Option<&str> {
        self.argv.first().and_then(Word::literal)
    }

    /// The words joined by single blanks, dynamic ones as written: the text that rule patterns are matched against.
    pub fn text(&self) -> String {
        let words: Vec<&str> = self
            .argv
            .iter()
            .map(|word| match word {
                Word::Literal(text) => text.as_str(),
                Word::Dynamic(dynamic) => dynamic.raw.as_str(),
            })
            .collect();
        words.join(" ")
    }
}

/// `NAME=value` before a command, or alone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// Its value.
    pub value: Word,
}

impl Assignment {
    /// Whether it is known to change nothing but a program's looks or language: a name such as `NO_COLOR` or `LC_ALL` with
    /// a value that is known, or a lower-case one, unless programs read it (`http_proxy`, `npm_config_registry`).
    pub fn is_inert(&self) -> bool {
        let of_programs = self.name.bytes().any(|byte| byte.is_ascii_uppercase());
        variables::kind(&self.name) == VariableKind::Inert
            && (!of_programs || self.value.literal().is_some())
    }
}

/// A redirection such as `2> log`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Redirection {
    /// What it does.
    pub kind: RedirectionKind,
    /// The file, the descriptor or the text.
    pub target: Word,
}

/// What a redirection does with its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RedirectionKind {
    /// `< file`
    Read,
    /// `> file`, `>| file`, `&> file`, `<> file`
    Write,
    /// `>> file`, `&>> file`
    Append,
    /// `2>&1`, `>&-`: another descriptor, no file.
    Duplicate,
    /// `<<< text` and here-documents: text, no file.
    Text,
}

impl RedirectionKind {
    /// Whether a file is created or changed.
    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Append)
    }
}

/// Where a command stands; the innermost place counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Context {
    /// At the top level of the text.
    Top,
    /// In `$(…)`, backticks, `<(…)` or `>(…)`.
    Substitution,
    /// In `( … )`.
    Subshell,
    /// In the body of a function, reported where it is defined.
    Function,
    /// In the body of a loop.
    Loop,
    /// In a condition or branch of `if`, `case`, or after `&&` / `||` is not one: those stay [`Context::Top`].
    Condition,
    /// Before `&`.
    Background,
}

impl Context {
    /// The stable lower-case name used in JSON; `None` at top level.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Top => None,
            Self::Substitution => Some("substitution"),
            Self::Subshell => Some("subshell"),
            Self::Function => Some("function"),
            Self::Loop => Some("loop"),
            Self::Condition => Some("condition"),
            Self::Background => Some("background"),
        }
    }
}
