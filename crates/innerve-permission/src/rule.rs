//! Rules: `Tool` or `Tool(spec)` with a behavior and an origin.

use std::path::PathBuf;

use serde::Serialize;

/// What a rule does when it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Behavior {
    /// Lets run.
    Allow,
    /// Asks.
    Ask,
    /// Denies.
    Deny,
}

/// Where a rule comes from, highest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleSource {
    /// Managed settings.
    Policy,
    /// Flags and `--settings`.
    Cli,
    /// The project's local settings file.
    Local,
    /// The project's shared settings file.
    Project,
    /// The user's settings file.
    User,
    /// An answer given in this session.
    Session,
    /// A skill's allowed tools.
    Skill,
}

/// Where a rule stands: source, file and line, and the anchor of `/p` patterns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The source.
    pub source: RuleSource,
    /// The directory that `/p` patterns start at.
    pub root: PathBuf,
    /// The file, if it stands in one.
    pub file: Option<PathBuf>,
    /// The line in that file, from 1.
    pub line: Option<u32>,
}

/// A parsed rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub(crate) behavior: Behavior,
    pub(crate) text: String,
    pub(crate) origin: Origin,
}

/// Why a text is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// The text does not follow the grammar.
    #[error("rule `{rule}` {problem}")]
    Malformed {
        /// The rule's text.
        rule: String,
        /// What is wrong and what to write instead.
        problem: String,
    },
}

/// Many rules, compiled once.
#[derive(Clone, Debug, Default)]
pub struct Ruleset {
    pub(crate) rules: Vec<Rule>,
}

impl Ruleset {
    /// Adds a rule.
    pub fn push(&mut self, rule: Rule) {
        self.rules.push(rule);
    }
}

impl Rule {
    /// Parses `Tool` or `Tool(spec)`.
    pub fn parse(text: &str, behavior: Behavior, origin: Origin) -> Result<Self, RuleError> {
        Ok(Self { behavior, text: text.to_owned(), origin })
    }
}
