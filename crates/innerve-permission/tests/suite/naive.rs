//! A second engine, straight from the specification: slow, obvious, and without a line of the first one. Both must agree on
//! every combination of a few rules, modes, hooks and calls.
//!
//! The specification is the documentation of Claude Code's permissions, modes and hooks, with the project's own decisions
//! on top (README).

use std::path::PathBuf;

use innerve_permission::{
    CallFacts, Descent, Effect, EffectSet, HookVoice, Need, Part, PathTarget, Place, Policy, Rule,
    Target, Voices, resolve,
};
use serde_json::json;

use crate::kit::{CWD, HOME, TableDisk, rule, word};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Behavior {
    Allow,
    Ask,
    Deny,
}

/// How sure it is that a rule speaks of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Speaks {
    No,
    Maybe,
    Yes,
}

const MODES: [&str; 6] = ["default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"];

/// What holds besides the call.
#[derive(Clone, Debug)]
struct Situation<'a> {
    rules: &'a [(Behavior, &'a str)],
    mode: &'a str,
    bypass_available: bool,
    classifier_available: bool,
    headless: bool,
    hook: Option<&'a str>,
}

/// One call, described in so few words that both engines can be told.
#[derive(Clone, Debug)]
enum Call {
    Shell(Vec<Command>),
    /// A command that no analyzer understands.
    Opaque(&'static str),
    Read(&'static str),
    Edit(&'static str),
    Fetch(&'static str),
    Agent(&'static str),
    Mcp(&'static str),
    /// A tool in which a person takes part.
    Person,
    /// A tool that needs no permission.
    Harmless,
}

/// A simple command; a word `?` is not known.
#[derive(Clone, Debug, Default)]
struct Command {
    text: &'static str,
    only_reads: bool,
    reads: Option<&'static str>,
    deletes: Option<&'static str>,
    redirected: Option<&'static str>,
}

// ---------------------------------------------------------------------------------------------------------------------
// What rules say.

/// Whether `pattern`, in which a star is any text, is all of `text`.
fn stars(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => text.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len()).any(|from| rest.get(from..).is_some_and(|rest| stars(after, rest)))
        }),
    }
}

/// A command pattern: a blank and a star at its end may also be nothing.
fn command_pattern(pattern: &str, text: &str) -> bool {
    stars(pattern, text) || pattern.strip_suffix(" *").is_some_and(|bare| stars(bare, text))
}

/// The pattern in `Bash(pattern)`; a star for `Bash` alone.
fn specifier<'a>(rule: &'a str, tool: &str) -> Option<&'a str> {
    if rule == tool || rule == "*" {
        return Some("*");
    }
    rule.strip_prefix(tool)?.strip_prefix('(')?.strip_suffix(')')
}

/// Every way to read the command that leads to the same program: as it is, and behind `sudo`.
fn readings(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split(' ').collect();
    match words.as_slice() {
        ["sudo", rest @ ..] => {
            let behind = (0..rest.len()).map(|from| rest[from..].join(" "));
            std::iter::once(text.to_owned()).chain(behind).collect()
        }
        _ => vec![text.to_owned()],
    }
}

/// Whether a deny or ask rule about `Bash` speaks of a command.
fn speaks_of_command(rule: &str, text: &str) -> Speaks {
    let Some(pattern) = specifier(rule, "Bash") else { return Speaks::No };
    let mut speaks = Speaks::No;
    for reading in readings(text) {
        if command_pattern(pattern, &reading.replace('?', "\0")) {
            return Speaks::Yes;
        }
        // Some value of the unknown word, or none at all, makes it match.
        let values = ["", " ", " x", " y", " f", " x y"];
        if reading.contains(" ?")
            && values.iter().any(|value| command_pattern(pattern, &reading.replace(" ?", value)))
        {
            speaks = Speaks::Maybe;
        }
    }
    speaks
}

