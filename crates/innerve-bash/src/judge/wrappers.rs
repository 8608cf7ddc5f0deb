//! Programs that run the command in their own words: `timeout 5 …`, `env …`, `xargs …`, `sh -c '…'`.

use super::options::{Dynamic, Extent, Grammar, Parsed};
use super::{Call, Judgement, bare_name};
use crate::commands::wrappers::{Inside, Known, wrapper};
use crate::directory::Directory;
use crate::opaque::Refusal;
use crate::read::{Argument, Reader, Scope, Step};
use crate::variables::{self, VariableKind};
use crate::{Class, DynamicWord, Effect, OpaqueCode, Word, WordPart};

impl<'a> Reader<'a> {
    /// Judges a wrapper and what it wraps; `None` when `name` is none.
    pub(super) fn wrapper(
        &mut self,
        name: &str,
        call: &Call<'a>,
        scope: Scope,
    ) -> Step<Option<Judgement>> {
        let bare = bare_name(name);
        let Some(wrapper) = wrapper(bare) else { return Ok(None) };
        let judgement = match wrapper.row.inside {
            Inside::Time => self.time(call, scope)?,
            Inside::Command if call.executed || bare != name => return Ok(None),
            Inside::Command => self.command(wrapper, name, call, scope)?,
            Inside::Env => self.env(wrapper, call, scope)?,
            Inside::Xargs => self.xargs(wrapper, call, scope)?,
            Inside::Find => self.find(call, scope)?,
            Inside::Fd => self.fd(call, scope)?,
            Inside::Eval => return self.eval(call, scope),
            Inside::Later if bare == name => return self.later(name, call, scope),
            Inside::Later => return Ok(None),
            Inside::Shell => self.shell(bare, call, scope)?,
            Inside::Nowhere => {
                return Err(opaque(
                    &format!("the command inside `{bare}` is not looked for"),
                    call,
                ));
            }
            Inside::Operand(operands) => {
                self.plain_wrapper(wrapper, bare, operands, call, scope)?
            }
        };
        Ok(Some(judgement))
    }

