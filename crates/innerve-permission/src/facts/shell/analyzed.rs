//! Facts from the shell analyzer.

use std::path::{Path, PathBuf};

use innerve_bash::{Analysis, Class, Command, Context, Word, analyze_in};

use super::{MAX_COMMAND, opaque};
use crate::facts::{CallFacts, EffectSet, Need, Part, PathTarget, Place, Target, words};

pub(crate) fn facts(strict: CallFacts, command: &str, place: Place<'_>) -> CallFacts {
    if command.len() > MAX_COMMAND {
        let message = format!("the command is longer than {MAX_COMMAND} bytes");
        return opaque(strict, command, "too_large", &message);
    }
    let analysis = analyze_in(command, place.cwd.to_str());
    let parts = parts(analysis.commands(), place);
    let mut facts = match &analysis {
        Analysis::Opaque(found) => {
            opaque(strict, command, found.reason.code.name(), &found.reason.message)
        }
        Analysis::Commands(_) => {
            let mut facts = strict.with_need(Need::ByTargets);
            facts.command = Some(command.to_owned());
            facts
        }
    };
    facts.effects = analysis.effects().into();
    facts.complete = analysis.complete();
    facts.parts = parts;
    facts
}

fn parts(commands: &[Command], place: Place<'_>) -> Vec<Part> {
    let mut walk = Walk::new(place);
    commands.iter().map(|command| walk.part(command)).collect()
}

/// The directory as the commands change it, one for the text and one for what runs in subshells.
struct Walk<'a> {
    place: Place<'a>,
    top: Option<PathBuf>,
    inner: Option<Option<PathBuf>>,
    /// Directories that an earlier part makes.
    made: Vec<PathBuf>,
}

impl<'a> Walk<'a> {
    fn new(place: Place<'a>) -> Self {
        Self { place, top: Some(place.cwd.to_path_buf()), inner: None, made: Vec::new() }
    }

    fn part(&mut self, command: &Command) -> Part {
        let isolated = match command.context {
            Context::Substitution | Context::Subshell | Context::Background => true,
            Context::Top | Context::Function | Context::Loop | Context::Condition => false,
        };
        let cwd = if isolated {
            self.inner.clone().unwrap_or_else(|| self.top.clone())
        } else {
            self.top.clone()
        };
        let part = build(command, cwd.as_deref(), self.place);
        let name = part.argv.first().and_then(Option::as_deref);
        if name == Some("mkdir") {
            self.made.extend(part.targets.iter().filter_map(|target| target.path()?.path.clone()));
        }
        let moves = matches!(name, Some("cd" | "pushd" | "popd"));
        if moves {
            // In a loop, a branch or a function nobody knows whether and how often it happens.
            let certain = isolated || command.context == Context::Top;
            let destination = if certain { self.destination(&part) } else { None };
            if isolated {
                self.inner = Some(destination);
            } else {
                self.top = destination;
                self.inner = None;
            }
        }
        part
    }

    /// Where a `cd` leads; `None` if that is not certain.
    fn destination(&self, part: &Part) -> Option<PathBuf> {
        let path = match part.targets.as_slice() {
            [Target::Read(target)] => target.path.clone()?,
            _ => return None,
        };
        // A `cd` that fails leaves the rest where it was.
        (self.made.contains(&path) || self.place.disk.resolve(&path).exists).then_some(path)
    }
}

fn build(command: &Command, cwd: Option<&Path>, place: Place<'_>) -> Part {
    let argv: Vec<Option<String>> =
        command.argv.iter().map(|word| words::value(word, cwd, place)).collect();
    let redirected = redirected(command, cwd, place);
    let name = command.name();
    let targets = match name {
        Some("cd" | "pushd") => vec![Target::Read(directory(&argv, cwd, place))],
        Some("popd") => vec![Target::Read(PathTarget::unknown("popd"))],
        _ => touched(command, &argv, cwd, place),
    };
    let assignments = command
        .assignments
        .iter()
        .map(|assignment| (assignment.name.clone(), words::is_harmless(assignment)))
        .collect();
    let mut part = Part {
        text: command.text(),
        expands: command.argv.iter().any(words::expands),
        argv,
        assignments,
        unwrapped_from: command.unwrapped_from.clone(),
        read_only: command.class <= Class::ReadOnly || only_redirects(command, &redirected),
        neutral: command.class == Class::Neutral,
        effects: EffectSet::from(command.effects),
        complete: command.complete,
        targets,
        redirected,
        cwd: cwd.map(Path::to_path_buf),
        concern: None,
    };
    if name == Some("git") && part.read_only {
        part.concern = git_concern(cwd, place);
        part.read_only = part.concern.is_none();
    }
    part
}

