//! Facts from the shell analyzer.

use std::path::{Path, PathBuf};

use innerve_bash::{
    Analysis, Assignment, Class, Command, Effect, RedirectionKind, Word, WordPart, analyze,
    analyze_in, is_secret_path,
};

use super::walk::Walk;
use super::{MAX_COMMAND, changes, descent, links, opaque};
use crate::facts::{CallFacts, Descent, EffectSet, Need, Part, PathTarget, Place, Target, words};

/// Shells that read commands from their input.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh"];

/// Stands for an operand whose text is not known.
const UNKNOWN: &str = "…";

pub(crate) fn facts(strict: CallFacts, command: &str, place: Place<'_>) -> CallFacts {
    if command.len() > MAX_COMMAND {
        let message = format!("the command is longer than {MAX_COMMAND} bytes");
        return opaque(strict, command, "too_large", &message);
    }
    let analysis = analyze_in(command, place.cwd.to_str());
    let mut facts = match &analysis {
        Analysis::Commands(_) => {
            let mut facts = strict.with_need(Need::ByTargets);
            facts.command = Some(command.to_owned());
            facts
        }
        Analysis::Opaque(found) => {
            opaque(strict, command, found.reason.code.name(), &found.reason.message)
        }
    };
    facts.effects = analysis.effects().into();
    facts.complete = analysis.is_complete();
    facts.parts = parts(command, analysis.commands(), place);
    if facts.opaque.is_some() {
        facts.parts.extend(hidden(command, analysis.commands(), place));
    }
    facts
}

fn parts(text: &str, commands: &[Command], place: Place<'_>) -> Vec<Part> {
    let mut walk = Walk::new(text, place);
    commands
        .iter()
        .map(|command| {
            let cwd = walk.enter(command);
            let site = Site {
                place,
                cwd: cwd.as_deref(),
                diverged: walk.diverged(),
                piped: walk.is_piped(command.span.start),
            };
            let part = build(command, site);
            walk.leave(command, &part);
            part
        })
        .collect()
}

/// What a command that is not understood runs for certain all the same, for deny and ask rules: the commands of the text
/// with its continued lines joined, and of literal text that is given to a shell.
fn hidden(text: &str, found: &[Command], place: Place<'_>) -> Vec<Part> {
    let mut texts = Vec::new();
    let joined = text.replace("\\\n", "");
    if joined != text {
        texts.push(joined);
    }
    for command in found {
        let name = command.name().map(|name| name.rsplit('/').next().unwrap_or(name));
        if name.is_some_and(|name| SHELLS.contains(&name)) {
            let given = command.redirections.iter().filter(|it| it.kind == RedirectionKind::Text);
            texts.extend(given.filter_map(|it| it.target.literal()).map(str::to_owned));
        }
    }
    texts
        .iter()
        .flat_map(|text| parts(text, analyze_in(text, place.cwd.to_str()).commands(), place))
        .collect()
}

/// Where one command runs.
#[derive(Clone, Copy)]
pub(super) struct Site<'a> {
    pub(super) place: Place<'a>,
    /// The directory, if it is known.
    cwd: Option<&'a Path>,
    /// Whether the analyzer has lost the directory, so that it reports relative operands as unknown.
    diverged: bool,
    /// Whether something is written to its input.
    piped: bool,
}

impl Site<'_> {
    fn value(self, word: &Word) -> Option<String> {
        words::value(word, self.cwd, self.place)
    }

    pub(super) fn shape(self, word: &Word) -> String {
        words::shape(word, self.cwd, self.place)
    }

    pub(super) fn path(self, given: &str) -> PathTarget {
        PathTarget::within(given, self.cwd, self.place)
    }

    /// The targets of a word that is not known: itself, and what it reaches through links.
    fn unknown(self, shape: &str, target: fn(PathTarget) -> Target) -> Vec<Target> {
        let mut targets = vec![target(PathTarget::unknown(shape))];
        for beyond in links::behind(shape, self.place) {
            let target = target(beyond.target);
            // Removing a link leaves what it leads to.
            if !(beyond.is_link && matches!(target, Target::Delete(_))) {
                targets.push(target);
            }
        }
        targets
    }
}

