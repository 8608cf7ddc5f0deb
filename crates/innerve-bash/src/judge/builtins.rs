//! Builtins of the shell: the few that are inert, `cd`, and those that change what later text means.

use std::sync::LazyLock;

use super::options::{Dynamic, Extent, Grammar, Options, Parsed};
use super::{Call, Judgement};
use crate::commands::builtins::{Judged, builtin};
use crate::directory::Directory;
use crate::opaque::Refusal;
use crate::read::{Argument, Reader, Step, conditions};
use crate::variables::{self, VariableKind};
use crate::{Class, Effect, OpaqueCode, Word, WordPart};

static READ_OPTIONS: LazyLock<Options> = LazyLock::new(|| Options::new("-rs -pdnNtu="));
static CD_OPTIONS: LazyLock<Options> = LazyLock::new(|| Options::new("-LPe"));

/// Letters of `set` that leave the meaning of later text alone.
const SET_LETTERS: &[u8] = b"euxEvCf";

/// Names behind `set -o` that leave the meaning of later text alone.
const SET_NAMES: &[&str] =
    &["pipefail", "errexit", "nounset", "xtrace", "errtrace", "verbose", "noclobber", "noglob"];

impl<'a> Reader<'a> {
    /// Judges a builtin; `None` when `name` is none.
    pub(super) fn builtin(&mut self, name: &str, call: &Call<'a>) -> Step<Option<Judgement>> {
        if name == "[[" {
            return Ok(Some(Judgement::neutral()));
        }
        let Some(row) = builtin(name).filter(|row| !call.executed || row.is_program) else {
            return Ok(None);
        };
        let words = call.words.get(1..).unwrap_or_default();
        let mut judgement = match row.judged {
            Judged::Inert => Judgement::neutral(),
            Judged::State => Judgement::new(Class::Write, &[Effect::State]),
            Judged::Rule => self.by_rule(name, words, call)?,
            Judged::Refused if name == "let" => {
                return Err(evaluates("`let` evaluates its words", call));
            }
            Judged::Refused => {
                let message =
                    format!("`{name}` changes what later text means or runs text that is not seen");
                return Err(Refusal::new(OpaqueCode::ChangesState, message, call.span));
            }
        };
        for argument in words {
            judgement.look_for_secrets(&argument.word);
        }
        Ok(Some(judgement))
    }

    fn by_rule(&mut self, name: &str, words: &[Argument<'a>], call: &Call<'a>) -> Step<Judgement> {
        let neutral = Judgement::neutral();
        match name {
            "[" | "test" => {
                let operands = match (name, words.split_last()) {
                    ("[", Some((last, operands))) if last.word.literal() == Some("]") => operands,
                    ("[", _) => {
                        return Err(Refusal::new(
                            OpaqueCode::Syntax,
                            "`[` is not closed",
                            call.span,
                        ));
                    }
                    _ => words,
                };
                if !is_plain_test(operands) {
                    return Err(evaluates(
                        &format!("`{name}` of this form may evaluate data as code"),
                        call,
                    ));
                }
            }
            "cd" => self.change_directory(words, call),
            "pushd" | "popd" => self.directory = Directory::unknown(),
            "printf" => {
                if !call.executed && !self.prints_only(words) {
                    return Err(evaluates("`printf` of this form may assign a variable", call));
                }
            }
            "read" => self.read_names(words, call)?,
            "set" => return self.set(words, call),
            "type" => return Ok(Judgement::new(Class::ReadOnly, &[Effect::Read])),
            "wait" if !words.iter().all(is_job) => {
                return Err(evaluates("`wait` of this form may assign a variable", call));
            }
            "wait" => {}
            "jobs" => {
                let plain = |word: &Argument<'_>| {
                    word.word.literal().is_some_and(|text| {
                        !text.starts_with('-')
                            || text.bytes().skip(1).all(|letter| b"lnprs".contains(&letter))
                    })
                };
                if !words.iter().all(plain) {
                    let message = "`jobs` of this form may run a command";
                    return Err(Refusal::new(OpaqueCode::Wrapper, message, call.span));
                }
            }
            "umask" | "ulimit" => {
                let shows = |text: &str| match name {
                    "umask" => matches!(text, "-S" | "-p"),
                    // A limit may be attached to its letter.
                    _ => text.strip_prefix('-').is_some_and(|letters| {
                        let last = letters.trim_start_matches(['H', 'S', 'a']);
                        last.len() <= 1 && last.bytes().all(|letter| letter.is_ascii_alphabetic())
                    }),
                };
                if !words.iter().all(|word| word.word.literal().is_some_and(shows)) {
                    return Ok(Judgement::new(Class::Write, &[Effect::State]));
                }
            }
            "kill" => {
                let literal = |index: usize| words.get(index).and_then(|word| word.word.literal());
                let looks = match words {
                    [_, process] => {
                        literal(0) == Some("-0")
                            && match &process.word {
                                Word::Literal(text) => !text.starts_with('-'),
                                Word::Dynamic(dynamic) => dynamic.one_word,
                            }
                    }
                    _ => false,
                };
                if !looks && literal(0) != Some("-l") {
                    return Ok(Judgement::new(Class::Write, &[Effect::State]));
                }
            }
            "export" => return Self::export(words, call),
            // A rule that is missing must not pass for a harmless builtin.
            _ => return Ok(Judgement::unknown()),
        }
        Ok(neutral)
    }

