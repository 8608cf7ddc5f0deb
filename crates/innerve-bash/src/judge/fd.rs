//! `fd`: what it looks for is judged by the command table, the command behind `-x` or `-X` like one behind `find -exec`.

use super::wrappers::{absorb, input_word, opaque};
use super::{Call, Judgement, bare_name, programs};
use crate::directory::Directory;
use crate::read::{Argument, Reader, Scope, Step};

/// What stands for a found file, or a part of its path.
const PLACEHOLDERS: [&str; 5] = ["{}", "{.}", "{/}", "{//}", "{/.}"];

impl<'a> Reader<'a> {
    /// Judges `fd` and the command it runs.
    pub(super) fn fd(&mut self, call: &Call<'a>, scope: Scope) -> Step<Judgement> {
        let name = call.words.first().and_then(|word| word.word.literal()).map_or("fd", bare_name);
        let is_exec = |word: &Argument<'_>| {
            matches!(word.word.literal(), Some("-x" | "-X" | "--exec" | "--exec-batch"))
        };
        let Some(at) = call.words.iter().position(is_exec) else {
            return Ok(programs::judge(name, &call.words, self.site()));
        };
        let (searching, rest) = call.words.split_at_checked(at).unwrap_or_default();
        let mut judgement = programs::judge(name, searching, self.site());
        let command = rest.get(1..).unwrap_or_default();
        let ends = |word: &Argument<'_>| word.word.literal() == Some(";");
        let command = match command.iter().position(ends) {
            None => command,
            Some(end) if end + 1 == command.len() => command.get(..end).unwrap_or_default(),
            Some(_) => return Err(opaque("words follow the command of `fd`", call)),
        };
        if command.is_empty() {
            return Err(opaque("`fd` runs no command", call));
        }
        let mut inner: Vec<Argument<'a>> = command.to_vec();
        let mut placed = false;
        for argument in &mut inner {
            let text = crate::directory::shown(&argument.word);
            if PLACEHOLDERS.iter().any(|placeholder| text.contains(placeholder)) {
                placed = true;
                argument.word = input_word(argument.raw, true);
            }
        }
        if !placed {
            inner.push(Argument { word: input_word("{}", false), raw: "", span: call.span });
        }
        let directory = self.directory.clone();
        if searching.iter().skip(1).any(moves) {
            self.directory = Directory::unknown();
        }
        let result = self.inner_words(inner, call, true, scope.not_last());
        self.directory = directory;
        absorb(&mut judgement, &result?);
        Ok(judgement)
    }
}

/// Whether a word may be the option that names another directory to work in, alone or at the end of a cluster.
fn moves(word: &Argument<'_>) -> bool {
    match word.word.literal() {
        Some(text) if text.starts_with("--") => text.starts_with("--base-directory"),
        Some(text) => text.starts_with('-') && text.contains('C'),
        None => true,
    }
}
