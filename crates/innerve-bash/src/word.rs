//! Words: what bash would hand to a program, as far as it is known without running anything.

/// One word of a simple command after quote removal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Word {
    /// Exactly this text, whatever the environment holds.
    Literal(String),
    /// Text that depends on the environment, the file system or another command; may become zero or more words.
    Dynamic(DynamicWord),
}

/// A word whose value is not statically known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DynamicWord {
    /// The word as it was written, quotes included.
    pub raw: String,
    /// What it is made of, left to right, so that an engine can resolve `$HOME`, `$PWD` and `~` itself.
    pub parts: Vec<WordPart>,
    /// Whether it is certain to become exactly one word (every expansion is double-quoted, no glob, no brace).
    pub one_word: bool,
}

/// A piece of a [`DynamicWord`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WordPart {
    /// Literal text, quotes removed.
    Literal(String),
    /// `$NAME` or `${NAME}`: the name alone, no operator.
    Variable(String),
    /// `~` or `~user` at the start of a word: the user name, empty for one's own.
    Tilde(String),
    /// An unquoted pattern such as `*.rs`, as written.
    Glob(String),
    /// Anything else: a substitution, an expansion with an operator, a brace expression; as written.
    Other(String),
}

impl Word {
    /// The text, when it is statically known.
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Dynamic(_) => None,
        }
    }
}