    /// Takes the options of a wrapper apart.
    fn options<'w>(&self, wrapper: &Known, words: &'w [Argument<'a>]) -> Parsed<'w> {
        let grammar = Grammar {
            options: &wrapper.options,
            abbreviates: true,
            dynamic: Dynamic::Doubtful,
            extent: Extent::UntilOperand,
            values: &self.findings.values,
        };
        grammar.parse(words)
    }

    /// Judges the command that starts at word `index`, and gives what it does.
    pub(super) fn inner(
        &mut self,
        index: usize,
        call: &Call<'a>,
        executed: bool,
        scope: Scope,
    ) -> Step<Judgement> {
        let words: Vec<Argument<'a>> = call.words.get(index..).unwrap_or_default().to_vec();
        self.inner_words(words, call, executed, scope)
    }

    /// Judges a command put together from words of `call`, and gives what it does.
    pub(super) fn inner_words(
        &mut self,
        words: Vec<Argument<'a>>,
        call: &Call<'a>,
        executed: bool,
        scope: Scope,
    ) -> Step<Judgement> {
        let mut span = call.span;
        if let (Some(first), Some(last)) =
            (words.first(), words.iter().rev().find(|word| !word.raw.is_empty()))
        {
            span.start = first.span.start;
            span.end = last.span.end.max(first.span.end);
        }
        let mut wrappers = call.wrappers.clone();
        wrappers.push(
            call.words
                .first()
                .and_then(|first| first.word.literal())
                .unwrap_or_default()
                .to_owned(),
        );
        let inner = Call {
            words,
            assignments: Vec::new(),
            redirections: Vec::new(),
            span,
            wrappers,
            plain_environment: call.plain_environment,
            executed: executed || call.executed,
        };
        let around = std::mem::take(&mut self.around);
        let result = self.call(&inner, scope);
        self.around = around;
        Ok(self.judgement_of(result?))
    }

    /// What a found command does, without its paths: those are told once, where they are used.
    fn judgement_of(&self, index: usize) -> Judgement {
        let mut judgement = Judgement::neutral();
        if let Some(found) = self.findings.found.get(index) {
            judgement.class = found.command.class;
            judgement.effects = found.command.effects;
            judgement.complete = found.command.complete;
        }
        judgement
    }

    /// The union of what the commands from `first` on do.
    pub(super) fn judgement_from(&self, first: usize) -> Judgement {
        let mut judgement = Judgement::neutral();
        for found in self.findings.found.iter().skip(first) {
            judgement.class = judgement.class.max(found.command.class);
            judgement.effects = judgement.effects.union(found.command.effects);
            judgement.complete &= found.command.complete;
        }
        judgement
    }

    fn plain_wrapper(
        &mut self,
        wrapper: &Known,
        name: &str,
        operands: usize,
        call: &Call<'a>,
        scope: Scope,
    ) -> Step<Judgement> {
        let words = call.words.get(1..).unwrap_or_default();
        let parsed = self.options(wrapper, words);
        if parsed.doubt {
            return Err(opaque(&format!("an option of `{name}` is not known"), call));
        }
        let mut index = 1 + parsed.used;
        for _ in 0..operands {
            let known = call.words.get(index).is_some_and(|word| word.word.literal().is_some());
            if !known {
                return Err(opaque(&format!("an operand of `{name}` is not known"), call));
            }
            index += 1;
        }
        let sets_variables = wrapper.row.effects.contains(&Effect::Privilege)
            && call.words.get(index).is_some_and(|word| word.raw.contains('='));
        if sets_variables {
            return Err(opaque("variables set by the wrapper are not analyzed", call));
        }
        let mut judgement = Judgement::new(wrapper.row.class, wrapper.row.effects);
        if call.words.get(index).is_some() {
            let scope = Scope { last: scope.last && wrapper.row.passes_code, ..scope };
            let inner = self.inner(index, call, true, scope)?;
            absorb(&mut judgement, &inner);
        } else {
            judgement.raise(Class::ReadOnly, Effect::Read);
        }
        Ok(judgement)
    }

    /// The keyword, before a plain command only.
    fn time(&mut self, call: &Call<'a>, scope: Scope) -> Step<Judgement> {
        if call.words.first().is_none_or(|first| first.raw != "time") {
            return Err(opaque("only the keyword `time` is analyzed", call));
        }
        let index = if call.words.get(1).is_some_and(|word| word.raw == "-p") { 2 } else { 1 };
        let plain = call.words.get(index).is_some_and(|word| {
            !super::is_reserved(word.raw)
                && !word.raw.starts_with('-')
                && word.raw.bytes().all(|byte| {
                    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b'-')
                })
        });
        if !plain || !call.wrappers.is_empty() || !call.assignments.is_empty() {
            return Err(opaque("`time` is analyzed before a plain command only", call));
        }
        let inner = self.inner(index, call, false, scope)?;
        let mut judgement = Judgement::neutral();
        absorb(&mut judgement, &inner);
        Ok(judgement)
    }

    fn command(
        &mut self,
        wrapper: &Known,
        name: &str,
        call: &Call<'a>,
        scope: Scope,
    ) -> Step<Judgement> {
        let words = call.words.get(1..).unwrap_or_default();
        let parsed = self.options(wrapper, words);
        if parsed.has(&["-v", "-V"]) {
            return Ok(Judgement::new(Class::ReadOnly, &[Effect::Read]));
        }
        if parsed.doubt {
            return Err(opaque(&format!("an option of `{name}` is not known"), call));
        }
        let mut judgement = Judgement::neutral();
        if parsed.used < words.len() {
            let inner = self.inner(1 + parsed.used, call, false, scope)?;
            absorb(&mut judgement, &inner);
        }
        Ok(judgement)
    }

    fn env(&mut self, wrapper: &Known, call: &Call<'a>, scope: Scope) -> Step<Judgement> {
        let words = call.words.get(1..).unwrap_or_default();
        let parsed = self.options(wrapper, words);
        if parsed.doubt {
            return Err(opaque("an option of `env` is not known", call));
        }
        let mut index = 1 + parsed.used;
        let mut plain = call.plain_environment;
        for name in parsed.values(&["-u", "--unset"]) {
            let inert =
                name.literal().is_some_and(|name| variables::kind(name) == VariableKind::Inert);
            plain |= !inert;
        }
        while let Some(word) = call.words.get(index) {
            let text = match &word.word {
                Word::Literal(text) => text.as_str(),
                Word::Dynamic(dynamic) => match dynamic.parts.first() {
                    Some(WordPart::Literal(text)) if dynamic.one_word => text.as_str(),
                    _ => return Err(opaque("a word of `env` is not known", call)),
                },
            };
            let Some((name, _)) = text.split_once('=') else { break };
            if !variables::is_name(name) {
                return Err(opaque("a variable of `env` is not plain", call));
            }
            self.findings.values.forget(name);
            match variables::kind(name) {
                VariableKind::Inert => {}
                VariableKind::Plain => plain = true,
                VariableKind::Meaning | VariableKind::Evaluated => {
                    let message = format!("setting `{name}` changes what programs mean");
                    return Err(Refusal::new(OpaqueCode::ChangesState, message, call.span));
                }
            }
            index += 1;
        }
        if index >= call.words.len() {
            return Ok(Judgement::new(Class::Unknown, &[Effect::Secret]));
        }
        let directory = self.directory.clone();
        if parsed.has(&["-C", "--chdir"]) {
            self.directory = Directory::unknown();
        }
        let inner_call = Call { plain_environment: plain, ..call.clone() };
        let result = self.inner(index, &inner_call, true, scope);
        self.directory = directory;
        let mut judgement = Judgement::neutral();
        absorb(&mut judgement, &result?);
        Ok(judgement)
    }

