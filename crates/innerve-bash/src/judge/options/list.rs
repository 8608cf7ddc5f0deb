//! Lists of the options that are known, compiled from the text in which they are written.

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arity {
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

/// A list of options.
///
/// It is written as a text of tokens: `-abc` are flags, `-n=` takes a value (`-n=<` a file that is read, `-o=>` one that
/// is written), `-U?` takes a value only when attached, `-#` is a number such as `-20`, `~-br` is one option of several
/// letters; `--name`, `--name=` and so on are the same for long options, and `--name==` takes two values. A token behind
/// `!` is an option that is known and refused: shortened options must not be mistaken for it. `*` is any option.
#[derive(Debug)]
pub(crate) struct Options {
    /// Whether every option is known.
    pub(super) any: bool,
    /// Whether a number is an option.
    pub(super) numbers: bool,
    /// Whether `-` alone is an option.
    pub(super) dash: bool,
    /// What the letters from `!` to `~` take.
    letters: [Option<Arity>; LETTERS],
    /// Options of several letters behind one dash.
    words: Vec<&'static str>,
    /// Long options with their dashes, sorted; refused ones take nothing that is known.
    long: Vec<(&'static str, Option<Arity>)>,
}

const FIRST_LETTER: u8 = b'!';
const LETTERS: usize = 94;

impl Options {
    /// Compiles a list.
    pub(crate) fn new(list: &'static str) -> Self {
        let mut options = Self {
            any: list == "*",
            numbers: false,
            dash: false,
            letters: [None; LETTERS],
            words: Vec::new(),
            long: Vec::new(),
        };
        for token in list.split_ascii_whitespace() {
            options.add(token);
        }
        options.long.sort_unstable_by_key(|(name, _)| *name);
        options
    }

    fn add(&mut self, token: &'static str) {
        let (refused, token) = match token.strip_prefix('!') {
            Some(token) => (true, token),
            None => (false, token),
        };
        let end = token.find(['=', '?']).unwrap_or(token.len());
        let (Some(name), Some(mark)) = (token.get(..end), token.get(end..)) else { return };
        let arity = arity(mark).filter(|_| !refused);
        if name.starts_with("--") {
            self.long.push((name, arity));
        } else if name == "-#" {
            self.numbers = true;
        } else if name == "-" {
            self.dash = true;
        } else if refused {
            // Neither as a word of its own nor as letters is it known.
        } else if let Some(word) = name.strip_prefix('~') {
            self.words.push(word);
        } else {
            for letter in name.bytes().skip(1) {
                if let Some(place) = place(letter).and_then(|place| self.letters.get_mut(place)) {
                    *place = place.or(arity);
                }
            }
        }
    }

    /// What the option of one letter takes.
    pub(super) fn short(&self, letter: char) -> Option<Arity> {
        let place = u8::try_from(letter).ok().and_then(place)?;
        self.letters.get(place).copied().flatten()
    }

    /// Whether `text` is an option of several letters behind one dash.
    pub(super) fn has_word(&self, text: &str) -> bool {
        self.words.contains(&text)
    }

    /// The long option that `given` (with its dashes) names, in full or shortened, and what it takes.
    pub(super) fn long(&self, given: &str, abbreviates: bool) -> Option<(&'static str, Arity)> {
        let start = self.long.partition_point(|(name, _)| *name < given);
        let mut candidates = self
            .long
            .get(start..)
            .unwrap_or_default()
            .iter()
            .take_while(|(name, _)| name.starts_with(given));
        let (name, arity) = *candidates.next()?;
        if name.len() == given.len()
            || abbreviates && given.len() > 2 && candidates.next().is_none()
        {
            return arity.map(|arity| (name, arity));
        }
        None
    }
}

fn place(letter: u8) -> Option<usize> {
    letter.checked_sub(FIRST_LETTER).map(usize::from)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(list: &'static str, given: &str, expected: Option<(&str, Arity)>) {
        assert_eq!(Options::new(list).long(given, true), expected, "{given} in {list}");
    }

    #[test]
    fn long_options_may_be_shortened_while_they_stay_unambiguous() {
        let list = "--reverse --regex= --key= !--output= --out-of-order --help?";
        check(list, "--reverse", Some(("--reverse", Arity::None)));
        check(list, "--rev", Some(("--reverse", Arity::None)));
        check(list, "--re", None);
        check(list, "--k", Some(("--key", Arity::Required(Role::Text))));
        check(list, "--out-", Some(("--out-of-order", Arity::None)));
        check(list, "--output", None);
        check(list, "--outp", None);
        check(list, "--out", None);
        check(list, "--", None);
        check(list, "--x", None);
        check("--pre --pretty", "--pre", Some(("--pre", Arity::None)));
        check("!--pre= --pretty", "--pre", None);
        assert_eq!(Options::new(list).long("--rev", false), None);
    }

    #[test]
    fn letters_words_and_numbers_are_told_apart() {
        let options = Options::new("-ab -n= -o=> -U? -# - ~-br !-x !-y= !~-batch");
        assert_eq!(options.short('a'), Some(Arity::None));
        assert_eq!(options.short('n'), Some(Arity::Required(Role::Text)));
        assert_eq!(options.short('o'), Some(Arity::Required(Role::Write)));
        assert_eq!(options.short('U'), Some(Arity::Attached));
        assert!(!options.has_word("-batch"));
        for letter in ['x', 'y', 'z', 'é', ' '] {
            assert_eq!(options.short(letter), None, "{letter}");
        }
        assert!(options.numbers && options.dash && options.has_word("-br") && !options.any);
        assert!(Options::new("*").any);
    }
}
