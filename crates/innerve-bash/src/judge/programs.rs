//! Programs of the command table: their options and operands, and what these read, write and remove.

use super::options::{Dynamic, Extent, Grammar, Options, Parsed, Role, Value};
use super::{Judgement, names_secret};
use crate::commands::{self, Operands, Program, Row};
use crate::directory::Directory;
use crate::read::Argument;
use crate::secrets::is_secret_path;
use crate::variables::Values;
use crate::{Class, Effect, Word};

/// Options that give a pattern or script, so that all operands are files.
const PATTERN_OPTIONS: [&str; 5] = ["-e", "--regexp", "--expression", "-f", "--file"];

/// Where a program runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site<'s> {
    /// The simulated directory.
    pub(crate) directory: &'s Directory,
    /// The directory in which the whole text starts, when it is known.
    pub(crate) cwd: Option<&'s str>,
    /// What variables hold.
    pub(crate) values: &'s Values,
}

/// Judges a program by the table; what is not in it is unknown.
pub(super) fn judge(name: &str, words: &[Argument<'_>], site: Site<'_>) -> Judgement {
    let rest = words.get(1..).unwrap_or_default();
    let git_directory = (name == "git").then(|| git_directory(rest, site));
    let mut judgement = if prints_only(name, rest) {
        Judgement::new(Class::ReadOnly, &[Effect::Read])
    } else {
        let site = Site { directory: git_directory.as_ref().unwrap_or(site.directory), ..site };
        match decide(name, rest, site.values) {
            Some(Decision { row, parsed, fits }) => {
                let mut judgement = Judgement::new(row.class, row.effects);
                judgement.complete = row.complete;
                enter(&mut judgement, row, &parsed, site.directory);
                if !fits {
                    judgement.doubt();
                }
                judgement
            }
            None => Judgement::unknown(),
        }
    };
    if let Some(git_directory) = git_directory
        && judgement.class <= Class::ReadOnly
        && !is_inside(&git_directory, site.cwd)
    {
        // The configuration of another repository may name programs.
        judgement.doubt();
    }
    for argument in words {
        judgement.look_for_secrets(&argument.word);
    }
    judgement
}

/// Whether a program only prints its version or help.
fn prints_only(name: &str, words: &[Argument<'_>]) -> bool {
    let literal = |index: usize| words.get(index).and_then(|word| word.word.literal());
    match words {
        // Some read a program from their input, others run what the project's files name.
        [] => {
            commands::group(name).is_some()
                && !matches!(name, "yarn" | "pnpm" | "bundle" | "composer" | "deno" | "swift")
        }
        [_] => literal(0).is_some_and(|option| commands::only_prints(name, option)),
        [verb @ .., last] if last.word.literal() == Some("--help") && commands::helps(name) => {
            let verb: Option<Vec<&str>> = verb.iter().map(|word| word.word.literal()).collect();
            verb.is_some_and(|verb| {
                let first = verb.first().copied().unwrap_or_default();
                (name != "cargo" || commands::is_own_command_of_cargo(first))
                    && verb.len() <= 2
                    && verb.iter().all(|word| !word.starts_with('-'))
                    && !commands::programs(&format!("{name} {}", verb.join(" "))).is_empty()
            })
        }
        _ => false,
    }
}

/// The row that decides about a command, or the one that comes closest.
pub(crate) struct Decision<'w> {
    pub(crate) row: &'static Program,
    pub(crate) parsed: Parsed<'w>,
    /// Whether options and operands fit the row.
    pub(crate) fits: bool,
}

/// Finds the row for a program and the words behind its name.
pub(crate) fn decide<'w>(
    name: &str,
    words: &'w [Argument<'_>],
    values: &Values,
) -> Option<Decision<'w>> {
    if name.contains(' ') {
        // No program: only names of subcommands hold a blank.
        return None;
    }
    let Some(globals) = commands::group(name) else {
        return first_that_fits(commands::programs(name), words, values);
    };
    let parsed = global_options(globals, values).parse(words);
    let rest = words.get(parsed.used..).unwrap_or_default();
    let first = rest.first().and_then(|word| word.word.literal())?;
    if parsed.doubt {
        return None;
    }
    if let Some(second) = rest.get(1).and_then(|word| word.word.literal()) {
        let rows = commands::programs(&format!("{name} {first} {second}"));
        if !rows.is_empty() {
            return first_that_fits(rows, rest.get(2..).unwrap_or_default(), values);
        }
    }
    let rows = commands::programs(&format!("{name} {first}"));
    first_that_fits(rows, rest.get(1..).unwrap_or_default(), values)
}