    /// Whether `printf` assigns nothing: neither by `-v` nor by `%n`, which assigns the variable that an argument names.
    fn prints_only(&self, words: &[Argument<'a>]) -> bool {
        let dashes = words.first().is_some_and(|first| first.word.literal() == Some("--"));
        let words = words.get(usize::from(dashes)..).unwrap_or_default();
        let Some((format, arguments)) = words.split_first() else { return true };
        match &format.word {
            Word::Literal(text) => (dashes || !text.starts_with('-')) && !counts(text),
            Word::Dynamic(dynamic) => {
                let literal_parts = dynamic.parts.iter().all(|part| match part {
                    WordPart::Literal(text) => !counts(text),
                    WordPart::Variable(_)
                    | WordPart::Tilde(_)
                    | WordPart::Glob(_)
                    | WordPart::Other(_) => true,
                });
                let is_format = dashes || self.findings.values.is_operand(dynamic);
                is_format
                    && dynamic.one_word
                    && literal_parts
                    && arguments.iter().all(|argument| is_no_name(&argument.word))
            }
        }
    }

    /// `read`: the names are evaluated, so only plain ones are let through.
    fn read_names(&mut self, words: &[Argument<'a>], call: &Call<'a>) -> Step {
        let parsed = self.whole(&READ_OPTIONS, words);
        let names: Option<Vec<&str>> = parsed.operands.iter().map(|word| word.literal()).collect();
        let plain =
            |name: &&str| variables::is_name(name) && variables::kind(name) == VariableKind::Inert;
        match names {
            Some(names) if !parsed.doubt && names.iter().all(plain) => {
                for name in names {
                    self.findings.values.forget(name);
                }
                Ok(())
            }
            _ => Err(evaluates("`read` evaluates names that are not plain lower-case ones", call)),
        }
    }

    fn whole<'w>(&self, options: &Options, words: &'w [Argument<'a>]) -> Parsed<'w> {
        let (dynamic, extent) = (Dynamic::Doubtful, Extent::Whole);
        let values = &self.findings.values;
        Grammar { options, abbreviates: false, dynamic, extent, values }.parse(words)
    }

    /// Follows `cd`.
    fn change_directory(&mut self, words: &[Argument<'a>], call: &Call<'a>) {
        if call.executed {
            return;
        }
        let parsed = self.whole(&CD_OPTIONS, words);
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
            word.word.literal().is_some_and(|text| {
                SET_NAMES.contains(&text)
                    || text.strip_prefix(['-', '+']).is_some_and(|letters| {
                        let letters = letters.strip_suffix('o').unwrap_or(letters);
                        letters.bytes().all(|letter| SET_LETTERS.contains(&letter))
                    })
            })
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

fn evaluates(message: &str, call: &Call<'_>) -> Refusal {
    Refusal::new(OpaqueCode::EvaluatesData, message, call.span)
}

/// Whether a format holds `%n`, with whatever flags and widths.
fn counts(format: &str) -> bool {
    format.split('%').skip(1).any(|conversion| {
        conversion
            .trim_start_matches(|character: char| {
                character.is_ascii_digit() || "-+ #'0*.hlLjztq$".contains(character)
            })
            .starts_with('n')
    })
}

/// Whether a word cannot be the name of a variable.
fn is_no_name(word: &Word) -> bool {
    let other = |text: &str| !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match word {
        Word::Literal(text) => !variables::is_name(text),
        Word::Dynamic(dynamic) => {
            dynamic.one_word
                && dynamic.parts.iter().any(|part| match part {
                    WordPart::Literal(text) => other(text),
                    WordPart::Variable(_)
                    | WordPart::Tilde(_)
                    | WordPart::Glob(_)
                    | WordPart::Other(_) => false,
                })
        }
    }
}

/// A process, `%job` or `$!`.
fn is_job(word: &Argument<'_>) -> bool {
    match &word.word {
        Word::Literal(text) => {
            text.strip_prefix('%').unwrap_or(text).bytes().all(|byte| byte.is_ascii_digit())
        }
        Word::Dynamic(dynamic) => matches!(dynamic.raw.as_str(), "$!" | "\"$!\""),
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
