//! Whether an analysis covers what bash did.

use std::collections::BTreeSet;

use innerve_bash::{Command, Word};

use crate::jail::Observed;

/// What bash did and `commands` do not cover.
pub(crate) fn missed(commands: &[Command], observed: &Observed) -> Vec<String> {
    let executed = observed
        .executed
        .iter()
        .filter(|words| !commands.iter().any(|command| covers(&command.argv, words)))
        .map(|words| format!("bash ran {words:?}"));
    let somewhere = commands.iter().flat_map(written).any(Option::is_none);
    let written = observed
        .written
        .iter()
        .filter(|path| {
            !somewhere
                && !commands.iter().flat_map(written).flatten().any(|own| tidy(own) == tidy(path))
        })
        .map(|path| format!("bash wrote {path:?}"));
    executed.chain(written).collect()
}

fn written(command: &Command) -> impl Iterator<Item = &Option<String>> {
    command.writes.iter().chain(&command.deletes)
}

/// A path without steps that go nowhere.
fn tidy(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    parts.join("/")
}

/// Whether `words` may be what became of `argv`.
fn covers(argv: &[Word], words: &[String]) -> bool {
    // How many of the words may be used up by the items so far.
    let mut reached = BTreeSet::from([0]);
    for item in argv {
        reached = match item {
            Word::Literal(text) => reached
                .into_iter()
                .filter(|at| words.get(*at) == Some(text))
                .map(|at| at + 1)
                .collect(),
            // The files that `find` puts in the place of `{} +` are several words of the same beginning.
            Word::Dynamic(dynamic) if dynamic.one_word && !dynamic.raw.contains("{}") => {
                reached.into_iter().filter(|at| *at < words.len()).map(|at| at + 1).collect()
            }
            Word::Dynamic(_) => match reached.first() {
                Some(first) => (*first..=words.len()).collect(),
                None => return false,
            },
        };
    }
    reached.contains(&words.len())
}
