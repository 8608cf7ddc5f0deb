//! Text that is run: `sh -c '…'`, `eval`, `trap`, and `exec`, which ends the shell.

use super::wrappers::opaque;
use super::{Call, Judgement, names_secret};
use crate::commands::wrappers::SHELL_FLAGS;
use crate::opaque::Refusal;
use crate::read::{Argument, Reader, Scope, Step};
use crate::{Class, Effect, OpaqueCode, RedirectionKind, Word};

/// Text that `sh` may read otherwise than bash does.
const BASH_ONLY: &[&str] = &["$'", "&>", "|&", "<<<", "[[", "+=", "<(", ">(", "function "];

impl<'a> Reader<'a> {
    /// `sh -c LITERAL`; every other way to start a shell runs text that is not seen.
    pub(super) fn shell(&mut self, name: &str, call: &Call<'a>, scope: Scope) -> Step<Judgement> {
        let flags = call.words.get(1).and_then(|word| word.word.literal()).unwrap_or_default();
        let is_command = flags.len() > 1
            && flags.starts_with('-')
            && flags.ends_with('c')
            && !flags.starts_with("--");
        if flags == "--version" && call.words.len() == 2 {
            return Ok(Judgement::new(Class::ReadOnly, &[Effect::Read]));
        }
        if let [_, option, files @ ..] = call.words.as_slice()
            && option.word.literal() == Some("-n")
            && !files.is_empty()
            && matches!(name, "bash" | "sh" | "dash")
        {
            return self.syntax_check(files, call);
        }
        let code = call.words.get(2).filter(|_| is_command);
        let Some((code, text)) = code.and_then(|code| Some((code, code.word.literal()?))) else {
            self.read_input(name, call, scope)?;
            return Err(opaque(&format!("`{name}` runs text that is not seen"), call));
        };
        if text.starts_with(['-', '+']) {
            // The shell goes on reading options behind `-c`; its text comes later.
            self.read_operands(name, call, scope)?;
            return Err(opaque(
                &format!("`{name}` takes an option where its text is expected"),
                call,
            ));
        }
        let (text, span) = (text.to_owned(), code.span);
        let mut wrappers = call.wrappers.clone();
        wrappers.push(
            call.words.first().and_then(|first| first.word.literal()).unwrap_or(name).to_owned(),
        );
        let first = self.findings.found.len();
        self.read_inner(&text, span, wrappers, scope)?;
        if !flags.bytes().skip(1).all(|flag| SHELL_FLAGS.contains(&flag)) {
            return Err(opaque(&format!("an option of `{name}` is not known"), call));
        }
        if !matches!(name, "bash" | "sh" | "dash") {
            return Err(opaque(&format!("`{name}` reads text otherwise than bash does"), call));
        }
        if name != "bash" && BASH_ONLY.iter().any(|mark| text.contains(mark)) {
            return Err(opaque(
                &format!("`{name}` may read this text otherwise than bash does"),
                call,
            ));
        }
        let mut judgement = self.judgement_from(first);
        if call.words.iter().skip(3).any(|word| names_secret(&word.word, &self.directory)) {
            judgement.raise(Class::Unknown, Effect::Secret);
        }
        if call.plain_environment {
            judgement.doubt();
        }
        Ok(judgement)
    }

    /// `bash -n FILE`: the file is read, nothing of it runs.
    fn syntax_check(&mut self, files: &[Argument<'a>], call: &Call<'a>) -> Step<Judgement> {
        let mut judgement = Judgement::new(Class::ReadOnly, &[Effect::Read]);
        for file in files {
            let is_file = match &file.word {
                Word::Literal(text) => !text.starts_with(['-', '+']),
                Word::Dynamic(dynamic) => {
                    dynamic.one_word && self.findings.values.is_operand(dynamic)
                }
            };
            if !is_file {
                return Err(opaque("an option of the shell is not known", call));
            }
            judgement.read(&file.word, &self.directory);
        }
        Ok(judgement)
    }

    /// Lists what each word of a shell would run, whichever of them is its text.
    fn read_operands(&mut self, name: &str, call: &Call<'a>, scope: Scope) -> Step {
        for word in call.words.iter().skip(3) {
            if let Some(text) = word.word.literal().filter(|text| !text.starts_with(['-', '+'])) {
                let mut wrappers = call.wrappers.clone();
                wrappers.push(name.to_owned());
                self.read_inner(text, word.span, wrappers, scope.not_last())?;
            }
        }
        Ok(())
    }

    /// Lists what a shell reads from a here-document or here-string.
    fn read_input(&mut self, name: &str, call: &Call<'a>, scope: Scope) -> Step {
        let texts: Vec<String> = call
            .redirections
            .iter()
            .filter(|redirection| redirection.kind == RedirectionKind::Text)
            .filter_map(|redirection| redirection.target.literal().map(str::to_owned))
            .collect();
        for text in texts {
            let mut wrappers = call.wrappers.clone();
            wrappers.push(name.to_owned());
            self.read_inner(&text, call.span, wrappers, scope.not_last())?;
        }
        Ok(())
    }

    /// Lists what literal text given to `eval` runs, and refuses.
    pub(super) fn eval(&mut self, call: &Call<'a>, scope: Scope) -> Step<Option<Judgement>> {
        let words: Option<Vec<&str>> =
            call.words.iter().skip(1).map(|word| word.word.literal()).collect();
        if let Some(words) = words {
            let mut wrappers = call.wrappers.clone();
            wrappers.push("eval".to_owned());
            self.read_inner(&words.join(" "), call.span, wrappers, scope)?;
        }
        Err(Refusal::new(
            OpaqueCode::ChangesState,
            "`eval` runs what it is given in this shell",
            call.span,
        ))
    }

    /// Lists what `trap` runs later or `exec` runs instead of the shell, and refuses.
    pub(super) fn later(
        &mut self,
        name: &str,
        call: &Call<'a>,
        scope: Scope,
    ) -> Step<Option<Judgement>> {
        if name == "exec" {
            if call.words.len() > 1 {
                self.inner(1, call, true, scope)?;
            }
        } else if let Some(text) = call.words.get(1).and_then(|word| word.word.literal()) {
            let mut wrappers = call.wrappers.clone();
            wrappers.push(name.to_owned());
            self.read_inner(text, call.span, wrappers, scope.not_last())?;
        }
        let message = format!("`{name}` changes what later text means");
        Err(Refusal::new(OpaqueCode::ChangesState, message, call.span))
    }
}
