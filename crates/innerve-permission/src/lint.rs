//! Finds rules that do not do what they seem to: those that can never win, protect nothing, or allow anything.
//!
//! Where it can, it does not judge by a rule's text but makes calls that the rule speaks of and asks [`crate::resolve`]
//! what becomes of them, so that it cannot disagree with the engine.

mod code;
mod commands;
mod paths;
mod sample;
mod shell;
mod together;

use std::path::Path;

use serde_json::Value;

use crate::rule::{Spec, tools};
use crate::{Behavior, Layer, Origin, PermissionMode, Policy, Rule, Ruleset};

pub use code::{LintCode, Severity};
use sample::Bench;
pub(crate) use shell::{is_unsafe, runs_what_follows};

/// Something about a rule that its author should know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What kind of thing.
    pub code: LintCode,
    /// How bad it is.
    pub severity: Severity,
    /// What the rule does when it matches.
    pub behavior: Behavior,
    /// The rule's text.
    pub rule: String,
    /// Where it stands.
    pub origin: Origin,
    /// What is wrong with it, as the rest of a sentence that begins with the rule.
    pub message: String,
    /// Rules to write in its place; words in capitals are to be filled in. Empty where it only has to go.
    pub instead: Vec<String>,
}

/// What is wrong with a rule, before it is known which.
#[derive(Debug)]
struct Fault {
    code: LintCode,
    message: String,
    instead: Vec<String>,
}

impl Fault {
    fn new(code: LintCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), instead: Vec::new() }
    }

    fn instead(mut self, rules: impl IntoIterator<Item = String>) -> Self {
        self.instead.extend(rules);
        self
    }

    fn of(self, rule: &Rule) -> Finding {
        Finding {
            code: self.code,
            severity: self.code.severity(rule.behavior()),
            behavior: rule.behavior(),
            rule: rule.text().to_owned(),
            origin: rule.origin().clone(),
            message: self.message,
            instead: self.instead,
        }
    }
}

/// Finds what is wrong with the rules of a policy, in their order.
///
/// The mode and whether somebody can be asked do not matter. Without the feature `bash` nothing is found that needs a
/// shell command to be read.
pub fn lint(policy: &Policy) -> Vec<Finding> {
    let mut policy = policy.clone();
    policy.mode = PermissionMode::Default;
    policy.headless = false;
    let bench = Bench::new(&policy);
    let mut findings = Vec::new();
    for (index, rule) in policy.rules.rules().iter().enumerate() {
        let mut faults = of_one(&bench, rule);
        faults.extend(together::faults(&bench, rule, index));
        findings.extend(faults.into_iter().map(|fault| fault.of(rule)));
    }
    findings
}

/// As [`lint`] for settings as they were read: entries that are no rules are found too, and whether the workspace is
/// trusted does not matter.
pub fn lint_layers(layers: &[Layer], cwd: &Path, home: &Path) -> Vec<Finding> {
    let mut rules = Ruleset::default();
    let mut findings = Vec::new();
    for layer in layers {
        for behavior in [Behavior::Deny, Behavior::Ask, Behavior::Allow] {
            read_list(layer, behavior, &mut rules, &mut findings);
        }
    }
    let mut policy = Policy::new(cwd, home);
    policy.rules = rules;
    findings.extend(lint(&policy));
    findings.sort_by_key(|finding| {
        let source = layers.iter().position(|layer| layer.file == finding.origin.file);
        (source, finding.origin.line)
    });
    findings
}

fn read_list(layer: &Layer, behavior: Behavior, rules: &mut Ruleset, findings: &mut Vec<Finding>) {
    let pointer = format!("/permissions/{}", behavior.name());
    let origin = |pointer: &str| Origin {
        source: layer.source,
        root: layer.root.clone(),
        file: layer.file.clone(),
        line: layer.lines.get(pointer).copied(),
    };
    let malformed = |pointer: &str, rule: String, message: String| Finding {
        code: LintCode::Malformed,
        severity: LintCode::Malformed.severity(behavior),
        behavior,
        rule,
        origin: origin(pointer),
        message,
        instead: Vec::new(),
    };
    let entries = match layer.value.pointer(&pointer) {
        None | Some(Value::Null) => return,
        Some(Value::Array(entries)) => entries,
        Some(other) => {
            findings.push(malformed(&pointer, other.to_string(), "is no list of rules".to_owned()));
            return;
        }
    };
    for (index, entry) in entries.iter().enumerate() {
        let pointer = format!("{pointer}/{index}");
        let Some(text) = entry.as_str() else {
            findings.push(malformed(&pointer, entry.to_string(), "is no text".to_owned()));
            continue;
        };
        match Rule::parse(text, behavior, origin(&pointer)) {
            Ok(rule) => rules.push(rule),
            Err(error) => {
                let message = error.to_string();
                let start = format!("rule `{}` ", text.trim());
                let message = message.strip_prefix(&start).unwrap_or(&message).to_owned();
                findings.push(malformed(&pointer, text.trim().to_owned(), message));
            }
        }
    }
}

