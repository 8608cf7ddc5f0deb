//! Rules to offer with a question: each would have answered it, parses, and covers no more than it shows.

use super::call::{Call, base_name};
use super::{approve, never, places, rules};
use crate::lint::{is_unsafe, runs_what_follows};
use crate::rule::path::escape_glob;
use crate::rule::{escape, spec, tools};
use crate::{
    Behavior, Decision, Effect, Origin, Part, PathTarget, Reason, ReasonKind, Rule, RuleSource,
    Suggestion, Target, Verdict,
};

/// So many parts get a rule of their own.
const MAX_RULES: usize = 5;

/// Programs whose second word names what they do, so that a prefix rule has two words.
const NESTED: &[&str] = &[
    "apt",
    "aws",
    "az",
    "brew",
    "bun",
    "bundle",
    "cargo",
    "composer",
    "conda",
    "deno",
    "docker",
    "dotnet",
    "gcloud",
    "gh",
    "git",
    "glab",
    "go",
    "gradle",
    "helm",
    "just",
    "kubectl",
    "make",
    "mvn",
    "npm",
    "nx",
    "pip",
    "pip3",
    "pnpm",
    "podman",
    "poetry",
    "rake",
    "rustup",
    "systemctl",
    "terraform",
    "turbo",
    "uv",
    "yarn",
];

/// Programs whose third word matters too when the second is one of these.
const DEEPER: &[&str] = &["run", "compose", "exec", "remote", "stash", "pr", "issue", "get"];

/// Programs that are only offered with all their words, besides those whose options do more than a rule shows.
const EXACT_ONLY: &[&str] = &["rmdir", "kill"];

/// The rules that would have allowed the call, shortest first; empty when a rule could not.
pub(super) fn rules(call: Call<'_>, reason: &Reason, verdict: Verdict) -> Vec<Suggestion> {
    let open = match verdict {
        Verdict::Decided(Decision::Allow) | Verdict::Deferred => false,
        Verdict::Decided(Decision::Ask | Decision::Deny) | Verdict::NeedsClassifier { .. } => true,
    };
    // What a rule or hook forces, what a mode forbids and what is critical is not answered by an allow rule.
    let answerable = match reason.kind {
        ReasonKind::Default | ReasonKind::Analysis | ReasonKind::Secret => {
            reason.code != "interaction"
        }
        ReasonKind::Rule
        | ReasonKind::Mode
        | ReasonKind::Hook
        | ReasonKind::Safety
        | ReasonKind::ReadOnly
        | ReasonKind::Classifier
        | ReasonKind::Validation => false,
    };
    if !open || !answerable {
        return Vec::new();
    }
    let mut texts = if call.is_shell() { for_shell(call) } else { for_tool(call) };
    texts.retain(|text| parses(text));
    texts.sort_by_key(String::len);
    texts.dedup();
    texts.into_iter().map(Suggestion).collect()
}

/// Whether the text is a rule that prints as it was written.
fn parses(text: &str) -> bool {
    let origin = Origin::inline(RuleSource::Local, "/");
    !text.contains(['\n', '\r'])
        && Rule::parse(text, Behavior::Allow, origin)
            .is_ok_and(|rule| rule.text() == text && rule.remark().is_none())
}

fn for_shell(call: Call<'_>) -> Vec<String> {
    if call.facts.opaque.is_some() {
        let command = call.facts.command.as_deref().unwrap_or_default().trim();
        return exact(call, command).into_iter().collect();
    }
    let lacking = call
        .facts
        .parts
        .iter()
        .enumerate()
        .filter(|(index, part)| approve::of_part(call, *index).is_none() || reads_secret(part));
    let mut texts = Vec::new();
    for (_, part) in lacking {
        // Without a rule for every part the rest would not help.
        match for_part(call, part) {
            Some(rules) => texts.extend(rules),
            None => return Vec::new(),
        }
    }
    texts.sort();
    texts.dedup();
    if texts.len() > MAX_RULES { Vec::new() } else { texts }
}

