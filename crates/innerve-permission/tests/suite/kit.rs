//! A small world: a disk that is a table, a policy made of short texts, and calls written in one line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use innerve_permission::{
    Behavior, CallFacts, Decision, Entry, HookVoice, Need, Origin, Part, PathFacts, Place, Policy,
    Resolution, ResolvedPath, Rule, RuleSource, Verdict, Voices, facts, resolve,
};
use serde_json::{Value, json};

pub(crate) const CWD: &str = "/repo";
pub(crate) const HOME: &str = "/home/u";

/// A disk that is a table of links, directories and repositories.
#[derive(Clone, Debug)]
pub(crate) struct TableDisk {
    pub(crate) links: BTreeMap<PathBuf, PathBuf>,
    pub(crate) existing: Vec<PathBuf>,
    pub(crate) repositories: Vec<PathBuf>,
    pub(crate) git_programs: Vec<String>,
}

impl Default for TableDisk {
    fn default() -> Self {
        let existing =
            ["/repo", "/repo/sub", "/repo/app", "/repo/packages/api", "/tmp", "/data/d", "/etc"];
        let links = [
            ("/repo/project/key", "/home/u/.ssh/id_rsa"),
            ("/repo/project/x", "/data/x"),
            ("/repo/outbox", "/OUTSIDE"),
            ("/home/u/.zshrc", "/home/u/dotfiles/zshrc"),
        ];
        Self {
            links: links
                .into_iter()
                .map(|(from, to)| (PathBuf::from(from), PathBuf::from(to)))
                .collect(),
            existing: existing.into_iter().map(PathBuf::from).collect(),
            repositories: vec![PathBuf::from(CWD), PathBuf::from("/repo/vendor/lib")],
            git_programs: Vec::new(),
        }
    }
}

impl PathFacts for TableDisk {
    fn resolve(&self, path: &Path) -> ResolvedPath {
        let mut real = path.to_path_buf();
        for (link, target) in &self.links {
            if let Ok(rest) = path.strip_prefix(link) {
                real = target.join(rest);
            }
        }
        // Joining an empty rest leaves a trailing slash.
        let real: PathBuf = real.components().collect();
        ResolvedPath { real: Some(real), exists: self.existing.iter().any(|known| known == path) }
    }

    fn same_working_tree(&self, cwd: &Path, path: &Path) -> bool {
        path.starts_with(cwd)
            && !self.repositories.iter().any(|root| root != cwd && path.starts_with(root))
    }

    fn git_programs(&self, _cwd: &Path) -> Vec<String> {
        self.git_programs.clone()
    }

    fn entries(&self, directory: &Path, most: usize) -> Option<Vec<Entry>> {
        // What lies deeper says that there is a directory on the way.
        let known = self.existing.iter().chain(self.links.keys());
        let names: BTreeSet<_> = known
            .filter_map(|path| Some(path.strip_prefix(directory).ok()?.iter().next()?.to_owned()))
            .collect();
        let entry = |name| {
            let is_link = self.links.contains_key(&directory.join(&name));
            Entry { name, is_link, is_directory: !is_link }
        };
        (names.len() <= most).then(|| names.into_iter().map(entry).collect())
    }
}

/// A policy with a disk and the voices about the next call.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) policy: Policy,
    pub(crate) voices: Voices,
    pub(crate) disk: TableDisk,
}

/// An interactive session in `/repo`, mode and rules as written: `deny Bash(rm *); user allow Edit`.
pub(crate) fn world(rules: &str) -> World {
    let mut policy = Policy::new(CWD, HOME);
    policy.headless = false;
    let mut world = World { policy, voices: Voices::default(), disk: TableDisk::default() };
    for text in rules.split("; ").map(str::trim).filter(|text| !text.is_empty()) {
        world.policy.rules.push(rule(text));
    }
    world.policy.follow_links(&world.disk);
    world
}

