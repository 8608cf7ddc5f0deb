//! Options and operands of a program, by a closed list of the options that are known.
//!
//! A list is a text of tokens: `-abc` are flags, `-n=` takes a value (`-n=<` a file that is read, `-o=>` one that is
//! written), `-U?` takes a value only when attached, `-#` is a number such as `-20`, `~-br` is one option of several
//! letters; `--name`, `--name=` and so on are the same for long options, and `--name==` takes two values. A token behind
//! `!` is an option that is known and refused: shortened options must not be mistaken for it.

use crate::read::Argument;
use crate::variables::Values;
use crate::{Word, WordPart};

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arity {
    None,
    Attached,
    Required(Role),
    Two(Role),
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

/// How the words of a program are taken apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grammar<'g> {
    /// The options that are known.
    pub(crate) options: &'g str,
    /// Whether long options may be shortened as long as they stay unambiguous.
    pub(crate) abbreviates: bool,
    pub(crate) dynamic: Dynamic,
    pub(crate) extent: Extent,
    /// What variables hold.
    pub(crate) values: &'g Values,
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

    fn value(&mut self, key: String, role: Role, value: Value<'w>) {
        if role != Role::Text {
            self.files.push((role, value.clone()));
        }
        self.options.push((key, Some(value)));
    }
}

