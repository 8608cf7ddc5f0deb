//! Calls that a rule speaks of whatever its stars stand for, and what the engine says of them.

use std::path::Path;

use serde_json::{Value, json};

use super::spec_text;
use crate::facts::from_call;
use crate::rule::path::Anchor;
use crate::rule::{Family, NamePattern, Spec};
use crate::{
    CallFacts, Decision, NoDisk, PermissionMode, Place, Policy, Resolution, Rule, Verdict, Voices,
    resolve,
};

/// A word that no rule names.
pub(super) const WORD: &str = "qxz";

/// One tool use.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    tool: String,
    input: Value,
}

/// A policy to try calls on, with all of its rules and with single ones.
pub(super) struct Bench<'a> {
    pub(super) policy: &'a Policy,
    /// The policy without rules.
    bare: Policy,
}

impl<'a> Bench<'a> {
    pub(super) fn new(policy: &'a Policy) -> Self {
        let mut bare = Policy::new(&policy.cwd, &policy.home);
        bare.original_cwd.clone_from(&policy.original_cwd);
        bare.additional_directories.clone_from(&policy.additional_directories);
        bare.links.clone_from(&policy.links);
        bare.headless = false;
        Self { policy, bare }
    }

    /// What becomes of the call under all rules.
    pub(super) fn resolve(&self, sample: &Sample) -> Resolution {
        judge(self.policy, sample)
    }

    /// What becomes of the call when this is the only rule.
    pub(super) fn resolve_alone(
        &self,
        rule: &Rule,
        mode: PermissionMode,
        sample: &Sample,
    ) -> Resolution {
        let mut policy = self.bare.clone();
        policy.mode = mode;
        policy.rules.push(rule.clone());
        judge(&policy, sample)
    }

    /// Whether the rule, when it is the only one, is what decides on the call.
    pub(super) fn decides(&self, rule: &Rule, mode: PermissionMode, sample: &Sample) -> bool {
        let resolution = self.resolve_alone(rule, mode, sample);
        // That a rule may speak of a call is not enough.
        resolution.reason.rule.as_deref() == Some(rule.text())
            && !resolution.reason.code.ends_with("_possible")
    }

    /// Calls that the rule speaks of: a rule that matches all of them very likely matches whatever this one does.
    pub(super) fn samples(&self, rule: &Rule) -> Vec<Sample> {
        let tool = match rule.name() {
            NamePattern::Exact(name) => name.clone(),
            NamePattern::Server(name) => format!("{name}__{WORD}"),
            NamePattern::Glob(name, _) => name.replace('*', WORD),
        };
        let of = |input: Value| Sample { tool: tool.clone(), input };
        match rule.spec() {
            None => of_every_call(&tool).map(of).into_iter().collect(),
            Some(Spec::Command(spec)) => commands(&spec.text)
                .into_iter()
                .map(|text| of(json!({ "command": text })))
                .collect(),
            Some(Spec::Read(_) | Spec::Edit(_)) => self.paths(rule),
            Some(Spec::Domain(_)) => {
                let domain = spec_text(rule).unwrap_or_default();
                let domain = domain.split_once(':').map_or("", |(_, domain)| domain.trim());
                let mut hosts = vec![domain.replace('*', WORD)];
                if domain.starts_with("*.") {
                    hosts.push(format!("{WORD}.{}", domain.replace('*', WORD)));
                }
                hosts
                    .into_iter()
                    .map(|host| of(json!({ "url": format!("https://{host}/") })))
                    .collect()
            }
            Some(Spec::Agent(name)) => vec![of(json!({ "subagent_type": name }))],
            Some(Spec::Skill(_)) => {
                let text = spec_text(rule).unwrap_or_default();
                let calls = commands(&text).into_iter().map(|call| match call.split_once(' ') {
                    Some((name, arguments)) => of(json!({ "skill": name, "args": arguments })),
                    None => of(json!({ "skill": call })),
                });
                calls.collect()
            }
            // The rest of the input is not known.
            Some(Spec::Parameter(..) | Spec::Unused) => Vec::new(),
        }
    }

    fn paths(&self, rule: &Rule) -> Vec<Sample> {
        let Some((family, pattern)) = rule.path() else { return Vec::new() };
        let directory = match &pattern.anchor {
            Anchor::Root => Path::new("/"),
            Anchor::Home => self.policy.home.as_path(),
            Anchor::Settings(root) => root,
            Anchor::Cwd => self.policy.cwd.as_path(),
        };
        let spec = spec_text(rule).unwrap_or_default();
        let (tool, input): (_, fn(&str) -> Value) = match family {
            Family::Read => ("Read", |path| json!({ "file_path": path })),
            Family::Edit => ("Edit", |path| json!({ "file_path": path })),
        };
        let named = names(&spec).into_iter().filter_map(|name| {
            let path = directory.join(name);
            Some(Sample { tool: tool.to_owned(), input: input(path.to_str()?) })
        });
        named.collect()
    }
}

