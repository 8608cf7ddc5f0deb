//! What git changes in the working tree by the paths that it is given, or by a patch.
//!
//! What a commit that is checked out, merged or pulled brings is not told by the command, and no rule about paths counts for it.

use super::words::{Words, inside, unknown};
use crate::facts::{MayChange, PathTarget};

/// Global options with a value of their own (git documentation).
const VALUES: &[&str] = &[
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--super-prefix",
    "--config-env",
    "--exec-path",
];

pub(super) fn of(words: Words<'_>) -> Vec<MayChange> {
    let mut base = words.path(".");
    let mut rest = words.all.iter().map(Option::as_deref).peekable();
    while let Some(word) = rest.peek().copied() {
        let Some(word) = word else { return vec![MayChange::Beneath(unknown())] };
        if !word.starts_with('-') {
            break;
        }
        rest.next();
        let value = if VALUES.contains(&word) { rest.next().flatten() } else { None };
        match word {
            "-C" => base = value.map_or_else(unknown, |value| inside(words, &base, value)),
            word if word.starts_with("--work-tree") => base = unknown(),
            _ => {}
        }
    }
    let skipped = words.all.len() - rest.len();
    let words = Words { all: words.all.get(skipped + 1..).unwrap_or_default(), ..words };
    let Some(Some(verb)) = rest.next() else { return Vec::new() };
    let keeps_files = match verb {
        "checkout" => words.has("bB", &["--orphan"]),
        "restore" => words.has("S", &["--staged"]) && !words.has("W", &["--worktree"]),
        "rm" => words.has("", &["--cached"]),
        "clean" => words.has("n", &["--dry-run"]),
        "apply" => words.has("", &["--check", "--stat", "--numstat", "--summary", "--cached"]),
        _ => false,
    };
    if keeps_files {
        return Vec::new();
    }
    match verb {
        // Without paths it brings the tree to a commit, wherever the tree is.
        "checkout" if base.path.is_none() => vec![MayChange::Beneath(base)],
        "clean" | "checkout-index" if words.operands().next().is_none() => {
            vec![MayChange::Beneath(base)]
        }
        "checkout" | "restore" | "rm" | "clean" | "checkout-index" => named(words, &base).collect(),
        "mv" => moved(words, &base),
        "apply" | "am" => vec![MayChange::Within(base)],
        _ => Vec::new(),
    }
}

/// The paths among the operands; a pattern of git's own stands for all that lies there.
fn named<'a>(words: Words<'a>, base: &'a PathTarget) -> impl Iterator<Item = MayChange> + 'a {
    let known = words.operands().map(move |word| {
        if word.starts_with(':') {
            MayChange::Beneath(unknown())
        } else if word.contains(['*', '?', '[']) {
            MayChange::Within(base.clone())
        } else {
            MayChange::Beneath(inside(words, base, word))
        }
    });
    known.chain(words.has_unknown().then(|| MayChange::Beneath(unknown())))
}

fn moved(words: Words<'_>, base: &PathTarget) -> Vec<MayChange> {
    let mut changes: Vec<MayChange> = named(words, base).collect();
    let operands: Vec<&str> = words.operands().collect();
    if let Some((to, from)) = operands.split_last() {
        let to = inside(words, base, to);
        let names = from.iter().filter_map(|from| from.trim_end_matches('/').rsplit('/').next());
        changes.extend(names.map(|name| MayChange::File(inside(words, &to, name))));
    }
    changes
}
