//! Options and operands of a program, by a closed list of the options that are known.

mod list;

use std::borrow::Cow;

use crate::read::Argument;
use crate::variables::Values;
use crate::{Word, WordPart};

use list::Arity;
pub(crate) use list::{Options, Role};

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
    pub(crate) options: &'g Options,
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
    pub(crate) options: Vec<(Cow<'w, str>, Option<Value<'w>>)>,
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
        self.options.iter().any(|(name, _)| names.contains(&name.as_ref()))
    }

    /// The values of an option.
    pub(crate) fn values<'p>(&'p self, names: &'p [&str]) -> impl Iterator<Item = &'p Value<'w>> {
        self.options
            .iter()
            .filter(|(name, _)| names.contains(&name.as_ref()))
            .filter_map(|(_, value)| value.as_ref())
    }

    /// The literal operand at `index`.
    pub(crate) fn literal(&self, index: usize) -> Option<&'w str> {
        self.operands.get(index).and_then(|word| word.literal())
    }

    fn value(&mut self, key: Cow<'w, str>, role: Role, value: Value<'w>) {
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
        let any = self.options.any;
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
            if after_dashes || !text.starts_with('-') || text == "-" && !self.options.dash {
                if self.extent == Extent::UntilOperand {
                    parsed.used = index;
                    return parsed;
                }
                parsed.operands.push(word);
            } else if text == "--" {
                after_dashes = true;
            } else if any || text == "-" {
                parsed.options.push((Cow::Borrowed(text), None));
            } else if text.starts_with("--") {
                let (name, attached) = match text.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (text, None),
                };
                let Some((name, arity)) = self.options.long(name, self.abbreviates) else {
                    parsed.doubt = true;
                    continue;
                };
                let key = Cow::Borrowed(name);
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
            } else if self.options.numbers
                && text.len() > 1
                && text.bytes().skip(1).all(|byte| byte.is_ascii_digit())
            {
                parsed.options.push((
                    Cow::Borrowed("-#"),
                    Some(Value::Text(text.trim_start_matches('-').to_owned())),
                ));
            } else if self.options.has_word(text) {
                // A word of its own, such as `-name`.
                parsed.options.push((Cow::Borrowed(text), None));
            } else {
                for (at, letter) in text.char_indices().skip(1) {
                    let key = Cow::Owned(format!("-{letter}"));
                    let attached = text.get(at + letter.len_utf8()..).unwrap_or_default();
                    match self.options.short(letter) {
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

    fn next_value<'w>(
        &self,
        key: Cow<'w, str>,
        role: Role,
        word: &'w Word,
        parsed: &mut Parsed<'w>,
    ) {
        // Programs differ in whether the next word may be a value when it looks like an option.
        let doubtful = match word {
            Word::Literal(text) => text
                .strip_prefix('-')
                .is_some_and(|rest| rest.starts_with(|first: char| !first.is_ascii_digit())),
            Word::Dynamic(value) => !Values::is_one(value) || !self.values.is_operand(value),
        };
        parsed.doubt |= doubtful && self.dynamic == Dynamic::Doubtful;
        parsed.value(key, role, Value::Word(word));
    }

    /// An option whose text is known only at its start.
    fn dynamic_option<'w>(&self, text: &'w str, harmless: bool, parsed: &mut Parsed<'w>) {
        if self.options.any {
            parsed.options.push((Cow::Borrowed(text), None));
            return;
        }
        if let Some((name, _)) = text.split_once('=').filter(|_| text.starts_with("--")) {
            match self.options.long(name, self.abbreviates) {
                Some((name, Arity::Attached)) => {
                    parsed.options.push((Cow::Borrowed(name), Some(Value::Unknown)));
                }
                Some((name, Arity::Required(role))) => {
                    parsed.value(Cow::Borrowed(name), role, Value::Unknown);
                }
                Some((_, Arity::None | Arity::Two(_))) | None => parsed.doubt = true,
            }
            return;
        }
        if !text.starts_with("--") {
            for letter in text.chars().skip(1) {
                match self.options.short(letter) {
                    Some(Arity::None) => {}
                    Some(Arity::Attached) => return,
                    Some(Arity::Required(role)) => {
                        parsed.value(Cow::Owned(format!("-{letter}")), role, Value::Unknown);
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
}