fn build(command: &Command, site: Site<'_>) -> Part {
    let argv: Vec<Option<String>> = command.argv.iter().map(|word| site.value(word)).collect();
    let redirected = redirected(command, site);
    let name = command.name();
    let mut targets = match name {
        Some("cd" | "pushd") => vec![Target::Read(directory(&argv, site))],
        Some("popd") => vec![Target::Read(PathTarget::unknown("popd"))],
        Some(_) | None => touched(command, &argv, site),
    };
    if !command.complete && targets.is_empty() {
        targets.extend(named_by_patterns(command, &argv, site));
    }
    let may_change = changes::of(command, &argv, &mut targets, site);
    let descent = descend(&argv, &mut targets, site);
    let effects = effects(command, descent);
    let assignments = command
        .assignments
        .iter()
        .map(|assignment| (assignment.name.clone(), assignment.is_inert()))
        .collect();
    let mut part = Part {
        text: command.text(),
        expands: command.argv.iter().any(words::expands),
        argv,
        assignments,
        unwrapped_from: command.unwrapped_from.clone(),
        read_only: only_reads(command, &redirected),
        neutral: command.class == Class::Neutral,
        effects,
        complete: command.complete,
        targets,
        descent,
        may_change,
        redirected,
        cwd: site.cwd.map(Path::to_path_buf),
        concern: None,
    };
    if name == Some("git") {
        judge_git(command, &mut part, site.place);
    }
    part
}

/// What the command does. One that is not understood in full may read any secret that its words name, and a search reads
/// those that it is narrowed to.
fn effects(command: &Command, descent: Descent) -> EffectSet {
    let effects = EffectSet::from(command.effects);
    let names_secret = || {
        let words = command.argv.iter().skip(1).filter_map(Word::literal);
        let mut values = words.flat_map(|word| {
            word.match_indices(['=', '@']).filter_map(|(at, _)| word.get(at + 1..))
        });
        values.any(is_secret_path)
    };
    let written = || {
        let words = command.argv.iter().map(|word| match word {
            Word::Literal(text) => text.as_str(),
            Word::Dynamic(dynamic) => dynamic.raw.as_str(),
        });
        words.collect::<Vec<_>>()
    };
    let searches_secrets =
        descent != Descent::None && descent::narrowed_to(&written()).any(is_secret_path);
    let is_secret =
        searches_secrets || !command.complete && command.class != Class::Neutral && names_secret();
    if is_secret { effects.with(crate::Effect::Secret) } else { effects }
}

/// The files that the patterns among the words of a program name, whatever it does with them: it may read them.
fn named_by_patterns(command: &Command, argv: &[Option<String>], site: Site<'_>) -> Vec<Target> {
    let patterns = command.argv.iter().zip(argv).skip(1).filter_map(|(word, value)| match word {
        Word::Dynamic(dynamic) if value.is_none() => dynamic
            .parts
            .iter()
            .all(|part| matches!(part, WordPart::Literal(_) | WordPart::Glob(_)))
            .then(|| site.shape(word)),
        Word::Dynamic(_) | Word::Literal(_) => None,
    });
    patterns.flat_map(|shape| site.unknown(&shape, Target::Read)).collect()
}

/// How far the command reads directories. A search that names none reads the current one.
fn descend(argv: &[Option<String>], targets: &mut Vec<Target>, site: Site<'_>) -> Descent {
    let search = descent::of(argv, site.piped);
    let descent = search.descent;
    let names_one = targets.iter().any(|target| matches!(target, Target::Read(_)));
    if search.here && !names_one {
        targets.push(Target::Read(site.path(".")));
    }
    if search.follows {
        let read = targets.iter().filter_map(|target| match target {
            Target::Read(path) => path.real.as_deref(),
            Target::Write(_) | Target::Delete(_) | Target::Host(_) | Target::Agent(_) => None,
        });
        let read = read.filter(|real| site.place.disk.may_be_directory(real));
        let beyond: Vec<Target> = read
            .flat_map(|directory| links::beneath(directory, site.place))
            .map(|beyond| Target::Read(beyond.target))
            .collect();
        targets.extend(beyond);
    }
    let is_directory = |target: &Target| match target {
        Target::Read(path) => {
            path.real.as_deref().is_none_or(|real| site.place.disk.may_be_directory(real))
        }
        Target::Write(_) | Target::Delete(_) | Target::Host(_) | Target::Agent(_) => false,
    };
    if targets.iter().any(is_directory) { descent } else { Descent::None }
}

