//! Deny and ask rules: one that touches any part of the call speaks of the whole.

use std::path::Path;

use super::call::{Call, base_name};
use super::forms::{self, Form};
use super::reasons::{Certainty, by_rule};
use super::{never, sandbox, search};
use crate::rule::pattern::StarPattern;
use crate::rule::{Family, Rule, Spec, spec};
use crate::{Behavior, Descent, MayChange, Part, PathTarget, Reason, Ruleset, Target};

/// The rules of one behavior that speak of a call, as far as that is certain, and as far as it is possible.
#[derive(Debug, Default)]
pub(super) struct Found<'a> {
    pub(super) certain: Option<&'a Rule>,
    pub(super) possible: Option<&'a Rule>,
    /// Whether the doubt is what lies in a directory.
    within: bool,
}

impl<'a> Found<'a> {
    pub(super) fn certain(&self) -> Option<Reason> {
        self.certain.map(|rule| by_rule(rule, Certainty::Certain))
    }

    pub(super) fn possible(&self) -> Option<Reason> {
        let certainty = if self.within { Certainty::Within } else { Certainty::Possible };
        self.possible.map(|rule| by_rule(rule, certainty))
    }

    fn or(mut self, other: impl FnOnce() -> Self) -> Self {
        if self.certain.is_none() {
            let other = other();
            self.certain = other.certain;
            if self.possible.is_none() {
                self.possible = other.possible;
                self.within = other.within;
            }
        }
        self
    }

    pub(super) fn surely(rule: Option<&'a Rule>) -> Self {
        Self { certain: rule, ..Self::default() }
    }

    pub(super) fn maybe(rule: Option<&'a Rule>) -> Self {
        Self { possible: rule, ..Self::default() }
    }
}

/// The deny or ask rules that speak of the call as a whole or of any part of it.
pub(super) fn find(call: Call<'_>, behavior: Behavior) -> Found<'_> {
    let mut found = of_tool(call, behavior);
    for target in &call.facts.targets {
        found = found.or(|| of_target(call, behavior, target));
    }
    for part in &call.facts.parts {
        found = found.or(|| of_part(call, behavior, part));
    }
    found = found.or(|| of_whole_command(call, behavior));
    if call.facts.opaque.is_some() {
        found = found.or(|| search::in_text(call, behavior));
    }
    found
}

/// The rules that speak of one part alone.
pub(super) fn of_part<'a>(call: Call<'a>, behavior: Behavior, part: &Part) -> Found<'a> {
    let mut found = of_command(call, behavior, part);
    // Entering a directory reads nothing in it.
    let operands = if moves(part) { &[] } else { part.targets.as_slice() };
    for target in operands.iter().chain(&part.redirected) {
        found = found.or(|| of_target(call, behavior, target));
    }
    for target in operands {
        found = found.or(|| of_descent(call, behavior, part.descent, target));
    }
    for change in &part.may_change {
        found = found.or(|| of_change(call, behavior, change));
    }
    found.or(|| of_mentions(call, behavior, part))
}

/// Rules about what lies in a directory that is read with all beneath it: it may be there, and then it is read too.
fn of_descent<'a>(
    call: Call<'a>,
    behavior: Behavior,
    descent: Descent,
    target: &Target,
) -> Found<'a> {
    let (Target::Read(path), Descent::Visible | Descent::All) = (target, descent) else {
        return Found::default();
    };
    let visible = descent == Descent::Visible;
    let within = |path: &Path| {
        let rules = &call.policy.rules;
        rules.path_within(behavior, Family::Read, path, visible, &|anchor| call.anchor(anchor))
    };
    Found { possible: path.find(within), within: true, ..Found::default() }
}

/// Whether the part changes the directory.
pub(super) fn moves(part: &Part) -> bool {
    matches!(part.argv.first().and_then(Option::as_deref), Some("cd" | "pushd" | "popd"))
}