/// What keeps a git command that reads from being free: git runs programs that the repository's configuration names.
fn git_concern(cwd: Option<&Path>, place: Place<'_>) -> Option<(String, String)> {
    let concern = |message: String| Some(("git_config".to_owned(), message));
    let Some(cwd) = cwd else {
        return concern("git runs in a directory that is not known".to_owned());
    };
    if cwd != place.cwd && !place.disk.same_working_tree(place.cwd, cwd) {
        return concern(format!("git runs in another repository, `{}`", cwd.display()));
    }
    let programs = place.disk.git_programs(cwd);
    match programs.first() {
        None => None,
        Some(program) => concern(format!("git's configuration here runs `{program}`")),
    }
}

/// The directory operand of `cd`.
fn directory(argv: &[Option<String>], cwd: Option<&Path>, place: Place<'_>) -> PathTarget {
    let mut operands =
        argv.iter().skip(1).filter(|word| !matches!(word.as_deref(), Some("--" | "-P" | "-L")));
    match (operands.next(), operands.next()) {
        (None, _) => PathTarget::new("~", place),
        // `cd -` goes where it was before, and with CDPATH or options nobody knows.
        (Some(Some(operand)), None) if !operand.starts_with('-') && !operand.is_empty() => {
            PathTarget::within(operand, cwd, place)
        }
        _ => PathTarget::unknown("cd"),
    }
}

/// The files of the redirections.
fn redirected(command: &Command, cwd: Option<&Path>, place: Place<'_>) -> Vec<Target> {
    use innerve_bash::RedirectionKind as Kind;
    let mut targets = Vec::new();
    for redirection in &command.redirections {
        let path = |word: &Word| match words::value(word, cwd, place) {
            Some(given) if given.starts_with("/dev/tcp/") || given.starts_with("/dev/udp/") => {
                PathTarget::unknown(given)
            }
            Some(given) => PathTarget::within(&given, cwd, place),
            None => PathTarget::unknown(raw(word)),
        };
        match redirection.kind {
            Kind::Read => targets.push(Target::Read(path(&redirection.target))),
            Kind::Write | Kind::Append => {
                if !is_harmless_device(&redirection.target) {
                    targets.push(Target::Write(path(&redirection.target)));
                }
            }
            Kind::Duplicate | Kind::Text => {}
        }
    }
    targets
}

fn raw(word: &Word) -> &str {
    match word {
        Word::Literal(text) => text,
        Word::Dynamic(dynamic) => &dynamic.raw,
    }
}

fn is_harmless_device(word: &Word) -> bool {
    matches!(word.literal(), Some("/dev/null" | "/dev/stdout" | "/dev/stderr"))
}

/// Whether the command itself writes nothing, so that only its redirections do.
fn only_redirects(command: &Command, redirected: &[Target]) -> bool {
    let writes = redirected.iter().filter(|target| matches!(target, Target::Write(_))).count();
    let harmless =
        innerve_bash::Effects::of(&[innerve_bash::Effect::Read, innerve_bash::Effect::Write]);
    writes > 0
        && command.complete
        && command.class == Class::Write
        && command.effects.union(harmless) == harmless
        && command.deletes.is_empty()
        && command.writes.len() <= writes
}

/// What the operands touch: the analyzer's lists, with words that the place can tell filled in.
fn touched(
    command: &Command,
    argv: &[Option<String>],
    cwd: Option<&Path>,
    place: Place<'_>,
) -> Vec<Target> {
    let words =
        || command.argv.iter().zip(argv).skip(1).filter(|(word, _)| word.literal().is_none());
    let filled: Vec<&str> = words().filter_map(|(_, value)| value.as_deref()).collect();
    let unknown: Vec<&str> =
        words().filter(|(_, value)| value.is_none()).map(|(word, _)| raw(word)).collect();
    let mut targets = Vec::new();
    let lists: [(&[Option<String>], fn(PathTarget) -> Target); 3] = [
        (&command.reads, Target::Read),
        (&command.writes, Target::Write),
        (&command.deletes, Target::Delete),
    ];
    for (list, target) in lists {
        for given in list.iter().flatten() {
            targets.push(target(PathTarget::within(given, Some(place.cwd), place)));
        }
        let dynamic = list.iter().filter(|given| given.is_none()).count();
        if dynamic == 0 {
            continue;
        }
        // Which word stands behind an unknown operand is not told, so each may.
        targets.extend(filled.iter().map(|given| target(PathTarget::within(given, cwd, place))));
        if !unknown.is_empty() || filled.is_empty() {
            targets.push(target(PathTarget::unknown(unknown.join(" "))));
        }
    }
    if let [Some(name), Some(file), ..] = argv
        && (name == "." || name == "source")
    {
        targets.push(Target::Read(PathTarget::within(file, cwd, place)));
    }
    targets
}
