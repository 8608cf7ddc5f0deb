//! The codes of findings, which never change their meaning.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::Behavior;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The rule is of no use, or wider or narrower than it looks.
    Warning,
    /// It allows what nobody can have meant, or protects nothing.
    Error,
}

/// What is wrong with a rule; the names are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LintCode {
    /// The entry is no rule.
    Malformed,
    /// It names a tool that does not exist.
    UnknownTool,
    /// Nothing is ever held against its specifier.
    NeverConsulted,
    /// No call can match it.
    NeverMatches,
    /// What it allows is asked about all the same: a protected or critical path.
    NeverWins,
    /// A deny or ask rule speaks of all that it speaks of.
    Shadowed,
    /// The same rule stands in the file before it.
    Duplicate,
    /// A wider rule of the same file says it already.
    Redundant,
    /// It allows any command or any code.
    ArbitraryExecution,
    /// It allows to run whatever the project holds at the time.
    ProjectExecution,
    /// Options of the program write, send or run more than the rule shows.
    UnsafePrefix,
    /// Programs that run other programs are never allowed by a prefix.
    PrefixNotHonoured,
    /// Its star looks like a part of a path, and stands for other words too.
    StarSpansWords,
    /// Its star stands directly after a word, so that longer words match too.
    NoWordBoundary,
    /// It holds a shell operator: allow rules speak of one command, deny and ask rules of the whole line then.
    SpansOperators,
    /// It fixes the order of options, which the caller is free to change.
    OptionOrder,
    /// `:*` before its end is literal text.
    LiteralColon,
    /// `script:*` means the script and its arguments, not scripts whose names begin so.
    ScriptColon,
    /// `/x` starts at the directory of the settings, not at the root of the file system.
    SettingsRelativePath,
    /// `./x` speaks of the current directory only.
    OnlyInCwd,
    /// Variables are literal text in paths.
    VariableInPath,
    /// It counts as a rule about `Read` or `Edit`, for every tool.
    CountsAs,
    /// It uses the old name of a tool.
    Renamed,
    /// It allows to change files anywhere.
    AnyFile,
}

impl LintCode {
    /// All codes.
    pub const ALL: &[Self] = &[
        Self::Malformed,
        Self::UnknownTool,
        Self::NeverConsulted,
        Self::NeverMatches,
        Self::NeverWins,
        Self::Shadowed,
        Self::Duplicate,
        Self::Redundant,
        Self::ArbitraryExecution,
        Self::ProjectExecution,
        Self::UnsafePrefix,
        Self::PrefixNotHonoured,
        Self::StarSpansWords,
        Self::NoWordBoundary,
        Self::SpansOperators,
        Self::OptionOrder,
        Self::LiteralColon,
        Self::ScriptColon,
        Self::SettingsRelativePath,
        Self::OnlyInCwd,
        Self::VariableInPath,
        Self::CountsAs,
        Self::Renamed,
        Self::AnyFile,
    ];

    /// The code's stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::UnknownTool => "unknown_tool",
            Self::NeverConsulted => "never_consulted",
            Self::NeverMatches => "never_matches",
            Self::NeverWins => "never_wins",
            Self::Shadowed => "shadowed",
            Self::Duplicate => "duplicate",
            Self::Redundant => "redundant",
            Self::ArbitraryExecution => "arbitrary_execution",
            Self::ProjectExecution => "project_execution",
            Self::UnsafePrefix => "unsafe_prefix",
            Self::PrefixNotHonoured => "prefix_not_honoured",
            Self::StarSpansWords => "star_spans_words",
            Self::NoWordBoundary => "no_word_boundary",
            Self::SpansOperators => "spans_operators",
            Self::OptionOrder => "option_order",
            Self::LiteralColon => "literal_colon",
            Self::ScriptColon => "script_colon",
            Self::SettingsRelativePath => "settings_relative_path",
            Self::OnlyInCwd => "only_in_cwd",
            Self::VariableInPath => "variable_in_path",
            Self::CountsAs => "counts_as",
            Self::Renamed => "renamed",
            Self::AnyFile => "any_file",
        }
    }

    /// How bad it is in a rule of this behavior: an allow rule without effect only wastes a line, a deny rule without
    /// effect is a hole.
    pub fn severity(self, behavior: Behavior) -> Severity {
        let protects = behavior != Behavior::Allow;
        match self {
            Self::Malformed | Self::ArbitraryExecution => Severity::Error,
            Self::UnknownTool
            | Self::NeverConsulted
            | Self::NeverMatches
            | Self::LiteralColon
            | Self::SettingsRelativePath
            | Self::VariableInPath
                if protects =>
            {
                Severity::Error
            }
            Self::UnknownTool
            | Self::NeverConsulted
            | Self::NeverMatches
            | Self::NeverWins
            | Self::Shadowed
            | Self::Duplicate
            | Self::Redundant
            | Self::ProjectExecution
            | Self::UnsafePrefix
            | Self::PrefixNotHonoured
            | Self::StarSpansWords
            | Self::NoWordBoundary
            | Self::SpansOperators
            | Self::OptionOrder
            | Self::LiteralColon
            | Self::ScriptColon
            | Self::SettingsRelativePath
            | Self::OnlyInCwd
            | Self::VariableInPath
            | Self::CountsAs
            | Self::Renamed
            | Self::AnyFile => Severity::Warning,
        }
    }
}

impl Severity {
    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for LintCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl Serialize for LintCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