/// Rules about the tool, its parameters, hosts, agents and skills.
fn of_tool(call: Call<'_>, behavior: Behavior) -> Found<'_> {
    let rules = &call.policy.rules;
    // A sandbox answers the question that is asked about every command.
    let answered = |rule: &&Rule| {
        behavior == Behavior::Ask && rule.tool() == "Bash" && sandbox::auto_allows(call)
    };
    for tool in call.restricting_tools() {
        let found = rules.blankets(behavior, tool).into_iter().find(|rule| !answered(rule));
        if found.is_some() {
            return Found::surely(found);
        }
    }
    let mut found = Found::default();
    let hosts = call.hosts();
    for rule in call.restricting_tools().flat_map(|tool| rules.scoped(behavior, tool, &hosts)) {
        found = found.or(|| of_scope(call, rule));
    }
    found
}

fn of_scope<'a>(call: Call<'_>, rule: &'a Rule) -> Found<'a> {
    let when = |holds: bool| Found::surely(holds.then_some(rule));
    match rule.spec() {
        Some(Spec::Parameter(name, pattern)) => {
            when(call.facts.parameters.get(name).is_some_and(|value| pattern.matches(value)))
        }
        Some(Spec::Domain(pattern)) => {
            let hosts = call.hosts();
            if hosts.is_empty() {
                // Which host it would be is not certain, so it may be this one.
                return Found::maybe(Some(rule));
            }
            when(hosts.iter().any(|host| pattern.matches(host)))
        }
        Some(Spec::Agent(name)) => when(call.facts.targets.iter().any(|target| match target {
            Target::Agent(agent) => agent == name,
            Target::Read(_) | Target::Write(_) | Target::Delete(_) | Target::Host(_) => false,
        })),
        Some(Spec::Skill(pattern)) => when(skill(call).is_some_and(|text| pattern.matches(&text))),
        Some(Spec::Command(_) | Spec::Read(_) | Spec::Edit(_) | Spec::Unused) | None => {
            Found::default()
        }
    }
}

/// The name of the skill that is called, with its arguments.
pub(super) fn skill(call: Call<'_>) -> Option<String> {
    let field = |names: &[&str]| names.iter().find_map(|name| call.facts.parameters.get(*name));
    let name = field(&["skill", "command", "name"])?;
    Some(match field(&["args", "arguments"]) {
        Some(arguments) => format!("{name} {arguments}"),
        None => name.clone(),
    })
}

/// Command rules on every form of a part.
fn of_command<'a>(call: Call<'a>, behavior: Behavior, part: &Part) -> Found<'a> {
    let tools: Vec<&str> = call.rule_tools().collect();
    of_command_in(&call.policy.rules, &tools, behavior, part)
}

/// The command rules about these tools on every form of a part.
pub(super) fn of_command_in<'a>(
    rules: &'a Ruleset,
    tools: &[&str],
    behavior: Behavior,
    part: &Part,
) -> Found<'a> {
    let forms = forms::forms(part);
    let candidates = candidates(rules, tools, behavior, &forms);
    if candidates.is_empty() {
        return Found::default();
    }
    let mut texts: Vec<String> = forms.iter().map(forms::text).collect();
    texts.push(part.text.clone());
    texts.push(spec::collapse_blanks(&part.text));
    let certain = candidates
        .iter()
        .find(|rule| patterns(rule).any(|pattern| texts.iter().any(|text| pattern.matches(text))));
    if certain.is_some() {
        return Found::surely(certain.copied());
    }
    let holed: Vec<_> =
        forms.iter().filter(|form| form.contains(&None)).map(forms::pieces).collect();
    let possible = candidates.iter().find(|rule| {
        patterns(rule).any(|pattern| holed.iter().any(|pieces| pattern.may_match(pieces)))
    });
    Found::maybe(possible.copied())
}

fn patterns(rule: &Rule) -> impl Iterator<Item = &StarPattern> {
    rule.command().into_iter().flat_map(spec::CommandSpec::patterns)
}

