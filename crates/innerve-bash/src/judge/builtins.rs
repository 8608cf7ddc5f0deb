//! Builtins of the shell: the few that are inert, `cd`, and those that change what later text means.

use super::options::{Dynamic, Extent, Parsed};
use super::{Call, Judgement};
use crate::directory::Directory;
use crate::opaque::Refusal;
use crate::read::{Argument, Reader, Step, conditions};
use crate::variables::{self, VariableKind};
use crate::{Class, Effect, OpaqueCode, Word, WordPart};

/// Builtins without an effect outside the shell, whatever their words.
const INERT: &[&str] = &[
    ":", "true", "false", "echo", "pwd", "exit", "return", "break", "continue", "shift", "times",
    "jobs", "dirs",
];

/// Builtins that change what later text means, or run text that is not seen.
const STATEFUL: &[&str] = &[
    ".",
    "alias",
    "bind",
    "caller",
    "compgen",
    "complete",
    "compopt",
    "coproc",
    "declare",
    "enable",
    "exec",
    "fc",
    "getopts",
    "hash",
    "history",
    "local",
    "logout",
    "mapfile",
    "readarray",
    "readonly",
    "shopt",
    "source",
    "suspend",
    "trap",
    "typeset",
    "unalias",
    "unset",
];

/// Builtins with a rule of their own, and wrappers.
const OTHER: &[&str] = &[
    "[", "bg", "builtin", "cd", "command", "disown", "eval", "export", "fg", "kill", "let", "popd",
    "printf", "pushd", "read", "set", "test", "type", "ulimit", "umask", "wait", "time", "timeout",
    "nice", "nohup", "stdbuf", "setsid", "ionice", "sudo", "doas", "env", "xargs", "find", "bash",
    "sh", "dash", "zsh", "ksh", "taskset", "chrt", "flock",
];

/// Options of `set` that leave the meaning of later text alone.
const SET_OPTIONS: &[&str] = &[
    "-e", "-u", "-x", "-eu", "-ex", "-ux", "-eux", "-o", "-eo", "-uo", "-xo", "-euo", "-exo",
    "-euxo", "-xeuo", "-ueo", "+e", "+u", "+x", "+o", "pipefail", "errexit", "nounset", "xtrace",
];

/// Whether the shell itself gives `name` a meaning, or it is a wrapper.
pub(crate) fn is_known(name: &str) -> bool {
    INERT.contains(&name) || STATEFUL.contains(&name) || OTHER.contains(&name)
}

