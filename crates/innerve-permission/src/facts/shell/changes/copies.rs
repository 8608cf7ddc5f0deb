//! What copies put into directories: under the names of what is copied.

use std::path::Path;

use super::super::links;
use super::words::{Words, inside};
use crate::facts::{MayChange, PathTarget, Target};

/// Programs that copy, move or link to their last operand, or into it.
pub(super) const PROGRAMS: &[&str] =
    &["cp", "mv", "ln", "install", "rsync", "gcp", "gmv", "gln", "ginstall"];

/// What the copy changes if its target is a directory. Where that is certain, the files are added to `targets`.
pub(super) fn of(name: &str, words: Words<'_>, targets: &mut Vec<Target>) -> Vec<MayChange> {
    let deep = match name.trim_start_matches('g') {
        "cp" => words.has("rRa", &["--recursive", "--archive"]),
        "rsync" => words.has("rad", &["--recursive", "--archive", "--dirs"]),
        _ => false,
    } || words.has_unknown() && name != "mv";
    let moves = name.ends_with("mv");
    let disk = words.site.place.disk;
    let may_be_directory =
        |path: &PathTarget| path.real.as_deref().is_none_or(|real| disk.may_be_directory(real));
    let sources: Vec<PathTarget> = targets.iter().filter_map(read).cloned().collect();
    let written: Vec<PathTarget> = targets.iter().filter_map(write).cloned().collect();
    let mut changes = Vec::new();
    for to in written.iter().filter(|to| may_be_directory(to)) {
        let exists = to.real.as_deref().is_some_and(|real| disk.resolve(real).exists);
        for source in &sources {
            match last_name(source) {
                Name::Known(name) => {
                    let file = inside(words, to, &name);
                    if exists {
                        targets.push(Target::Write(file));
                    } else {
                        changes.push(MayChange::File(file));
                    }
                }
                Name::Pattern(pattern) => {
                    let directory = to.path.as_deref().and_then(Path::to_str).unwrap_or(&to.given);
                    let file = PathTarget::unknown(format!("{directory}/{pattern}"));
                    changes.push(MayChange::File(file));
                }
                Name::Any => changes.push(MayChange::Within(to.clone())),
            }
        }
        let trees = || sources.iter().any(may_be_directory);
        if moves {
            // A tree is put there as a whole, over nothing.
            let moved = sources.iter().filter(|source| may_be_directory(source));
            changes.extend(moved.map(|source| match last_name(source) {
                Name::Known(name) if exists => MayChange::Beneath(inside(words, to, &name)),
                Name::Known(_) | Name::Pattern(_) | Name::Any => MayChange::Beneath(to.clone()),
            }));
        }
        if deep && (sources.is_empty() || trees()) {
            changes.push(MayChange::Within(to.clone()));
            let beyond = to.real.as_deref().filter(|_| exists).into_iter();
            let beyond = beyond.flat_map(|real| links::beneath(real, words.site.place));
            changes.extend(beyond.map(|beyond| MayChange::Within(beyond.target)));
        }
    }
    changes
}

fn read(target: &Target) -> Option<&PathTarget> {
    match target {
        Target::Read(path) => Some(path),
        Target::Write(_) | Target::Delete(_) | Target::Host(_) | Target::Agent(_) => None,
    }
}

fn write(target: &Target) -> Option<&PathTarget> {
    match target {
        Target::Write(path) => Some(path),
        Target::Read(_) | Target::Delete(_) | Target::Host(_) | Target::Agent(_) => None,
    }
}

/// The name under which a source is put into a directory.
enum Name {
    Known(String),
    /// One that this pattern of a shell matches.
    Pattern(String),
    /// Any, as for the contents of a directory.
    Any,
}

fn last_name(source: &PathTarget) -> Name {
    let given = source.given.trim_end_matches('/');
    let name = given.rsplit('/').next().unwrap_or(given);
    let is_pattern = source.path.is_none();
    match name {
        "" | "." | ".." | "~" => Name::Any,
        name if !is_pattern => Name::Known(name.to_owned()),
        name if given.starts_with('/') && !name.contains(['$', '`', '…', '(', '{', '\\']) => {
            Name::Pattern(name.to_owned())
        }
        _ => Name::Any,
    }
}