/// Whether a path pattern covers an absolute path; `deny` finds a lone `dir/**` at any depth.
fn covers(pattern: &str, path: &str, behavior: Behavior, roots: bool) -> bool {
    if pattern == "*" {
        return true;
    }
    if let Some(from_root) = pattern.strip_prefix("//") {
        return lies_in(&format!("/{from_root}"), path, roots);
    }
    let Some(inside) = path.strip_prefix("/repo/") else { return false };
    let lone = !pattern.trim_end_matches("/**").contains('/');
    let any_depth = lone && (behavior != Behavior::Allow || !pattern.ends_with("/**"));
    if !any_depth {
        return lies_in(pattern, inside, roots);
    }
    let names: Vec<&str> = inside.split('/').collect();
    (0..names.len()).any(|from| lies_in(pattern, &names[from..].join("/"), roots))
}

/// Whether the path is what the pattern names, or lies in it.
fn lies_in(pattern: &str, path: &str, roots: bool) -> bool {
    match pattern.strip_suffix("/**") {
        Some(directory) => {
            path.starts_with(&format!("{directory}/")) || (roots && path == directory)
        }
        None => path == pattern || path.starts_with(&format!("{pattern}/")),
    }
}

/// The path from the root.
fn absolute(path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("/repo/{path}") }
}

fn speaks_of_path(rule: &str, tool: &str, path: &str, behavior: Behavior) -> bool {
    specifier(rule, tool).is_some_and(|pattern| {
        pattern != "*" && covers(pattern, &absolute(path), behavior, true)
            || pattern == "*" && rule != "*"
    })
}

/// Whether a rule about editing names a place within a directory that is removed.
fn names_within(rule: &str, directory: &str) -> bool {
    let pattern = specifier(rule, "Edit").unwrap_or_default();
    pattern.strip_prefix("//").is_some_and(|place| {
        format!("/{place}").starts_with(&format!("{}/", absolute(directory).trim_end_matches('/')))
    })
}