/// Whether the command itself changes nothing: its redirections, and the secrets it may read, are judged on their own.
fn only_reads(command: &Command, redirected: &[Target]) -> bool {
    if command.class <= Class::ReadOnly {
        return true;
    }
    let writes = redirected.iter().filter(|target| matches!(target, Target::Write(_))).count();
    let allowed = match writes {
        0 => innerve_bash::EffectSet::of(&[Effect::Read, Effect::Secret]),
        _ => innerve_bash::EffectSet::of(&[Effect::Read, Effect::Secret, Effect::Write]),
    };
    command.complete
        && !command.effects.is_empty()
        && command.effects.union(allowed) == allowed
        && command.deletes.is_empty()
        && command.writes.len() <= writes
        && command.assignments.iter().all(Assignment::is_inert)
}

/// Whether a git command only reads *here*: git runs programs that the configuration of its repository names, and only
/// the place knows which repository that is.
fn judge_git(command: &Command, part: &mut Part, place: Place<'_>) {
    let mut words = part.argv.iter().skip(1).map(Option::as_deref).peekable();
    let mut directory = part.cwd.clone();
    let mut moved = Vec::new();
    while words.peek() == Some(&Some("-C")) {
        words.next();
        let Some(Some(operand)) = words.next() else { return };
        let target = PathTarget::within(operand, directory.as_deref(), place);
        directory.clone_from(&target.real);
        moved.push(Target::Read(target));
    }
    if !part.read_only {
        // The analyzer doubts every directory that it cannot follow.
        let rest: Option<Vec<String>> = words.map(|word| word.map(words::quote)).collect();
        let Some(rest) =
            rest.filter(|_| part.redirected.is_empty() && command.assignments.is_empty())
        else {
            return;
        };
        let plain = format!("git {}", rest.join(" "));
        if directory.is_none() || analyze(&plain).class() > Class::ReadOnly {
            part.targets.extend(moved);
            return;
        }
    }
    part.targets.extend(moved);
    part.concern = git_concern(directory.as_deref(), place);
    part.read_only = part.concern.is_none();
}

/// What keeps a git command that reads from being free in this directory.
fn git_concern(directory: Option<&Path>, place: Place<'_>) -> Option<(String, String)> {
    let concern = |message: String| Some(("git_config".to_owned(), message));
    let Some(directory) = directory else {
        return concern("git runs in a directory that is not known".to_owned());
    };
    if directory != place.cwd && !place.disk.same_working_tree(place.cwd, directory) {
        return concern(format!("git runs in another repository, `{}`", directory.display()));
    }
    let programs = place.disk.git_programs(directory);
    programs
        .first()
        .and_then(|program| concern(format!("git's configuration here runs `{program}`")))
}

/// The directory operand of `cd`.
fn directory(argv: &[Option<String>], site: Site<'_>) -> PathTarget {
    let mut operands =
        argv.iter().skip(1).filter(|word| !matches!(word.as_deref(), Some("--" | "-P" | "-L")));
    match (operands.next(), operands.next()) {
        (None, _) => site.path("~"),
        // Where `cd -` goes is not known; options and more operands are odd.
        (Some(Some(operand)), None) if !operand.starts_with('-') && !operand.is_empty() => {
            site.path(operand)
        }
        (Some(_), _) => PathTarget::unknown("cd"),
    }
}

