//! What commands change in directories: files that the analyzer's lists of operands do not name.

mod copies;
mod git;
mod held;
mod unpacked;
mod words;

use innerve_bash::{Class, Command};

use super::analyzed::Site;
use crate::facts::{Effect, EffectSet, MayChange, PathTarget, Target};
use words::Words;

/// Programs that change who may do what with a file, all beneath a directory with `-R`.
const OWNERSHIP: &[&str] = &["chmod", "chown", "chgrp"];

/// Effects of commands whose words are all there is to know of them: they run no code of a project or of nobody knows what.
const TOLD: &[Effect] = &[
    Effect::Read,
    Effect::Write,
    Effect::Delete,
    Effect::State,
    Effect::Network,
    Effect::Privilege,
    Effect::Secret,
];

/// What the command may change besides its targets. What it certainly does is added to these, as is what it reads.
pub(super) fn of(
    command: &Command,
    argv: &[Option<String>],
    targets: &mut Vec<Target>,
    site: Site<'_>,
) -> Vec<MayChange> {
    let mut changes = beyond_operands(command, argv, targets, site);
    changes.extend(held::of(targets, &changes, site));
    changes
}

fn beyond_operands(
    command: &Command,
    argv: &[Option<String>],
    targets: &mut Vec<Target>,
    site: Site<'_>,
) -> Vec<MayChange> {
    let Some((Some(program), rest)) = argv.split_first() else { return Vec::new() };
    let name = super::base_name(program);
    if command.class <= Class::ReadOnly {
        return Vec::new();
    }
    let words = Words { all: rest, site };
    if name == "git" {
        return git::of(words);
    }
    if copies::PROGRAMS.contains(&name) && command.complete {
        return copies::of(name, words, targets);
    }
    if OWNERSHIP.contains(&name) {
        let below = words.has("R", &["--recursive"]);
        let changed = targets.iter().filter_map(|target| match target {
            Target::Write(path) => Some(MayChange::Beneath(path.clone())),
            Target::Read(_) | Target::Delete(_) | Target::Host(_) | Target::Agent(_) => None,
        });
        return if below { changed.collect() } else { Vec::new() };
    }
    if unpacked::packs(name, words) {
        targets.extend(words.operands().map(|word| Target::Read(words.path(word))));
        return Vec::new();
    }
    if unpacked::prints(name, words) {
        return Vec::new();
    }
    let mut changes = unpacked::of(name, words);
    let is_told = EffectSet::from(command.effects).is_subset(EffectSet::of(TOLD));
    if !command.complete && is_told {
        changes.extend(words.mentioned().map(MayChange::Beneath));
        changes.extend(patterns(command, argv, site).map(MayChange::Beneath));
    }
    changes
}

/// What the patterns among the words name.
fn patterns<'a>(
    command: &'a Command,
    argv: &'a [Option<String>],
    site: Site<'a>,
) -> impl Iterator<Item = PathTarget> + 'a {
    let unknown = command.argv.iter().zip(argv).skip(1).filter(|(_, value)| value.is_none());
    let shapes = unknown.map(move |(word, _)| site.shape(word));
    shapes.filter(|shape| shape.starts_with('/') && !shape.contains('$')).map(PathTarget::unknown)
}