impl<'a> Reader<'a> {
    /// Judges a builtin; `None` when `name` is none.
    pub(super) fn builtin(&mut self, name: &str, call: &Call<'a>) -> Step<Option<Judgement>> {
        let words = call.words.get(1..).unwrap_or_default();
        let refuse = |code, message: &str| Err(Refusal::new(code, message, call.span));
        if STATEFUL.contains(&name) {
            return refuse(
                OpaqueCode::ChangesState,
                &format!("`{name}` changes what later text means or runs text that is not seen"),
            );
        }
        let mut judgement = Judgement::neutral();
        match name {
            _ if INERT.contains(&name) => {}
            "[[" => {}
            "[" | "test" => {
                let operands = match (name, words.split_last()) {
                    ("[", Some((last, operands))) if last.word.literal() == Some("]") => operands,
                    ("[", _) => return refuse(OpaqueCode::Syntax, "`[` is not closed"),
                    _ => words,
                };
                if !is_plain_test(operands) {
                    return refuse(
                        OpaqueCode::EvaluatesData,
                        &format!("`{name}` of this form may evaluate data as code"),
                    );
                }
                return Ok(Some(judgement));
            }
            "cd" => self.change_directory(words, call),
            "pushd" | "popd" => {
                if !call.executed {
                    self.directory = Directory::unknown();
                }
            }
            "printf" => {
                let plain = match words.first().map(|first| &first.word) {
                    None => true,
                    Some(Word::Literal(text)) => !text.starts_with('-') || text == "--",
                    Some(Word::Dynamic(dynamic)) => {
                        matches!(dynamic.parts.first(), Some(WordPart::Literal(text)) if !text.starts_with('-'))
                    }
                };
                if !plain {
                    return refuse(
                        OpaqueCode::EvaluatesData,
                        "`printf` may be told to assign, and evaluates the name",
                    );
                }
            }
            "read" => {
                let parsed = Parsed::parse(words, "-rs -pdnNtu=", Dynamic::Doubtful, Extent::Whole);
                let plain = parsed.operands.iter().all(|word| {
                    word.literal().is_some_and(|name| {
                        variables::is_name(name) && variables::kind(name) == VariableKind::Inert
                    })
                });
                if parsed.doubt || !plain {
                    return refuse(
                        OpaqueCode::EvaluatesData,
                        "`read` evaluates names that are not plain lower-case ones",
                    );
                }
            }
            "set" => return self.set(words, call).map(Some),
            "type" => judgement = Judgement::new(Class::ReadOnly, &[Effect::Read]),
            "wait" => {
                let plain = |word: &Argument<'_>| {
                    word.word
                        .literal()
                        .is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
                };
                if !words.iter().all(plain) {
                    return refuse(
                        OpaqueCode::EvaluatesData,
                        "`wait` may be told to assign, and evaluates the name",
                    );
                }
            }
            "umask" if words.is_empty() => {}
            "kill" | "ulimit" | "umask" | "disown" | "bg" | "fg" => {
                judgement = Judgement::new(Class::Write, &[Effect::State]);
            }
            "let" => return refuse(OpaqueCode::EvaluatesData, "`let` evaluates its words"),
            "export" => return Self::export(words, call).map(Some),
            _ => return Ok(None),
        }
        for argument in words {
            judgement.look_for_secrets(&argument.word);
        }
        Ok(Some(judgement))
    }

    /// Follows `cd`.
    fn change_directory(&mut self, words: &[Argument<'a>], call: &Call<'a>) {
        if call.executed {
            return;
        }
        let parsed = Parsed::parse(words, "-LPe", Dynamic::Doubtful, Extent::Whole);
        self.directory = match parsed.operands.as_slice() {
            [word] if word.literal() != Some("-") && !self.adrift => self.directory.enter(word),
            _ => Directory::unknown(),
        };
    }

    fn set(&mut self, words: &[Argument<'a>], call: &Call<'a>) -> Step<Judgement> {
        if words.is_empty() {
            return Ok(Judgement::new(Class::Unknown, &[Effect::Secret]));
        }
        if words.first().is_some_and(|word| word.word.literal() == Some("--")) {
            return Ok(Judgement::neutral());
        }
        let known = |word: &Argument<'_>| {
            word.word.literal().is_some_and(|text| SET_OPTIONS.contains(&text))
        };
        if !words.iter().all(known) {
            return Err(Refusal::new(
                OpaqueCode::ChangesState,
                "`set` changes how later text is read",
                call.span,
            ));
        }
        self.findings.pipefail |= words.iter().any(|word| word.word.literal() == Some("pipefail"));
        Ok(Judgement::neutral())
    }

    fn export(words: &[Argument<'a>], call: &Call<'a>) -> Step<Judgement> {
        let mut judgement = Judgement::neutral();
        for argument in words {
            judgement.look_for_secrets(&argument.word);
            let text = match &argument.word {
                Word::Literal(text) => text.as_str(),
                Word::Dynamic(dynamic) => match dynamic.parts.first() {
                    Some(WordPart::Literal(text)) if text.contains('=') => text.as_str(),
                    _ => {
                        return Err(Refusal::new(
                            OpaqueCode::ChangesState,
                            "what is exported is not known",
                            call.span,
                        ));
                    }
                },
            };
            if text == "-p" {
                return Ok(Judgement::new(Class::Unknown, &[Effect::Secret]));
            }
            let name = text.split_once('=').map_or(text, |(name, _)| name);
            let harmless =
                matches!(variables::kind(name), VariableKind::Inert | VariableKind::Plain);
            if !variables::is_name(name) || !harmless && text.contains('=') {
                let message = format!("exporting `{name}` changes what later programs mean");
                return Err(Refusal::new(OpaqueCode::ChangesState, message, call.span));
            }
        }
        if words.is_empty() {
            return Ok(Judgement::new(Class::Unknown, &[Effect::Secret]));
        }
        Ok(judgement)
    }
}

/// Whether an exported name is one that programs may read.
pub(super) fn exports_plain(words: &[Argument<'_>]) -> bool {
    words.iter().skip(1).any(|argument| {
        let text = match &argument.word {
            Word::Literal(text) => text.as_str(),
            Word::Dynamic(dynamic) => match dynamic.parts.first() {
                Some(WordPart::Literal(text)) => text.as_str(),
                _ => return true,
            },
        };
        let name = text.split_once('=').map_or(text, |(name, _)| name);
        variables::kind(name) != VariableKind::Inert
    })
}

/// Whether `test` evaluates none of its operands.
fn is_plain_test(operands: &[Argument<'_>]) -> bool {
    let one_word = operands.iter().all(|operand| match &operand.word {
        Word::Literal(text) => !matches!(text.as_str(), "(" | ")" | "-v" | "-R" | "-a" | "-o"),
        Word::Dynamic(dynamic) => dynamic.one_word || is_number(&operand.word),
    });
    let literal = |operand: &Argument<'_>| operand.word.literal().unwrap_or_default().to_owned();
    one_word
        && match operands {
            [] | [_] => true,
            [operator, _] => literal(operator) == "!" || conditions::is_unary(&literal(operator)),
            [first, operator, last] => {
                let operator = literal(operator);
                if literal(first) == "!" {
                    return is_plain_test(&[operands.get(1..).unwrap_or_default()].concat())
                        && last.word.literal() != Some("-v");
                }
                conditions::is_comparison(&operator)
                    || conditions::is_number_comparison(&operator)
                    || matches!(operator.as_str(), "<" | ">")
            }
            [bang, rest @ ..] if rest.len() == 3 && literal(bang) == "!" => is_plain_test(rest),
            _ => false,
        }
}

/// `$#` and `$?` are one word even without quotes.
fn is_number(word: &Word) -> bool {
    match word {
        Word::Literal(_) => false,
        Word::Dynamic(dynamic) => matches!(dynamic.raw.as_str(), "$#" | "$?"),
    }
}