fn candidates<'a>(
    rules: &'a Ruleset,
    tools: &[&str],
    behavior: Behavior,
    forms: &[Form<'_>],
) -> Vec<&'a Rule> {
    let tools = tools.iter();
    if forms.iter().any(|form| form.first().is_some_and(Option::is_none)) {
        return tools.flat_map(|tool| rules.all_commands(behavior, tool)).collect();
    }
    let words: Vec<&str> =
        forms.iter().filter_map(|form| form.first().copied().flatten()).collect();
    tools.flat_map(|tool| rules.commands(behavior, tool, &words)).collect()
}

/// Rules that are written about a whole command, such as `Bash(curl * | sh)`.
fn of_whole_command(call: Call<'_>, behavior: Behavior) -> Found<'_> {
    let Some(command) = &call.facts.command else { return Found::default() };
    let command = spec::collapse_blanks(command.trim());
    let mut rules =
        call.rule_tools().flat_map(|tool| call.policy.rules.commands(behavior, tool, &[]));
    Found::surely(rules.find(|rule| {
        rule.command().is_some_and(|spec| {
            spec.spans && spec.patterns().any(|pattern| pattern.matches(&command))
        })
    }))
}

/// Path rules on a target: a read by the rules about reading; a change by those about editing, and by a deny of reading.
pub(super) fn of_target<'a>(call: Call<'a>, behavior: Behavior, target: &Target) -> Found<'a> {
    match target {
        Target::Read(path) => of_path(call, behavior, Family::Read, path),
        Target::Write(path) | Target::Delete(path) => {
            // What lies in a directory that is removed may be what a rule is about, and then it goes too.
            let contents = |family| match target {
                Target::Delete(_) => Found::maybe(beneath(call, behavior, family, path)),
                Target::Read(_) | Target::Write(_) | Target::Host(_) | Target::Agent(_) => {
                    Found::default()
                }
            };
            let edits = of_path(call, behavior, Family::Edit, path).or(|| contents(Family::Edit));
            // A notebook is not covered by deny rules about reading, as the permissions documentation says.
            if behavior == Behavior::Deny && call.facts.tool() != "NotebookEdit" {
                edits
                    .or(|| of_path_rules(call, behavior, Family::Read, path))
                    .or(|| contents(Family::Read))
            } else {
                edits
            }
        }
        Target::Host(_) | Target::Agent(_) => Found::default(),
    }
}

fn of_path<'a>(call: Call<'a>, behavior: Behavior, family: Family, path: &PathTarget) -> Found<'a> {
    let blanket = call.policy.rules.blankets(behavior, family.tool()).first().copied();
    Found::surely(blanket).or(|| of_path_rules(call, behavior, family, path))
}

fn of_path_rules<'a>(
    call: Call<'a>,
    behavior: Behavior,
    family: Family,
    path: &PathTarget,
) -> Found<'a> {
    let rules = &call.policy.rules;
    let certain = path.find(|path| search::rule_of(call, behavior, family, path));
    if certain.is_some() {
        return Found::surely(certain);
    }
    if path.path.is_some() && path.real.is_some() {
        return Found::default();
    }
    // Where it leads is not known: a glob tells a little, any other word nothing.
    Found::maybe(
        rules.path_maybe(behavior, family, plain_glob(path), &|anchor| call.anchor(anchor)),
    )
}