/// One rule: `[source] behavior rule`.
pub(crate) fn rule(text: &str) -> Rule {
    let (first, rest) = text.split_once(' ').expect("a behavior and a rule");
    let source = match first {
        "policy" => Some(RuleSource::Policy),
        "cli" => Some(RuleSource::Cli),
        "local" => Some(RuleSource::Local),
        "user" => Some(RuleSource::User),
        "session" => Some(RuleSource::Session),
        "skill" => Some(RuleSource::Skill),
        _ => None,
    };
    let (behavior, text) = match source {
        Some(_) => rest.split_once(' ').expect("a behavior and a rule"),
        None => (first, rest),
    };
    let root = if source == Some(RuleSource::User) { "/home/u/.claude" } else { CWD };
    let origin = Origin::inline(source.unwrap_or(RuleSource::Project), root);
    Rule::parse(text, behavior_named(behavior), origin).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn behavior_named(name: &str) -> Behavior {
    match name {
        "allow" => Behavior::Allow,
        "ask" => Behavior::Ask,
        "deny" => Behavior::Deny,
        other => panic!("no behavior `{other}`"),
    }
}

impl World {
    pub(crate) fn mode(mut self, mode: &str) -> Self {
        self.policy.mode = mode.parse().unwrap();
        self
    }

    pub(crate) fn headless(mut self) -> Self {
        self.policy.headless = true;
        self
    }

    pub(crate) fn hook(mut self, hook: HookVoice) -> Self {
        self.voices.hook = Some(hook);
        self
    }

    pub(crate) fn place(&self) -> Place<'_> {
        Place { cwd: &self.policy.cwd, home: &self.policy.home, disk: &self.disk }
    }

    /// The facts of a call written as `$ command`, `Read path`, `WebFetch url`, `Agent type` or `Tool {json}`.
    pub(crate) fn facts(&self, call: &str) -> CallFacts {
        let (tool, input) = parse_call(call);
        facts::from_call(&tool, &input, self.place()).unwrap_or_else(|| CallFacts::new(tool, input))
    }

    pub(crate) fn resolve(&self, call: &str) -> Resolution {
        resolve(&self.policy, &self.facts(call), &self.voices)
    }

    pub(crate) fn resolve_facts(&self, facts: &CallFacts) -> Resolution {
        resolve(&self.policy, facts, &self.voices)
    }

    /// Asserts what becomes of many calls, and tells every one that is wrong.
    #[track_caller]
    pub(crate) fn check_all(&self, lines: &[(&str, &str)]) {
        let wrong: Vec<String> = lines
            .iter()
            .filter_map(|(call, expected)| {
                let resolution = self.resolve(call);
                let reason = &resolution.reason;
                (word(&resolution) != *expected).then(|| {
                    format!(
                        "{call} => {} ({}: {}), not {expected}",
                        word(&resolution),
                        reason.code,
                        reason.message
                    )
                })
            })
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// Asserts what becomes of a call.
    #[track_caller]
    pub(crate) fn check(&self, call: &str, expected: &str) {
        let resolution = self.resolve(call);
        assert_eq!(word(&resolution), expected, "{call}\n{resolution:#?}");
    }
}

fn parse_call(call: &str) -> (String, Value) {
    if let Some(command) = call.strip_prefix("$ ") {
        return ("Bash".to_owned(), json!({ "command": command }));
    }
    let (tool, rest) = call.split_once(' ').unwrap_or((call, "{}"));
    if rest.starts_with('{') {
        return (tool.to_owned(), serde_json::from_str(rest).unwrap());
    }
    let field = match tool {
        "Read" | "Edit" | "Write" | "MultiEdit" => "file_path",
        "NotebookEdit" => "notebook_path",
        "Grep" | "Glob" => "path",
        "WebFetch" => "url",
        "Agent" | "Task" => "subagent_type",
        "Monitor" => "command",
        other => panic!("no short form for {other}"),
    };
    let mut input = json!({ field: rest });
    if tool == "Glob" {
        input["pattern"] = json!("*");
    }
    (tool.to_owned(), input)
}

/// The decision as one word.
pub(crate) fn word(resolution: &Resolution) -> &'static str {
    match resolution.verdict {
        Verdict::Decided(Decision::Allow) => "allow",
        Verdict::Decided(Decision::Ask) => "ask",
        Verdict::Decided(Decision::Deny) => "deny",
        Verdict::NeedsClassifier { .. } => "classify",
        Verdict::Deferred => "defer",
    }
}

/// How strict a verdict is.
pub(crate) fn strictness(resolution: &Resolution) -> u8 {
    match resolution.verdict {
        Verdict::Decided(Decision::Allow) => 0,
        Verdict::NeedsClassifier { .. } => 1,
        Verdict::Decided(Decision::Ask) => 2,
        Verdict::Deferred => 3,
        Verdict::Decided(Decision::Deny) => 4,
    }
}

/// A part that runs in the session's directory: `!` before it marks one that only reads.
pub(crate) fn part(text: &str) -> Part {
    let read_only = text.starts_with('!');
    let text = text.trim_start_matches('!');
    Part {
        text: text.to_owned(),
        argv: text
            .split(' ')
            .map(|word| (!word.starts_with('$')).then(|| word.to_owned()))
            .collect(),
        expands: text.contains('$'),
        read_only,
        complete: read_only,
        cwd: Some(PathBuf::from(CWD)),
        ..Part::default()
    }
}

/// A shell call of hand-made parts.
pub(crate) fn shell(parts: Vec<Part>) -> CallFacts {
    let command = parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join(" && ");
    let mut facts =
        CallFacts::new("Bash", json!({ "command": command })).with_need(Need::ByTargets);
    facts.command = Some(command);
    facts.parts = parts;
    facts
}