    fn xargs(&mut self, wrapper: &Known, call: &Call<'a>, scope: Scope) -> Step<Judgement> {
        let words = call.words.get(1..).unwrap_or_default();
        let parsed = self.options(wrapper, words);
        if parsed.doubt {
            return Err(opaque("an option of `xargs` is not known", call));
        }
        let mut placeholders: Vec<String> = Vec::new();
        for value in parsed.values(&["-I", "-i", "--replace"]) {
            match value.literal() {
                Some("") | None => {
                    return Err(opaque("the placeholder of `xargs` is not known", call));
                }
                Some(text) => placeholders.push(text.to_owned()),
            }
        }
        if parsed
            .options
            .iter()
            .any(|(name, value)| matches!(name.as_ref(), "-i" | "--replace") && value.is_none())
        {
            placeholders.push("{}".to_owned());
        }
        let slots: Vec<_> = parsed.values(&["--process-slot-var"]).collect();
        if !slots.iter().all(|name| {
            name.literal().is_some_and(|name| variables::kind(name) == VariableKind::Inert)
        }) {
            let message = "`xargs` sets a variable that may change what programs mean";
            return Err(Refusal::new(OpaqueCode::ChangesState, message, call.span));
        }
        let mut judgement = Judgement::neutral();
        for (_, value) in &parsed.files {
            match value {
                super::Value::Text(text) => {
                    judgement.read(&Word::Literal(text.clone()), &self.directory);
                }
                super::Value::Word(word) => judgement.read(word, &self.directory),
                super::Value::Unknown => judgement.reads.push(None),
            }
        }
        if !placeholders.is_empty() && parsed.has(&["-n", "-L", "-l", "--max-args", "--max-lines"])
        {
            return Err(opaque("options of `xargs` exclude each other", call));
        }
        let mut inner: Vec<Argument<'a>> =
            call.words.get(1 + parsed.used..).unwrap_or_default().to_vec();
        if inner.is_empty() {
            let echo = Word::Literal("echo".to_owned());
            inner.push(Argument { word: echo, raw: "", span: call.span });
        }
        let Some(first) = inner.first() else { return Ok(judgement) };
        if placeholders.iter().any(|placeholder| first.raw.contains(placeholder.as_str())) {
            return Err(Refusal::new(
                OpaqueCode::DynamicCommand,
                "`xargs` takes the program from its input",
                call.span,
            ));
        }
        if placeholders.is_empty() {
            inner.push(from_input("…", call));
        } else {
            for argument in inner.iter_mut().skip(1) {
                let text = crate::directory::shown(&argument.word);
                if placeholders.iter().any(|placeholder| text.contains(placeholder.as_str())) {
                    argument.word = input_word(argument.raw, true);
                }
            }
        }
        let result = self.inner_words(inner, call, true, scope.not_last())?;
        absorb(&mut judgement, &result);
        Ok(judgement)
    }
}

/// A word that a wrapper takes from its input.
fn from_input<'a>(raw: &str, call: &Call<'a>) -> Argument<'a> {
    Argument { word: input_word(raw, false), raw: "", span: call.span }
}

pub(super) fn input_word(raw: &str, one_word: bool) -> Word {
    Word::Dynamic(DynamicWord {
        raw: raw.to_owned(),
        parts: vec![WordPart::Other(raw.to_owned())],
        one_word,
    })
}

/// Takes over what a wrapped command does.
pub(super) fn absorb(judgement: &mut Judgement, inner: &Judgement) {
    judgement.class = judgement.class.max(inner.class);
    judgement.effects = judgement.effects.union(inner.effects);
    judgement.complete &= inner.complete;
}

pub(super) fn opaque(message: &str, call: &Call<'_>) -> Refusal {
    Refusal::new(OpaqueCode::Wrapper, message, call.span)
}
