//! The words of a command behind its name, read as options and operands.

use super::super::analyzed::Site;
use super::super::descent::{is_cluster, is_long};
use crate::facts::PathTarget;

/// Stands for a place that nothing is known of.
const UNKNOWN: &str = "…";

/// So many words are taken for paths; where there are more, nothing is known.
const MAX_WORDS: usize = 256;

/// The words behind a program's name.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    pub(super) all: &'a [Option<String>],
    pub(super) site: Site<'a>,
}

impl<'a> Words<'a> {
    /// The words that are known.
    pub(super) fn known(self) -> impl Iterator<Item = &'a str> {
        self.all.iter().filter_map(Option::as_deref)
    }

    /// Whether there is a word that is not known, which may be an option too.
    pub(super) fn has_unknown(self) -> bool {
        self.all.contains(&None)
    }

    /// Whether one of these short or long options is among the words.
    pub(super) fn has(self, letters: &str, long: &[&str]) -> bool {
        self.known().any(|word| is_cluster(word, letters) || is_long(word, long))
    }

    /// The words that are no options, as far as they are known.
    pub(super) fn operands(self) -> impl Iterator<Item = &'a str> {
        self.known().filter(|word| !word.starts_with('-') && !word.is_empty())
    }

    /// The values of an option, be they words of their own or attached; `None` for one that is not known.
    pub(super) fn values(self, short: Option<char>, long: &[&str]) -> Vec<Option<&'a str>> {
        let mut values = Vec::new();
        for (index, word) in self.all.iter().enumerate() {
            let Some(word) = word.as_deref() else { continue };
            let next = || self.all.get(index + 1).and_then(Option::as_deref);
            let (option, attached) = match word.split_once('=') {
                Some((option, value)) if option.starts_with("--") => (option, Some(value)),
                Some(_) | None => (word, None),
            };
            if option.starts_with("--") {
                if is_long(option, long) {
                    values.push(attached.or_else(next));
                }
            } else if let Some(letter) = short
                && let Some(cluster) = word.strip_prefix('-')
                && let Some((before, after)) = cluster.split_once(letter)
                && before.chars().all(|c| c.is_ascii_alphabetic())
            {
                values.push(if after.is_empty() { next() } else { Some(after) });
            }
        }
        values
    }

    /// The path that a word names.
    pub(super) fn path(self, given: &str) -> PathTarget {
        self.site.path(given)
    }

    /// The directories that the values of an option name; the current one if it is not given.
    pub(super) fn directories(self, values: &[Option<&str>]) -> Vec<PathTarget> {
        if values.is_empty() {
            return vec![self.path(".")];
        }
        let paths = values.iter().map(|value| value.map_or_else(unknown, |value| self.path(value)));
        paths.collect()
    }

    /// The paths that the words name, wherever in them that may be.
    pub(super) fn mentioned(self) -> impl Iterator<Item = PathTarget> {
        let pieces = self.known().flat_map(|word| {
            let value = word.strip_prefix('-').and_then(|option| option.get(1..));
            let after = word.match_indices(['=', ':', '@', ',']);
            let after = after.filter_map(move |(at, _)| word.get(at + 1..));
            let whole = (!word.starts_with('-')).then_some(word);
            whole.into_iter().chain(value).chain(after)
        });
        let paths = pieces.filter(|piece| !piece.is_empty()).map(move |piece| self.path(piece));
        let more = self.all.len() > MAX_WORDS;
        paths.take(MAX_WORDS).chain(more.then(unknown))
    }
}

/// A place that nothing is known of.
pub(super) fn unknown() -> PathTarget {
    PathTarget::unknown(UNKNOWN)
}

/// The file `name` in `directory`.
pub(super) fn inside(words: Words<'_>, directory: &PathTarget, name: &str) -> PathTarget {
    match &directory.path {
        Some(path) => words.path(&path.join(name).to_string_lossy()),
        None => PathTarget::unknown(format!("{}/{name}", directory.given)),
    }
}
