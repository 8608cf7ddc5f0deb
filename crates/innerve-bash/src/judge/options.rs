//! Options and operands of a program, by a closed list of the options that are known.
//!
//! A list is a text of tokens: `-abc` are flags, `-n=` takes a value (`-n=<` a file that is read, `-o=>` one that is
//! written), `-U?` takes a value only when attached, `-#` is a number such as `-20`, `~-br` is one option of several
//! letters; `--name`, `--name=` and so on are the same for long options.

use crate::read::Argument;
use crate::{Word, WordPart};

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arity {
    None,
    Attached,
    Required(Role),
}

/// What a program does with the value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Text,
    Read,
    Write,
}

/// The value of an option.
#[derive(Clone, Debug)]
pub(crate) enum Value<'w> {
    /// Attached to the option, or the whole next word.
    Text(String),
    /// The next word.
    Word(&'w Word),
    /// Attached, but not statically known.
    Unknown,
}

impl Value<'_> {
    /// The value, when it is known.
    pub(crate) fn literal(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Word(word) => word.literal(),
            Self::Unknown => None,
        }
    }
}

/// How dynamic words are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dynamic {
    /// No option of the program writes or executes, so they cannot harm.
    Harmless,
    /// They may be options that are not known.
    Doubtful,
}

/// Where parsing ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Options may stand behind operands.
    Whole,
    /// The first operand ends the options.
    UntilOperand,
}

/// Options and operands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parsed<'w> {
    pub(crate) operands: Vec<&'w Word>,
    /// Options that were given, by their name in the list, with their values.
    pub(crate) options: Vec<(String, Option<Value<'w>>)>,
    /// Values with a role.
    pub(crate) files: Vec<(Role, Value<'w>)>,
    /// Whether something was met that is not on the list.
    pub(crate) doubt: bool,
    /// How many words were used, for [`Extent::UntilOperand`].
    pub(crate) used: usize,
}

impl<'w> Parsed<'w> {
    /// Whether one of the options was given.
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    /// The values of an option.
    pub(crate) fn values<'p>(&'p self, names: &'p [&str]) -> impl Iterator<Item = &'p Value<'w>> {
        self.options
            .iter()
            .filter(|(name, _)| names.contains(&name.as_str()))
            .filter_map(|(_, value)| value.as_ref())
    }

    /// The literal operand at `index`.
    pub(crate) fn literal(&self, index: usize) -> Option<&'w str> {
        self.operands.get(index).and_then(|word| word.literal())
    }

    /// Takes `words` (without the name) apart.
    pub(crate) fn parse(
        words: &'w [Argument<'_>],
        list: &str,
        dynamic: Dynamic,
        extent: Extent,
    ) -> Self {
        let mut parsed = Self::default();
        let any = list == "*";
        let mut after_dashes = false;
        let mut rest = words.iter().enumerate();
        parsed.used = words.len();
        while let Some((index, argument)) = rest.next() {
            let word = &argument.word;
            let text = match word {
                Word::Literal(text) => text.as_str(),
                Word::Dynamic(value) => {
                    let harmless = dynamic == Dynamic::Harmless || any;
                    let start = value.parts.first();
                    let option = match start {
                        Some(WordPart::Literal(text)) if text.starts_with('-') && !after_dashes => {
                            Some(text.as_str())
                        }
                        _ => None,
                    };
                    if !value.one_word && !harmless {
                        parsed.doubt = true;
                    }
                    if let Some(option) = option {
                        parsed.dynamic_option(option, list, harmless);
                        continue;
                    }
                    let is_path_start = is_path_start(start);
                    if !is_path_start && !after_dashes && !harmless {
                        parsed.doubt = true;
                    }
                    if extent == Extent::UntilOperand {
                        parsed.doubt |= !is_path_start && !after_dashes || !value.one_word;
                        parsed.used = index;
                        return parsed;
                    }
                    parsed.operands.push(word);
                    continue;
                }
            };
            if after_dashes || !text.starts_with('-') || text == "-" && !has_token(list, "-") {
                if extent == Extent::UntilOperand {
                    parsed.used = index;
                    return parsed;
                }
                parsed.operands.push(word);
            } else if text == "--" {
                after_dashes = true;
            } else if any || text == "-" {
                parsed.options.push((text.to_owned(), None));
            } else if let Some(long) = text.strip_prefix("--") {
                let (name, attached) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (long, None),
                };
                let key = format!("--{name}");
                match (long_arity(list, name), attached) {
                    (Some(Arity::None | Arity::Attached), None) => parsed.options.push((key, None)),
                    (Some(Arity::Attached), Some(value)) => {
                        parsed.options.push((key, Some(Value::Text(value.to_owned()))));
                    }
                    (Some(Arity::Required(role)), Some(value)) => {
                        parsed.value(key, role, Value::Text(value.to_owned()));
                    }
                    (Some(Arity::Required(role)), None) => match rest.next() {
                        Some((_, next)) => parsed.next_value(key, role, &next.word, dynamic),
                        None => parsed.doubt = true,
                    },
                    (Some(Arity::None), Some(_)) | (None, _) => parsed.doubt = true,
                }
            } else if has_token(list, "-#")
                && text.len() > 1
                && text.bytes().skip(1).all(|byte| byte.is_ascii_digit())
            {
                parsed.options.push((
                    "-#".to_owned(),
                    Some(Value::Text(text.trim_start_matches('-').to_owned())),
                ));
            } else if has_token(list, &format!("~{text}")) {
                // A word of its own, such as `-name`.
                parsed.options.push((text.to_owned(), None));
            } else {
                for (at, letter) in text.char_indices().skip(1) {
                    let key = format!("-{letter}");
                    let attached = text.get(at + letter.len_utf8()..).unwrap_or_default();
                    match short_arity(list, letter) {
                        Some(Arity::None) => parsed.options.push((key, None)),
                        Some(Arity::Attached) => {
                            parsed.options.push((key, Some(Value::Text(attached.to_owned()))));
                            break;
                        }
                        Some(Arity::Required(role)) => {
                            if attached.is_empty() {
                                match rest.next() {
                                    Some((_, next)) => {
                                        parsed.next_value(key, role, &next.word, dynamic);
                                    }
                                    None => parsed.doubt = true,
                                }
                            } else {
                                parsed.value(key, role, Value::Text(attached.to_owned()));
                            }
                            break;
                        }
                        None => {
                            parsed.doubt = true;
                            break;
                        }
                    }
                }
            }
        }
        parsed
    }

    fn value(&mut self, key: String, role: Role, value: Value<'w>) {
        if role != Role::Text {
            self.files.push((role, value.clone()));
        }
        self.options.push((key, Some(value)));
    }

    fn next_value(&mut self, key: String, role: Role, word: &'w Word, dynamic: Dynamic) {
        // Programs differ in whether the next word may be a value when it looks like an option.
        let doubtful = match word {
            Word::Literal(text) => text
                .strip_prefix('-')
                .is_some_and(|rest| rest.starts_with(|first: char| !first.is_ascii_digit())),
            Word::Dynamic(value) => !value.one_word || !is_path_start(value.parts.first()),
        };
        self.doubt |= doubtful && dynamic == Dynamic::Doubtful;
        self.value(key, role, Value::Word(word));
    }

    /// An option whose text is known only at its start.
    fn dynamic_option(&mut self, text: &str, list: &str, harmless: bool) {
        if let Some((name, _)) = text.strip_prefix("--").and_then(|long| long.split_once('=')) {
            match long_arity(list, name) {
                Some(Arity::Attached) => {
                    self.options.push((format!("--{name}"), Some(Value::Unknown)));
                }
                Some(Arity::Required(role)) => {
                    self.value(format!("--{name}"), role, Value::Unknown);
                }
                Some(Arity::None) | None => self.doubt = true,
            }
            return;
        }
        if !text.starts_with("--") {
            for letter in text.chars().skip(1) {
                match short_arity(list, letter) {
                    Some(Arity::None) => {}
                    Some(Arity::Attached) => return,
                    Some(Arity::Required(role)) => {
                        self.value(format!("-{letter}"), role, Value::Unknown);
                        return;
                    }
                    None => {
                        self.doubt = true;
                        return;
                    }
                }
            }
        }
        self.doubt |= !harmless;
    }
}