/// What is wrong with a rule whatever the others say.
fn of_one(bench: &Bench<'_>, rule: &Rule) -> Vec<Fault> {
    if let Some(fault) = by_name(rule) {
        return vec![fault];
    }
    let mut faults = Vec::new();
    if let Some(rest) = rule.text().strip_prefix("Fetch") {
        faults.push(
            Fault::new(LintCode::Renamed, "uses an old name; the tool is called `WebFetch`")
                .instead([format!("WebFetch{rest}")]),
        );
    }
    match rule.spec() {
        None => faults.extend(commands::of_blanket(bench, rule)),
        Some(Spec::Unused) => faults.push(never_consulted(rule)),
        Some(Spec::Command(spec)) => faults.extend(commands::faults(bench, rule, spec)),
        Some(Spec::Read(_) | Spec::Edit(_)) => faults.extend(paths::faults(bench, rule)),
        Some(Spec::Domain(_) | Spec::Agent(_) | Spec::Skill(_) | Spec::Parameter(..)) => {}
    }
    faults
}

/// A tool that nobody knows; with a name that differs in case only it is clear which was meant.
fn by_name(rule: &Rule) -> Option<Fault> {
    let name = rule.tool();
    // Names with `_` or `*` may speak of tools that are added at run time.
    if name.contains(['_', '*']) || tools::is_known(name) {
        return None;
    }
    let fault = Fault::new(
        LintCode::UnknownTool,
        format!("names no known tool, so it never matches: `{name}`; names are case-sensitive"),
    );
    let meant = NAMES.iter().find(|known| known.eq_ignore_ascii_case(name));
    Some(fault.instead(meant.map(|known| rule.text().replacen(name, known, 1))))
}

/// The names that rules are written about; the source is the public tools reference of Claude Code.
const NAMES: &[&str] = &[
    "Agent",
    "AskUserQuestion",
    "Bash",
    "BashOutput",
    "Edit",
    "ExitPlanMode",
    "Glob",
    "Grep",
    "LS",
    "Monitor",
    "MultiEdit",
    "NotebookEdit",
    "PowerShell",
    "Read",
    "Skill",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "Write",
];

/// A specifier that nothing is ever held against.
fn never_consulted(rule: &Rule) -> Fault {
    let spec = spec_text(rule).unwrap_or_default();
    let tool = rule.tool();
    let remark = rule.remark().unwrap_or("has a specifier that is never consulted");
    let fault = Fault::new(LintCode::NeverConsulted, remark);
    let instead = match (tools::spec_kind(tool), spec.split_once(':')) {
        (tools::SpecKind::Edit, None) => Some(format!("Edit({})", inner(rule))),
        (tools::SpecKind::Read, None) => Some(format!("Read({})", inner(rule))),
        (tools::SpecKind::Command, Some((_, value))) => Some(format!("{tool}({})", value.trim())),
        (tools::SpecKind::Edit, Some((_, value))) => Some(format!("Edit({})", value.trim())),
        (tools::SpecKind::Read, Some((_, value))) => Some(format!("Read({})", value.trim())),
        (tools::SpecKind::Domain, Some((_, url))) => {
            let host = url.split_once("://").map_or(url, |(_, rest)| rest);
            let host = host.split(['/', ':', '?']).next().unwrap_or_default().trim();
            Some(format!("WebFetch(domain:{host})"))
        }
        (
            tools::SpecKind::Command
            | tools::SpecKind::Domain
            | tools::SpecKind::Agent
            | tools::SpecKind::Skill
            | tools::SpecKind::Cd
            | tools::SpecKind::Bare,
            _,
        ) => None,
    };
    fault.instead(instead.filter(|text| is_rule(text, rule.behavior())))
}

/// The specifier as it is written, escapes and all.
fn inner(rule: &Rule) -> &str {
    let text = rule.text();
    text.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or_default()
}

/// The specifier of a rule, its escapes removed.
fn spec_text(rule: &Rule) -> Option<String> {
    let inner = Some(inner(rule)).filter(|inner| !inner.is_empty())?;
    let mut plain = String::with_capacity(inner.len());
    let mut characters = inner.chars().peekable();
    while let Some(character) = characters.next() {
        let escapes = character == '\\' && matches!(characters.peek(), Some('(' | ')' | '\\'));
        plain.push(if escapes { characters.next().unwrap_or(character) } else { character });
    }
    Some(plain.trim().to_owned())
}

/// Whether the text is a rule without a remark.
fn is_rule(text: &str, behavior: Behavior) -> bool {
    let origin = Origin::inline(crate::RuleSource::Local, "/");
    Rule::parse(text, behavior, origin).is_ok_and(|rule| rule.remark().is_none())
}

#[cfg(test)]
#[cfg(feature = "bash")]
mod tests;