/// Rules about what may be changed: a doubt, never a proof.
fn of_change<'a>(call: Call<'a>, behavior: Behavior, change: &MayChange) -> Found<'a> {
    let rules = &call.policy.rules;
    let path = change.path();
    let there = |family: Family| {
        let exact = of_path_rules(call, behavior, family, path);
        let within = |directory: &Path| {
            rules.path_within(behavior, family, directory, false, &|anchor| call.anchor(anchor))
        };
        let beneath = || match change {
            MayChange::File(_) | MayChange::Held(_) => None,
            MayChange::Beneath(_) => beneath(call, behavior, family, path),
            MayChange::Within(_) if path.path.is_none() => {
                rules.path_maybe(behavior, family, None, &|anchor| call.anchor(anchor))
            }
            MayChange::Within(_) => path.find(within),
        };
        exact.certain.or(exact.possible).or_else(beneath)
    };
    let blanket = || rules.blankets(behavior, Family::Edit.tool()).first().copied();
    // Who may not read a file may not write it either.
    let unread = || (behavior == Behavior::Deny).then(|| there(Family::Read)).flatten();
    Found::maybe(blanket().or_else(|| there(Family::Edit)).or_else(unread))
}

/// A rule that names a place in the directory, or in one that the pattern of a shell names.
fn beneath<'a>(
    call: Call<'a>,
    behavior: Behavior,
    family: Family,
    path: &PathTarget,
) -> Option<&'a Rule> {
    let rules = &call.policy.rules;
    if let Some(glob) = plain_glob(path) {
        return rules.path_beneath_glob(behavior, family, glob, &|anchor| call.anchor(anchor));
    }
    path.find(|path| rules.path_beneath(behavior, family, path, &|anchor| call.anchor(anchor)))
}

/// The glob by which alone a path is known, if nothing else in it is unknown.
fn plain_glob(path: &PathTarget) -> Option<&str> {
    let glob = path.given.as_str();
    let is_plain = path.path.is_none()
        && glob.starts_with('/')
        && !glob.contains(['$', '`', '…', '(', '{', '\\']);
    is_plain.then_some(glob)
}

/// Commands of git that print what is in the files that they name (git documentation).
const GIT_PRINTS: &[&str] = &[
    "annotate",
    "archive",
    "blame",
    "cat-file",
    "diff",
    "format-patch",
    "grep",
    "log",
    "show",
    "stash",
];

/// Programs besides interpreters whose words may be code that reads and writes files.
const CODE_TAKERS: &[&str] = &["sed", "gsed", "awk", "gawk", "mawk", "nawk", "ex", "ed"];

/// Words that look like paths in a command whose reads are not known in full, such as `rev:path` and `diff path` of git.
fn of_mentions<'a>(call: Call<'a>, behavior: Behavior, part: &Part) -> Found<'a> {
    let name = part.argv.first().and_then(Option::as_deref).map(base_name);
    let is_git = name == Some("git");
    let takes_code =
        name.is_some_and(|name| CODE_TAKERS.contains(&name) || never::is_interpreter(name));
    if part.neutral || (part.complete && !is_git) {
        return Found::default();
    }
    let words = || part.argv.iter().skip(1).flatten().map(String::as_str);
    let prints = is_git && words().any(|word| GIT_PRINTS.contains(&word));
    let words = words().filter(|word| !part.complete || prints || word.contains(':'));
    // `git -C dir` names its files from there.
    let moved = part.targets.iter().filter(|_| is_git).filter_map(|target| match target {
        Target::Read(path) => path.real.as_deref(),
        Target::Write(_) | Target::Delete(_) | Target::Host(_) | Target::Agent(_) => None,
    });
    let bases: Vec<&Path> =
        std::iter::once(part.cwd.as_deref().unwrap_or(&call.policy.cwd)).chain(moved).collect();
    let pieces = words.flat_map(|word| {
        let code = takes_code.then(|| search::pieces_of_code(word)).into_iter().flatten();
        std::iter::once(word).chain(code)
    });
    let rule = pieces.flat_map(search::path_like).find_map(|word| {
        bases.iter().find_map(|base| {
            let path = call.lexical_path(word, base)?;
            // What is known in full only reads here.
            if part.complete {
                search::rule_of(call, behavior, Family::Read, &path)
            } else {
                search::path_rule(call, behavior, &path)
            }
        })
    });
    Found::maybe(rule)
}
