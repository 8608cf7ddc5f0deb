//! Rules: `Tool` or `Tool(specifier)` with a behavior and an origin.

mod domain;
mod grammar;
mod name;
pub(crate) mod path;
pub(crate) mod pattern;
mod set;
pub(crate) mod spec;
pub(crate) mod tools;

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

pub(crate) use domain::DomainPattern;
pub(crate) use grammar::escape;
pub(crate) use name::NamePattern;
pub(crate) use set::{Family, Roots};
pub use set::{RuleWarning, Ruleset};
pub(crate) use spec::{CommandSpec, Spec};

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

/// A parsed rule, compiled.
///
/// Parsing is the only maker, and printing gives back a text that parses to the same rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    behavior: Behavior,
    text: String,
    origin: Origin,
    name: NamePattern,
    spec: Option<Spec>,
    /// What is odd about it, though it is a rule.
    remark: Option<String>,
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
    /// A deny rule in settings is broken: without it they would allow what they were written to forbid.
    #[error("deny rule in {place} is broken, and a lost deny rule is a hole: {problem}")]
    BrokenDeny {
        /// File and line, or the source.
        place: String,
        /// What is wrong and what to write instead.
        problem: String,
    },
}

impl RuleError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Malformed { .. } => "rule_malformed",
            Self::BrokenDeny { .. } => "rule_broken_deny",
        }
    }
}

impl Rule {
    /// Parses `Tool` or `Tool(specifier)`; blanks around it do not count.
    pub fn parse(text: &str, behavior: Behavior, origin: Origin) -> Result<Self, RuleError> {
        let text = text.trim();
        let malformed = |problem| RuleError::Malformed { rule: text.to_owned(), problem };
        let (written, specifier) = grammar::split(text).map_err(malformed)?;
        let canonical = tools::canonical(written);
        let name = NamePattern::new(canonical, behavior).map_err(malformed)?;
        let (spec, mut remark) =
            Spec::new(canonical, specifier.as_deref(), behavior, &origin).map_err(malformed)?;
        if remark.is_none() && written == "Fetch" {
            remark = Some("`Fetch` is read as `WebFetch`".to_owned());
        }
        if remark.is_none() && name.is_unknown() {
            remark = Some(format!("names no known tool `{written}`; names are case-sensitive"));
        }
        Ok(Self { behavior, text: text.to_owned(), origin, name, spec, remark })
    }

    /// What the rule does when it matches.
    pub fn behavior(&self) -> Behavior {
        self.behavior
    }

    /// Where it stands.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The tool's canonical name, or the pattern of names, that it speaks of.
    pub fn tool(&self) -> &str {
        self.name.text()
    }

    /// Whether it speaks of every call of its tools: no specifier, or `*` alone.
    pub fn is_blanket(&self) -> bool {
        self.spec.is_none()
    }

    /// What is odd about it, if anything: it names no known tool, is never consulted, or matches less than it seems to.
    pub fn remark(&self) -> Option<&str> {
        self.remark.as_deref()
    }

    pub(crate) fn name(&self) -> &NamePattern {
        &self.name
    }

    /// The rule's path pattern, if it has one.
    pub(crate) fn path(&self) -> Option<(Family, &path::PathPattern)> {
        match &self.spec {
            Some(Spec::Read(pattern)) => Some((Family::Read, pattern)),
            Some(Spec::Edit(pattern)) => Some((Family::Edit, pattern)),
            Some(
                Spec::Command(_)
                | Spec::Domain(_)
                | Spec::Agent(_)
                | Spec::Skill(_)
                | Spec::Parameter(..)
                | Spec::Unused,
            )
            | None => None,
        }
    }

    /// The rule's pattern of hosts, if it has one.
    pub(crate) fn domain(&self) -> Option<&DomainPattern> {
        match &self.spec {
            Some(Spec::Domain(pattern)) => Some(pattern),
            Some(
                Spec::Command(_)
                | Spec::Read(_)
                | Spec::Edit(_)
                | Spec::Agent(_)
                | Spec::Skill(_)
                | Spec::Parameter(..)
                | Spec::Unused,
            )
            | None => None,
        }
    }

    /// The rule's command pattern, if it has one.
    pub(crate) fn command(&self) -> Option<&CommandSpec> {
        match &self.spec {
            Some(Spec::Command(spec)) => Some(spec),
            Some(
                Spec::Read(_)
                | Spec::Edit(_)
                | Spec::Domain(_)
                | Spec::Agent(_)
                | Spec::Skill(_)
                | Spec::Parameter(..)
                | Spec::Unused,
            )
            | None => None,
        }
    }

    pub(crate) fn spec(&self) -> Option<&Spec> {
        self.spec.as_ref()
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl Origin {
    /// The origin of a rule that stands in no file: a flag or an answer.
    pub fn inline(source: RuleSource, root: impl Into<PathBuf>) -> Self {
        Self { source, root: root.into(), file: None, line: None }
    }
}

impl Behavior {
    /// The name used in settings and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl RuleSource {
    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Cli => "cli",
            Self::Local => "local",
            Self::Project => "project",
            Self::User => "user",
            Self::Session => "session",
            Self::Skill => "skill",
        }
    }
}