/// The files of the redirections.
fn redirected(command: &Command, site: Site<'_>) -> Vec<Target> {
    let mut targets = Vec::new();
    for redirection in &command.redirections {
        match redirection.kind {
            RedirectionKind::Read => {
                targets.extend(files(&redirection.target, Target::Read, site));
            }
            RedirectionKind::Write | RedirectionKind::Append => {
                if !is_harmless_device(&redirection.target) {
                    targets.extend(files(&redirection.target, Target::Write, site));
                }
            }
            RedirectionKind::Duplicate | RedirectionKind::Text => {}
        }
    }
    targets
}

/// The file that a redirection names, or those that it may; one that bash takes for a network connection is not known.
fn files(word: &Word, target: fn(PathTarget) -> Target, site: Site<'_>) -> Vec<Target> {
    match site.value(word) {
        Some(given) if !given.starts_with("/dev/tcp/") && !given.starts_with("/dev/udp/") => {
            vec![target(site.path(&given))]
        }
        Some(_) | None => site.unknown(&site.shape(word), target),
    }
}

fn is_harmless_device(word: &Word) -> bool {
    matches!(word.literal(), Some("/dev/null" | "/dev/stdout" | "/dev/stderr"))
}

/// Operands of one kind, the target each of them is, and the redirections that are listed among them.
type Operands<'a> = (&'a [Option<String>], fn(PathTarget) -> Target, &'a [RedirectionKind]);

/// What the operands touch: the analyzer's lists, with words that the place can tell filled in.
fn touched(command: &Command, argv: &[Option<String>], site: Site<'_>) -> Vec<Target> {
    let dynamic = || {
        command.argv.iter().zip(argv).skip(1).filter(|(word, _)| match word {
            // Where the analyzer lost the directory, a plain relative word is an unknown operand too.
            Word::Literal(text) => site.diverged && !text.starts_with('-'),
            Word::Dynamic(_) => true,
        })
    };
    let filled: Vec<&str> = dynamic().filter_map(|(_, value)| value.as_deref()).collect();
    let unknown: Vec<String> =
        dynamic().filter(|(_, value)| value.is_none()).map(|(word, _)| site.shape(word)).collect();
    let mut targets = Vec::new();
    let lists: [Operands<'_>; 3] = [
        (&command.reads, Target::Read, &[RedirectionKind::Read]),
        (&command.writes, Target::Write, &[RedirectionKind::Write, RedirectionKind::Append]),
        (&command.deletes, Target::Delete, &[]),
    ];
    for (list, target, kinds) in lists {
        for given in list.iter().flatten() {
            targets.push(target(PathTarget::within(given, Some(site.place.cwd), site.place)));
        }
        // A `cd` before it may have failed, and then the path is another one.
        if site.cwd.is_none() && list.iter().flatten().any(|given| !given.starts_with('/')) {
            targets.push(target(PathTarget::unknown(UNKNOWN)));
        }
        let redirections = command.redirections.iter().filter(|redirection| {
            let is_unknown = redirection.target.literal().is_none() || site.diverged;
            is_unknown
                && kinds.contains(&redirection.kind)
                && !is_harmless_device(&redirection.target)
        });
        if list.iter().filter(|given| given.is_none()).count() <= redirections.count() {
            continue;
        }
        // Which word stands behind an unknown operand is not told, so each may.
        targets.extend(filled.iter().map(|given| target(site.path(given))));
        targets.extend(unknown.iter().flat_map(|given| site.unknown(given, target)));
        if unknown.is_empty() && filled.is_empty() {
            targets.push(target(PathTarget::unknown(UNKNOWN)));
        }
    }
    if let [Some(name), Some(file), ..] = argv
        && (name == "." || name == "source")
    {
        targets.push(Target::Read(site.path(file)));
    }
    targets
}

/// The path that a `cd` leads to, links resolved.
pub(super) fn destination(part: &Part) -> Option<(PathBuf, PathBuf)> {
    match part.targets.as_slice() {
        [Target::Read(target)] => Some((target.path.clone()?, target.real.clone()?)),
        _ => None,
    }
}
