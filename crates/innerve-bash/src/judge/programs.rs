//! Programs of the command table: their options and operands, and what these read, write and remove.

use super::options::{Dynamic, Extent, Parsed, Role, Value};
use super::{Judgement, names_secret};
use crate::commands::{self, Operands, Program};
use crate::directory::Directory;
use crate::read::Argument;
use crate::secrets::is_secret_path;
use crate::{Class, Effect, Word};

/// Options that give a pattern or script, so that all operands are files.
const PATTERN_OPTIONS: [&str; 6] = ["-e", "--regexp", "--expression", "-f", "--file", "--files"];

/// Judges a program by the table; what is not in it is unknown.
pub(super) fn judge(
    name: &str,
    words: &[Argument<'_>],
    directory: &Directory,
    cwd: Option<&str>,
) -> Judgement {
    let rest = words.get(1..).unwrap_or_default();
    let mut judgement = match commands::group(name) {
        Some(globals) if name == "git" => {
            subcommand(name, globals, rest, &git_directory(rest, directory))
        }
        Some(globals) => subcommand(name, globals, rest, directory),
        None => match commands::programs(name) {
            [] => Judgement::unknown(),
            rows => by_rows(rows, rest, directory),
        },
    };
    if let [option] = rest
        && option.word.literal().is_some_and(|option| commands::only_prints(name, option))
    {
        judgement = Judgement::new(Class::ReadOnly, &[Effect::Read]);
    }
    if name == "git"
        && judgement.class <= Class::ReadOnly
        && !is_inside(&git_directory(rest, directory), cwd)
    {
        // The configuration of another repository may name programs.
        judgement.doubt();
    }
    for argument in words {
        judgement.look_for_secrets(&argument.word);
    }
    judgement
}

/// Where `git -C … -C …` works.
fn git_directory(words: &[Argument<'_>], directory: &Directory) -> Directory {
    let globals = commands::group("git").unwrap_or_default();
    let parsed = Parsed::parse(words, globals, Dynamic::Doubtful, Extent::UntilOperand);
    parsed.values(&["-C"]).fold(directory.clone(), |directory, value| match value {
        Value::Text(text) => directory.enter(&Word::Literal(text.clone())),
        Value::Word(word) => directory.enter(word),
        Value::Unknown => Directory::unknown(),
    })
}

/// Finds the row of a subcommand: two words deep, then one.
fn subcommand(
    name: &str,
    globals: &str,
    words: &[Argument<'_>],
    directory: &Directory,
) -> Judgement {
    let parsed = Parsed::parse(words, globals, Dynamic::Doubtful, Extent::UntilOperand);
    let rest = words.get(parsed.used..).unwrap_or_default();
    let Some(first) = rest.first().and_then(|word| word.word.literal()) else {
        let prints_help = words.is_empty() && !matches!(name, "yarn" | "pnpm");
        return if prints_help {
            Judgement::new(Class::ReadOnly, &[Effect::Read])
        } else {
            Judgement::unknown()
        };
    };
    if parsed.doubt {
        return Judgement::unknown();
    }
    if let Some(second) = rest.get(1).and_then(|word| word.word.literal()) {
        let rows = commands::programs(&format!("{name} {first} {second}"));
        if !rows.is_empty() {
            return by_rows(rows, rest.get(2..).unwrap_or_default(), directory);
        }
    }
    match commands::programs(&format!("{name} {first}")) {
        [] => Judgement::unknown(),
        rows => by_rows(rows, rest.get(1..).unwrap_or_default(), directory),
    }
}

/// The first row whose options and operands fit decides; without one the command is unknown.
fn by_rows(rows: &[&Program], words: &[Argument<'_>], directory: &Directory) -> Judgement {
    let mut fallback = None;
    for row in rows {
        let parsed = Parsed::parse(words, row.options, row.dynamic, Extent::Whole);
        let fits = !parsed.doubt && row.check.is_none_or(|check| check(&parsed));
        let mut judgement = Judgement::new(row.class, row.effects);
        judgement.complete = row.complete;
        enter(&mut judgement, row, &parsed, directory);
        if fits {
            return judgement;
        }
        judgement.doubt();
        fallback = Some(judgement);
    }
    fallback.unwrap_or_else(Judgement::unknown)
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
    let operands = parsed.operands.as_slice();
    let skipped = match row.operands {
        Operands::PatternThenRead | Operands::ScriptThenWrite if !parsed.has(&PATTERN_OPTIONS) => 1,
        Operands::ScriptThenRead => 1,
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
        | Operands::Link => 0,
    };
    let operands = operands.get(skipped..).unwrap_or_default();
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
        Operands::Read | Operands::PatternThenRead | Operands::ScriptThenRead => {
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
            let target: Option<&Value<'_>> = parsed.values(&["-t", "--target-directory"]).next();
            let (sources, last) = match (target, operands.split_last()) {
                (None, Some((last, sources))) => (sources, Some(*last)),
                _ => (operands, None),
            };
            for source in sources {
                if row.operands == Operands::Link {
                    judgement.look_at(source, directory);
                } else {
                    judgement.read(source, directory);
                }
                if row.operands == Operands::Move {
                    judgement.delete(source, directory);
                }
            }
            match (target, last) {
                (Some(Value::Word(word)), _) => write(judgement, word, directory),
                (None, Some(word)) => write(judgement, word, directory),
                (Some(Value::Text(text)), _) => {
                    write(judgement, &Word::Literal(text.clone()), directory);
                }
                (Some(Value::Unknown), _) | (None, None) => {
                    judgement.raise(Class::Write, Effect::Write);
                    judgement.writes.push(None);
                }
            }
        }
    }
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