/// The change of one file by a tool.
pub(super) fn edit(tool: &str, path: &str) -> Sample {
    let field = if tool == "NotebookEdit" { "notebook_path" } else { "file_path" };
    Sample { tool: tool.to_owned(), input: json!({ field: path }) }
}

fn judge(policy: &Policy, sample: &Sample) -> Resolution {
    let place = Place { cwd: &policy.cwd, home: &policy.home, disk: &NoDisk };
    let facts = from_call(&sample.tool, &sample.input, place)
        .unwrap_or_else(|| CallFacts::new(sample.tool.as_str(), sample.input.clone()));
    resolve(policy, &facts, &Voices::default())
}

/// Whether the call runs.
pub(super) fn is_allowed(resolution: &Resolution) -> bool {
    resolution.verdict == Verdict::Decided(Decision::Allow)
}

/// Some call of the tool.
fn of_every_call(tool: &str) -> Option<Value> {
    match tool {
        "Bash" | "Monitor" | "PowerShell" => {
            cfg!(feature = "bash").then(|| json!({ "command": format!("{WORD} {WORD}") }))
        }
        "WebFetch" => Some(json!({ "url": format!("https://{WORD}.{WORD}/") })),
        "Agent" => Some(json!({ "subagent_type": WORD })),
        "Skill" => Some(json!({ "skill": WORD })),
        "Grep" | "Glob" | "LS" => Some(json!({ "path": format!("/{WORD}"), "pattern": WORD })),
        "NotebookEdit" => Some(json!({ "notebook_path": format!("/{WORD}/{WORD}") })),
        _ => Some(json!({ "file_path": format!("/{WORD}/{WORD}") })),
    }
}

/// Shell commands that a command pattern matches; none where shell commands cannot be read.
fn commands(pattern: &str) -> Vec<String> {
    if !cfg!(feature = "bash") {
        return Vec::new();
    }
    let pattern = match pattern.strip_suffix(":*") {
        Some(prefix) => format!("{prefix} *"),
        None => pattern.to_owned(),
    };
    let mut texts = vec![fill(&pattern, WORD), fill(&pattern, &format!("{WORD} {WORD}"))];
    if let Some(bare) = pattern.strip_suffix(" *").or_else(|| pattern.strip_suffix('*'))
        && !bare.is_empty()
        && !bare.ends_with('\\')
    {
        texts.push(fill(bare, WORD));
    }
    texts.dedup();
    texts
}

/// The pattern with a text for every star; `\*` and `\\` mean the same to a shell.
fn fill(pattern: &str, text: &str) -> String {
    let mut filled = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '*' => filled.push_str(text),
            '\\' => {
                filled.push('\\');
                filled.extend(characters.next());
            }
            other => filled.push(other),
        }
    }
    filled
}

/// Paths below its anchor that a path pattern matches; none for those with classes or groups.
fn names(spec: &str) -> Vec<String> {
    if spec.contains(['[', '{', '?']) {
        return Vec::new();
    }
    let anchored = spec.starts_with(['/', '~']) || spec.starts_with("./");
    let rest = ["//", "~/", "./", "/"].iter().find_map(|anchor| spec.strip_prefix(anchor));
    let text = rest.unwrap_or(spec).replace('\\', "");
    let segments: Vec<&str> = text.split('/').filter(|it| !matches!(*it, "" | ".")).collect();
    let Some((last, before)) = segments.split_last() else {
        return vec![WORD.to_owned(), format!("{WORD}/{WORD}")];
    };
    let deep = format!("{WORD}/{WORD}");
    let mut names = Vec::new();
    // What `**` stands for in the middle: nothing, or directories.
    for between in ["", deep.as_str()] {
        let mut name = Vec::new();
        for segment in before {
            match *segment {
                "**" if between.is_empty() => {}
                "**" => name.push(between.to_owned()),
                segment => name.push(segment.replace('*', WORD)),
            }
        }
        let end = if *last == "**" { deep.clone() } else { last.replace('*', WORD) };
        name.push(end);
        names.push(name.join("/"));
    }
    if !anchored && before.is_empty() && *last != "**" {
        names.extend(names.first().map(|name| format!("{deep}/{name}")));
    }
    // A match on a directory covers all beneath it.
    names.extend(names.first().map(|name| format!("{name}/{WORD}")));
    names.dedup();
    names
}