fn for_part(call: Call<'_>, part: &Part) -> Option<Vec<String>> {
    if !part.assignments.iter().all(|(_, harmless)| *harmless) {
        return None;
    }
    let name = part.argv.first().and_then(Option::as_deref)?;
    if name.contains(char::is_whitespace) {
        return None;
    }
    if matches!(name, "cd" | "pushd") {
        let [Target::Read(target)] = part.targets.as_slice() else { return None };
        let path = target.path.as_deref()?.to_str()?;
        return Some(vec![format!(
            "Read(/{}/**)",
            escape(&escape_glob(path.trim_end_matches('/')))
        )]);
    }
    let mut texts = Vec::new();
    let secrets: Option<Vec<String>> = secrets(part).map(read_rule).collect();
    let secrets = secrets?;
    let prints = secrets.is_empty() && reads_secret(part);
    texts.extend(secrets);
    if prints || approve::of_command_alone(call, part).is_none() {
        if part.expands || part.argv.contains(&None) && prints || !call.runs_inside(part) {
            return None;
        }
        let cautious = prints
            || EXACT_ONLY.contains(&base_name(name))
            || never::by_prefix(part)
            || never::is_interpreter(name);
        texts.push(if cautious { exact(call, &part.text)? } else { prefix(call, part)? });
    }
    for target in &part.redirected {
        if let Target::Write(path) | Target::Delete(path) = target {
            let path = path.path.as_deref()?.to_str()?;
            texts.push(format!("Edit(/{})", escape(&escape_glob(path))));
        }
    }
    Some(texts)
}

fn reads_secret(part: &Part) -> bool {
    part.effects.contains(Effect::Secret) || secrets(part).next().is_some()
}

/// The secrets that the part reads from files.
fn secrets(part: &Part) -> impl Iterator<Item = &PathTarget> {
    part.targets.iter().chain(&part.redirected).filter_map(|target| match target {
        Target::Read(path) => places::is_secret_target(path).then_some(path),
        Target::Write(_) | Target::Delete(_) | Target::Host(_) | Target::Agent(_) => None,
    })
}

/// A rule that names the file; `None` if the path is not known.
fn read_rule(path: &PathTarget) -> Option<String> {
    let path = path.path.as_deref()?.to_str()?;
    Some(format!("Read(/{})", escape(&escape_glob(path))))
}

/// A rule for this text alone; `None` if a rule would read the text differently.
fn exact(call: Call<'_>, text: &str) -> Option<String> {
    let literal = text.replace('\\', "\\\\").replace('*', "\\*");
    let is_plain = spec::collapse_blanks(text) == text && !text.contains('…');
    is_plain.then(|| format!("{}({})", call.facts.tool(), escape(&literal)))
}

/// The words that say what is done, and a star; all words where a star would open more than it shows.
fn prefix(call: Call<'_>, part: &Part) -> Option<String> {
    let words: Vec<&str> = part.argv.iter().map_while(Option::as_deref).collect();
    let [program, rest @ ..] = words.as_slice() else { return None };
    let plain = |word: &&&str| !word.starts_with('-') && !word.contains(['/', '=', ' ']);
    let mut prefix = vec![*program];
    if NESTED.contains(program) {
        let Some(second) = rest.first().filter(plain) else { return exact(call, &part.text) };
        prefix.push(second);
        if DEEPER.contains(second) {
            prefix.extend(rest.get(1).filter(plain));
        }
    }
    if runs_what_follows(&prefix.join(" ")) {
        let Some(next) = words.get(prefix.len()).filter(plain) else {
            return exact(call, &part.text);
        };
        prefix.push(next);
    }
    if is_unsafe(&prefix.join(" ")) {
        return exact(call, &part.text);
    }
    let literal = prefix.join(" ").replace('\\', "\\\\").replace('*', "\\*");
    Some(format!("{}({} *)", call.facts.tool(), escape(&literal)))
}

fn for_tool(call: Call<'_>) -> Vec<String> {
    let facts = call.facts;
    let tool = facts.tool();
    let paths: Option<Vec<String>> = facts
        .targets
        .iter()
        .map(|target| match target {
            Target::Read(path) => {
                Some(format!("Read(/{})", escape(&escape_glob(path.path.as_deref()?.to_str()?))))
            }
            Target::Write(path) | Target::Delete(path) => {
                Some(format!("Edit(/{})", escape(&escape_glob(path.path.as_deref()?.to_str()?))))
            }
            Target::Host(host) => Some(format!("WebFetch(domain:{host})")),
            Target::Agent(agent) => Some(format!("Agent({})", escape(agent))),
        })
        .collect();
    match paths {
        Some(paths) if !paths.is_empty() => paths,
        Some(_) if tool == "Skill" => {
            rules::skill(call).map(|text| format!("Skill({})", escape(&text))).into_iter().collect()
        }
        // A bare name allows every use of the tool: right where its rules have no more to say.
        Some(_) if tools::spec_kind(tool) == tools::SpecKind::Bare => vec![tool.to_owned()],
        Some(_) | None => Vec::new(),
    }
}