/// Whether a word that starts so cannot turn out to be an option.
fn is_path_start(part: Option<&WordPart>) -> bool {
    match part {
        Some(WordPart::Literal(text)) => !text.starts_with('-'),
        Some(WordPart::Tilde(_)) => true,
        Some(WordPart::Variable(name)) => name == "HOME" || name == "PWD",
        Some(WordPart::Glob(_) | WordPart::Other(_)) | None => false,
    }
}

fn has_token(list: &str, wanted: &str) -> bool {
    list.split_ascii_whitespace().any(|token| token == wanted)
}

fn arity(mark: &str) -> Option<Arity> {
    match mark {
        "" => Some(Arity::None),
        "?" => Some(Arity::Attached),
        "=" => Some(Arity::Required(Role::Text)),
        "=<" => Some(Arity::Required(Role::Read)),
        "=>" => Some(Arity::Required(Role::Write)),
        _ => None,
    }
}

fn long_arity(list: &str, name: &str) -> Option<Arity> {
    list.split_ascii_whitespace()
        .filter_map(|token| token.strip_prefix("--")?.strip_prefix(name))
        .find_map(arity)
        .filter(|_| !name.is_empty())
}

fn short_arity(list: &str, letter: char) -> Option<Arity> {
    list.split_ascii_whitespace().find_map(|token| {
        let token = token.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
        let marks = token.find(['=', '?']).unwrap_or(token.len());
        let (letters, mark) = token.split_at_checked(marks)?;
        letters.contains(letter).then(|| arity(mark)).flatten()
    })
}