impl Grammar<'_> {
    /// Takes `words` (without the name) apart.
    pub(crate) fn parse<'w>(&self, words: &'w [Argument<'_>]) -> Parsed<'w> {
        let mut parsed = Parsed::default();
        let any = self.options == "*";
        let mut after_dashes = false;
        let mut rest = words.iter().enumerate();
        parsed.used = words.len();
        while let Some((index, argument)) = rest.next() {
            let word = &argument.word;
            let text = match word {
                Word::Literal(text) => text.as_str(),
                Word::Dynamic(value) => {
                    let harmless = self.dynamic == Dynamic::Harmless || any;
                    let option = match value.parts.first() {
                        Some(WordPart::Literal(text)) if text.starts_with('-') && !after_dashes => {
                            Some(text.as_str())
                        }
                        _ => None,
                    };
                    let bounded =
                        self.values.is_single(value) || Values::is_prefixed_pattern(value);
                    if !harmless && !bounded {
                        parsed.doubt = true;
                    }
                    if let Some(option) = option {
                        self.dynamic_option(option, harmless, &mut parsed);
                        continue;
                    }
                    let is_operand = after_dashes || self.values.is_operand(value);
                    if !is_operand && !harmless {
                        parsed.doubt = true;
                    }
                    if self.extent == Extent::UntilOperand {
                        parsed.doubt |= !is_operand || !value.one_word;
                        parsed.used = index;
                        return parsed;
                    }
                    parsed.operands.push(word);
                    continue;
                }
            };
            if after_dashes || !text.starts_with('-') || text == "-" && !self.has_token("-") {
                if self.extent == Extent::UntilOperand {
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
                let Some((name, arity)) = self.long(name) else {
                    parsed.doubt = true;
                    continue;
                };
                let key = format!("--{name}");
                match (arity, attached) {
                    (Arity::None | Arity::Attached, None) => parsed.options.push((key, None)),
                    (Arity::Attached, Some(value)) => {
                        parsed.options.push((key, Some(Value::Text(value.to_owned()))));
                    }
                    (Arity::Required(role), Some(value)) => {
                        parsed.value(key, role, Value::Text(value.to_owned()));
                    }
                    (Arity::Required(role), None) => match rest.next() {
                        Some((_, next)) => self.next_value(key, role, &next.word, &mut parsed),
                        None => parsed.doubt = true,
                    },
                    (Arity::Two(role), None) => match (rest.next(), rest.next()) {
                        (Some((_, first)), Some((_, second))) => {
                            self.next_value(key.clone(), Role::Text, &first.word, &mut parsed);
                            self.next_value(key, role, &second.word, &mut parsed);
                        }
                        _ => parsed.doubt = true,
                    },
                    (Arity::None | Arity::Two(_), Some(_)) => parsed.doubt = true,
                }
            } else if self.has_token("-#")
                && text.len() > 1
                && text.bytes().skip(1).all(|byte| byte.is_ascii_digit())
            {
                parsed.options.push((
                    "-#".to_owned(),
                    Some(Value::Text(text.trim_start_matches('-').to_owned())),
                ));
            } else if self.tokens().any(|token| token.strip_prefix('~') == Some(text)) {
                // A word of its own, such as `-name`.
                parsed.options.push((text.to_owned(), None));
            } else {
                for (at, letter) in text.char_indices().skip(1) {
                    let key = format!("-{letter}");
                    let attached = text.get(at + letter.len_utf8()..).unwrap_or_default();
                    match self.short(letter) {
                        Some(Arity::None) => parsed.options.push((key, None)),
                        Some(Arity::Attached) => {
                            parsed.options.push((key, Some(Value::Text(attached.to_owned()))));
                            break;
                        }
                        Some(Arity::Required(role)) => {
                            if attached.is_empty() {
                                match rest.next() {
                                    Some((_, next)) => {
                                        self.next_value(key, role, &next.word, &mut parsed);
                                    }
                                    None => parsed.doubt = true,
                                }
                            } else {
                                parsed.value(key, role, Value::Text(attached.to_owned()));
                            }
                            break;
                        }
                        Some(Arity::Two(_)) | None => {
                            parsed.doubt = true;
                            break;
                        }
                    }
                }
            }
        }
        parsed
    }

    fn next_value<'w>(&self, key: String, role: Role, word: &'w Word, parsed: &mut Parsed<'w>) {
        // Programs differ in whether the next word may be a value when it looks like an option.
        let doubtful = match word {
            Word::Literal(text) => text
                .strip_prefix('-')
                .is_some_and(|rest| rest.starts_with(|first: char| !first.is_ascii_digit())),
            Word::Dynamic(value) => !value.one_word || !self.values.is_operand(value),
        };
        parsed.doubt |= doubtful && self.dynamic == Dynamic::Doubtful;
        parsed.value(key, role, Value::Word(word));
    }

    /// An option whose text is known only at its start.
    fn dynamic_option(&self, text: &str, harmless: bool, parsed: &mut Parsed<'_>) {
        if self.options == "*" {
            parsed.options.push((text.to_owned(), None));
            return;
        }
        if let Some((name, _)) = text.strip_prefix("--").and_then(|long| long.split_once('=')) {
            match self.long(name) {
                Some((name, Arity::Attached)) => {
                    parsed.options.push((format!("--{name}"), Some(Value::Unknown)));
                }
                Some((name, Arity::Required(role))) => {
                    parsed.value(format!("--{name}"), role, Value::Unknown);
                }
                Some((_, Arity::None | Arity::Two(_))) | None => parsed.doubt = true,
            }
            return;
        }
        if !text.starts_with("--") {
            for letter in text.chars().skip(1) {
                match self.short(letter) {
                    Some(Arity::None) => {}
                    Some(Arity::Attached) => return,
                    Some(Arity::Required(role)) => {
                        parsed.value(format!("-{letter}"), role, Value::Unknown);
                        return;
                    }
                    Some(Arity::Two(_)) | None => {
                        parsed.doubt = true;
                        return;
                    }
                }
            }
        }
        parsed.doubt |= !harmless;
    }

    fn tokens(&self) -> impl Iterator<Item = &str> {
        self.options.split_ascii_whitespace()
    }

    fn has_token(&self, wanted: &str) -> bool {
        self.tokens().any(|token| token == wanted)
    }

    /// The long option that `given` names, in full or shortened, and what it takes.
    fn long(&self, given: &str) -> Option<(&str, Arity)> {
        if given.is_empty() {
            return None;
        }
        let mut shortened = None;
        let mut ambiguous = false;
        for token in self.tokens() {
            let refused = token.starts_with('!');
            let Some(token) = token.trim_start_matches('!').strip_prefix("--") else { continue };
            let end = token.find(['=', '?']).unwrap_or(token.len());
            let Some((name, mark)) = token.split_at_checked(end) else { continue };
            if name == given {
                return arity(mark).filter(|_| !refused).map(|arity| (name, arity));
            }
            if self.abbreviates && name.starts_with(given) {
                ambiguous |= refused || shortened.is_some();
                shortened = arity(mark).map(|arity| (name, arity));
            }
        }
        shortened.filter(|_| !ambiguous)
    }

    fn short(&self, letter: char) -> Option<Arity> {
        self.tokens().find_map(|token| {
            let token = token.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
            let marks = token.find(['=', '?']).unwrap_or(token.len());
            let (letters, mark) = token.split_at_checked(marks)?;
            letters.contains(letter).then(|| arity(mark)).flatten()
        })
    }
}

fn arity(mark: &str) -> Option<Arity> {
    match mark {
        "" => Some(Arity::None),
        "?" => Some(Arity::Attached),
        "=" => Some(Arity::Required(Role::Text)),
        "=<" => Some(Arity::Required(Role::Read)),
        "=>" => Some(Arity::Required(Role::Write)),
        "==" => Some(Arity::Two(Role::Text)),
        "==<" => Some(Arity::Two(Role::Read)),
        _ => None,
    }
}
