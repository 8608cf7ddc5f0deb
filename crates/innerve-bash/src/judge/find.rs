//! `find`: tests that read, actions that write, and the commands behind `-exec`.

use super::wrappers::{absorb, opaque};
use super::{Call, Judgement};
use crate::read::{Argument, Reader, Scope, Step};
use crate::{Class, DynamicWord, Effect, Word, WordPart};

/// Tests and options without a word of their own.
pub(crate) const PLAIN: &[&str] = &[
    "-daystart",
    "-depth",
    "-d",
    "-empty",
    "-executable",
    "-false",
    "-follow",
    "-help",
    "-ignore_readdir_race",
    "-ls",
    "-mount",
    "-nogroup",
    "-noignore_readdir_race",
    "-noleaf",
    "-nouser",
    "-nowarn",
    "-print",
    "-print0",
    "-prune",
    "-quit",
    "-readable",
    "-true",
    "-warn",
    "-writable",
    "-xdev",
    "-not",
    "-and",
    "-or",
    "-a",
    "-o",
    "!",
    "(",
    ")",
    ",",
];

/// Tests and options with one word.
pub(crate) const VALUED: &[&str] = &[
    "-amin",
    "-anewer",
    "-atime",
    "-cmin",
    "-cnewer",
    "-context",
    "-ctime",
    "-fstype",
    "-gid",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-iwholename",
    "-links",
    "-lname",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-newer",
    "-path",
    "-perm",
    "-printf",
    "-regex",
    "-regextype",
    "-samefile",
    "-size",
    "-type",
    "-uid",
    "-used",
    "-user",
    "-wholename",
    "-xtype",
];

impl<'a> Reader<'a> {
    /// Whether a word is certain to be a path rather than an option or action.
    fn is_path(&self, word: &Word) -> bool {
        match word {
            Word::Literal(text) => !text.starts_with('-'),
            Word::Dynamic(dynamic) => {
                dynamic.one_word
                    && self.findings.values.is_operand(dynamic)
                    && !matches!(dynamic.parts.first(), Some(WordPart::Literal(text)) if text.starts_with(['(', ')', '!', ',']))
            }
        }
    }

    /// Judges `find` and the commands it runs.
    pub(super) fn find(&mut self, call: &Call<'a>, scope: Scope) -> Step<Judgement> {
        let words = call.words.get(1..).unwrap_or_default();
        let mut judgement = Judgement::new(Class::ReadOnly, &[Effect::Read]);
        let mut at = 0;
        while let Some(argument) = words.get(at) {
            if !matches!(argument.word.literal(), Some("-H" | "-L" | "-P" | "-O1" | "-O2" | "-O3"))
            {
                break;
            }
            at += 1;
        }
        let mut starts: Vec<&Word> = Vec::new();
        while let Some(argument) = words.get(at) {
            match argument.word.literal() {
                Some(text) if text.starts_with(['-', '(', ')', ',', '!']) => break,
                Some(_) => {}
                None if self.is_path(&argument.word) => {}
                None => {
                    // The start may turn out to be an action, such as the `-exec` of a command that ends further on.
                    if words.iter().any(|word| {
                        word.word.literal().is_some_and(|text| {
                            text.starts_with("-exec")
                                || text.starts_with("-ok")
                                || matches!(text, ";" | "+")
                        })
                    }) {
                        return Err(opaque("a word of `find` is not known", call));
                    }
                    judgement.doubt();
                }
            }
            starts.push(&argument.word);
            judgement.look_at(&argument.word, &self.directory);
            at += 1;
        }
        // What is found starts with the starting point, so it is no option when that is none.
        let start = match starts.as_slice() {
            [] => Some("."),
            [start] => start.literal(),
            _ => None,
        };
        let mut secret_name = false;
        while let Some(argument) = words.get(at) {
            at += 1;
            let Some(text) = argument.word.literal() else {
                return Err(opaque("a word of `find` is not known", call));
            };
            match text {
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let rest = words.get(at..).unwrap_or_default();
                    let mut previous = None;
                    let end = rest.iter().position(|word| {
                        let literal = word.word.literal();
                        let ends =
                            literal == Some(";") || literal == Some("+") && previous == Some("{}");
                        previous = literal;
                        ends
                    });
                    let Some((command, [last, ..])) =
                        end.and_then(|end| rest.split_at_checked(end))
                    else {
                        return Err(opaque("a command of `find` does not end", call));
                    };
                    let many = last.word.literal() == Some("+");
                    let prefix = if text.ends_with("dir") { Some("./") } else { start };
                    let inner: Vec<Argument<'a>> =
                        command.iter().map(|argument| replace(argument, prefix, many)).collect();
                    if inner.is_empty() {
                        return Err(opaque("`find` runs no command", call));
                    }
                    at += command.len() + 1;
                    let directory = self.directory.clone();
                    if text.ends_with("dir") {
                        self.directory = crate::directory::Directory::unknown();
                    }
                    let result = self.inner_words(inner, call, true, scope.not_last());
                    self.directory = directory;
                    absorb(&mut judgement, &result?);
                    if secret_name {
                        judgement.raise(Class::Unknown, Effect::Secret);
                    }
                }
                "-delete" => {
                    judgement.raise(Class::Write, Effect::Delete);
                    judgement.deletes.push(None);
                }
                "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                    match words.get(at) {
                        Some(file) => judgement.write(&file.word, &self.directory),
                        None => judgement.doubt(),
                    }
                    at += if text == "-fprintf" { 2 } else { 1 };
                }
                _ if PLAIN.contains(&text) => {}
                _ if VALUED.contains(&text) || text.starts_with("-newer") => {
                    secret_name |= words
                        .get(at)
                        .is_some_and(|word| super::names_secret(&word.word, &self.directory));
                    match words.get(at).map(|word| &word.word) {
                        Some(Word::Literal(_)) => {}
                        // A quoted expansion is one word and stands where a value is expected.
                        Some(Word::Dynamic(dynamic)) if dynamic.one_word => {}
                        _ => return Err(opaque("a word of `find` is not known", call)),
                    }
                    at += 1;
                }
                _ => judgement.doubt(),
            }
        }
        Ok(judgement)
    }
}

/// A word of a command of `find`, with `{}` standing for what is found.
fn replace<'a>(argument: &Argument<'a>, prefix: Option<&str>, many: bool) -> Argument<'a> {
    let mut argument = argument.clone();
    if let Word::Literal(text) = &argument.word
        && text.contains("{}")
    {
        let mut parts = Vec::new();
        let start = text.split("{}").next().unwrap_or_default();
        if !start.is_empty() {
            parts.push(WordPart::Literal(start.to_owned()));
        } else if let Some(prefix) = prefix {
            parts.push(WordPart::Literal(prefix.to_owned()));
        }
        parts.push(WordPart::Other(text.clone()));
        argument.word = Word::Dynamic(DynamicWord {
            raw: text.clone(),
            parts,
            one_word: !many || prefix.is_some(),
        });
    }
    argument
}
