//! The simulated working directory: what relative paths are joined to after `cd`.

use crate::{DynamicWord, Word, WordPart};

/// Stands for text that is not statically known inside a displayed path.
pub(crate) const UNKNOWN: char = '\u{1}';

/// Where the shell stands, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Directory {
    /// The path as `cd` was told, joined; empty at the start; `None` when it is not known.
    path: Option<String>,
    /// The same for looking for well-known places only: `~` for the home directory, [`UNKNOWN`] for the rest.
    shown: String,
}

impl Directory {
    /// The directory in which the text starts.
    pub(crate) fn start() -> Self {
        Self { path: Some(String::new()), shown: String::new() }
    }

    /// A directory that is not known.
    pub(crate) fn unknown() -> Self {
        Self { path: None, shown: UNKNOWN.to_string() }
    }

    /// The path as `cd` was told; empty at the start.
    pub(crate) fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// The directory that `cd word` leads to.
    pub(crate) fn enter(&self, word: &Word) -> Self {
        let stays = match word {
            Word::Literal(text) => text == ".",
            Word::Dynamic(dynamic) => below_current(dynamic).is_some_and(|path| path == "."),
        };
        if stays {
            return self.clone();
        }
        Self { path: self.resolve(word), shown: self.show(word) }
    }

    /// What is left when either of two ways may have been taken.
    pub(crate) fn merge(&self, other: &Self) -> Self {
        if self == other { self.clone() } else { Self::unknown() }
    }

    /// The path that `word` names, or `None` when it is dynamic or relative to an unknown directory.
    pub(crate) fn resolve(&self, word: &Word) -> Option<String> {
        let text = match word {
            Word::Literal(text) => text.clone(),
            Word::Dynamic(dynamic) => below_current(dynamic)?,
        };
        if text.starts_with('/') {
            return Some(text);
        }
        Some(join(self.path.as_deref()?, &text, false))
    }

    /// The path that `word` names, with placeholders, for recognizing well-known places.
    pub(crate) fn show(&self, word: &Word) -> String {
        let text = match word {
            Word::Literal(text) => text.clone(),
            Word::Dynamic(dynamic) => below_current(dynamic).unwrap_or_else(|| shown(word)),
        };
        let from_home = word.literal().is_none() && text.starts_with('~');
        join(&self.shown, &text, from_home)
    }
}

/// The relative path of a word such as `"$PWD/src"`; bash keeps `PWD` at the current directory.
fn below_current(word: &DynamicWord) -> Option<String> {
    let [WordPart::Variable(name), rest @ ..] = word.parts.as_slice() else { return None };
    if name != "PWD" || !word.one_word {
        return None;
    }
    match rest {
        [] => Some(".".to_owned()),
        [WordPart::Literal(path)] => {
            path.strip_prefix('/').map(|path| path.trim_start_matches('/').to_owned())
        }
        _ => None,
    }
}

/// A word with `~` for the home directory and [`UNKNOWN`] for what is not known.
pub(crate) fn shown(word: &Word) -> String {
    match word {
        Word::Literal(text) => text.clone(),
        Word::Dynamic(dynamic) => dynamic
            .parts
            .iter()
            .map(|part| match part {
                WordPart::Literal(text) | WordPart::Glob(text) => text.clone(),
                WordPart::Variable(name) if name == "HOME" => "~".to_owned(),
                WordPart::Tilde(user) => format!("~{user}"),
                WordPart::Variable(_) | WordPart::Other(_) => UNKNOWN.to_string(),
            })
            .collect(),
    }
}

fn join(directory: &str, path: &str, from_home: bool) -> String {
    if directory.is_empty() || path.starts_with('/') || from_home {
        path.to_owned()
    } else if path.is_empty() {
        directory.to_owned()
    } else if directory.ends_with('/') {
        format!("{directory}{path}")
    } else {
        format!("{directory}/{path}")
    }
}
