//! The wording of reasons.

use crate::{Behavior, Reason, ReasonKind, Rule};

/// A reason without a rule.
pub(super) fn reason(kind: ReasonKind, code: &str, message: impl Into<String>) -> Reason {
    Reason {
        kind,
        rule: None,
        source: None,
        file: None,
        line: None,
        code: code.to_owned(),
        message: message.into(),
    }
}

/// How sure it is that a rule speaks of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    Certain,
    Possible,
    /// It may speak of what lies in a directory that is read as a whole.
    Within,
}

/// A reason that names the rule which decided.
pub(super) fn by_rule(rule: &Rule, certainty: Certainty) -> Reason {
    let verb = match rule.behavior() {
        Behavior::Allow => "allowed",
        Behavior::Ask => "asked about",
        Behavior::Deny => "denied",
    };
    let name = rule.behavior().name();
    let source = rule.origin().source.name();
    let certain = format!("{name}_rule");
    let possible = format!("{name}_rule_possible");
    let (code, message) = match certainty {
        Certainty::Certain => (certain, format!("{verb} by the {source} rule `{rule}`")),
        Certainty::Possible => (
            possible,
            format!(
                "the {source} rule `{rule}` may speak of it, and what it does is not known for certain"
            ),
        ),
        Certainty::Within => (
            possible,
            format!(
                "the {source} rule `{rule}` may speak of a file in a directory that is read as a whole; search tools leave such files out"
            ),
        ),
    };
    Reason {
        kind: ReasonKind::Rule,
        rule: Some(rule.text().to_owned()),
        source: Some(source.to_owned()),
        file: rule.origin().file.as_ref().map(|file| file.display().to_string()),
        line: rule.origin().line,
        code,
        message,
    }
}
