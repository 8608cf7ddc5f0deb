//! Whether an analysis covers what bash did.

use std::collections::BTreeSet;

use innerve_bash::{Command, Effect, Word};

use crate::jail::Observed;

/// What bash did and `commands` do not cover.
pub(crate) fn missed(commands: &[Command], observed: &Observed) -> Vec<String> {
    let open = commands.iter().any(may_run_anything);
    let executed = observed
        .executed
        .iter()
        .filter(|words| !open && !commands.iter().any(|command| covers(&command.argv, words)))
        .map(|words| format!("bash ran {words:?}"));
    let paths: Vec<Option<String>> =
        commands.iter().flat_map(written).map(|path| path.as_deref().map(tidy)).collect();
    let moves = commands.iter().any(|command| command.name() == Some("cd"));
    let is_told = |path: &String| {
        let path = tidy(path);
        paths.iter().any(|told| {
            told.as_ref().is_none_or(|told| {
                // That a `cd` succeeds is taken for granted; where it fails, the file lies further up.
                *told == path || moves && told.ends_with(&format!("/{path}"))
            })
        })
    };
    let written = observed
        .written
        .iter()
        .filter(|path| !is_told(path))
        .map(|path| format!("bash wrote {path:?}"));
    executed.chain(written).collect()
}

/// Whether the analysis itself says that what this command runs is not known: `find $x` may hold an `-exec`.
fn may_run_anything(command: &Command) -> bool {
    command.name() == Some("find")
        && command.effects.contains(Effect::ExecUnknown)
        && command.argv.iter().any(|word| word.literal().is_none())
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