/// Whether a deny or ask rule speaks of the call.
fn speaks(behavior: Behavior, rule: &str, call: &Call) -> Speaks {
    let certainly = |it: bool| if it { Speaks::Yes } else { Speaks::No };
    if rule == "*" {
        return Speaks::Yes;
    }
    let read = |path| speaks_of_path(rule, "Read", path, behavior);
    // Who may not read a file may not write it either.
    let write = |path| {
        speaks_of_path(rule, "Edit", path, behavior)
            || behavior == Behavior::Deny
                && rule != "Read"
                && speaks_of_path(rule, "Read", path, behavior)
    };
    match call {
        Call::Shell(commands) => commands
            .iter()
            .map(|command| {
                let touches = command.reads.is_some_and(read)
                    || [command.deletes, command.redirected].into_iter().flatten().any(write);
                let goes_too = command.deletes.is_some_and(|path| names_within(rule, path));
                let goes_too = if goes_too { Speaks::Maybe } else { Speaks::No };
                speaks_of_command(rule, command.text).max(certainly(touches)).max(goes_too)
            })
            .max()
            .unwrap_or(Speaks::No),
        Call::Opaque(text) => {
            let Some(pattern) = specifier(rule, "Bash") else { return Speaks::No };
            let words: Vec<&str> = text.split(' ').collect();
            let somewhere = (0..words.len()).any(|from| {
                (from + 1..=words.len())
                    .any(|to| command_pattern(pattern, &words[from..to].join(" ")))
            });
            // As far as its beginning is plain, it is what it looks like.
            match (rule == "Bash" || command_pattern(pattern, text), somewhere) {
                (true, _) => Speaks::Yes,
                (false, true) => Speaks::Maybe,
                (false, false) => Speaks::No,
            }
        }
        Call::Read(path) => certainly(rule == "Read" || read(path)),
        Call::Edit(path) => certainly(rule == "Edit" || write(path)),
        Call::Fetch(host) => certainly(
            rule == "WebFetch" || specifier(rule, "WebFetch") == Some(&format!("domain:{host}")),
        ),
        Call::Agent(name) => certainly(rule == "Agent" || specifier(rule, "Agent") == Some(name)),
        Call::Mcp(name) => certainly(name.strip_prefix(rule).is_some_and(|rest| {
            rule.starts_with("mcp__") && (rest.is_empty() || rest.starts_with("__"))
        })),
        Call::Person => certainly(rule == "AskUserQuestion"),
        Call::Harmless => certainly(rule == "TodoWrite"),
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// What lets run.

impl Situation<'_> {
    fn allow_rules(&self) -> impl Iterator<Item = &str> {
        let allow = self.rules.iter().filter(|(behavior, _)| *behavior == Behavior::Allow);
        // Mode auto suspends what allows anything at all.
        allow.map(|(_, rule)| *rule).filter(|rule| {
            let suspended = ["Bash", "Bash(* x)", "Agent", "Agent(E)"].contains(rule);
            !(self.mode == "auto" && suspended)
        })
    }

    fn may_read(&self, path: &str) -> bool {
        let path = absolute(path);
        let by_rule = |rule: &str| {
            let read =
                specifier(rule, "Read").is_some_and(|it| covers(it, &path, Behavior::Allow, true));
            // Who may edit a file may read it; a rule for all of Edit says nothing of reading.
            let edit = specifier(rule, "Edit")
                .is_some_and(|it| it != "*" && covers(it, &path, Behavior::Allow, true));
            read || edit
        };
        path.starts_with("/repo/") || self.mode == "auto" || self.allow_rules().any(by_rule)
    }

    fn may_write(&self, path: &str, accepting: &[&str]) -> bool {
        let path = absolute(path);
        let by_mode = accepting.contains(&self.mode) && path.starts_with("/repo/");
        by_mode
            || self.allow_rules().any(|rule| {
                specifier(rule, "Edit").is_some_and(|it| covers(it, &path, Behavior::Allow, false))
            })
    }

    fn allows_command(&self, command: &Command) -> bool {
        let known = !command.text.contains('?');
        let runs_anything = command.text.starts_with("sudo ");
        self.allow_rules().any(|rule| match specifier(rule, "Bash") {
            None => false,
            Some("*") => true,
            Some(pattern) if pattern.contains('*') => {
                known && !runs_anything && command_pattern(pattern, command.text)
            }
            Some(exact) => command.text == exact,
        })
    }

    fn allows_part(&self, command: &Command) -> bool {
        let edits = self.mode == "acceptEdits"
            && command.text.starts_with("rm ")
            && command.deletes.is_some_and(|path| absolute(path).starts_with("/repo/"));
        let runs = command.only_reads || edits || self.allows_command(command);
        runs && command.redirected.is_none_or(|path| self.may_write(path, &["acceptEdits"]))
    }

    /// Whether something lets the call run without a question.
    fn approves(&self, call: &Call) -> bool {
        let names = |rules: &[&str]| self.allow_rules().any(|rule| rules.contains(&rule));
        match call {
            Call::Shell(commands) => {
                names(&["Bash"]) || commands.iter().all(|command| self.allows_part(command))
            }
            Call::Opaque(text) => self
                .allow_rules()
                .any(|rule| rule == "Bash" || specifier(rule, "Bash") == Some(text)),
            Call::Read(path) => self.may_read(path),
            Call::Edit(path) => self.may_write(path, &["acceptEdits", "auto"]),
            Call::Fetch(host) => {
                names(&["WebFetch"])
                    || self.allow_rules().any(|rule| rule == format!("WebFetch(domain:{host})"))
            }
            Call::Agent(_) => self.mode != "auto",
            Call::Mcp(name) => self.allow_rules().any(|rule| {
                name.strip_prefix(rule)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with("__"))
            }),
            Call::Person => names(&["AskUserQuestion"]),
            Call::Harmless => true,
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Special places.

impl Call {
    fn commands(&self) -> &[Command] {
        if let Self::Shell(commands) = self { commands } else { &[] }
    }

    fn written(&self) -> Vec<&str> {
        let by_commands = self.commands().iter().flat_map(|it| [it.deletes, it.redirected]);
        let by_tool = if let Self::Edit(path) = self { Some(*path) } else { None };
        by_commands.chain([by_tool]).flatten().collect()
    }

    fn is_critical(&self) -> bool {
        self.commands().iter().any(|command| command.deletes == Some("/"))
    }

    fn is_protected(&self) -> bool {
        self.written().iter().any(|path| path.contains(".git/"))
    }

    fn secret(&self) -> Option<&str> {
        let by_tool = if let Self::Read(path) = self { Some(*path) } else { None };
        let by_commands = self.commands().iter().filter_map(|command| command.reads);
        by_commands.chain(by_tool).find(|path| *path == ".env")
    }

    fn is_shell(&self) -> bool {
        matches!(self, Self::Shell(_) | Self::Opaque(_))
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// The order of resolution.

/// The decision, step by step.
fn decide(it: &Situation<'_>, call: &Call) -> &'static str {
    let strongest = |behavior: Behavior| {
        let of_kind = it.rules.iter().filter(|(kind, _)| *kind == behavior);
        of_kind.map(|(_, rule)| speaks(behavior, rule, call)).max().unwrap_or(Speaks::No)
    };
    let (denying, asking) = (strongest(Behavior::Deny), strongest(Behavior::Ask));
    let everything_runs =
        it.mode == "bypassPermissions" || it.mode == "plan" && it.bypass_available;
    let classified =
        it.mode == "auto" || it.mode == "plan" && it.classifier_available && !it.bypass_available;
    let question = if it.headless || it.mode == "dontAsk" { "deny" } else { "ask" };
    let question_or_classifier = if classified { "classify" } else { question };
    let hook_allows = matches!(it.hook, Some("allow" | "answer"));

    // Denies of rules and hooks, in every mode.
    if denying == Speaks::Yes || it.hook == Some("deny") {
        return "deny";
    }
    if it.hook == Some("defer") {
        return "defer";
    }

    // What forces a question.
    let by_rule = asking == Speaks::Yes || denying == Speaks::Maybe;
    if !by_rule && it.hook == Some("ask") && it.mode == "auto" && !it.headless {
        return "classify";
    }
    let by_person = matches!(call, Call::Person) && it.hook != Some("answer");
    if by_rule || it.hook == Some("ask") || asking == Speaks::Maybe || by_person {
        return question;
    }

    // What no rule can clear.
    if call.is_critical() {
        return question_or_classifier;
    }
    let cleared = everything_runs || hook_allows;
    if call.is_protected() && !cleared {
        return question_or_classifier;
    }
    let opaque = matches!(call, Call::Opaque(_));
    if opaque && !cleared && (it.mode == "plan" || !it.approves(call)) {
        return question_or_classifier;
    }
    if let Some(secret) = call.secret()
        && !cleared
        && !names_secret(it, call, secret)
    {
        return question_or_classifier;
    }

    // The mode.
    if everything_runs {
        return "allow";
    }
    if it.mode == "plan" {
        let only_reads = call
            .commands()
            .iter()
            .all(|command| command.only_reads && command.redirected.is_none());
        let may_change = opaque || !only_reads;
        if call.is_shell() && may_change && !hook_allows {
            return question_or_classifier;
        }
        if matches!(call, Call::Edit(_)) {
            return question;
        }
    }

    // What approves.
    if hook_allows || it.approves(call) {
        return "allow";
    }
    question_or_classifier_of(it, question)
}

/// What nothing approves: a classifier in mode auto, a person elsewhere.
fn question_or_classifier_of(it: &Situation<'_>, question: &'static str) -> &'static str {
    if it.mode == "auto" { "classify" } else { question }
}

/// Whether an allow rule names the secret's path, or the whole command that reads it.
fn names_secret(it: &Situation<'_>, call: &Call, secret: &str) -> bool {
    let by_path = |rule: &str| {
        ["Read", "Edit"].iter().any(|tool| {
            specifier(rule, tool).is_some_and(|pattern| {
                pattern != "*" && covers(pattern, &absolute(secret), Behavior::Allow, true)
            })
        })
    };
    let by_text = |rule: &str| {
        let texts: Vec<&str> = call.commands().iter().map(|command| command.text).collect();
        specifier(rule, "Bash").is_some_and(|exact| texts == [exact])
    };
    it.allow_rules().any(|rule| by_path(rule) || by_text(rule))
}

// ---------------------------------------------------------------------------------------------------------------------
// The same told to the first engine.

fn facts(call: &Call) -> CallFacts {
    let disk = TableDisk::default();
    let place = Place { cwd: CWD.as_ref(), home: HOME.as_ref(), disk: &disk };
    let path = |given: &str| PathTarget::new(given, place);
    let from =
        |tool: &str, input| innerve_permission::facts::from_call(tool, &input, place).unwrap();
    match call {
        Call::Shell(commands) => {
            let texts: Vec<String> = commands
                .iter()
                .map(|command| match command.redirected {
                    Some(file) => format!("{} > {file}", command.text),
                    None => command.text.to_owned(),
                })
                .collect();
            let command = texts.join(" && ");
            let mut facts =
                CallFacts::new("Bash", json!({ "command": command })).with_need(Need::ByTargets);
            facts.command = Some(command);
            facts.parts = commands.iter().map(|command| part(command, &path)).collect();
            facts
        }
        Call::Opaque(text) => {
            let mut facts =
                CallFacts::new("Bash", json!({ "command": text })).with_need(Need::ByTargets);
            facts.command = Some((*text).to_owned());
            facts.opaque = Some(("syntax".to_owned(), "it does not end".to_owned()));
            facts
        }
        Call::Read(path) => from("Read", json!({ "file_path": path })),
        Call::Edit(path) => from("Edit", json!({ "file_path": path })),
        Call::Fetch(host) => from("WebFetch", json!({ "url": format!("https://{host}/") })),
        Call::Agent(name) => from("Agent", json!({ "subagent_type": name })),
        Call::Mcp(name) => CallFacts::new(*name, json!({})),
        Call::Person => from("AskUserQuestion", json!({})),
        Call::Harmless => from("TodoWrite", json!({})),
    }
}

fn part(command: &Command, path: &dyn Fn(&str) -> PathTarget) -> Part {
    let argv: Vec<Option<String>> =
        command.text.split(' ').map(|word| (word != "?").then(|| word.to_owned())).collect();
    let reads = command.reads.map(|given| Target::Read(path(given)));
    let deletes = command.deletes.map(|given| Target::Delete(path(given)));
    let effects = match (command.only_reads, command.deletes) {
        (true, _) => EffectSet::of(&[Effect::Read]),
        (false, Some(_)) => EffectSet::of(&[Effect::Delete]),
        (false, None) => EffectSet::NONE,
    };
    Part {
        text: command.text.replace('?', "$v"),
        expands: argv.contains(&None),
        argv,
        read_only: command.only_reads,
        complete: !effects.is_empty(),
        effects,
        targets: reads.into_iter().chain(deletes).collect(),
        descent: Descent::None,
        redirected: command.redirected.iter().map(|given| Target::Write(path(given))).collect(),
        cwd: Some(PathBuf::from(CWD)),
        ..Part::default()
    }
}

fn voices(hook: Option<&str>) -> Voices {
    let hook = hook.map(|word| match word {
        "allow" => HookVoice::Allow,
        "answer" => HookVoice::Answer,
        "ask" => HookVoice::Ask("why".to_owned()),
        "deny" => HookVoice::Deny("why".to_owned()),
        _ => HookVoice::Defer,
    });
    Voices { hook, objection: None }
}

fn policy(it: &Situation<'_>, rules: &[Rule]) -> Policy {
    let mut policy = Policy::new(CWD, HOME);
    policy.mode = it.mode.parse().unwrap();
    policy.bypass_available = it.bypass_available;
    policy.classifier_available = it.classifier_available;
    policy.headless = it.headless;
    policy.rules = rules.iter().cloned().collect();
    policy
}

fn calls() -> Vec<Call> {
    let unknown = |text| Command { text, ..Command::default() };
    let reads = |text, reads| Command { text, only_reads: true, reads, ..Command::default() };
    let removes = |text, path| Command { text, deletes: Some(path), ..Command::default() };
    let writes = |text, path| Command { text, redirected: Some(path), ..Command::default() };
    let mut calls: Vec<Call> = [
        vec![unknown("a x")],
        vec![unknown("a")],
        vec![unknown("ab x")],
        vec![unknown("a ?")],
        vec![unknown("sudo a x")],
        vec![reads("ls", None)],
        vec![reads("cat f", Some("f"))],
        vec![reads("cat .env", Some(".env"))],
        vec![removes("rm f", "f")],
        vec![removes("rm /", "/")],
        vec![writes("a x", "f")],
        vec![writes("ls", ".git/h")],
        vec![reads("ls", None), unknown("a x")],
        vec![unknown("a x"), removes("rm f", "f")],
        vec![unknown("a x"), unknown("ab x")],
    ]
    .map(Call::Shell)
    .into();
    calls.extend([
        Call::Opaque("if a x"),
        Call::Opaque("if b"),
        Call::Read("f"),
        Call::Read("d/f"),
        Call::Read("/etc/f"),
        Call::Read(".env"),
        Call::Edit("f"),
        Call::Edit("e/d/f"),
        Call::Edit("/etc/f"),
        Call::Edit(".git/h"),
        Call::Fetch("h"),
        Call::Agent("E"),
        Call::Mcp("mcp__s__t"),
        Call::Person,
        Call::Harmless,
    ]);
    calls
}

const RULES: [&str; 16] = [
    "Bash",
    "Bash(a *)",
    "Bash(a x)",
    "Bash(* x)",
    "Bash(rm *)",
    "Bash(sudo a x)",
    "Bash(cat .env)",
    "Read",
    "Read(f)",
    "Read(.env)",
    "Edit",
    "Edit(d/**)",
    "Edit(//etc/**)",
    "WebFetch(domain:h)",
    "mcp__s",
    "Agent(E)",
];

const HOOKS: [Option<&str>; 6] =
    [None, Some("allow"), Some("answer"), Some("ask"), Some("deny"), Some("defer")];

fn all_rules() -> Vec<(Behavior, &'static str)> {
    let kinds = [Behavior::Allow, Behavior::Ask, Behavior::Deny];
    kinds.into_iter().flat_map(|kind| RULES.map(|text| (kind, text))).collect()
}

/// Asks both engines about every call in every mode, and counts.
fn agree(rules: &[(Behavior, &str)], hooks: &[Option<&str>], headless: &[bool]) -> usize {
    let parsed: Vec<Rule> = rules
        .iter()
        .map(|(kind, text)| {
            let kind = match kind {
                Behavior::Allow => "allow",
                Behavior::Ask => "ask",
                Behavior::Deny => "deny",
            };
            rule(&format!("{kind} {text}"))
        })
        .collect();
    let calls: Vec<(Call, CallFacts)> =
        calls().into_iter().map(|call| (call.clone(), facts(&call))).collect();
    let plain = MODES.map(|mode| (mode, mode == "bypassPermissions", mode == "auto"));
    let mut count = 0;
    for (mode, bypass_available, classifier_available) in plain.into_iter().chain([
        ("plan", true, false),
        ("plan", false, true),
        ("plan", true, true),
    ]) {
        for headless in headless {
            let it = Situation {
                rules,
                mode,
                bypass_available,
                classifier_available,
                headless: *headless,
                hook: None,
            };
            let policy = policy(&it, &parsed);
            for hook in hooks {
                let it = Situation { hook: *hook, ..it.clone() };
                let voices = voices(*hook);
                for (call, facts) in &calls {
                    let resolution = resolve(&policy, facts, &voices);
                    assert_eq!(
                        word(&resolution),
                        decide(&it, call),
                        "{call:?}\n{it:?}\n{:?}",
                        resolution.reason
                    );
                    count += 1;
                }
            }
        }
    }
    count
}

#[test]
fn a_naive_engine_agrees_about_every_rule_hook_and_mode() {
    let mut count = agree(&[], &HOOKS, &[false, true]);
    for rule in all_rules() {
        count += agree(&[rule], &HOOKS, &[false, true]);
    }
    assert!(count > 100_000, "{count}");
}

#[test]
fn a_naive_engine_agrees_about_every_pair_of_rules() {
    let rules = all_rules();
    let mut count = 0;
    for (index, first) in rules.iter().enumerate() {
        for second in &rules[index + 1..] {
            count += agree(&[*first, *second], &[None], &[false]);
        }
    }
    assert!(count > 200_000, "{count}");
}