fn global_options<'g>(options: &'g Options, values: &'g Values) -> Grammar<'g> {
    let (dynamic, extent) = (Dynamic::Doubtful, Extent::UntilOperand);
    Grammar { options, abbreviates: false, dynamic, extent, values }
}

/// The first row whose options and operands fit decides; else the first whose options do.
fn first_that_fits<'w>(
    rows: &[&'static Row],
    words: &'w [Argument<'_>],
    values: &Values,
) -> Option<Decision<'w>> {
    let mut closest: Option<Decision<'w>> = None;
    for row in rows {
        let (options, row) = (row.options(), row.program);
        let Program { abbreviates, dynamic, .. } = *row;
        let parsed =
            Grammar { options, abbreviates, dynamic, extent: Extent::Whole, values }.parse(words);
        if !parsed.doubt && row.check.is_none_or(|check| check(&parsed)) {
            return Some(Decision { row, parsed, fits: true });
        }
        if closest.as_ref().is_none_or(|closest| closest.parsed.doubt && !parsed.doubt) {
            closest = Some(Decision { row, parsed, fits: false });
        }
    }
    closest
}

/// Where `git -C … -C …` works.
fn git_directory(words: &[Argument<'_>], site: Site<'_>) -> Directory {
    let Some(globals) = commands::group("git") else { return site.directory.clone() };
    let parsed = global_options(globals, site.values).parse(words);
    parsed.values(&["-C"]).fold(site.directory.clone(), |directory, value| match value {
        Value::Text(text) => directory.enter(&Word::Literal(text.clone())),
        Value::Word(word) => directory.enter(word),
        Value::Unknown => Directory::unknown(),
    })
}

/// Enters the files that options and operands name.
fn enter(judgement: &mut Judgement, row: &Program, parsed: &Parsed<'_>, directory: &Directory) {
    for (role, value) in &parsed.files {
        let word = match value {
            Value::Text(text) => Some(Word::Literal(text.clone())),
            Value::Word(word) => Some((*word).clone()),
            Value::Unknown => None,
        };
        match (role, word) {
            (Role::Text, _) => {}
            (Role::Read, Some(word)) => judgement.read(&word, directory),
            (Role::Read, None) => judgement.reads.push(None),
            (Role::Write, Some(word)) => write(judgement, &word, directory),
            (Role::Write, None) => {
                judgement.raise(Class::Write, Effect::Write);
                judgement.writes.push(None);
            }
        }
    }
    let gives_pattern =
        || parsed.has(&["--files"]) || parsed.values(&PATTERN_OPTIONS).next().is_some();
    let skipped = match row.operands {
        Operands::PatternThenRead | Operands::ScriptThenWrite if !gives_pattern() => 1,
        Operands::ScriptThenRead => 1,
        Operands::VerbAndScriptThenRead => 2,
        Operands::ModeThenWrite if !parsed.has(&["--reference", "-r", "-w", "-x", "-X"]) => 1,
        Operands::Text
        | Operands::LookAt
        | Operands::Read
        | Operands::PatternThenRead
        | Operands::Write
        | Operands::ScriptThenWrite
        | Operands::ModeThenWrite
        | Operands::Delete
        | Operands::Copy
        | Operands::Move
        | Operands::Link
        | Operands::InOut => 0,
    };
    let operands = parsed.operands.get(skipped..).unwrap_or_default();
    match row.operands {
        Operands::Text => {
            for word in operands {
                look_for_paths(judgement, word, directory);
            }
        }
        Operands::LookAt => {
            for word in operands {
                judgement.look_at(word, directory);
            }
        }
        Operands::Read
        | Operands::PatternThenRead
        | Operands::ScriptThenRead
        | Operands::VerbAndScriptThenRead => {
            for word in operands {
                judgement.read(word, directory);
            }
        }
        Operands::Write | Operands::ScriptThenWrite | Operands::ModeThenWrite => {
            for word in operands {
                write(judgement, word, directory);
            }
        }
        Operands::Delete => {
            for word in operands {
                judgement.delete(word, directory);
            }
        }
        Operands::Copy | Operands::Move | Operands::Link => {
            copy(judgement, row, operands, parsed, directory);
        }
        Operands::InOut => {
            for word in operands {
                let path = |text: &str| Word::Literal(text.to_owned());
                match word.literal().and_then(|text| text.split_once('=')) {
                    Some(("if", file)) => judgement.read(&path(file), directory),
                    Some(("of", file)) => write(judgement, &path(file), directory),
                    Some(_) => {}
                    None => {
                        judgement.raise(Class::Write, Effect::Write);
                        judgement.writes.push(None);
                    }
                }
            }
        }
    }
}

/// Enters sources and the target, which is the last operand or the value of an option.
fn copy(
    judgement: &mut Judgement,
    row: &Program,
    operands: &[&Word],
    parsed: &Parsed<'_>,
    directory: &Directory,
) {
    let kind = row.operands;
    let target: Option<&Value<'_>> = parsed.values(&["-t", "--target-directory"]).next();
    let (sources, last) = match (target, operands.split_last()) {
        (None, Some((only, []))) if kind == Operands::Link => {
            // `ln a/b` makes `b` here.
            judgement.look_at(only, directory);
            let here = Word::Literal(".".to_owned());
            write_into(judgement, &here, &[only], directory);
            return;
        }
        (None, Some((last, sources))) => (sources, Some(*last)),
        _ => (operands, None),
    };
    for source in sources {
        if kind == Operands::Link {
            judgement.look_at(source, directory);
        } else {
            judgement.read(source, directory);
        }
        if kind == Operands::Move {
            judgement.delete(source, directory);
        }
    }
    // `rsync -a src/ d` copies what is in `src`, not `src` itself.
    let is_placed = |source: &&Word| {
        !row.names.contains(&"rsync") || source.literal().is_some_and(|path| !path.ends_with('/'))
    };
    let placed: Vec<&Word> = sources.iter().copied().filter(is_placed).collect();
    match (target, last) {
        (Some(Value::Word(word)), _) => {
            write(judgement, word, directory);
            write_into(judgement, word, &placed, directory);
        }
        (None, Some(word)) => {
            write(judgement, word, directory);
            if sources.len() > 1 || is_directory(word) {
                write_into(judgement, word, &placed, directory);
            }
        }
        (Some(Value::Text(text)), _) => {
            let word = Word::Literal(text.clone());
            write(judgement, &word, directory);
            write_into(judgement, &word, &placed, directory);
        }
        (Some(Value::Unknown), _) | (None, None) => {
            judgement.raise(Class::Write, Effect::Write);
            judgement.writes.push(None);
        }
    }
}

/// Enters what the sources are called in the directory `target`, as far as both are known.
fn write_into(judgement: &mut Judgement, target: &Word, sources: &[&Word], directory: &Directory) {
    let Some(target) = target.literal() else { return };
    let names = sources.iter().filter_map(|source| source.literal()).filter_map(|source| {
        source
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .filter(|name| !matches!(*name, "" | "." | ".."))
    });
    for name in names {
        let path = match target {
            "." => name.to_owned(),
            _ => format!("{}/{name}", target.trim_end_matches('/')),
        };
        judgement.write(&Word::Literal(path), directory);
    }
}

/// Whether a word can only name a directory.
fn is_directory(word: &Word) -> bool {
    word.literal().is_some_and(|text| {
        text.ends_with('/') || matches!(text.rsplit('/').next(), Some("." | ".."))
    })
}

fn write(judgement: &mut Judgement, word: &Word, directory: &Directory) {
    match word.literal() {
        Some("-" | "/dev/null") => {}
        Some(path) if super::is_device(path) && !super::is_descriptor(path) => {
            judgement.write(word, directory);
            judgement.class = Class::Unknown;
        }
        _ => judgement.write(word, directory),
    }
}

/// Secrets can be reached through operands that are no paths as well (`git show HEAD:.env`).
fn look_for_paths(judgement: &mut Judgement, word: &Word, directory: &Directory) {
    let shown = directory.show(word);
    let behind_colon = shown.rsplit(':').next().unwrap_or_default();
    if is_secret_path(&shown) || is_secret_path(behind_colon) || names_secret(word, directory) {
        judgement.raise(Class::Unknown, Effect::Secret);
    }
}

/// Whether the directory is the one at the start or below it.
fn is_inside(directory: &Directory, cwd: Option<&str>) -> bool {
    let Some(path) = directory.path() else { return false };
    let relative = match (path.strip_prefix('/'), cwd) {
        (None, _) => path,
        (Some(_), Some(cwd)) => match path.strip_prefix(cwd.trim_end_matches('/')) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
            _ => return false,
        },
        (Some(_), None) => return false,
    };
    let mut depth = 0_i32;
    for component in relative.split('/') {
        match component {
            "" | "." => {}
            ".." => depth -= 1,
            _ => depth += 1,
        }
        if depth < 0 {
            return false;
        }
    }
    true
}
